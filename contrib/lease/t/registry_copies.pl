# A copied registry grants nothing, also to members that are copied with it, and also after all leases have ended:
# registry and member in one database, and a registry that members find by libpq's defaults, copied by pg_dump, CREATE
# DATABASE and pg_basebackup; original and copy draw at the same time.
use Leases;
use ShardidTest;

my $conf = "autovacuum = off\nmax_connections = 60\nshardid_lease.timeout = '2s'\n";
my $node = new_node('original', $conf, allows_streaming => 1);

# The server "registry" names no host: PostgreSQL::Test::Cluster starts each server with PGHOST and PGPORT of its own.
$node->safe_psql('postgres', <<'SQL');
CREATE DATABASE registry;
CREATE DATABASE shop;
\connect registry
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
\connect shop
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SET shardid_lease.timeout = '3min';
SELECT shardid_lease.lease_shard('ids', 'registry', shard => 2);
SQL
my $says_what_to_do = qr/is stopped, as its registry .*registry_was_restored\(\)/s;

sub draw { return draw_at_once($_[0], map { [ @$_, 'shardid_seq' ] } @_[ 1 .. $#_ ]) }
sub ids_of_all { return (draw_from_all(map { [ @$_, 'shardid_seq' ] } @_))[0] }

# $original and $copy are a server and a database; $registry is the database of the copy's registry.
sub grants_nothing
{
	my ($what, $original, $copy, $registry) = @_;
	my ($ids, $ids_of_copy) = draw(0.5, $original, $copy);
	is($ids_of_copy, 0, "$what: no id while the lease runs");
	# As if all leases that the copied registry knows had ended.
	$copy->[0]->safe_psql($registry, 'UPDATE shardid_lease.granted_shard SET until_ms = least(until_ms, shardid_lease.now_ms(epoch)) FROM shardid_lease.id_space');
	($ids, $ids_of_copy) = draw(1.5, $original, $copy);
	is($ids_of_copy, 0, "$what: none after its end");
	cmp_ok($ids || ids_of_all($original), '>', 0, "$what: the original goes on");
	my $error = error_of(@$copy, 'SELECT next_id()');
	like($error, qr/ERROR:  55000: .*has no lease of shard/, "$what: the error");
	like($error, $says_what_to_do, 'names the two functions of which one ends it');
	like(error_of(@$copy, q(SELECT shardid_lease.take_over_shard())), $says_what_to_do, "$what: no takeover");
	$copy->[0]->safe_psql($copy->[1], 'CREATE SEQUENCE fresh');
	like(error_of(@$copy, "SELECT shardid_lease.lease_shard('ids', 'registry', 'fresh')"), $says_what_to_do, "$what: no new lease");
	return;
}

my $shop = [ $node, 'shop' ];
my ($ids) = ids_of_all($shop);
cmp_ok($ids, '>', 0, 'ids come');

my $elsewhere = new_node('elsewhere', $conf);
for my $database ('registry', 'shop')
{
	$elsewhere->safe_psql('postgres', "CREATE DATABASE $database");
	system_or_bail('sh', '-c', "pg_dump -d '" . $node->connstr($database) . "' | psql -XAtq -v ON_ERROR_STOP=1 -d '"
		  . $elsewhere->connstr($database) . "' >/dev/null");
}
grants_nothing('dumps restored elsewhere', $shop, [ $elsewhere, 'shop' ], 'registry');
is($elsewhere->safe_psql('registry', 'SELECT count(*) FROM shardid_lease.granted_shard'), 1, 'which have all rows');

for my $strategy ('wal_log', 'file_copy')
{
	$node->safe_psql('postgres', "CREATE DATABASE ${_}_copied TEMPLATE $_ STRATEGY $strategy") for 'registry', 'shop';
	$node->safe_psql('shop_copied', q(ALTER SERVER registry OPTIONS (SET dbname 'registry_copied')));
	grants_nothing("CREATE DATABASE, $strategy", $shop, [ $node, 'shop_copied' ], 'registry_copied');
	$node->safe_psql('postgres', "DROP DATABASE ${_}_copied") for 'registry', 'shop';
}

$node->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
grants_nothing('pg_basebackup, by libpq\'s defaults', $shop, [ $copy, 'shop' ], 'registry');
like(error_of($copy, 'shop', 'SELECT next_id()'), qr/another data directory or machine-id, started from a base backup/, 'the error says what differs');

# A restart in its place is no copy.
$node->restart;
($ids) = ids_of_all($shop);
cmp_ok($ids, '>', 0, 'ids come after a restart');

# The original is lost, and the owner says so by registry_was_restored(): the copy is the registry from now on. Its
# members take their shards over, in windows after all that the original can have granted.
$node->stop('immediate');
$copy->safe_psql('registry', 'SELECT shardid_lease.registry_was_restored()');
cmp_ok($copy->safe_psql('registry', <<'SQL'), '>=', 0, 'restored: no window before what may have been granted');
SELECT min(not_before) - max(greatest(until_ms, 0)) - min(max_ahead_ms + lease_ms)
FROM shardid_lease.id_space, shardid_lease.granted_shard
SQL
like(error_of($copy, 'shop', 'SELECT next_id()'), qr/take_over_shard\(\)/, 'the error says what to do now');
is($copy->safe_psql('shop', q(SET shardid_lease.timeout = '3min'; SELECT shardid_lease.take_over_shard())), 2, 'the copy takes the shard over');
($ids) = ids_of_all([ $copy, 'shop' ]);
cmp_ok($ids, '>', 0, 'and draws');

no_id_comes_twice('copies of a registry with its members');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing worse in the log of ' . $_->name)
  for $node, $copy, $elsewhere;
$_->stop for $copy, $elsewhere;
done_testing();
