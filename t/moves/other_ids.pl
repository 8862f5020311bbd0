# docs/migrating.md and docs/migrating-ids.md: tables with ids of Instagram's function (the recipe), also under load, of
# pgEdge's snowflake, with UUIDs of version 1, of which ids are made, and with a bigserial continue with ids of next_id,
# above the old ones although the clock is set back.
use Docs;
use Migrating;
use ShardidTest;

start_original();

# --- The recipe, under load: each client's ids after the switch are above all before it.

# Until each of four clients was told that many ids more; the files come a moment after the clients.
sub await_more
{
	my ($clients, $more) = @_;
	my $counts = sub { return map { scalar @$_ } map { @{ read_told($_) } } @$clients };
	await_event('four clients', sub { return 4 == (() = $counts->()) });
	my @enough = map { $_ + $more } $counts->();
	return await_event('the clients are told more', sub { my @counts = $counts->(); return !grep { $counts[$_] < $enough[$_] } 0 .. 3 });
}

new_database('recipe');
create_recipe_of_page();
on($insert_photo) for 1 .. 3;
# The recipe itself may repeat an id under load.
my @clients = (
	start_clients($original, 2, $insert_photo =~ s/(?= RETURNING)/ ON CONFLICT DO NOTHING/r, dbname => $database),
	start_clients($original, 2, 'SELECT insta5.next_id()', dbname => $database));
await_more(\@clients, 200);
clock('-10s');
await_more(\@clients, 20);
my ($first_new) = on(recipe_switch()) =~ /^insta5\|\d*\|(\d+)$/m;
# More than 200: the clients' files are behind by a buffer, so ids from before the switch may be counted.
await_more(\@clients, 400);
finish_clients($_, 1) for @clients;
my (@before, @after);
for my $told (map { @{ read_told($_) } } @clients)
{
	my $old = 0;
	$old++ while $old < @$told && $told->[$old] < $first_new;
	push @before, $old;
	push @after, [ @$told[ $old .. $#$told ] ];
}
is(scalar(grep { $_ < 200 } @before, map { scalar @$_ } @after), 0, "$database: each client drew before and after");
is(scalar(grep { $_ < $first_new } map { @$_ } @after), 0, 'after its first new id none is told an old one');
is_innocent(judge(\@after, lead_ms => -1), "$database: switch under load, clock 10 s back", 1);
is(on('SELECT count(DISTINCT id_shard(id)), min(id_shard(id)) FROM insta5.photos'), '1|5', 'all of one shard');

# --- A transaction uses the tables in the other order: the switch gives way, before PostgreSQL looks for a deadlock.

new_database('other_order');
create_recipe_of_page();
on($insert_photo);
my $locks = () = recipe_switch() =~ /^(?:LOCK|ALTER SEQUENCE)|, insta5/mg;
my ($timeout_ms) = recipe_switch() =~ /lock_timeout = '(\d+)ms'/;
is($locks, 3, 'two tables and a sequence are locked');
cmp_ok($locks * $timeout_ms, '<', on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout')), 'and waited for less than deadlock_timeout');
my $application = open_session($original->connstr($database));
ask_safe($application, "SET deadlock_timeout = '1h'; BEGIN; INSERT INTO insta5.likes (photo) VALUES (NULL);");
my $said = '';
my $switch = IPC::Run::start([ qw(psql -qX -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate -d), $original->connstr($database) ],
	'<', \"SET deadlock_timeout = '1h';\n@{[ recipe_switch() ]}", '>', '/dev/null', '2>', \$said);
my $holds = q(SELECT count(*) FROM pg_locks
	WHERE relation = 'insta5.photos'::regclass AND mode = 'AccessExclusiveLock' AND granted);
await_event('the switch has a lock, or has failed', sub { $switch->pump_nb; return on($holds) || !$switch->pumpable });
ask_safe($application, "$insert_photo; COMMIT;");
$switch->finish;
like($said, qr/ERROR:  55P03/, 'other_order: the switch fails');
is(on('SELECT count(*) FROM insta5.likes'), 1, 'other_order: the application does not');
close_session($application);

# --- pgEdge's snowflake: ids that it published, and others made the same way, whose last one is the
# value of the sequence. MAXVALUE is what it leaves behind before 2.5.0.

my $arguments = "'2023-01-01 00:00:00+00', 10, 12";
{
	new_database('pgedge');
	on(<<"SQL");
CREATE SEQUENCE orders_id_seq;
CREATE TABLE orders (id bigint PRIMARY KEY, customer text);
ALTER SEQUENCE orders_id_seq OWNED BY orders.id;
INSERT INTO orders VALUES (136169504773242881), (135824181823537153), (135824609030176769);
INSERT INTO orders
SELECT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1672531200000) << 22 | (5 << 12 | n % 4096)
FROM generate_series(1, 1000) n;
SELECT setval('orders_id_seq', max(id)) FROM orders;
SQL
	is( on("SELECT id_timestamp(id, $arguments) AT TIME ZONE 'UTC' FROM orders WHERE id = 136169504773242881"),
		'2024-01-11 18:08:59.845', "$database: the published time of a published id");
	like(fails("SELECT next_id(5, 'orders_id_seq', $arguments)"), qr/^ERROR:  generator "public.*" is too far ahead/m,
		"$database: its sequence is refused as it is");
	clock('-10s');
	on(block('pgedge-switch'));
	is(on(q(SELECT pg_get_serial_sequence('orders', 'id'))), '', "$database: the column does not own the generator");
	is( on("INSERT INTO orders (customer) VALUES ('new')
			RETURNING id > ALL (SELECT id FROM orders), id_shard(id, 10, 12)"),
		't|5', "$database: a new id is above, of the same node");
	is( on("SELECT bool_and(id_timestamp(id, $arguments) BETWEEN '2024-01-10' AND now() + interval '1 hour') FROM orders"),
		't', "$database: old and new tell their time by the same call");
}

# --- pgactive: ids as its function shifts them, and the same block with the layout that the page names.

clock('+0s');
{
	my ($epoch, $bits) = slurp_file('docs/migrating-ids.md') =~ /^## From pgactive\n.*?'(\d{4}-[^']+)'.*?\band\s+(\d+) of sequence/ms;
	$arguments = "'$epoch', 10, $bits";
	new_database('pgactive');
	on(<<'SQL');
CREATE SEQUENCE orders_id_seq;
CREATE TABLE orders (id bigint PRIMARY KEY, customer text);
ALTER SEQUENCE orders_id_seq OWNED BY orders.id;
INSERT INTO orders
SELECT (((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 946684800000 - 529111339634) << 24) | (5 << 14) | (nextval('orders_id_seq') % 16383)
FROM generate_series(1, 1000);
SQL
	on(block('pgedge-switch') =~ s/2023-01-01 00:00:00\+00/$epoch/gr =~ s/sequence_bits => 12/sequence_bits => $bits/r =~ s/10, 12\)/10, $bits)/gr);
	is( on("INSERT INTO orders (customer) VALUES ('new')
			RETURNING id > ALL (SELECT id FROM orders), id_shard(id, 10, $bits)"),
		't|5', "$database: a new id is above, of the same node");
	is( on("SELECT bool_and(id_timestamp(id, $arguments) BETWEEN now() - interval '1 hour' AND now() + interval '1 hour') FROM orders"),
		't', "$database: old and new tell their time by the same call");
}

# --- UUIDs of version 1, by uuid-ossp.

new_database('uuid_v1');
on(<<'SQL');
CREATE EXTENSION "uuid-ossp";
CREATE TABLE documents (uuid uuid PRIMARY KEY DEFAULT uuid_generate_v1(), n serial);
INSERT INTO documents SELECT FROM generate_series(1, 2000);
CREATE INDEX ON documents (id_timestamp(n));
SQL
on(block('uuid-keep'));
on('ALTER TABLE documents ENABLE ROW LEVEL SECURITY; CREATE POLICY most ON documents USING (n > 1); GRANT SELECT ON documents TO app; GRANT USAGE ON SCHEMA ids TO app');
my @plans = map { on("SET ROLE app; SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT * FROM documents WHERE $_") } 'uuid_v1_timestamp(uuid) >= now()',
  'id_timestamp(n) >= now()';
like($plans[0], qr/documents_uuid_v1_timestamp_idx.*Index Cond: \(uuid_v1_timestamp\(uuid\) >= now\(\)\)/s,
	'uuid: kept, and found by time on an index, also under row security');
like($plans[1], qr/^Seq Scan/, 'but no function that can fail has its index used there');
on('ALTER TABLE documents DISABLE ROW LEVEL SECURITY');
on('INSERT INTO documents VALUES (gen_random_uuid())');
on(block('uuid-time'));
on('DELETE FROM documents WHERE created_at IS NULL');
on(block($_) =~ s/orders/documents/gr =~ s/order_no/uuid/gr) for 'add-id', 'add-id-fill', 'add-id-end';
is( on(<<'SQL'), '2000|2000|t|4101|4101', 'uuid: each has an id of its time and of shard 4101');
SELECT count(*), count(DISTINCT id), bool_and(id_timestamp(id) = date_trunc('milliseconds', uuid_v1_timestamp(uuid))),
       min(id_shard(id)), max(id_shard(id)) FROM documents
SQL
is( on(<<'SQL'), 0, 'uuid: in the order of their times');
SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY uuid_v1_timestamp(uuid), uuid) AS previous FROM documents) s
WHERE id <= previous
SQL
is(on('INSERT INTO documents DEFAULT VALUES RETURNING id > ALL (SELECT id FROM documents), id_shard(id)'), 't|5',
	'uuid: new rows get ids above them');

# --- A column with a sequence of its own, and back: contrib/admin/t/whole_schema.pl has all kinds, under load.

new_database('bigserial');
on(<<'SQL');
CREATE TABLE items (id bigserial PRIMARY KEY, name text);
CREATE TABLE others (id bigserial);
INSERT INTO items (name) SELECT 'item' FROM generate_series(1, 1000);
SQL
clock('-10s');
my ($but_column) = command_of('migrating.md', 'WHERE command') =~ s/invoices/numbered/r;
on('CREATE TABLE numbered (id bigserial, no bigserial)');
is(on("SELECT string_agg(DISTINCT substring(command FROM 'public\\.numbered ALTER COLUMN (\\w+)'), ' ') FROM shardid_admin.id_migration_commands('public') command $but_column"),
	'id', 'bigserial: one column of a table is left out');
on('DROP TABLE numbered');
my ($only) = block('schema-switch-sql-only') =~ s/invoices/others/r =~ /(WHERE command .*?) \\gexec/ or die;
on(q(CREATE TABLE orders (id serial PRIMARY KEY); INSERT INTO orders DEFAULT VALUES;
CREATE TABLE order_lines (id serial, order_id int REFERENCES orders); INSERT INTO order_lines (order_id) VALUES (1)));
my $bigint = block('schema-bigint') =~ s/items/order_lines/gr;
on($bigint);
on($bigint =~ s/TYPE bigint/TYPE integer/gr);
is(on(q(SELECT pg_typeof(id) FROM orders)), 'integer', 'bigserial: until the switch columns can be changed back');
like(fails("PREPARE new AS INSERT INTO orders DEFAULT VALUES RETURNING id;\n${bigint}EXECUTE new;"), qr/cached plan must not change result type/,
	'bigserial: prepared statements that return changed columns fail');
is(on(q(SELECT pg_typeof(orders.id), pg_typeof(order_id) FROM orders JOIN order_lines ON order_id = orders.id)), 'bigint|bigint', 'bigserial: columns of 32 bits are changed');
on(block('schema-switch') =~ s/ command \K(?=\\gexec)/$only /r);
is(on('INSERT INTO others DEFAULT VALUES RETURNING id'), 1, 'bigserial: the other table has not switched');
my $gone = on(q(INSERT INTO items (name) VALUES ('gone') RETURNING id));
cmp_ok($gone, '>', 2**58, 'bigserial: new ids are above 2^58');
on("DELETE FROM items WHERE id = $gone");
on(block('way-back'));
is(on(q(INSERT INTO items (name) VALUES ('back') RETURNING id = currval('items_ids'))), 't', 'bigserial: and back');
cmp_ok(on(q(SELECT currval('items_ids') FROM nextval('items_ids'))), '>', $gone, 'bigserial: above a deleted id');
is(on(q(SELECT pg_get_serial_sequence('items', 'id'))), 'public.items_ids', 'bigserial: of the sequences only that is the column\'s own');

$original->stop;
done_testing();
