# docs/migrating.md and docs/uuid.md: ids of pgEdge's snowflake, and UUIDs of version 1, of which ids are made, continue with
# those of next_id, above the old ones although the clock is set back, and after a dump and a restore where the clock is an
# hour behind.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Docs;
use Test::More;
use Migrating;

start_original();

# --- pgEdge's snowflake: ids that it published, and others made the same way, whose last one is the
# value of the sequence. MAXVALUE is what it leaves behind before 2.5.0.

my %of_snowflake = (epoch => '2023-01-01 00:00:00+00', shard_bits => 10, sequence_bits => 12);
my $arguments = "'2023-01-01 00:00:00+00', 10, 12";
for my $order ('counter_above_node', 'node_above_counter')
{
	new_database("pgedge_$order");
	my $low_bits = $order eq 'node_above_counter' ? '5 << 12 | n % 4096' : '(n % 4096) << 10 | 5';
	on(<<"SQL");
CREATE SEQUENCE orders_id_seq;
CREATE TABLE orders (id bigint PRIMARY KEY, customer text);
INSERT INTO orders VALUES (136169504773242881), (135824181823537153), (135824609030176769);
INSERT INTO orders
SELECT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1672531200000) << 22 | ($low_bits)
FROM generate_series(1, 1000) n;
SELECT setval('orders_id_seq', max(id)) FROM orders;
SQL
	is( on("SELECT id_timestamp(id, $arguments) AT TIME ZONE 'UTC' FROM orders WHERE id = 136169504773242881"),
		'2024-01-11 18:08:59.845', "$database: the published time of a published id");
	is( on('SELECT id_sequence(id, 10), id_shard(id, 12, 10) FROM orders WHERE id = 136169504773242881'),
		'1|0', "$database: and its node and counter, in the older order");
	is( on($order eq 'node_above_counter'
			? 'SELECT DISTINCT id_shard(id, 10, 12), max(id_sequence(id, 12)) OVER () FROM orders WHERE customer IS NULL AND id > 140000000000000000'
			: 'SELECT DISTINCT id_sequence(id, 10), max(id_shard(id, 12, 10)) OVER () FROM orders WHERE customer IS NULL AND id > 140000000000000000'),
		'5|1000', "$database: nodes and counters of the others");
	like(answer('orders', 'orders_id_seq', %of_snowflake), qr/^no: .* ahead/, "$database: before");
	like(fails("SELECT next_id(5, 'orders_id_seq', $arguments)"), qr/^ERROR:  generator "public.orders_id_seq" is too far ahead/m,
		"$database: its sequence is refused as it is");
	on('CREATE SEQUENCE another');
	is(answer('orders', 'another'), 'yes, if the clock is right', "$database: the default layout is above as well");
	is(next_is_above('orders', "next_id(5, 'another')"), 't', "$database: and so it is");
	clock('-10s');
	is(answer('orders', 'another', %of_snowflake), 'no', "$database: the clock behind, and a sequence that knows nothing: no");
	on(block('pgedge-switch'));
	is(answer('orders', 'orders_id_seq', %of_snowflake), 'yes', "$database: after");
	is( on("INSERT INTO orders (customer) VALUES ('new') RETURNING id > ALL (SELECT id FROM orders), id_shard(id, 10, 12)"),
		't|5', "$database: a new id is above, of the same node");
	is( on("SELECT bool_and(id_timestamp(id, $arguments) BETWEEN '2024-01-10' AND now() + interval '1 hour') FROM orders"),
		't', "$database: old and new tell their time by the same call");
	goes_on_restored('orders', q(INSERT INTO orders (customer) VALUES ('x') RETURNING id), 5, %of_snowflake);
}

# --- UUIDs of version 1, by uuid-ossp.

sub create_documents
{
	my ($name) = @_;
	new_database($name);
	return on(<<'SQL');
CREATE EXTENSION "uuid-ossp";
CREATE TABLE documents (uuid uuid PRIMARY KEY DEFAULT uuid_generate_v1(), n serial);
CREATE TABLE pages (document uuid REFERENCES documents, document_id bigint);
INSERT INTO documents SELECT FROM generate_series(1, 2000);
INSERT INTO pages SELECT uuid FROM documents;
SQL
}
create_documents('uuid_v1');
on(block('uuid-keep'));
like(
	on(q(SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT * FROM documents WHERE uuid_v1_timestamp(uuid) >= now())),
	qr/documents_uuid_v1_timestamp_idx.*Index Cond: \(uuid_v1_timestamp\(uuid\) >= now\(\)\)/s,
	'uuid: kept, and found by time on an index');
is( on(<<'SQL'), '100|t', 'uuid: new ones are made here, of another node');
GRANT INSERT, SELECT ON documents TO app;
GRANT USAGE ON SEQUENCE documents_n_seq TO app;
GRANT USAGE ON SCHEMA ids TO app; -- for this test
SET ROLE app;
WITH made AS (INSERT INTO documents SELECT FROM generate_series(1, 100) RETURNING uuid)
SELECT count(DISTINCT made.uuid), bool_and(uuid_v1_node(made.uuid) <> uuid_v1_node(old.uuid))
FROM made, (SELECT uuid FROM documents LIMIT 1) old;
SQL
on('DELETE FROM documents WHERE n > 2000');

# Those of the first part of the page, for this table.
sub for_documents { return $_[0] =~ s/\borders\b/documents/gr =~ s/order_no/uuid/gr }
on('INSERT INTO documents VALUES (gen_random_uuid())');
on(block('uuid-time'));
is(on(for_documents(command_of('migrating.md', 'SELECT count(*), count(*) - count(created_at)'))) =~ s/^(\d+\|\d+)\|.*/$1/r, '2001|1', 'uuid: one of another version has no time');
on('DELETE FROM documents WHERE created_at IS NULL');
on(for_documents(block("add-id-$_"))) for qw(column order procedure fill unique not-null clean-up);
is( on(q(SELECT count(*), count(DISTINCT id), bool_and(id_timestamp(id) = date_trunc('milliseconds', uuid_v1_timestamp(uuid))), min(id_shard(id)), max(id_shard(id)) FROM documents)),
	'2000|2000|t|4101|4101', 'uuid: each has an id of its time and of shard 4101');
is( on('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY uuid_v1_timestamp(uuid), uuid) AS previous FROM documents) s WHERE id <= previous'),
	0, 'uuid: in the order of their times');
cmp_ok(on('SELECT max(id_sequence(id)) FROM documents'), '>', 0, 'uuid: several of them in a millisecond');
is(on('INSERT INTO documents DEFAULT VALUES RETURNING id > ALL (SELECT id FROM documents), id_shard(id), created_at = now()'), 't|5|t', 'uuid: new rows get ids above them');
goes_on_restored('documents', 'INSERT INTO documents DEFAULT VALUES RETURNING id', 5);

stop_servers();
done_testing();
