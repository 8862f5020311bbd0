# Ids of three databases, one of which is killed under load, are unique by the checker of another project, too: Jepsen's
# unique-ids. It must convict Instagram's function, which here has one bit for its sequence.
use List::Util 'sum';
use ShardidTest;

plan skip_all => 'JEPSEN is not set: see proof/judge/jepsen.clj' unless $ENV{JEPSEN};

my @nodes = map { new_node("database_$_") } 1 .. 3;
for my $shard (1 .. 3)
{
	my $recipe = slurp_file('bench/baseline.sql') =~ s/% 1024/% 2/r =~ s/shard int := \K5/$shard/r;
	$nodes[ $shard - 1 ]->safe_psql('postgres', "ALTER DATABASE postgres SET shardid.shard_id = $shard; $recipe");
}

# What sessions received by one id per call, as one history of operations, as Jepsen's checkers read it. A process ends
# with a call whose end is unknown; its session continues as another one.
sub history_of
{
	my (@files) = @_;
	my @operations;
	foreach my $number (0 .. $#files)
	{
		my $process = $number;
		foreach (split /\n/, slurp_file($files[$number]))
		{
			my ($id, $begin, $end) = split / /;
			my $is_lost = $id eq '?';
			push @operations, [ $begin, $process, 'invoke', 'nil' ], [ $end, $process, $is_lost ? ('info', 'nil') : ('ok', $id) ];
			$process += @files if $is_lost;
		}
	}
	return join '', map { "{:process $$_[1], :type :$$_[2], :f :generate, :value $$_[3], :time $$_[0]}\n" }
	  sort { $$a[0] <=> $$b[0] } @operations;
}

# The numbers that Jepsen's checker prints, whether it finds the history valid, and how many calls ended with an id or
# unknown.
sub verdict_on
{
	my ($statement) = @_;
	my @clients = map { start_clients($_, 4, $statement, reconnect => 1) } @nodes;
	await_clients($_, 4) for @nodes;
	await_event('more than 1000 ids', sub { 1000 < sum(map { scalar @$_ } map { @{ read_told($_) } } @clients) });
	for my $round (1 .. rounds(1, 5))
	{
		usleep 500_000 + rand 500_000;
		kill_node($nodes[1]);
		start_again($nodes[1]);
		await_clients($nodes[1], 4);
	}
	usleep 500_000;
	finish_clients($_, 'stop') for @clients;
	my $history = PostgreSQL::Test::Utils::tempdir() . '/history';
	append_to_file($history, my $text = history_of(map { @{ $_->{files} } } @clients));
	my ($said, $error) = ('', '');
	my @checker = ('java', '-cp', $ENV{JEPSEN}, 'clojure.main', 'proof/judge/jepsen.clj', $history);
	IPC::Run::run(\@checker, '>', \$said, '2>', \$error);
	my %verdict = (valid => $? == 0, $said =~ /^(\S+) (\d+)$/mg);
	is($error, '', "$statement: Jepsen's checker runs") or die;
	note "$statement: $said";
	$verdict{$_} = () = $text =~ /:type :$_,/g for 'ok', 'info';
	return \%verdict;
}

my $ours = verdict_on('SELECT next_id()');
ok($ours->{valid}, "next_id: valid, $ours->{'acknowledged-count'} ids");
cmp_ok($ours->{'acknowledged-count'}, '>', 1000, 'of many');
is($ours->{'acknowledged-count'}, $ours->{ok}, 'all that were received');
is($ours->{'attempted-count'}, $ours->{ok} + $ours->{info}, 'all calls');
cmp_ok($ours->{info}, '>', 0, "$ours->{info} calls were lost with their server");
my $recipe = verdict_on('SELECT baseline.next_id()');
ok(!$recipe->{valid}, "Instagram's function: invalid");
cmp_ok($recipe->{'duplicated-count'}, '>', 0, "$recipe->{'duplicated-count'} of $recipe->{'acknowledged-count'} twice");

$_->stop for @nodes;
done_testing();
