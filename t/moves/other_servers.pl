# Ids on other servers: logical replication transfers them unchanged, and a foreign table's default draws them on the
# server that has the default.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

# Two shards, and one server for all of them.
my %shard = (1 => undef, 2 => undef);
$shard{$_} = new_node("shard_$_", 'autovacuum = off', allows_streaming => 'logical') for sort keys %shard;
my $all = new_node('all', 'autovacuum = off', allows_streaming => 'logical');
sub on { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql) }

for my $number (sort keys %shard)
{
	on($shard{$number}, <<"SQL");
ALTER DATABASE postgres SET shardid.shard_id = $number;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id($number), call bigserial);
INSERT INTO photos SELECT FROM generate_series(1, 2000);
CREATE PUBLICATION photos FOR TABLE photos;
SQL
}

# The id that the shard generated, and another that the apply worker generates on arrival.
on($all, <<'SQL');
CREATE SEQUENCE arrivals;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(6), call bigint, arrival bigint DEFAULT next_id(7, 'arrivals'));
SQL
for my $number (sort keys %shard)
{
	my $connection = $shard{$number}->connstr . ' dbname=postgres';
	on($all, "CREATE SUBSCRIPTION from_$number CONNECTION '$connection' PUBLICATION photos");
}
my $synced = q(SELECT count(*) = 0 FROM pg_subscription_rel WHERE srsubstate <> 'r');
$all->poll_query_until('postgres', $synced) or die 'not synchronized';

# Both continue from one tick, ahead of their clocks: their ids have the same times and sequence numbers, and only
# differ in the shard.
my $tick = on($all, 'SELECT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 60000) << 10');
on($shard{$_}, "SELECT setval('shardid_seq', $tick)") for sort keys %shard;
for my $round (1 .. 3)
{
	on($shard{$_}, 'INSERT INTO photos SELECT FROM generate_series(1, 1000); INSERT INTO photos DEFAULT VALUES; DELETE FROM photos WHERE call = 17') for sort keys %shard;
}
$shard{$_}->wait_for_catchup("from_$_") for sort keys %shard;

my %sent = map { $_ => on($shard{$_}, 'SELECT id, call FROM photos ORDER BY id') } sort keys %shard;
for my $number (sort keys %shard)
{
	is(on($all, "SELECT id, call FROM photos WHERE id_shard(id) = $number ORDER BY id"),
		$sent{$number}, "shard $number: rows arrive with their ids");
	is( on($all, "SELECT count(*) FROM (SELECT call, lag(call) OVER (ORDER BY arrival) AS previous FROM photos WHERE id_shard(id) = $number) s WHERE call <= previous"),
		0, "shard $number: ids drawn on arrival are in the order of the calls");
}
is(on($all, 'SELECT count(*), count(DISTINCT id) FROM photos'), '10004|10004', 'of two shards none meet');
my $would_meet = on($all, 'SELECT count(*) - count(DISTINCT (id >> 23, id_sequence(id))) FROM photos');
cmp_ok($would_meet, '>=', 3000, "of one shard $would_meet would");
is(on($all, 'SELECT count(DISTINCT arrival), count(DISTINCT id_shard(arrival)), max(id_shard(arrival)) FROM photos'), '10004|1|7', 'each arrival drew its own');
is(on($all, 'SELECT is_called FROM shardid_seq'), 'f', 'none was drawn for a column that arrives');

# An update and a second wave, after the apply workers and the server have been restarted.
my $last = on($all, 'SELECT max(arrival) FROM photos');
$all->stop('immediate');
$all->start;
on($shard{1}, 'UPDATE photos SET call = -call WHERE call <= 10; INSERT INTO photos SELECT FROM generate_series(1, 100)');
$shard{1}->wait_for_catchup('from_1');
is(on($all, "SELECT count(*), count(DISTINCT arrival) FROM photos WHERE arrival > $last"), '100|100', 'after a crash arrivals go on above the last');
is(on($all, 'SELECT count(*) FROM photos WHERE call < 0 AND arrival <= ' . $last), 10, 'an updated row keeps the id it has');

# Foreign tables on the same servers.
on($shard{1}, 'CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id(1), n int)');
my ($host, $port) = ($shard{1}->host, $shard{1}->port);
on($all, <<"SQL");
CREATE EXTENSION postgres_fdw;
CREATE SERVER shard_1 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER shard_1;
CREATE FOREIGN TABLE left_out (n int) SERVER shard_1 OPTIONS (table_name 'orders', batch_size '100');
CREATE FOREIGN TABLE with_default (id bigint DEFAULT next_id(6), n int) SERVER shard_1 OPTIONS (table_name 'orders', batch_size '100');
CREATE SCHEMA imported;
IMPORT FOREIGN SCHEMA public LIMIT TO (orders) FROM SERVER shard_1 INTO imported;
CREATE SCHEMA with_defaults;
IMPORT FOREIGN SCHEMA public LIMIT TO (orders) FROM SERVER shard_1 INTO with_defaults OPTIONS (import_default 'true');
SQL
sub drawn_where
{
	my ($table) = @_;
	on($shard{1}, 'TRUNCATE orders');
	my $before = on($all, 'SELECT last_value FROM shardid_seq');
	on($all, "INSERT INTO $table (n) SELECT generate_series(1, 2500)");
	my $rows = on($shard{1}, 'SELECT count(*), count(DISTINCT id), string_agg(DISTINCT id_shard(id)::text, $$ $$) FROM orders');
	return $rows . ($before eq on($all, 'SELECT last_value FROM shardid_seq') ? ' there' : ' here');
}
is(drawn_where('left_out'), '2500|2500|1 there', 'a column left out of the foreign table: drawn there');
is(drawn_where('with_default'), '2500|2500|6 here', 'a column with a default of its own: drawn here');
my ($code, $stdout, $stderr) = $all->psql('postgres', "\\set VERBOSITY sqlstate\nINSERT INTO imported.orders (n) VALUES (1)");
like($stderr, qr/ERROR:  23502/, 'IMPORT FOREIGN SCHEMA brings the column without its default: it is sent as NULL');
is(drawn_where('with_defaults.orders'), '2500|2500|1 here', 'with import_default it brings the text of the default: drawn here, by this generator');
is( on($all, 'SELECT count(*), bool_and(id_timestamp(id) > now() - interval $$1 hour$$) FROM with_default WHERE id >= id_lower_bound(now() - interval $$1 hour$$)'),
	'2500|t', 'a condition on time finds them');

on($all, "DROP SUBSCRIPTION from_$_") for sort keys %shard;
$_->stop for $all, values %shard;
done_testing();
