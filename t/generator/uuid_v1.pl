# UUIDs and ObjectIds that the extension generates are unique and increase over sessions, crashes and clock steps, and are
# not ahead of the clock. Each copy of a database has a node of its own in UUIDs of version 1, other bytes in ObjectIds,
# and times above the original's, also an hour behind; a promoted standby is the same database, until renew_identity().
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
CREATE FUNCTION ticks(u uuid) RETURNS bigint LANGUAGE sql AS
$$ SELECT (extract(epoch FROM uuid_v1_timestamp(u)) * 1000000)::bigint * 10 + uuid_v1_hundred_ns(u) $$;
CREATE FUNCTION ticks(id bytea) RETURNS bigint LANGUAGE sql AS
$$ SELECT ('x' || encode(substr(id, 1, 4) || substr(id, 10, 3), 'hex'))::bit(56)::bigint $$;
SQL

# No later than the clock; and crashes, the clock an hour back after every other. To the judge each number is a time:
# clock_percent tells it how many of them are in a millisecond, 10,000 times 100 ns, 16,777 ObjectIds.
my %percent_of = ('uuid_v1()' => 1_000_000, 'objectid()' => 1_677_700);
my %told = map { $_ => [] } keys %percent_of;
is(query(<<'SQL'), 0, 'no later than the clock');
SELECT count(*) FROM (SELECT uuid_v1_timestamp(uuid_v1()) AS u, objectid_timestamp(objectid()) AS o, clock_timestamp() AS clock
                      FROM generate_series(1, 20000)) s WHERE greatest(u, o) > clock
SQL
my $rounds = rounds(2, 20);
my $sessions = rounds(6, 16);
for my $round (1 .. $rounds)
{
	my %clients = map {
		my $draw = "SELECT ticks($_)";
		$_ => start_clients($node, $sessions, $round % 2 ? [ 'BEGIN', $draw, 'ROLLBACK' ] : $draw, pause_ms => rounds(5, 0))
	} keys %told;
	await_clients($node, 2 * $sessions);
	await_ids(values %clients);
	usleep 200_000 + rand 200_000;
	query('CHECKPOINT') if $round % 2;
	usleep rand 200_000;
	kill_node($node);
	finish_clients($_) for values %clients;
	set_fake_clock($clock, $round % 2 ? '-1h' : '+0');
	with_fake_clock($clock, sub { start_again($node) });
	push @{ $told{$_} }, $clients{$_} for keys %told;
}
for my $draw (sort keys %told)
{
	is_innocent(judge_clients($told{$draw}, shard_bits => 0, sequence_bits => 0, lead_ms => -1, clock_percent => $percent_of{$draw}),
		"$draw, kill -9 and an hour back", $rounds);
}

# Copies.

# Node, clock sequence, the five bytes of ObjectIds.
my $identity = q(SELECT uuid_v1_node(u), uuid_v1_clock_seq(u), substr(objectid(), 5, 5)
	FROM (SELECT uuid_v1() AS u OFFSET 0) s);
my @original = split /\|/, query($identity);

# The time of a UUID, and an ObjectId's second and counter, as texts that sort like them.
sub times_in
{
	my ($database) = @_;
	return split /\|/, query(<<'SQL', $database);
SELECT substr(uuid_v1_to_v6(uuid_v1())::text, 1, 18), encode(substr(id, 1, 4) || substr(id, 10), 'hex')
FROM (SELECT objectid() AS id OFFSET 0) s
SQL
}

sub continues_above
{
	my ($database, $what, @before) = @_;
	my @now = times_in($database);
	cmp_ok($now[$_], 'gt', $before[$_], "$what: times continue above the original's") for 0 .. 1;
	return;
}

sub is_another
{
	my ($database, $what, @before) = @_;
	continues_above($database, $what, @before);
	my @copy = split /\|/, query($identity, $database);
	isnt($copy[0], $original[0], "$what: node $copy[0] where the original has $original[0]");
	isnt($copy[2], $original[2], "$what: other bytes in ObjectIds");
	is(query($identity, $database), join('|', @copy), "$what: node and bytes stay the same");
	return;
}

my @before = times_in();
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/dump", $node->connstr('postgres') ], 'dump');
query('CREATE DATABASE restored');
set_fake_clock($clock, '-1h');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), "$dir/dump" ], 'restore');
is_another('restored', 'a dump restored an hour behind', @before);
set_fake_clock($clock, '+0');

query('CREATE DATABASE origin TEMPLATE postgres STRATEGY file_copy', 'template1');
for my $strategy ('wal_log', 'file_copy')
{
	@before = times_in('origin');
	@original = split /\|/, query($identity, 'origin');
	query("CREATE DATABASE copy TEMPLATE origin STRATEGY $strategy");
	set_fake_clock($clock, '-1h');
	is_another('copy', "TEMPLATE, $strategy", @before);
	set_fake_clock($clock, '+0');
	query('DROP DATABASE copy');
}

# A promoted standby is the same database: the same node, and its times continue.
@original = split /\|/, query($identity);
my $standby = with_fake_clock($clock, sub { return new_standby($node, 'promoted') });
my $primary = $node;
@before = times_in();
$primary->wait_for_catchup($standby);
$primary->stop('immediate');
set_fake_clock($clock, '-1h');
$standby->promote;
$node = $standby;
continues_above('postgres', 'a standby promoted an hour behind', @before);
is(query($identity), join('|', @original), 'a standby promoted: the same node and bytes');

# If the original runs as well, the promoted standby needs another identity.
@before = times_in();
query('SELECT renew_identity()');
is_another('postgres', 'renew_identity()', @before);
$node->stop;
done_testing();
