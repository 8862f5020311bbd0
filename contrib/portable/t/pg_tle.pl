# The SQL-only version as an extension of a real pg_tle: an ordinary role registers and creates it, dumps and restores
# it; its functions are those of the files. pg_tle is in no archive of Debian: build its public sources
# outside this tree, with make install.
use Portable;
use ShardidTest;

my $sharedir = qx(pg_config --sharedir) =~ s/\n//r;
plan skip_all => "no pg_tle in $sharedir/extension" unless -e "$sharedir/extension/pg_tle.control";

my $node = PostgreSQL::Test::Cluster->new('tle');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_tle'\nlog_statement = none\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE adm LOGIN CREATEROLE; CREATE ROLE app LOGIN');
my @databases = qw(first second third);
for my $database (@databases)
{
	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER adm");
	$node->safe_psql($database, 'CREATE EXTENSION pg_tle; GRANT pgtle_admin TO adm');
}
sub as_adm { my ($database, $sql) = @_; return $node->safe_psql($database, $sql, extra_params => [ '-U', 'adm' ]) }
my $registration = qx(contrib/portable/pg_tle.sh);

as_adm('first', $registration);
as_adm('first', 'CREATE SCHEMA ids; CREATE EXTENSION shardid_portable SCHEMA ids');
is(as_adm('first', 'SELECT count(DISTINCT ids.next_id(5)) FROM generate_series(1, 3000)'), 3000, 'an ordinary role creates it and generates ids');

# The same functions as the files have.
my $functions = q(SELECT proname, pg_get_function_identity_arguments(p.oid), md5(prosrc), provolatile, proparallel, proisstrict, proconfig
	FROM pg_proc p WHERE pronamespace::regnamespace::text IN ('ids', 'shardid_admin') ORDER BY 1, 2);
as_adm('third', 'CREATE SCHEMA ids');
$node->command_ok([ 'psql', '-Xq', '-d', $node->connstr('third') . " user=adm options='-csearch_path=ids'", map { ('-f', "contrib/portable/$_.sql") } qw(shardid uuids_and_text admin) ],
	'the files load');
is(as_adm('first', $functions), as_adm('third', $functions), 'its functions are those of the files');

as_adm('first', q(CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ids.next_id(5), v int); INSERT INTO photos (v) SELECT generate_series(1, 1000);
	GRANT USAGE ON SCHEMA ids TO app; GRANT USAGE, UPDATE ON SEQUENCE ids.shardid_seq TO app; CALL ids.shardid_grant_marks('app');
	GRANT INSERT, SELECT ON photos TO app));
is($node->safe_psql('first', 'INSERT INTO photos (v) VALUES (1) RETURNING id > 0', extra_params => [ '-U', 'app' ]), 't', 'a role with the rights of the page inserts');

# The role that owns the schema restores it; a superuser does so in its name.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-U', 'adm', '-f', $dump, $node->connstr('first') ], 'pg_dump');
$node->psql('second', "\\i $dump", extra_params => [ '-U', 'adm' ], on_error_stop => 0);
is(as_adm('second', 'SELECT count(*) FROM photos'), 1001, 'the rows are restored');
my $greatest = as_adm('second', 'SELECT max(id) FROM photos');
cmp_ok(as_adm('second', 'INSERT INTO photos (v) VALUES (2) RETURNING id'), '>', $greatest, 'and ids continue above them');

$node->stop;
done_testing();
