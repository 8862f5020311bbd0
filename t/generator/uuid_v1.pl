# UUIDs and ObjectIds that the extension generates are unique and increase over sessions, crashes, clock steps and
# failover, are not ahead of the clock, and each copy of a database has a node of its own.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

$ShardidTest::has_own_identifier = 1;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('made_here', <<'CONF', allows_streaming => 1); });
wal_writer_delay = 10s
autovacuum = off
CONF
sub query { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

# The time of a UUID in 100 ns, and an ObjectId's second and counter, as numbers for the judge.
query(<<'SQL');
CREATE EXTENSION "uuid-ossp";
CREATE FUNCTION ticks(u uuid) RETURNS bigint LANGUAGE sql AS
$$ SELECT (extract(epoch FROM uuid_v1_timestamp(u)) * 1000000)::bigint * 10 + uuid_v1_hundred_ns(u) $$;
CREATE FUNCTION ticks(id bytea) RETURNS bigint LANGUAGE sql AS
$$ SELECT ('x' || encode(substr(id, 1, 4) || substr(id, 10, 3), 'hex'))::bit(56)::bigint $$;
SQL
my $uuid = 'SELECT ticks(uuid_v1())';
my $objectid = 'SELECT ticks(objectid())';
my %function_of = ($uuid => 'uuid_v1()', $objectid => 'objectid()');

# To the judge each number is a time. clock_percent tells it how many of them are in a millisecond: 10,000 times
# 100 ns, 16,777 ObjectIds.
my %judged = (
	$uuid => { clock_percent => 1_000_000 },
	$objectid => { clock_percent => 1_677_700 });

sub judge_numbers
{
	my ($draw, @clients) = @_;
	return judge_clients(\@clients,
		shard_bits => 0, sequence_bits => 0, lead_ms => -1, %{ $judged{$draw} // $judged{$uuid} });
}

# --- Other software reads them.

query("COPY (SELECT uuid_v1() FROM generate_series(1, 10000)) TO '$dir/uuids'");
system("python3 t/oracles/uuid_reader.py <$dir/uuids >$dir/read") == 0 or die 'python3 failed';
query('CREATE TABLE read_by_python (u uuid, version int, variant text, ts timestamptz, is_multicast bool, node macaddr)');
query("SET timezone = 'UTC'; COPY read_by_python FROM '$dir/read'");
is(query('SELECT DISTINCT version, variant, is_multicast FROM read_by_python'),
	'1|specified in RFC 4122|t', "Python's uuid module reads version 1, the RFC's variant, a multicast node");
is(query("SELECT count(DISTINCT u), count(DISTINCT node), count(*) FILTER (WHERE clock_timestamp() - ts NOT BETWEEN '0' AND '1 minute') FROM read_by_python"),
	'10000|1|0', '10,000 of them, of one node and of the last minute');

# --- No later than the clock.

for my $draw ('uuid_v1_timestamp(uuid_v1())', 'objectid_timestamp(objectid())')
{
	is( query("SELECT count(*) FROM (SELECT $draw AS ts, clock_timestamp() AS clock FROM generate_series(1, 20000)) s WHERE ts > clock"),
		0, "$draw: no later than the clock");
}
is(query('SELECT count(DISTINCT t), bool_and(t > before) IS TRUE FROM (SELECT t, lag(t, 1, 0::bigint) OVER (ORDER BY n) AS before FROM (SELECT n, ticks(uuid_v1()) AS t FROM generate_series(1, 20000) n) s) s'),
	'20000|t', 'one statement: each is later than the one before');

# --- Crashes, the clock an hour back after every other.

sub history
{
	my ($draw, $rounds) = @_;
	my @histories;
	set_fake_clock($clock, '+0');
	for my $round (1 .. $rounds)
	{
		my $clients = start_clients($node, 16, $round % 2 ? [ 'BEGIN', $draw, 'ROLLBACK' ] : $draw, pause_ms => rounds(5, 0));
		usleep 200_000 + rand 200_000;
		query('CHECKPOINT') if rand() < 0.5;
		usleep rand 200_000;
		kill_node($node);
		finish_clients($clients);
		set_fake_clock($clock, $round % 2 ? '-1h' : '+0');
		with_fake_clock($clock, sub { start_again($node) });
		push @histories, $clients;
	}
	my $after = start_clients($node, 4, $draw, rounds => 100);
	finish_clients($after);
	return (@histories, $after);
}

my $rounds = rounds(3, 20);
for my $draw ($uuid, $objectid)
{
	my $verdict = judge_numbers($draw, history($draw, $rounds));
	is_innocent($verdict, "$function_of{$draw}, kill -9 and an hour back", $rounds);
}

# The judge can detect duplicates: those of uuid-ossp.
my $ossp = judge_numbers('uuid-ossp', history('SELECT ticks(uuid_generate_v1())', 2));
cmp_ok($ossp->{crossings}, '>', 0, "uuid-ossp: $ossp->{crossings} of $ossp->{ids} are not later than one before them");

# --- The clock set back and forth under load, and too far.

set_fake_clock($clock, '+0');
for my $draw ($uuid, $objectid)
{
	my $clients = start_clients($node, 8, $draw, pause_ms => rounds(5, 0));
	for my $offset ('-0.000010', '-1', '-3600', '+0', '+2', '-0.5')
	{
		usleep 150_000;
		set_fake_clock($clock, $offset);
	}
	usleep 200_000;
	finish_clients($clients, 'stop');
	is_innocent(judge_numbers($draw, $clients), "$function_of{$draw}, the clock set under 8 sessions", 1);
	set_fake_clock($clock, '+0');
}
query('SELECT uuid_v1(), objectid()');
set_fake_clock($clock, '-90000');
for my $function ('uuid_v1()', 'objectid()')
{
	my ($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT $function");
	like($stderr, qr/ERROR:  55000: generator "public\.\w+" is too far ahead of the clock/, "$function: too far ahead, refused");
	like($stderr, qr/DETAIL:  It is \d{8} ms ahead, and shardid\.max_lead is 86400000 ms\.\nHINT:  Set the server's clock right or raise/,
		'by how much, and what to do');
}

# The ends of the time fields.
set_fake_clock($clock, '+' . 90 * 365 * 86400);
SKIP:
{
	skip "the server's time_t has 32 bits and ends in 2038", 2 if query(q(SELECT clock_timestamp() < '2080-01-01')) eq 't';
	my ($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET timezone = 'UTC'; SELECT objectid()");
	like($stderr, qr/ERROR:  2200H: time field of the ids is exhausted\nDETAIL:  The clock is at .*, and the last time that they hold is 2106-02-07 06:28:15\.999\+00/,
		'objectid(): the end in 2106');
	set_fake_clock($clock, '+' . 3300 * 365 * 86400);
	($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET timezone = 'UTC'; SELECT uuid_v1()");
	like($stderr, qr/ERROR:  2200H: time field of the ids is exhausted\nDETAIL:  The clock is at .*, and the last time that they hold is 5236-03-31 21:21:00\.684697\+00/,
		'uuid_v1(): the end in 5236');
}
set_fake_clock($clock, '+0');

# --- Copies.

# Node, clock sequence, the five bytes of ObjectIds.
my $identity = q(SELECT uuid_v1_node(u), uuid_v1_clock_seq(u), substr(objectid(), 5, 5) FROM (SELECT uuid_v1() AS u OFFSET 0) s);
my @original = split /\|/, query($identity);
sub told { return split /\|/, query("SELECT ticks(uuid_v1()), ticks(objectid())", $_[0]) }

sub is_another
{
	my ($database, $what) = @_;
	my @copy = split /\|/, query($identity, $database);
	isnt($copy[0], $original[0], "$what: node $copy[0] where the original has $original[0]");
	isnt($copy[2], $original[2], "$what: other bytes in ObjectIds");
	is(query($identity, $database), join('|', @copy), "$what: which stay");
	return;
}

sub goes_on_above
{
	my ($database, $what, @told) = @_;
	my @now = told($database);
	cmp_ok($now[$_], '>', $told[$_], "$what: times go on from the original's") for 0 .. 1;
	return;
}

my @told = told();
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", $node->connstr('postgres') ], 'dump');
query('CREATE DATABASE restored');
set_fake_clock($clock, '-1h');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$dir/dump" ], 'restore');
goes_on_above('restored', 'a dump restored an hour behind', @told);
is_another('restored', 'a dump restored');
set_fake_clock($clock, '+0');

for my $strategy ('wal_log', 'file_copy')
{
	query('CREATE DATABASE origin TEMPLATE postgres STRATEGY file_copy', 'template1') unless query(q(SELECT 1 FROM pg_database WHERE datname = 'origin'));
	@told = told('origin');
	@original = split /\|/, query($identity, 'origin');
	query("CREATE DATABASE copy TEMPLATE origin STRATEGY $strategy");
	set_fake_clock($clock, '-1h');
	goes_on_above('copy', "TEMPLATE, $strategy", @told);
	is_another('copy', "TEMPLATE, $strategy");
	set_fake_clock($clock, '+0');
	query('DROP DATABASE copy');
}

# A promoted standby is the same database: the same node, and its times continue.
@original = split /\|/, query($identity);
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('promoted');
$standby->init_from_backup($node, 'base', has_streaming => 1);
with_fake_clock($clock, sub { $standby->start });
my $primary = $node;
@told = told();
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
set_fake_clock($clock, '-1h');
$standby->promote;
$node = $standby;
goes_on_above('postgres', 'a standby promoted an hour behind', @told);
is(query($identity), join('|', @original), 'and it has the same node and bytes');

# If the original runs as well, the promoted standby needs another identity.
@told = told();
query('SELECT renew_identity()');
goes_on_above('postgres', 'renew_identity()', @told);
is_another('postgres', 'renew_identity()');
@original = split /\|/, query($identity);
query('BEGIN; SELECT renew_identity(); SELECT uuid_v1(), objectid(); ROLLBACK');
is(query($identity), join('|', @original), 'rolled back it is as it was');

$node->stop;
done_testing();
