# UUIDs of version 1, 6 and 7, compared with Python, which truncates the time to a microsecond, counted from 1582, as we
# do: so each value must be exactly the same, in every century.
use ShardidTest;

my $node = new_node('uuid_oracle', "timezone = 'UTC'");
sub query { return $node->safe_psql('postgres', $_[0]) }

# Each run has new values; the seed repeats them.
my $seed = int rand 1 << 31;
note "seed $seed";

# Python, 100,000 UUIDs for each version: nine of ten have this version, the others are any bits.
my $dir = PostgreSQL::Test::Utils::tempdir();
for my $version (1, 6)
{
	my $table = "version_$version";
	system("python3 t/oracles/uuid_oracle.py $version 100000 $seed >$dir/$table") == 0 or die 'python3 failed';
	query("CREATE TABLE $table (u uuid, ts timestamptz, hundred_ns int, clock_seq int, node macaddr)");
	query("COPY $table FROM '$dir/$table'");
	is(query("SELECT count(*), count(ts) > 90000, count(ts) < 100000, min(ts), max(ts) FROM $table"),
		'100000|t|t|1582-10-15 00:00:00+00|5236-03-31 21:21:00.684697+00',
		"Python read 100,000 UUIDs of version $version, from the first time to the last");
	my %ours = (
		ts => 'timestamp(u)',
		hundred_ns => 'hundred_ns(u)',
		clock_seq => 'clock_seq(u)',
		node => 'node(u)');
	for my $theirs (sort keys %ours)
	{
		my $ours = "uuid_v${version}_$ours{$theirs}";
		is(query("SELECT count(*) FROM $table WHERE $ours IS DISTINCT FROM $theirs"), 0, "$ours is Python's $theirs");
	}
	is( query("SELECT count(*) FROM $table WHERE uuid_v${version}_from(ts, clock_seq, node, hundred_ns) <> u"),
		0,
		"and of Python's parts uuid_v${version}_from makes each again");
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
my $out_of_order = 'SELECT count(*) FROM (SELECT %s > lead(%1$s) OVER (ORDER BY ts, hundred_ns) AS later FROM version_%d WHERE ts IS NOT NULL) s WHERE later';
is(query(sprintf $out_of_order, 'u', 6), 0, 'version 6 sorts by time');
is(query(sprintf $out_of_order, 'uuid_v1_to_v6(u)', 1), 0, 'and so does version 1 made 6');
cmp_ok(query(sprintf $out_of_order, 'u', 1), '>', 10000, 'version 1 does not: the test can see it');

# Version 7: times beyond the year 9999 are only numbers for Python.
system("python3 t/oracles/uuid_oracle.py 7 100000 $seed >$dir/version_7") == 0 or die 'python3 failed';
query("CREATE TABLE version_7 (u uuid, ms bigint, first uuid); COPY version_7 FROM '$dir/version_7'");
is(query('SELECT count(*), count(ms) > 90000, count(ms) < 100000, min(ms), max(ms) FROM version_7'),
	'100000|t|t|0|281474976710655', 'Python read 100,000 UUIDs of version 7, from the first time to the last');
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

$node->stop;
done_testing();
