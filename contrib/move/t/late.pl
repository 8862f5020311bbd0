# contrib/move/move_shard.py and writers of every kind: those that come late are refused, whatever they have prepared; those that
# have begun are waited for and named; and ids increase over the move.
use Mover;
use ShardidTest;

start_with_shard_on('south');
on($_, <<'SQL') for sort keys %node;
CREATE SCHEMA shard_move;
CREATE FUNCTION shard_move.seal(name, text, text, boolean, regclass[] DEFAULT '{}') RETURNS void LANGUAGE sql AS '';
SQL
moves('copy', 'south', 'north');

on('south', <<'SQL');
CREATE ROLE app LOGIN;
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
	'ON CONFLICT' => [ '', 'INSERT INTO shard5.tallies VALUES (1) ON CONFLICT (slot) DO UPDATE SET photos = 0;' ],
	'an UPDATE of no row' => [ '', 'UPDATE shard5.photos SET name = name WHERE id = 0;' ],
	'DELETE' => [ '', 'DELETE FROM shard5.photos;' ],
	'TRUNCATE' => [ '', 'TRUNCATE shard5.photos CASCADE;' ],
	'MERGE' => [ '', 'MERGE INTO shard5.tallies t USING (SELECT 1 AS slot) s ON t.slot = s.slot WHEN MATCHED THEN DELETE;' ],
	'a replica' => [ 'SET session_replication_role = replica;', $insert ],
	'a prepared draw' => [ "PREPARE draws AS $draw EXECUTE draws;", 'EXECUTE draws;', '42P01' ],
	'a function that draws' => [ 'SELECT public.draw();', 'SELECT public.draw();', '42P01' ]);
my %session = map { $_ => session('south') } keys %late;
unlike(talk($session{$_}, $late{$_}[0]), qr/ERROR/, "$_: before") for sort keys %late;
talk($session{'a snapshot from before'}, 'SELECT 1;');
my $writer = session('south');
talk($writer, "BEGIN; $insert");
my $drawer = session('south');
my $drawn = talk($drawer, "BEGIN; $draw");
on('south', "BEGIN; INSERT INTO shard5.photos (name) VALUES ('prepared'); PREPARE TRANSACTION 'long'");
on('south', 'BEGIN; ' . join(' ', ($insert) x 300) . ' ROLLBACK') =~ /(\d+)\z/;
my $rolled_back = $1;
on('north', 'CREATE ROLE app') if on('north', q(SELECT to_regrole('app') IS NULL)) eq 't';
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
for my $how (reverse sort keys %late)
{
	my $sqlstate = $late{$how}[2] // '25006';
	is(talk($session{$how}, $late{$how}[1]), "ERROR:  $sqlstate", "$how: refused");
}
end_session($_) for values %session, $writer, $drawer;
my $first = on('north', $draw);
cmp_ok($first, '>', $_, 'the first id of the target is above those that were drawn') for $drawn, $rolled_back;
is(on('north', q(SELECT count(*) FROM shard5.photos WHERE name = 'prepared')), 1, 'the prepared row is there');
my ($status, undef, $error) = $node{south}->psql('postgres', $insert);
like($error, qr/HINT: +It moves to host=\S+ port=@{[ $node{north}->port ]} dbname=postgres: try there/, 'who is late is told where to go');
moves('finish', 'south', 'north');
stop_servers();
done_testing();
