# Databases in which ids are drawn by the SQL-only version, without the extension.
package Portable;

use ShardidTest;
use Exporter 'import';

our @EXPORT = qw(new_portable_node make_portable load_portable takes_lock);

# A started cluster with a database "portable", whose sessions have the schema of the functions in search_path.
sub new_portable_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%params);
	$node->append_conf('postgresql.conf', "max_connections = 80\nautovacuum = off\n" . ($conf // ''));
	$node->start;
	make_portable($node, 'portable');
	return $node;
}

# The database belongs to the superuser, the schemas "ids" and "shardid_admin" in it to an ordinary role, which loads the file.
sub make_portable
{
	my ($node, $database) = @_;
	$node->safe_psql('postgres', <<SQL);
SELECT 'CREATE ROLE ids_owner LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ids_owner') \\gexec
CREATE DATABASE $database;
ALTER DATABASE $database SET search_path = ids, public;
SQL
	$node->safe_psql($database, 'CREATE SCHEMA ids AUTHORIZATION ids_owner; GRANT USAGE ON SCHEMA ids TO PUBLIC;
		CREATE SCHEMA shardid_admin AUTHORIZATION ids_owner; GRANT USAGE ON SCHEMA shardid_admin TO PUBLIC');
	load_portable($node, $database);
	return;
}

sub load_portable
{
	my ($node, $database) = @_;
	my $connection = $node->connstr($database) . ' user=ids_owner';
	for my $file (qw(shardid uuids_and_text admin))
	{
		run_log([ 'psql', '-Xq', '-d', $connection, '-f', "contrib/portable/$file.sql" ]) or die "contrib/portable/$file.sql does not load";
	}
	return;
}

# A call waits for the lock of the generator, which this session holds.
sub takes_lock
{
	my ($node, $generator, $call, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $elsewhere = $node->connstr('portable');
	my (undef, $stdout) = $node->psql('portable', <<"SQL");
BEGIN;
SELECT pg_advisory_xact_lock(8316003854193786880 | ('$generator'::regclass::oid::bigint & 63));
\\! psql -XAtq -d "$elsewhere" -c "SET lock_timeout = '100ms'" -c "SELECT $call" 2>&1
SQL
	return like($stdout, qr/canceling statement due to lock timeout/, $name);
}

1;
