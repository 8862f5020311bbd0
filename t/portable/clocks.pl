# portable/shardid.sql and clocks that step: ids continue, no faster than real time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep clock_gettime CLOCK_MONOTONIC);
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_portable_node('clocks', "log_min_messages = error\n"); });
sub query { return $node->safe_psql('portable', $_[0]) }

sub refused
{
	my ($sql) = @_;
	my (undef, undef, $stderr) = $node->psql('portable', "\\set VERBOSITY verbose\n$sql");
	return $stderr;
}

# Draws $count ids, one per call; returns how many milliseconds that took.
my @told;

sub draw
{
	my ($count) = @_;
	my $start = clock_gettime(CLOCK_MONOTONIC);
	push @told, split /\n/, query("SELECT next_id(5) FROM generate_series(1, $count)");
	return 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
}
sub time_of { return $_[0] >> 23 }

draw(2000);
for my $back ('-0.001', '-1', '-3600')
{
	set_fake_clock($clock, '+0');
	draw(500);
	my $before = $told[-1];
	set_fake_clock($clock, $back);
	my $took = draw(20000);
	my $steps = time_of($told[-1]) - time_of($before);
	cmp_ok($steps, '>=', 18, "$back s: a millisecond is not overfilled ($steps steps)");
	cmp_ok($steps, '<=', $took + 1, "$back s: $steps steps in $took ms") if $back <= -1;
}
cmp_ok(lead_ms($node, 'ids.shardid_seq', 'portable'), '>', 3_500_000, 'an hour ahead of the clock, it goes on');
for my $offset ('+3600', '+0', '+0 x0.5')
{
	set_fake_clock($clock, $offset);
	draw(500);
}
is_innocent(judge([ \@told ], lead_ms => -1), 'portable: clock steps', 6);

# A clock that is behind, under load, with many ids per millisecond and with one.
sub loads
{
	my ($seconds) = @_;
	return map { start_clients($node, 4, $_, dbname => 'portable', seconds => $seconds) } (
		q{SELECT next_ids(5, 1500, 'wide')}, q{SELECT next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0)});
}

sub are_innocent
{
	my ($histories, $fault) = @_;
	is_innocent(judge_clients([ map { $_->[0] } @$histories ], lead_ms => -1), "portable: $fault", 1);
	is_innocent(judge_clients([ map { $_->[1] } @$histories ], lead_ms => -1, shard_bits => 22, sequence_bits => 0),
		"portable: $fault, each waits", 1);
	return;
}
set_fake_clock($clock, '+0');
query(q{CREATE SEQUENCE wide; CREATE SEQUENCE narrow;
	SELECT next_id(5, 'wide'), next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0)});
set_fake_clock($clock, '-3600');
my @behind = loads(1);
my $start = clock_gettime(CLOCK_MONOTONIC);
my @narrow = split /\n/, query(q{SELECT next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0) FROM generate_series(1, 100)});
my $took = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
my $steps = ($narrow[-1] - $narrow[0]) >> 22;
cmp_ok($steps, '<=', $took + 1, "an hour behind, a millisecond for each id: $steps in $took ms");
finish_clients($_) for @behind;
are_innocent([ \@behind ], 'an hour behind, under load');

# The clock is set back while sessions wait for the end of a millisecond: those wait longer, as pg_sleep does, and can
# be cancelled; a new session continues.
query('CREATE SEQUENCE stepped');
my $stepped = q{SELECT next_id(5, 'stepped', shard_bits => 22, sequence_bits => 0)};
set_fake_clock($clock, '+0');
my $waiting = start_clients($node, 4, $stepped, dbname => 'portable', tolerate => '57014');
usleep 300_000;
set_fake_clock($clock, '-20');
usleep 300_000;
my @anew = split /\n/, query("$stepped FROM generate_series(1, 50)");
is(scalar @anew, 50, 'a session that did not wait when the clock was set back goes on');
my $is_waiting = q{query LIKE '%stepped%' AND wait_event = 'PgSleep'};
cmp_ok(query("SELECT count(*) FROM pg_stat_activity WHERE $is_waiting"), '>', 0, 'those that did wait on');
query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE $is_waiting");
usleep 300_000;
my $count = map { @$_ } @{ read_told($waiting) };
usleep 500_000;
my $later = map { @$_ } @{ read_told($waiting) };
cmp_ok($later, '>', $count, 'cancelled, they go on, too');
finish_clients($waiting, 'stop');
is_innocent(judge([ @{ read_told($waiting) }, \@anew ], lead_ms => -1, shard_bits => 22, sequence_bits => 0),
	'portable: set back while sessions wait', 1);

# Clocks that are far from the generator's time.
set_fake_clock($clock, '-90000');
like(refused('SELECT next_id(5)'), qr/55000: generator "ids.shardid_seq" is too far ahead of the clock/, 'a day behind, it refuses');
like(query(q(SET shardid.max_lead = '2d'; SELECT next_id(5))), qr/^\d+$/, 'shardid.max_lead lets it go on');
set_fake_clock($clock, '-' . 20 * 365 * 86400);
like(refused('SELECT next_id(5)'), qr/22008: clock is before the epoch of the ids/, 'before the epoch');
set_fake_clock($clock, '+' . 60 * 365 * 86400);
like(refused('SELECT next_id(5)'), qr/2200H: time field of the ids is exhausted/, 'after the end');
set_fake_clock($clock, '+' . 30 * 365 * 86400);
query('CREATE SEQUENCE future');
my @future = split /\n/, query(q(SELECT next_id(5, 'future') FROM generate_series(1, 2000)));
is(scalar(grep { $_ < 0 } @future), 2000, 'beyond 2046 ids are negative');
is(scalar(grep { $future[$_] <= $future[ $_ - 1 ] } 1 .. $#future), 0, 'and increase');
set_fake_clock($clock, '+0');

$node->stop;
done_testing();
