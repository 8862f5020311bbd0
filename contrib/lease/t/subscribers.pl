# A publication FOR ALL TABLES of a member, a registry, or both: a subscriber that is one itself receives the rows of
# all tables except the extension's, which stay its own, in the initial copy and later.
use Leases;
use ShardidTest;

# Each server has a registry and a member in one database.
my %shard_of = (publisher => 3, subscriber => 5);
my %node;
for my $name (sort keys %shard_of)
{
	$node{$name} = new_node($name, "autovacuum = off\nwal_level = logical\n", allows_streaming => 'logical');
	$node{$name}->safe_psql('postgres', registry_here() . <<SQL);
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
SELECT shardid_lease.create_id_space('of_$name');
SELECT shardid_lease.lease_shard('ids', 'here', shard => $shard_of{$name});
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id());
INSERT INTO orders VALUES (DEFAULT);
SQL
}
sub on { return $node{ $_[0] }->safe_psql('postgres', $_[1]) }

my $own = <<'SQL';
SELECT jsonb_agg(to_jsonb(l) ORDER BY to_jsonb(l)) FROM shardid_lease.leased_generator l
UNION ALL SELECT jsonb_agg(to_jsonb(s) ORDER BY to_jsonb(s)) FROM shardid_lease.id_space s
UNION ALL SELECT jsonb_agg(jsonb_build_array(space, shard, origin) ORDER BY shard) FROM shardid_lease.granted_shard
UNION ALL SELECT jsonb_agg(jsonb_build_array(family)) FROM shardid_lease.lease_window
SQL
my $rows = on('subscriber', $own);
on('publisher', 'CREATE PUBLICATION all_tables FOR ALL TABLES');
on('subscriber', "CREATE SUBSCRIPTION all_tables CONNECTION 'host=@{[ $node{publisher}->host ]} port=@{[ $node{publisher}->port ]} dbname=postgres' PUBLICATION all_tables");

sub orders_arrive
{
	my ($what) = @_;
	my $count = on('publisher', 'SELECT count(*) FROM orders');
	ok($node{subscriber}->poll_query_until('postgres', "SELECT count(*) = $count + 1 FROM orders"), "$what: the orders arrive");
	return;
}
ok($node{subscriber}->poll_query_until('postgres', q(SELECT count(*) > 4 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel)),
	'the first copy of all tables comes to its end')
	or die "none of the rows to come would arrive\n";
orders_arrive('first copy');
is(on('subscriber', $own), $rows, "what the extension has on the subscriber is the subscriber's own");

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
orders_arrive('changes');
is(on('subscriber', $own), $rows, 'nor is it changed, removed or added to');
my $before = on('subscriber', 'SELECT max(id) FROM orders WHERE id_shard(id) = 5');
# The times of its window that are left are skipped.
on('subscriber', 'SELECT raise_generator(generator, id_lower_bound(until)) FROM shardid_lease.shard_leases');
cmp_ok(on('subscriber', 'INSERT INTO orders VALUES (DEFAULT) RETURNING id'), '>', $before, "the subscriber's ids go on");
is(on('subscriber', 'SELECT id_shard(next_id())'), 5, 'with its shard');
is(on('subscriber', q(SELECT string_agg(space || ' ' || shard || ' ' || state, ', ') FROM shardid_lease.granted_shard)), 'ids 5 held', 'its registry has granted what it has');
unlike(slurp_file($node{subscriber}->logfile), qr/ERROR: .*(duplicate key|shardid_lease)/, 'no worker has failed');

on('subscriber', 'DROP SUBSCRIPTION all_tables');
$_->stop for values %node;
done_testing();
