# "Add an id column" of docs/migrating.md: a table without ids gets them in batches while sessions insert, update and
# delete, by the extension and by the SQL-only version. Each row gets one id, old rows in their order and with their
# times. The fill waits for no row, and goes on where it was interrupted. The undo leaves the table as it was.
use AddId;
use Docs;
use ShardidTest;

start_shop('add_id');
my $rows = rounds(3_000, 1_000_000);
my $any_old = "order_no = 'old ' || 1 + floor(random() * $rows)::int";

sub of_key { return on(q(SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'orders'::regclass)) }

# The fill, in smaller batches than those of the page.
my $fill_ids = block('add-id-fill') =~ s/5000, 0\.05/rounds(100, 5000) . ', 0.005'/er;

# Times that several rows share, one of them 3,000 rows, as after a bulk load; some before any id's time, one in the future.
sub create_orders
{
	$node->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
	as_superuser('GRANT CREATE ON SCHEMA public TO shop_owner');
	on(<<"SQL");
CREATE TABLE orders (order_no text PRIMARY KEY, created_at timestamptz DEFAULT now(), item text, changes int DEFAULT 0);
INSERT INTO orders
SELECT 'old ' || n, '2024-01-01 00:00:00+00'::timestamptz + (n::bigint * 7919 % 1000003) * interval '1.7 ms', 'lamp' FROM generate_series(1, $rows) n;
INSERT INTO orders SELECT 'bulk ' || n, '2024-01-01 00:00:05.123456+00', 'lamp' FROM generate_series(1, 3000) n;
INSERT INTO orders SELECT 'timeless ' || n, NULL FROM generate_series(1, 2000) n;
INSERT INTO orders VALUES ('ancient 1', '2001-01-01 00:00:00+00', 'lamp'), ('ancient 2', '2001-01-02 00:00:00+00', 'lamp'),
    ('future', now() + interval '10 years', 'lamp');
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.changes := coalesce(NEW.changes, 0) + 1; RETURN NEW; END';
CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch();
GRANT INSERT, SELECT, UPDATE, DELETE ON orders TO app;
CREATE SEQUENCE app_orders;
GRANT USAGE ON SEQUENCE app_orders TO app;
SQL
	return;
}

for my $version ('extension', 'sql_only')
{
	create_orders();
	install($version);
	my $sql_only = $version eq 'sql_only';
	my $new_id = $sql_only ? 'new_id' : 'next_id';
	is(on("SELECT ids.id_shard(ids.$new_id())", 'app'), 5, "$version: the application can generate ids of the shard");
	my $key_before = of_key();

	# Sessions of the application, from before the column to the end.
	my $clients = start_clients($node->connstr . ' user=app', 2, [
		q(INSERT INTO orders (order_no, item) VALUES ('new ' || nextval('app_orders'), 'desk') RETURNING 1),
		"UPDATE orders SET item = item || '!' WHERE $any_old RETURNING 1",
		"DELETE FROM orders WHERE $any_old RETURNING 1" ],
		dbname => 'shop', pause_ms => 5);
	$node->poll_query_until('shop', q(SELECT EXISTS (SELECT FROM orders WHERE order_no LIKE 'new%'))) or die 'the sessions do not begin';
	my $first = on(block_of('migrating-ids.md', 'free-ids') =~ s/next_id/$new_id/r);
	repeated(block('add-id-trigger'));
	repeated(block('add-id') =~ s/next_id/$new_id/r);

	# A transaction of the application holds a row of the fill, which does not wait for it while it holds others: so it can
	# write the rows before. Then the fill is interrupted.
	my $open = open_session($node->connstr('shop'), '-U', 'app');
	ask_safe($open, q(BEGIN; UPDATE orders SET item = 'open' WHERE order_no = 'bulk 2000';));
	my $fill = open_session($node->connstr('shop'), '-U', 'shop_owner');
	send_to($fill, $fill_ids);
	$node->poll_query_until('shop', q(SELECT id IS NOT NULL FROM orders WHERE order_no = 'bulk 1999')) or die 'the fill does not come to the row before';
	ask_safe($open, q(UPDATE orders SET item = 'open' WHERE order_no IN ('bulk 200', 'bulk 1999');));
	is(sqlstate_of($fill_ids =~ s/timeout = \K0/'30s'/r), '55006', "$version: a second fill at the same time is refused");
	is(on(q(SELECT id IS NULL FROM orders WHERE order_no = 'bulk 2000')), 't', "$version: the row that is held has no id");
	as_superuser(q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL pg_temp.fill%' AND pid <> pg_backend_pid()));
	like(answer($fill), qr/canceling statement/, "$version: the fill is interrupted");
	ask_safe($open, 'COMMIT;');
	is(ask_safe($fill, $fill_ids . q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();)), 0, "$version: run again, it comes to its end, and keeps no lock");
	close_session($fill);
	$node->poll_query_until('shop', q(SELECT EXISTS (SELECT FROM orders WHERE ids.id_shard(id) = 5))) or die 'no new row';
	repeated($_) for split /(?<=;)\n/, block('add-id-end');
	finish_clients($clients, 1);

	my ($count, $different) = split /\|/, on('SELECT count(*), count(DISTINCT id) FROM orders');
	is($count, $different, "$version: each of $count rows has an id of its own");
	is(sqlstate_of(q(INSERT INTO orders VALUES ('without', now(), 'lamp', 0, NULL))), '23502', "$version: and none can be without");
	is(on(q(SELECT max(changes) FROM orders WHERE order_no LIKE 'bulk %' AND item <> 'open')), 0, "$version: the trigger ran for no row of the fill");
	is(on(q(SELECT string_agg(order_no, ',' ORDER BY order_no) FROM orders WHERE order_no !~ '^new' AND ids.id_timestamp(id) NOT BETWEEN created_at - interval '1 s' AND created_at + interval '1 s')),
		'ancient 1,ancient 2,future', "$version: of old rows only times that no id can carry differ");
	is(on(q(SELECT count(*), count(DISTINCT id) FROM orders WHERE order_no LIKE 'timeless%' AND ids.id_timestamp(id) < '2011-08-24 21:07:05+00' AND ids.id_shard(id) = 4101)),
		'2000|2000', "$version: rows without a time get the lowest ids");
	is( on(q(SELECT string_agg(DISTINCT ids.id_shard(id)::text || split_part(order_no, ' ', 1), ' ') FROM orders WHERE order_no NOT LIKE 'new%' AND ids.id_shard(id) <> 4101)),
		'', "$version: old rows have 4101 in place of the shard");
	is( on(q(SELECT count(*) FROM orders WHERE order_no LIKE 'old%' AND ids.id_timestamp(id) <> date_trunc('milliseconds', created_at) AND created_at > '2024-01-01 00:00:06+00')),
		0, "$version: old rows have their own millisecond");
	# A number is drawn while the INSERT has its lock of the table: before that of ALTER TABLE, or after.
	is( on(q(SELECT string_agg(DISTINCT shard::text, ' ') FROM (SELECT shard, number, min(number) FILTER (WHERE shard = 5) OVER () AS first
			FROM orders, ids.id_shard(id) shard, CAST(split_part(order_no, ' ', 2) AS int) number WHERE order_no LIKE 'new%') s WHERE number >= first)),
		'5', "$version: new rows have generated ids of shard 5");
	is(on(q(SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY created_at, order_no) AS before FROM orders WHERE ids.id_shard(id) = 4101 AND order_no ~ '^(old|bulk|ancient)') s WHERE id <= before)),
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
	my ($wait, $key_back, $undo) = split /(?<=;)\n/, block('add-id-undo');
	if ($sql_only)
	{
		on(block('add-id-key'));
		is(on(q(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p')), 'PRIMARY KEY (id)', "$version: the primary key");
		on($key_back);
	}

	# A database without a shard number.
	on($sql_only ? 'DELETE FROM ids.this_database' : 'SELECT ids.id_shard(0); ALTER DATABASE shop SET shardid.shard_id = -1');
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('without a number')), 'app'), $sql_only ? '22004' : '55000',
		"$version: no id without a shard number");

	# The way back.
	ask_safe($open, 'BEGIN; SELECT FROM orders LIMIT 1;');
	is(sqlstate_of("SET statement_timeout = '30s'; $wait $undo"), '55P03', "$version: the undo does not wait for a reader without an end");
	close_session($open);
	on($undo);
	is(of_key(), $key_before, "$version: undone, the keys are as before");
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('undone')), 'app'), 'none', "$version: undone, rows can be inserted");
	is(on(block('users-of-ids')), '', "$version: undone, nothing uses the functions");
	my $time = command_of('migrating.md', 'to_timestamp(');
	is(on("SELECT count(*) FROM (VALUES (4037442497700434944), (-4037442497700434944)) v (id) WHERE ids.id_timestamp(id) <> $time"),
		0, "$version: the time without shardid, also of an id after 2046");
	# Other extensions are not dropped with the schema, also if psql continues after an error.
	for my $other ($sql_only ? () : qw(shardid_readers shardid_lease))
	{
		as_superuser("CREATE EXTENSION $other CASCADE");
		is(on(block('users-of-ids')), '', "$other is not printed as one that uses the functions");
		my (undef, undef, $errors) = $node->psql('shop', block('remove'), on_error_stop => 0, extra_params => [ '-U', 'shop_owner' ]);
		like($errors, qr/DETAIL:  extension $other depends on extension shardid/, "$other: nothing is removed");
		is(on(q(SELECT count(*) FROM pg_extension WHERE extname ~ '^shardid')), 3, "$other: all is still there");
		as_superuser("DROP EXTENSION $other");
	}
	on(block('remove') =~ s/^(ALTER.*)/$sql_only ? '' : $1/mer);
	is(on('SELECT count(*) FROM pg_db_role_setting') . sqlstate_of('SELECT ids.next_id()'), '03F000', "$version: nothing is left, also no setting");
	note_fault("a table of $count rows gets ids ($version)", 1, $count, $count - $different);
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

# A table with a column id: a new column, and the swap of the names.
create_orders();
install('extension');
on('ALTER TABLE orders RENAME order_no TO id; DROP TRIGGER touched ON orders');
on(block($_) =~ s/\bid\b/new_id/gr =~ s/order_no/id/gr) for 'add-id', 'add-id-fill', 'add-id-end';
on(command_of('migrating.md', 'ALTER TABLE orders ALTER id SET DEFAULT gen'));
is(sqlstate_of("PREPARE p AS SELECT * FROM orders LIMIT 0; EXECUTE p;\n" . block('add-id-swap') . 'EXECUTE p;'), '0A000', 'a prepared SELECT * fails after the swap');
is(on(q(INSERT INTO orders (old_id) VALUES ('swapped') RETURNING ids.id_shard(id), old_id)), '5|swapped', 'a new row has an id and an old id');
is(on(q(INSERT INTO orders (item) VALUES ('lamp') RETURNING ids.id_shard(id), length(old_id))), '5|36', 'also if it leaves out the old id');
on('ALTER TABLE orders ALTER old_id DROP DEFAULT');
is(sqlstate_of(q(INSERT INTO orders (item) VALUES ('lamp'))), '23502', 'which needs a default');

$node->stop;
done_testing();
