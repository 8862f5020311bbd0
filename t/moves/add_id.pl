# The first part of docs/migrating.md, block by block: a table without ids gets them in batches while sessions insert,
# update and delete, by the extension and by the SQL-only version; the fill is ended in the middle and run again. Each row
# gets one id, old rows in their order and with their times; the undo leaves the table as it was.
use AddId;
use Docs;
use ShardidTest;

start_shop('add_id');
my $rows = rounds(10_000, 1_000_000);

for my $version ('extension', 'sql_only')
{
	create_orders($rows);
	install($version);
	is(on('SELECT ids.id_shard(ids.new_id())', 'app'), 5, "$version: the application can generate ids of the shard");

	# Sessions of the application, from before step 2 to the end.
	my $clients = start_clients($node->connstr . ' user=app', 2, [
		q(INSERT INTO orders (order_no, item) VALUES ('new ' || nextval('app_orders'), 'desk') RETURNING 1),
		q(UPDATE orders SET item = item || '!' WHERE order_no = 'old ' || 1 + floor(random() * 10000)::int RETURNING 1),
		q(DELETE FROM orders WHERE order_no = 'old ' || 1 + floor(random() * 10000)::int RETURNING 1) ],
		dbname => 'shop', pause_ms => 5);
	usleep 300_000;
	my $first = on(block('free-ids'));
	on(block('add-id-column'));
	on(block('add-id-order'));
	on(block('add-id-procedure'));
	on(block('add-id-trigger'));

	# The first run is ended in the middle.
	my $fill = block('add-id-fill');
	my $slow = $fill =~ s/5000, 0.05/1000, 0.2/r;
	isnt($slow, $fill, "$version: a slower fill");
	my $filler = run_in_background('shop_owner', $slow);
	$node->poll_query_until('shop', 'SELECT count(*) >= 3000 FROM orders WHERE ids.id_shard(id) = 4101') or die 'nothing is filled';
	isnt(terminate('CALL ids.fill_orders%', $filler), 0, "$version: the fill is ended in the middle");
	cmp_ok(on('SELECT count(*) FROM orders WHERE id IS NULL'), '>', 0, "$version: some rows have no id yet");
	# Step 5 in the same session, as the page says.
	on($fill . block('add-id-unique'));
	is(on('SELECT count(*) FROM orders WHERE id IS NULL'), 0, "$version: the fill run again gives ids to the rest");
	finish_clients($clients, 1);

	# Rows that the fill skips: without a time, or whose time was set back, here to one that filled rows have.
	as_superuser(<<"SQL");
UPDATE orders SET id = NULL, created_at = '2024-01-01 00:00:05.123456+00' WHERE order_no IN ('bulk 1', 'bulk 2', 'ancient 1');
INSERT INTO orders (order_no, created_at) SELECT 'timeless ' || n, NULL FROM generate_series(1, 2000) n;
UPDATE orders SET id = NULL WHERE order_no LIKE 'timeless%';
SQL
	my $not_null = block('add-id-not-null');
	my ($refuse) = $not_null =~ /^(ALTER TABLE orders DROP CONSTRAINT IF EXISTS.*?;\n)/ms or die;
	on($refuse);
	is(sqlstate_of(q(UPDATE orders SET item = 'desk' WHERE order_no = 'bulk 1')), '23514', "$version: a row without an id cannot be changed");
	on($not_null);
	is(on(q(SELECT count(*) FROM orders WHERE id IS NULL OR order_no LIKE 'bulk%' AND abs(extract(epoch FROM ids.id_timestamp(id) - created_at)) > 0.01)),
		0, "$version: step 6 gives ids to rows that the fill skipped, with their times");
	is(on(q(SELECT count(*), count(DISTINCT id) FROM orders WHERE order_no LIKE 'timeless%' AND ids.id_timestamp(id) < '2011-08-24 21:07:03+00' AND ids.id_shard(id) = 4101)),
		'2000|2000', "$version: rows without a time get the lowest ids");
	on(q(DELETE FROM orders WHERE order_no LIKE 'timeless%'; UPDATE orders SET created_at = '2001-01-01 00:00:00+00' WHERE order_no = 'ancient 1'));
	on(block('add-id-primary-key')) if $version eq 'sql_only';
	is(on(q(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p')),
		$version eq 'sql_only' ? 'PRIMARY KEY (id)' : 'PRIMARY KEY (order_no)', "$version: the primary key");

	my ($count, $different, $other) = split /\|/, on(block('add-id-check'));
	is($count, $different, "$version: each of $count rows has an id of its own");
	is($other, 3, "$version: only times that no id can carry differ");
	on(block('add-id-clean-up'));
	is( on(q(SELECT string_agg(DISTINCT ids.id_shard(id)::text || split_part(order_no, ' ', 1), ' ') FROM orders WHERE order_no NOT LIKE 'new%' AND ids.id_shard(id) <> 4101)),
		'', "$version: old rows have 4101 in place of the shard");
	is( on(q(SELECT count(*) FROM orders WHERE order_no LIKE 'old%' AND ids.id_timestamp(id) <> date_trunc('milliseconds', created_at) AND created_at > '2024-01-01 00:00:06+00')),
		0, "$version: old rows have their own millisecond");
	is(on(q(SELECT string_agg(DISTINCT ids.id_shard(id)::text, ' ') FROM orders WHERE order_no LIKE 'new%' AND created_at > (SELECT created_at FROM orders WHERE ids.id_shard(id) = 5 ORDER BY id LIMIT 1))),
		'5', "$version: new rows have generated ids of shard 5");
	is(on(q(SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY created_at, order_no) AS before FROM orders WHERE ids.id_shard(id) = 4101 AND order_no NOT IN ('bulk 1', 'bulk 2', 'ancient 1')) s WHERE id <= before)),
		0, "$version: ids are in the order of the rows");
	is(on(q(SELECT max(n) FROM (SELECT count(*) AS n FROM orders WHERE ids.id_shard(id) = 4101 GROUP BY id >> 23) s)), 1024,
		"$version: a millisecond has at most 1024");
	# What the page says of free ids: those of the generator's shard, with each sequence number before its first id.
	is(on(<<"SQL"), "t|0", "$version: ids before the generator's first one are free");
SELECT min(id) FILTER (WHERE ids.id_shard(id) = 5) >= ids.id_lower_bound('$first'),
       count(*) FILTER (WHERE id IN (SELECT ids.id_from_parts('$first'::timestamptz - interval '1 ms' * n, 5, sequence)
                                     FROM generate_series(1, 3) n, generate_series(0, 1023) sequence))
FROM orders
SQL
	# A database without a shard number.
	on($version eq 'extension' ? 'SELECT ids.id_shard(0); ALTER DATABASE shop RESET shardid.shard_id' : 'DELETE FROM ids.this_database');
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('without a number')), 'app'), $version eq 'extension' ? '55000' : '23502',
		"$version: no id without a shard number");

	# The way back.
	my $undo = block('add-id-undo');
	my $old_key = command_of('migrating.md', ', ADD CONSTRAINT orders_pkey');
	$undo =~ s/DROP COLUMN id\K/$old_key/ if $version eq 'sql_only';
	on($undo);
	on(command_of('migrating.md', 'DROP INDEX CONCURRENTLY IF EXISTS orders_order_no_kept')) if $version eq 'extension';
	is(on(q(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p')),
		'PRIMARY KEY (order_no)', "$version: undone, the primary key is as before");
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('undone')), 'app'), 'none', "$version: undone, rows can be inserted");
	is(on(block('users-of-ids')), '', "$version: undone, nothing uses the functions");

	on('DROP SCHEMA ids CASCADE');
	note_fault("a table of $count rows gets ids ($version)", 1, $count, $count - $different);
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

$node->stop;
done_testing();
