# contrib/portable/shardid.sql: the rights that it needs, callers' objects that it must not use, and how it loads.
use Docs;
use Portable;
use ShardidTest;

my $node = new_portable_node('portable', 'max_prepared_transactions = 1');
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

# Rights: a caller needs UPDATE, for setval, and USAGE on the generator; it has none on the file's own objects.
sub refused
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('portable', "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}
query('CREATE ROLE app; CREATE SEQUENCE orders; GRANT USAGE ON SEQUENCE orders TO app');
like(refused(q(SET ROLE app; SELECT next_id(5, 'orders'))), qr/42501: permission denied for sequence orders.*GRANT USAGE, UPDATE/s,
	'USAGE alone does not do');
query('GRANT UPDATE ON SEQUENCE orders TO app');
like(refused(q(SET ROLE app; SELECT next_id(5, 'orders'))),
	qr/42501: permission denied for sequence shardid_mark_\d+.*HINT:  Run CALL ids\.shardid_grant_marks\('app'\)\./s,
	'nor do USAGE and UPDATE without the marks');
like(refused(q(SET ROLE app; CALL ids.shardid_grant_marks('app'))), qr/42501/, 'which their owner grants');
query(q(CALL ids.shardid_grant_marks('app')));
like(query(q(SET ROLE app; SELECT next_id(5, 'orders'))), qr/^\d+$/, 'with them they do');
like(refused(q(SET ROLE app; SELECT next_id(5))), qr/42501: permission denied for sequence shardid_seq/, 'not for another generator');
like(refused(q(SET ROLE app; ALTER SEQUENCE ids.shardid_mark_0 RESTART)), qr/42501/, 'nobody else owns a mark');

# A sequence that the transaction's snapshot does not see cannot be checked; it could be unlogged.
my $elsewhere = $node->connstr('portable');
like(refused(<<"SQL"), qr/55000: sequence with OID \d+ is newer than this transaction's snapshot.*HINT/s, 'nothing from a sequence newer than the snapshot');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM orders;
\\! psql -Xq -d "$elsewhere" -c 'CREATE UNLOGGED SEQUENCE late'
SELECT next_id(5, 'late');
SQL

# The page's blocks, and the output of contrib/portable/pg_tle.sh, run as CREATE EXTENSION runs a script.
make_portable($node, 'page');
my $shown = $node->safe_psql('page', "SET search_path = public;\n" . block_of('contrib/portable/README.md', 'sql-only-number') . block_of('contrib/portable/README.md', 'portable_first'));
like($shown, qr/^\d+\n\d+\nlighthouse\|.*\|5\|\d+$/m, 'the page, as it stands');
my $told_tle = qx(contrib/portable/pg_tle.sh);
my ($call, $script) = $told_tle =~ /^(SELECT pgtle\.install_extension\('shardid_portable', '1\.0\.0', '[^']+',)\n\$_pgtle_\$\n(.*)\$_pgtle_\$\);\n\z/s;
ok($call, 'a call of pgtle.install_extension');
ok($script =~ s/^SELECT pg_catalog\.pg_extension_config_dump\('shardid_seq', ''\);$//m, 'whose position a dump carries');
unlike($script, qr/^\\|^(?:BEGIN|COMMIT);/m, 'without psql\'s commands and without a transaction');
is( $node->safe_psql('page', "DROP SCHEMA shardid_admin CASCADE; CREATE SCHEMA tle; BEGIN; SET LOCAL search_path = tle; $script COMMIT; SELECT tle.next_id(5) > 0 FROM tle.shardid_seq"),
	't', 'it runs as CREATE EXTENSION runs a script');
like($node->safe_psql('page', 'SET ROLE app; SELECT ids.new_id()'), qr/^\d+$/, 'the rights on the page are enough');

# A search_path with planted objects has no effect.
query(<<'SQL');
CREATE SCHEMA planted AUTHORIZATION app;
SET ROLE app;
DO $$
DECLARE
    made text;
BEGIN
    FOREACH made IN ARRAY ARRAY['pg_sequence_last_value(regclass)', 'pg_advisory_xact_lock(bigint)', 'clock_timestamp()',
                                'setval(regclass, bigint)', 'floor(double precision)', 'format(text, text)'] LOOP
        EXECUTE format('CREATE FUNCTION planted.%s RETURNS bigint LANGUAGE plpgsql AS %L', made,
                       'BEGIN RAISE ''planted''; END');
    END LOOP;
    FOREACH made IN ARRAY ARRAY['float8', 'oid', 'regclass', 'text', 'timestamptz'] LOOP
        EXECUTE format('CREATE DOMAIN planted.%s AS pg_catalog.%1$s CHECK (VALUE IS NULL)', made);
    END LOOP;
    CREATE FUNCTION planted.wrong(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
    CREATE FUNCTION planted.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
    FOREACH made IN ARRAY ARRAY['+', '-', '&', '|', '#', '<<', '>>', '*'] LOOP
        EXECUTE format('CREATE OPERATOR planted.%s (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = bigint)', made);
        EXECUTE format('CREATE OPERATOR planted.%s (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = int)', made);
    END LOOP;
END
$$;
SQL
my @calls = (
	q(ids.next_id(5, 'ids.orders')), q((SELECT count(*) FROM ids.next_ids(5, 3000, 'ids.orders'))),
	q(ids.raise_generator('ids.orders', 5)), 'ids.id_timestamp(5)', 'ids.id_shard(5)', q(ids.id_lower_bound('2026-01-01')),
	'ids.scatter_digits(123456)', 'ids.id_to_text(5)', q(ids.id_from_text('0000000000005')),
	q(ids.uuid_v1_timestamp('c232ab00-9414-11ec-b3c8-9f6bdeced846')));
my $path = 'SET search_path = planted, pg_catalog';
like(refused("$path; SELECT 5::bigint + 5"), qr/planted/, 'a search_path with planted operators is one');
# A session's first draw uses another code path than the next ones.
is(query("$path; SELECT num_nulls(" . join(', ', @calls, @calls) . q[) + num_nulls(VARIADIC array_agg(id))
	FROM (SELECT ids.next_id(5, 'ids.orders') FROM generate_series(1, 2000)) s (id)]), 0, 'which no function uses');

sub path_of { return $_[0] eq 'public_ids' ? 'contrib/public_ids/public_ids.sql' : "contrib/portable/$_[0].sql" }

# The file loads only into a schema where no other role can create objects; it can be loaded again.
sub loading
{
	my ($options, $file) = (@_, 'shardid');
	my $output = '';
	IPC::Run::run([ 'psql', '-Xq', '-d', $node->connstr('postgres') . " options='$options'", '-f', "contrib/portable/$file.sql" ],
		'>', \$output, '2>&1');
	return $output;
}
$node->safe_psql('postgres', 'CREATE SCHEMA open; GRANT CREATE ON SCHEMA open TO PUBLIC; CREATE SCHEMA twice');
like(loading('-csearch_path=open'), qr/others can create objects in schema "open"/, 'no schema in which others create');
$node->safe_psql('postgres', <<'SQL');
CREATE SCHEMA of_app AUTHORIZATION app;
CREATE SCHEMA shared;
GRANT CREATE ON SCHEMA shared TO app;
CREATE SCHEMA taken;
CREATE FUNCTION taken.shardid_draw(int) RETURNS int LANGUAGE sql AS 'SELECT $1';
ALTER FUNCTION taken.shardid_draw OWNER TO app;
CREATE SCHEMA planted;
GRANT CREATE, USAGE ON SCHEMA planted TO app;
SET ROLE app;
CREATE FUNCTION planted.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE OPERATOR planted.% (FUNCTION = planted.wrong, LEFTARG = bigint, RIGHTARG = int);
RESET ROLE;
REVOKE CREATE ON SCHEMA planted FROM app;
SQL
like(loading('-csearch_path=of_app'), qr/must be owner of schema "of_app"/, 'no schema of another role, not by a superuser either');
like(loading('-csearch_path=shared'), qr/others can create objects.*REVOKE CREATE ON SCHEMA shared FROM app/s, 'nor one in which another creates');
like(loading('-csearch_path=taken'), qr/another role owns "shardid_draw"/, 'nor over what another owns');
like(loading('-csearch_path=planted'), qr/another role owns "(?:%|wrong)".*HINT:  Use another schema, or drop it/s, 'nor beside what another has planted');
$node->safe_psql('postgres', 'ALTER FUNCTION planted.wrong OWNER TO CURRENT_USER');
like(loading('-csearch_path=planted'), qr/another role owns "%"/, 'be it an operator alone');
is(loading('-csearch_path=twice'), '', 'a schema of its own');
is(loading('-csearch_path=twice'), '', 'again');
is(loading('-csearch_path=twice', 'uuids_and_text'), '', 'and the functions of UUIDs');
$node->safe_psql('postgres', 'CREATE SCHEMA shardid_admin AUTHORIZATION app');
like(loading('-csearch_path=twice', 'admin'), qr/must be owner of schema shardid_admin\nHINT:  Run this as app/, 'those of shardid_admin in no schema of another role');
$node->safe_psql('postgres', 'DROP SCHEMA shardid_admin; CREATE EXTENSION shardid SCHEMA planted; CREATE EXTENSION shardid_admin');
like(loading('-csearch_path=twice', 'admin'), qr/the extension shardid_admin is in this database\nHINT:  Run DROP EXTENSION shardid_admin/, 'nor over the extension');
$node->safe_psql('postgres', 'DROP EXTENSION shardid CASCADE; DROP SCHEMA shardid_admin');
is(loading('-csearch_path=twice', 'admin'), '', 'in a schema that is made');
$node->safe_psql('postgres', q(CREATE OR REPLACE FUNCTION shardid_admin.signed(bits numeric) RETURNS bigint LANGUAGE sql RETURN 1));
is(loading('-csearch_path=twice', 'admin') . $node->safe_psql('postgres', 'SELECT shardid_admin.signed(7); DROP SCHEMA shardid_admin CASCADE'), 7, 'again, which brings them up to date');
is( $node->safe_psql('postgres', <<'SQL'), 't', 'with a temporary shardid_seq in the session');
CREATE SCHEMA beside_temporary;
CREATE TEMPORARY SEQUENCE shardid_seq;
SET search_path = beside_temporary;
\i contrib/portable/shardid.sql
SELECT pg_get_expr(proargdefaults, 0) LIKE '%beside_temporary.shardid_seq%' FROM pg_proc
WHERE oid = 'beside_temporary.next_id(int, regclass, timestamptz, int, int)'::regprocedure;
SQL
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_proc WHERE pronamespace IN ('open'::regnamespace, 'public'::regnamespace, 'of_app'::regnamespace, 'shared'::regnamespace))),
	0, 'what was refused has left nothing');
# A role that may still create objects does so in a transaction, the owner revokes that and loads a file, and the
# transaction ends in the middle of the load. The prepared transaction makes the moment certain. Where PostgreSQL locks what
# a function uses, the move waits in vain.
sub raced
{
	my ($file, $created, %params) = @_;
	my $elsewhere = $node->connstr('postgres');
	my $then = sub { return "\\! psql -Xq -d \"$elsewhere\" -c \"$_[0]\"\n" };
	my $schema = $created =~ /(\w+)\.wrong/ ? $1 : die;
	$node->safe_psql('postgres', 'CREATE SCHEMA raced; CREATE SCHEMA shardid_admin; CREATE SCHEMA of_planter AUTHORIZATION planter');
	$node->safe_psql('postgres', "SET search_path = raced;\n" . slurp_file('contrib/portable/shardid.sql')) if $file !~ /shardid|public_ids/;
	$node->safe_psql('postgres', "GRANT CREATE, USAGE ON SCHEMA $schema TO planter; BEGIN; SET LOCAL ROLE planter; $created; PREPARE TRANSACTION 'plant'; REVOKE CREATE ON SCHEMA $schema FROM planter");
	my $text = slurp_file(path_of($file));
	my $in_the_middle = $then->(q(COMMIT PREPARED 'plant'));
	$text =~ s/^\\ir /\\i contrib\/portable\//m;
	$text =~ s/^(\$\$;\n)/$1$in_the_middle/m or die;
	my $moved = $params{moved} ? $then->("SET lock_timeout = '1s'; $params{moved} SET SCHEMA of_planter") : '';
	$text =~ s/^(?=-- Not in the extension)/$moved/m or die;
	my (undef, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET search_path = raced, public;\n$text", on_error_stop => 0);
	# On success: how many functions another's operator has got into.
	my $found = $node->safe_psql('postgres', q(SELECT count(DISTINCT p.oid) FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
		JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid WHERE p.pronamespace IN ('raced'::regnamespace, 'shardid_admin'::regnamespace) AND o.oprowner = 'planter'::regrole));
	is($found, 0, "$file: no function uses what another role has created meanwhile");
	$node->safe_psql('postgres', 'DROP SCHEMA shardid_admin, raced, of_planter CASCADE');
	return $stderr;
}
$node->safe_psql('postgres', 'CREATE ROLE planter; CREATE EXTENSION IF NOT EXISTS pgcrypto');
my $wrong = q(CREATE FUNCTION raced.wrong(bigint, int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END');
my $wrong_operator = "$wrong; CREATE OPERATOR raced.% (FUNCTION = raced.wrong, LEFTARG = bigint, RIGHTARG = int)";
my $refusal = qr/ERROR:  42501: another role has created (?:function|operator) \S*(?:wrong|%)\(.*HINT:  Use another schema, or drop it/s;
like(raced($_, $wrong_operator), $refusal, "$_: nothing that another role has created meanwhile") for qw(shardid uuids_and_text public_ids);
like(raced('admin', $wrong_operator =~ s/raced\./shardid_admin./gr), $refusal, 'admin: nor in its own schema');
is(raced('admin', $wrong_operator), '', 'admin: what it does not use can be in that of shardid');
like(raced('shardid', $wrong_operator, moved => 'ALTER OPERATOR raced.%(bigint, int)'), $refusal, 'nor what it has moved out of the schema then');
my @checks = map { slurp_file(path_of($_)) =~ /^(-- Not in the extension.*)\z/ms } qw(shardid uuids_and_text admin public_ids);
is(scalar(grep { $_ eq $checks[0] } @checks), 4, 'the files have the same check');

$node->stop;
done_testing();
