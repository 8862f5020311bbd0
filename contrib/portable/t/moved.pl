# Two generators of contrib/portable/shardid.sql that share a mark: both are right, also if one of them is moved or far ahead of
# the clock. contrib/portable/t/steps.pl moves those that do not.
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $node = new_portable_node('portable');
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

# Two generators with one mark: they wait for each other, and each is right.
query(<<'SQL');
DO $$
BEGIN
    FOR n IN 1 .. 70 LOOP EXECUTE format('CREATE SEQUENCE twin_%s', n); END LOOP;
END
$$
SQL
my ($one, $other) = split /\|/, query(<<'SQL');
SELECT a.relname, b.relname FROM pg_class a, pg_class b
WHERE a.relkind = 'S' AND b.relkind = 'S' AND a.relname LIKE 'twin%' AND b.relname LIKE 'twin%' AND a.oid < b.oid
  AND shardid_mark_of(a.oid) = shardid_mark_of(b.oid) LIMIT 1
SQL
die 'no two generators have one mark' unless $other;
my @twins = map { start_clients($node, 2, "SELECT next_id(1, '$_')", @portable, rounds => 300) } $one, $other;
finish_clients($_) for @twins;
my @found = map { judge_clients([$_]) } @twins;
cmp_ok($found[$_]{ids}, '>', 20, "a generator whose mark is another's, too: $found[$_]{ids} ids") for 0, 1;
is_innocent($found[$_], 'portable: a shared mark', 1) for 0, 1;

# One of them is moved, while sessions draw from both.
my $beside = start_clients($node, 1, "SELECT next_id(1, '$other')", @portable, seconds => rounds(3, 20));
my @moving = map { start_clients($node, $_->[0], $_->[1], @portable, seconds => rounds(3, 20)) } (
	[ 2, "SELECT next_id(1, '$one') FROM generate_series(1, 20)" ],
	[ 1, "WITH before (v) AS MATERIALIZED (SELECT pg_sequence_last_value('$one')), drawn (id) AS MATERIALIZED"
		. " (SELECT next_id(1, '$one') FROM before WHERE v > 0) SELECT id FROM drawn, before WHERE setval('$one', CASE WHEN pg_sleep(0.002) IS NOT NULL THEN v END) > 0" ]);
finish_clients($_) for $beside, @moving;
is_innocent(judge_clients(\@moving), 'portable: moved, with the mark of another', 1);

# Both use one advisory lock: neither is read or set while the other is.
takes_lock($node, $one, "next_id(1, '$_')", 'a draw takes the lock of those that share its mark') for $one, $other;

# A generator that is far ahead of the clock sets the mark to its own time: the other one must not take that as past.
query(<<'SQL');
DO $$
BEGIN
    FOR n IN 1 .. 64 LOOP
        EXECUTE format('CREATE SEQUENCE far_%s', n);
        EXIT WHEN shardid_mark_of(format('far_%s', n)::regclass) = shardid_mark_of('twin_1');
    END LOOP;
END
$$
SQL
is(query(<<'SQL'), '0', 'a generator far ahead hides no move of the one whose mark it shares');
CREATE TEMPORARY TABLE wrong (count int);
DO $$
DECLARE
    far regclass := (SELECT oid FROM pg_class WHERE relname LIKE 'far_%' ORDER BY oid DESC LIMIT 1);
    since timestamptz := date_trunc('day', now() - interval '5 days');
    before bigint;
    first bigint;
    second bigint;
    count int := 0;
BEGIN
    PERFORM next_id(0, far, since, 0, 31);
    FOR i IN 1 .. 20 LOOP
        -- 2^22 ms ahead.
        PERFORM raise_generator(far, id_lower_bound(clock_timestamp() + interval '4194.300 s', since, 0, 31), since, 0, 31);
        PERFORM next_id(0, far, since, 0, 31);
        PERFORM next_id(5, 'twin_1');
        PERFORM pg_sleep(0.003);
        before := pg_sequence_last_value('twin_1');
        WHILE extract(microseconds FROM clock_timestamp())::int % 1000 > 50 LOOP END LOOP;
        first := next_id(5, 'twin_1');
        PERFORM next_id(0, far, since, 0, 31);
        PERFORM setval('twin_1', before);
        second := next_id(5, 'twin_1');
        count := count + (second <= first)::int;
    END LOOP;
    INSERT INTO wrong VALUES (count);
END
$$;
SELECT count FROM wrong;
SQL

$node->stop;
done_testing();
