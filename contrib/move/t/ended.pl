# contrib/move/move_shard.py, ended in every state: told to end it opens the source again, killed it says that nobody can write,
# and another mover undoes or finishes the move. A locked marker on the target keeps it in that state.
use Mover;
use ShardidTest;

start_with_shard_on('north');
on('north', <<'SQL');
CREATE TABLE shard5."Odd ""one""" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "select" text UNIQUE);
INSERT INTO shard5."Odd ""one""" ("select") VALUES ('%s'), (NULL);
CREATE TABLE shard5.parts (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids'), n int) PARTITION BY RANGE (id);
CREATE TABLE shard5.parts_past PARTITION OF shard5.parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE shard5.parts_rest PARTITION OF shard5.parts DEFAULT;
INSERT INTO shard5.parts (n) SELECT generate_series(1, 5);
INSERT INTO shard5.parts VALUES (1, 1);
SQL
on('south', 'CREATE DATABASE other');
on('north', $insert) for 1 .. 4;
moves('copy', 'north', 'south');

# --- A mover that is killed while the shard is sealed: what the target's table does not let in keeps it waiting.

sub kill_sealed
{
	my ($signal) = @_;
	my $gate = session('south');
	talk($gate, 'BEGIN; LOCK TABLE shard_move.marker IN EXCLUSIVE MODE;');
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		open STDOUT, '>', '/dev/null' or die;
		open STDERR, '>&', \*STDOUT or die;
		exec 'contrib/move/move_shard.py', '--patience', 600, 'switch', 'shard5', '--from', address('north'), '--to', address('south') or die;
	}
	$node{north}->poll_query_until('postgres', 'SELECT count(*) = 1 FROM shard_move.sealed') or die;
	kill $signal, $pid;
	waitpid $pid, 0;
	return $gate;
}

sub let_through
{
	my ($gate) = @_;
	talk($gate, 'COMMIT;');
	$gate->{run}->finish;
	return;
}

my $gate = kill_sealed('TERM');
state_is('copying', 'north', 'south');
is(on('north', $insert) > 0, 1, 'who is told to end opens the source again');
let_through($gate);
$gate = kill_sealed('KILL');
state_is('sealed', 'north', 'south');
like($said, qr/NOBODY CAN WRITE/, 'who is killed does not: status says so');
is(answer($_, $insert), 'ERROR:  25006', "$_: a writer is refused") for sort keys %node;
stops(qr/another target/, 'a move to another database', 'switch', 'north', address('south', 'other'));
let_through($gate);
moves('undo', 'north', 'south');
state_is('open', 'north', 'south');
my $told = on('north', $insert);
is(on('north', 'SELECT max(id) FROM shard5.photos'), $told, 'undone: the source takes writes');
is(on('north', "SELECT count(*) FROM pg_trigger WHERE tgname = '!sealed'"), 0, 'and has no trigger');
moves('copy', 'north', 'south');
let_through(kill_sealed('KILL'));
state_is('sealed', 'north', 'south');
moves('switch', 'north', 'south');
state_is('switched', 'north', 'south');
is(on('south', 'SELECT count(*), count(*) FILTER (WHERE tableoid = ' . q('shard5.parts_past'::regclass) . ') FROM shard5.parts'), '6|1', 'partitions have their rows');
is(on('south', q(INSERT INTO shard5."Odd ""one""" ("select") VALUES ('three') RETURNING id)), 3, 'an identity goes on');
stops(qr/the target is open/, 'undo after the switch', 'undo', 'north', 'south');
is(on('south', 'SELECT count(*) FROM shard5.photos WHERE name = ' . q('new')), on('north', 'SELECT count(*) FROM shard5.photos'), 'every row is there');
on('north', 'ALTER TABLE shard5.tallies DISABLE TRIGGER "!sealed"');
stops(qr/taken the seal off shard5.tallies/, 'the old rows, without their seal', 'finish', 'north', 'south');
on('north', 'ALTER TABLE shard5.tallies ENABLE ALWAYS TRIGGER "!sealed"');
moves('finish', 'north', 'south');
state_is('moved', 'north', 'south');
moves('finish', 'north', 'south');

stop_servers();
done_testing();
