# contrib/portable/shardid.sql: the rights that it needs, and how it loads. contrib/admin/t/rights.pl has callers' objects.
use Docs;
use Portable;
use ShardidTest;

my $node = new_portable_node('portable', 'max_prepared_transactions = 1');
sub query { return $node->safe_psql('portable', $_[0]) }

# Rights: a caller needs UPDATE, for setval, and USAGE on the generator; it has none on the file's own objects.
sub refused { return said_of($node, $_[0], 'portable') }
query('CREATE ROLE clerk; CREATE ROLE app; CREATE SEQUENCE orders; GRANT USAGE ON SEQUENCE orders TO clerk');
my $draw = q(SET ROLE clerk; SELECT next_id(5, 'orders'));
like(refused($draw), qr/42501: permission denied for sequence orders.*GRANT USAGE, UPDATE/s, 'USAGE alone does not do');
query('GRANT UPDATE ON SEQUENCE orders TO clerk');
like(refused($draw), qr/42501: permission denied for sequence shardid_mark_\d+.*HINT:  Run CALL ids\.shardid_grant_marks\('clerk'\)\./s,
	'nor do USAGE and UPDATE without the marks');
like(refused(q(SET ROLE clerk; CALL ids.shardid_grant_marks('clerk'))), qr/42501/, 'which their owner grants');
query(q(CALL ids.shardid_grant_marks('clerk')));
like(query($draw), qr/^\d+$/, 'with them they do');
like(refused(q(SET ROLE clerk; SELECT next_id(5))), qr/42501: permission denied for sequence shardid_seq/, 'not for another generator');
like(refused(q(SET ROLE clerk; ALTER SEQUENCE ids.shardid_mark_0 RESTART)), qr/42501/, 'nobody else owns a mark');

# A sequence that the transaction's snapshot does not see cannot be checked; it could be unlogged.
my $elsewhere = $node->connstr('portable');
like(refused(<<"SQL"), qr/55000: sequence with OID \d+ is newer than this transaction's snapshot.*HINT/s, 'nothing from a sequence newer than the snapshot');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM orders;
\\! psql -Xq -d "$elsewhere" -c 'CREATE UNLOGGED SEQUENCE late'
SELECT next_id(5, 'late');
SQL

# The page's blocks, and the output of contrib/portable/pg_tle.sh, run as CREATE EXTENSION runs a script.
my $page = 'contrib/portable/README.md';
query('ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app, PUBLIC');
like(query("SET search_path = public;\n" . block_of($page, 'sql-only-number') . block_of($page, 'portable_first')), qr/^\d+\n\d+\nlighthouse\|.*\|5\|\d+$/m, 'the page, as it stands');
my $as_app = 'SET ROLE app; SELECT ids.new_id()';
like(query($as_app), qr/^\d+$/, 'the rights on the page are enough');
like(refused("SET ROLE $_; UPDATE ids.this_database SET shard = 77"), qr/42501/, "$_ cannot change the number, whatever default privileges give") for qw(app clerk);
like(refused("ALTER TABLE ids.this_database ENABLE ROW LEVEL SECURITY; $as_app"), qr/ERROR:  22004: .*"number"/, 'no NULL where the number cannot be read');
query('ALTER TABLE ids.this_database DISABLE ROW LEVEL SECURITY');
query('REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ids FROM PUBLIC');
like(refused($as_app), qr/42501: permission denied for function/, 'EXECUTE revoked from PUBLIC');
query(command_of($page, 'GRANT EXECUTE ON ALL ROUTINES'));
like(query("$as_app, (SELECT count(*) FROM ids.next_ids(5, 2))"), qr/^\d+\|2$/, 'and granted as the page shows');
my $told_tle = qx(contrib/portable/pg_tle.sh);
my ($call, $script) = $told_tle =~ /^(SELECT pgtle\.install_extension\('shardid_portable', '1\.0\.0', '[^']+',)\n\$_pgtle_\$\n(.*)\$_pgtle_\$\);\n\z/s;
ok($call, 'a call of pgtle.install_extension');
ok($script =~ s/^SELECT pg_catalog\.pg_extension_config_dump\('shardid_seq', ''\);$//m, 'whose position a dump carries');
unlike($script, qr/^\\|^(?:BEGIN|COMMIT);/m, 'without psql\'s commands and without a transaction');
is( query("DROP SCHEMA shardid_admin CASCADE; CREATE SCHEMA tle; BEGIN; SET LOCAL search_path = tle; $script COMMIT; SELECT tle.next_id(5) > 0 FROM tle.shardid_seq"),
	't', 'it runs as CREATE EXTENSION runs a script');

# The file loads only into a schema where no other role can create objects; it can be loaded again.
sub on { return $node->safe_psql('postgres', $_[0]) }
sub path_of { return $_[0] eq 'public_ids' ? 'contrib/public_ids/public_ids.sql' : "contrib/portable/$_[0].sql" }
sub loading
{
	my ($schema, $file) = (@_, 'shardid');
	my $output = '';
	IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('postgres') . " options='-csearch_path=$schema'", '-f', path_of($file) ], '>', \$output, '2>&1');
	return $output;
}
on(<<'SQL');
CREATE SCHEMA open;
GRANT CREATE ON SCHEMA open TO PUBLIC;
CREATE SCHEMA of_app AUTHORIZATION app;
CREATE SCHEMA shared;
GRANT CREATE ON SCHEMA shared TO app;
CREATE SCHEMA taken;
CREATE FUNCTION taken.shardid_draw(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
ALTER FUNCTION taken.shardid_draw OWNER TO app;
CREATE SCHEMA planted;
CREATE FUNCTION planted.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE OPERATOR planted.% (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = int);
ALTER OPERATOR planted.% (bigint, int) OWNER TO app;
CREATE SCHEMA twice;
SQL
my %refused = (
	open => qr/others can create objects in schema "open"/,
	of_app => qr/must be owner of schema "of_app"/,
	shared => qr/others can create objects.*REVOKE CREATE ON SCHEMA shared FROM app/s,
	taken => qr/another role owns "shardid_draw"/,
	planted => qr/another role owns "%".*HINT:  Use another schema, or drop it/s);
like(loading($_), $refused{$_}, "not into schema $_, not by a superuser either") for sort keys %refused;
is(on(q(SELECT count(*) FROM pg_proc WHERE pronamespace::regnamespace::text IN ('open', 'public', 'of_app', 'shared'))), 0, 'what was refused has left nothing');
is(loading('twice', $_), '', "a schema of its own: $_") for qw(shardid shardid uuids_and_text);
my $granted = q(SELECT proacl, relacl FROM pg_proc, pg_class WHERE pg_proc.oid = 'twice.id_shard'::regproc AND pg_class.oid = 'twice.shardid_seq'::regclass);
my $before = on("GRANT USAGE ON SEQUENCE twice.shardid_seq TO app; REVOKE EXECUTE ON FUNCTION twice.id_shard FROM PUBLIC; $granted");
is(loading('twice') . on($granted), $before, 'loaded again, which keeps the rights that its owner has given and taken');
on('ALTER SCHEMA twice OWNER TO app');
like(loading('twice', $_), qr/must be owner of schema "twice"/, "$_: not where another role owns the schema by now") for qw(uuids_and_text admin);
on('ALTER SCHEMA twice OWNER TO CURRENT_USER');
on('CREATE SCHEMA shardid_admin AUTHORIZATION app');
like(loading('twice', 'admin'), qr/must be owner of schema "shardid_admin"\nDETAIL:  Its owner is "app"/, 'those of shardid_admin in no schema of another role');
on('ALTER SCHEMA shardid_admin OWNER TO CURRENT_USER; GRANT CREATE ON SCHEMA shardid_admin TO app');
like(loading('twice', 'admin'), qr/others can create objects in schema "shardid_admin"\nHINT:  .*REVOKE CREATE ON SCHEMA shardid_admin FROM app/, 'nor where another role can create some');
on('DROP SCHEMA shardid_admin; CREATE EXTENSION shardid SCHEMA planted; CREATE EXTENSION shardid_admin');
like(loading('twice', 'admin'), qr/the extension shardid_admin is in this database\nHINT:  Run DROP EXTENSION shardid_admin/, 'nor over the extension');
on('DROP EXTENSION shardid CASCADE');
is(loading('twice', 'admin'), '', 'in a schema that is made');
on(q(REVOKE USAGE ON SCHEMA shardid_admin FROM PUBLIC; CREATE OR REPLACE FUNCTION shardid_admin.signed(bits numeric) RETURNS bigint LANGUAGE sql RETURN 1));
is(loading('twice', 'admin') . on(q(SELECT shardid_admin.signed(7), has_schema_privilege('app', 'shardid_admin', 'USAGE'); DROP SCHEMA shardid_admin CASCADE)), '7|f',
	'again, which brings them up to date and keeps the rights');
is(on(<<'SQL'), 't', 'with a temporary shardid_seq in the session');
CREATE SCHEMA beside_temporary;
CREATE TEMPORARY SEQUENCE shardid_seq;
SET search_path = beside_temporary;
\i contrib/portable/shardid.sql
SELECT pg_get_expr(proargdefaults, 0) LIKE '%beside_temporary.shardid_seq%' FROM pg_proc
WHERE oid = 'beside_temporary.next_id(int, regclass, timestamptz, int, int)'::regprocedure;
SQL

# A role that may still create objects does so in a transaction, the owner revokes that and loads a file, and the
# transaction ends in the middle of the load. The prepared transaction makes the moment certain. Where PostgreSQL locks what
# a function uses, the move waits in vain.
sub raced
{
	my ($file, $schema, $moves) = @_;
	my $elsewhere = $node->connstr('postgres');
	my $then = sub { return "\\! psql -Xq -d \"$elsewhere\" -c \"$_[0]\"\n" };
	my $text = script_with_includes(path_of($file));
	my $in_the_middle = $then->(q(COMMIT PREPARED 'plant'));
	$text =~ s/^\$\$;\n\K(?=\n)/$in_the_middle/m or die;
	my $moved = $moves ? $then->("SET lock_timeout = '1s'; ALTER OPERATOR $schema.%(bigint, int) SET SCHEMA of_planter") : '';
	$text =~ s/^(?=-- Not in the extension)/$moved/m or die;
	on('CREATE SCHEMA raced; CREATE SCHEMA shardid_admin; CREATE SCHEMA of_planter AUTHORIZATION planter;'
		  . ($file =~ /shardid|public_ids/ ? '' : "SET search_path = raced;\n" . script_with_includes('contrib/portable/shardid.sql') . 'SET search_path = public;') . <<"SQL");
GRANT CREATE, USAGE ON SCHEMA $schema TO planter;
BEGIN;
SET LOCAL ROLE planter;
CREATE FUNCTION $schema.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE OPERATOR $schema.% (FUNCTION = $schema.wrong, LEFTARG = bigint, RIGHTARG = int);
PREPARE TRANSACTION 'plant';
REVOKE CREATE ON SCHEMA $schema FROM planter;
SQL
	my (undef, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET search_path = raced, public;\n$text", on_error_stop => 0);
	# On success: how many functions another's operator has got into.
	is(on(<<'SQL'), 0, "$file: no function uses what another role has created meanwhile");
SELECT count(DISTINCT p.oid) FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
WHERE p.pronamespace IN ('raced'::regnamespace, 'shardid_admin'::regnamespace) AND o.oprowner = 'planter'::regrole;
SQL
	on('DROP SCHEMA shardid_admin, raced, of_planter CASCADE');
	return $stderr;
}
on('CREATE ROLE planter; CREATE EXTENSION IF NOT EXISTS pgcrypto');
my $refusal = qr/ERROR:  42501: another role (?:has created (?:function|operator) \S*(?:wrong|%)\(|owns "(?:wrong|%)").*HINT:  Use another schema, or drop it/s;
like(raced('admin', 'shardid_admin'), $refusal, 'admin: nothing that another role has created meanwhile');
is(raced('admin', 'raced'), '', 'admin: what it does not use can be in that of shardid');
like(raced('shardid', 'raced', 1), $refusal, 'shardid: nor what it has moved out of the schema then');
like(slurp_file(path_of($_)), qr{^\\ir (\.\./portable/)?owners\.sql\nCOMMIT;\n\z}m, "$_ has the same check at its end") for qw(uuids_and_text public_ids);

# The schema of shardid_admin appears after the file has found none.
on('GRANT CREATE ON DATABASE postgres TO planter; GRANT USAGE ON SCHEMA twice TO planter');
my $creates = q(\\! psql -Xq -d ") . $node->connstr('postgres') . qq(" -c 'SET ROLE planter' -c 'CREATE SCHEMA shardid_admin' -c 'GRANT ALL ON SCHEMA shardid_admin TO PUBLIC'\n);
my $admin = script_with_includes(path_of('admin'));
$admin =~ s/^(?=-- Partitions by time on an id)/$creates/m or die;
my (undef, undef, $stderr) = $node->psql('postgres', "SET search_path = twice;\n$admin", on_error_stop => 0);
like($stderr, qr/must be owner of schema "shardid_admin"/, 'not in a schema that another role has created meanwhile');
is(on(q(SELECT count(*) FROM pg_proc WHERE pronamespace = 'shardid_admin'::regnamespace)), 0, 'which stays empty');

# The extension is replaced by functions of its owner after to_extension.sql has read where it is. The lock ends with the transaction.
on('DROP SCHEMA shardid_admin; CREATE SCHEMA of_planter AUTHORIZATION planter');
on('SET ROLE planter; CREATE EXTENSION shardid SCHEMA of_planter');
my $planter = open_session($node->connstr('postgres'));
ask_safe($planter, <<'SQL');
SET ROLE planter;
BEGIN;
SELECT pg_advisory_xact_lock(4);
DROP EXTENSION shardid;
CREATE FUNCTION of_planter.next_id(int, regclass, timestamptz, int, int) RETURNS bigint LANGUAGE sql RETURN 1;
CREATE FUNCTION of_planter.raise_generator(regclass, bigint, timestamptz, int, int) RETURNS bigint LANGUAGE sql RETURN 1;
SQL
my $switch = script_with_includes(path_of('to_extension'));
$switch =~ s/^(?=    -- What a session calls)/    PERFORM pg_advisory_xact_lock_shared(4);\n/m or die;
my $waiting = PostgreSQL::Test::Utils::tempdir() . '/to_extension.sql';
append_to_file($waiting, $switch);
my $switching = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres') . ' options=-csearch_path=twice', '-f', $waiting ], '>', \my $told, '2>&1', guard($waiting));
$node->poll_query_until('postgres', q(SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4 AND NOT granted)) or die;
ask_safe($planter, 'COMMIT;');
close_session($planter);
$switching->finish;
like($told, qr/another role has created function of_planter\.\w+\(/, 'to_extension.sql calls no function of the owner of the extension');
is(on('SELECT twice.next_id(5) > 1 FROM twice.shardid_mark_0'), 't', 'and has changed nothing');

$node->stop;
done_testing();
