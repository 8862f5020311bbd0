# Databases in which ids are drawn by the SQL-only version, without the extension.
package Portable;

use ShardidTest;
use Exporter 'import';

our @EXPORT = qw(new_portable_node make_portable);

# A started cluster with a database "portable", whose sessions have the schema of the functions in search_path.
sub new_portable_node
{
	my ($name, $conf, %params) = @_;
	my $files = delete $params{files} // [];
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(%params);
	$node->append_conf('postgresql.conf', "max_connections = 80\nautovacuum = off\n" . ($conf // ''));
	$node->start;
	make_portable($node, 'portable', @$files);
	return $node;
}

# The database belongs to the superuser, the schemas "ids" and "shardid_admin" in it to an ordinary role, which loads shardid.sql
# and these files.
sub make_portable
{
	my ($node, $database, @files) = @_;
	$node->safe_psql('postgres', <<SQL);
SELECT 'CREATE ROLE ids_owner LOGIN' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'ids_owner') \\gexec
CREATE DATABASE $database;
ALTER DATABASE $database SET search_path = ids, public;
SQL
	$node->safe_psql($database, 'CREATE SCHEMA ids AUTHORIZATION ids_owner; GRANT USAGE ON SCHEMA ids TO PUBLIC;
		CREATE SCHEMA shardid_admin AUTHORIZATION ids_owner; GRANT USAGE ON SCHEMA shardid_admin TO PUBLIC');
	my @options = map { ('-f', "contrib/portable/$_.sql") } 'shardid', @files;
	run_log([ 'psql', '-Xq', '-d', $node->connstr($database) . ' user=ids_owner', @options ]) or die 'contrib/portable does not load';
	return;
}

1;
