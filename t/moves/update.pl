# ALTER EXTENSION UPDATE: between all versions of this tree, an updated database dumps the same as a new one, and the ids
# continue. A version that only this test has shows that the comparison detects what an update script lacks.
use ShardidTest;

my $addition = <<'SQL';
CREATE FUNCTION addition(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN id + 1;
COMMENT ON FUNCTION addition(bigint) IS 'the next id';
REVOKE ALL ON FUNCTION addition(bigint) FROM PUBLIC;
CREATE TABLE additions (id bigint);
SELECT pg_extension_config_dump('additions', '');
CREATE VIEW added AS SELECT addition(id) FROM additions;
SQL
# Without a comment, a privilege and rows for pg_dump, with another label, body, type and member.
my $faulty = ($addition =~ s/^(?:COMMENT|REVOKE|SELECT).*\n//mgr =~ s/ PARALLEL SAFE//r =~ s/id \+ 1/id + 2/r =~ s/additions \(id bigint/additions (id numeric/r
	  =~ s/addition\(id\) FROM/addition(id::bigint) FROM/r) . 'ALTER EXTENSION shardid DROP VIEW added;';

# A second installation, to which versions can be added.
my $dir = PostgreSQL::Test::Utils::tempdir();
system_or_bail('make', '-s', 'install', "DESTDIR=$dir/inst", 'with_llvm=no');
my ($scripts) = glob "$dir/inst" . (`$ENV{PG_CONFIG} --sharedir` =~ s/\n//r) . '/extension';
append_to_file("$dir/temp.conf", scalar `tools/extension_config.sh $dir/inst`);
local $ENV{TEMP_CONFIG} = "$dir/temp.conf";
my $node = new_node('update', '');
my $databases = 0;

sub database_with
{
	my ($extension, $version) = @_;
	my $database = 'database_' . ++$databases;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, "CREATE EXTENSION $extension VERSION '$version' CASCADE");
	return $database;
}

# All that the extensions contain, as pg_upgrade dumps it, in a file: definitions, comments, owners, privileges, and what
# is a member. Left out are OIDs, transaction ids, what generators have generated, the random bits in their MINVALUE, and
# the key of this dump.
sub dump_of
{
	my ($database) = @_;
	my $dump = $node->safe_psql($database, 'SELECT extname, extconfig::regclass[], extcondition FROM pg_extension ORDER BY 1');
	my ($all) = run_command([ 'pg_dump', '--binary-upgrade', '--schema-only', '-d', $node->connstr($database) ]);
	$all =~ s/^(\\(un)?restrict|SELECT pg_catalog\.(setval|binary_upgrade_set_next_)|SET relfrozenxid|WHERE oid = ).*\n//mg;
	$all =~ s/(create_empty_extension\(.*)'\{[\d,]+\}'([^;]*?ARRAY\[)(.*?)\]/"$1$2" . join ',', sort split ',', $3/ge;
	$all =~ s/MINVALUE -\d+/MINVALUE/g;
	append_to_file("$dir/$database", "$dump\n$all");
	return "$dir/$database";
}

sub updated
{
	my ($extension, $from, $to) = @_;
	my $database = database_with($extension, $from);
	my $id = $node->safe_psql($database,
		'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); INSERT INTO photos DEFAULT VALUES RETURNING id');
	$node->safe_psql($database, "ALTER EXTENSION $extension UPDATE TO '$to'");
	my $later = $node->safe_psql($database, 'INSERT INTO photos DEFAULT VALUES RETURNING id; DROP TABLE photos');
	BAIL_OUT("$extension $from to $to: $later after $id") if $later <= $id;
	return dump_of($database);
}

sub difference { return `diff -u $_[0] $_[1]` }

for my $extension (qw(shardid shardid_admin shardid_lease shardid_readers))
{
	my ($default) = slurp_file((grep { -e } glob "{,contrib/*/}$extension.control")[0]) =~ /default_version = '(.*)'/;
	my $paths = $node->safe_psql('postgres', "SELECT source, target FROM pg_extension_update_paths('$extension') WHERE path IS NOT NULL");
	ok(-e "$scripts/$extension--$default.sql", "$extension has a script for version $default");
	for (split /\n/, $paths)
	{
		my ($from, $to) = split /\|/;
		is(difference(updated($extension, $from, $to), dump_of(database_with($extension, $to))), '', "$extension $from to $to");
	}

	my $update = "$scripts/$extension--$default--next.sql";
	# The others have schemas of their own.
	my $added = ($extension eq 'shardid' ? '' : "SET LOCAL search_path = $extension, pg_temp;\n") . $addition;
	append_to_file("$scripts/$extension--next.sql", slurp_file("$scripts/$extension--$default.sql") . $added);
	append_to_file($update, $added);
	my $new = dump_of(database_with($extension, 'next'));
	is(difference(updated($extension, $default, 'next'), $new), '', "a complete update script of $extension");
	next if $extension ne 'shardid';
	unlink $update;
	append_to_file($update, $faulty);
	my $difference = difference(updated($extension, $default, 'next'), $new);
	like($difference, qr/^\+.*$_/m, "an update script that lacks this is detected: $_")
	  for 'COMMENT ON FUNCTION', 'REVOKE ALL ON FUNCTION', 'PARALLEL SAFE', 'id \+ 1', 'id bigint', '\{.*additions', 'ADD VIEW';
}

$node->stop;
done_testing();
