# The first part of docs/migrating.md while other transactions hold locks: step 2 and step 6 fail soon, and succeed when
# they are run again; step 5 waits for an open transaction. And for a table that has a column called id.
use AddId;
use Docs;
use ShardidTest;

start_shop('add_id_locks');
create_orders(100);
install('extension');

# A transaction has locked the table.
my $application = $node->background_psql('shop');
$application->query_safe('BEGIN; LOCK TABLE orders IN ACCESS SHARE MODE');
is(sqlstate_of(block('add-id-column')), '55P03', 'step 2 waits no longer than lock_timeout');
$application->query_safe('COMMIT');
on(block($_)) for qw(add-id-column add-id-order add-id-procedure add-id-trigger);

# A transaction is open for longer than the fill's lock_timeout. Step 5 is in the same session as the fill, as the page says.
my $open = run_in_background('app', q(BEGIN; INSERT INTO orders (order_no) VALUES ('new open'); SELECT pg_sleep(2); COMMIT;));
$node->poll_query_until('shop', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(2);' AND backend_xid IS NOT NULL)) or die;
on(block('add-id-fill') . block('add-id-unique'));
waitpid $open, 0;
is($?, 0, 'step 5 waits for an open transaction');

# A transaction holds a row that the fill has skipped. The client of step 6 continues after the error of the fill: the next
# run only has to fill the rest, and reads no rows under ACCESS EXCLUSIVE.
as_superuser(q(UPDATE orders SET id = NULL WHERE order_no = 'bulk 2'));
my $not_null = block('add-id-not-null');
my ($refuse) = $not_null =~ /^(ALTER TABLE orders DROP CONSTRAINT IF EXISTS.*?;\n)/ms or die;
on($refuse);
my ($timeout_ms) = $not_null =~ /lock_timeout = '(\d+)ms'/;
cmp_ok($timeout_ms, '<', on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout')), 'step 6 gives way, and not the application');
$application->query_safe(q(BEGIN; SELECT FROM orders WHERE order_no = 'bulk 2' FOR UPDATE));
my (undef, undef, $errors) = $node->psql('shop', "\\set VERBOSITY sqlstate\n" . $not_null =~ s/\Q$refuse//r, extra_params => [ '-U', 'shop_owner' ], on_error_stop => 0);
$application->query_safe('COMMIT');
$application->quit;
is(join(' ', $errors =~ /ERROR:  (\w{5})/g), '55P03 23514 25P02 25P02', 'step 6 fails while a transaction holds a row');
is(on(q(SELECT convalidated, attnotnull FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = 'id' WHERE conname = 'orders_id_is_set')),
	'f|f', 'step 6 leaves the constraint and the column as they were');
on($not_null);
is(on('SELECT count(*) FROM orders WHERE id IS NULL'), 0, 'step 6 run again: all rows have ids');

# A table that has a column called id, which other tables reference: the steps with the name new_id, the swap of the
# names, and both undone.
$node->safe_psql('postgres', 'DROP DATABASE shop');
create_orders(0);
install('extension');
on('ALTER TABLE orders DROP COLUMN order_no; CREATE TABLE items (order_id bigint)');
my $renamed = sub { return $_[0] =~ s/\bid\b/new_id/gr =~ s/order_no/id/gr };
on($renamed->(command_of('migrating.md', 'ALTER TABLE orders ADD order_no')));
on('ALTER TABLE items ADD FOREIGN KEY (order_id) REFERENCES orders (id); INSERT INTO items SELECT max(id) FROM orders');
on($renamed->(join '', map { block("add-id-$_") } qw(column order procedure fill unique not-null)));
my ($all, $distinct) = split /\|/, on($renamed->(block('add-id-check')));
is($all, $distinct, "each of $all rows has an id of its own");
on($renamed->(block('add-id-clean-up')));
my $swap = block('add-id-swap');
is(sqlstate_of("PREPARE p AS SELECT * FROM orders LIMIT 0; EXECUTE p; $swap EXECUTE p"), '0A000',
	'a prepared SELECT * fails after the swap');
is(on(q(INSERT INTO orders (item) VALUES ('swapped') RETURNING ids.id_shard(id), old_id > 0)), '5|t',
	'a new row has an id and an old id');
is(on('SELECT count(*) FROM items JOIN orders ON order_id = old_id'), 1, 'a foreign key references the old id');
is(sqlstate_of('INSERT INTO items VALUES (-1)'), '23503', 'the foreign key refuses other values');
isnt(sqlstate_of($renamed->(block('add-id-undo'))), 'none', 'the undo refuses while the names are swapped');
on($swap =~ s/RENAME id TO old_id/RENAME id TO new_id/r =~ s/RENAME new_id TO id/RENAME old_id TO id/r);
on($renamed->(block('add-id-undo')));
on($renamed->(command_of('migrating.md', 'DROP INDEX CONCURRENTLY IF EXISTS orders_order_no_kept')));
is(on('SELECT count(*) FROM items JOIN orders ON order_id = id'), 1, 'undone, the key is as before');
on('DROP TABLE items; ALTER TABLE orders RENAME id TO order_no');

$node->stop;
done_testing();
