# CREATE EXTENSION gives no role more rights. The extension is trusted, so its scripts run as the bootstrap superuser.
# A hostile role plants functions, types, operators and relations with every name of the scripts in the schema of the
# extension. Then the role, or an administrator, installs or updates the extension. An error is allowed.
# Gains are: planted code that runs as another role, and any right, member or owner that differs from an installation
# without the plant. Nor may the role change the objects of an extension that it has installed.
use Planting;
use Plants;
use ShardidTest;

# A second installation, to which versions can be added.
my $dir = PostgreSQL::Test::Utils::tempdir();
system_or_bail('make', '-s', 'install', "DESTDIR=$dir/inst", 'with_llvm=no');
my ($scripts) = glob "$dir/inst" . (`$ENV{PG_CONFIG} --sharedir` =~ s/\n//r) . '/extension';
append_to_file("$dir/temp.conf", scalar `tools/extension_config.sh $dir/inst`);
my ($default) = slurp_file('shardid.control') =~ /default_version = '(.*)'/;
my $install = slurp_file("shardid--$default.sql");

# Invented versions: careless scripts, each with a kind of gain that must be detected, and the corrected scripts.
my %made_up = (
	careless_call => q{SELECT pg_extension_config_dump('shardid_seq', '');},
	careless_grant => q{GRANT pg_read_all_data TO @extowner@;},
	careful => q{SELECT pg_catalog.pg_extension_config_dump('shardid_seq'::pg_catalog.regclass, ''::pg_catalog.text);
		SELECT 13 OPERATOR(pg_catalog.||) 'bits'::pg_catalog.text;});
for my $version (keys %made_up)
{
	append_to_file("$scripts/shardid--$version.sql", "$install\n$made_up{$version}\n");
	append_to_file("$scripts/shardid--$default--$version.sql", "$made_up{$version}\n");
}

local $ENV{TEMP_CONFIG} = "$dir/temp.conf";
start_planting('install');
my $administrator = $node->safe_psql('postgres', 'SELECT current_user');

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

	# Then shardid_admin, in a schema of mallory's that has the plants, some of which are like what its script finds in that of
	# shardid, or plants beside shardid.
	my $admin = slurp_file(glob 'contrib/admin/*--*.sql');
	my @alike = (
		[ 'id_lower_bound', 'CREATE FUNCTION shardid_admin.id_lower_bound(timestamptz, timestamptz, int, int) RETURNS bigint LANGUAGE sql RETURN 1' ],
		[ 'id_timestamp', 'CREATE FUNCTION shardid_admin.id_timestamp(bigint, timestamptz, int, int) RETURNS timestamptz LANGUAGE sql RETURN now()' ]);
	my $prepared = "$create; CREATE SCHEMA shardid_admin AUTHORIZATION mallory";
	gives_nothing("$installer installs shardid_admin, plants in its schema",
		try_plants($installer, $prepared, 'CREATE EXTENSION shardid_admin', @alike, all_plants('shardid_admin', $admin)));
	gives_nothing("$installer installs shardid_admin, plants beside shardid",
		try_plants($installer, $prepared, 'CREATE EXTENSION shardid_admin', all_plants($schema, $admin)), $install);

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
is("@{ $harmless->{refused} }", '', 'settings, default privileges and temporary objects: none prevents the installation');

# She cannot change the objects of an extension that she has installed, except as an extension's owner may.
my $own = new_database();
is(psql_as('mallory', $own, 'CREATE EXTENSION shardid SCHEMA evil; CREATE FUNCTION evil.more() RETURNS int LANGUAGE sql RETURN 1'), '', 'installed by mallory');
my $rights = $node->safe_psql($own, q(SELECT watch.digest('{}')));
for my $statement (
	'ALTER FUNCTION evil.uuid_v1() OWNER TO mallory',
	'CREATE OR REPLACE FUNCTION evil.uuid_v1() RETURNS uuid LANGUAGE sql SECURITY DEFINER RETURN gen_random_uuid()',
	'CREATE EXTENSION shardid SCHEMA pg_catalog')
{
	like(psql_as('mallory', $own, $statement), qr/ERROR/, "refused: $statement");
}
is($node->safe_psql($own, q(SELECT watch.digest('{}'))), $rights, 'refused statements change no right');

$node->stop;
done_testing();
