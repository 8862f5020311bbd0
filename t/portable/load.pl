# portable/shardid.sql, judged like the extension: under load, with sessions that are cancelled, and beside ALTER SEQUENCE.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Portable;
use ShardidTest;

my $node = new_portable_node('portable');
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

# Load: ids one by one, in bulk and many at once.
query(<<'SQL');
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), n int);
CREATE SEQUENCE narrow;
SQL
my %times = (
	'SELECT next_id(5)' => 300,
	'INSERT INTO photos DEFAULT VALUES RETURNING id' => 300,
	'INSERT INTO photos (n) SELECT generate_series(1, 200) RETURNING id' => 30,
	'SELECT next_ids(5, 2000)' => 30);
my @loads = map { start_clients($node, 4, $_, @portable, rounds => $times{$_} * rounds(1, 20)) } sort keys %times;
finish_clients($_) for @loads;
my $verdict = judge_clients(\@loads);
cmp_ok($verdict->{ids}, '>', 2000, "16 sessions drew $verdict->{ids} ids");
is_innocent($verdict, 'portable: load', 1);

# Many sessions that generate ids one by one, without the lock.
query('CREATE SEQUENCE shared; CREATE TABLE notes (id bigint PRIMARY KEY DEFAULT next_id(5, \'shared\'))');
for my $sessions (16, 64)
{
	my @many = map { start_clients($node, $sessions / 2, $_, @portable, rounds => int(2000 / $sessions) * rounds(1, 20)) }
	  (q{SELECT next_id(5, 'shared')}, 'INSERT INTO notes DEFAULT VALUES RETURNING id');
	finish_clients($_) for @many;
	is_innocent(judge_clients(\@many), "portable: $sessions sessions without the lock", 1);
}
my $narrow_draw = q{SELECT next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0)};
my $narrow = start_clients($node, 4, $narrow_draw, @portable, rounds => rounds(60, 1000));
finish_clients($narrow);
is_innocent(judge_clients([$narrow], shard_bits => 22, sequence_bits => 0), 'portable: each waits for its millisecond', 1);

# At a low rate each millisecond starts one further than the one before ended, within an eighth of the range: low bits are even.
query('CREATE SEQUENCE calm');
my @starts = split /\n/, query(q{SELECT id_sequence(next_id(5, 'calm')) FROM generate_series(1, 600) n WHERE pg_sleep(0.0012 + n * 0) IS NOT NULL});
is($starts[-1], 128 + ($starts[0] + 599) % 128, 'starts are even, in 128 .. 255');

# A double holds no millisecond of an epoch so early exactly.
is(query(<<'SQL'), 0, 'an early epoch: no id is later than the clock');
CREATE SEQUENCE early;
SELECT count(*) FILTER (WHERE id_timestamp(id, '4713-01-01 BC', 0, 9) > clock)
FROM (SELECT next_id(0, 'early', '4713-01-01 BC', 0, 9) AS id, clock_timestamp() AS clock FROM generate_series(1, 30000) OFFSET 0) s;
SQL

# What a draw costs: the transaction's xid, and no subtransaction has one.
my $subtransactions = q(SELECT sum(blks_zeroed + blks_hit + blks_read) FROM pg_stat_slru WHERE lower(name) LIKE 'subtrans%');
my $looked_up = query($subtransactions);
is( query(<<'SQL'), '1', '2000 draws of a transaction take one xid');
SELECT pg_snapshot_xmax(pg_current_snapshot()) AS before \gset
BEGIN;
SELECT count(next_id(5, 'calm')) FROM generate_series(1, 1000) \g /dev/null
SELECT count(*) FROM next_ids(5, 1000, 'calm') \g /dev/null
COMMIT;
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - :before;
SQL
is(query($subtransactions), $looked_up, 'and pg_subtrans is not looked at');

# The same load convicts the recipe.
query(slurp_file('bench/baseline.sql'));
my $recipe = { duplicates => 0 };
for my $round (1 .. 10)
{
	my $clients = start_clients($node, 16, 'SELECT baseline.next_id() FROM (SELECT generate_series(1, 1000)) s',
		@portable, rounds => 2);
	finish_clients($clients);
	$recipe = judge_clients([$clients]);
	last if $recipe->{duplicates};
}
cmp_ok($recipe->{duplicates}, '>', 0, "the recipe repeats $recipe->{duplicates} of $recipe->{ids} ids");

# Sessions that are cancelled at any moment, time and again, leave no lock behind and take nothing with them.
my $busy = start_clients($node, 6, q{SELECT next_id(5) FROM (SELECT generate_series(1, 50)) s}, @portable,
	tolerate => '57014');
query(<<"SQL");
DO \$\$
BEGIN
    FOR n IN 1 .. @{[ rounds(500, 20000) ]} LOOP
        PERFORM pg_stat_clear_snapshot();
        PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT next_id(5) FROM%' AND pid <> pg_backend_pid();
        PERFORM pg_sleep(0.0002 + random() / 1000);
    END LOOP;
END
\$\$
SQL
finish_clients($busy, 1);
my $cancelled = judge_clients([$busy]);
cmp_ok($cancelled->{ids}, '>', 0, "cancelled sessions were told $cancelled->{ids} ids");
is_innocent($cancelled, 'portable: sessions cancelled', 1);
is(query(q(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')), 0, 'and leave no lock');
# The first of these ids is generated in another way than the next ones, each of which opens a millisecond.
is( query(<<'SQL'), '0|t', 'a transaction that goes on after draws holds no advisory lock; nor one whose draw failed');
BEGIN;
SELECT next_id(5) FROM generate_series(1, 10) n WHERE pg_sleep(0.002 + n * 0) IS NOT NULL \g /dev/null
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() \gset
SAVEPOINT s;
DO $$ BEGIN PERFORM next_id(8192); EXCEPTION WHEN numeric_value_out_of_range THEN END $$;
SELECT :count, count(*) = 0 FROM pg_locks WHERE locktype = 'advisory';
SQL

# Nobody waits for ALTER SEQUENCE with the lock in hand: whoever altered a generator can draw from it.
query('CREATE SEQUENCE altered; SELECT next_id(5, \'altered\')');
my $waiting;
my $altering = IPC::Run::start(
	[
		'psql', '-XAtq', '-d', $node->connstr('portable'), '-c', 'SET deadlock_timeout = \'100ms\'', '-c', 'BEGIN',
		'-c', 'ALTER SEQUENCE altered NO MAXVALUE', '-c', 'SELECT pg_sleep(1)',
		'-c', 'SELECT next_id(5, \'altered\') > 0', '-c', 'COMMIT'
	],
	'>', \my $altered, '2>&1', IPC::Run::timer(30));
$node->poll_query_until('portable', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(1)%'));
my @blocked = map { start_clients($node, 2, q(SELECT next_id(5, 'altered')), @portable, rounds => 5) } 1;
$altering->finish;
finish_clients($_) for @blocked;
like($altered, qr/^t$/m, 'who alters a generator draws from it while others wait');

$node->stop;
done_testing();
