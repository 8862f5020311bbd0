# Copies of a generator that take its work over: a dump restored into a server whose clock is behind,
# and a standby promoted. Their ids go on above those of the original.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $primary = new_node('primary', <<'CONF', allows_streaming => 1);
wal_consistency_checking = 'sequence'
wal_writer_delay = 10s
autovacuum = off
CONF
$primary->safe_psql('postgres', <<'SQL');
CREATE SCHEMA insta5;
CREATE SEQUENCE insta5.photos_id_seq;
CREATE TABLE insta5.photos (id bigint PRIMARY KEY DEFAULT next_id(5, 'insta5.photos_id_seq'), name text);
CREATE TABLE items (id bigserial, new_id bigint DEFAULT next_id(5, 'items_id_seq'));
CREATE TABLE by_default (id bigint DEFAULT next_id(6));
INSERT INTO insta5.photos (name) SELECT 'photo' FROM generate_series(1, 3000);
INSERT INTO items (new_id) SELECT next_id(5, 'items_id_seq') FROM generate_series(1, 3000);
INSERT INTO by_default SELECT next_id(6) FROM generate_series(1, 3000);
SQL

my %draw = (
	'a named generator' => "SELECT next_id(5, 'insta5.photos_id_seq')",
	'an owned generator' => "SELECT next_id(5, 'items_id_seq')",
	'the default generator' => 'SELECT next_id(6)');
my %told = map { $_ => $primary->safe_psql('postgres', $draw{$_}) } keys %draw;

# Dump and restore.
my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
set_fake_clock($clock, '-1h');
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init;
with_fake_clock($clock, sub { $restored->start });
$restored->safe_psql('postgres', "CREATE DATABASE $_") for 'custom', 'plain';
$primary->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", 'postgres' ], 'pg_dump');
$primary->command_ok([ 'pg_dump', '-f', "$dir/dump.sql", 'postgres' ], 'pg_dump to SQL');
$restored->command_ok([ 'pg_restore', '-j', '2', '-d', 'custom', "$dir/dump" ], 'pg_restore');
$restored->command_ok([ 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', 'plain', '-f', "$dir/dump.sql" ],
	'restored by psql');
for my $database ('custom', 'plain')
{
	for my $generator (sort keys %draw)
	{
		cmp_ok($restored->safe_psql($database, $draw{$generator}),
			'>', $told{$generator}, "$database: $generator goes on, an hour behind");
	}
	is($restored->safe_psql($database, 'SELECT count(*) FROM by_default'), 3000, "$database: rows");
	is( $restored->safe_psql($database,
			q(INSERT INTO insta5.photos (name) VALUES ('new') RETURNING id_shard(id))),
		5,
		"$database: the default works");
}
$restored->stop;

# A standby, its clock 5 seconds behind. Every WAL record of a sequence is checked against the page
# it makes there.
$primary->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
set_fake_clock($clock, '-5');
with_fake_clock($clock, sub { $standby->start });
$primary->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE late;
SELECT count(next_id(5, 'late')) FROM generate_series(1, 100000);
ALTER SEQUENCE late CACHE 2;
SELECT next_id(5, 'late'), nextval('late'), setval('late', 5), next_id(5, 'late');
BEGIN;
ALTER SEQUENCE late RESTART;
SELECT count(next_id(5, 'late')) FROM generate_series(1, 5000);
ROLLBACK;
SELECT next_id(5, 'late');
CHECKPOINT;
SELECT next_id(5, 'late');
SQL
$primary->wait_for_catchup($standby);
my ($code, $stdout, $stderr) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($stderr, qr/ERROR:  25006: cannot execute next_id\(\) in a read-only transaction/,
	'refused on a standby');

# Synchronous: what was told was there, too.
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$primary->reload;
$primary->poll_query_until('postgres', "SELECT sync_state = 'sync' FROM pg_stat_replication");
my $clients = start_clients($primary, 8, 'INSERT INTO insta5.photos (name) VALUES (NULL) RETURNING id;');
usleep 700_000;
kill_node($primary);
finish_clients($clients);
my $lists = read_told($clients);
my $before = judge($lists);
cmp_ok($before->{ids}, '>', 500, "$before->{ids} ids told before the failover");
$standby->promote;
my @after = split /\n/,
  $standby->safe_psql('postgres', "SELECT next_id(5, 'insta5.photos_id_seq') FROM generate_series(1, 5000)");
my $all = judge([ @$lists, \@after ]);
is($all->{twice}, 0, 'none of them comes again');
is($all->{decreases}, 0, 'and each client saw its own increase');
my ($largest) = sort { $b <=> $a } map { @$_ } @$lists;
cmp_ok($after[0], '>', $largest, 'the first after the failover is above all');
cmp_ok(lead_ms($standby, 'insta5.photos_id_seq'), '<=', 6100, 'ahead by what the clock is behind and a second');
unlike(slurp_file($standby->logfile), qr/inconsistent page found/, 'WAL and pages agree');
like($standby->safe_psql('postgres', "SELECT next_id(5, '$_')"), qr/^\d+$/, "$_ works after promotion")
  for 'late', 'items_id_seq', 'shardid_seq';
$standby->stop;
# A killed server leaves its shared memory behind until it is started once more.
start_again($primary);
$primary->stop;
done_testing();
