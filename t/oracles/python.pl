# UUIDs of version 1, 6 and 7, and ids as short text, compared with Python: with its uuid module, which truncates the time to
# a microsecond, counted from 1582, as we do, so each value must be exactly the same, in every century; and with its base64
# module.
use ShardidTest;

my $node = new_node('oracles', "timezone = 'UTC'");
sub query { return $node->safe_psql('postgres', $_[0]) }

# Each run has new values; the seed repeats them.
my $seed = $ENV{SHARDID_SEED} || int rand 1 << 31;
my $count = rounds(30_000, 100_000);
note "SHARDID_SEED=$seed";

# The lines that Python prints, as a table.
sub load_from_python
{
	my ($what, $table, $columns) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir() . "/$table";
	system("python3 t/oracles/python_oracle.py $what $count $seed >$file") == 0 or die 'python3 failed';
	query("CREATE TABLE $table ($columns); COPY $table FROM '$file'");
	is(query("SELECT count(*) FROM $table"), $count, "Python made $count $table");
	return;
}

# Nine of ten UUIDs have this version, the others are any bits.
for my $version (1, 6)
{
	my $table = "version_$version";
	load_from_python($version, $table, 'u uuid, ts timestamptz, hundred_ns int, clock_seq int, node macaddr');
	is( query("SELECT count(ts) > 0.9 * $count, count(ts) < $count, min(ts), max(ts) FROM $table"),
		't|t|1582-10-15 00:00:00+00|5236-03-31 21:21:00.684697+00',
		"UUIDs of version $version, from the first time to the last");
	is( query(<<"SQL"), 0, "of version $version each part is Python's, of which uuid_v${version}_from makes it again");
SELECT count(*) FROM $table
WHERE (uuid_v${version}_timestamp(u), uuid_v${version}_hundred_ns(u), uuid_v${version}_clock_seq(u), uuid_v${version}_node(u))
      IS DISTINCT FROM (ts, hundred_ns, clock_seq, node)
   OR uuid_v${version}_from(ts, clock_seq, node, hundred_ns) <> u
SQL
}

# Conversion to the other version and back; version 6 is in the order of time.
for my $pair ([ 1, 6 ], [ 6, 1 ])
{
	my ($from, $to) = @$pair;
	is( query(<<SQL), 0, "version $from as $to is what Python's parts make, and back the same; NULL for what is neither");
SELECT count(*) FROM version_$from, uuid_v${from}_to_v$to(u) other
WHERE other IS DISTINCT FROM uuid_v${to}_from(ts, clock_seq, node, hundred_ns)
   OR uuid_v${to}_to_v$from(other) IS DISTINCT FROM CASE WHEN ts IS NOT NULL THEN u END
SQL
}
is(query('SELECT count(*) FROM version_6 WHERE uuid_v6_timestamp(upper(u::text)) IS DISTINCT FROM ts'), 0, 'the time of version 6, also of its text');
my $out_of_order = 'SELECT count(*) FROM (SELECT %s > lead(%1$s) OVER (ORDER BY ts, hundred_ns) AS later FROM version_%d WHERE ts IS NOT NULL) s WHERE later';
is(query(sprintf $out_of_order, 'u', 6), 0, 'version 6 sorts by time');
is(query(sprintf $out_of_order, 'uuid_v1_to_v6(u)', 1), 0, 'and so does version 1 made 6');
cmp_ok(query(sprintf $out_of_order, 'u', 1), '>', 3000, 'version 1 does not: the test can see it');

# Version 7: times beyond the year 9999 are only numbers for Python.
load_from_python(7, 'version_7', 'u uuid, ms bigint, first uuid');
is(query("SELECT count(ms) > 0.9 * $count, count(ms) < $count, min(ms), max(ms) FROM version_7"),
	't|t|0|281474976710655', 'UUIDs of version 7, from the first time to the last');
is(query(<<'SQL'), 0, 'uuid_v7_timestamp is Python\'s time');
SELECT count(*) FROM version_7
WHERE extract(epoch FROM uuid_v7_timestamp(u)) * 1000 IS DISTINCT FROM ms
   OR uuid_v7_timestamp(upper(u::text)) IS DISTINCT FROM uuid_v7_timestamp(u)
SQL
is(query(<<'SQL'), 0, 'uuid_v7_lower_bound of each microsecond in it is Python\'s first UUID');
SELECT count(*) FROM version_7, uuid_v7_timestamp(u) ts, LATERAL (VALUES (0), (1 + ms % 998), (999)) v (us)
WHERE uuid_v7_lower_bound(ts + us * interval '1 us') IS DISTINCT FROM first
SQL
SKIP:
{
	skip 'PostgreSQL reads version 7 from 18 on', 1 if query('SHOW server_version_num') < 180000;
	is(query(<<'SQL'), 0, 'PostgreSQL reads the same, and its own uuidv7()');
SELECT count(*) FROM (SELECT u FROM version_7
                      UNION ALL SELECT uuidv7(n * interval '1 day') FROM generate_series(-9999, 9999) n) v
WHERE uuid_v7_timestamp(u)
      IS DISTINCT FROM CASE WHEN uuid_extract_version(u) = 7 THEN uuid_extract_timestamp(u) END
SQL
}

# Each id's text, each text's id, and the texts that are refused.
load_from_python('ids', 'ids', 'id bigint, text text, typed text');
is(query('SELECT count(*) FROM ids WHERE id < 0') > $count / 200, 1, 'negative ones among them');
is(query('SELECT count(*) FROM ids WHERE id_to_text(id) <> text OR id_from_text(text) <> id'), 0, 'id_to_text writes as Python does, and id_from_text reads it');
is(query('SELECT count(*) FROM ids WHERE id_from_text(typed) <> id'), 0, 'in either case, and with O, I and L');
is( query('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY text COLLATE "C") AS before FROM ids) s
	WHERE (before < 0, before) > (id < 0, id)'),
	0, 'the texts sort as the unsigned ids do');

load_from_python('texts', 'texts', 'text text, id bigint');
query(<<'SQL');
CREATE FUNCTION read(text text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN id_from_text(text);
EXCEPTION WHEN invalid_text_representation THEN
    RETURN NULL;
END
$$
SQL
is(query("SELECT count(id) > $count / 10, count(*) - count(id) > $count / 10 FROM texts"), 't|t', 'good and bad ones');
is(query('SELECT count(*) FROM texts WHERE read(text) IS DISTINCT FROM id'),
	0, 'id_from_text takes those that Python takes, for the same ids, and no other');

$node->stop;
done_testing();
