# Each rule of next_rows, by sessions that are led step by step: which snapshot decides, what a second session does, and
# what a dump, a copy of the database and a standby have.
use ShardidTest;

my $node = new_node('readers', "autovacuum = off\nmax_prepared_transactions = 1\nsynchronous_standby_names = 'nobody'\nsynchronous_commit = local\n",
	allows_streaming => 'logical');
sub query { return $node->safe_psql('postgres', $_[0]) }
query(<<'SQL');
CREATE EXTENSION shardid_readers;
CREATE SEQUENCE g CACHE 2;
CREATE DOMAIN order_id AS bigint;
CREATE TABLE orders (id order_id PRIMARY KEY DEFAULT next_id(1, 'g'), item text);
CREATE TABLE seen (reader text, id bigint, PRIMARY KEY (reader, id));
INSERT INTO orders (item) VALUES ('first');
CREATE FUNCTION rows_of(reader text, at_most int DEFAULT 1000) RETURNS SETOF orders LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT * FROM shardid_readers.next_rows(reader, NULL::orders, at_most); END $$;
CREATE FUNCTION rows_in_sql(reader text) RETURNS SETOF orders LANGUAGE sql AS $$ SELECT * FROM shardid_readers.next_rows(reader, NULL::orders) $$;
CREATE FUNCTION id_of(reader text, at_most int DEFAULT 1000) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE r orders; BEGIN FOR r IN SELECT * FROM shardid_readers.next_rows(reader, NULL::orders, at_most) LOOP END LOOP; RETURN r.id; END $$;
-- Returns when the lock is free.
CREATE FUNCTION waits() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN 1000; END $$;
CREATE FUNCTION fetched() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY EXECUTE 'FETCH ALL FROM c'; END $$;
SQL
my ($writer, $reader) = map { open_session($node) } 1, 2;
my $readers = 0;

# A new reader of orders, from now.
sub add_reader
{
	my (@more) = @_;
	my $name = 'r' . ++$readers;
	query('SELECT pg_sleep(0.002); SELECT shardid_readers.add_reader(' . join(', ', "'$name'", "'orders'", @more) . ')');
	return $name;
}

# The items that it returns now. Rows of the present millisecond are not settled.
sub next_items { return ask($reader, "SELECT pg_sleep(0.002) \\gset\nSELECT item FROM shardid_readers.next_rows('$_[0]', NULL::orders);") =~ s/\n/ /gr }

# A row that is committed while a statement is being executed, which then calls next_rows: it may join the rows to tables.
my $joined = 'SELECT o.item FROM waits(), LATERAL %s n JOIN orders o USING (id) ORDER BY id';
my %ways = (
	'a statement' => [ $joined, q{shardid_readers.next_rows('%s', NULL::orders, waits)} ],
	'a statement around a function' => [ $joined, q{rows_of('%s', waits)} ],
	'a statement around a function that returns one row' => [ $joined, q{(SELECT id_of('%s', waits) AS id)} ],
	'a cursor around a function' => [ "BEGIN; DECLARE c CURSOR FOR $joined; FETCH ALL FROM c; COMMIT", q{rows_of('%s', waits)} ],
	'an argument of EXECUTE' => [ 'PREPARE p(int, bigint) AS SELECT item FROM orders WHERE id = $2; EXECUTE p(waits(), %s)', q{id_of('%s')} ],
	'a cursor within a younger statement' => [ "BEGIN; DECLARE c CURSOR FOR SELECT item FROM %s JOIN orders o USING (id, item); DO 'BEGIN PERFORM waits(); END';
		SELECT * FROM fetched(); COMMIT", q{shardid_readers.next_rows('%s', NULL::orders)} ],
	'WITH that nothing reads' => [ "WITH w AS (INSERT INTO seen SELECT '%s', id FROM waits(), LATERAL %s n JOIN orders o USING (id)) SELECT 'nothing'",
		q{rows_of('%s', waits)} ]);
for my $is_first (0, 1)
{
	for my $way (sort keys %ways)
	{
		my $name = add_reader();
		my ($statement, $call) = @{ $ways{$way} };
		my $sql = sprintf $statement, ($statement =~ /seen/ ? $name : ()), sprintf $call, $name;
		query(q{INSERT INTO orders (item) VALUES ('early'); SELECT pg_sleep(0.002)});
		# In a session's first statement the library may be loaded after it has begun. If that has called a function that
		# returns a set, or is a cursor or EXECUTE, it is refused. Else it returns what had ended before the oldest transaction that is open somewhere; here
		# none is.
		my $refused = $is_first && "$call $statement" =~ /^rows_of|CURSOR|EXECUTE/;
		close_session($reader), $reader = open_session($node) if $is_first;
		ask_safe($reader, "SELECT count(*) FROM shardid_readers.next_rows('$name', NULL::orders, 1);") if !$is_first;
		ask($writer, 'SELECT pg_advisory_lock(1);');
		send_to($reader, "$sql;");
		$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) or die 'no wait';
		query(q{INSERT INTO orders (item) VALUES ('late'); SELECT pg_sleep(0.002)});
		ask($writer, 'SELECT pg_advisory_unlock(1);');
		my $answer = my $said = answer($reader);
		$answer = query("SELECT item FROM seen JOIN orders USING (id) WHERE reader = '$name' ORDER BY id") if $sql =~ /seen/;
		if ($refused) { like(join(' ', $said, next_items($name)), qr/before the library.* early late$/s, "$way, first in its session: is refused") }
		else
		{
			is($answer, $is_first ? 'early' : '', "$way" . ($is_first ? ', first in its session' : '') . ': returns what it sees');
			is(next_items($name), 'late', "$way: the next one returns the rest");
		}
	}
}

# The first statement of a session, around a function, that does not fetch all rows.
my $around = add_reader();
query(q{INSERT INTO orders (item) SELECT 'around' FROM generate_series(1, 3); SELECT pg_sleep(0.002)});
for my $sql (map { $_, s/rows_of/rows_in_sql/r }
	"SELECT FROM rows_of('$around') LIMIT 1", "BEGIN; DECLARE c CURSOR FOR SELECT FROM rows_of('$around'); FETCH 1 FROM c; COMMIT",
	"BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT FROM rows_of('$around'); COMMIT",
	"INSERT INTO seen SELECT '$around', id FROM rows_of('$around') LIMIT 1",
	"CREATE PROCEDURE pg_temp.p() LANGUAGE sql AS \$\$ INSERT INTO seen SELECT '$around', id FROM rows_of('$around') LIMIT 1 \$\$; CALL pg_temp.p()",
	"COPY (SELECT FROM rows_of('$around') LIMIT 1) TO '/dev/null'", "SELECT id_of('$around') FROM orders FOR UPDATE",
	map { ("DO '$_'", "BEGIN; DO '$_'; COMMIT", "CREATE FUNCTION pg_temp.f() RETURNS void LANGUAGE plpgsql AS '$_'; SELECT pg_temp.f()") }
		"DECLARE r record; BEGIN SELECT * INTO r FROM rows_of(''$around''); END", "BEGIN IF EXISTS (SELECT FROM rows_of(''$around'')) THEN END IF; END")
{
	close_session($reader), $reader = open_session($node);
	like(ask($reader, "$sql;"), qr/before the library/, "first in its session: $sql");
}
is(next_items($around), 'around around around', 'it has lost none');
close_session($reader), $reader = open_session($node);
query(qq{SELECT shardid_readers.move_reader('$around', 0)});
for my $sql ("COPY (%s) TO '/dev/null'", 'CREATE TEMPORARY TABLE t AS %s', '%s INTO TEMPORARY t')
{
	ask_safe($reader, sprintf("BEGIN; $sql; ROLLBACK;", "SELECT shardid_readers.next_rows('$around', NULL::orders)"));
	close_session($reader), $reader = open_session($node);
}
ask_safe($reader, "DO 'BEGIN PERFORM FROM shardid_readers.next_rows(''$around'', NULL::orders); END'; SELECT count(*) FROM rows_of('$around');");

SKIP:
{
	skip 'EXPLAIN has SERIALIZE from PostgreSQL 17 on', 1 if $node->pg_version < 17;
	like(error_on($node, "EXPLAIN (ANALYZE, SERIALIZE) SELECT FROM shardid_readers.next_rows('$around', NULL::orders)"), qr/^0A000/, 'EXPLAIN (ANALYZE, SERIALIZE)');
}

# A statement that has waited for a row that was updated executes expressions again. What reads in them is refused; not what is
# executed once, next to functions in such expressions.
my $again = add_reader();
my ($id_of, $next_rows) = ("id_of('$again')", "shardid_readers.next_rows('$again', NULL::orders)");
query(<<"SQL");
CREATE TABLE locked (n bigint, id bigint);
CREATE FUNCTION own(bigint) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN \$1; END';
CREATE FUNCTION sql_id() RETURNS bigint LANGUAGE sql AS \$\$ SELECT max(id) FROM $next_rows \$\$;
CREATE FUNCTION stores() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN CREATE TEMPORARY TABLE s AS SELECT id FROM $next_rows; END \$\$;
CREATE FUNCTION inserts() RETURNS void LANGUAGE plpgsql AS \$\$ DECLARE n bigint; BEGIN WITH s AS (INSERT INTO seen SELECT '$again', id FROM $next_rows RETURNING id) SELECT max(id) INTO n FROM s; END \$\$;
CREATE FUNCTION reads() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN NEW.id = $id_of; RETURN NEW; END \$\$;
CREATE TRIGGER reads BEFORE UPDATE ON locked FOR EACH ROW WHEN (NEW.n = 7) EXECUTE FUNCTION reads();
INSERT INTO locked VALUES (1); INSERT INTO orders (item) VALUES ('kept'); SELECT pg_sleep(0.002);
SQL
my $merge = 'MERGE INTO locked USING generate_series(1, 1) g ON n > 0 WHEN';
for my $sql (
	"UPDATE locked SET id = $id_of", "DELETE FROM locked WHERE $id_of > 0", 'SELECT own(sql_id()) FROM locked ORDER BY n FOR UPDATE',
	"SELECT FROM locked WHERE n = 0 OR n IN (SELECT n * i FROM $id_of i) FOR SHARE",
	"SELECT FROM locked l LEFT JOIN generate_series(1, 2) g ON $id_of > g * l.n FOR UPDATE OF l",
	"WITH w AS (UPDATE locked SET id = $id_of RETURNING id) INSERT INTO seen SELECT '$again', id FROM w",
	"UPDATE locked SET id = f.id FROM (SELECT id FROM $next_rows UNION ALL SELECT id FROM orders WHERE item = 'none') f",
	"$merge MATCHED THEN UPDATE SET id = $id_of WHEN NOT MATCHED THEN INSERT VALUES (1, $id_of)",
	"$merge MATCHED AND $id_of > 0 THEN DELETE", "$merge MATCHED THEN UPDATE SET id = (SELECT max(r.id + n) FROM rows_of('$again') r)",
	(map { "UPDATE locked SET id = 1 FROM $_ f (y) WHERE y = 0 OR y IN (SELECT id FROM $next_rows)" } 'generate_series(1, 3)', '(SELECT n FROM locked GROUP BY n)'),
	"UPDATE locked SET id = 1 WHERE n = 0 OR n IN (SELECT r.id FROM orders o, $next_rows r FOR UPDATE OF o)",
	"UPDATE locked SET id = f.i FROM (VALUES (1, $id_of), (2, 3) UNION ALL SELECT 4, 5::bigint) f (k, i)",
	map { my $with = "WITH v AS (SELECT id FROM $_), w AS MATERIALIZED (SELECT id FROM v) UPDATE locked SET id =";
		("$with (SELECT max(w.id + 0 * n) FROM w)", "$with 1 FROM w WHERE n = 0 OR n IN (SELECT x.id + 0 * n FROM w x)", "$with f.id FROM (SELECT id FROM w UNION ALL SELECT 5::order_id) f")
	} $next_rows, "rows_of('$again')")
{
	like(ask($reader, "$sql;"), qr/may call a function again/, "is refused: $sql");
}
is(next_items($again), 'kept', 'it has lost none');
ask_safe($reader, "SELECT $_() FROM locked FOR UPDATE;") for qw(stores inserts);
for my $sql (
	"UPDATE locked SET id = own(i) FROM $id_of i", "UPDATE locked SET id = own(f.i) FROM (SELECT $id_of AS i) f",
	"UPDATE locked SET id = own((SELECT $id_of))", "WITH w AS (SELECT $id_of AS i) UPDATE locked SET id = own(i) FROM w",
	"WITH w AS (INSERT INTO seen SELECT 'w', id FROM $next_rows RETURNING id) UPDATE locked SET id = (SELECT max(w.id + 0 * n) FROM w)",
	"UPDATE locked SET n = own(n), id = i FROM (VALUES (1, $id_of), (2, 3)) v (k, i) WHERE k = 1",
	"WITH w AS (SELECT id FROM $next_rows UNION ALL SELECT id FROM orders WHERE item = 'none') UPDATE locked SET id = w.id FROM w",
	"UPDATE locked SET n = own(n) RETURNING $id_of", 'UPDATE locked SET n = own(7)', "INSERT INTO locked SELECT n, $id_of FROM locked",
	"SELECT own(n), r.id FROM locked, LATERAL (SELECT n AS of) f, LATERAL rows_of('$again', 9 + of::int) r FOR UPDATE OF locked",
	"$merge MATCHED THEN UPDATE SET id = own(i)" =~ s/generate_series.*g ON/$id_of i ON/r,
	"$merge MATCHED AND n = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (1, $id_of)" =~ s/n > 0/n < 0/r)
{
	my $id = query("TRUNCATE locked; INSERT INTO locked VALUES (1); INSERT INTO orders (item) VALUES ('read') RETURNING id");
	ask($writer, 'SELECT pg_sleep(0.002); BEGIN; UPDATE locked SET n = 2;');
	send_to($reader, "$sql;");
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted}) or die 'no wait' if $sql !~ /INSERT/;
	ask($writer, 'COMMIT;');
	like(answer($reader) . query('SELECT max(id) FROM locked'), qr/$id/, "is executed once: $sql");
}

# An open transaction holds the reader back, not past its first id.
my $name = add_reader();
ask($writer, q{BEGIN; INSERT INTO orders (item) VALUES ('open');});
query(q{INSERT INTO orders (item) VALUES ('after')});
is(next_items($name), '', 'an open transaction with a smaller id is waited for');
is(ask($writer, "SELECT count(*) FROM shardid_readers.next_rows('$name', NULL::orders);"), 0, 'also by itself');
is(query("SELECT held_back_by IS NOT NULL FROM shardid_readers.status WHERE name = '$name'"), 't', 'which the status shows');
ask($writer, 'COMMIT;');
is(next_items($name), 'open after', 'then both rows are returned, in the order of ids');

# Nor does the status wait for locks: any role can hold them on what its reader names.
ask($writer, 'BEGIN; LOCK TABLE orders; ALTER SEQUENCE g RENAME TO renamed;');
is(query("SET statement_timeout = '10s'; SELECT name, behind IS NULL FROM shardid_readers.status WHERE name = '$name'"), "$name|t", 'the status waits for no lock');
ask($writer, 'ROLLBACK;');
is(query("BEGIN; ALTER TABLE orders ALTER id DROP DEFAULT; SELECT behind IS NULL FROM shardid_readers.status WHERE name = '$name'; ROLLBACK"), 'f',
	'nor does it read defaults, of which a table can have many long ones');
sub status_with_error
{
	my ($error) = @_;
	return join ' ', ($node->psql('postgres', <<"SQL"))[1, 2];
BEGIN;
CREATE OR REPLACE FUNCTION shardid_readers.state_of(first bigint, generator regclass, OUT position_time timestamptz, OUT settled_before timestamptz, OUT held_back_by int)
LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'an error' USING ERRCODE = '$error'; END \$\$;
SELECT behind IS NULL FROM shardid_readers.status WHERE name = '$name';
SQL
}
is(status_with_error($_), 't ', "it does not show $_, which any role can cause") for qw(0A000 22008 42501 42P01 55000 55P03);
like(status_with_error('XX001'), qr/^t .*WARNING:  could not read the state of generator public.g: an error/, 'but shows any other');

# A superuser's call executes of the table's owner what SELECT does: expressions of indexes, statistics and checks, which the
# planner evaluates. Nothing else, as adding a reader and its status.
query(<<'SQL');
CREATE ROLE planter;
GRANT CREATE ON SCHEMA public TO planter;
SET ROLE planter;
CREATE FUNCTION planted(item text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN IF current_user <> 'planter' THEN RAISE WARNING 'planted in %', item; END IF; RETURN item; END $$;
CREATE DOMAIN checked AS bigint CHECK (planted('domain') = 'domain');
CREATE SEQUENCE planted_ids CACHE 2;
CREATE TABLE trap (id checked PRIMARY KEY DEFAULT next_id(1, 'planted_ids'), item text, made text GENERATED ALWAYS AS (planted(item)) STORED,
	more bigint DEFAULT next_id(1, planted('planted_ids')::regclass), CHECK (planted('check') = 'check'));
CREATE INDEX ON trap ((planted('index'))) WHERE planted('predicate') = 'predicate';
CREATE STATISTICS planted ON (planted('statistics')), item FROM trap;
CREATE TABLE trap_child (CHECK (planted('child') = 'child')) INHERITS (trap);
CREATE POLICY planted ON trap USING (planted('policy') = 'policy');
ALTER TABLE trap ENABLE ROW LEVEL SECURITY;
INSERT INTO trap (item) VALUES ('row');
INSERT INTO trap_child (item) VALUES ('row of child');
SELECT pg_sleep(0.002);
SQL
sub planted
{
	my ($statement) = @_;
	my (undef, $answer, $said) = $node->psql('postgres', $statement);
	my %places = map { $_ => 1 } $said =~ /planted in (.*)/g;
	return join ' ', $answer =~ s/\n/ /r, '-', sort keys %places;
}
is(planted(q{SELECT shardid_readers.add_reader('trap', 'trap', 0)}), '0 -', 'add_reader executes nothing of the owner');
is(planted(q{SELECT name FROM shardid_readers.status WHERE name = 'trap'}), 'trap -', 'nor does the status');
my $core = planted(q{SELECT item FROM trap WHERE id > 0 ORDER BY id});
like($core, qr/^row row of child - .*index.* predicate/, 'SELECT does');
is(planted(q{SELECT item FROM shardid_readers.next_rows('trap', NULL::trap)}), $core, 'and next_rows the same');
query('DROP TABLE trap CASCADE');

# A plan whose CTEs read others twice: looking for the function in it can be cancelled.
my $ctes = join ', ', 'c0 AS MATERIALIZED (SELECT 1000 AS n)',
	map { sprintf 'c%d AS MATERIALIZED (SELECT a.n FROM c%d a, c%2$d b)', $_, $_ - 1 } 1 .. 45;
like(($node->psql('postgres', "SET statement_timeout = '2s'; WITH $ctes SELECT FROM c45, LATERAL shardid_readers.next_rows('$name', NULL::orders, n) LIMIT 1"))[2],
	qr/canceling statement/, 'looking at a long plan can be cancelled');

# What a session has is left to it: each takes a share, and a third one gets nothing.
my $other = open_session($node);
my $shared = add_reader('NULL', 2);
my $count = "SELECT pg_sleep(0.002) \\gset\nSELECT count(*) FROM shardid_readers.next_rows('$shared', NULL::orders);";
query(q{INSERT INTO orders (item) SELECT 's' FROM generate_series(1, 50)});
my @shares = map { ask($_, "BEGIN; $count") } $reader, $other;
is($shares[0] + $shares[1], 50, "two sessions share 50 rows: @shares");
cmp_ok($shares[0] * $shares[1], '>', 0, 'neither has all');
is(ask($writer, $count), 0, 'a third one gets nothing');
ask($_, 'COMMIT;') for $reader, $other;
query(q{INSERT INTO orders (item) VALUES ('s')});
is(ask($writer, $count), 1, 'until they end');

# move_reader locks the shares in order, and leaves those that another role has added, as drop_reader does.
query("INSERT INTO shardid_readers.own_reader VALUES ('$shared', 'planter', 'orders', 'g', 3, 2, 5)");
my $rows_of_shared = "FROM shardid_readers.reader WHERE name = '$shared'";
query("UPDATE shardid_readers.reader SET moved = moved WHERE name = '$shared' AND share = $_") for 1, 0;
ask($other, "BEGIN; SELECT $rows_of_shared AND share = 1 FOR UPDATE;");
send_to($reader, "BEGIN; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SELECT shardid_readers.move_reader('$shared', 0); COMMIT;");
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted}) or die 'no wait';
is(query("SELECT share $rows_of_shared FOR UPDATE SKIP LOCKED"), 2, 'move_reader locks share 0 before share 1');
ask($other, 'COMMIT;');
answer($reader);
is(query("SELECT string_agg(share || ' ' || position, ', ' ORDER BY share) $rows_of_shared"), '0 0, 1 0, 2 5', 'and moves those of its role');
query("SELECT shardid_readers.drop_reader('$shared')");
is(query("SELECT share $rows_of_shared"), 2, 'drop_reader drops those of its role');
query("SELECT shardid_readers.drop_reader('$shared')");

# A call that waits for its table reads that one, and for the reader with which it has begun, whatever gets their names meanwhile.
query(q{CREATE TABLE former (LIKE orders INCLUDING ALL); CREATE TABLE latter (LIKE orders INCLUDING ALL);
	INSERT INTO former (item) VALUES ('f1'), ('f2'); INSERT INTO latter (item) VALUES ('l1');
	SELECT pg_sleep(0.002), shardid_readers.add_reader('waiting', 'former', 0)});
sub read_during
{
	my ($change, $locked, $type, $by) = (@_, 'former', 'former', 'waiting');
	my $call = qq{SELECT item FROM shardid_readers.next_rows('$by', NULL::$type, 1);};
	# The type is known to the session then: its statement does not wait.
	ask($reader, "BEGIN; $call ROLLBACK;");
	ask($writer, "BEGIN; LOCK TABLE $locked;");
	send_to($reader, $call);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE relation = '$locked'::regclass AND NOT granted") or die 'no wait';
	ask($writer, "$change COMMIT;");
	return answer($reader);
}
is(read_during('ALTER TABLE former RENAME TO renamed; ALTER TABLE latter RENAME TO former;'), 'f1', 'a table that is renamed meanwhile is read');
query('ALTER TABLE former RENAME TO latter; ALTER TABLE renamed RENAME TO former');
is(read_during(q{SELECT shardid_readers.drop_reader('waiting'); SELECT shardid_readers.add_reader('waiting', 'latter', 0);}), '',
	'for a reader that is dropped meanwhile nothing is read');
is(query(q{SELECT item FROM shardid_readers.next_rows('waiting', NULL::latter)}), 'l1', 'the one that has got its name misses nothing');
query(q{CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t (LIKE orders INCLUDING ALL); CREATE TABLE two.t (LIKE orders INCLUDING ALL);
	CREATE TABLE child () INHERITS (one.t); INSERT INTO one.t (item) VALUES ('o1'); INSERT INTO two.t SELECT id, 'copied' FROM one.t;
	SELECT pg_sleep(0.002), shardid_readers.add_reader('moved', 'one.t', 0)});
like(read_during('ALTER SCHEMA one RENAME TO renamed; ALTER SCHEMA two RENAME TO one;', 'child', 'one.t', 'moved'), qr/schema of renamed.t was renamed/,
	'a table whose schema gets the name is not read');
is(query(q{SELECT item FROM shardid_readers.next_rows('moved', NULL::renamed.t)}), 'o1', 'and none is missed');

# An idle call writes nothing within a second, and neither does the reader hold anything back.
my $status = "SELECT %s FROM shardid_readers.status WHERE name = '$name'";
next_items($name);
my $idle = sprintf $status, "pg_current_xact_id_if_assigned() IS NULL OR position_time > '@{[ query(sprintf $status, 'position_time') ]}'::timestamptz + interval '1 s'";
is(ask($reader, "BEGIN; SELECT count(*) FROM shardid_readers.next_rows('$name', NULL::orders) \\gset\n$idle; COMMIT;"), 't', 'an idle call writes nothing');
my $moved = query(sprintf $status, 'moved');
ok($node->poll_query_until('postgres', "SELECT (" . sprintf($status, "moved > '$moved'") . ") FROM shardid_readers.next_rows('$name', NULL::orders) HAVING count(*) = 0"),
	'but after a second it moves');

# A loop without COMMIT gets what the statement that contains it sees, one with COMMIT all.
my $looped = add_reader();
query(q{INSERT INTO orders (item) VALUES ('one'); SELECT pg_sleep(0.002)});
ask($reader, <<"SQL");
DO \$\$ BEGIN FOR n IN 1 .. 2 LOOP
	INSERT INTO seen SELECT '$looped', n.id FROM shardid_readers.next_rows('$looped', NULL::orders) n JOIN orders USING (id);
	INSERT INTO orders (item) VALUES ('two');
	COMMIT;
	PERFORM pg_sleep(0.002);
END LOOP; END \$\$;
SQL
is(query("SELECT string_agg(item, ' ' ORDER BY id) FROM seen JOIN orders USING (id) WHERE reader = '$looped'"), 'one two', 'a loop with COMMIT');

# A dump has the reader and its position, a copy of the database as well. Neither knows new ids of the other.
query(q{INSERT INTO orders (item) VALUES ('dumped')});
# Readers of other roles, of anything, are left out if they could not be restored.
query('GRANT INSERT ON shardid_readers.own_reader TO planter');
ask($writer, <<'SQL');
SET ROLE planter;
CREATE TEMPORARY TABLE passing (id bigint); CREATE TEMPORARY SEQUENCE passing_ids; CREATE VIEW viewed AS SELECT 1 AS id;
CREATE TABLE "two
lines" (id bigint);
CREATE TABLE dropped (id bigint);
INSERT INTO shardid_readers.own_reader
SELECT format('%s %s', tab, generator), 'planter', tab, generator, 1, 0, 0
FROM unnest(ARRAY['orders'::regclass, 'orders_pkey', 'g', 'passing', 'viewed', '"two
lines"', 'dropped', 'pg_class', 'shardid_readers.reader', '0']) tab,
unnest(ARRAY['g'::regclass, 'passing_ids', 'orders', '0']) generator;
DROP TABLE dropped;
RESET ROLE;
SQL
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
system_or_bail('pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres'));
close_session($_) for $writer, $reader, $other;
query('CREATE DATABASE copy TEMPLATE postgres; CREATE DATABASE restored; CREATE DATABASE less; CREATE ROLE owner LOGIN; CREATE DATABASE owned OWNER owner');
system_or_bail('pg_restore', '-e', '-j', '4', '-d', $node->connstr('restored'), $dump);
my $next = "SELECT pg_sleep(0.002) \\gset\nSELECT item FROM shardid_readers.next_rows('$name', NULL::orders) WHERE item !~ '^(s|one|two)\$'";
like(($node->psql('restored', $next))[2], qr/has generated no id since/, 'a restored generator knows no bound');
for my $database (qw(postgres copy restored))
{
	is($node->safe_psql($database, "INSERT INTO orders (item) VALUES ('$database'); $next"), "dumped\n$database", "$database: once, and its own");
}
is($node->safe_psql('restored', "SELECT string_agg(name, ', ' ORDER BY name) FROM shardid_readers.status WHERE role = 'planter'"),
	qq{"two\nlines" g, orders g, pg_class g}, 'a dump leaves out what it could not restore');

# The owner of a database, no superuser, restores them, too. Without a table that is read, none is restored.
my $saved = 'SELECT count(*) FROM shardid_readers.reader';
system_or_bail('pg_restore', '-e', '--no-owner', '--no-privileges', '-U', 'owner', '-d', $node->connstr('owned'), $dump);
is($node->safe_psql('owned', $saved), $node->safe_psql('restored', $saved), 'restored by the owner of the database');
system_or_bail('pg_dump', '-Fc', '-f', $dump, '--exclude-table=latter', $node->connstr('postgres'));
$node->command_fails_like([ 'pg_restore', '-d', $node->connstr('less'), $dump ], qr/"public.latter" does not exist/, 'a dump without a table');
is($node->safe_psql('less', $saved), 0, 'has no reader');

# While PREPARE TRANSACTION waits for a standby, snapshots have its transaction twice (EndPrepare of twophase.c): as many as
# before need not be the same ones.
($writer, $reader, my $preparer) = map { open_session($node) } 1 .. 3;
my $both = add_reader();
next_items($both);
ask($writer, q{SELECT pg_advisory_lock(1); BEGIN; INSERT INTO orders (item) VALUES ('late');});
ask($preparer, q{SET synchronous_commit = on; BEGIN; SELECT pg_current_xact_id();});
query('SELECT pg_current_xact_id()');
send_to($reader, sprintf "$joined;", "shardid_readers.next_rows('$both', NULL::orders, waits)");
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) or die 'no wait';
ask($writer, 'COMMIT;');
send_to($preparer, q{PREPARE TRANSACTION 'twice';});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'}) or die 'no wait';
ask($writer, 'SELECT pg_advisory_unlock(1);');
is(answer($reader), '', 'next to a transaction that is being prepared: returns what it sees');
is(next_items($both), 'late', 'the next one returns the rest');
query(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'});
answer($preparer);
query(q{ROLLBACK PREPARED 'twice'});

# A background worker executes a statement in no portal, and loads the library anew each time.
query(q{CREATE TABLE sent (id int PRIMARY KEY); CREATE PUBLICATION p FOR TABLE sent; SELECT pg_create_logical_replication_slot('s', 'pgoutput')});
$node->safe_psql('copy', <<"SQL");
CREATE TABLE sent (id int PRIMARY KEY);
CREATE FUNCTION reads_more() RETURNS trigger LANGUAGE plpgsql AS \$\$
BEGIN INSERT INTO public.seen SELECT 'worker', id FROM shardid_readers.next_rows('$name', NULL::public.orders); RETURN NULL; END \$\$;
CREATE TRIGGER reads_more AFTER INSERT ON sent FOR EACH ROW EXECUTE FUNCTION reads_more();
ALTER TABLE sent ENABLE ALWAYS TRIGGER reads_more;
CREATE SUBSCRIPTION s CONNECTION \$\$@{[ $node->connstr('postgres') ]}\$\$ PUBLICATION p WITH (create_slot = false, slot_name = s, copy_data = false);
SELECT shardid_readers.move_reader('$name', 0);
SQL
query('INSERT INTO sent VALUES (1)');
ok($node->poll_query_until('copy', q{SELECT count(*) > 0 FROM seen WHERE reader = 'worker'}), 'a background worker reads');

# A standby is promoted that has not received the reader's commit: the rows come again.
my $standby = new_standby($node, 'standby');
query(q{INSERT INTO orders (item) VALUES ('lost')});
$node->wait_for_catchup($standby);
$standby->stop;
is(next_items($both), 'lost', 'a row is read');
$node->stop('immediate');
$standby->start;
$standby->promote;
is($standby->safe_psql('postgres', "SELECT item FROM shardid_readers.next_rows('$both', NULL::orders)"), 'lost', 'a failover has lost that: it comes again');

$standby->stop;
done_testing();
