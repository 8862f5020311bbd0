# CREATE EXTENSION gives no role more rights. The extension is trusted, so its scripts run as the bootstrap superuser.
# A hostile role plants functions, types, operators and relations with every name of the scripts in the schema of the
# extension. Then the role, or an administrator, installs or updates the extension. An error is allowed.
# Gains are: planted code that runs as another role, and any right, member or owner that differs from an installation
# without the plant.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use List::Util qw(shuffle);
use Test::More;
use Plants;
use ShardidTest;

# A second installation, to which versions can be added.
my $dir = PostgreSQL::Test::Utils::tempdir();
system_or_bail('make', '-s', 'install', "DESTDIR=$dir/inst", 'with_llvm=no');
my ($scripts) = glob "$dir/inst" . (`$ENV{PG_CONFIG} --sharedir` =~ s/\n//r) . '/extension';
append_to_file("$dir/temp.conf", scalar `tools/extension_config.sh $dir/inst`);
my ($default) = slurp_file('shardid.control') =~ /default_version = '(.*)'/;
my $install = slurp_file("built/shardid--$default.sql");

# Invented versions: careless scripts, each with a kind of gain that must be detected, and the corrected scripts.
my %made_up = (
	careless_call => q{SELECT pg_extension_config_dump('shardid_seq', '');},
	careless_operator => q{SELECT 13 || 'bits'::text;},
	careless_type => q{SELECT ''::shard_kind;},
	careless_grant => q{GRANT pg_read_all_data TO @extowner@;},
	careful => q{SELECT pg_catalog.pg_extension_config_dump('shardid_seq'::pg_catalog.regclass, ''::pg_catalog.text);
		SELECT 13 OPERATOR(pg_catalog.||) 'bits'::pg_catalog.text;});
for my $version (keys %made_up)
{
	append_to_file("$scripts/shardid--$version.sql", "$install\n$made_up{$version}\n");
	append_to_file("$scripts/shardid--$default--$version.sql", "$made_up{$version}\n");
}

local $ENV{TEMP_CONFIG} = "$dir/temp.conf";
my $node = PostgreSQL::Test::Cluster->new('rights');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;
my $administrator = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE ROLE bob');

# What could be gained, as text: every right of every role, the extension's objects (a function's definition shows what
# its defaults refer to), and what mallory owns that she did not own before.
$node->safe_psql('template1', <<'SQL');
CREATE SCHEMA watch;
GRANT USAGE ON SCHEMA watch TO PUBLIC;
CREATE FUNCTION watch.of_mallory() RETURNS text[] LANGUAGE sql SET search_path = pg_catalog AS $$
SELECT coalesce(array_agg(pg_describe_object(classid, objid, objsubid)), '{}')
FROM pg_shdepend WHERE refobjid = 'mallory'::regrole AND deptype = 'o'
$$;
CREATE FUNCTION watch.rights(before text[]) RETURNS SETOF text LANGUAGE sql
SET search_path = pg_catalog SET datestyle = iso SET timezone = utc SET intervalstyle = postgres AS $$
SELECT to_jsonb(r)::text FROM pg_roles r
UNION ALL SELECT 'member ' || to_jsonb(m)::text FROM pg_auth_members m
UNION ALL SELECT 'setting ' || to_jsonb(s)::text FROM pg_db_role_setting s
UNION ALL SELECT concat_ws(' ', 'database', datdba::regrole, datacl) FROM pg_database WHERE datname = current_database()
UNION ALL SELECT concat_ws(' ', 'schema', nspname, nspowner::regrole, nspacl) FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp'
UNION ALL SELECT concat_ws(' ', 'language', lanname, lanowner::regrole, lanacl) FROM pg_language
UNION ALL SELECT concat_ws(' ', 'parameter', parname, paracl) FROM pg_parameter_acl
UNION ALL SELECT concat_ws(' ', 'extension', extname, extowner::regrole, extnamespace::regnamespace, extconfig::regclass[]) FROM pg_extension
UNION ALL SELECT concat_ws(' ', i.type, i.identity, relowner::regrole, relacl, relpersistence, proowner::regrole, proacl, translate(pg_get_functiondef(p.oid), E'\n', ' '))
FROM pg_depend d CROSS JOIN pg_identify_object(d.classid, d.objid, 0) i
LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
UNION ALL SELECT 'owned by mallory: ' || o FROM unnest(watch.of_mallory()) o WHERE o <> ALL (before)
$$;
CREATE FUNCTION watch.digest(before text[]) RETURNS text LANGUAGE sql SET search_path = pg_catalog AS $$
SELECT md5(string_agg(r, E'\n' ORDER BY r)) FROM watch.rights(before) r
$$;
SQL

# make test plants random groups at once, and then one at a time those of a group that changed anything. make test-full
# plants each alone. The seed repeats the groups.
my $seed = $ENV{SHARDID_SEED} || int rand 2**31;
srand $seed;
note "SHARDID_SEED=$seed";
my $plants_at_once = $ENV{FULL} ? 1 : 7;

my $databases = 0;

# mallory has CREATE on the database and on schema public, and owns schema evil.
sub new_database
{
	my $database = 'database_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $database; GRANT CREATE ON DATABASE $database TO mallory");
	$node->safe_psql($database, 'GRANT CREATE ON SCHEMA public TO mallory; CREATE SCHEMA evil AUTHORIZATION mallory');
	return $database;
}

sub psql_as
{
	my ($user, $database, $sql) = @_;
	my ($status, $output, $error) = $node->psql($database, $sql, extra_params => [ '-U', $user ], on_error_stop => 0);
	return wantarray ? ($output, $error) : $error;
}

# Each plant in a transaction that is rolled back. The first plant is empty: its rights are the reference.
sub script_of
{
	my ($installer, $installation, @plants) = @_;
	my ($hostile, $own) = $installer eq 'mallory' ? ('', '') : ('SET LOCAL SESSION AUTHORIZATION mallory;', 'RESET SESSION AUTHORIZATION;');
	my $sql = '';
	for my $plant ([ 'nothing', '' ], @plants)
	{
		my ($label, $statements) = @$plant;
		my $result = $label eq 'nothing'
		  ? "SELECT watch.digest(:'before') AS expected \\gset\nSELECT 'expected ' || r FROM watch.rights(:'before') r;"
		  : "SELECT CASE WHEN watch.digest(:'before') = :'expected' THEN 'same' ELSE (SELECT string_agg(r, E'\\n') FROM watch.rights(:'before') r) END;";
		my $first = $label eq 'nothing' ? q(SELECT 'before ' || r FROM watch.rights(:'before') r) : '';
		$sql .= <<"SQL";
\\echo plant: $label
BEGIN;
$hostile
$statements;
SELECT watch.of_mallory() AS before \\gset
\\echo planted: :{?before}
$own
$first;
$installation;
$result
ROLLBACK;
\\unset before
SQL
	}
	return $sql;
}

# The plants that could be created, those with which the installation was refused, and all gains. Rights are only
# expected on the extension and its members.
sub outcome
{
	my ($output, $error) = @_;
	my $its_own = qr/^(extension|function|procedure|sequence|owned by mallory: extension) /;
	my (undef, undef, @results) = split /^plant: (.*)\n/m, $output;
	my $nothing = shift @results;
	my %before = map { $_ => 1 } $nothing =~ /^before (.*)/mg;
	my %expected = map { $_ => 1 } $nothing =~ /^expected (.*)/mg;
	my @gains = map { "by nothing: $_" } grep { !$before{$_} && !/$its_own/ } sort keys %expected;
	push @gains, 'nothing planted: could not be installed' unless %expected;
	push @gains, $error =~ /(planted .* ran as .*)/g;
	my %outcome = (planted => [], not_planted => [], refused => [], unchanged => {}, gains => \@gains);
	while (my ($label, $result) = splice @results, 0, 2)
	{
		my $planted = $result =~ s/^planted: (TRUE|FALSE)(\n|\z)// && $1 eq 'TRUE';
		push @{ $outcome{ $planted ? 'planted' : 'not_planted' } }, $label;
		push @{ $outcome{refused} }, $label if $planted && $result eq '';
		$outcome{unchanged}{$label} = 1 if $planted && $result eq "same\n";
		push @{ $outcome{gains} }, map { "$label: $_" } grep { $_ ne 'same' && !$expected{$_} } split /\n/, $result;
	}
	return \%outcome;
}

# In a new database, after the installer's $preparation.
sub try_plants
{
	my ($installer, $preparation, $installation, @plants) = @_;
	my $database = new_database();
	is(psql_as($installer, $database, $preparation), '', $preparation) if $preparation;
	my $try = sub { return outcome(psql_as($installer, $database, script_of($installer, $installation, @_))) };
	return $try->(@plants) if $plants_at_once == 1;
	my @groups;
	@plants = shuffle @plants;
	push @groups, [ splice @plants, 0, $plants_at_once ] while @plants;
	my $together = $try->(map { [ $_, join '; ', map { $_->[1] } @{ $groups[$_] } ] } 0 .. $#groups);
	my (@unchanged, @others);
	push @{ $together->{unchanged}{$_} ? \@unchanged : \@others }, @{ $groups[$_] } for 0 .. $#groups;
	my $alone = $try->(@others);
	push @{ $alone->{planted} }, map { $_->[0] } @unchanged;
	push @{ $alone->{gains} }, grep { /ran as/ } @{ $together->{gains} };
	return $alone;
}

# $there: the script of the objects that already exist, whose names are taken.
sub gives_nothing
{
	my ($name, $outcome, $there) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @failed = grep { my ($its) = /\.(\w+)/; !$there || $there !~ /CREATE \w+ $its\b/ } @{ $outcome->{not_planted} };
	is("@failed", '', "$name: all could be planted");
	note "refused: $_" for @{ $outcome->{refused} };
	is(join("\n", @{ $outcome->{gains} }), '',
		"$name: nothing gained by " . @{ $outcome->{planted} } . ' plants, of which ' . @{ $outcome->{refused} } . ' were refused');
	return;
}

# The functions of the types that a script uses, which it calls without a name.
sub functions_of_types
{
	my ($script) = @_;
	my $types = join ', ', map { "'$_'" } $script =~ /pg_catalog\.(\w+)/g, qw(regclass timestamptz int4 int8);
	return split /\n/, $node->safe_psql('postgres', <<SQL);
SELECT proname FROM pg_type t JOIN pg_proc p ON p.oid IN (typinput, typoutput) WHERE typname IN ($types)
UNION SELECT proname FROM pg_type t JOIN pg_cast c ON t.oid = casttarget JOIN pg_proc p ON p.oid = castfunc
WHERE typname IN ($types) AND castcontext = 'i'
SQL
}

my %where = ('mallory' => 'evil', $administrator => 'public');
for my $installer (sort keys %where)
{
	my $schema = $where{$installer};
	my $create = "CREATE EXTENSION shardid SCHEMA $schema";
	gives_nothing("$installer installs", try_plants($installer, '', $create, all_plants($schema, $install, functions_of_types($install))));

	# Every update script, or an invented one if there is none.
	for my $update ((map { /^shardid--(.+)--(.+)\.sql$/ } glob 'shardid--*--*.sql'), [ $default, 'careful' ])
	{
		my ($from, $to) = @$update;
		my $script = slurp_file("$scripts/shardid--$from--$to.sql");
		gives_nothing("$installer updates from $from to $to",
			try_plants($installer, "$create VERSION '$from'", "ALTER EXTENSION shardid UPDATE TO '$to'", all_plants($schema, $script)),
			$install);
	}

	# These must show gains, or the rest would prove nothing.
	for my $version (grep { /^careless/ } sort keys %made_up)
	{
		my $gain = $version eq 'careless_grant' ? qr/by nothing: member .*/ : qr/planted .* ran as .*/;
		my @plants = all_plants($schema, $made_up{$version});
		my $new = try_plants($installer, '', "$create VERSION '$version'", @plants);
		my $updated = try_plants($installer, "$create VERSION '$default'", "ALTER EXTENSION shardid UPDATE TO '$version'", @plants);
		like("@{ $new->{gains} }", $gain, "$installer installs $version: gains are seen");
		like("@{ $updated->{gains} }", $gain, "$installer updates to $version: gains are seen");
	}
}

# PostgreSQL lets her install into a schema of another role in which she may not create: without a gain.
gives_nothing('mallory installs into a schema of others', try_plants('mallory', '', 'CREATE EXTENSION shardid SCHEMA information_schema'));

# A schema of mallory with the administrator's name is first in the administrator's default search_path.
my $named = qq("$administrator");
gives_nothing(
	'the administrator installs into a schema of the same name',
	try_plants($administrator, "CREATE SCHEMA $named AUTHORIZATION mallory", 'CREATE EXTENSION shardid', called_plants($named, $install)));

# Settings of her session, default privileges and the like must not change the installation.
my @settings = map { [ "SET $_", "SET LOCAL $_" ] } (
	'search_path = evil, pg_catalog', 'search_path = pg_temp, evil', 'check_function_bodies = off', q(datestyle = 'sql, dmy'),
	'intervalstyle = iso_8601', q(timezone = 'Pacific/Kiritimati'), 'transform_null_equals = on', q(role = 'mallory'),
	"default_transaction_isolation = 'serializable'");
my @defaults = map { [ "default privileges on $_", "ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO bob; ALTER DEFAULT PRIVILEGES IN SCHEMA evil GRANT ALL ON $_ TO bob" ] }
  qw(SEQUENCES FUNCTIONS TABLES TYPES);
my @temporary = (called_plants('pg_temp', $install), map { [ "temporary sequence $_", "CREATE TEMPORARY SEQUENCE $_" ] } $install =~ /CREATE SEQUENCE (\w+)/g);
my $harmless = try_plants('mallory', '', 'CREATE EXTENSION shardid SCHEMA evil', @settings, @defaults, @temporary);
gives_nothing('settings, default privileges and temporary objects', $harmless);
is("@{ $harmless->{refused} }", '', 'settings, default privileges and temporary objects: none in the way');

# In schemas of any name, while search_path finds another schema's sequence of the same name first.
my $odd = new_database();
my @schemas = ('My Schema', q(it's), 'a "quoted" one', '$1$$', 'back\\slash', 'evil, pg_temp', 'select', '@extschema@');
my $identifier = sub { '"' . $_[0] =~ s/"/""/gr . '"' };
is(psql_as('mallory', $odd, 'CREATE SEQUENCE public.shardid_seq; CREATE SEQUENCE evil.shardid_seq; CREATE SCHEMA moved'), '', 'sequences of the same name');
for my $schema (@schemas)
{
	my $name = $identifier->($schema);
	my ($output, $error) = psql_as($administrator, $odd, <<"SQL");
SET search_path = evil, public;
SET ROLE mallory;
CREATE SCHEMA $name;
CREATE EXTENSION shardid SCHEMA $name;
RESET ROLE;
CREATE TABLE public.photos (id bigint DEFAULT $name.next_id(5));
INSERT INTO public.photos DEFAULT VALUES;
ALTER EXTENSION shardid SET SCHEMA moved;
INSERT INTO public.photos DEFAULT VALUES;
SELECT count(*), min(moved.id_shard(id)), bool_or(evil.is_called OR public.is_called), max(own.last_value) = max((id >> 23 << 10) | (id & 1023))
FROM public.photos, evil.shardid_seq evil, public.shardid_seq public, moved.shardid_seq own;
ALTER EXTENSION shardid SET SCHEMA $name;
SELECT $name.next_id(5) > max(id) FROM public.photos;
DROP TABLE public.photos;
DROP EXTENSION shardid;
SQL
	is($error, '', "in schema $schema and back: no error");
	is($output, "2|5|f|t\nt", "in schema $schema and back: the default is the extension's sequence");
}

# A dump restores it there.
psql_as('mallory', $odd, 'CREATE EXTENSION shardid SCHEMA "My Schema"; CREATE TABLE photos (id bigint DEFAULT "My Schema".next_id(5)); INSERT INTO photos DEFAULT VALUES');
my $copy = new_database();
$node->safe_psql($copy, 'DROP SCHEMA evil, watch CASCADE');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", $node->connstr($odd) ], 'dumped');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr($copy), "$dir/dump" ], 'restored');
is($node->safe_psql($copy, 'INSERT INTO photos DEFAULT VALUES; SELECT count(DISTINCT id), max((id >> 23 << 10) | (id & 1023)) = max(own.last_value), bool_or(public.is_called) FROM photos, "My Schema".shardid_seq own, public.shardid_seq public'),
	'2|t|f', 'restored: the default is the extension\'s sequence');

# She cannot change the objects of an extension that she has installed, except as an extension's owner may.
my $own = new_database();
is(psql_as('mallory', $own, 'CREATE EXTENSION shardid SCHEMA evil; CREATE FUNCTION evil.more() RETURNS int LANGUAGE sql RETURN 1'), '', 'installed by mallory');
my $rights = $node->safe_psql($own, q(SELECT watch.digest('{}')));
for my $statement (
	'ALTER FUNCTION evil.uuid_v1() OWNER TO mallory',
	'ALTER FUNCTION evil.uuid_v1() SECURITY DEFINER',
	'ALTER FUNCTION evil.uuid_v1() SET search_path = evil',
	'ALTER FUNCTION evil.uuid_v1() RENAME TO uuid',
	'CREATE OR REPLACE FUNCTION evil.uuid_v1() RETURNS uuid LANGUAGE sql SECURITY DEFINER RETURN gen_random_uuid()',
	'ALTER SEQUENCE evil.shardid_seq OWNER TO mallory',
	'ALTER SEQUENCE evil.shardid_seq RESTART',
	'DROP SEQUENCE evil.shardid_seq',
	'ALTER EXTENSION shardid DROP FUNCTION evil.uuid_v1()',
	'ALTER EXTENSION shardid ADD SCHEMA watch',
	'ALTER EXTENSION shardid SET SCHEMA public',
	'CREATE EXTENSION shardid SCHEMA pg_catalog')
{
	like(psql_as('mallory', $own, $statement), qr/ERROR/, "refused: $statement");
}
is($node->safe_psql($own, q(SELECT watch.digest('{}'))), $rights, 'all as it was');

$node->stop;
done_testing();
