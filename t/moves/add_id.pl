# "Add an id column" of docs/migrating.md: a table without ids gets them in batches while sessions insert, update and
# delete, by the extension and by the SQL-only version. Each row gets one id, old rows in their order and with their
# times. t/moves/migration_kills.pl ends the fill, runs it again, and shows that the undo leaves the table as it was.
use AddId;
use Docs;
use ShardidTest;

start_shop('add_id');
my $rows = rounds(3_000, 1_000_000);
my $any_old = "order_no = 'old ' || 1 + floor(random() * $rows)::int";
my @names = (time => 'created_at', key => 'order_no');

sub primary_key
{
	return on(q(SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p'));
}

for my $version ('extension', 'sql_only')
{
	create_orders($rows);
	install($version);
	my $sql_only = $version eq 'sql_only';
	is(on('SELECT ids.id_shard(ids.n' . ($sql_only ? 'ew_id())' : 'ext_id())'), 'app'), 5, "$version: the application can generate ids of the shard");
	on(q(INSERT INTO orders (order_no, created_at) SELECT 'timeless ' || n, NULL FROM generate_series(1, 2000) n));

	# Sessions of the application, from before the column to the end.
	my $clients = start_clients($node->connstr . ' user=app', 2, [
		q(INSERT INTO orders (order_no, item) VALUES ('new ' || nextval('app_orders'), 'desk') RETURNING 1),
		"UPDATE orders SET item = item || '!' WHERE $any_old RETURNING 1",
		"DELETE FROM orders WHERE $any_old RETURNING 1" ],
		dbname => 'shop', pause_ms => 5);
	$node->poll_query_until('shop', q(SELECT EXISTS (SELECT FROM orders WHERE order_no LIKE 'new%'))) or die 'the sessions do not begin';
	my $first = on(block_of('migrating-ids.md', 'free-ids') =~ s/next_id/$sql_only ? 'new_id' : 'next_id'/er);
	like(script_fails('add', @names), qr/ERROR:  55000: table "orders" has triggers.*DETAIL:  The triggers are: touched\./s,
		"$version: a trigger that would run for each row is refused");
	repeated(block('add-id-trigger'));
	like(script_fails('add', key => 'order_no'), qr/ERROR:  42804: table "orders" has no column "".*HINT:  Pass the column/s, "$version: without the time nothing is done");
	my $right = 'USAGE ON ' . ($sql_only ? 'SCHEMA ids' : 'SEQUENCE ids.shardid_seq');
	on("REVOKE $right FROM app");
	my ($command) = script_fails('add', @names) =~ /42501: roles with INSERT on table "orders" lack rights.*HINT:  Run these commands first: (.*?)\.\n/s;
	is($command, "GRANT $right TO app", "$version: no INSERT of a role is going to fail");
	on($command);

	my ($count, $different, $other) = script('add', @names) =~ /^(\d+)\|(\d+)\|(\d+)$/m;
	cmp_ok($count, '==', $different, "$version: each of $count rows has an id of its own");
	# Those of new rows that have waited for the script, too.
	my ($old_differ, $new_differ) = split /\|/, on(q(SELECT count(*) - count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE is_new) FROM orders, LATERAL (SELECT order_no LIKE 'new%' AS is_new) n
		WHERE ids.id_timestamp(id) NOT BETWEEN created_at - interval '1 s' AND created_at + interval '1 s'));
	is($old_differ, 3, "$version: of old rows only times that no id can carry differ");
	ok($other >= 3 && $other <= 3 + $new_differ, "$version: as it says: $other");
	is(on('SELECT count(*) FROM orders WHERE id IS NULL'), 0, "$version: no row is without an id");
	$node->poll_query_until('shop', q(SELECT EXISTS (SELECT FROM orders WHERE ids.id_shard(id) = 5))) or die 'no new row';
	finish_clients($clients, 1);
	is(on(q(SELECT max(changes) FROM orders WHERE order_no LIKE 'bulk %')), 0, "$version: the trigger ran for no row of the fill");

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
	script('primary_key') if $sql_only;
	is(primary_key(), $sql_only ? 'orders_by_id PRIMARY KEY (id)' : 'orders_pkey PRIMARY KEY (order_no)', "$version: the primary key");
	like(script_fails('primary_key'), qr/ERROR:  55000: the id of table "orders" is already/, "$version: it is refused twice") if $sql_only;

	# A database without a shard number.
	on($sql_only ? 'DELETE FROM ids.this_database' : 'SELECT ids.id_shard(0); ALTER DATABASE shop SET shardid.shard_id = -1');
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('without a number')), 'app'), $sql_only ? '22004' : '55000',
		"$version: no id without a shard number");

	# The way back.
	script('undo');
	is(primary_key(), 'orders_pkey PRIMARY KEY (order_no)', "$version: undone, the primary key is as before");
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('undone')), 'app'), 'none', "$version: undone, rows can be inserted");
	is(on(block('users-of-ids')), '', "$version: undone, nothing uses the functions");
	like(script_fails('undo'), qr/ERROR:  42704: table "orders" has no id column of add.sql/, "$version: there is nothing more to undo");
	like(script_fails('add', @names), qr/ERROR:  (?:55000|22004)/, "$version: without a shard number no column is added");

	on(block('remove') =~ s/^(ALTER.*)/$sql_only ? '' : $1/mer);
	is(on('SELECT count(*) FROM pg_db_role_setting') . sqlstate_of('SELECT ids.next_id()'), '03F000', "$version: nothing is left, also no setting");
	note_fault("a table of $count rows gets ids ($version)", 1, $count, $count - $different);
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

$node->stop;
done_testing();
