# A draw that waits can be ended: cancelled, timed out, its session terminated. It generates no more ids, other sessions can
# use its generator, and no id is repeated.
use ShardidTest;

my $tries = 10;

my $node = new_node('ended_waits');
sub query { return $node->safe_psql('postgres', $_[0]) }

# An expression of many draws: between the draws of one expression nothing else in the server checks for interrupts.
# Each draw waits for a millisecond of its own, so all of them would take half an hour: longer than any guard of this test.
sub expression
{
	my ($generator) = @_;
	return "SELECT array_fill(1, ARRAY[2000000])::draw_from_$generator\[]";
}

query(<<"SQL");
CREATE SEQUENCE by_clock;
CREATE SEQUENCE ahead;
SELECT setval('ahead', (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 3600000);
CREATE SEQUENCE busy;

-- A cast to an array of one of these draws once for each element.
SELECT format('CREATE DOMAIN draw_from_%1\$s AS int CHECK (next_id(5, %1\$L, shard_bits => 22, sequence_bits => 0) > 0)',
              g) FROM unnest('{by_clock,ahead,busy}'::text[]) g \\gexec

-- Sends the signal to a session that waits for its millisecond. Returns how that session ended, and how many
-- milliseconds its generator has gone on since the signal.
CREATE EXTENSION dblink;
CREATE FUNCTION ended_by(signal text, statement text, generator regclass, OUT reason text, OUT further bigint) LANGUAGE plpgsql AS \$\$
DECLARE
    waiter int;
    position bigint;
    until timestamptz := clock_timestamp() + interval '$PostgreSQL::Test::Utils::timeout_default s';
BEGIN
    PERFORM dblink_connect('waiter', \$c\$@{[ $node->connstr('postgres') ]}\$c\$);
    SELECT pid INTO waiter FROM dblink('waiter', 'SELECT pg_backend_pid()') AS t (pid int);
    PERFORM dblink_send_query('waiter', statement);
    LOOP
        PERFORM pg_stat_clear_snapshot();
        EXIT WHEN EXISTS (SELECT FROM pg_stat_activity WHERE pid = waiter AND wait_event_type = 'Extension');
        IF clock_timestamp() > until THEN RAISE 'the session does not wait for a millisecond'; END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    EXECUTE format('SELECT pg_%s_backend(%s)', signal, waiter);
    position := pg_sequence_last_value(generator);
    WHILE dblink_is_busy('waiter') = 1 LOOP
        IF clock_timestamp() > until THEN RAISE 'the session goes on in spite of pg_%_backend', signal; END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    further := pg_sequence_last_value(generator) - position;
    BEGIN
        PERFORM FROM dblink_get_result('waiter') AS t (ids text);
    EXCEPTION WHEN query_canceled OR admin_shutdown THEN
        reason := SQLERRM;
    END;
    PERFORM dblink_disconnect('waiter');
END
\$\$;
SQL

sub ends_by_signals
{
	my ($generator) = @_;
	my %reason = (cancel => 'canceling statement due to user request', terminate => 'terminating connection due to administrator command');
	for my $signal (sort keys %reason)
	{
		my ($ended, $further) = split /\|/, query(<<"SQL");
SELECT count(*) FILTER (WHERE reason = '$reason{$signal}'), max(further)
FROM generate_series(1, $tries), ended_by('$signal', '@{[ expression($generator) ]}', '$generator')
SQL
		is($ended, $tries, "$generator: each ended by pg_${signal}_backend");
		# Here each draw is a step of a millisecond: the one that had ended its wait may be completed.
		cmp_ok($further, '<=', 1, "$generator: no draw begins after pg_${signal}_backend") if $generator eq 'ahead';
	}
	return;
}

sub ends_by_timeout
{
	my ($generator) = @_;
	my $statement = expression($generator) . ";\n";
	my (undef, undef, $said) = $node->psql('postgres', "SET statement_timeout = '100ms';\n" . $statement x $tries,
		on_error_stop => 0, timeout => $PostgreSQL::Test::Utils::timeout_default);
	is(scalar(() = $said =~ /canceling statement due to statement timeout/g), $tries, "$generator: each ended by statement_timeout");
	return;
}

for my $generator ('by_clock', 'ahead')
{
	my $before = query("SELECT next_id(5, '$generator', shard_bits => 22, sequence_bits => 0)");
	ends_by_signals($generator);
	ends_by_timeout($generator);
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
ends_by_signals('busy');
ends_by_timeout('busy');
query(q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE query LIKE '%busy%' AND pid <> pg_backend_pid()));
finish_clients($others);
is_innocent(judge_clients([$others], shard_bits => 22, sequence_bits => 0),
	'sessions ended while they wait, beside others', 3 * $tries);

$node->stop;
done_testing();
