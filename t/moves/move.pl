# examples/move/move_shard.py, case by case: what it refuses to move, late writers of every kind, movers that end in
# every state, undo, leases, another layout. t/moves/move_faults.pl has the load.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $conf = "max_prepared_transactions = 5\nwal_retrieve_retry_interval = 100ms\nautovacuum = off\n";
my %node = map { $_ => new_node($_, $conf, allows_streaming => 'logical') } qw(north south);
sub on { my ($name, $sql) = @_; return $node{$name}->safe_psql('postgres', $sql) }
sub address { my ($name, $dbname) = @_; return $node{$name}->connstr($dbname // 'postgres') }

my $said;

sub mover_command
{
	my ($command, $from, $to, @options) = @_;
	my @args = ('--from', $from =~ /=/ ? $from : address($from), '--to', $to =~ /=/ ? $to : address($to));
	return ('examples/move/move_shard.py', '--patience', 30, @options, $command, 'shard5', @args);
}

# What a mover between the two says is kept; returns how it ended.
sub mover
{
	my @command = mover_command(@_);
	$said = '';
	IPC::Run::run(\@command, '>&', \$said);
	return $? >> 8;
}

sub moves
{
	my ($command, $from, $to, @options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(mover(@_), 0, "$command from $from to $to" . join ' ', '', @options) || diag $said;
}

sub stops
{
	my ($pattern, $what, @args) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is(mover(@args), 1, "$what: stops");
	return like($said, $pattern, "$what: says why");
}

sub state_is
{
	my ($state, $from, $to) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	mover('status', $from, $to);
	return like($said, qr/^state +$state$/m, "state: $state");
}

# A session that stays; what it answers, an error as its SQLSTATE.
sub session
{
	my ($name) = @_;
	my $session = { in => '', out => '' };
	my @command = ('psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-d', address($name));
	$session->{run} = IPC::Run::start(\@command, '<', \$session->{in}, '>', \$session->{out}, '2>', \$session->{out}, IPC::Run::timeout(60));
	return $session;
}

sub talk
{
	my ($session, $sql) = @_;
	$session->{out} = '';
	$session->{in} .= "$sql\n\\echo done\n";
	$session->{run}->pump until $session->{out} =~ /^done$/m;
	return $session->{out} =~ s/^(?:done|NOTICE.*)\n//mgr =~ s/\n\z//r;
}

sub answer
{
	my ($name, $sql) = @_;
	my $session = session($name);
	my $answer = talk($session, $sql);
	$session->{run}->finish;
	return $answer;
}

my $insert = q(INSERT INTO shard5.photos (name) VALUES ('new') RETURNING id;);
my $draw = q(SELECT next_id(5, 'shard5.ids'););

# --- What cannot be moved.

on('north', slurp_file('examples/move/shard.sql') . <<'SQL');
CREATE TABLE shard5.keyless (a int);
CREATE UNLOGGED TABLE shard5.unlogged (a int PRIMARY KEY);
CREATE TABLE shard5.of_another (a int PRIMARY KEY);
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER always BEFORE INSERT ON shard5.of_another FOR EACH ROW EXECUTE FUNCTION tell();
ALTER TABLE shard5.of_another ENABLE ALWAYS TRIGGER always;
CREATE SEQUENCE shard5.mine_sealed;
CREATE TABLE outside (photo bigint REFERENCES shard5.photos, id bigint DEFAULT next_id(5, 'shard5.ids'));
CREATE VIEW looks AS SELECT * FROM shard5.photos;
SQL
on('north', $draw);
stops(qr/keyless has no replica identity/, 'a shard with much that is unfit', 'switch', 'north', 'south');
like($said, $_, "$_") for qr/unlogged is not logged/, qr/of_another has a trigger "?always"?/, qr/mine_sealed has a name/,
  qr/outside, which is elsewhere, has a key/, qr/looks, which is elsewhere, is a view/, qr/outside, which is elsewhere, has a default/;
on('north', 'DROP TABLE outside; DROP VIEW looks; DROP TABLE shard5.keyless, shard5.unlogged, shard5.of_another; DROP SEQUENCE shard5.mine_sealed');
on('north', <<'SQL');
CREATE TABLE shard5."Odd ""one""" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "select" text UNIQUE);
INSERT INTO shard5."Odd ""one""" ("select") VALUES ('%s'), (NULL);
CREATE TABLE shard5.parts (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids'), n int) PARTITION BY RANGE (id);
CREATE TABLE shard5.parts_past PARTITION OF shard5.parts FOR VALUES FROM (MINVALUE) TO (1000);
CREATE TABLE shard5.parts_rest PARTITION OF shard5.parts DEFAULT;
INSERT INTO shard5.parts (n) SELECT generate_series(1, 5);
INSERT INTO shard5.parts VALUES (1, 1);
SQL
stops(qr/another layout/, 'another layout than that of the generator', 'switch', 'north', 'south', '--layout', 'shard_bits => 4, sequence_bits => 8');
$node{north}->safe_psql('postgres', 'CREATE DATABASE other');
stops(qr/one server/, 'to the same server', 'switch', 'north', address('north', 'other'));
$node{south}->safe_psql('postgres', 'CREATE DATABASE other');
stops(qr/schema public of the source and None/, 'to a database without the extension', 'switch', 'north', address('south', 'other'));
stops(qr/no state of a move/, 'a shard that is nowhere', 'switch', address('north', 'other'), 'south');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_move')), 0, "$_: nothing was changed") for sort keys %node;
moves('finish', 'north', 'south', '--dry-run');
like($said, qr/CREATE SUBSCRIPTION/, 'a dry run says what it would do');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_move')), 0, "$_: and changes nothing") for sort keys %node;

# --- While it is copied.

on('north', $insert) for 1 .. 3;
state_is('open', 'north', 'south');
moves('copy', 'north', 'south');
state_is('copying', 'north', 'south');
on('north', $insert);
is(answer('south', $insert), 'ERROR:  25006', 'an early writer is refused on the target');
is(answer('south', $draw), 'ERROR:  42P01', 'and who draws');
stops(qr/the right way round/, 'from and to exchanged', 'switch', 'south', 'north');
stops(qr/another source/, 'a move from another database', 'switch', address('north', 'other'), 'south');
on('north', 'ALTER TABLE shard5.photos ADD note text');
stops(qr/column note/, 'a column more on the source', 'switch', 'north', 'south');
on('south', 'ALTER TABLE shard5.photos ADD note text');
on('north', 'CREATE TABLE shard5.late (a int PRIMARY KEY)');
on('south', 'CREATE TABLE shard5.late (a int PRIMARY KEY)');
stops(qr/not replicated: late/, 'a table more on both', 'switch', 'north', 'south');
on($_, 'DROP TABLE shard5.late') for sort keys %node;
moves('undo', 'north', 'south');
state_is('open', 'north', 'south');
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
		exec 'examples/move/move_shard.py', '--patience', 600, 'switch', 'shard5', '--from', address('north'), '--to', address('south') or die;
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
like($said, qr/sequences +have come by replication/, 'PostgreSQL replicates the sequences') if `postgres --version` =~ /(\d+)/ && $1 >= 19;
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

# --- The marker does not come in time.

moves('copy', 'south', 'north');
$gate = session('north');
talk($gate, 'BEGIN; LOCK TABLE shard_move.marker IN EXCLUSIVE MODE;');
stops(qr/has not come within 0.5 s/, 'a target that does not keep up', 'switch', 'south', 'north', '--patience', 0.5);
let_through($gate);
cmp_ok(on('south', $insert), '>', $told, 'the source is open again');

# --- Late writers, whatever they have prepared; and those who have begun are waited for.

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
my $mover = IPC::Run::start([ mover_command('finish', 'north', 'south', '--tries', 20) ], '>&', \$said, IPC::Run::timeout(60));
$mover->pump until $said =~ /waiting/ || !$mover->pumpable;
like($said, qr/waiting +for shard5\.tallies: pid/, 'the table that is locked first from then on is named');
talk($holder, 'COMMIT;');
$holder->{run}->finish;
ok($mover->finish, 'finish from north to south, beside them') || diag $said;
$locker->finish;
like($late_error, qr/shard "shard5" is sealed|relation "shard5\.\w+" does not exist/, 'the transactions are refused at last');
moves('finish', 'south', 'north');

# --- A leased generator: the lease moves with the shard, and comes back where the target cannot have it.

on('north', 'CREATE DATABASE registry');
$node{north}->safe_psql('registry', q(CREATE EXTENSION shardid_lease CASCADE; SELECT shardid_lease.create_id_space('shop')));
my ($host, $port) = ($node{north}->host, $node{north}->port);
on($_, <<"SQL") for sort keys %node;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SQL
is(on('north', q(SELECT shardid_lease.lease_shard('shop', 'registry', 'shard5.ids', 5))), 5, 'the generator leases its shard');
my $leased = on('north', $draw);
moves('copy', 'north', 'south');
is(answer('south', $draw), 'ERROR:  42P01', 'an early draw is refused');
on('south', q(ALTER SERVER registry OPTIONS (SET port '1')));
stops(qr/could not/, 'a target that does not reach the registry', 'switch', 'north', 'south');
cmp_ok(my $again = on('north', $draw), '>', $leased, 'the source has its lease again');
on('south', "ALTER SERVER registry OPTIONS (SET port '$port')");
moves('finish', 'north', 'south');
like($said, qr/leased +ids: shard 5 of shop/, 'the lease has moved');
cmp_ok(on('south', $draw), '>', $again, 'the target draws above the source');
is(on('south', q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state = 'held')), 1, 'with its lease');
moves('finish', 'south', 'north');
like(on('north', $insert), qr/^\d+$/, 'and back');
on('north', q(SELECT shardid_lease.release_shard('shard5.ids'); DROP EXTENSION shardid_lease CASCADE));

# --- Another layout.

on('north', <<'SQL');
DROP SCHEMA shard5 CASCADE;
CREATE SCHEMA shard5;
CREATE SEQUENCE shard5.ids;
CREATE TABLE shard5.t (id bigint PRIMARY KEY DEFAULT next_id(5, 'shard5.ids', '2024-01-01 00:00+00', 4, 8));
INSERT INTO shard5.t DEFAULT VALUES;
SQL
stops(qr/another layout.*--layout/, 'a layout that is not named', 'switch', 'north', 'south');
moves('finish', 'north', 'south', '--layout', "'2024-01-01 00:00+00', 4, 8");
is(on('south', 'INSERT INTO shard5.t DEFAULT VALUES RETURNING id > (SELECT max(id) FROM shard5.t)'), 't', 'a layout that is named goes on');

$_->stop for values %node;
done_testing();
