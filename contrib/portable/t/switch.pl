# contrib/portable/to_extension.sql and from_extension.sql: no code of other roles runs, nothing of theirs is changed, and a
# script that is refused has changed nothing. Each waits for those that may still use the other version, and ends what it had begun
# before it was interrupted. make test-full does so under load: no id is repeated, all increase, and objects that use the functions
# stay; also those of a dump.
use Portable;
use ShardidTest;

my $node = new_portable_node('switch', 'log_min_messages = fatal', files => [ qw(uuids_and_text admin) ]);
my @psql = ('psql', '-XAtq', '-d', $node->connstr('portable'));
sub query { return $node->safe_psql('portable', $_[0]) }

# Returns the errors.
sub said
{
	my (@command) = @_;
	my $said = '';
	IPC::Run::run([ @psql, @command ], '<', \undef, '>', \$said, '2>&1', guard("@command"));
	return $said;
}
sub starting
{
	my ($said, @arguments) = @_;
	return IPC::Run::start([ @psql, @arguments ], '>', $said, '2>&1', guard("@arguments"));
}
sub await { my ($sql) = @_; return $node->poll_query_until('portable', $sql) || die "in vain: $sql" }
my $owner = 'ids_owner';
# A script of the owner's is ended where it waits, and run again until it waits there.
sub interrupted
{
	my ($script, $said, $name, $at_its_wait) = @_;
	await($at_its_wait);
	query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '$owner'");
	$script->finish;
	like($$said, qr/terminating connection/, 'it is interrupted, and run again');
	my $again = starting($said, '-U', $owner, '-f', "contrib/portable/${name}_extension.sql");
	await($at_its_wait);
	return $again;
}
sub as_owner { my ($name, @more) = @_; return said('-U', $owner, @more, '-f', "contrib/portable/${name}_extension.sql") }
sub as_superuser { return said('-f', "contrib/portable/$_[0]_extension.sql") }
my $draws = q(SELECT next_id(5) > 0 AND next_id(5, 'orders') > 0);

query(<<'SQL');
GRANT CREATE ON DATABASE portable TO ids_owner;
CREATE ROLE mallory LOGIN;
CREATE ROLE app;
GRANT CREATE ON SCHEMA public TO mallory;
CREATE SCHEMA mal AUTHORIZATION mallory;
SET ROLE ids_owner;
CREATE SEQUENCE orders;
CREATE TABLE orders_of (id bigint PRIMARY KEY DEFAULT next_id(5, 'orders'), made timestamptz GENERATED ALWAYS AS (id_timestamp(id)) STORED);
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5) CHECK (id_shard(id) = 5));
CREATE INDEX photos_ts ON photos (id_timestamp(id));
CREATE VIEW newest AS SELECT id, ts FROM photos, id_parts(id) ORDER BY id DESC LIMIT 1;
CREATE SEQUENCE short;
CREATE TABLE plain (id bigserial, no bigint GENERATED ALWAYS AS IDENTITY);
SELECT setval('plain_id_seq', 4000000000000000000), setval('plain_no_seq', 4000000000000000000) \g /dev/null
GRANT USAGE ON SEQUENCE plain_id_seq, plain_no_seq TO app;
SELECT next_id(5, 'orders'), next_id(5, 'short', shard_bits => 22, sequence_bits => 0) \g /dev/null
RESET ROLE;
SET ROLE mallory;
CREATE FUNCTION public.format(text, regnamespace) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE FUNCTION public.format(text, regclass) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE FUNCTION public.planted(oid, regclass) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE OPERATOR public.= (FUNCTION = public.planted, LEFTARG = oid, RIGHTARG = regclass);
CREATE SEQUENCE mal.bait;
SELECT setval('mal.bait', 2000000000000) \g /dev/null
GRANT ALL ON SEQUENCE mal.bait TO PUBLIC;
SQL
like(said('-c', q(SELECT format('%s', 'ids'::regnamespace))), qr/planted/, 'in search_path there is what others planted');
$node->safe_psql('postgres', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
for my $of (['shardid', qr/the extension shardid is in schema "ids"/], ['to_extension', qr/schema ids has no portable functions/],
	['uuids_and_text', qr/schema ids has no portable functions/])
{
	$node->command_fails_like([ 'psql', '-Xq', '-d', $node->connstr('postgres') . ' options=-csearch_path=ids', '-f', "contrib/portable/$of->[0].sql" ],
		$of->[1], "$of->[0]: not in the extension's schema");
}

# To the extension.
like(as_superuser('to'), qr/must be owner of the portable functions in schema ids/, 'not by a superuser, whom others could have prepared for');
is(query($draws), 't', 'and nothing is changed');
# A statement that began before the switch, and generates its ids after it. A reader of a mark keeps it from being dropped
# alone: others would wait for those that are dropped with it.
sub sleeping { return starting(\my $nothing, map { ('-c', $_) } @_, 'SELECT pg_sleep(600)') }
my $advisory = q(FROM pg_locks WHERE locktype = 'advisory' AND objid = 7);
my $reader = sleeping('BEGIN', 'SELECT last_value FROM ids.shardid_mark_63');
my $gate = sleeping('SELECT pg_advisory_lock(7)');
await("SELECT count(*) = 1 AND EXISTS (SELECT FROM pg_locks WHERE relation = 'ids.shardid_mark_63'::regclass::oid) $advisory AND granted");
my $pause = open_session($node->connstr('portable'));
ask_safe($pause, 'SELECT pg_advisory_lock(8);');
my $session = starting(\my $drawn, map { ('-c', $_) } q(SELECT next_id(5)), 'BEGIN', q(SELECT next_id(5, 'orders')), 'SELECT pg_advisory_lock_shared(8)', q(SELECT next_id(5)), 'COMMIT');
my $begun = starting(\my $late, '-c', "$draws FROM (SELECT pg_advisory_lock_shared(7) OFFSET 0) s");
await(q(SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND objid IN (7, 8) AND NOT granted));
my ($marks_locked, $rest) = script_with_includes('contrib/portable/to_extension.sql') =~ /^(.*?\n\$\$;\n)(.*)/s;
my $switching = IPC::Run::start([ @psql, '-U', $owner ], '<pipe', \*FEED, '>', \my $said, '2>&1', guard('to_extension.sql'));
FEED->autoflush(1);
print FEED $marks_locked;
# The switch waits for the transaction, and tries again.
ask_safe($pause, <<'SQL');
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT pg_advisory_unlock(8);
SQL
close_session($pause);
# Those that wait for a mark when the marks change, and find that the extension has generated ids.
await(q(SELECT count(*) = 64 FROM pg_locks WHERE relation::regclass::text LIKE '%shardid_mark_%' AND mode = 'ShareRowExclusiveLock' AND granted));
my @waiting = (
	'SELECT count(DISTINCT id) FROM next_ids(5, 3000) id', q(SELECT next_id(5, 'short', shard_bits => 22, sequence_bits => 0) > 0),
	q(SELECT raise_generator('orders', id_lower_bound(now())) > 0));
my @said_to = ('') x @waiting;
@waiting = map { starting(\$said_to[$_], '-c', $waiting[$_]) } 0 .. $#waiting;
await(q(SELECT count(*) = 3 FROM pg_locks WHERE locktype = 'relation' AND NOT granted));
print FEED q(SELECT shardid.next_id(5, 'ids.shardid_seq'), shardid.next_id(5, 'ids.orders'), shardid.next_id(5, 'ids.short', shard_bits => 22, sequence_bits => 0) \g /dev/null), "\n";
print FEED $rest;
close FEED;
$_->finish for @waiting;
is_deeply(\@said_to, [ "3000\n", "t\n", "t\n" ], 'calls that waited for a mark go on with the extension');
$switching = interrupted($switching, \$said, 'to', <<'SQL');
SELECT pg_get_functiondef(p.oid) LIKE '%shardid.next_id%' AND EXISTS (
	SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'DO%virtualxid%' OR wait_event = 'relation' AND query LIKE 'DROP SEQUENCE%')
FROM pg_proc p WHERE proname = 'next_id' AND pronamespace = 'ids'::regnamespace::oid AND pronargs = 5
SQL
query("SELECT pg_terminate_backend(pid) $advisory AND granted");
await(q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%OFFSET 0) s' AND wait_event IS DISTINCT FROM 'relation' AND pid <> pg_backend_pid())});
query(q(SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'ids.shardid_mark_63'::regclass::oid AND mode = 'AccessShareLock' AND pid <> pg_backend_pid()));
$_->finish for $begun, $switching;
eval { $_->finish } for $reader, $gate;
is($late, "t\n", 'a statement that began before generates its id by the extension');
is($said, '', 'by the owner, and nothing that was planted runs');
$session->finish;
like($drawn, qr/^\d+\n\d+\n\n\d+\n$/, 'a transaction that draws from two generators meanwhile does not have to give way');
is(query($draws), 't', 'all draw');
like(as_owner('to'), qr/schema ids has no portable functions/, 'a second time there is nothing to do');

# And back: who is refused has closed nothing.
like(as_superuser('from'), qr/must be owner of the portable functions in schema ids/, 'not by a superuser');
query('GRANT CREATE ON SCHEMA ids TO mallory');
like(as_owner('from'), qr/others can create objects in schema "ids"/, 'not while others create there');
query(q(REVOKE CREATE ON SCHEMA ids FROM mallory; CREATE TABLE direct (id bigint DEFAULT shardid.next_id(5, 'ids.orders'))));
like(as_owner('from'), qr/DETAIL:  By default value for column id of table ids.direct/, 'not while the extension itself is called');
query('DROP TABLE direct; ALTER SEQUENCE orders OWNER TO mallory');
like(as_owner('from'), qr/generators belong to other roles.*ids\.orders/s, 'not for generators of others');
query('ALTER SEQUENCE orders OWNER TO ids_owner; GRANT USAGE ON SEQUENCE orders TO app');
like(as_owner('from'), qr/HINT:  Run GRANT UPDATE ON SEQUENCE ids\.orders TO app;$/m, 'nor before a role with USAGE alone, which is enough for the extension, may UPDATE');
is(query($draws), 't', 'all draw');
query('GRANT UPDATE ON SEQUENCE orders TO app; GRANT USAGE, UPDATE ON SEQUENCE short TO app');

# The extension and the portable functions never draw at the same time: the way back waits for statements that are
# planned with the extension, and until they end all draws are refused.
$gate = open_session($node->connstr('portable'));
ask_safe($gate, 'SELECT pg_advisory_lock(7);');
my $drawing = starting(\$late, '-c', q(SELECT next_id(5, 'orders') FROM generate_series(1, 1) WHERE pg_advisory_lock_shared(7) IS NOT NULL));
my $runs = q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND query LIKE 'SELECT next_id%advisory%');
await("$runs AND wait_event = 'advisory'");
my $going_back = starting(\$said, '-U', $owner, '-v', 'generators=ids.short', '-f', 'contrib/portable/from_extension.sql');
# Run again without the names of generators.
$going_back = interrupted($going_back, \$said, 'from', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'DO %JOIN shardid_others%'));
my $closed = qr/sequence "ids.orders" has CYCLE/;
my $refused = said('-c', q(SELECT next_id(5, 'orders')));
like($refused, $closed, 'until the way back has ended, nobody draws');
like($refused, qr/HINT:  .* unless from_extension\.sql has set CYCLE/, 'nor is told to open the generator');
is(query($runs), 't', 'while a statement runs that was planned with the extension');
close_session($gate);
$going_back->finish;
is(query($runs), 'f', 'which is not before it has ended');
$drawing->finish;
like($late, $closed, 'those are refused');
is($said, '', 'nothing that was planted runs');
is(query($draws), 't', 'all draw');
is( query(q(SET ROLE app; SELECT next_id(5, 'short', shard_bits => 22, sequence_bits => 0) > 0)),
	't', 'from a generator that had to be named, too');
is( query(q(SELECT count(*) FROM pg_class, aclexplode(relacl) WHERE relname LIKE 'shardid_mark%' AND grantee IN (0, 'mallory'::regrole))),
	0, 'no mark is granted to who has a sequence of high values');
is(query(q(SELECT cycle, last_value FROM pg_sequences WHERE sequencename = 'bait')), 'f|2000000000000', 'which is as it was');
is(query('SELECT count(*) FROM pg_sequence WHERE seqcycle'), 0, 'and nothing stays closed');
is( query(<<'SQL'), '', 'no function calls the extension, of whatever file it is');
SET search_path = pg_catalog, pg_temp;
SELECT string_agg(DISTINCT caller.oid::regprocedure::text, ' ')
FROM pg_depend d JOIN pg_proc caller ON caller.oid = d.objid JOIN pg_proc called ON called.oid = d.refobjid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_proc'::regclass
  AND caller.pronamespace <> 'shardid'::regnamespace AND called.pronamespace = 'shardid'::regnamespace
SQL

# Under load. A generator that is being switched back refuses.
sub goes_on
{
	my $drawn = query('SELECT count(*) FROM photos');
	return ok($node->poll_query_until('portable', "SELECT count(*) > $drawn FROM photos"), 'which goes on drawing');
}
if (my $rounds = $ENV{FULL} ? 10 : $ENV{ROUNDS})
{
	my %statements = (
		photos => [ 'INSERT INTO photos DEFAULT VALUES RETURNING id', 'INSERT INTO photos SELECT FROM generate_series(1, 100) RETURNING id' ],
		orders => [ [ 'BEGIN', 'INSERT INTO orders_of DEFAULT VALUES RETURNING id', 'COMMIT' ], q{SELECT next_ids(5, 300, 'orders')} ]);
	my %load = map { $_ => [ map { start_clients($node, 2, $_, dbname => 'portable', tolerate => '55000,25P02') } @{ $statements{$_} } ] } keys %statements;
	for my $round (1 .. $rounds)
	{
		goes_on();
		is(as_owner('to'), '', 'to the extension, under load');
		goes_on();
		is(as_owner('from'), '', 'and back, under load');
	}
	goes_on();
	for my $generator (sort keys %load)
	{
		finish_clients($_, 'stop') for @{ $load{$generator} };
		is_innocent(judge_clients($load{$generator}, lead_ms => -1), "portable to extension and back: $generator", $rounds);
	}
	is(query('SELECT count(*) FROM photos WHERE id_shard(id) <> 5'), 0, 'the check holds');
	like(query('SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN SELECT * FROM photos WHERE id_timestamp(id) > now()'),
		qr/photos_ts/, 'an index on a function is one still');

	# A dump contains the functions, the marks and each generator's position, which prevents duplicates, even if the clock is
	# behind: here the generator was ahead of it.
	query(q(DROP OPERATOR public.= (oid, regclass); SELECT raise_generator('shardid_seq', id_lower_bound(now() + interval '1 hour'))));
	my $last = query('INSERT INTO photos DEFAULT VALUES RETURNING id');
	my $file = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
	run_log([ 'pg_dump', '-f', $file, $node->connstr('portable') ]) or die 'pg_dump';
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	$node->command_ok([ qw(psql -Xq -v ON_ERROR_STOP=1 -f), $file, $node->connstr('restored') ], 'restored');
	cmp_ok($node->safe_psql('restored', 'INSERT INTO ids.photos DEFAULT VALUES RETURNING id'), '>', $last, 'ids go on');
	cmp_ok($node->safe_psql('restored', 'SELECT id FROM ids.newest'), '>', $last, 'a view works');
}

# A worker of autovacuum is not waited for: it has no user, and generates no ids.
query(<<'SQL');
CREATE FUNCTION public.held(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(9); RETURN 1; END';
CREATE TABLE public.analyzed (a int) WITH (autovacuum_analyze_threshold = 1);
CREATE INDEX ON public.analyzed (public.held(a));
INSERT INTO public.analyzed SELECT generate_series(1, 100);
ALTER SYSTEM SET autovacuum_naptime = '1s';
ALTER SYSTEM SET autovacuum = on;
SQL
$gate = open_session($node->connstr('portable'));
ask_safe($gate, 'SELECT pg_advisory_lock(9), pg_reload_conf();');
await(q(SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND wait_event = 'advisory'));
{
	local $ENV{PGOPTIONS} = '-c statement_timeout=60s';
	is(as_owner('to') . as_owner('from'), '', 'to the extension and back, while autovacuum waits for a lock');
}
query("ALTER SYSTEM SET autovacuum = off; SELECT pg_reload_conf()");
close_session($gate);

# A schema and an owner whose names must be quoted, next to a schema whose unquoted name is the same.
query(<<'SQL');
CREATE SCHEMA "Ids" AUTHORIZATION ids_owner;
ALTER ROLE ids_owner SET search_path = "Ids";
ALTER ROLE ids_owner RENAME TO "Ids Owner";
SQL
$owner = 'Ids Owner';
{
	# PostgreSQL 19 has no other strings.
	local $ENV{PGOPTIONS} = '-c quote_all_identifiers=on'
	  . ($node->pg_version->major < 19 ? ' -c standard_conforming_strings=off -c escape_string_warning=off' : '');
	is(said('-U', $owner, map { ('-f', "contrib/portable/$_.sql") } qw(shardid uuids_and_text admin)), '', 'names that are quoted, in a session that reads backslashes');
}
{
	local $ENV{PGOPTIONS} = '-c datestyle=SQL -c timezone=Asia/Kolkata -c quote_all_identifiers=on';
	is(as_owner('to'), '', 'to the extension');
	is(query(q(SELECT "Ids".id_timestamp(0) = '2011-08-24 21:07:01.721+00')), 't', 'with the same epoch, whatever writes it as text');
	is(query(q(SELECT to_regclass('"Ids".shardid_mark_0') IS NULL AND to_regclass('ids.shardid_mark_0') IS NOT NULL)), 't', 'and not those beside');
	is(as_owner('from'), '', 'and back');
}
is(query(q(SELECT "Ids".next_id(5) > 0)), 't', 'it draws');
$marks_locked .= 'COMMIT;';
IPC::Run::run([ @psql, '-U', $owner ], '<', \$marks_locked, '>', \$said, '2>&1');
is($said . as_owner('from') . query(q(SELECT count(*) FROM "Ids".next_ids(5, 3000))), 3000, 'back from a way there that was interrupted');
like(said('-U', $owner, '-c', q(CREATE TABLE "Ids".serials (id bigserial)), '-c', q(SELECT string_agg(command, ' ') FROM shardid_admin.id_migration_commands('"Ids"', generator => NULL) command)),
	qr/ALTER TABLE ONLY "Ids"\.serials /, 'a schema of this owner is migrated');

$node->stop;
done_testing();
