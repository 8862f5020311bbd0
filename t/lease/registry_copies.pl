# A copied registry grants nothing, also to members that are copied with it, and also after all leases have ended:
# registry and member in one database, and a registry that members find by libpq's defaults, copied by pg_dump, CREATE
# DATABASE and pg_basebackup; original and copy draw at the same time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $conf = "autovacuum = off\nmax_connections = 60\nshardid.lease_timeout = '2s'\n";
my $node = new_node('original', $conf, allows_streaming => 1);

# The server "registry" names no host: PostgreSQL::Test::Cluster starts each server with PGHOST and PGPORT of its own.
$node->safe_psql('postgres', <<'SQL');
CREATE DATABASE one;
CREATE DATABASE registry;
CREATE DATABASE shop;
\connect one
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', lease => '2 s');
SELECT shardid_lease.lease_shard('ids', shard => 1);
\connect registry
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', lease => '2 s');
\connect shop
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (dbname 'registry');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
SELECT shardid_lease.lease_shard('ids', 'registry', shard => 2);
SQL
my %shard_of = (one => 1, shop => 2);
my $says_what_to_do = qr/registry_was_(restored|moved)\(.*registry_was_(?!\1)(restored|moved)\(/s;

sub draw { return draw_at_once($_[0], map { [ @$_, 'shardid_seq' ] } @_[ 1 .. $#_ ]) }

# $original and $copy are a server and a database; $registry is the database of the copy's registry.
sub grants_nothing
{
	my ($what, $original, $copy, $registry) = @_;
	my ($ids, $ids_of_copy) = draw(0.5, $original, $copy);
	is($ids_of_copy, 0, "$what: no id while the lease runs");
	# When all leases that the copied registry knows have ended.
	wait_for_end($copy->[0], $registry, 'ids', $shard_of{ $original->[1] });
	($ids, $ids_of_copy) = draw(1.5, $original, $copy);
	is($ids_of_copy, 0, "$what: none after its end");
	cmp_ok($ids, '>', 0, "$what: the original goes on");
	my $error = error_of(@$copy, 'SELECT next_id()');
	like($error, qr/ERROR:  55000: .*has no lease of shard/, "$what: the error");
	like($error, $says_what_to_do, 'names the two functions of which one ends it');
	like(error_of(@$copy, q(SELECT shardid_lease.take_over_shard())), $says_what_to_do, "$what: no takeover");
	$copy->[0]->safe_psql($copy->[1], 'CREATE SEQUENCE fresh');
	my $server = $copy->[1] eq $registry ? 'NULL' : "'registry'";
	like(error_of(@$copy, "SELECT shardid_lease.lease_shard('ids', $server, 'fresh')"), $says_what_to_do, "$what: no new lease");
	return;
}

my $one = [ $node, 'one' ];
my $shop = [ $node, 'shop' ];
my ($ids_of_one, $ids_of_shop) = draw(0.5, $one, $shop);
cmp_ok($_, '>', 0, 'ids come') for $ids_of_one, $ids_of_shop;

my $elsewhere = new_node('elsewhere', $conf);
$elsewhere->safe_psql('postgres', 'CREATE DATABASE one');
system_or_bail('sh', '-c', "pg_dump -d '" . $node->connstr('one') . "' | psql -XAtq -v ON_ERROR_STOP=1 -d '"
	  . $elsewhere->connstr('one') . "' >/dev/null");
grants_nothing('a dump restored elsewhere', $one, [ $elsewhere, 'one' ], 'one');
is($elsewhere->safe_psql('one', 'SELECT count(*) FROM shardid_lease.granted_shard'), 1, 'which has all rows');

for my $strategy ('wal_log', 'file_copy')
{
	$node->safe_psql('postgres', "CREATE DATABASE copied TEMPLATE one STRATEGY $strategy");
	grants_nothing("CREATE DATABASE, $strategy", $one, [ $node, 'copied' ], 'copied');
	$node->safe_psql('postgres', 'DROP DATABASE copied');
}

$node->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
grants_nothing('pg_basebackup, in one database', $one, [ $copy, 'one' ], 'one');
grants_nothing('pg_basebackup, by libpq\'s defaults', $shop, [ $copy, 'shop' ], 'registry');
my $error = error_of($copy, 'shop', 'SELECT next_id()');
like($error, qr/\b@{[ $_->[0]->port ]}\b/, "the error says where the registry $_->[1]") for [ $node, 'was' ], [ $copy, 'is' ];

# A restart in its place is no copy.
$node->restart;
($ids_of_one, $ids_of_shop) = draw(0.5, $one, $shop);
cmp_ok($_, '>', 0, 'ids come after a restart') for $ids_of_one, $ids_of_shop;

# The original is lost, and the owner says so by registry_was_restored(): the copy is the registry from now on. Its
# members take their shards over, in windows after all that the original can have granted.
$node->stop('immediate');
for my $place ([ 'one', 'one' ], [ 'registry', 'shop' ])
{
	my ($registry, $member) = @$place;
	$copy->safe_psql($registry, 'SELECT shardid_lease.registry_was_restored()');
	cmp_ok($copy->safe_psql($registry, <<'SQL'), '>=', 0, "$registry, restored: no window before what may have been granted");
SELECT min(not_before) - max(greatest(until_ms, 0)) - min(max_ahead_ms + lease_ms)
FROM shardid_lease.id_space, shardid_lease.granted_shard
SQL
	like(error_of($copy, $member, 'SELECT next_id()'), qr/take_over_shard\(\)/, "$member: the error says what to do now");
	is($copy->safe_psql($member, 'SELECT shardid_lease.take_over_shard()'), $shard_of{$member}, "$member takes its shard over");
	my ($ids) = draw(0.5, [ $copy, $member ]);
	cmp_ok($ids, '>', 0, "$member draws");
}

no_id_comes_twice('copies of a registry with its members');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing worse in the log of ' . $_->name)
  for $node, $copy, $elsewhere;
$_->stop for $copy, $elsewhere;
done_testing();
