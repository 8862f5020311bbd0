# examples/move/move_shard.py and writers of every kind: those that come late are refused, whatever they have prepared; those that
# have begun are waited for and named, also where they lock in another order than the seal; and ids increase over the move.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Mover;

start_with_shard_on('south');
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
stops(qr/waiting.*a prepared transaction/, 'transactions that do not end', 'switch', 'south', 'north', '--tries', 2, '--lock-wait', 200);
like($said, qr/pid \d+ \(\Q$owner\E\)/, 'who they are is said');
on('south', q(COMMIT PREPARED 'long'));
talk($writer, 'COMMIT;');
stops(qr/waiting.*pid \d+/, 'who draws, too', 'switch', 'south', 'north', '--tries', 1, '--lock-wait', 200);
talk($drawer, 'COMMIT;');
moves('switch', 'south', 'north', '--compare', 'rows');
# TRUNCATE would wait for the old snapshot.
for my $how (reverse sort keys %late)
{
	my $sqlstate = $late{$how}[2] // '25006';
	is(talk($session{$how}, $late{$how}[1]), "ERROR:  $sqlstate", "$how: refused");
}
$_->{run}->finish for values %session, $writer, $drawer;
my $first = on('north', $draw);
cmp_ok($first, '>', $_, 'the first id of the target is above those that were drawn') for $drawn, $rolled_back;
is(on('north', q(SELECT count(*) FROM shard5.photos WHERE name = 'prepared')), 1, 'the prepared row is there');
my ($status, undef, $error) = $node{south}->psql('postgres', $insert);
like($error, qr/HINT: +It moves to host=\S+ port=@{[ $node{north}->port ]} dbname=postgres: try there/, 'who is late is told where to go');
moves('finish', 'south', 'north');

# --- Transactions that lock the tables in another order than the seal, one after the other.

my $deadlocks = 'BEGIN; UPDATE shard5.tallies SET photos = 0 WHERE slot = 1; SELECT pg_sleep(0.1); ' . "$insert COMMIT;\n";
my $dump_of_17 = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dump_of_17/pg_dump", <<'SH');
#!/bin/sh
# What pg_dump 17 begins with, which an older server does not know.
echo 'SET transaction_timeout = 0;'
PATH=${PATH#*:} exec pg_dump "$@"
SH
chmod 0755, "$dump_of_17/pg_dump";
append_to_file("$dump_of_17/other_way.sql", $deadlocks x 200);
{
	local $ENV{PATH} = "$dump_of_17:$ENV{PATH}";
	moves('copy', 'north', 'south');
}
my $locker = IPC::Run::start([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', address('north'), '-f', "$dump_of_17/other_way.sql" ], '>', '/dev/null', '2>', \my $late_error);
# Between two of its transactions nobody would hold the lock: this session does, until the mover has met it.
my $holder = session('north');
talk($holder, 'BEGIN; LOCK TABLE shard5.tallies IN ROW EXCLUSIVE MODE;');
$said = '';
my $mover = IPC::Run::start([ mover_command('finish', 'north', 'south', '--tries', 20) ], '>&', \$said, IPC::Run::timeout(180));
$mover->pump until $said =~ /waiting/ || !$mover->pumpable;
like($said, qr/waiting +for shard5\.tallies: pid/, 'the table that it waits for is named');
talk($holder, 'COMMIT;');
$holder->{run}->finish;
ok($mover->finish, 'finish from north to south, beside them') || diag $said;
$locker->finish;
like($late_error, qr/shard "shard5" is (?:being )?sealed|relation "shard5\.\w+" does not exist/, 'the transactions are refused at last');
moves('finish', 'south', 'north');

stop_servers();
done_testing();
