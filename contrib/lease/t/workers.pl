# Background workers that ask registries: each group of generators has at most one, which has the registry's time, not
# its caller's, and ends when its caller has given up; all together leave the server its slots, whatever roles call and however
# many databases wait for a registry that hangs. Meanwhile members of another registry are not kept from asking; and a
# session that waits where no slot is left asks by itself.
use List::Util 'max';
use Time::HiRes 'usleep';
use Leases;
use ShardidTest;

my $registry = new_registry('registry', { ids => "lease => '4 s'" });
# A quarter of them, two, are for leases.
my $member = new_node('member', "autovacuum = off\nlog_min_messages = debug1\nmax_worker_processes = 8\n");
my @databases = map { "d$_" } 1 .. 4;
connect_to_registry($member, $registry, $_) for 'postgres', @databases;
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub no_worker_is_left { return await_event($_[0], sub { workers_of($member) == 0 }) }

# Sessions that run the code's statements again and again, whatever errors come; returns the highest number of workers
# that were seen until they ended. One that has no lock any more is about to exit.
sub most_workers
{
	my (@sessions) = @_;
	my @running = map {
		my ($dbname, $sql) = @$_;
		my $dir = PostgreSQL::Test::Utils::tempdir();
		append_to_file("$dir/sql", $sql);
		[ IPC::Run::start([ 'psql', '-Xqt', '-d', $member->connstr($dbname), '-f', "$dir/sql" ], '<', \'', '>', "$dir/said", '2>&1', guard('calls')), "$dir/said" ]
	} @sessions;
	my ($most, $watch) = (0, open_session($member));
	while (grep { runs($_->[0]) } @running)
	{
		$most = max($most, ask($watch, q(SELECT count(*) FROM pg_stat_activity a WHERE backend_type = 'shardid lease' AND EXISTS (SELECT FROM pg_locks l WHERE l.pid = a.pid);)));
		usleep 50_000;
	}
	$_->[0]->finish for @running;
	close_session($watch);
	return ($most, map { slurp_file($_->[1]) } @running);
}

# Waits until there are so many workers.
sub when_workers
{
	return <<"SQL";
DO \$\$ BEGIN FOR i IN 1 .. 6000 LOOP
	EXIT WHEN (SELECT count(*) >= $_[0] FROM pg_stat_activity WHERE backend_type = 'shardid lease');
	PERFORM pg_sleep(0.01), pg_stat_clear_snapshot();
END LOOP; END \$\$;
SQL
}

# --- A role that stands in its own way: its transaction has locked the sequence, as the worker finds.

on_member('CREATE ROLE greedy LOGIN; GRANT CREATE ON SCHEMA public TO greedy; GRANT USAGE ON FOREIGN SERVER registry TO greedy');
on_member(q(CREATE USER MAPPING FOR greedy SERVER registry OPTIONS (user 'member', password 'of the member')));
my $again = join '', map { "SAVEPOINT s; SELECT shardid_lease.lease_shard('ids', 'registry', 'locked');\nROLLBACK TO s;\n" } 1 .. 12;
my $greedy = <<"SQL";
SET ROLE greedy; CREATE SEQUENCE made;
SET shardid_lease.timeout = '1h';
BEGIN;
ALTER SEQUENCE made RENAME TO locked;
SET LOCAL statement_timeout = '300ms';
${again}SET statement_timeout = 0;
ROLLBACK;
SQL
my $others = when_workers(1) . q(SET ROLE app; CREATE SEQUENCE "of app"; SELECT 'shard ' || shardid_lease.lease_shard('ids', 'registry', '"of app"'););
my ($most, @said) = most_workers([ 'postgres', $greedy ], [ 'postgres', $others ]);
is(scalar(() = $said[0] =~ /canceling statement due to statement timeout|is locked by a transaction/g), 12, 'lease_shard() is called 12 times, and fails each time');
cmp_ok($most, '<=', 2, "one role has one worker, however often it calls: $most at a time, with one of another role");
like($said[1], qr/shard \d+/, 'which is granted a shard meanwhile');
no_worker_is_left('a worker ends when its caller has given up');

# --- A role that does not wait.

is(lease($member, 'ids', 'hot'), 1, 'a lease');
draw_one($member, 'hot');
$registry->poll_query_until('postgres', 'SELECT until < clock_timestamp() FROM shardid_lease.id_space_shards WHERE shard = 1') or die 'no end';
freeze($registry);
my $starts = worker_starts($member);
my $impatient = "SET shardid_lease.timeout = 0;\n" . "SELECT next_id(generator => 'hot');\nSELECT pg_sleep(0.01);\n" x 100;
my $hurried = "SET statement_timeout = '2ms';\n" . "SELECT next_id(generator => 'hot');\n" x 100;
($most, @said) = most_workers(([ 'postgres', $impatient ], [ 'postgres', $hurried ]) x 2);
cmp_ok($most, '==', 1, "without waiting: $most worker at a time");
# A worker that does not begin within three seconds is called off, and another one is started.
cmp_ok(worker_starts($member), '<=', $starts + 3, 'of 400 calls one has started a worker');
like($said[0], qr/ERROR: .*has no lease of shard 1 at this time/, 'the calls fail');
thaw();
no_worker_is_left('then the worker has its answer');

# --- Many databases.

my %shard_of = map { $_ => lease($member, 'ids', 'ids', dbname => $_) } @databases;
draw_one($member, 'ids', dbname => $_) for @databases;
my $answers = new_registry('answers', { ids => "lease => '4 s'" });
connect_to_registry($member, $answers, 'good');
lease($member, 'ids', 'ids', dbname => 'good', shard => 100);
my $good = start_drawing($member, 'ids', dbname => 'good');
freeze($registry);
for my $dbname (@databases)
{
	$member->poll_query_until($dbname, 'SELECT until < clock_timestamp() FROM shardid_lease.shard_leases') or die 'a window does not end';
}
my @sessions = map { [ $_, "SET ROLE app;\nSET shardid_lease.timeout = '1s';\n" . "SELECT next_id(generator => 'ids');\n" x 4 ] } @databases;
my $parallel = when_workers(2) . <<'SQL';
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*) FROM pg_proc;
SQL
($most, @said) = most_workers(@sessions, [ 'postgres', $parallel ]);
is($most, 2, 'four databases, whose registry hangs, have two workers');
like(pop @said, qr/Workers Launched: [1-9]/, 'a parallel query has workers as well');
is(scalar(grep { /has no lease of shard.*foreign server "registry"/s } @said), 4, 'all errors name the server');
is(scalar(grep { /no free slot/ } @said), 0, 'and none says that there is no slot');
is(join(' ', map { "@$_[1, 2]" } grep { !defined $_->[0] } finish_drawing($good)), '', 'a database whose registry answers has ids all the time');
thaw();
await_event('the registry answers again: ids come', sub { draw_one($member, 'ids', dbname => $databases[-1]) =~ /^\d+$/ });
is(scalar(grep { draw_one($member, 'ids', dbname => $_) =~ /^\d+$/ } @databases), 4, 'in all databases');

# --- A worker that waits for its registry keeps no database from being dropped.

freeze($answers);
# After setval the window is used up.
$member->safe_psql('good', q(SELECT setval('ids', 1)));
await_event('a worker is at work', sub {
	die 'a window' if draw_one($member, 'ids', dbname => 'good', settings => 'SET shardid_lease.timeout = 0;') !~ /55000|57P03/;
	return on_member(q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'shardid lease' AND datname = 'good')) == 1 });
# It fails if others do not leave the database within five seconds.
is(error_of($member, 'postgres', 'DROP DATABASE good'), 'no error', 'DROP DATABASE');
thaw();

# --- No slot at all: the launcher of logical replication has the only one.

$member->safe_psql('d1', 'CREATE ROLE reader; GRANT USAGE ON SEQUENCE ids TO reader');
$member->append_conf('postgresql.conf', "max_worker_processes = 1\n");
$member->restart;
$starts = worker_starts($member);
my $windows = sub { $member->safe_psql('d1', 'SELECT w.* FROM shardid_lease.lease_window w') };
my $stored = $windows->();
my @drawing = map { start_drawing($member, 'ids', dbname => 'd1', settings => 'SET ROLE reader;') } 1, 2;
my $serial = sub { return $registry->safe_psql('postgres', "SELECT serial FROM shardid_lease.granted_shard WHERE shard = $shard_of{d1}") };
my $first = $serial->();
await_event('the sessions have it renewed', sub { $serial->() >= $first + 4 && !grep { 100 >= (() = ids_of($_)) } @drawing });
# One of them moves the page, and all go on in the next window.
my $begins = sub { return $registry->safe_psql('postgres', "SELECT from_ms FROM shardid_lease.granted_shard WHERE shard = $shard_of{d1}") };
my $begun = $begins->();
$member->safe_psql('d1', q(SET ROLE reader; SELECT nextval('ids')));
sub has_failed { return grep { slurp_file($_->{file}) =~ /ERROR/ } @drawing }
await_event('the page is moved: the sessions have the next window', sub { $begins->() > $begun || has_failed() });
($begun, $first) = ($begins->(), $serial->());
my @so_far = map { scalar ids_of($_) } @drawing;
await_event('and have it renewed', sub { has_failed() || $serial->() >= $first + 4 && !grep { $so_far[$_] + 100 >= (() = ids_of($drawing[$_])) } 0, 1 });
is($begins->(), $begun, 'together, as one incarnation');
for (@drawing)
{
	my @told = finish_drawing($_);
	is(join(' ', map { "@$_[1, 2]" } grep { !defined $_->[0] } @told), '', 'without a slot a role with USAGE has ids all the time');
}
is(worker_starts($member), $starts, 'without a worker');
is($windows->(), $stored, 'and nothing is stored');
like(error_of($member, 'd1', q(SET ROLE app; SET shardid_lease.timeout = '100ms'; CREATE SEQUENCE IF NOT EXISTS more; SELECT shardid_lease.lease_shard('ids', 'registry', 'more'))),
	qr/53400: there is no free slot for a background worker/, 'lease_shard() needs a worker');
freeze($registry);
for my $way ('cancel', 'terminate')
{
	my $call = IPC::Run::start([ 'psql', '-Xq', '-v', 'VERBOSITY=verbose', '-d', $member->connstr('d1'), '-c', 'SET ROLE reader', '-c', q(SELECT next_id(generator => 'ids') AS asks) ],
		'<', \'', '>', \my $told, '2>&1', guard('a call that waits'));
	my $asking = q(FROM pg_stat_activity WHERE query LIKE '%AS asks%' AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND wait_event_type = 'Extension');
	await_event("$way: a session asks", sub { on_member("SELECT count(*) $asking") });
	on_member("SELECT pg_${way}_backend(pid) $asking");
	$call->finish;
	like($told, $way eq 'cancel' ? qr/57014: canceling statement/ : qr/57P01: terminating connection/, "$way: it ends");
}
my $error = error_of($member, 'd1', q(SET ROLE reader; SET shardid_lease.timeout = '1s'; SELECT next_id(generator => 'ids')), once => 1);
like($error, qr/57P03: .*The owner of the generator sees why/s, 'a session that has asked by itself without an answer says so');
unlike($error, qr/@{[ $registry->host ]}|@{[ $registry->port ]}|"member"/, 'and shows nothing of the user mapping');
thaw();

no_id_comes_twice('a registry that hangs', $member, $registry, $answers);
