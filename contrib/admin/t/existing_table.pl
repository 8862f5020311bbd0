# "A table that exists" of contrib/admin/README.md, while sessions insert orders and their items: none of them fails, and
# all rows are there, in the old table; later ids go to the partitions of their months.
use Docs;
use ShardidTest;

my $page = 'contrib/admin/README.md';
my $node = new_node('existing_table', "shardid.shard_id = 5\n", allows_streaming => 'logical');
sub query { return $node->safe_psql('shop', $_[0]) }
$node->safe_psql('postgres', 'CREATE DATABASE shop');
query(<<'SQL');
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_admin;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT ids.next_id(), item text);
CREATE TABLE log (order_id bigint);
CREATE FUNCTION log_order() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (NEW.id); RETURN NULL; END';
CREATE TRIGGER log_orders AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION log_order();
CREATE TABLE items (id bigint PRIMARY KEY DEFAULT ids.next_id(), order_id bigint NOT NULL REFERENCES orders);
INSERT INTO orders SELECT FROM generate_series(1, 1000);
CREATE PUBLICATION shop FOR TABLE orders;
SELECT pg_create_logical_replication_slot('shop', 'pgoutput');
SQL
$node->safe_psql('postgres', 'CREATE DATABASE warehouse');
$node->safe_psql('warehouse', 'CREATE TABLE orders (id bigint PRIMARY KEY, item text); CREATE SUBSCRIPTION shop CONNECTION $$'
	  . $node->connstr('shop') . '$$ PUBLICATION shop WITH (create_slot = false, copy_data = false)');
# The start of the month after the next one, in place of the page's.
my $bound = query("SELECT date_trunc('month', now() + interval '2 months', 'UTC')");
my $publish = command_of($page, 'ALTER PUBLICATION shop ADD');
sub block { return block_of($page, $_[0]) =~ s/2027-01-01 00:00\+00/$bound/gr =~ s/(?=ALTER TABLE items ADD)/$_[0] eq 'partition-switch' ? "$publish;\n" : ''/er }
sub command { return command_of($page, $_[0]) }

my $script = $node->basedir . '/load.sql';
append_to_file($script, <<'SQL');
BEGIN;
INSERT INTO orders (item) VALUES ('lamp') RETURNING id \gset
INSERT INTO items (order_id) VALUES (:id);
COMMIT;
SQL
my ($output, $errors) = ('', '');
my $load = IPC::Run::start([ 'pgbench', '-n', '-c', 4, '-T', 6000, '-f', $script, $node->connstr('shop') ], '>', \$output, '2>', \$errors);
sub await_orders { my $before = query('SELECT count(*) FROM orders'); $node->poll_query_until('shop', "SELECT count(*) > $before + 100 FROM orders") or die 'no orders' }

# Runs a block until it gets its locks.
sub locked
{
	my ($name) = @_;
	my ($status, undef, $error);
	do { ($status, undef, $error) = $node->psql('shop', block($name)) } while ($status && $error =~ /lock timeout/);
	is($error, '', $name);
	return;
}

await_orders();
locked('partition-bound');
query(command('ALTER TABLE orders VALIDATE'));
query(command('ALTER PUBLICATION shop SET'));
await_orders();
locked('partition-switch');
query("CALL shardid_admin.maintain_id_partitions('orders', '1 month')");
query(command('ALTER TABLE items VALIDATE'));
await_orders();
is(query('SELECT count(*) FROM ONLY orders'), 0, 'orders is partitioned');
is(query('SELECT count(*) FROM orders_before_2027') + 0 > 1000, 1, 'and its rows are in the old table');
locked('partition-back');
query('ALTER PUBLICATION shop DROP TABLE orders_new');
await_orders();
locked('partition-switch');
query(command('ALTER TABLE items VALIDATE'));
await_orders();
$load->signal('TERM');
$load->finish;

unlike($errors, qr/ERROR|aborted/, 'no session failed') or diag($errors);
is(query('SELECT count(*) FROM orders_before_2027'), query('SELECT count(*) FROM orders'), 'all rows are in the old table');
is(query('SELECT count(*) FROM items'), query('SELECT count(*) - 1000 FROM orders'), 'each order has its item');
is(query('SELECT convalidated FROM pg_constraint WHERE conname = \'items_order_id_fkey\''), 't', 'the foreign key is valid');
is(query('SELECT count(*) FROM (SELECT order_id FROM log EXCEPT SELECT id FROM orders) l'), 0, 'the trigger has seen orders only');
is(query('SELECT count(*) FROM log'), query('SELECT count(*) FROM orders'), 'each of them once');
$node->wait_for_catchup('shop');
is($node->safe_psql('warehouse', 'SELECT count(*) FROM orders'), query('SELECT count(*) - 1000 FROM orders'), 'a subscriber has all rows');
isnt(query("INSERT INTO orders (id) VALUES (ids.id_lower_bound('$bound')) RETURNING tableoid::regclass"), 'orders_before_2027',
	'a later id has a partition of its own');
is(query("SELECT count(*) FROM orders_before_2027 WHERE id >= ids.id_lower_bound('$bound')"), 0, 'and is not in the old table');

$node->stop;
done_testing();
