# "Add an id column" of docs/migrating.md while other transactions hold locks: the script fails soon and succeeds when it
# is run again, or waits. And what the scripts refuse: a column id that other tables reference, and other tables and keys.
use AddId;
use Docs;
use ShardidTest;

my ($out, $err) = ('', '');

# A script that has filled a batch, and then pauses; and its end.
sub start_filling
{
	my $script = start_script(\$out, \$err, 'add', @_, pause => 600);
	$node->poll_query_until('shop', 'SELECT count(*) = 1 FROM added_ids_of_shop_owner WHERE last_id > 0') or die;
	return $script;
}

sub end_filling
{
	my ($script) = @_;
	as_superuser(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL pg_temp.fill%' AND pid <> pg_backend_pid()));
	return $script->finish;
}

start_shop('add_id_locks');
create_orders(100);
install('extension');
my @names = (time => 'created_at', key => 'order_no');
on(block('add-id-trigger'));
on(q(INSERT INTO orders (order_no, created_at) SELECT 'timeless ' || n, NULL FROM generate_series(1, 20000) n));

# A transaction has locked the table.
my $application = open_session($node->connstr('shop'));
ask_safe($application, 'BEGIN; LOCK TABLE orders IN ACCESS SHARE MODE;');
like(script_fails('add', @names), qr/ERROR:  55P03/, 'the column waits no longer than lock_timeout');
close_session($application);
is(on(q(SELECT count(*) FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname = 'id')), 0, 'and the table is as before');

# A transaction of the application holds a row of the fill, which does not wait for it while it holds others: so it can
# write the rows before. Another one holds rows that the fill leaves out; one of them also when no row may be without an
# id any more: it lets the constraint pass, which waits for it for 3 s, and locks a row while a trigger holds the script.
end_filling(start_filling(@names, batch => 500));
on(<<'SQL');
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = 7) LOOP PERFORM pg_sleep(0.01); END LOOP;
	RETURN NEW;
END $$;
CREATE TRIGGER holding BEFORE UPDATE ON orders FOR EACH ROW
WHEN (current_setting('application_name') = 'add_id' AND NEW.order_no LIKE 'timeless%') EXECUTE FUNCTION hold();
SQL
my $holder = open_session($node->connstr('shop'));
ask_safe($holder, 'SELECT pg_advisory_lock(7);');
ask_safe($holder, q(BEGIN; SELECT count(order_no) FROM (SELECT order_no FROM orders WHERE id IS NULL AND order_no LIKE 'timeless%' FOR UPDATE) held;));
my $open = open_session($node->connstr('shop'), '-U', 'app');
ask_safe($open, q(BEGIN; UPDATE orders SET item = 'open' WHERE order_no = 'bulk 2000';));
my $script = start_script(\$out, \$err, 'add', @names, batch => 1000, pause => 0.01);
$node->poll_query_until('shop', q(SELECT last_key[1] = 'bulk 200' FROM added_ids_of_shop_owner)) or die 'the fill does not come to the row before';
ask_safe($open, q(UPDATE orders SET item = 'open' WHERE order_no IN ('bulk 200', 'bulk 999'); COMMIT;));
close_session($open);
is(on(q(SELECT count(*) FROM orders WHERE item = 'open')), 3, 'a transaction that holds a row goes through');
await_event('the constraint', sub {
	return 1 if ask_safe($holder, q(SELECT count(*) FROM pg_constraint WHERE conname = 'add_id_is_set';));
	ask_safe($holder, 'COMMIT; BEGIN;')
	  if ask_safe($holder, q(SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND relation = 'orders'::regclass;));
	$script->pump_nb if $script->pumpable;
	$script = start_script(\$out, \$err, 'add', @names) if !$script->pumpable;
	return 0;
});
my $held = ask_safe($holder, 'SELECT order_no FROM orders WHERE id IS NULL LIMIT 1 FOR UPDATE SKIP LOCKED;');
isnt($held, '', 'a row is locked before it is filled');
ask_safe($holder, 'SELECT pg_advisory_unlock(7);');
ok(!$script->finish, 'the script fails while a transaction holds a row that it has to fill');
is(on(q(SELECT convalidated, attnotnull FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = 'id' WHERE conname = 'add_id_is_set')),
	'f|f', 'the constraint and the column are as they were');
close_session($holder);
on('DROP TRIGGER holding ON orders; DROP FUNCTION hold()');
is(sqlstate_of(q(UPDATE orders SET item = 'desk' WHERE order_no = 'timeless 1')), '23514', 'until then a row without an id cannot be changed');
like(script('add', @names), qr/^23103\|23103\|\d+$/m, 'run again, all rows have ids');
script('undo');

# A table with a column id: a new column, the swap of the names, and both undone.
$node->safe_psql('postgres', 'DROP DATABASE shop');
create_orders(0);
install('extension');
on('DROP TRIGGER touched ON orders; ALTER TABLE orders DROP COLUMN order_no');
on(command_of('migrating.md', 'ALTER TABLE orders ADD order_no') =~ s/order_no/id/r);
my @new = (time => 'created_at', key => 'id', column => 'new_id');
like(script_fails('add', time => 'created_at', key => 'id'), qr/ERROR:  42701: table "orders" already has a column "id"/, 'a column id is not taken for a new one');
like(script('add', @new), qr/^3003\|3003\|\d+$/m, 'each row has an id of its own');
is(sqlstate_of("PREPARE p AS SELECT * FROM orders LIMIT 0; EXECUTE p;\n\\set table orders\n\\i examples/add-id/swap.sql\nEXECUTE p;"), '0A000',
	'a prepared SELECT * fails after the swap');
is(on(q(INSERT INTO orders (item) VALUES ('swapped') RETURNING ids.id_shard(id), old_id > 0)), '5|t', 'a new row has an id and an old id');
like(script_fails('undo'), qr/ERROR:  55000: names of table "orders" are swapped/, 'the undo refuses while the names are swapped');
on('CREATE TABLE items (order_id bigint REFERENCES orders (id))');
like(script_fails('swap', back => 'yes'), qr/ERROR:  55000: column "id" of table "orders" is referenced/, 'so does the swap back if the new ids are referenced');
on('DROP TABLE items');
script('swap', back => 'yes');
on('ALTER TABLE orders RENAME id TO x; ALTER TABLE orders RENAME new_id TO id; ALTER TABLE orders RENAME x TO new_id');
like(script_fails('undo'), qr/ERROR:  42704/, 'names that were swapped by other commands are noticed');
on('ALTER TABLE orders RENAME id TO x; ALTER TABLE orders RENAME new_id TO id; ALTER TABLE orders RENAME x TO new_id');
script('undo');
is(on(q(SELECT count(*), count(DISTINCT id), max(id) < 10000 FROM orders)), '3004|3004|t', 'undone, the old ids are there');

# Other tables reference the column.
on('ALTER TABLE orders ADD PRIMARY KEY (id); CREATE TABLE items (order_id bigint REFERENCES orders)');
like(script_fails('add', @new), qr/ERROR:  55000: column "id" of table "orders" is referenced by foreign keys.*"items_order_id_fkey" of table public\.items/s,
	'no second column for a column that is referenced');
script('add', @new, swap => 'no');
like(script_fails('swap'), qr/ERROR:  55000: column "id" of table "orders" is referenced/, 'no swap, either');
like(script_fails('primary_key'), qr/ERROR:  2BP01: primary key of table "orders" is referenced/, 'no other primary key');
script('undo');

# What is no table, time, or key.
on('CREATE TABLE keys (key text, time timestamptz, other timestamp); CREATE INDEX ON keys (key); CREATE TABLE parted (LIKE keys) PARTITION BY LIST (key)');
my $keys = sub { return script_fails('add', table => 'keys', time => 'time', key => 'key', @_) };
like($keys->(table => 'nothing'), qr/ERROR:  42P01/, 'no table');
like($keys->(table => 'parted'), qr/ERROR:  42809/, 'partitioned');
like($keys->(time => 'other'), qr/ERROR:  42804/, 'a time without time zone');
like($keys->(), qr/ERROR:  22023/, 'a key that is not unique');
on('INSERT INTO keys VALUES (NULL, now()); CREATE UNIQUE INDEX ON keys (key)');
like($keys->(), qr/ERROR:  23502/, 'a key with NULL');
on('DELETE FROM keys');
like($keys->(shard => 5), qr/ERROR:  22023: no shard/, 'the shard of a generator');
my @spaced = (table => 'keys', time => 'time', key => 'key', column => 'other id', shard => 8000);
on('CREATE INDEX keys_by_id ON keys (time)');
like(script_fails('add', @spaced), qr/ERROR:  42P07/, 'another index of the table has the name of one of these');
on('DROP INDEX keys_by_id; CREATE INDEX keys_add_id_key ON orders (id)');
like(script_fails('add', @spaced), qr/ERROR:  42P07/, 'an index of another table has the name of one of these');
on('DROP INDEX keys_add_id_key; CREATE TABLE heirs () INHERITS (keys)');
like(script_fails('add', @spaced), qr/ERROR:  42809/, 'a table that others inherit from');
on('DROP TABLE heirs; CREATE RULE ruled AS ON UPDATE TO keys DO INSTEAD NOTHING');
like(script_fails('add', @spaced), qr/ERROR:  42809/, 'a rule that replaces what the fill does');
on('DROP RULE ruled ON keys; ALTER TABLE keys ADD "a$$b" varchar UNIQUE, ADD CONSTRAINT keys_key PRIMARY KEY (key); ALTER TABLE keys REPLICA IDENTITY USING INDEX keys_key');
script('add', @spaced, key => 'a$$b');
script('primary_key', table => 'keys');
my $identity = q(SELECT indexrelid::regclass FROM pg_index WHERE indisreplident);
is(on($identity), 'keys_add_id_key', 'the old key stays the replica identity that it was');
script('undo', table => 'keys');
is(on($identity), 'keys_key', 'undone, it is again');
on('ALTER TABLE keys DROP CONSTRAINT keys_key, ADD CONSTRAINT keys_key PRIMARY KEY (key) DEFERRABLE');
script('add', @spaced, key => 'a$$b');
like(script_fails('primary_key', table => 'keys'), qr/ERROR:  55000: primary key of table "keys" is deferrable/, 'a deferrable key');
is(on('INSERT INTO keys (key, time) VALUES (1, now()) RETURNING ids.id_shard("other id")'), 5, 'another name of the column');

# A name whose characters are more than one byte, with nothing left for the endings of the indexes' names; and a primary
# key with all that an index can have.
my $long = 'ö' x 31;
on(qq(CREATE TABLE "$long" (key int, time timestamptz, item text, CONSTRAINT old_key PRIMARY KEY (key) INCLUDE (item) WITH (fillfactor = 70)); INSERT INTO "$long" SELECT n, now() FROM generate_series(1, 9) n));
on(q(COMMENT ON CONSTRAINT old_key ON "X" IS 'it''s old'; COMMENT ON INDEX old_key IS 'its index'; ALTER TABLE "X" CLUSTER ON old_key) =~ s/"X"/"$long"/gr);
my $indexes = qq(SELECT pg_get_indexdef(i.indexrelid), pg_get_constraintdef(c.oid), indisclustered, obj_description(indexrelid, 'pg_class'), obj_description(c.oid, 'pg_constraint') FROM pg_index i LEFT JOIN pg_constraint c ON conindid = indexrelid WHERE indrelid = '"$long"'::regclass ORDER BY 1);
my $before = on($indexes);
like(script('add', @spaced, table => qq("$long")), qr/^9\|9\|0$/m, 'a long name of characters with two bytes');
script('primary_key', table => qq("$long"));
is(on(qq(SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class JOIN pg_index ON indexrelid = oid WHERE indrelid = '"$long"'::regclass)), ('ö' x 25) . '_add_id_key ' . ('ö' x 25) . '_by_id', 'its indexes');
script('undo', table => qq("$long"));
is(on($indexes), $before, 'undone, its primary key is as before');

# A name as \d prints it, columns that are called like variables, and a key of three columns with a length or a domain that
# is NOT NULL, though the fill begins with NULL. Settings of the session change neither the place where a fill continues nor
# what it finds, and its triggers run as ever.
on(<<'SQL');
CREATE DOMAIN code5 AS char(5) NOT NULL;
CREATE TABLE "OrderLine" (code code5, bits bit(4), day date, time timestamptz, add_id_time int, add_id_key int, add_id_last int, PRIMARY KEY (code, bits, day));
INSERT INTO "OrderLine" SELECT 'a', n::bit(4), date '2026-12-01' + n * 7, '2026-01-01' FROM generate_series(1, 9) n;
CREATE TABLE changes (isolation text);
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO changes VALUES (current_setting('transaction_isolation')); RETURN NEW; END $$;
CREATE TRIGGER change BEFORE UPDATE ON "OrderLine" FOR EACH ROW EXECUTE FUNCTION change();
SQL
my $filler;
my @lines = (table => 'OrderLine', time => 'time', key => 'code, bits,day', triggers => 'run', batch => 2);
my $other_way = '-c default_transaction_isolation=serializable -c quote_all_identifiers=on -c datestyle=SQL,DMY'
  . ($node->pg_version->major < 19 ? ' -c standard_conforming_strings=off' : '');
{
	local $ENV{PGOPTIONS} = $other_way;
	$filler = start_filling(@lines);
	like(script_fails('add', @lines), qr/ERROR:  55006: another session runs one of these scripts for table "OrderLine"/, 'a second run at once is refused');
}
end_filling($filler);
like(script('add', @lines), qr/^9\|9\|0$/m, 'it continues under other settings');
is(on('SELECT isolation, count(*) FROM changes GROUP BY 1'), 'read committed|9', 'each row was filled once');
is(on('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY bits) AS before FROM "OrderLine") s WHERE id <= before'), 0, 'in the order of the key');
{
	local $ENV{PGOPTIONS} = $other_way;
	script('primary_key', table => 'public.OrderLine');
	script('undo', table => '"OrderLine"');
}
is(on(q(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = '"OrderLine"'::regclass)),
	'CREATE UNIQUE INDEX "OrderLine_pkey" ON public."OrderLine" USING btree (code, bits, day)', 'undone, its primary key is as before');

# Rows that policies hide would get no id, and step 5 would find them.
on('ALTER TABLE "OrderLine" ENABLE ROW LEVEL SECURITY; CREATE POLICY part ON "OrderLine" USING (bits > $$0101$$)');
like(script('add', @lines), qr/^9\|9\|0$/m, 'policies that do not apply to the owner');
script('undo', table => 'OrderLine');
on('ALTER TABLE "OrderLine" FORCE ROW LEVEL SECURITY');
like(script_fails('add', @lines), qr/ERROR:  42501: row-level security of table "OrderLine" .*HINT:  Run ALTER TABLE public\."OrderLine" NO FORCE/s, 'policies that apply to the owner');

# Who owns a table decides what runs when a query of it is planned. Here that is a function of mallory's, who becomes
# superuser if the session's user is one, also after SET ROLE. And what she has planted in a schema of search_path.
my $superuser = getpwuid($<);
as_superuser(<<"SQL");
CREATE ROLE mallory LOGIN;
CREATE ROLE dba LOGIN NOINHERIT IN ROLE mallory, "$superuser";
GRANT CREATE, USAGE ON SCHEMA public, ids TO mallory;
SET SESSION AUTHORIZATION mallory;
CREATE FUNCTION public.format(text, name, name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''planted''; END';
CREATE TABLE public.baits (key int PRIMARY KEY, time timestamptz);
CREATE FUNCTION public.gain() RETURNS void LANGUAGE plpgsql AS \$\$
BEGIN
	IF session_user <> 'mallory' THEN
		PERFORM set_config('role', 'none', false);
		EXECUTE 'CREATE TABLE public.gained ()';
	END IF;
END
\$\$;
CREATE FUNCTION public.evil(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM public.gain(); RETURN 1; END';
SQL
on('CREATE INDEX ON baits (public.evil(1))', 'mallory');
my @baits = (table => 'baits', time => 'time', key => 'key');
my $not_owner = qr/ERROR:  42501: must be owner of table.*HINT:  Connect as /s;
for my $options ('', '-c role=mallory', '-c session_authorization=mallory')
{
	local $ENV{PGOPTIONS} = $options;
	like(script_fails('add', role => $superuser, @baits), $not_owner, "refused in a session of a superuser $options");
}
{
	local $ENV{PGOPTIONS} = '-c role=mallory';
	like(script_fails('add', role => 'dba', @baits), qr/ERROR:  42501: must be owner of table.* in a session of dba, a superuser or a member of one\.\n/s,
		'refused to a member of a superuser');
}
like(script_fails($_, role => $superuser, @baits), $not_owner, "$_: refused in a session of a superuser") for qw(primary_key swap undo);
like(script_fails($_, role => 'mallory', @names), qr/ERROR:  42501: must be owner of table/, "$_: refused to a stranger") for qw(add primary_key swap undo);
script('add', @spaced, table => $long);
is(on(q(SELECT to_regclass('public.gained') IS NULL)), 't', 'and nothing planted has run');

# A second owner in the database, and what may not be skipped in silence.
as_superuser('CREATE ROLE other_owner LOGIN; GRANT CREATE ON SCHEMA public TO other_owner; GRANT USAGE ON SCHEMA ids TO other_owner; GRANT USAGE ON SEQUENCE ids.shardid_seq TO other_owner');
on('CREATE TABLE theirs (key int PRIMARY KEY, time timestamptz); INSERT INTO theirs SELECT n, now() FROM generate_series(1, 9) n; GRANT INSERT ON theirs TO app', 'other_owner');
as_superuser('REVOKE USAGE ON SEQUENCE ids.shardid_seq FROM app');
my @theirs = (role => 'other_owner', table => 'theirs', time => 'time', key => 'key');
my ($usage) = script_fails('add', @theirs) =~ /ERROR:  42501: .* GRANTs .*HINT:  Run (GRANT USAGE ON SCHEMA shardid_admin TO other_owner)\.\n/s;
as_superuser($usage);
like(script_fails('add', @theirs), qr/lack rights.*GRANT USAGE ON SEQUENCE ids\.shardid_seq TO app/s, 'missing GRANTs are found, or the search for them fails');
as_superuser('GRANT USAGE ON SEQUENCE ids.shardid_seq TO app');
like(script('add', @theirs), qr/^9\|9\|0$/m, 'a second owner in the database');
script($_, @theirs[0 .. 3]) for qw(primary_key undo);
is(on(q(SELECT string_agg(relname, ' ') FROM pg_class WHERE relowner = 'other_owner'::regrole AND relkind = 'r')), 'theirs', 'undone, nothing is left');

$node->stop;
done_testing();
