# contrib/portable/to_extension.sql and from_extension.sql in a schema with hostile objects: no code of other roles runs,
# nothing of theirs is changed, and a script that is refused has changed nothing.
use Portable;
use ShardidTest;

my $node = new_portable_node('scripts', 'log_min_messages = fatal');
my @psql = ('psql', '-XAtq', '-d', $node->connstr('portable'));
sub query { return $node->safe_psql('portable', $_[0]) }

# Returns the errors.
sub said
{
	my (@command) = @_;
	my $said = '';
	IPC::Run::run([ @psql, @command ], '<', \undef, '>', \$said, '2>&1', IPC::Run::timer(60));
	return $said;
}
my $owner = 'ids_owner';
sub as_owner { my ($name, @more) = @_; return said('-U', $owner, @more, '-f', "contrib/portable/${name}_extension.sql") }
sub as_superuser { return said('-f', "contrib/portable/$_[0]_extension.sql") }
my $draws = q(SELECT next_id(5) > 0 AND next_id(5, 'orders') > 0);

query(<<'SQL');
GRANT CREATE ON DATABASE portable TO ids_owner;
CREATE ROLE mallory LOGIN;
GRANT CREATE ON SCHEMA public TO mallory;
CREATE SCHEMA mal AUTHORIZATION mallory;
SET ROLE ids_owner;
CREATE SEQUENCE orders;
CREATE TABLE orders_of (id bigint DEFAULT next_id(5, 'orders'));
CREATE SEQUENCE short;
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

# To the extension.
like(as_superuser('to'), qr/must be owner of the portable functions in schema ids/, 'not by a superuser, whom others could have prepared for');
is(query($draws), 't', 'and nothing is changed');
# A statement that began before the switch, and generates its ids after it. A reader of a mark keeps it from being dropped
# alone: others would wait for those that are dropped with it.
sub sleeping { my @statements = @_; return IPC::Run::start([ @psql, (map { ('-c', $_) } @statements, 'SELECT pg_sleep(600)') ], '>', \my $nothing, '2>&1', IPC::Run::timer(600)) }
my $advisory = q(FROM pg_locks WHERE locktype = 'advisory' AND objid = 7);
my $reader = sleeping('BEGIN', 'SELECT last_value FROM ids.shardid_mark_63');
my $gate = sleeping('SELECT pg_advisory_lock(7)');
$node->poll_query_until('portable', "SELECT count(*) = 1 AND EXISTS (SELECT FROM pg_locks WHERE relation = 'ids.shardid_mark_63'::regclass::oid) $advisory AND granted") or die;
my $pause = $node->background_psql('portable');
$pause->query_safe('SELECT pg_advisory_lock(8)');
my $session = IPC::Run::start(
	[ @psql, '-c', q(SELECT next_id(5)), '-c', 'BEGIN', '-c', q(SELECT next_id(5, 'orders')), '-c', 'SELECT pg_advisory_lock_shared(8)', '-c', q(SELECT next_id(5)), '-c', 'COMMIT' ],
	'>', \my $drawn, '2>&1');
my $begun = IPC::Run::start([ @psql, '-c', "$draws FROM (SELECT pg_advisory_lock_shared(7) OFFSET 0) s" ], '>', \my $late, '2>&1', IPC::Run::timer(600));
$node->poll_query_until('portable', q(SELECT count(*) = 2 FROM pg_locks WHERE locktype = 'advisory' AND objid IN (7, 8) AND NOT granted)) or die;
my $switching = IPC::Run::start([ @psql, '-U', $owner, '-f', 'contrib/portable/to_extension.sql' ], '>', \my $said, '2>&1', IPC::Run::timer(600));
# The switch waits for the transaction, and tries again.
$pause->query_safe(<<'SQL');
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND NOT granted) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT pg_advisory_unlock(8);
SQL
$pause->quit;
$node->poll_query_until('portable', <<'SQL') or die;
SELECT pg_get_functiondef(p.oid) LIKE '%shardid.next_id%' AND EXISTS (
	SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE 'DO%virtualxid%' OR wait_event = 'relation' AND query LIKE 'DROP SEQUENCE%')
FROM pg_proc p WHERE proname = 'next_id' AND pronamespace = 'ids'::regnamespace::oid AND pronargs = 5
SQL
query("SELECT pg_terminate_backend(pid) $advisory AND granted");
$node->poll_query_until('portable', q{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%OFFSET 0) s' AND wait_event IS DISTINCT FROM 'relation' AND pid <> pg_backend_pid())}) or die;
query(q(SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'ids.shardid_mark_63'::regclass::oid AND mode = 'AccessShareLock' AND pid <> pg_backend_pid()));
$_->finish for $begun, $switching;
eval { $_->finish } for $reader, $gate;
is($late, "t\n", 'a statement that began before generates its id by the extension');
is($said, '', 'by the owner, and nothing that was planted runs');
$session->finish;
like($drawn, qr/^\d+\n\d+\n\n\d+\n$/, 'a transaction that draws from two generators meanwhile does not have to give way');
is(query($draws), 't', 'all draw');
like(as_owner('to'), qr/schema ids has no portable functions/, 'a second time there is nothing to do');

# And back.
my $closed = qr/has CYCLE/;
like(as_superuser('from'), qr/must be owner of the portable functions in schema ids/, 'not by a superuser');
query('GRANT CREATE ON SCHEMA ids TO mallory');
like(as_owner('from'), qr/others can create objects in schema "ids"/, 'not while others create there');
is(query($draws), 't', 'and who is refused has closed nothing');
query('REVOKE CREATE ON SCHEMA ids FROM mallory');
query(q(CREATE TABLE direct (id bigint DEFAULT shardid.next_id(5, 'ids.orders'))));
like(as_owner('from'), qr/DETAIL:  By default value for column id of table ids.direct/, 'not while the extension itself is called');
query('DROP TABLE direct');
query('ALTER SEQUENCE orders OWNER TO mallory');
like(as_owner('from'), qr/generators belong to other roles.*ids\.orders/s, 'not for generators of others');
query('ALTER SEQUENCE orders OWNER TO ids_owner; CREATE ROLE app; GRANT USAGE, UPDATE ON SEQUENCE short TO app');
is(as_owner('from', '-v', 'generators=ids.short'), '', 'back, and nothing that was planted runs');
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

# A schema and an owner whose names must be quoted, next to a schema whose unquoted name is the same.
query(<<'SQL');
CREATE SCHEMA "Ids" AUTHORIZATION ids_owner;
ALTER ROLE ids_owner SET search_path = "Ids";
ALTER ROLE ids_owner RENAME TO "Ids Owner";
SQL
$owner = 'Ids Owner';
{
	local $ENV{PGOPTIONS} = '-c standard_conforming_strings=off -c escape_string_warning=off -c quote_all_identifiers=on';
	is(said('-U', $owner, map { ('-f', "contrib/portable/$_.sql") } qw(shardid uuids_and_text admin)), '', 'names that are quoted, in a session that reads backslashes');
}
{
	local $ENV{PGOPTIONS} = '-c datestyle=SQL -c timezone=Asia/Kolkata -c quote_all_identifiers=on';
	is(as_owner('to'), '', 'to the extension');
	is(query(q(SELECT "Ids".id_timestamp(0) = '2011-08-24 21:07:01.721+00')), 't', 'with the same epoch, whatever writes it as text');
}
is(query(q(SELECT to_regclass('"Ids".shardid_mark_0') IS NULL AND to_regclass('ids.shardid_mark_0') IS NOT NULL)), 't', 'and not those beside');
is(as_owner('from'), '', 'and back');
is(query(q(SELECT "Ids".next_id(5) > 0)), 't', 'it draws');
like(said('-U', $owner, '-c', q(CREATE TABLE "Ids".serials (id bigserial)), '-c', q(SELECT string_agg(command, ' ') FROM shardid_admin.id_migration_commands('"Ids"', generator => NULL) command)),
	qr/ALTER TABLE ONLY "Ids"\.serials /, 'a schema of this owner is migrated');

$node->stop;
done_testing();
