# A publication FOR ALL TABLES of a database that is a member, and its own registry, like its subscriber: the rows of all
# tables arrive there, in the initial copy and later, except the extension's, which stay the subscriber's own.
use Leases;
use ShardidTest;

my $node = new_node('node', "autovacuum = off\n", allows_streaming => 'logical');
sub on { return $node->safe_psql($_[0], $_[1]) }
my %shard_of = (publisher => 3, subscriber => 5);
for my $name (sort keys %shard_of)
{
	on('postgres', "CREATE DATABASE $name");
	on($name, registry_here() . <<SQL);
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
SELECT shardid_lease.create_id_space('of_$name');
SELECT shardid_lease.lease_shard('ids', 'here', shard => $shard_of{$name});
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id());
INSERT INTO orders VALUES (DEFAULT);
SQL
}
my $own = <<'SQL';
SELECT jsonb_agg(to_jsonb(l) ORDER BY to_jsonb(l)) FROM shardid_lease.leased_generator l
UNION ALL SELECT jsonb_agg(to_jsonb(s) ORDER BY to_jsonb(s)) FROM shardid_lease.id_space s
UNION ALL SELECT jsonb_agg(jsonb_build_array(space, shard, origin) ORDER BY shard) FROM shardid_lease.granted_shard
UNION ALL SELECT jsonb_agg(jsonb_build_array(family)) FROM shardid_lease.lease_window
SQL
my $rows = on('subscriber', $own);
on('publisher', 'CREATE PUBLICATION all_tables FOR ALL TABLES');
# On one server a subscription cannot create its slot.
on('publisher', q(SELECT pg_create_logical_replication_slot('all_tables', 'pgoutput')));
on('subscriber', "CREATE SUBSCRIPTION all_tables CONNECTION '" . ($node->connstr('publisher') =~ s/'/''/gr) . "' PUBLICATION all_tables WITH (create_slot = false)");

sub arrive
{
	my ($what, $count) = @_;
	ok($node->poll_query_until('subscriber', "SELECT count(*) = $count FROM orders"), "$what: the orders arrive");
	is(on('subscriber', $own), $rows, "what the extension has on the subscriber is the subscriber's own");
	return;
}
$node->poll_query_until('subscriber', q(SELECT count(*) > 4 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel)) or die 'the first copy does not end';
arrive('first copy', 2);

# All kinds of changes, of rows whose key the subscriber has, and of other rows.
on('publisher', <<'SQL');
CREATE SEQUENCE more;
SELECT shardid_lease.lease_shard('ids', 'here', generator => 'more', shard => 5);
SELECT shardid_lease.evict_shard('ids', 5);
SELECT shardid_lease.drop_id_space('of_publisher');
SELECT shardid_lease.registry_was_restored();
SELECT shardid_lease.renew_leases();
DROP SEQUENCE more;
INSERT INTO orders VALUES (DEFAULT);
SQL
arrive('changes', 3);
# The times of its window that are left are skipped.
on('subscriber', 'SELECT raise_generator(generator, id_lower_bound(until)) FROM shardid_lease.shard_leases');
is(on('subscriber', 'INSERT INTO orders VALUES (DEFAULT) RETURNING id_shard(id)'), 5, 'it has its lease renewed');
unlike(slurp_file($node->logfile), qr/ERROR: .*(duplicate key|shardid_lease)/, 'no worker has failed');

on('subscriber', 'ALTER SUBSCRIPTION all_tables DISABLE; ALTER SUBSCRIPTION all_tables SET (slot_name = NONE)');
on('subscriber', 'DROP SUBSCRIPTION all_tables');
$node->stop;
done_testing();
