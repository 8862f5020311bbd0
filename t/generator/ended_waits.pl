# A draw that waits can be ended: cancelled, timed out, its session terminated. It ends at once, other sessions can
# use its generator, and no id is repeated.
use ShardidTest;

my $tries = 10;
my $bound_ms = 50;

my $node = new_node('ended_waits');
sub query { return $node->safe_psql('postgres', $_[0]) }

# An expression of many draws: between the draws of one expression nothing else in the server checks for interrupts.
# Each draw waits for a millisecond of its own, so all of them take 20 s: longer than it takes to see that
# the session waits.
sub expression
{
	my ($generator) = @_;
	return "SELECT array_fill(1, ARRAY[20000])::draw_from_$generator\[]";
}

query(<<'SQL');
CREATE SEQUENCE by_clock;
CREATE SEQUENCE ahead;
SELECT setval('ahead', (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 3600000);
CREATE SEQUENCE busy;

-- A cast to an array of one of these draws once for each element.
SELECT format('CREATE DOMAIN draw_from_%1$s AS int CHECK (next_id(5, %1$L, shard_bits => 22, sequence_bits => 0) > 0)',
              g) FROM unnest('{by_clock,ahead,busy}'::text[]) g \gexec

-- Waits until the session of this name waits for its millisecond, sends it the signal, and returns
-- after how many milliseconds it ended.
CREATE FUNCTION ms_to_end(name text, signal text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    waiter int;
    began timestamptz;
BEGIN
    FOR i IN 1 .. 30000 LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT pid INTO waiter FROM pg_stat_activity
        WHERE application_name = name AND state = 'active' AND wait_event_type = 'Extension';
        EXIT WHEN FOUND;
        PERFORM pg_sleep(0.001);
    END LOOP;
    began := clock_timestamp();
    EXECUTE format('SELECT pg_%s_backend(%L)', signal, waiter);
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = waiter AND state = 'active');
        PERFORM pg_sleep(0.0005);
    END LOOP;
    RETURN round(extract(epoch FROM clock_timestamp() - began) * 1000, 1);
END
$$;
SQL

sub start_psql
{
	my ($sql, $output) = @_;
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $sql ],
		'>', $output, '2>&1', IPC::Run::timer(60));
}

# Starts one waiter, and sends it the signal while it waits. Returns after how many milliseconds it ended.
my $waiters = 0;

sub try_to_end
{
	my ($signal, $statement) = @_;
	my $name = 'waiter ' . ++$waiters;
	my $said = '';
	my $waiter = start_psql("SET application_name = '$name'; $statement", \$said);
	my $ms = query("SELECT ms_to_end('$name', '$signal')");
	$waiter->finish;
	my $reason = $signal eq 'cancel' ? 'canceling statement due to user request' : 'terminating connection';
	die "$name ended by something else: $said" unless $said =~ /$reason/;
	return $ms;
}

# A busy machine can delay any of the waiters, but hardly all.
sub ends_at_once
{
	my ($name, @ms) = @_;
	@ms = sort { $a <=> $b } @ms;
	cmp_ok($ms[0], '<=', $bound_ms, "$name: within $bound_ms ms (best $ms[0], median $ms[ @ms / 2 ], worst $ms[-1])");
	return;
}

sub ends_by_signals
{
	my ($name, $statement) = @_;
	for my $signal ('cancel', 'terminate')
	{
		ends_at_once("$name: pg_${signal}_backend", map { try_to_end($signal, $statement) } 1 .. $tries);
	}
	return;
}

# The session itself measures how late its timeout ends the statement.
sub ends_by_timeout
{
	my ($name, $statement) = @_;
	my $catch = <<"SQL";
DO \$\$
BEGIN
    EXECUTE '@{[ $statement =~ s/'/''/gr ]}';
EXCEPTION WHEN query_canceled THEN
    RAISE INFO 'late: %', round(extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000 - 100, 1);
END
\$\$;
SQL
	my (undef, undef, $said) = $node->psql('postgres', "SET statement_timeout = '100ms';\n" . $catch x $tries);
	my @ms = $said =~ /late: (-?[\d.]+)/g;
	is(scalar @ms, $tries, "$name: each ended by statement_timeout");
	ends_at_once("$name: statement_timeout", @ms);
	return;
}

for my $generator ('by_clock', 'ahead')
{
	my $before = query("SELECT next_id(5, '$generator', shard_bits => 22, sequence_bits => 0)");
	ends_by_signals($generator, expression($generator));
	ends_by_timeout($generator, expression($generator));
	my $after = query("SELECT next_id(5, '$generator', shard_bits => 22, sequence_bits => 0)");
	cmp_ok($after, '>', $before, "$generator: other sessions can draw");
	is(query("SELECT count(*) FROM pg_locks WHERE relation = '$generator'::regclass"), 0, "$generator: nothing stays locked");
}

# Next to sessions that use most of the milliseconds; none of them receives an id twice.
my $others = start_clients($node, 3, "SELECT next_id(5, 'busy', shard_bits => 22, sequence_bits => 0)");
my $event = query('SHOW server_version_num') < 170000 ? 'Extension' : 'ShardidNextMillisecond';
ok( $node->poll_query_until('postgres', <<"SQL"), "pg_stat_activity shows that they wait: $event");
SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = '$event' AND backend_type = 'client backend'
SQL
ends_by_signals('busy', expression('busy'));
ends_by_timeout('busy', expression('busy'));
query(q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE query LIKE '%busy%' AND pid <> pg_backend_pid()));
finish_clients($others);
is_innocent(judge_clients([$others], shard_bits => 22, sequence_bits => 0),
	'sessions ended while they wait, beside others', 3 * $tries);

$node->stop;
done_testing();
