# docs/migrating.md and docs/migrating-ids.md, for their tests: a server whose clock can be set, on which each case is a database with the
# extension, and the page's blocks.
package Migrating;

use ShardidTest;
use Exporter 'import';
use Docs;

our @EXPORT = qw(start_original clock new_database on fails block recipe recipe_of_page create_recipe_of_page recipe_switch $original
  $database $dir $insert_photo $epoch);
our ($original, $database, $dir);
our $insert_photo = q(INSERT INTO insta5.photos (name) VALUES ('x') RETURNING id);
our $epoch = '2011-08-24 21:07:01.721+00';

# The blocks name the schema of the functions themselves; what this test adds finds it in search_path.
my %page_of = (recipe => 'examples/instagram/README.md', uuid => 'migrating-ids.md', pgedge => 'migrating-ids.md');
sub block { my ($kind) = $_[0] =~ /^([^-]+)/; return "SET search_path = public;\n" . block_of($page_of{$kind} // 'migrating.md', $_[0]) }

# A script of examples/instagram.
sub recipe
{
	return "SET search_path = public;\n\\set tables photos,likes\n" . script_with_includes("examples/instagram/$_[0].sql");
}

sub start_original
{
	$dir = PostgreSQL::Test::Utils::tempdir();
	clock('+0');
	with_fake_clock("$dir/clock", sub { $original = new_node('original', 'autovacuum = off') });
	$original->safe_psql('postgres', 'CREATE ROLE app; CREATE ROLE batch; CREATE ROLE caller LOGIN');
	return;
}

sub clock { return set_fake_clock("$dir/clock", $_[0]) }

# A database of the original with the extension, and what runs in it.
sub new_database
{
	($database) = @_;
	clock('+0');
	$original->safe_psql('postgres', "CREATE DATABASE $database; ALTER DATABASE $database SET search_path = public, ids");
	return on(block('extension') =~ s/ALTER DATABASE \Kshop/$database/r =~ s/^GRANT.*\n//mgr);
}

# As the page says, a switch that has not got its locks in time runs again.
sub on
{
	my ($code, $stdout, $stderr);
	my ($sql, $role) = @_;
	await_event('the locks', sub {
		($code, $stdout, $stderr) = $original->psql($database, $sql, $role ? (extra_params => [ '-U', $role ]) : ());
		return $stderr !~ /canceling statement due to lock timeout/;
	});
	die "$database: $stderr\n$sql" if $code;
	return $stdout;
}

sub fails
{
	my ($sql, $role) = @_;
	my ($code, $stdout, $stderr) = $original->psql($database, $sql, $role ? (extra_params => [ '-U', $role ]) : ());
	isnt($code, 0, 'it fails');
	return $stderr =~ s/^psql:<stdin>:\d+: //mgr;
}

# The PL/pgSQL recipe.
sub create_recipe_of_page { return on(recipe_of_page($_[0] // 5)) }

sub recipe_of_page
{
	my ($shard) = @_;
	return <<"SQL";
CREATE SCHEMA insta$shard;
CREATE SEQUENCE insta$shard.photos_id_seq;
CREATE FUNCTION insta$shard.next_id(OUT result bigint) LANGUAGE plpgsql AS \$\$
DECLARE
    our_epoch bigint := 1314220021721;
    seq_id bigint;
    now_millis bigint;
    shard_id int := $shard;
BEGIN
    SELECT nextval('insta$shard.photos_id_seq') % 1024 INTO seq_id;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_millis;
    result := (now_millis - our_epoch) << 23 | (shard_id << 10) | seq_id;
END
\$\$;
CREATE TABLE insta$shard.photos (id bigint PRIMARY KEY DEFAULT insta$shard.next_id(), name text);
CREATE TABLE insta$shard.likes (
    id bigint PRIMARY KEY DEFAULT insta$shard.next_id(), photo bigint REFERENCES insta$shard.photos);
SQL
}

# What the script runs for the schema insta5, in a transaction.
sub recipe_switch
{
	on(recipe('save')) unless on(q(SELECT count(*) FROM pg_namespace WHERE nspname = 'before_ids'));
	my $statements = on(recipe('switch') =~ s/\\gexec.*//sr);
	return "SET search_path = public;\nBEGIN;\n$statements;\nCOMMIT;\n";
}

1;
