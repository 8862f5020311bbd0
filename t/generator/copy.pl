# COPY inserts rows in batches if a DEFAULT generates the ids, as with nextval, and only where that is right: each row
# gets an id of its own, and the role that copies needs the rights that next_id needs.
use ShardidTest;

my $rows = 3000;
my $node = new_node('copy', "autovacuum = off\n", allows_streaming => 1);
sub query { return $node->safe_psql('postgres', join "\n", @_) }
sub error_of { return error_on($node, @_) }

query(<<'SQL');
CREATE EXTENSION pg_walinspect;
ALTER DATABASE postgres SET shardid.shard_id = 7;
CREATE SEQUENCE plain;
CREATE FUNCTION in_sql(shard int) RETURNS bigint LANGUAGE sql RETURN next_id(shard);
CREATE FUNCTION in_plpgsql() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN next_id(5); END';
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE DOMAIN own_id AS bigint DEFAULT next_id(5);
SQL

# Whether WAL shows that the SQL inserted its rows in batches; the number of rows; the number of different ids.
sub brought
{
	my ($table, $sql) = @_;
	return query(<<SQL) =~ s/^.*\n//sr;
TRUNCATE $table;
SELECT pg_current_wal_insert_lsn() AS start \\gset
$sql;
SELECT CASE WHEN (SELECT count(*) FROM pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn())
                  WHERE record_type LIKE 'MULTI_INSERT%') > 0 THEN 'batches' ELSE 'row by row' END,
       count(*), count(DISTINCT id) FROM $table;
SQL
}

sub copied
{
	my ($table, %params) = @_;
	my $source = $params{source} // "seq $rows";
	return brought($table, "COPY $table (n) FROM PROGRAM '$source' " . ($params{options} // ''));
}

# Defaults with which COPY can insert in batches, and those with which it must not.
my $batches = "batches|$rows|$rows";
my $row_by_row = "row by row|$rows|$rows";
for my $case (
	[ q(bigint DEFAULT nextval('plain')), $batches ],
	[ q(bigint DEFAULT next_id(5)), $batches ],
	[ q(bigint DEFAULT next_id(sequence_bits => 10, shard => 5)), $batches ],
	[ q(uuid DEFAULT uuid_v1()), $batches ],
	[ q(text DEFAULT 'P' || next_id(5)), $batches ],
	[ q(bigint DEFAULT CASE WHEN current_user = 'nobody' THEN 0 ELSE next_id(5) END), $batches ],
	[ q(own_id), $batches ],
	[ q(bigint DEFAULT in_sql(5)), $batches ],
	[ q(bigint DEFAULT next_id((random() * 5)::int)), $row_by_row ],
	[ q(bigint DEFAULT next_id(5) + (random() * 0)::int), $row_by_row ],
	[ q(bigint DEFAULT in_plpgsql()), $row_by_row ])
{
	my ($definition, $expected) = @$case;
	query("CREATE TABLE t (id $definition, n int)");
	is(copied('t'), $expected, "$definition: COPY");
	query('DROP TABLE t');
}

# What else decides whether COPY inserts in batches.
query('CREATE TABLE t (id bigint DEFAULT next_id(5), n int)');
is(copied('t', options => 'WHERE n > 1000'), 'batches|2000|2000', 'a condition on the rows');
is(copied('t', options => 'WHERE next_id(5) > 0'), $row_by_row, 'a condition that draws');
is(brought('t', "BEGIN; TRUNCATE t; COPY t (n) FROM PROGRAM 'seq $rows' (FREEZE); COMMIT"), $batches, 'FREEZE');
query('CREATE TRIGGER before BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()');
is(copied('t'), $row_by_row, 'a trigger BEFORE INSERT');
is(error_of(q(ALTER TABLE t ALTER id SET DEFAULT next_id(8192); COPY t (n) FROM PROGRAM 'seq 3')),
	'22003: shard is out of range', 'an error is what it was');
query('DROP TABLE t');

# Partitions: the default is that of the table that COPY names.
query(<<'SQL');
CREATE TABLE t (id bigint DEFAULT next_id(5), n int) PARTITION BY LIST (n);
CREATE TABLE few PARTITION OF t FOR VALUES IN (1, 2, 3);
CREATE TABLE rest PARTITION OF t DEFAULT;
ALTER TABLE rest ALTER id SET DEFAULT next_id(6);
SQL
is(copied('t'), $batches, 'a partitioned table');
is(query('SELECT tableoid::regclass, id_shard(id), count(*) FROM t GROUP BY 1, 2 ORDER BY 1, 2'),
	"few|5|3\nrest|5|2997", 'all with its default');
is(copied('rest', source => 'seq 4 3003'), $batches, 'a partition');
is(query('SELECT DISTINCT id_shard(id) FROM rest'), 6, 'with its own default');
query('DROP TABLE t');

# A NULL argument makes the id NULL. COPY sees nextval in the place of the call; it must not run for such a row.
query(q(CREATE TABLE t (id bigint DEFAULT next_id(nullif(current_setting('app.shard', true), '')::int), n int)));
is(copied('t'), "batches|$rows|0", 'no shard is set: no id');
is(brought('t', "SET app.shard = 9; COPY t (n) FROM PROGRAM 'seq $rows'"), $batches, 'a shard is set');
is(query('SELECT DISTINCT id_shard(id) FROM t'), 9, 'it is that of the ids');
query('DROP TABLE t');

# Rights are those on next_id, and on its sequence.
query('CREATE TABLE t (id bigint DEFAULT next_id(5), n int)');
query('CREATE ROLE loader; GRANT INSERT ON t TO loader; GRANT pg_execute_server_program TO loader');
my $as_loader = q(SET ROLE loader; COPY t (n) FROM PROGRAM 'seq 3000');
is(error_of($as_loader), '42501: permission denied for sequence shardid_seq', 'without USAGE on the sequence');
query('GRANT USAGE ON SEQUENCE shardid_seq TO loader');
is(brought('t', "$as_loader; RESET ROLE"), $batches, 'with it');
my $next_id = 'FUNCTION next_id(int, regclass, timestamptz, int, int)';
query("REVOKE EXECUTE ON $next_id FROM public");
is(error_of($as_loader), '42501: permission denied for function next_id', 'without EXECUTE on next_id');
query("GRANT EXECUTE ON $next_id TO loader; REVOKE EXECUTE ON FUNCTION shardid_support FROM public");
is(brought('t', "$as_loader; RESET ROLE"), $row_by_row, 'without EXECUTE on shardid_support');
query('GRANT EXECUTE ON FUNCTION shardid_support TO public');
# Citus evaluates parts of such a planned expression, and sends the rest to other nodes: neither is possible with the
# replacement of the call. The extension only looks for Citus's row in pg_extension.
my $as_citus = q(INSERT INTO pg_extension SELECT 1, 'citus', extowner, extnamespace, extrelocatable, extversion
	FROM pg_extension WHERE extname = 'shardid');
is(brought('t', "$as_citus; COPY t (n) FROM PROGRAM 'seq $rows'; DELETE FROM pg_extension WHERE extname = 'citus'"),
	$row_by_row, 'beside Citus the call stays as it is');

$node->stop;
done_testing();
