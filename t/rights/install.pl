# CREATE EXTENSION gives no role more rights. The extension is trusted, so its scripts run as the bootstrap superuser.
# A hostile role, mallory, plants functions, types, operators and relations with every name of the scripts in the schema of the
# extension. Then the role, or an administrator, installs or updates the extension. An error is allowed.
# Gains are: planted code that runs as another role, and any right, member or owner that differs from an installation
# without the plant. Nor may the role change the objects of an extension that it has installed.
use List::Util 'max';
use POSIX ();
use Plants;
use ShardidTest;

# make test plants random groups at once, and then parts of those that changed anything, down to each of their plants.
# make test-full plants each alone. The seed repeats the groups.
my @plants_at_once = $ENV{FULL} ? 1 : (64, 8, 1);
my $seed = $ENV{SHARDID_SEED} || int rand 2**31;
srand $seed;
note "SHARDID_SEED=$seed";

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
my $node = PostgreSQL::Test::Cluster->new('install');
$node->init;
$node->append_conf('postgresql.conf', 'log_statement = none');
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE ROLE bob');
my $administrator = getpwuid $<;

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

# The plants that could be created, those with which the installation was refused, those that changed nothing, and all gains.
# Rights are only expected on the extension and its members.
sub outcome
{
	my ($output, $error) = @_;
	my $its_own = qr/^(?:(?:extension|function|procedure|sequence|owned by mallory: extension) |schema shardid_(?:admin|readers)(?! mallory)|(?:table|type|view) shardid_readers\.)/;
	my (undef, undef, @results) = split /^plant: (.*)\n/m, $output;
	my $nothing = shift @results;
	my %before = map { $_ => 1 } $nothing =~ /^before (.*)/mg;
	my %expected = map { $_ => 1 } $nothing =~ /^expected (.*)/mg;
	my @gains = map { "by nothing: $_" } grep { !$before{$_} && !/$its_own/ } sort keys %expected;
	push @gains, 'nothing planted: could not be installed' unless %expected;
	push @gains, $error =~ /(planted .* ran as .*)/g;
	my %outcome = (not_planted => [], refused => [], unchanged => {}, gains => \@gains);
	while (my ($label, $result) = splice @results, 0, 2)
	{
		my $planted = $result =~ s/^planted: (TRUE|FALSE)(\n|\z)// && $1 eq 'TRUE';
		push @{ $outcome{not_planted} }, $label unless $planted;
		push @{ $outcome{refused} }, $label if $planted && $result eq '';
		$outcome{unchanged}{$label} = 1 if $planted && $result eq "same\n";
		push @{ $outcome{gains} }, map { "$label: $_" } grep { $_ ne 'same' && !$expected{$_} } split /\n/, $result;
	}
	return \%outcome;
}

# In a database of its own for the installer's $preparation: nothing of what is tried stays there. What one installer was
# refused, with the schema left out, is alone from the beginning for the next.
my (%prepared, %was_refused);

sub try_plants
{
	my ($installer, $preparation, $installation, @plants) = @_;
	my $database = $prepared{ $preparation && "$installer $preparation" };
	if (!$database)
	{
		$database = $prepared{ $preparation && "$installer $preparation" } = new_database();
		unlike(scalar(psql_as($installer, $database, $preparation)), qr/ERROR/, $preparation) if $preparation;
	}
	my %all = (number => scalar @plants, gains => []);
	# Plants of one name are in different groups, as they would be in each other's way.
	my %place;
	my $name_of = sub { return $_[0][0] =~ /\.([^\s(]+)/ ? $1 : $_[0][0] };
	my $place_of = sub { return $place{ $name_of->($_[0]) } //= rand };
	@plants = sort { $place_of->($a) <=> $place_of->($b) } @plants;
	# Sequences are made by their names: what has one of those is alone, too.
	my $is_taken = sub { return $_[0][0] =~ /_seq$/ || $was_refused{ $_[0][0] =~ s/\w+\.//r } };
	my @taken = grep { $is_taken->($_) } @plants;
	@plants = grep { !$is_taken->($_) } @plants;
	for my $at_once (@plants_at_once)
	{
		push @plants, @taken if $at_once == 1;
		my (@groups, %of_name);
		$of_name{ $name_of->($_) }++ for @plants;
		my $number = max(POSIX::ceil(@plants / $at_once), values %of_name);
		push @{ $groups[ $_ % $number ] }, $plants[$_] for 0 .. $#plants;
		my $outcome = outcome(psql_as($installer, $database, script_of($installer, $installation,
			map { [ $at_once > 1 ? "group $_" : $groups[$_][0][0], join '; ', map { $_->[1] } @{ $groups[$_] } ] } 0 .. $#groups)));
		push @{ $all{gains} }, grep { !/^group \d/ } @{ $outcome->{gains} };
		@plants = map { @{ $groups[$_] } } grep { !$outcome->{unchanged}{"group $_"} } 0 .. $#groups if $at_once > 1;
		@all{qw(not_planted refused)} = @$outcome{qw(not_planted refused)};
		last if @{ $all{gains} };
	}
	$was_refused{s/\w+\.//r} = 1 for @{ $all{refused} };
	return \%all;
}

# $there: the script of the objects that already exist, whose names are taken.
sub gives_nothing
{
	my ($name, $outcome, $there) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @failed = grep { my ($its) = /\.(\w+)/; !$there || $there !~ /CREATE \w+ $its\b/ } @{ $outcome->{not_planted} };
	is("@failed", '', "$name: all could be planted");
	note "refused: $_" for @{ $outcome->{refused} };
	is(join("\n", @{ $outcome->{gains} }), '', "$name: nothing gained by $outcome->{number} plants, of which " . @{ $outcome->{refused} } . ' were refused');
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

	# Then another extension, whose schema mallory has prepared, or with plants beside shardid.
	if ($installer eq 'mallory' || $ENV{FULL})
	{
		for my $house (qw(admin readers))
		{
			my $script = slurp_file(glob "contrib/$house/*--*.sql");
			my $extension = "CREATE EXTENSION shardid_$house";
			my $prepared = try_plants($installer, $create, $extension, [ 'its schema', "CREATE SCHEMA shardid_$house" ]);
			is("@{ $prepared->{refused} }",
				'its schema', "$installer installs shardid_$house: refused where its schema exists");
			gives_nothing("$installer installs shardid_$house, plants beside shardid",
				try_plants($installer, $create, $extension, all_plants($schema, $script)), $install);
		}
	}

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

# The rights on what the scripts make, and a dump of them, are the same whatever default privileges their owner has.
$node->safe_psql('template1', <<'SQL');
CREATE FUNCTION watch.given() RETURNS SETOF text LANGUAGE sql SET search_path = pg_catalog AS $$
SELECT concat_ws(' ', pg_describe_object(o.classid, o.objid, 0), COALESCE(rolname, 'PUBLIC'), privilege_type, is_grantable)
FROM (SELECT tableoid, oid, pronamespace, COALESCE(proacl, acldefault('f', proowner)) FROM pg_proc
	UNION ALL SELECT tableoid, oid, typnamespace, COALESCE(typacl, acldefault('T', typowner)) FROM pg_type
	UNION ALL SELECT tableoid, oid, oid, COALESCE(nspacl, acldefault('n', nspowner)) FROM pg_namespace
	UNION ALL SELECT tableoid, oid, relnamespace, COALESCE(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner)) FROM pg_class
	UNION ALL SELECT c.tableoid, c.oid, relnamespace, attacl FROM pg_attribute JOIN pg_class c ON c.oid = attrelid) o (classid, objid, schema, acl),
	aclexplode(acl) LEFT JOIN pg_roles r ON r.oid = grantee
WHERE o.schema::regnamespace::text IN ('ids', 'shardid', 'shardid_lease', 'shardid_admin', 'shardid_readers')
$$;
SQL
my @kinds = qw(FUNCTIONS SEQUENCES TABLES TYPES SCHEMAS);
my %default_privileges = (
	none => [],
	given => [ map { ("GRANT ALL ON $_ TO bob WITH GRANT OPTION", "GRANT ALL ON $_ TO PUBLIC") } @kinds ],
	given_in_schema => [ map { "IN SCHEMA ids GRANT ALL ON $_ TO bob" } @kinds[ 0 .. 3 ] ],
	taken => [ map { ("REVOKE ALL ON $_ FROM PUBLIC", "REVOKE ALL ON $_ FROM CURRENT_USER") } @kinds ]);
my $file = sub { return "\\set ON_ERROR_STOP on\nSET search_path = ids;\n" . join '', map { "\\i contrib/$_.sql\n" } @_ };
my @scripts = (
	extensions => $administrator, 'CREATE EXTENSION shardid SCHEMA ids; CREATE EXTENSION shardid_lease; CREATE EXTENSION shardid_admin; CREATE EXTENSION shardid_readers',
	sql_only => 'shop_owner', $file->(map { "portable/$_" } qw(shardid uuids_and_text admin)),
	public_ids => 'shop_owner', $file->('public_ids/public_ids'),
	extension_in_its_place => 'shop_owner', $file->(qw(portable/shardid portable/to_extension)),
	and_back => 'shop_owner', $file->(qw(portable/shardid portable/to_extension portable/from_extension portable/shardid)));
$node->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN');
sub differences
{
	my %lines;
	$lines{$_}++ for split /\n/, $_[0];
	$lines{$_}-- for split /\n/, $_[1];
	return join "\n", map { ($lines{$_} > 0 ? '+' : '-') . $_ } grep { $lines{$_} } sort keys %lines;
}
while (my ($name, $owner, $script) = splice @scripts, 0, 3)
{
	my (%given, %dump);
	for my $kind (sort { $b eq 'none' } sort keys %default_privileges)
	{
		my $database = new_database();
		$node->safe_psql($database, "CREATE EXTENSION dblink; CREATE EXTENSION pgcrypto; CREATE SCHEMA ids AUTHORIZATION $owner; ALTER DATABASE $database OWNER TO $owner");
		is(psql_as($owner, $database, join(';', map({ "ALTER DEFAULT PRIVILEGES $_" } @{ $default_privileges{$kind} }), '') . $script), '', "$name, default privileges: $kind");
		$given{$kind} = $node->safe_psql($database, 'SELECT * FROM watch.given() g ORDER BY 1');
		$dump{$kind} = join '', grep { /^(GRANT|REVOKE) .* ON (?!SCHEMA watch)/ } split /^/, qx(pg_dump -d "@{[ $node->connstr($database) ]}");
		is(differences($given{$kind}, $given{none}), '', "$name, default privileges: $kind: the same rights");
		is(differences($dump{$kind}, $dump{none}), '', "$name, default privileges: $kind: the same dump");
	}
	note $dump{none};
}

# Others who can create functions in the schema, also by default privileges, are named to the role that installs there.
$node->safe_psql('postgres', 'CREATE ROLE friend IN ROLE shop_owner');
for (
	[ 'mallory', 'evil', '' ],
	[ $administrator, 'evil', '', 'mallory' ],
	[ $administrator, 'public', '', 'mallory' ],
	[ 'shop_owner', 'public', '', 'mallory' ],
	[ 'shop_owner', 'ids', 'CREATE SCHEMA ids; GRANT USAGE ON SCHEMA ids TO PUBLIC, mallory' ],
	[ 'shop_owner', 'ids', "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO friend, $administrator, pg_database_owner; CREATE SCHEMA ids" ],
	[ 'shop_owner', 'ids', 'ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC, bob; CREATE SCHEMA ids', 'PUBLIC, bob' ])
{
	my ($installer, $schema, $before, $named) = @$_;
	my $database = new_database();
	$node->safe_psql('postgres', "ALTER DATABASE $database OWNER TO shop_owner") if $installer eq 'shop_owner';
	my ($warned) = psql_as($installer, $database, "$before;CREATE EXTENSION shardid SCHEMA $schema")
	  =~ /^psql:.*WARNING:  other roles can create functions in schema "$schema"\nDETAIL:  .* these roles create: (.*)\.$/m;
	is($warned, $named, "$installer installs in schema $schema, $before");
}

# She cannot change the objects of an extension that she has installed, except as an extension's owner may.
my $own = new_database();
psql_as('mallory', $own, q(SELECT format('CREATE TABLE public.many_%s ()', n) FROM generate_series(1, 300) n \gexec));
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

# What she adds to it is not taken for its own, even where the catalog shows it first.
$node->safe_psql($own, q(SELECT format('DROP TABLE public.many_%s', n) FROM generate_series(1, 300) n \gexec
VACUUM pg_depend; CREATE SCHEMA ids));
is(psql_as('mallory', $own, <<'SQL'), '', 'mallory adds members');
CREATE SEQUENCE public.shardid_uuid_seq;
ALTER EXTENSION shardid ADD SEQUENCE public.shardid_uuid_seq;
CREATE FUNCTION evil.shardid_refuse_shard(shard int, shard_bits int) RETURNS boolean LANGUAGE sql RETURN false;
ALTER EXTENSION shardid ADD FUNCTION evil.shardid_refuse_shard;
SQL
$node->safe_psql($own, $file->(qw(portable/shardid portable/to_extension)));
is($node->safe_psql($own, <<'SQL'), "t\nf|0", 'none is used');
SELECT evil.uuid_v1() IS NOT NULL;
SELECT is_called, (SELECT count(*) FROM pg_depend d JOIN pg_proc p ON p.oid = d.refobjid JOIN pg_proc f ON f.oid = d.objid
	WHERE f.pronamespace = 'ids'::regnamespace AND p.proowner = 'mallory'::regrole) FROM public.shardid_uuid_seq;
SQL

$node->stop;
done_testing();
