# contrib/move/move_shard.py and writers of every kind: those that come late are refused, whatever they have prepared; those that
# have begun are waited for and named; and ids increase over the move. Under transactions that lock the shard's tables in both
# orders, at once and without an end, the seal gets its turn, nobody is a deadlock's victim, and every row moves.
use Mover;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
start_with_shard_on('south');
moves('copy', 'south', 'north');

on($_, 'CREATE ROLE app LOGIN') for sort keys %node;
on('south', <<'SQL');
GRANT USAGE ON SCHEMA shard5 TO app;
GRANT ALL ON ALL TABLES IN SCHEMA shard5 TO app;
GRANT ALL ON ALL SEQUENCES IN SCHEMA shard5 TO app;
CREATE FUNCTION public.draw() RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE id bigint; BEGIN id := next_id(5, 'shard5.ids'); RETURN id; END $$;
SQL
my $owner = getpwuid $<;
my %late = (
	'a prepared INSERT' => [ "PREPARE ins AS $insert EXECUTE ins;", 'EXECUTE ins;' ],
	'a role that is no superuser' => [ "SET ROLE app; $insert", $insert ],
	'a snapshot from before' => [ 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) > 0 FROM shard5.photos;', $insert ],
	'COPY' => [ '', "COPY shard5.photos (name) FROM PROGRAM 'echo copied';" ],
	'an UPDATE of no row' => [ '', 'UPDATE shard5.photos SET name = name WHERE id = 0;' ],
	'DELETE' => [ '', 'DELETE FROM shard5.photos;' ],
	'TRUNCATE' => [ '', 'TRUNCATE shard5.photos CASCADE;' ],
	'a replica' => [ 'SET session_replication_role = replica;', $insert ],
	'a prepared draw' => [ "PREPARE draws AS $draw EXECUTE draws;", 'EXECUTE draws;', '42P01' ],
	'a function that draws' => [ 'SELECT public.draw();', 'SELECT public.draw();', '42P01' ]);
my %session = map { $_ => session('south') } sort keys %late;
unlike(talk($session{$_}, $late{$_}[0]), qr/ERROR/, "$_: before") for sort keys %late;
talk($session{'a snapshot from before'}, 'SELECT 1;');
my ($writer, $drawer) = map { session('south') } 1, 2;
talk($writer, "BEGIN; $insert");
my $drawn = talk($drawer, "BEGIN; $draw");
on('south', "BEGIN; INSERT INTO shard5.photos (name) VALUES ('prepared'); PREPARE TRANSACTION 'long'");
on('south', 'BEGIN; ' . join(' ', ($insert) x 300) . ' ROLLBACK') =~ /(\d+)\z/;
my $rolled_back = $1;
stops(qr/waiting.*prepared transaction 'long' for/, 'transactions that do not end', 'switch', 'south', 'north', '--tries', 2, '--lock-wait', 200);
like($said, qr/pid \d+ \(\Q$owner\E\)/, 'who they are is said');
my $mover = start_mover('switch', 'south', 'north', '--compare', 'rows', '--tries', 1, '--lock-wait', 600_000);
my $waits = q(SELECT EXISTS (SELECT FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE application_name = 'move_shard' AND NOT granted AND %s));
$node{south}->poll_query_until('postgres', sprintf $waits, 'true') or die;
on('south', q(COMMIT PREPARED 'long'));
talk($writer, 'COMMIT;');
$node{south}->poll_query_until('postgres', sprintf $waits, q(relation = 'shard5.ids'::regclass)) or die;
talk($drawer, 'COMMIT;');
ok($mover->finish, 'one try waits for young transactions: prepared ones, and those that have only drawn ids') || diag $said;
# TRUNCATE would wait for the old snapshot.
is(talk($session{$_}, $late{$_}[1]), 'ERROR:  ' . ($late{$_}[2] // '25006'), "$_: refused") for reverse sort keys %late;
close_session($_) for values %session, $writer, $drawer;
my $first = on('north', $draw);
cmp_ok($first, '>', $_, 'the first id of the target is above those that were drawn') for $drawn, $rolled_back;
is(on('north', q(SELECT count(*) FROM shard5.photos WHERE name = 'prepared')), 1, 'the prepared row is there');
like(($node{south}->psql('postgres', $insert))[2], qr/HINT: +It moves to host=\S+ port=@{[ $node{north}->port ]} dbname=postgres: try there/, 'who is late is told where to go');
moves('finish', 'south', 'north');

# --- Writers in both orders: two statements in a transaction, with a pause between.

on('north', 'TRUNCATE shard5.photos CASCADE');
my $tally = 'INSERT INTO shard5.tallies VALUES (pg_backend_pid(), 1) ON CONFLICT (slot) DO UPDATE SET photos = tallies.photos + 1';
# The triggers of a seal that was opened again are no guard.
moves('copy', 'north', 'south');
my $gate = hold_marker('south');
stops(qr/has not come within 0.1 s/, 'a target that does not keep up', 'switch', 'north', 'south', '--patience', 0.1);
close_session($gate);
my @servers = qw(north south);
my @orders = ([ $tally, $insert ], [ $insert, $tally ]);
for my $round (1 .. rounds(1, 10))
{
	my @writers = map { start_writers("$dir/told$round.$_", 4, 0, 'BEGIN', $orders[$_][0], 'SELECT pg_sleep(0.02)', $orders[$_][1], 'COMMIT') } 0, 1;
	await_writers(undef, @writers);
	my $log_before = -s $node{ $servers[0] }->logfile;
	moves('switch', @servers, '--tries', 100, '--lock-wait', 5000);
	await_writers($servers[1] eq 'north' ? 0 : 1, @writers);
	stop_writers(@writers);
	unlike(slurp_file($node{ $servers[0] }->logfile, $log_before), qr/^(?!.*move_shard).*ERROR: +deadlock/m, 'no writer is the victim of a deadlock');
	moves('finish', @servers);
	@servers = reverse @servers;
}
my @told = map { (split / /)[0] } map { split /\n/, slurp_file($_) } glob "$dir/told*";
is(on($servers[0], 'SELECT count(*) FROM shard5.photos'), scalar @told, 'every row is there');
is(on($servers[0], 'SELECT sum(photos) - (SELECT count(*) FROM shard5.photos) FROM shard5.tallies'), 0, 'with its tally');

# --- Tables that are guarded: transactions that have begun to write continue, and others are refused at once.

my ($name) = @servers;
moves('copy', @servers);
on($name, "SELECT shard_move.guard('shard5.$_', 'admit()', true)") for qw(photos tallies events);
%session = map { $_ => session($name) } qw(begun drawn sealer new);
talk($session{begun}, "BEGIN; $insert");
like(talk($session{drawn}, "BEGIN; $draw"), qr/^\d+$/, 'an id before the seal');
send_to($session{sealer}, "BEGIN; SELECT shard_move.seal('shard5', 'mine', '', true);");
$node{$name}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted))) or die;
is(talk($session{new}, $insert), 'ERROR:  25006', 'a new transaction is refused');
is(talk($session{begun}, "SAVEPOINT s; $tally; ROLLBACK TO s; $tally;"), '', 'one that has begun writes to another table');
talk($session{begun}, 'COMMIT;');
$node{$name}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'shard5.ids'::regclass AND NOT granted))) or die;
is(talk($session{drawn}, $insert), 'ERROR:  25006', 'one that has drawn an id is refused, and no deadlock');
talk($session{drawn}, 'ROLLBACK;');
unlike(answer($session{sealer}), qr/ERROR/, 'the seal has its locks');
talk($session{sealer}, 'ROLLBACK;');
like(talk($session{new}, $insert), qr/^\d+$/, 'without the mover everybody writes');
close_session($_) for values %session;
moves('undo', @servers);
is(on($name, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), 0, 'undo drops the guards');

$_->stop for values %node;
done_testing();
