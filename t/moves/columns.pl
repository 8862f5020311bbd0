# docs/migrating.md: columns with a sequence of their own (bigserial, identity, serial) switch to next_id, above the old ids
# although the clock is set back, and back; and continue after a dump and a restore where the clock is an hour behind.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Docs;
use Test::More;
use Migrating;

start_original();

# The page's switch of a column with these names, with the lines behind LOCK TABLE that another kind of column needs.
sub switch_of
{
	my ($table, $lines, %names) = @_;
	my $switch = block('column-switch');
	$switch =~ s/^(LOCK TABLE.*\n)/$1 . block_of('migrating.md', $lines)/me if $lines;
	$switch =~ s/\bitems\b/$table/g;
	$switch =~ s/\bitems_id_seq\b/${table}_id_seq/g;
	$switch =~ s/\b\Q$_\E\b/$names{$_}/g for sort keys %names;
	return $switch;
}

new_database('bigserial');
on(<<'SQL');
CREATE TABLE items (id bigserial PRIMARY KEY, name text);
CREATE TABLE parts (item bigint NOT NULL REFERENCES items, name text);
INSERT INTO items (name) SELECT 'item' FROM generate_series(1, 1000);
INSERT INTO parts SELECT id, 'part' FROM items;
SQL
is(answer('items', 'items_id_seq'), 'yes', 'bigserial: before');
on('GRANT USAGE ON SEQUENCE items_id_seq TO app; GRANT INSERT, SELECT ON items TO app; GRANT USAGE ON SCHEMA ids TO app');
like(fails("\\set VERBOSITY sqlstate\nSET ROLE app; SELECT next_id(5, 'items_id_seq')"), qr/^ERROR:  42501$/m,
	'bigserial: with USAGE alone the application cannot make a generator of the sequence');
on('INSERT INTO items VALUES (1000000)');
is(answer('items', 'items_id_seq'), 'yes, if the clock is right', 'bigserial: with an id far above the sequence');
on('DELETE FROM items WHERE id = 1000000');
clock('-10s');
on(block('column-switch'));
is(answer('items', 'items_id_seq'), 'yes', 'bigserial: after');
on(q(WITH item AS (INSERT INTO items (name) VALUES ('new') RETURNING id) INSERT INTO parts SELECT id FROM item));
is( on('SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 1::bigint << 58), count(*) FILTER (WHERE id <= 1000) FROM items'),
	'1001|1001|1|1000', 'bigserial: old ids stay, the new one is above 2^58');
is(on(q(SELECT nextval('items_id_seq') < 1::bigint << 52)), 't', 'bigserial: nextval on a generator is no id');
is(on(q(SELECT pg_get_serial_sequence('items', 'id'))), 'public.items_id_seq', 'bigserial: it stays the sequence of the column');
on(block('way-back'));
is( on(q(SET ROLE app; INSERT INTO items (name) VALUES ('back') RETURNING id > ALL (SELECT id FROM items), id = currval('items_ids'))),
	't|t', 'bigserial: the way back, to a plain sequence above all ids');
on(q(DELETE FROM items WHERE name = 'back'; ALTER TABLE items ALTER id SET DEFAULT next_id(generator => 'items_id_seq')));
goes_on_restored('items', q(SET ROLE app; INSERT INTO items (name) VALUES ('x') RETURNING id), 5);
is($restored->safe_psql('bigserial', 'SELECT count(*) FROM parts JOIN items ON item = id'), 1001, 'bigserial: foreign keys');

# All tables of a schema in one loop.
new_database('bigserial_all');
on(<<'SQL');
CREATE TABLE first (id bigserial PRIMARY KEY, name text);
CREATE TABLE "Second Table" ("the id" bigserial PRIMARY KEY, name text);
CREATE TABLE parted (id bigserial, name text) PARTITION BY LIST (name);
CREATE TABLE part PARTITION OF parted DEFAULT;
CREATE TABLE small (id serial PRIMARY KEY);
CREATE SCHEMA other;
CREATE TABLE other.left_alone (id bigserial PRIMARY KEY);
INSERT INTO first (name) VALUES ('old');
INSERT INTO "Second Table" (name) VALUES ('old');
INSERT INTO parted (name) VALUES ('old');
SQL
on(block('bigserial-all'));
is(on(qq(INSERT INTO $_ (name) VALUES ('new') RETURNING id_shard("the id"))), 5, 'bigserial_all: a table with a name in quotes') for '"Second Table"';
is(on("INSERT INTO $_ (name) VALUES ('new') RETURNING id_shard(id)"), 5, "bigserial_all: $_") for 'first', 'parted', 'part';
is(on('INSERT INTO small DEFAULT VALUES RETURNING id'), 1, 'bigserial_all: not a column of 32 bits');
is(on('INSERT INTO other.left_alone DEFAULT VALUES RETURNING id'), 1, 'bigserial_all: nor another schema');

for my $kind ('ALWAYS', 'BY DEFAULT')
{
	new_database('identity_' . lc $kind =~ s/ /_/r);
	on(<<"SQL");
CREATE TABLE orders (id bigint GENERATED $kind AS IDENTITY PRIMARY KEY, customer text);
GRANT INSERT (customer), SELECT ON orders TO app;
SET ROLE app;
INSERT INTO orders (customer) SELECT 'c' FROM generate_series(1, 1000);
SQL
	is(answer('orders', 'orders_id_seq'), 'yes', "$database: before");
	clock('-10s');
	on(switch_of('orders', 'identity-lines'));
	is(answer('orders', 'orders_id_seq'), 'yes', "$database: after");
	is( on(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c') RETURNING id > 1::bigint << 58)),
		't', "$database: new ids are above 2^58, with the right to use the generator");
	like(fails('SET ROLE app; INSERT INTO orders VALUES (7)'), qr/^ERROR:  permission denied for table orders/m,
		"$database: the right to other columns only keeps ids out of the INSERT");
	on('REVOKE USAGE ON SEQUENCE orders_id_seq FROM app');
	like(fails(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c'))),
		qr/^ERROR:  permission denied for sequence orders_id_seq/m, "$database: and without is refused");
	on('GRANT USAGE ON SEQUENCE orders_id_seq TO app');
	goes_on_restored('orders', q(SET ROLE app; INSERT INTO orders (customer) VALUES ('x') RETURNING id), 5);
}

# --- A column of 32 bits.

new_database('serial');
on(<<'SQL');
CREATE TABLE visits (id serial PRIMARY KEY, page text);
CREATE TABLE clicks (visit_id int REFERENCES visits, at text);
INSERT INTO visits (page) SELECT 'page' FROM generate_series(1, 1000);
INSERT INTO clicks SELECT id FROM visits;
SQL
is(answer('visits', 'visits_id_seq'), 'no: the column is integer', 'serial: before');
on(q(ALTER TABLE visits ALTER id SET DEFAULT next_id(5, 'visits_id_seq')));
like(fails(q(\set VERBOSITY sqlstate
INSERT INTO visits (page) VALUES ('x'))), qr/ERROR:  55000/, 'serial: the sequence is refused');
on('ALTER SEQUENCE visits_id_seq AS bigint NO MAXVALUE');
is(fails(q(\set VERBOSITY sqlstate
INSERT INTO visits (page) VALUES ('x'))), 'ERROR:  22003', 'serial: 22003');
on('CREATE VIEW seen AS SELECT id FROM visits');
like(fails(switch_of('visits', 'serial-lines', parts => 'clicks', item => 'visit_id')), qr/^ERROR:  cannot alter type of a column used by a view/m, 'serial: a view is in the way');
on('DROP VIEW seen');
my $files = q(SELECT pg_relation_filenode('visits'), pg_relation_filenode('visits_pkey'), pg_relation_filenode('clicks'));
my @before = split /\|/, on($files);
clock('-10s');
on(switch_of('visits', 'serial-lines', parts => 'clicks', item => 'visit_id'));
my @after = split /\|/, on($files);
is(scalar(grep { $before[$_] == $after[$_] } 0 .. 2), 0, 'serial: TYPE bigint writes tables and indexes anew');
is(answer('visits', 'visits_id_seq'), 'yes', 'serial: after');
on(q(WITH visit AS (INSERT INTO visits (page) VALUES ('new') RETURNING id) INSERT INTO clicks SELECT id FROM visit));
is( on('SELECT count(*), count(*) FILTER (WHERE id > 1::bigint << 58), max(id) = (SELECT max(visit_id) FROM clicks) FROM visits'),
	'1001|1|t', 'serial: old ids stay, the new one is above 2^58, and is referenced');
goes_on_restored('visits', q(INSERT INTO visits (page) VALUES ('x') RETURNING id), 5);

stop_servers();
done_testing();
