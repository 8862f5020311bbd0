# examples/move/move_shard.py under transactions that lock the shard's tables in both orders, at once and without an end: the seal
# gets its turn, nobody is a deadlock's victim, and every row moves. With FULL or ROUNDS it measures tries and waits.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();
use Mover;

my $dir = PostgreSQL::Test::Utils::tempdir();
my @servers = qw(north south);
start_with_shard_on('north');
on('north', q(INSERT INTO shard5.tallies SELECT generate_series(16, 999)));

# --- Writers: both statements in one transaction, with a pause between; half of the writers in the other order, if so wanted.

my $tally = 'UPDATE shard5.tallies SET photos = photos + 1 WHERE slot = pg_backend_pid() % 1000';
my $photo = q(INSERT INTO shard5.photos (name) VALUES ('new') RETURNING id);
my $round = 0;

sub start_writers
{
	my ($clients, $pause_ms, $orders) = @_;
	my @orders = ([ $tally, $photo ], [ $photo, $tally ]);
	my @pause = $pause_ms ? ('SELECT pg_sleep(' . $pause_ms / 1000 . ')') : ();
	$round++;
	return map {
		my $n = $_;
		my ($first, $second) = @{ $orders[$n] };
		my $sessions = $clients / $orders;
		my @statements = map { ('--statement', $_) } 'BEGIN', $first, @pause, $second, 'COMMIT';
		my @command = ('examples/move/writer.py', '--sessions', $sessions, '--pause-ms', 0, @statements, "$dir/told$round.$n",
			map { address($_) } @servers);
		my $writers = { error => '', files => [ map { "$dir/told$round.$n.$_" } 1 .. $sessions ] };
		$writers->{run} = IPC::Run::start(\@command, '>&', \$writers->{error}, IPC::Run::timeout(600));
		$writers;
	} 0 .. $orders - 1;
}

sub stop_writers
{
	my (@writers) = @_;
	for my $writers (@writers)
	{
		$writers->{run}->signal('TERM');
		$writers->{run}->finish;
		is($writers->{error}, '', 'the writers were refused at most');
	}
	return;
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

sub under
{
	my ($clients, $pause_ms, $orders, @options) = @_;
	my ($from, $to) = @servers;
	moves('copy', $from, $to);
	my @writers = start_writers($clients, $pause_ms, $orders);
	Time::HiRes::sleep(1 + $clients * 0.05);
	my $moved = IPC::Run::run([ mover_command('switch', $from, $to, @options) ], '>&', \$said);
	my $lost = () = $said =~ /^\S+ +waiting/mg;
	my ($switch) = $said =~ /(\d+ ms) after/;
	Time::HiRes::sleep(0.5);
	stop_writers(@writers);
	if ($moved)
	{
		moves('finish', $from, $to);
		@servers = reverse @servers;
	}
	return ($moved, $moved ? $lost + 1 : "$lost, gave up", sprintf('%.0f ms', longest_gap(@writers)), $switch // '');
}

if ($ENV{FULL} || $ENV{ROUNDS})
{
	my $rows = '';
	for my $orders (1, 2)
	{
		for my $clients (8, 16)
		{
			for my $pause_ms (0, 20, 50)
			{
				my ($moved, @found) = under($clients, $pause_ms, $orders);
				ok($moved, "$clients writers, $pause_ms ms, $orders orders");
				$rows .= join(' | ', '', $orders, $clients, "$pause_ms ms", @found, "\n");
			}
		}
	}
	diag "| orders | writers | pause | tries | longest wait | switch |\n$rows";
}
else
{
	my ($moved, $tries, @waits) = under(8, 20, 2, '--tries', 10);
	ok($moved, "moved at try $tries, @waits") or diag $said;
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
$session{sealer}{in} .= "BEGIN; SELECT shard_move.seal('shard5', 'mine', '', true, true);\n\\echo done\n";
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
$_->{run}->finish for values %session;
moves('undo', @servers);
is(on($name, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), 0, 'undo drops the guards');

stop_servers();
done_testing();
