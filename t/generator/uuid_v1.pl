# UUIDs and ObjectIds that the extension generates are unique and increase over sessions, crashes and clock steps, and are
# not ahead of the clock. The server is killed under load, and its clock is set back by as much as an hour.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('made_here', <<'CONF'); });
wal_writer_delay = 10s
autovacuum = off
CONF
sub query { return $node->safe_psql('postgres', $_[0]) }

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

# --- The clock set back and forth under load.

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

$node->stop;
done_testing();
