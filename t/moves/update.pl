# ALTER EXTENSION UPDATE: from every version with an update script, the update results in the same objects as a new
# CREATE EXTENSION, and the ids continue. While there is only one version, two invented ones show that the comparison
# detects what an update script forgets.
use ShardidTest;

# A second installation, to which versions can be added.
my $dir = PostgreSQL::Test::Utils::tempdir();
system_or_bail('make', '-s', 'install', "DESTDIR=$dir/inst", 'with_llvm=no');
my ($scripts) = glob "$dir/inst" . (`$ENV{PG_CONFIG} --sharedir` =~ s/\n//r) . '/extension';
append_to_file("$dir/temp.conf", scalar `tools/extension_config.sh $dir/inst`);
my ($default) = slurp_file('shardid.control') =~ /default_version = '(.*)'/;
my $install = slurp_file("built/shardid--$default.sql");

my $addition = <<'SQL';
CREATE FUNCTION id_minute(id bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN date_trunc('minute', id_timestamp(id), 'UTC');
SQL
my $comment = "COMMENT ON FUNCTION id_minute(bigint) IS 'the minute of an id';\n";
for my $made_up ([ 'careful', $addition . $comment ], [ 'careless', $addition ])
{
	my ($version, $update) = @$made_up;
	append_to_file("$scripts/shardid--$version.sql", $install . $addition . $comment);
	append_to_file("$scripts/shardid--$default--$version.sql", $update);
}

local $ENV{TEMP_CONFIG} = "$dir/temp.conf";
my $node = new_node('update', '');
my $databases = 0;

# All objects of the extension, as text, without the random bits in a negative MINVALUE.
sub objects
{
	my ($database) = @_;
	return $node->safe_psql($database, <<'SQL');
SELECT identity, type, obj_description(objid, catalogue) AS comment, definition, acl, owner
FROM (SELECT d.objid, d.classid::regclass::text AS catalogue, o.type, o.identity,
             CASE WHEN d.classid = 'pg_proc'::regclass THEN pg_get_functiondef(d.objid) END AS definition,
             coalesce(p.proacl, c.relacl)::text AS acl,
             coalesce(p.proowner, c.relowner)::regrole::text AS owner
      FROM pg_depend d
      CROSS JOIN pg_identify_object(d.classid, d.objid, d.objsubid) o
      LEFT JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
      LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
        AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid')) s
ORDER BY 1;
SELECT seqtypid::regtype, seqstart, seqincrement, seqmax, greatest(seqmin, -1), seqcache, seqcycle FROM pg_sequence ORDER BY seqrelid;
SELECT extrelocatable, extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'shardid';
SQL
}

sub database_with
{
	my ($version) = @_;
	my $database = 'database_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION shardid VERSION '$version'");
	return $database;
}

sub updated
{
	my ($from, $to) = @_;
	my $database = database_with($from);
	my $id = $node->safe_psql($database,
		'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); INSERT INTO photos DEFAULT VALUES RETURNING id');
	$node->safe_psql($database, "ALTER EXTENSION shardid UPDATE TO '$to'");
	is($node->safe_psql($database, q(SELECT extversion FROM pg_extension WHERE extname = 'shardid')), $to, "$from to $to");
	cmp_ok($node->safe_psql($database, 'INSERT INTO photos DEFAULT VALUES RETURNING id'), '>', $id, "$from to $to: ids go on");
	return objects($database);
}

my $new = objects(database_with($default));
like($new, qr/^public\.next_id\(integer,.*CREATE OR REPLACE FUNCTION/m, 'the objects are listed');
my @versions = grep { !/^care|--/ } map { /shardid--(.*)\.sql$/ } sort glob "$scripts/shardid--*.sql";
is(scalar(grep { $_ eq $default } @versions), 1, "versions: @versions");
for my $version (grep { $_ ne $default } @versions)
{
	is(updated($version, $default), $new, "$version to $default: the same objects");
}

is(updated($default, 'careful'), objects(database_with('careful')), 'a careful update script');
isnt(updated($default, 'careless'), objects(database_with('careless')), 'one that forgets a comment is found out');

$node->stop;
done_testing();
