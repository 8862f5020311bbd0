# A dump of a member contains a generator's id space, but never a window: a restored generator draws nothing until
# take_over_shard(), even if the original no longer runs; a dump of a registry contains all grants.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $registry = new_node('registry', 'autovacuum = off');
$registry->safe_psql('postgres', <<'SQL');
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('orders', lease => '8 s');
SELECT shardid_lease.reserve_shard('orders', 77, 'by hand');
SQL

# The schema and the sequence have names that need quotes.
my $original = new_node('original', "autovacuum = off\nshardid.lease_timeout = '5s'");
my ($host, $port) = ($registry->host, $registry->port);
$original->safe_psql('postgres', <<"SQL");
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
CREATE SCHEMA "Odd schema";
CREATE SEQUENCE "Odd schema"."Odd 'seq";
CREATE SEQUENCE released_seq;
CREATE SEQUENCE dropped_seq;
SELECT shardid_lease.lease_shard('orders', 'registry');
SELECT shardid_lease.lease_shard('orders', 'registry', format('%I.%I', 'Odd schema', 'Odd ''seq'));
SELECT shardid_lease.lease_shard('orders', 'registry', 'released_seq');
SELECT shardid_lease.lease_shard('orders', 'registry', 'dropped_seq');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id());
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(generator => '"Odd schema"."Odd ''seq"'));
INSERT INTO orders SELECT FROM generate_series(1, 1000);
INSERT INTO photos SELECT FROM generate_series(1, 1000);
SELECT next_id(generator => 'released_seq'), next_id(generator => 'dropped_seq');
SELECT shardid_lease.release_shard('released_seq');
SQL
# A row can remain whose generator is dropped, as after a lost worker or a rollback.
$original->safe_psql('postgres', 'DROP SEQUENCE dropped_seq');
is($original->safe_psql('postgres', "SELECT count(*) FROM shardid_lease.leased_generator WHERE generator::text ~ '^\\d+\$'"),
	1, 'a row of a sequence that was dropped stays for now');

my $membership = <<'SQL';
SELECT string_agg(concat_ws(' ', generator, space, shard, server, registry, origin, state, epoch, shard_bits, sequence_bits), E'\n' ORDER BY origin)
FROM shardid_lease.leased_generator WHERE generator::text !~ '^\d+$'
SQL
my $members = $original->safe_psql('postgres', $membership);
is(scalar(() = $members =~ /^.* orders \d+ registry .* leased/mg), 2, 'two leased generators');
like($members, qr/released_seq orders .* released/m, 'one no more');

my $restored = new_node('restored', "autovacuum = off\nshardid.lease_timeout = '5s'");
$restored->safe_psql('postgres', 'DROP EXTENSION shardid');
my $connection = $original->connstr('postgres');
my %ways = (
	'plain' => [ [ 'pg_dump', '-f', "$dir/plain", $connection ], [ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/plain" ] ],
	'custom' => [ [ 'pg_dump', '-Fc', '-f', "$dir/custom", $connection ], [ 'pg_restore', '--exit-on-error', "$dir/custom" ] ],
	'parallel' => [ [ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/parallel", $connection ], [ 'pg_restore', '--exit-on-error', '-j', '2', "$dir/parallel" ] ],
	'schema_then_data' => [
		[ 'pg_dump', '-Fc', '-f', "$dir/both", $connection ],
		[ 'pg_restore', '--exit-on-error', '--schema-only', "$dir/both" ],
		[ 'pg_restore', '--exit-on-error', '--data-only', "$dir/both" ] ],
	'inserts_and_clean' => [
		[ 'pg_dump', '--inserts', '--clean', '--if-exists', '-f', "$dir/inserts", $connection ],
		[ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/inserts" ],
		[ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-f', "$dir/inserts" ] ]);

my $draw = 'INSERT INTO orders DEFAULT VALUES RETURNING id';
my $held_by = qr/no lease of shard 0 at this time.*DETAIL: .*(?:is|last) held by \S+, port @{[ $original->port ]}, database "postgres"/s;
# The original continues, so that its lease does not expire.
my @originals = start_clients($original, 1, $draw, pause_ms => rounds(20, 0));
for my $way (sort keys %ways)
{
	$restored->safe_psql('postgres', "CREATE DATABASE $way");
	my ($dump, @restores) = @{ $ways{$way} };
	$original->command_ok($dump, "$way: dump");
	for my $restore (@restores)
	{
		my ($program, @arguments) = @$restore;
		$restored->command_ok([ $program, '-d', $way, @arguments ], "$way: restore");
	}
	is($restored->safe_psql($way, $membership), $members, "$way: of what it is a member");
	is($restored->safe_psql($way, 'SELECT count(*) FROM shardid_lease.leased_generator'), 3, "$way: not of what was dropped");
	is($restored->safe_psql($way, 'SELECT count(*) FROM shardid_lease.lease_window'), 0, "$way: no window");
	like(($restored->psql($way, $draw))[2], $held_by, "$way: draws nothing, and says who has its shard");
	is($restored->safe_psql($way, q(SELECT state, "from", until FROM shardid_lease.shard_leases WHERE generator = 'shardid_seq'::regclass)),
		'not held||', "$way: the view says so");
	like(($restored->psql($way, "SELECT next_id(generator => 'released_seq')"))[2], qr/has released its lease/, "$way: what was given back is sealed");
}

# The original stops, and its lease ends: one copy takes its shard over. All their ids differ.
push @originals, start_clients($original, 4, $draw, seconds => 0.5);
finish_clients($originals[1]);
finish_clients($originals[0], 1);
my $until = $original->safe_psql('postgres', q(SELECT until FROM shardid_lease.shard_leases WHERE generator = 'shardid_seq'::regclass));
my $last = $original->safe_psql('postgres', 'SELECT max(id) FROM orders');
$original->stop;
like(($restored->psql('custom', $draw))[2], $held_by, 'nor right after the original has stopped');
$registry->poll_query_until('postgres', q(SELECT until < clock_timestamp() FROM shardid_lease.id_space_shards WHERE shard = 0)) or die;
like(($restored->psql('custom', $draw))[2], qr/expired lease, last held by .*take_over_shard/s, 'nor when its lease is over: it has to be told');
is($restored->safe_psql('custom', 'SELECT shardid_lease.take_over_shard()'), 0, 'it is, and is granted the shard');
my $first = $restored->safe_psql('custom', $draw);
cmp_ok($first, '>', $last, 'its ids are later');
is($restored->safe_psql('custom', "SELECT id_timestamp($first) >= '$until'"), 't', 'from the end of the window on');
my $copies = start_clients($restored, 4, $draw, seconds => 0.5, dbname => 'custom');
finish_clients($copies);
is_innocent(judge_clients([ @originals, $copies ], lead_ms => 9000), 'a leased generator dumped and restored beside the original', 1);
like(($restored->psql('plain', $draw))[2], qr/held by \S+, port @{[ $restored->port ]}, database "custom"/, 'another copy is not');

# The original starts again while its copy draws, and has lost its shard.
$copies = start_clients($restored, 1, $draw, dbname => 'custom', pause_ms => rounds(20, 0));
$original->start;
like(($original->psql('postgres', $draw))[2], qr/is held by \S+, port @{[ $restored->port ]}, database "custom"/,
	'the original, back, has lost its shard');
finish_clients($copies, 1);
$_->stop for $original, $restored;

# A dump of the registry contains all grants.
my $granted = <<'SQL';
SELECT string_agg(to_jsonb(s)::text, E'\n' ORDER BY name) FROM shardid_lease.id_space s
UNION ALL SELECT string_agg(to_jsonb(g)::text, E'\n' ORDER BY space, shard) FROM shardid_lease.granted_shard g
SQL
my $had = $registry->safe_psql('postgres', $granted);
like($had, qr/"name": "orders".*"shard": 77/s, 'what the registry has granted, and what is reserved');
$registry->safe_psql('postgres', 'CREATE DATABASE copy');
$registry->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/registry", $registry->connstr('postgres') ], 'the registry: dump');
$registry->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'copy', "$dir/registry" ], 'the registry: restore');
is($registry->safe_psql('copy', $granted), $had, 'all that the registry has granted');
$registry->safe_psql('copy', 'SELECT shardid_lease.registry_was_restored()');
is($registry->safe_psql('copy', 'SELECT count(*) FROM shardid_lease.id_space WHERE not_before > 0'), 1, 'it can be told that it was restored');

$registry->stop;
done_testing();
