# A draw that waits can be ended: cancelled, timed out, its session terminated. It generates no more ids, other sessions can
# use its generator, and no id is repeated.
use ShardidTest;

my $tries = 10;
my $node = new_node('ended_waits');
my $control = open_session($node);
sub query { return ask($control, "$_[0];") }

# A cast to an array of one of these domains draws once for each element: between the draws of one expression nothing else
# in the server checks for interrupts. Each draw waits for a millisecond of its own, so all of them would take half an
# hour: longer than any guard of this test.
query(<<"SQL");
CREATE SEQUENCE by_clock;
CREATE SEQUENCE ahead;
SELECT setval('ahead', (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1314220021721 + 3600000);
CREATE SEQUENCE busy;
SELECT format('CREATE DOMAIN draw_from_%1\$s AS int CHECK (next_id(5, %1\$L, shard_bits => 22, sequence_bits => 0) > 0)', g)
FROM unnest('{by_clock,ahead,busy}'::text[]) g \\gexec
SQL
sub expression { return "SELECT array_fill(1, ARRAY[2000000])::draw_from_$_[0]\[];\n" }

my %reason = (cancel => 'canceling statement due to user request', terminate => 'terminating connection due to administrator command');

# Sends signals to sessions that wait for a millisecond; each has to say the reason.
sub ends_by
{
	my ($signal, $generator) = @_;
	my ($ended, $furthest, $session) = (0, 0);
	for (1 .. $tries)
	{
		$session //= open_session($node);
		my $pid = ask($session, 'SELECT pg_backend_pid();');
		send_to($session, expression($generator));
		await_event('the session waits for a millisecond',
			sub { return query("SELECT wait_event_type FROM pg_stat_activity WHERE pid = $pid") eq 'Extension' });
		my $position = query("SELECT pg_sequence_last_value('$generator') FROM pg_${signal}_backend($pid)");
		$ended++ if (eval { answer($session) } // $session->{out}) =~ /$reason{$signal}/;
		my $further = query("SELECT pg_sequence_last_value('$generator')") - $position;
		$furthest = $further if $further > $furthest;
		next if $signal eq 'cancel';
		eval { close_session($session) };
		$session = undef;
	}
	close_session($session) if $session;
	is($ended, $tries, "$generator: each ended by pg_${signal}_backend");
	# Here each draw is a step of a millisecond: the one that had ended its wait may be completed.
	cmp_ok($furthest, '<=', 1, "$generator: no draw begins after pg_${signal}_backend") if $generator eq 'ahead';
	return;
}

sub ends_by_all
{
	my ($generator) = @_;
	ends_by($_, $generator) for sort keys %reason;
	my $said = ask(my $hurried = open_session($node), "SET statement_timeout = '100ms';\n" . expression($generator) x $tries);
	is(scalar(() = $said =~ /canceling statement due to statement timeout/g), $tries, "$generator: each ended by statement_timeout");
	return;
}

for my $generator ('by_clock', 'ahead')
{
	my $draw = "SELECT next_id(5, '$generator', shard_bits => 22, sequence_bits => 0)";
	my $before = query($draw);
	ends_by_all($generator);
	cmp_ok(query($draw), '>', $before, "$generator: other sessions can draw");
	is(query("SELECT count(*) FROM pg_locks WHERE relation = '$generator'::regclass"), 0, "$generator: nothing stays locked");
}

# Next to sessions that use most of the milliseconds; none of them receives an id twice.
my $others = start_clients($node, 3, "SELECT next_id(5, 'busy', shard_bits => 22, sequence_bits => 0)");
my $event = query('SHOW server_version_num') < 170000 ? 'Extension' : 'ShardidNextMillisecond';
my $shown = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = '$event' AND backend_type = 'client backend'";
ok($node->poll_query_until('postgres', $shown), "pg_stat_activity shows that they wait: $event");
ends_by_all('busy');
query(q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%busy%' AND pid <> pg_backend_pid()));
finish_clients($others);
is_innocent(judge_clients([$others], shard_bits => 22, sequence_bits => 0), 'sessions ended while they wait, beside others', 3 * $tries);

close_session($control);
$node->stop;
done_testing();
