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

# The page's switch of this table alone.
sub switch_of
{
	my ($table) = @_;
	my $only = command_of('migrating.md', 'WHERE command ~') =~ s/items/$table/r;
	return block('schema-switch') =~ s/ command \K(?=\\gexec)/$only /r;
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
on('CREATE TABLE others (id bigserial)');
like(fails("\\set VERBOSITY sqlstate\nSET ROLE app; SELECT next_id(5, 'items_id_seq')"), qr/^ERROR:  42501$/m,
	'bigserial: with USAGE alone the application cannot make a generator of the sequence');
clock('-10s');
on(switch_of('items'));
is(answer('items', 'shardid_seq'), 'yes', 'bigserial: after');
is(on('INSERT INTO others DEFAULT VALUES RETURNING id'), 1, 'bigserial: the other table has not switched');
on(q(WITH item AS (INSERT INTO items (name) VALUES ('new') RETURNING id) INSERT INTO parts SELECT id FROM item));
is( on('SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 1::bigint << 58), count(*) FILTER (WHERE id <= 1000) FROM items'),
	'1001|1001|1|1000', 'bigserial: old ids stay, the new one is above 2^58');
is(on(q(SELECT nextval('items_id_seq'))), 1001, 'bigserial: nextval on the old sequence continues');
my $gone = on(q(INSERT INTO items (name) VALUES ('gone') RETURNING id));
on('DELETE FROM items WHERE id = ' . $gone);
on(block('way-back'));
is(on("SELECT last_value > $gone FROM items_ids"), 't', 'bigserial: the way back is above the id of a deleted row');
is( on(q(SET ROLE app; INSERT INTO items (name) VALUES ('back') RETURNING id > ALL (SELECT id FROM items), id = currval('items_ids'))),
	't|t', 'bigserial: the way back, to a plain sequence above all ids');
on(q(DELETE FROM items WHERE name = 'back'; ALTER TABLE items ALTER id SET DEFAULT next_id()));
goes_on_restored('items', q(SET ROLE app; INSERT INTO items (name) VALUES ('x') RETURNING id), 5);
is($restored->safe_psql('bigserial', 'SELECT count(*) FROM parts JOIN items ON item = id'), 1001, 'bigserial: foreign keys');

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
	on(switch_of('orders'));
	is(answer('orders', 'shardid_seq'), 'yes', "$database: after");
	is( on(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c') RETURNING id > 1::bigint << 58)),
		't', "$database: new ids are above 2^58, with the right to use the generator");
	like(fails('SET ROLE app; INSERT INTO orders VALUES (7)'), qr/^ERROR:  permission denied for table orders/m,
		"$database: the right to other columns only keeps ids out of the INSERT");
	on('REVOKE USAGE ON SEQUENCE shardid_seq FROM app');
	like(fails(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c'))),
		qr/^ERROR:  permission denied for sequence shardid_seq/m, "$database: and without is refused");
	on('GRANT USAGE ON SEQUENCE shardid_seq TO app');
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
my $to_bigint = command_of('migrating.md', 'ALTER TABLE items ALTER id TYPE') =~ s/items/visits/r . '; ALTER TABLE clicks ALTER visit_id TYPE bigint';
on(q(ALTER TABLE visits ALTER id SET DEFAULT nextval('visits_id_seq'); CREATE VIEW seen AS SELECT id FROM visits));
like(fails($to_bigint), qr/^ERROR:  cannot alter type of a column used by a view/m, 'serial: a view is in the way');
on('DROP VIEW seen');
my $files = q(SELECT pg_relation_filenode('visits'), pg_relation_filenode('visits_pkey'), pg_relation_filenode('clicks'));
my @before = split /\|/, on($files);
clock('-10s');
on("BEGIN; $to_bigint; COMMIT");
my @after = split /\|/, on($files);
is(scalar(grep { $before[$_] == $after[$_] } 0 .. 2), 0, 'serial: TYPE bigint writes tables and indexes anew');
on(switch_of('visits'));
is(answer('visits', 'shardid_seq'), 'yes', 'serial: after');
on(q(WITH visit AS (INSERT INTO visits (page) VALUES ('new') RETURNING id) INSERT INTO clicks SELECT id FROM visit));
is( on('SELECT count(*), count(*) FILTER (WHERE id > 1::bigint << 58), max(id) = (SELECT max(visit_id) FROM clicks) FROM visits'),
	'1001|1|t', 'serial: old ids stay, the new one is above 2^58, and is referenced');
goes_on_restored('visits', q(INSERT INTO visits (page) VALUES ('x') RETURNING id), 5);

stop_servers();
done_testing();
