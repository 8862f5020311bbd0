# portable/shardid.sql and clocks that step: ids continue, no faster than real time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
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

# Clocks that are far from the generator's time.
set_fake_clock($clock, '-90000');
like(refused('SELECT next_id(5)'), qr/55000: generator "ids.shardid_seq" is too far ahead of the clock/, 'a day behind, it refuses');
like(query(q(SET shardid.max_lead = '2d'; SELECT next_id(5))), qr/^\d+$/, 'shardid.max_lead lets it go on');
set_fake_clock($clock, '+0');

$node->stop;
done_testing();
