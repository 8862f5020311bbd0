# Leased generators: settled_below is right for a window that begins minutes ahead of the clock, an idle generator
# delivers its last row there, too, and no reader moves it out of its window.
use Leases;
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('leases', 'autovacuum = off'); });
sub query { return $node->safe_psql('postgres', $_[0]) }
query(registry_here());
query(<<'SQL');
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
CREATE SEQUENCE first CACHE 2;
CREATE SEQUENCE second CACHE 2;
CREATE TABLE photos (id bigint PRIMARY KEY);
SQL
query("SELECT shardid_lease.lease_shard('ids', 'here', generator => 'first', shard => 7)");
query("INSERT INTO photos VALUES (next_id(generator => 'first'))");

# The next holder of an evicted shard begins after the window of the one before.
query("SELECT shardid_lease.evict_shard('ids', 7)");
query("SELECT shardid_lease.lease_shard('ids', 'here', generator => 'second', shard => 7)");
my $insert = "INSERT INTO photos VALUES (next_id(generator => 'second')) RETURNING id";
my $ahead = query("SELECT extract(epoch FROM id_timestamp(next_id(generator => 'second')) - clock_timestamp())::int");
cmp_ok($ahead, '>', 200, "the window begins $ahead s ahead of the clock");

my $writer = open_session($node);
my $held = ask($writer, "BEGIN; $insert;");
my $later = query($insert);
cmp_ok($later, '>', $held, 'a later id is committed');
cmp_ok(query("SELECT settled_below('second')"), '<=', $held, 'the bound stays below the id of an open transaction');
is(query("SELECT settled_before < id_timestamp($later) + interval '1 ms' AND held_back_by > 0 FROM id_generator_status('second')"), 't',
	'which is named');
ask($writer, 'COMMIT;');
query("SELECT settled_below('second')");
cmp_ok(query("SELECT settled_below('second')"), '>', $later, 'after its end the second call has all rows');

# A reader goes no further than a draw would: neither the clock of a moment nor an expired window moves the generator.
set_fake_clock($clock, '+7200');
my $last = query('SELECT last_value FROM second');
query("SELECT settled_below('second')");
is(query('SELECT last_value FROM second'), $last, 'a wrong clock does not move it out of its window');
set_fake_clock($clock, '+0');
cmp_ok(query($insert), '>', $later, 'and ids continue in the window');

# A row of a dump whose sequence does not exist, as a partial restore leaves it, stops no generator that has a layout.
query(q(CREATE SEQUENCE own CACHE 2));
query(q(SELECT next_id(1, 'own')));
query(<<'SQL');
INSERT INTO shardid_lease.leased_generator
SELECT gen_random_uuid(), lease, 'public.gone', server, space, 8, registry, state, epoch, shard_bits, sequence_bits
FROM shardid_lease.leased_generator LIMIT 1
SQL
is(query(q(SELECT settled_before IS NOT NULL, settled_below('own') > 0, next_id(1, 'own') > 0 FROM id_generator_status('own'))), 't|t|t',
	'a row that is left over stops no generator that has a layout');

# The sequence of such a row, renamed, stays stopped, whatever bound its storage; and readers fail at no row.
query(q(CREATE SEQUENCE gone CACHE 2));
query(q(SELECT raise_generator('gone', 0)));
query(q(ALTER SEQUENCE gone RENAME TO renamed));
query(q(SELECT settled_below('renamed')));
$node->psql('postgres', q(SELECT next_id(1, 'renamed')), stderr => \my $error);
like($error, qr/"public.renamed" may be leased under another name/, 'raised, renamed and read, it generates no id without its lease');
query(q(UPDATE shardid_lease.leased_generator SET generator = 'public.first' WHERE generator::text = 'public.gone'));
my $all = q(FROM unnest(ARRAY['own', 'renamed', 'first']) name, LATERAL id_generator_status(name::regclass));
is(query("SELECT count(settled_before) $all"), 3, 'also of a generator with two rows the status is shown');
is(query(<<'SQL'), '3|t', 'also beside parallel workers');
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET parallel_leader_participation = off;
CREATE TABLE many AS SELECT name FROM generate_series(1, 1000), unnest(ARRAY['own', 'renamed', 'first']) name;
ANALYZE many;
SELECT count(settled_before), count(*) > 0 FROM (SELECT DISTINCT name FROM many) names, LATERAL id_generator_status(name::regclass);
SQL

close_session($writer);
$node->stop;
done_testing();
