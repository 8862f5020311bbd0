# The first part of docs/migrating.md for a table that has a column called id, which other tables reference: the steps with
# the name new_id, the swap of the names, and both undone.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use AddId;
use Docs;
use Test::More;

start_shop('add_id_named_id');
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
is(sqlstate_of("PREPARE p AS SELECT * FROM orders LIMIT 0; EXECUTE p; $swap EXECUTE p"), '0A000', 'a prepared SELECT * fails after the swap');
is(on(q(INSERT INTO orders (item) VALUES ('swapped') RETURNING ids.id_shard(id), old_id > 0)), '5|t', 'a new row has an id and an old id');
is(on('SELECT count(*) FROM items JOIN orders ON order_id = old_id'), 1, 'a foreign key references the old id');
is(sqlstate_of('INSERT INTO items VALUES (-1)'), '23503', 'the foreign key refuses other values');
isnt(sqlstate_of($renamed->(block('add-id-undo'))), 'none', 'the undo refuses while the names are swapped');
on($swap =~ s/RENAME id TO old_id/RENAME id TO new_id/r =~ s/RENAME new_id TO id/RENAME old_id TO id/r);
on($renamed->(block('add-id-undo')));
on($renamed->(command_of('migrating.md', 'DROP INDEX CONCURRENTLY IF EXISTS orders_order_no_kept')));
is(on('SELECT count(*) FROM items JOIN orders ON order_id = id'), 1, 'undone, the key is as before');
on('DROP TABLE items; ALTER TABLE orders RENAME id TO order_no');
on(command_of('migrating.md', 'ALTER TABLE orders DROP COLUMN order_no'));
on('ALTER TABLE orders ADD order_no int');
on(command_of('migrating.md', 'CREATE UNIQUE INDEX CONCURRENTLY ON orders'));

$node->stop;
done_testing();
