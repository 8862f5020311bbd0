# Wherever a DEFAULT or another expression with next_id is evaluated outside a query (COPY, ALTER TABLE, EXECUTE, a
# bound of a partition and a CHECK of a domain), each row gets an id of its own, with the rights that next_id needs; and
# queries are planned as before. COPY inserts rows in batches if a DEFAULT generates the ids, as with nextval, and only
# where that is right.
use ShardidTest;

my $rows = 3000;
my $node = new_node('outside_queries', "autovacuum = off\n", allows_streaming => 1);
$node->safe_psql('postgres', 'ALTER DATABASE postgres SET shardid.shard_id = 7');
my $session = open_session($node);
sub query { return ask($session, join ' ', map { "$_;" } @_) }
sub error_of { return query("\\set VERBOSITY verbose\n" . join '; ', @_) =~ /ERROR:  (\w{5}: .*)/ ? $1 : 'none' }

query(<<'SQL');
CREATE EXTENSION pg_walinspect;
CREATE SEQUENCE plain;
CREATE FUNCTION in_sql(shard int) RETURNS bigint LANGUAGE sql RETURN next_id(shard);
CREATE FUNCTION in_plpgsql() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN next_id(5); END';
CREATE FUNCTION of_argument(id bigint) RETURNS bigint LANGUAGE sql RETURN id + 1;
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE DOMAIN own_id AS bigint DEFAULT next_id(5);
SQL

# Whether WAL shows that the SQL inserted its rows in batches; the number of rows; the number of different ids.
sub brought
{
	my ($sql) = @_;
	return query(<<SQL) =~ s/^.*\n//sr;
TRUNCATE t;
SELECT pg_current_wal_insert_lsn() AS start \\gset
$sql;
SELECT CASE WHEN (SELECT count(*) FROM pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn())
                  WHERE record_type LIKE 'MULTI_INSERT%') > 0 THEN 'batches' ELSE 'row by row' END,
       count(*), count(DISTINCT id) FROM t
SQL
}
my $copy = "COPY t (n) FROM PROGRAM 'seq $rows'";

# Defaults with which COPY can insert in batches, and those with which it must not. Each gives a column that is added an
# id for each row, too.
my $batches = "batches|$rows|$rows";
my $row_by_row = "row by row|$rows|$rows";
for my $case (
	[ q(bigint DEFAULT nextval('plain')), $batches ],
	[ q(bigint DEFAULT next_id()), $batches ],
	[ q(bigint DEFAULT next_id(sequence_bits => 10, shard => 5)), $batches ],
	[ q(uuid DEFAULT uuid_v1()), $batches ],
	[ q(bytea DEFAULT objectid()), $batches ],
	[ q(text DEFAULT 'P' || next_id(5)), $batches ],
	[ q(bigint DEFAULT CASE WHEN current_user = 'nobody' THEN 0 ELSE next_id(5) END), $batches ],
	[ q(own_id), $batches ],
	[ q(bigint DEFAULT in_sql(5)), $batches ],
	[ q(bigint DEFAULT of_argument(next_id(5))), $batches ],
	[ q(bigint DEFAULT next_id((random() * 5)::int)), $row_by_row ],
	[ q(bigint DEFAULT next_id(5) + (random() * 0)::int), $row_by_row ],
	[ q(bigint DEFAULT in_plpgsql()), $row_by_row ])
{
	my ($definition, $expected) = @$case;
	query("CREATE TABLE t (id $definition, n int)");
	is(brought($copy), $expected, "$definition: COPY");
	query('ALTER TABLE t DROP COLUMN id', "ALTER TABLE t ADD COLUMN id $definition");
	is(query('SELECT count(*), count(DISTINCT id) FROM t'), "$rows|$rows", "$definition: ADD COLUMN");
	query('DROP TABLE t');
}

# What else decides whether COPY inserts in batches.
query('CREATE TABLE t (id bigint DEFAULT next_id(5), n int)');
is(brought("$copy WHERE n > 1000"), 'batches|2000|2000', 'a condition on the rows');
is(brought("$copy WHERE next_id(5) > 0"), $row_by_row, 'a condition that draws');
is(brought("BEGIN; TRUNCATE t; $copy (FREEZE); COMMIT"), $batches, 'FREEZE');
query('CREATE TRIGGER before BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()');
is(brought($copy), $row_by_row, 'a trigger BEFORE INSERT');
is(error_of('ALTER TABLE t ALTER id SET DEFAULT next_id(8192)', $copy), '22003: shard is out of range', 'an error is what it was');
query('DROP TABLE t');

# Partitions: the default is that of the table that COPY names.
query(<<'SQL');
CREATE TABLE t (id bigint DEFAULT next_id(5), n int) PARTITION BY LIST (n);
CREATE TABLE few PARTITION OF t FOR VALUES IN (1, 2, 3);
CREATE TABLE rest PARTITION OF t DEFAULT;
ALTER TABLE rest ALTER id SET DEFAULT next_id(6);
SQL
is(brought("$copy; COPY rest (n) FROM PROGRAM 'seq 4 1003'"), 'batches|4000|4000', 'a partitioned table and a partition');
is(query('SELECT tableoid::regclass, id_shard(id), count(*) FROM t GROUP BY 1, 2 ORDER BY 1, 2'),
	"few|5|3\nrest|5|2997\nrest|6|1000", 'all with its default');
query('DROP TABLE t');

# A NULL argument makes the id NULL. COPY sees nextval in the place of the call; it must not run for such a row.
query(q(CREATE TABLE t (id bigint DEFAULT next_id(nullif(current_setting('app.shard', true), '')::int), n int)));
is(brought($copy), "batches|$rows|0", 'no shard is set: no id');
is(brought("SET app.shard = 9; $copy"), $batches, 'a shard is set');
is(query('SELECT DISTINCT id_shard(id) FROM t', 'DROP TABLE t'), 9, 'it is that of the ids');

# Rights are those on next_id, and on its sequence.
query('CREATE TABLE t (id bigint DEFAULT next_id(5), n int)');
query('CREATE ROLE loader; GRANT INSERT ON t TO loader; GRANT pg_execute_server_program TO loader');
my $next_id = 'FUNCTION next_id(int, regclass, timestamptz, int, int)';
my $as_loader = "SET ROLE loader; $copy";
sub error_of_loader { my $error = error_of($as_loader); query('RESET ROLE'); return $error }
is(error_of_loader(), '42501: permission denied for sequence shardid_seq', 'without USAGE on the sequence');
query('GRANT USAGE ON SEQUENCE shardid_seq TO loader');
is(brought("$as_loader; RESET ROLE"), $batches, 'with it');
query("REVOKE EXECUTE ON $next_id FROM public");
is(error_of_loader(), '42501: permission denied for function next_id', 'without EXECUTE on next_id');
query("GRANT EXECUTE ON $next_id TO loader; REVOKE EXECUTE ON FUNCTION shardid_support FROM public");
is(brought("$as_loader; RESET ROLE"), $row_by_row, 'without EXECUTE on shardid_support');
query("REVOKE EXECUTE ON $next_id FROM loader; GRANT EXECUTE ON $next_id TO public; GRANT EXECUTE ON FUNCTION shardid_support TO public");
# Citus evaluates parts of such a planned expression, and sends the rest to other nodes: neither is possible with the
# replacement of the call. The extension only looks for Citus's row in pg_extension.
my $as_citus = q(INSERT INTO pg_extension SELECT 1, 'citus', extowner, extnamespace, extrelocatable, extversion
	FROM pg_extension WHERE extname = 'shardid');
is(brought("$as_citus; $copy; DELETE FROM pg_extension WHERE extname = 'citus'"), $row_by_row, 'beside Citus the call stays as it is');

# Commands whose arguments are planned outside a query, as defaults are.
is(query('PREPARE shard_of(bigint) AS SELECT id_shard($1)', 'EXECUTE shard_of(next_id(5))', 'EXECUTE shard_of(next_id())'), "5\n7", 'EXECUTE');
is(query('CREATE TABLE listed (n bigint) PARTITION BY LIST (n)', 'CREATE TABLE one PARTITION OF listed FOR VALUES IN (next_id(5))',
		q{SELECT pg_get_expr(relpartbound, oid) ~ '^FOR VALUES IN \(''\d{19}''\)$' FROM pg_class WHERE relname = 'one'}),
	't', 'a bound of a partition');
for my $refused ('CREATE INDEX ON t ((next_id(5)))', 'CREATE INDEX ON t (n) WHERE next_id(5) > 0',
	'CREATE TABLE other (n int) PARTITION BY LIST ((next_id(n)))', 'CREATE TABLE other (n int, id bigint GENERATED ALWAYS AS (next_id(5)) STORED)')
{
	like(error_of($refused), qr/^42P17: .*immutable/i, "refused as volatile: $refused");
}

# A query, prepared or not, is planned and shown as before.
like(query('EXPLAIN (VERBOSE, COSTS off) SELECT next_id(5), objectid()'), qr/^  Output: next_id\(5, [^()]*\), objectid\(\)$/m, 'EXPLAIN');
like(query('PREPARE drawn AS INSERT INTO t (n) VALUES ($1)', 'SET plan_cache_mode = force_generic_plan',
		'EXPLAIN (VERBOSE, COSTS off) EXECUTE drawn(1)'), qr/ Output: next_id\(5, [^()]*\), \$1$/m, 'a prepared statement');
like(query(q(SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass)), qr/^next_id\(5\)$/, 'the default is as it was');
# A domain's CHECK is planned once in a session, and runs with the rights of the current role each time.
query('CREATE DOMAIN for_loader AS bigint CHECK (value < next_id(5))');
my @as_both = ('SELECT 1::text::for_loader', 'SET ROLE loader', 'SELECT 2::text::for_loader', 'RESET ROLE');
is(query(@as_both), "1\n2", 'a CHECK of a domain, by two roles');
query("REVOKE EXECUTE ON $next_id FROM public");
is(error_of(@as_both), '42501: permission denied for function next_id', 'the second without EXECUTE');
query("GRANT EXECUTE ON $next_id TO public");

# The support functions, of all this and the batches of COPY, and of settled_below, can be called by the planner only.
for my $function (qw(shardid_settled_below_support shardid_support))
{
	like(error_of("SELECT $function($_)"), qr/^(42883|42846|0A000): /, "$function($_)")
	  for 'NULL', q('1'), 'NULL::internal', q('1'::internal), q(internal_in('1'));
}
is(query(<<'SQL'), "shardid_settled_below_support\nshardid_support", 'and no other was added');
SELECT proname FROM pg_proc, pg_depend WHERE pg_proc.oid = objid AND classid = 'pg_proc'::regclass AND deptype = 'e'
AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'shardid') AND 'internal'::regtype = ANY (proargtypes) ORDER BY 1
SQL
close_session($session);
$node->stop;
done_testing();
