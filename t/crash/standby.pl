# A promoted standby repeats no id that a client received from the old primary, as far as the standby has the WAL; and every
# WAL record of these clients replays to the same page: t/crash/floors.pl has those of other commands.
use Time::HiRes 'time';
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $number = 0;
my $clock;    # of the newest standby

# A standby whose clock is an hour behind: more than a failover takes.
sub late_standby
{
	my ($primary) = @_;
	my $name = 'standby_' . ++$number;
	$clock = "$dir/$name.clock";
	set_fake_clock($clock, '-3600');
	my $standby = with_fake_clock($clock, sub { return new_standby($primary, $name) });
	$primary->poll_query_until('postgres', q(SELECT state = 'streaming' FROM pg_stat_replication)) or die 'no standby';
	return $standby;
}

my $primary = new_node('primary', <<'CONF', allows_streaming => 1);
wal_consistency_checking = 'sequence'
autovacuum = off
checkpoint_timeout = 1h
wal_sender_timeout = 0
wal_receiver_timeout = 0
shared_buffers = 32MB # of which a session may keep eight pages pinned
CONF
my $standby = late_standby($primary);

# Nothing is drawn on a standby.
like(error_on($standby, 'SELECT next_id(5)'), qr/^25006: cannot execute next_id\(\) in a read-only transaction/, 'refused on a standby');

# But status can be read there: a standby's generator is at the last value that the primary has logged.
$primary->safe_psql('postgres', 'CREATE UNLOGGED SEQUENCE unlogged; CREATE SEQUENCE watched; SELECT next_id(5, \'watched\')');
$primary->wait_for_catchup($standby);
my $status = q(SELECT last_ts, last_sequence, logged_to - last_ts FROM id_generator_status('watched'));
is( $standby->safe_psql('postgres', $status),
	$primary->safe_psql('postgres', q(SELECT logged_to, last_sequence, '00:00:00' FROM id_generator_status('watched'))),
	'a generator is watched on a standby');
my $timeline = 'SELECT timeline FROM shard_fingerprint()';
is($standby->safe_psql('postgres', $timeline), $primary->safe_psql('postgres', $timeline), 'which has the timeline of its primary');
like(error_on($standby, q(SELECT id_generator_status('unlogged'))), qr/^0A000: cannot access temporary or unlogged relations/, 'but no unlogged one');

# What tells that ids are generated of which the standby knows nothing: all clients wait for it, or one has received an id
# of more than a second later, for which WAL was written.
sub all_wait
{
	$primary->poll_query_until('postgres', q(SELECT count(*) = 16 FROM pg_stat_activity WHERE wait_event = 'SyncRep'))
	  or die 'not all clients wait for the standby';
	return;
}

sub one_is_ahead
{
	my ($clients) = @_;
	my $from = int(1000 * time) - 1314220021721 + 1100;
	await_event('an id of a second later', sub { grep { @$_ && $_->[-1] >> 23 > $from } @{ read_told($clients) } });
	return;
}

# The primary is lost under load, after nothing more was sent to the standby, and an event; then the standby is promoted,
# its clock still behind. Returns what clients received before and after, and the standby's last value.
sub fail_over
{
	my ($draw, $event) = @_;
	my $before = start_clients($primary, 16, $draw, pause_ms => rounds(20, 0));
	await_clients($primary, 16);
	await_ids($before);
	usleep 300_000 + rand 300_000;
	kill 'STOP', $primary->safe_psql('postgres', 'SELECT pid FROM pg_stat_replication');
	$event->($before);
	kill_node($primary);
	finish_clients($before);
	$standby->promote;
	my $had = $standby->safe_psql('postgres', 'SELECT last_value FROM shardid_seq');
	my $after = start_clients($standby, 4, 'SELECT next_id(5)', rounds => 100);
	finish_clients($after);
	# A killed server leaves its shared memory behind until it is started once more.
	start_again($primary);
	$primary->stop;
	return ($before, $after, $had);
}

# Synchronous: no client received an id that the standby does not have, also if the transaction itself has nothing to
# replicate.
my %draws = (
	'SELECT' => [ 'SELECT next_id(5)', 'SELECT next_ids(5, 40)' ],
	'rolled back' => [ 'BEGIN', 'SELECT next_id(5)', 'SELECT next_ids(5, 40)', 'ROLLBACK' ],
	'INSERT' => 'INSERT INTO photos DEFAULT VALUES RETURNING id');
$primary->safe_psql('postgres', 'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5))');
my @draws = $ENV{FULL} ? (sort keys %draws) x 5 : 'rolled back';
my @histories;
for my $draw (@draws)
{
	wait_for_standby($primary);
	my ($before, $after) = fail_over($draws{$draw}, \&all_wait);
	push @histories, $before, $after;
	# The promoted standby gets a right clock and a standby of its own.
	$primary = $standby;
	set_fake_clock($clock, '+0');
	$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$primary->reload;
	$standby = late_standby($primary);
}
is_innocent(judge_clients(\@histories, lead_ms => -1), "failover to a synchronous standby, its clock an hour behind, @draws", scalar @draws);

# Asynchronous: only ids above the standby's last value can be repeated.
sub tick { return ($_[0] >> 23) << 10 | $_[0] & 1023 }
my ($before, $after, $had) = fail_over('SELECT next_id(5)', \&one_is_ahead);
my ($told, $new) = map { [ map { @$_ } @{ read_told($_) } ] } $before, $after;
my @wrong = grep { tick($_) <= $had } @$new;
is(scalar @wrong, 0, 'asynchronous: every new id is above what the standby had');
note_fault('failover to an asynchronous standby: ids the standby had', 1, @$told + @$new, scalar @wrong);
cmp_ok(scalar(grep { tick($_) > $had } @$told), '>', 0, 'of ' . @$told . ' ids some could come again, since its clock is behind');
cmp_ok(judge_clients([ $before, $after ], lead_ms => -1)->{crossings}, '>', 0, 'and the test sees it');
# After raise_generator, which docs/operations.md has for this and for a recovery to a past time, none can.
my ($highest) = sort { $b <=> $a } @$told, @$new;
$standby->safe_psql('postgres', "SELECT raise_generator('shardid_seq', $highest)");
my $later = start_clients($standby, 4, 'SELECT next_id(5)', rounds => 50);
finish_clients($later);
is_innocent(judge_clients([ $before, $later ], lead_ms => -1), 'failover to an asynchronous standby, its clock an hour behind, the generator raised', 1);

$standby->stop;
done_testing();
