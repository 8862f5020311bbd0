# Wherever a DEFAULT or another expression with next_id is evaluated outside a query (ALTER TABLE, EXECUTE, a
# bound of a partition and a CHECK of a domain), each row gets an id of its own, with the rights that
# next_id needs; and queries are planned as before. COPY has t/generator/copy.pl.
use ShardidTest;

my $rows = 2000;
my $node = new_node('outside_queries', "autovacuum = off\n");
sub query { return $node->safe_psql('postgres', join "\n", @_) }
sub error_of { return error_on($node, @_) }

query(<<'SQL');
ALTER DATABASE postgres SET shardid.shard_id = 7;
CREATE FUNCTION in_sql(shard int) RETURNS bigint LANGUAGE sql RETURN next_id(shard);
CREATE FUNCTION of_argument(id bigint) RETURNS bigint LANGUAGE sql RETURN id + 1;
CREATE DOMAIN own_id AS bigint DEFAULT next_id(5);
SQL

# A column that is added, or takes another type: an id for each row.
query("CREATE TABLE t AS SELECT generate_series(1, $rows) AS n");
for my $type ('bigint DEFAULT next_id(5)', 'bigint DEFAULT next_id()', 'bigint DEFAULT in_sql(5)', 'own_id',
	'bigint DEFAULT of_argument(next_id(5))', 'text DEFAULT coalesce(next_id(5), 0)', 'uuid DEFAULT uuid_v1()')
{
	query("ALTER TABLE t ADD COLUMN id $type");
	is(query('SELECT count(*), count(DISTINCT id) FROM t'), "$rows|$rows", "ADD COLUMN id $type");
	query('ALTER TABLE t DROP COLUMN id');
}
query('DROP TABLE t');

# Commands whose arguments are planned outside a query, as defaults are.
is(query('PREPARE shard_of(bigint) AS SELECT id_shard($1);', 'EXECUTE shard_of(next_id(5)); EXECUTE shard_of(next_id())'),
	"5\n7", 'EXECUTE');
is(query('CREATE TABLE t (n bigint) PARTITION BY LIST (n); CREATE TABLE t_0 PARTITION OF t FOR VALUES IN (next_id(5))',
		q{; SELECT pg_get_expr(relpartbound, oid) ~ '^FOR VALUES IN \(''\d{19}''\)$' FROM pg_class WHERE relname = 't_0'; DROP TABLE t}),
	't', 'a bound of a partition');
for my $refused (
	'CREATE INDEX ON t ((next_id(5)))',
	'CREATE INDEX ON t (n) WHERE next_id(5) > 0',
	'CREATE TABLE other (n int) PARTITION BY LIST ((next_id(n)))',
	'CREATE TABLE other (n int, id bigint GENERATED ALWAYS AS (next_id(5)) STORED)')
{
	like(error_of("CREATE TEMPORARY TABLE t (n int); $refused"), qr/^42P17: .*immutable/i, "refused as volatile: $refused");
}

# A query, prepared or not, is planned and shown as before.
query('CREATE TABLE t (id bigint DEFAULT next_id(5), n int)');
like(query('EXPLAIN (VERBOSE, COSTS off) SELECT next_id(5), objectid()'), qr/^  Output: next_id\(5, [^()]*\), objectid\(\)$/m, 'EXPLAIN');
like(query('PREPARE drawn AS INSERT INTO t (n) VALUES ($1); SET plan_cache_mode = force_generic_plan;',
		'EXPLAIN (VERBOSE, COSTS off) EXECUTE drawn(1)'), qr/ Output: next_id\(5, [^()]*\), \$1$/m, 'a prepared statement');
like(query(q(SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass)), qr/^next_id\(5\)$/, 'the default is as it was');
# A domain's CHECK is planned once in a session, and runs with the rights of the current role each time.
my $next_id = 'FUNCTION next_id(int, regclass, timestamptz, int, int)';
query("CREATE ROLE loader; GRANT USAGE ON SEQUENCE shardid_seq TO loader; CREATE DOMAIN for_loader AS bigint CHECK (value < next_id(5))");
my $as_both = 'SELECT 1::text::for_loader; SET ROLE loader; SELECT 2::text::for_loader';
is(query($as_both), "1\n2", 'a CHECK of a domain, by two roles');
query("REVOKE EXECUTE ON $next_id FROM public");
is(error_of($as_both), '42501: permission denied for function next_id', 'the second without EXECUTE');
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
$node->stop;
done_testing();
