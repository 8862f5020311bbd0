# While a registry does not answer, lease_shard(), take_over_shard() and release_shard() can be cancelled, end after
# shardid_lease.timeout, and keep no other session from drawing; take_over_shard() does not either while an idle
# transaction that has drawn blocks it. When the registry answers again, the same calls succeed.
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '10 min')));
# Only the test ends what waits.
my $member = new_node('member', "autovacuum = off\nmax_worker_processes = 40\n");
connect_to_registry($member, $registry);
my $dir = PostgreSQL::Test::Utils::tempdir();
sub on_member { return $member->safe_psql('postgres', $_[0]) }

# Four generators for each call: one for each way in which it ends.
my %call_of = (
	lease_shard => "SELECT shardid_lease.lease_shard('ids', 'registry', '%s')",
	take_over_shard => "SELECT shardid_lease.take_over_shard('%s')",
	release_shard => "SELECT shardid_lease.release_shard('%s')");
my @ways = qw(cancel terminate statement_timeout lease_timeout);
for my $call (sort keys %call_of)
{
	for my $way (@ways)
	{
		my $generator = "${call}_$way";
		on_member("SET ROLE app; CREATE SEQUENCE $generator");
		next if $call eq 'lease_shard';
		lease($member, 'ids', $generator);
		draw_one($member, $generator);
	}
}
# A generator that is not leased yet draws as before.
sub draw_of
{
	my ($generator) = @_;
	my ($shard) = $generator =~ /^lease_shard_/ ? 8000 : 'NULL';
	return $shard eq 'NULL' ? "next_id(generator => '$generator')" : "next_id($shard, '$generator')";
}

my @settings = ('SET ROLE app', "SET application_name = 'waits'");
my %settings_of = (statement_timeout => "SET statement_timeout = '1s'", lease_timeout => "SET shardid_lease.timeout = '1s'");
my %expected = (
	cancel => qr/ERROR:  57014: canceling statement due to user request/,
	terminate => qr/FATAL:  57P01: terminating connection/,
	statement_timeout => qr/ERROR:  57014: canceling statement due to statement timeout/,
	lease_timeout => qr/(ERROR:  \w+|WARNING:  \w+): .*(the registry|within)/s);

# Starts the call; returns the session and its output.
sub start_call
{
	my ($call, $way) = @_;
	my $said = '';
	my $sql = sprintf $call_of{$call}, "${call}_$way";
	my @statements = grep { defined } @settings, $settings_of{$way}, $sql;
	my $session = IPC::Run::start([ 'psql', '-Xq', '-v', 'VERBOSITY=verbose', '-d', $member->connstr('postgres'), map { ('-c', $_) } @statements ],
		'<', \'', '>', \$said, '2>&1', IPC::Run::timer(180));
	return ($session, \$said);
}

# A released generator is sealed, even before the registry knows.
sub may_draw { return $_[0] !~ /^release_shard_/ }

my @silent = processes_of($registry);
kill 'STOP', @silent;
for my $call (sort keys %call_of)
{
	for my $way (@ways)
	{
		my $generator = "${call}_$way";
		my $drawing = start_clients($member, 2, 'SELECT ' . draw_of($generator), pause_ms => 5, tolerate => '55000,57P03');
		my ($session, $said) = start_call($call, $way);
		my $waits = $way =~ /timeout/ || $member->poll_query_until('postgres',
			q(SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'waits' AND state = 'active' AND query ~ 'shardid_lease'));
		usleep 500_000;
		# Sessions that draw, while the call waits.
		my $before = draw_count($drawing);
		my $drawn = !may_draw($generator) || wait_until(sub { draw_count($drawing) > $before + 20 });
		ok($drawn, "$call, $way: others draw meanwhile");
		on_member(q(SELECT ) . ($way eq 'cancel' ? 'pg_cancel_backend' : 'pg_terminate_backend')
			  . q((pid) FROM pg_stat_activity WHERE application_name = 'waits')) unless $way =~ /timeout/;
		my $ended = wait_until(sub { !runs($session) });
		ok($ended, "$call, $way: it ends");
		like($$said, $expected{$way}, "$call, $way: as it is told to");
		kill 'CONT', @silent unless $ended;
		eval { $session->finish };
		finish_clients($drawing, 1);
		all_ids(@{ read_told($drawing) });
		kill 'STOP', @silent unless $ended;
	}
}
kill 'CONT', @silent;

sub draw_count
{
	my ($clients) = @_;
	my $count = 0;
	$count += () = slurp_file($_) =~ /\n/g for grep { -e } @{ $clients->{files} };
	return $count;
}

# --- The registry answers again: each call succeeds, and no shard is granted twice.

for my $way (@ways)
{
	my $shard = lease($member, 'ids', "lease_shard_$way");
	like($shard, qr/^\d+$/, "lease_shard, $way: asked again, it has shard $shard");
	like(draw_one($member, "lease_shard_$way"), qr/^\d+$/, 'and draws');
	like(on_member("SET ROLE app; SELECT shardid_lease.take_over_shard('take_over_shard_$way')"), qr/^\d+$/, "take_over_shard, $way: asked again");
	on_member("SET ROLE app; SELECT shardid_lease.release_shard('release_shard_$way')")
	  unless on_member("SELECT state = 'released' FROM shardid_lease.shard_leases WHERE generator = 'release_shard_$way'::regclass") eq 't';
	is(on_member("SELECT state FROM shardid_lease.shard_leases WHERE generator = 'release_shard_$way'::regclass"), 'released', "release_shard, $way: released");
}
# Shards that were released early are leased again by now.
is($registry->safe_psql('postgres', q(SELECT count(*) FROM shardid_lease.granted_shard WHERE state = 'held')), 8, 'no shard is held without a generator');

# --- A transaction that has drawn, and is idle: others draw after a takeover, and are refused at once after a release.

my $generator = 'take_over_shard_cancel';
my $idle = $member->background_psql('postgres', on_error_die => 1);
$idle->query_safe("BEGIN; SELECT next_id(generator => '$generator')");
on_member("SET ROLE app; SELECT shardid_lease.take_over_shard('$generator')");
like(draw_one($member, $generator), qr/^\d+$/, 'taken over behind an idle transaction: others draw');
like(error_of($member, 'postgres', "SET ROLE app; SET shardid_lease.timeout = '3s'; SELECT shardid_lease.release_shard('$generator')"),
	qr/ERROR:  55006: a transaction can still use the released lease of .*release_shard\(\) need not be called again/s, 'released behind an idle transaction: it says so');
like(error_of($member, 'postgres', "SET statement_timeout = '60s'; SELECT next_id(generator => '$generator')"),
	qr/has released its lease/, 'others are refused at once');
$idle->quit;

no_id_comes_twice('a silent registry');
$_->stop for $member, $registry;
done_testing();
