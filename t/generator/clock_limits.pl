# A generator far ahead of the clock is refused, with the reason, as is a clock out of the ids' range; one that is ahead is
# mentioned in the log once a minute; a wait can be cancelled. The clock is set behind, before the epoch and beyond the end.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Clocked;
use ShardidTest;

start_clocked();

draw(1000);

# Too far: refused, with the reason, until the setting or the clock is changed.
set_clock('-90000');
my ($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($stderr, qr/ERROR:  55000: generator "public\.shardid_seq" is too far ahead of the clock/, 'refused');
like($stderr, qr/DETAIL:  It is \d{8} ms ahead, and shardid\.max_lead is 86400000 ms\./, 'by how much');
like($stderr, qr/HINT:  Set the server's clock right/, 'and what to do');
my ($more) = (split /\n/, query("SET shardid.max_lead = '2d'; SELECT next_id(5)"))[-1];
cmp_ok($more, '>', $told[-1], 'a larger max_lead lets it go on');
push @told, $more;
set_clock('+0');
draw(1000);

# Before the epoch: refused, and nothing lost.
set_clock('-' . 20 * 365 * 86400);
($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
like($stderr, qr/ERROR:  22008: clock is before the epoch of the ids/, 'before the epoch');
# Beyond the field's end.
set_clock('+' . 60 * 365 * 86400);
SKIP:
{
	skip "the server's time_t has 32 bits and ends in 2038", 3 if query(q(SELECT clock_timestamp() < '2080-01-01')) eq 't';
	($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(5)");
	like($stderr, qr/ERROR:  2200H: time field of the ids is exhausted/, 'after the end');
	# Beyond the sign bit, in a generator of its own.
	set_clock('+' . 30 * 365 * 86400);
	query('CREATE SEQUENCE future');
	my @future = split /\n/, query(q(SELECT next_id(5, 'future') FROM generate_series(1, 3000)));
	is(scalar(grep { $_ < 0 } @future), 3000, 'beyond 2046 ids are negative');
	is(scalar(grep { $future[$_] <= $future[ $_ - 1 ] } 1 .. $#future), 0, 'and increase');
}

# A server whose generator is ahead by more than a second says so, once a minute, however many sessions draw.
set_clock('+0');
query('CREATE SEQUENCE noted; SELECT next_id(5, \'noted\')');
my $log_start = -s $node->logfile;
set_clock('-0.9');
query('SELECT next_id(5, \'noted\')');
unlike(slurp_file($node->logfile, $log_start), qr/ahead of the clock/, 'less than a second ahead, it says nothing');
set_clock('-3600');
$log_start = -s $node->logfile;
my $draw_for = rounds(2, 80);
query('SELECT next_id(5, \'noted\')') for 1 .. 20;
query(<<SQL);
DO \$\$
DECLARE until timestamptz := clock_timestamp() + interval '$draw_for s';
BEGIN
    WHILE clock_timestamp() < until LOOP PERFORM next_id(5, 'noted'); PERFORM pg_sleep(0.01); END LOOP;
END
\$\$
SQL
my @mentioned = slurp_file($node->logfile, $log_start) =~ /LOG:  (generator "public\.noted" is \d{7} ms ahead of the clock)/g;
is(scalar @mentioned, $draw_for > 60 ? 2 : 1, "in $draw_for s and 21 sessions, the log says: $mentioned[0]");
set_clock('+0');

# A wait can be cancelled, by a timeout.
query('CREATE SEQUENCE cancelled');
($code, $stdout, $stderr) = $node->psql('postgres', <<'SQL');
SET statement_timeout = '200ms';
SELECT count(next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0)) FROM generate_series(1, 100000);
SQL
like($stderr, qr/canceling statement due to statement timeout/, 'statement_timeout ends a wait');
is(query("SELECT next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0) IS NOT NULL"),
	't', 'and leaves the generator usable');

is(judge([ \@told ])->{violations}, 0, 'all ids of these steps are right');

$node->stop;
done_testing();
