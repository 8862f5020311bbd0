# A server whose clock is set: ids of one generator, kept in the order of the calls; ids of one a millisecond; crashes.
package Clocked;

use ShardidTest;
use Exporter 'import';
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our @EXPORT = qw(start_clocked set_clock restart_at crash query draw $node @told $narrow draw_narrow);
our ($node, @told);
my ($clock, $database);

# By the function $new, in whose server queries are for the database $dbname.
sub start_clocked
{
	my ($conf, $new, $dbname) = @_;
	$database = $dbname // 'postgres';
	$clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
	set_clock('+0');
	with_fake_clock($clock, sub { $node = ($new // \&new_node)->('clock', "autovacuum = off\n" . ($conf // '')); });
	query('CREATE SEQUENCE narrow');
	return;
}

sub set_clock { return set_fake_clock($clock, $_[0]) }
sub query { return $node->safe_psql($_[1] // $database, $_[0]) }

sub restart_at
{
	my ($offset, $server) = @_;
	set_clock($offset);
	with_fake_clock($clock, sub { start_again($server // $node) });
	return;
}

# Kills the server, sets its clock and starts it.
sub crash
{
	my ($offset) = @_;
	kill_node($node);
	restart_at($offset);
	return;
}

sub draw { return push @told, split /\n/, query("SELECT next_id(5) FROM generate_series(1, $_[0])") }

# A faked clock is slow to read: with 1024 ids a millisecond nobody has to wait here. With one id a
# millisecond everybody does, so that each step ahead of the clock is one that was waited for.
our $narrow = q(next_id(5, 'narrow', shard_bits => 22, sequence_bits => 0));

# Draws that many ids in one statement; returns their steps of time and the milliseconds it took.
sub draw_narrow
{
	my ($count) = @_;
	my $start = clock_gettime(CLOCK_MONOTONIC);
	my @ids = split /\n/, query("SELECT $narrow FROM generate_series(1, $count)");
	my $took = 1000 * (clock_gettime(CLOCK_MONOTONIC) - $start);
	is(scalar(grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids), 0, 'one id a millisecond: they increase');
	return (($ids[-1] >> 22) - ($ids[0] >> 22), $took);
}

1;
