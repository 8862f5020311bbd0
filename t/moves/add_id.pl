# The first part of docs/migrating.md, block by block: a table without ids gets them in batches while sessions insert,
# update and delete, by the extension and by the SQL-only version; the fill is killed in between. Then one whose key is
# called id. The owner is no superuser.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Docs;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $node = new_node('add_id');
my $superuser = getpwuid($<);
my $rows = rounds(10_000, 1_000_000);
$node->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE ROLE app LOGIN');

sub on
{
	my ($sql, $role) = @_;
	return $node->safe_psql('shop', $sql, extra_params => [ '-U', $role // 'shop_owner' ]);
}
sub block { return block_of('migrating.md', $_[0]) }

sub sqlstate_of
{
	my ($sql, $role) = @_;
	my (undef, undef, $stderr) = $node->psql('shop', "\\set VERBOSITY sqlstate\n$sql", extra_params => [ '-U', $role // 'shop_owner' ]);
	return $stderr =~ /ERROR:  (\w{5})/ ? $1 : 'none';
}

# Times that several rows share, one of them 3,000 rows, as after a bulk load; some before any id's time, one in the
# future.
my $old_rows = <<"SQL";
CREATE TABLE orders (order_no text PRIMARY KEY, created_at timestamptz DEFAULT now(), item text, changes int DEFAULT 0);
INSERT INTO orders
SELECT 'old ' || n, '2024-01-01 00:00:00+00'::timestamptz + (n::bigint * 7919 % 1000003) * interval '1.7 ms', 'lamp' FROM generate_series(1, $rows) n;
INSERT INTO orders SELECT 'bulk ' || n, '2024-01-01 00:00:05.123456+00', 'lamp' FROM generate_series(1, 3000) n;
INSERT INTO orders VALUES ('ancient 1', '2001-01-01 00:00:00+00', 'lamp'), ('ancient 2', '2001-01-02 00:00:00+00', 'lamp'),
    ('future', now() + interval '10 years', 'lamp');
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.changes := coalesce(NEW.changes, 0) + 1; RETURN NEW; END';
CREATE TRIGGER touched BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION touch();
GRANT INSERT, SELECT, UPDATE, DELETE ON orders TO app;
CREATE SEQUENCE app_orders;
GRANT USAGE ON SEQUENCE app_orders TO app;
SQL

my %install = (
	extension => sub { on(block('extension')); return },
	sql_only => sub {
		my $shell = block('sql_only') =~ s/-d shop/'-d "' . $node->connstr('shop') . ' user=shop_owner"'/egr;
		my $said = `( $shell ) 2>&1`;
		is($?, 0, 'sql_only: the functions load') or diag($said);
		is(sqlstate_of('ALTER DATABASE shop SET shardid.shard_id = 5'), '42501', 'sql_only: the owner cannot store the setting');
		on(block('sql-only-number'));
		return;
	});

for my $version (sort keys %install)
{
	$node->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
	on('GRANT CREATE ON SCHEMA public TO shop_owner', $superuser);
	on($old_rows);
	$install{$version}->();
	is(on('SELECT ids.id_shard(ids.new_id())', 'app'), 5, "$version: the application can generate ids of the number");
	is(sqlstate_of('INSERT INTO ids.this_database VALUES (6)'), '23505', 'sql_only: a second number is refused') if $version eq 'sql_only';

	is(on(command_of('migrating.md', 'SELECT count(*), count(*) - count(created_at)')) =~ s/^(\d+\|\d+)\|.*/$1/r, $rows + 3003 . '|0', "$version: step 1");

	# If a transaction has locked the table, step 2 fails, and no other session waits for long.
	my $holder = fork // die "fork: $!";
	exec 'psql', '-Xq', '-d', $node->connstr('shop'), '-c', 'BEGIN; LOCK TABLE orders IN ACCESS SHARE MODE; SELECT pg_sleep(600)', '-o', '/dev/null' if $holder == 0;
	$node->poll_query_until('shop', q(SELECT count(*) = 1 FROM pg_locks WHERE relation = 'orders'::regclass AND mode = 'AccessShareLock')) or die;
	is(sqlstate_of(block('add-id-column')), '55P03', "$version: step 2 waits no longer than lock_timeout");
	on(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()), $superuser);
	waitpid $holder, 0;

	# Sessions of the application, from before step 2 to the end.
	my $clients = start_clients($node->connstr . ' user=app', 2, [
		q(INSERT INTO orders (order_no, item) VALUES ('new ' || nextval('app_orders'), 'desk') RETURNING 1),
		q(UPDATE orders SET item = item || '!' WHERE order_no = 'old ' || 1 + floor(random() * 10000)::int RETURNING 1),
		q(DELETE FROM orders WHERE order_no = 'old ' || 1 + floor(random() * 10000)::int RETURNING 1) ],
		dbname => 'shop', pause_ms => 5);
	usleep 300_000;
	my $file = $node->safe_psql('shop', q(SELECT pg_relation_filenode('orders')));
	on(block('add-id-column'));
	is($node->safe_psql('shop', q(SELECT pg_relation_filenode('orders'))), $file, "$version: step 2 rewrites nothing");
	on(block('add-id-order'));
	on(block('add-id-procedure'));
	on(block('add-id-trigger'));

	# The first run is ended in the middle.
	my $fill = block('add-id-fill');
	my $slow = $fill =~ s/5000, 0.05/1000, 0.2/r;
	isnt($slow, $fill, "$version: a slower fill");
	my $filler = fork // die "fork: $!";
	append_to_file("$dir/$version.fill", $slow);
	exec 'psql', '-Xq', '-d', $node->connstr('shop') . ' user=shop_owner', '-f', "$dir/$version.fill", '-o', '/dev/null' if $filler == 0;
	$node->poll_query_until('shop', 'SELECT count(*) >= 3000 FROM orders WHERE ids.id_shard(id) = 4101') or die 'nothing is filled';
	on(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL ids.fill_orders%' AND pid <> pg_backend_pid()), $superuser);
	waitpid $filler, 0;
	isnt($?, 0, "$version: the fill is ended in the middle");
	cmp_ok(on('SELECT count(*) FROM orders WHERE id IS NULL'), '>', 0, "$version: some are left");
	on($fill);
	is(on('SELECT count(*) FROM orders WHERE id IS NULL'), 0, "$version: run again, it fills the rest");

	# In the same session as the fill, as the page says, while a transaction is open for longer than the fill's
	# lock_timeout.
	my $open = fork // die "fork: $!";
	exec 'psql', '-Xq', '-d', $node->connstr('shop') . ' user=app', '-o', '/dev/null',
	  '-c', q(BEGIN; INSERT INTO orders (order_no) VALUES ('new open')), '-c', q(SELECT pg_sleep(2)), '-c', 'COMMIT'
	  if $open == 0;
	$node->poll_query_until('shop', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(2)' AND backend_xid IS NOT NULL)) or die;
	on($fill . block('add-id-unique'));
	waitpid $open, 0;
	is($?, 0, "$version: step 5 waits for an open transaction");
	finish_clients($clients, 1);

	# Rows that the fill skips: without a time, or whose time was set back, here to one that filled rows have.
	on(<<"SQL", $superuser);
UPDATE orders SET id = NULL, created_at = '2024-01-01 00:00:05.123456+00' WHERE order_no IN ('bulk 1', 'bulk 2', 'ancient 1');
INSERT INTO orders (order_no, created_at) SELECT 'timeless ' || n, NULL FROM generate_series(1, 2000) n;
UPDATE orders SET id = NULL WHERE order_no LIKE 'timeless%';
SQL
	my $not_null = block('add-id-not-null');
	my ($refuse) = $not_null =~ /^(ALTER TABLE orders DROP CONSTRAINT IF EXISTS.*?;\n)/ms or die;
	on($refuse);
	is(sqlstate_of(q(UPDATE orders SET item = 'desk' WHERE order_no = 'bulk 1')), '23514', "$version: a row without an id cannot be changed");

	# A client that continues after the error of the fill: the next run only has to fill the rest, and reads no rows under
	# ACCESS EXCLUSIVE.
	my ($timeout_ms) = $not_null =~ /lock_timeout = '(\d+)ms'/;
	cmp_ok($timeout_ms, '<', on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout')), "$version: step 6 gives way, and not the application");
	my $application = $node->background_psql('shop');
	$application->query_safe(q(BEGIN; SELECT FROM orders WHERE order_no = 'bulk 2' FOR UPDATE));
	my (undef, undef, $errors) = $node->psql('shop', "\\set VERBOSITY sqlstate\n" . $not_null =~ s/\Q$refuse//r, extra_params => [ '-U', 'shop_owner' ], on_error_stop => 0);
	$application->query_safe('COMMIT');
	$application->quit;
	is(join(' ', $errors =~ /ERROR:  (\w{5})/g), '55P03 23514 25P02 25P02', "$version: step 6 fails while a transaction holds a row");
	is(on(q(SELECT convalidated, attnotnull FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = 'id' WHERE conname = 'orders_id_is_set')),
		'f|f', "$version: and leaves the constraint and the column as they were");
	(undef, undef, $errors) = $node->psql('shop', "SET client_min_messages = debug1;\n$not_null", extra_params => [ '-U', 'shop_owner' ]);
	unlike($errors, qr/ERROR/, "$version: run again, it succeeds");
	like($errors, qr/existing constraints on column "orders.id" are sufficient/, "$version: without a scan by SET NOT NULL");
	is(on(q(SELECT count(*) FROM orders WHERE id IS NULL OR order_no LIKE 'bulk%' AND abs(extract(epoch FROM ids.id_timestamp(id) - created_at)) > 0.01)),
		0, "$version: step 6 fills the rest, with their times");
	is(on(q(SELECT count(*), count(DISTINCT id) FROM orders WHERE order_no LIKE 'timeless%' AND ids.id_timestamp(id) < '2011-08-24 21:07:03+00' AND ids.id_shard(id) = 4101)),
		'2000|2000', "$version: those without a time get the oldest");
	on(q(DELETE FROM orders WHERE order_no LIKE 'timeless%'; UPDATE orders SET created_at = '2001-01-01 00:00:00+00' WHERE order_no = 'ancient 1'));
	on(block('add-id-primary-key')) if $version eq 'sql_only';
	my $conflict = q(INSERT INTO orders (order_no) VALUES ('bulk 9') ON CONFLICT %s DO NOTHING);
	is(sqlstate_of(sprintf $conflict, '(order_no)'), 'none', "$version: ON CONFLICT with the columns continues");
	is(sqlstate_of(sprintf $conflict, 'ON CONSTRAINT orders_pkey'), $version eq 'sql_only' ? '42704' : 'none', "$version: with the name of the old primary key");
	is(on(q(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p')),
		$version eq 'sql_only' ? 'PRIMARY KEY (id)' : 'PRIMARY KEY (order_no)', "$version: the primary key");

	my ($count, $different, $other) = split /\|/, on(block('add-id-check'));
	is($count, $different, "$version: each of $count rows has an id of its own");
	is($other, 3, "$version: only those that no id can carry have another time");
	is(on(q(SELECT max(changes) FROM orders WHERE order_no LIKE 'bulk%' AND order_no > 'bulk 3')), 0, "$version: the trigger ignores the fill");
	on(block('add-id-trigger') =~ s/\s+WHEN \(.*\)(?= EXECUTE)//r);
	on(block('add-id-clean-up'));
	is(on(q(BEGIN; UPDATE orders SET id = -1 WHERE order_no = 'bulk 9' RETURNING changes; ROLLBACK)), 1, "$version: and is as it was");
	is( on(q(SELECT string_agg(DISTINCT ids.id_shard(id)::text || split_part(order_no, ' ', 1), ' ') FROM orders WHERE order_no NOT LIKE 'new%' AND ids.id_shard(id) <> 4101)),
		'', "$version: old rows have 4101 in place of the shard");
	is( on(q(SELECT count(*) FROM orders WHERE order_no LIKE 'old%' AND ids.id_timestamp(id) <> date_trunc('milliseconds', created_at) AND created_at > '2024-01-01 00:00:06+00')),
		0, "$version: and their own millisecond");
	is(on(q(SELECT string_agg(DISTINCT ids.id_shard(id)::text, ' ') FROM orders WHERE order_no LIKE 'new%' AND created_at > (SELECT created_at FROM orders WHERE ids.id_shard(id) = 5 ORDER BY id LIMIT 1))),
		'5', "$version: new rows have generated ids of shard 5");
	is(on(q(SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY created_at, order_no) AS before FROM orders WHERE ids.id_shard(id) = 4101 AND order_no NOT IN ('bulk 1', 'bulk 2', 'ancient 1')) s WHERE id <= before)),
		0, "$version: ids are in the order of the rows");
	is(on(q(SELECT max(n) FROM (SELECT count(*) AS n FROM orders WHERE ids.id_shard(id) = 4101 GROUP BY id >> 23) s)), 1024,
		"$version: a millisecond has at most 1024");
	is(sqlstate_of(q(INSERT INTO orders (order_no, id) VALUES ('null', NULL))), '23502', "$version: NULL is refused from now on");
	is(sqlstate_of(q(INSERT INTO orders (order_no, id) SELECT 'twice', max(id) FROM orders)), '23505', "$version: so is a second one");
	is(on(q(SELECT count(*) FROM pg_class WHERE relname IN ('filled', 'orders_by_time') OR EXISTS (SELECT FROM pg_proc WHERE proname = 'old_id'))),
		0, "$version: nothing is left behind");

	# A database without a shard number.
	on($version eq 'extension' ? 'SELECT ids.id_shard(0); ALTER DATABASE shop RESET shardid.shard_id' : 'DELETE FROM ids.this_database');
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('without a number')), 'app'), $version eq 'extension' ? '55000' : '23502',
		"$version: without a number no id");

	# The way back.
	my $undo = block('add-id-undo');
	my ($old_key) = slurp_file('docs/migrating.md') =~ /with\sthis:\s`(, ADD CONSTRAINT orders_pkey [^`]*)`/;
	$undo =~ s/DROP COLUMN id\K/$old_key/ if $version eq 'sql_only';
	on($undo);
	on(command_of('migrating.md', 'DROP INDEX CONCURRENTLY IF EXISTS orders_order_no_kept')) if $version eq 'extension';
	is(on(q(SELECT string_agg(relname, ' ') FROM pg_class WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'orders'::regclass))),
		'orders_pkey', "$version: undone, its index is the only one");
	is(on(q(SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass AND contype = 'p')),
		'PRIMARY KEY (order_no)', "$version: undone, the primary key is as before");
	is(sqlstate_of(q(INSERT INTO orders (order_no) VALUES ('undone')), 'app'), 'none', "$version: and rows can be inserted");
	is(on(block('users-of-ids')), '', "$version: nothing uses the functions any more");

	# A key that is called id, and that is added: the blocks with the page's other names, and the swap of the names.
	if ($version eq 'extension')
	{
		on(<<'SQL');
DELETE FROM orders WHERE order_no NOT LIKE 'bulk 1%';
ALTER TABLE orders DROP COLUMN order_no;
CREATE TABLE items (order_id bigint);
SELECT ids.id_shard(0);
ALTER DATABASE shop SET shardid.shard_id = 5;
SQL
		my $renamed = sub { return $_[0] =~ s/\bid\b/new_id/gr =~ s/order_no/id/gr };
		on($renamed->(command_of('migrating.md', 'ALTER TABLE orders ADD order_no')));
		on('ALTER TABLE items ADD FOREIGN KEY (order_id) REFERENCES orders (id); INSERT INTO items SELECT max(id) FROM orders');
		on($renamed->(join '', map { block("add-id-$_") } qw(column order procedure fill unique not-null)));
		my ($all, $distinct) = split /\|/, on($renamed->(block('add-id-check')));
		is($all, $distinct, "a key called id: each of $all rows has an id of its own");
		on($renamed->(block('add-id-clean-up')));
		my $swap = block('add-id-swap');
		is(sqlstate_of("PREPARE p AS SELECT * FROM orders LIMIT 0; EXECUTE p; $swap EXECUTE p"), '0A000', 'a prepared SELECT * fails after the swap');
		is(on('INSERT INTO orders (item) VALUES (\'swapped\') RETURNING ids.id_shard(id), old_id > 0'), '5|t', 'new rows have both');
		is(on('SELECT count(*) FROM items JOIN orders ON order_id = old_id'), 1, 'what references the old key still does');
		is(sqlstate_of('INSERT INTO items VALUES (-1)'), '23503', 'and its foreign key holds');
		isnt(sqlstate_of($renamed->(block('add-id-undo'))), 'none', 'the undo refuses while the names are swapped');
		on($swap =~ s/RENAME id TO old_id/RENAME id TO new_id/r =~ s/RENAME new_id TO id/RENAME old_id TO id/r);
		on($renamed->(block('add-id-undo')));
		on($renamed->(command_of('migrating.md', 'DROP INDEX CONCURRENTLY IF EXISTS orders_order_no_kept')));
		is(on('SELECT count(*) FROM items JOIN orders ON order_id = id'), 1, 'undone, the key is as before');
		on('DROP TABLE items; ALTER TABLE orders RENAME id TO order_no');
		on(command_of('migrating.md', 'ALTER TABLE orders DROP COLUMN order_no'));
		on('ALTER TABLE orders ADD order_no int');
		on(command_of('migrating.md', 'CREATE UNIQUE INDEX CONCURRENTLY ON orders'));
	}
	on('DROP SCHEMA ids CASCADE');
	note_fault("a table of $count rows gets ids ($version)", 1, $count, $count - $different);
	$node->safe_psql('postgres', 'DROP DATABASE shop');
}

$node->stop;
done_testing();
