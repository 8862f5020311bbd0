# contrib/move/move_shard.py under transactions that lock the shard's tables in both orders, at once and without an end: the seal
# gets its turn, nobody is a deadlock's victim, and every row moves. With FULL or ROUNDS it measures tries and waits.
use List::Util qw(max);
use Time::HiRes ();
use Mover;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
my @servers = qw(north south);
start_with_shard_on('north');
on('north', q(INSERT INTO shard5.tallies SELECT generate_series(16, 999)));

# --- Writers: both statements in one transaction, with a pause between; half of the writers in the other order, if so wanted.

my $tally = 'UPDATE shard5.tallies SET photos = photos + 1 WHERE slot = pg_backend_pid() % 1000';
my $photo = q(INSERT INTO shard5.photos (name) VALUES ('new') RETURNING id);
my $round = 0;

# Its place among the writers' servers.
sub number_of { return $_[0] eq 'north' ? 0 : 1 }

sub start_orders
{
	my ($clients, $pause_ms, $orders) = @_;
	my @orders = ([ $tally, $photo ], [ $photo, $tally ]);
	my @pause = $pause_ms ? ('SELECT pg_sleep(' . $pause_ms / 1000 . ')') : ();
	$round++;
	return map {
		my ($first, $second) = @{ $orders[$_] };
		start_writers("$dir/told$round.$_", $clients / $orders, 0, 'BEGIN', $first, @pause, $second, 'COMMIT')
	} 0 .. $orders - 1;
}

# The longest time, in ms, in which one of the writers inserted no row.
sub longest_gap
{
	my @gaps;
	for my $file (map { @{ $_->{files} } } @_)
	{
		my @ends = map { (split / /)[2] } split /\n/, slurp_file($file);
		push @gaps, map { ($ends[$_] - $ends[ $_ - 1 ]) / 1e6 } 1 .. $#ends;
	}
	return max(@gaps);
}

# The command's attempts, the seconds until the source was sealed, and the refusals and deadlocks that writers met meanwhile.
sub under
{
	my ($clients, $pause_ms, $orders, $long_s, @options) = @_;
	my ($from, $to) = @servers;
	moves('copy', $from, $to);
	my @writers = start_orders($clients, $pause_ms, $orders);
	await_writers(undef, @writers);
	my $long = session($from);
	talk($long, "BEGIN; $photo;");
	$long->{in} .= "SELECT pg_sleep($long_s); ROLLBACK;\n";
	$long->{run}->pump_nb;
	my $log_before = -s $node{$from}->logfile;
	my $begin = Time::HiRes::time();
	my $mover = start_mover('switch', $from, $to, @options);
	$mover->pump until $said =~ /sealed|stopped/ || !$mover->pumpable;
	my $seconds = Time::HiRes::time() - $begin;
	my $moved = $mover->finish;
	await_writers($moved ? number_of($to) : undef, @writers);
	stop_writers(@writers);
	end_session($long);
	my $attempts = $moved + (() = $said =~ /^\S+ +waiting/mg);
	my @errors = grep { /ERROR: / && !/move_shard/ } split /\n/, substr slurp_file($node{$from}->logfile), $log_before;
	if ($moved)
	{
		moves('finish', $from, $to);
		@servers = reverse @servers;
	}
	return {
		moved => $moved, attempts => $attempts, seconds => $seconds, wait => longest_gap(@writers) / 1000,
		refused => scalar(grep { /is being sealed/ } @errors), deadlocks => scalar(grep { /deadlock/ } @errors) };
}

sub median { return (sort { $a <=> $b } @_)[ @_ / 2 ] }

my @loads = (
	[ 'one writer', 1, 0, 1, 0 ],
	[ '8 writers, one order', 8, 20, 1, 0 ],
	[ '8 writers, both orders', 8, 20, 2, 0 ],
	[ '16 writers, both orders', 16, 20, 2, 0 ],
	[ '8 writers, one transaction of 5 s', 8, 20, 1, 5 ]);
if (my $rounds = $ENV{ROUNDS} || $ENV{FULL} && 3)
{
	my $rows = '';
	for (@loads)
	{
		my ($name, @load) = @$_;
		my @found = map { under(@load) } 1 .. $rounds;
		my $moved = grep { $_->{moved} } @found;
		is($moved, $rounds, "$name: moved");
		$rows .= sprintf "| %s | %d | %.1f s | %.2f s | %d | %d |%s\n", $name,
		  (map { my $what = $_; median(map { $_->{$what} } @found) } qw(attempts seconds wait refused deadlocks)),
		  $moved < $rounds ? " sealed $moved of $rounds" : '';
	}
	append_to_file("$ENV{SANDBOX}/out/moves.md",
		"| load | attempts | sealed after | longest wait | refused | deadlocks |\n| --- | ---: | ---: | ---: | ---: | ---: |\n$rows");
}
else
{
	# The triggers of a seal that was opened again are no guard.
	moves('copy', @servers);
	my $gate = hold_marker($servers[1]);
	stops(qr/has not come within 0.1 s/, 'a target that does not keep up', 'switch', @servers, '--patience', 0.1);
	end_session($gate);
	my $found = under(8, 20, 2, 0, '--tries', 100, '--lock-wait', 5000);
	ok($found->{moved}, 'moved') or diag $said;
}

my @told = map { (split / /)[0] } map { split /\n/, slurp_file($_) } glob "$dir/told*";
is(on($servers[0], 'SELECT count(*) FROM shard5.photos'), scalar @told, 'every row is there');
is(on($servers[0], 'SELECT sum(photos) - (SELECT count(*) FROM shard5.photos) FROM shard5.tallies'), 0, 'with its tally');

# --- Tables that are guarded: transactions that have begun to write continue, and others are refused at once.

my ($name) = @servers;
moves('copy', @servers);
on($name, "SELECT shard_move.guard('shard5.$_', 'admit()', true)") for qw(photos tallies events);
my %session = map { $_ => session($name) } qw(begun drawn sealer new);
talk($session{begun}, "BEGIN; $insert");
like(talk($session{drawn}, "BEGIN; $draw"), qr/^\d+$/, 'an id before the seal');
$session{sealer}{out} = '';
$session{sealer}{in} .= "BEGIN; SELECT shard_move.seal('shard5', 'mine', '', true);\n\\echo done\n";
$session{sealer}{run}->pump_nb;
$node{$name}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted))) or die;
is(talk($session{new}, $insert), 'ERROR:  25006', 'a new transaction is refused');
is(talk($session{begun}, "SAVEPOINT s; $tally; ROLLBACK TO s; $tally;"), '', 'one that has begun writes to another table');
talk($session{begun}, 'COMMIT;');
$node{$name}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'shard5.ids'::regclass AND NOT granted))) or die;
is(talk($session{drawn}, $insert), 'ERROR:  25006', 'one that has drawn an id is refused, and no deadlock');
talk($session{drawn}, 'ROLLBACK;');
$session{sealer}{run}->pump until $session{sealer}{out} =~ /^done$/m;
unlike($session{sealer}{out}, qr/ERROR/, 'the seal has its locks');
talk($session{sealer}, 'ROLLBACK;');
like(talk($session{new}, $insert), qr/^\d+$/, 'without the mover everybody writes');
end_session($_) for values %session;
moves('undo', @servers);
is(on($name, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), 0, 'undo drops the guards');

stop_servers();
done_testing();
