# A generator far ahead of the clock is refused, with the reason, as is a clock out of the ids' range, for next_id, uuid_v1
# and objectid; one that is ahead is mentioned in the log once a minute; a wait can be cancelled. The clock is set behind,
# before the epoch and beyond the end.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Clocked;
use ShardidTest;

start_clocked();

sub error_of
{
	my ($call) = @_;
	my (undef, undef, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSET timezone = 'UTC'; SELECT $call");
	return $stderr;
}

draw(1000);
query('SELECT uuid_v1(), objectid()');

# Too far: refused, with the reason, until the setting or the clock is changed.
set_clock('-90000');
my %generator_of = ('next_id(5)' => 'shardid_seq', 'uuid_v1()' => 'shardid_uuid_seq', 'objectid()' => 'shardid_objectid_seq');
for my $call (sort keys %generator_of)
{
	my $error = error_of($call);
	like($error, qr/ERROR:  55000: generator "public\.$generator_of{$call}" is too far ahead of the clock/, "$call: refused");
	like($error, qr/DETAIL:  It is \d{8} ms ahead, and shardid\.max_lead is 86400000 ms\.\nHINT:  Set the server's clock right\b.* or raise/,
		"$call: by how much, and what to do");
}
my ($more) = (split /\n/, query("SET shardid.max_lead = '2d'; SELECT next_id(5)"))[-1];
cmp_ok($more, '>', $told[-1], 'a larger max_lead lets it go on');
push @told, $more;
set_clock('+0');
draw(1000);

# Before the epoch: refused, and nothing lost.
set_clock('-' . 20 * 365 * 86400);
like(error_of('next_id(5)'), qr/ERROR:  22008: clock is before the epoch of the ids/, 'before the epoch');
# Beyond the field's end.
my %end_of = (
	'next_id(5)' => [ 60, '41 bits of milliseconds since 2011-08-24 21:07:01\.721\+00 hold no later time' ],
	'objectid()' => [ 90, 'the last time that they hold is 2106-02-07 06:28:15\.999\+00' ],
	'uuid_v1()' => [ 3300, 'the last time that they hold is 5236-03-31 21:21:00\.684697\+00' ]);
set_clock('+' . 60 * 365 * 86400);
SKIP:
{
	skip "the server's time_t has 32 bits and ends in 2038", 5 if query(q(SELECT clock_timestamp() < '2080-01-01')) eq 't';
	for my $call (sort keys %end_of)
	{
		my ($years, $reason) = @{ $end_of{$call} };
		set_clock('+' . $years * 365 * 86400);
		like(error_of($call), qr/ERROR:  2200H: time field of the ids is exhausted\nDETAIL:  The clock is at .*, and $reason/,
			"$call: refused after its last time");
	}
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
my (undef, undef, $stderr) = $node->psql('postgres', <<'SQL');
SET statement_timeout = '200ms';
SELECT count(next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0)) FROM generate_series(1, 100000);
SQL
like($stderr, qr/canceling statement due to statement timeout/, 'statement_timeout ends a wait');
is(query("SELECT next_id(5, 'cancelled', shard_bits => 22, sequence_bits => 0) IS NOT NULL"),
	't', 'and leaves the generator usable');

is(judge([ \@told ])->{violations}, 0, 'all ids of these steps are right');

$node->stop;
done_testing();
