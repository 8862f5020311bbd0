# maintain_id_partitions at the same time as other sessions: four calls at once, a server that is killed during a step,
# locks that it does not get, a DETACH CONCURRENTLY that was canceled; and by pg_cron. The next call completes the work.
use Docs;
use ShardidTest;

my $has_cron = -e (`$ENV{PG_CONFIG} --pkglibdir` =~ s/\n//r) . '/pg_cron.so';
my $node = new_node('maintain', "timezone = 'UTC'\nautovacuum = off\nsearch_path = '\"\$user\", public, ids'\n" . ($has_cron ? "shared_preload_libraries = 'pg_cron'\ncron.use_background_workers = on\n" : ''));
sub query { return $node->safe_psql('postgres', $_[0]) }
query(<<'SQL');
CREATE SCHEMA ids;
GRANT USAGE ON SCHEMA ids TO PUBLIC;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE EXTENSION shardid_admin;
GRANT USAGE ON SCHEMA shardid_admin TO PUBLIC;
CREATE ROLE planner LOGIN;
CREATE SCHEMA planner AUTHORIZATION planner;
CREATE VIEW parts AS SELECT inhparent::regclass::text AS parent, relname, inhdetachpending AS pending FROM pg_inherits JOIN pg_class ON oid = inhrelid
WHERE relkind IN ('r', 'p');
-- Records with which settings each command ran; waits for advisory lock 7, if a session holds it.
CREATE TABLE seen AS SELECT ''::text AS tag, ''::text AS timeout, ''::text AS path, ''::text AS isolation WHERE false;
GRANT INSERT ON seen TO PUBLIC;
CREATE FUNCTION see() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.seen VALUES (tg_tag, current_setting('lock_timeout'), current_setting('search_path'), current_setting('transaction_isolation'));
	IF tg_tag = 'CREATE TABLE' AND EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 7) THEN
		PERFORM set_config('lock_timeout', '0', true);
		PERFORM pg_advisory_xact_lock_shared(7);
	END IF;
END
$$;
CREATE EVENT TRIGGER see ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE') EXECUTE FUNCTION see();
SQL
my @planner = ('psql', '-Xq', '-d', $node->connstr('postgres') . ' user=planner');

# The messages of a call by the owner, except those of what it drops.
sub call
{
	my ($call, $settings) = @_;
	my $said = '';
	local $ENV{PGOPTIONS} = $settings // '';
	my $ok = IPC::Run::run([ @planner, '-v', 'VERBOSITY=verbose', '-c', "CALL shardid_admin.maintain_id_partitions($call)" ], '>', '/dev/null', '2>', \$said);
	return ($ok ? '' : 'failed: ') . $said =~ s/^NOTICE: .* is older than keep, and is dropped\nLOCATION: .*\n//mgr;
}
sub table_of
{
	my ($name, $more) = @_;
	$node->safe_psql('postgres', "CREATE TABLE $name (id bigint PRIMARY KEY" . ($more // '') . ') PARTITION BY RANGE (id)', extra_params => [ '-U', 'planner' ]);
	return;
}
sub as_planner { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'planner' ]) }
sub parts_of { return query("SELECT count(*) FROM parts WHERE parent = 'planner.$_[0]'") }

# A session that holds a lock until it is ended.
sub holding
{
	my ($sql) = @_;
	my $session = { in => "BEGIN; $sql;\n\\echo held\n", out => '' };
	$session->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$session->{in}, '>', \$session->{out}, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	$session->{run}->pump until $session->{out} =~ /held/;
	return $session;
}
sub end_of { my ($session) = @_; $session->{in} .= "ROLLBACK;\n\\q\n"; $session->{run}->finish; return }

# Four calls at once take turns: each partition is made once, without a warning.
table_of('together');
my @calls = map {
	my $said = '';
	my $sql = q{CALL shardid_admin.maintain_id_partitions('together', '1 day', 20, keep => '1 year')};
	my @command = (@planner, '-c', q{SET lock_timeout = '10min'}, '-c', $sql);
	[ IPC::Run::start(\@command, '>', '/dev/null', '2>', \$said), \$said ];
} 1 .. 4;
$_->[0]->finish for @calls;
is(join('', map { ${ $_->[1] } } @calls), '', 'four calls at once complain of nothing');
is(parts_of('together'), 21, 'four calls at once make each partition');

# The settings of a command: the session's lock_timeout if it is shorter, but not its search_path and isolation level.
query('TRUNCATE seen');
table_of('settings');
is(call(q{'settings', '1 month', 0}), '', 'a call without settings');
is(call(q{'settings', '1 month', 1}, '-clock_timeout=50ms -csearch_path=planner,public,ids -cdefault_transaction_isolation=serializable'), '', 'one with a short lock_timeout');
is(call(q{'settings', '1 month', 2}, '-clock_timeout=1h'), '', 'one with a long one');
is(query(q{SELECT string_agg(DISTINCT concat_ws(' ', timeout, path, isolation), '; ') FROM seen WHERE tag = 'ALTER TABLE'}),
	'300ms pg_catalog, pg_temp read committed; 50ms pg_catalog, pg_temp read committed', 'what commands run with');

# Killed after CREATE TABLE: what was committed before is there, and the next call makes the rest.
table_of('killed');
is(call(q{'killed', '1 month', 1}), '', 'two months');
my $gate = holding('SELECT pg_advisory_xact_lock(7)');
my $killed = IPC::Run::start([ @planner, '-c', q{CALL shardid_admin.maintain_id_partitions('killed', '1 month', 5)} ], '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE usename = 'planner' AND wait_event = 'advisory'}) or die;
kill_node($node);
$killed->finish;
eval { $gate->{run}->finish };
start_again($node);
is(parts_of('killed') . query(q{SELECT count(*) FROM pg_class WHERE relname ~ '^killed_\d+$'}), 22, 'a step that was killed has left nothing');
is(call(q{'killed', '1 month', 5}) . parts_of('killed'), 6, 'and the next call makes the rest');

# A lock that is not available: of the table, then of a table that it references, while other work continues. The next
# call gets it.
$node->safe_psql('postgres', 'CREATE TABLE users (id bigint PRIMARY KEY)', extra_params => [ '-U', 'planner' ]);
table_of('locked', ', owner bigint REFERENCES users');
is(call(q{'locked', '1 month', 0, since => now() - '3 months'::interval}) . parts_of('locked'), 4, 'four months');
my $vacuum = holding('LOCK TABLE ONLY planner.locked IN SHARE UPDATE EXCLUSIVE MODE');
like(call(q{'locked', '1 month', 2}, '-clock_timeout=50ms'), qr/^WARNING:  55P03: could not get a lock.*DETAIL:  The lock is that of the table.*HINT:  The next call/s,
	'a lock of the table is not had');
end_of($vacuum);
my $writer = holding('INSERT INTO planner.users VALUES (1)');
my $said = call(q{'locked', '1 month', 2, keep => '40 days'}, '-clock_timeout=50ms');
is(() = $said =~ /WARNING:  55P03: could not get a lock for a partition of planner\.locked\n.*?DETAIL:  The commands are: CREATE TABLE/g, 2, 'nor one of what it refers to');
unlike($said, qr/failed|ERROR/, 'which is no failure');
end_of($writer);
is(call(q{'locked', '1 month', 2, keep => '40 days'}), '', 'the next call has all');
# Twelve old partitions and a session that has read: others wait for one drop only, and not until a deadlock is looked for.
table_of('read');
is(call(q{'read', '1 month', 0, since => now() - '12 months'::interval}) . parts_of('read'), 13, 'thirteen months');
my $reader = holding('SELECT count(*) FROM planner.read');
$said = call(q{'read', '1 month', 0, keep => '1 day'});
is(() = $said =~ /WARNING:  55P03: could not get a lock for a partition of planner\.read\n/g, 1, 'of the drops one is tried');
end_of($reader);
is(call(q{'read', '1 month', 1, keep => '1 day'}) . parts_of('read'), 2, 'the next call drops all');

# In a deadlock the call gives way, whoever began to wait first: it waits for 0.3 s, as seen above, and deadlock_timeout is
# 1 s. Here PostgreSQL does not look for a deadlock, as both times can have passed on a busy machine.
query(q{ALTER ROLE planner SET deadlock_timeout = '1h'});
table_of('deadlock', ', owner bigint REFERENCES users');
is(call(q{'deadlock', '1 month', 0, since => now() - '1 month'::interval}) . parts_of('deadlock'), 2, 'two months');
my $old = query(q{SELECT min(relname) FROM parts WHERE parent = 'planner.deadlock'});
$reader = holding("SELECT count(*) FROM planner.$old");
my $application = holding(q{SET LOCAL deadlock_timeout = '1h'; INSERT INTO planner.users VALUES (2)});
# A call waits for a third of a second, which a busy machine may not see.
my @calls = map { ('-c', q{CALL shardid_admin.maintain_id_partitions('deadlock', '1 month', 0, keep => '1 day')}) } 1 .. 60;
my $dropping = IPC::Run::start([ @planner, @calls ], '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE usename = 'planner' AND NOT granted}) or die;
$application->{in} .= "INSERT INTO planner.deadlock SELECT ids.id_lower_bound(now()), 2 RETURNING 'inserted';\n\\echo over\n";
$application->{run}->pump until $application->{out} =~ /over/;
like($application->{out}, qr/^inserted$/m, 'a session that waits for the call gets in before the reader has ended');
end_of($reader);
end_of($application);
$dropping->finish;
query('ALTER ROLE planner RESET deadlock_timeout');

# A session that ended between DETACH and DROP.
table_of('halfway');
is(call(q{'halfway', '1 month', 0, since => now() - '2 months'::interval}), '', 'three months');
my ($detached) = split /\n/, as_planner(q{SELECT shardid_admin.id_partition_commands('halfway', '1 month', 0, keep => '1 day')});
as_planner($detached);
as_planner('CREATE TABLE halfway_209901 (id bigint); CREATE TABLE halfway_over (id bigint)');
$said = call(q{'halfway', '1 month', 0, keep => '1 day'});
like($said, qr/^NOTICE: .*table (planner\.halfway_\d+) is older than keep, but no partition of planner\.halfway\n.*HINT:  .*, run DROP TABLE \1\.\n/s, 'a table that was detached is named');
is(() = $said =~ /NOTICE/g, 1, 'and no other');
is(call(q{'halfway', '1 month', 0}), '', 'and not without keep');
my ($hint) = $said =~ /run (DROP TABLE .*)\./;
as_planner($hint);
is(call(q{'halfway', '1 month', 0, keep => '1 day'}), '', 'the hint drops it');

# DETACH CONCURRENTLY canceled in its second transaction.
query(q{CREATE TABLE planner.killed_200001 (LIKE planner.killed INCLUDING ALL); ALTER TABLE planner.killed_200001 OWNER TO planner});
query(q{SET SESSION AUTHORIZATION planner; ALTER TABLE planner.killed ATTACH PARTITION planner.killed_200001
FOR VALUES FROM ('0') TO ('} . query(q{SELECT id_lower_bound('2011-09-01 00:00+00')}) . q{')});
$reader = holding('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM planner.killed');
my ($detach, $drop) = split /\n/, $node->safe_psql('postgres', q{SELECT shardid_admin.id_partition_commands('killed', '1 month', keep => '5 years')}, extra_params => [ '-U', 'planner' ]);
is("$detach; $drop", 'ALTER TABLE planner.killed DETACH PARTITION planner.killed_200001 CONCURRENTLY; DROP TABLE planner.killed_200001', 'an old partition');
run_log([ @planner, '-c', q{SET lock_timeout = '50ms'}, '-c', $detach ]);
is(query(q{SELECT count(*) FROM parts WHERE pending}), 1, 'a DETACH that was canceled');
end_of($reader);
is(call(q{'killed', '1 month', keep => '5 years'}), '', 'is brought to its end');
is(query(q{SELECT count(*) FROM pg_class WHERE relname = 'killed_200001'}), 0, 'and the table is dropped');

# The alert of contrib/admin/README.md, which any role can run.
my $alert = block_of('contrib/admin/README.md', 'partition-alert') =~ s/'events'/'planner.alerted'/r;
table_of('alerted');
is(query($alert), 'planner.alerted', 'alert: without a partition');
is(call(q{'alerted', '1 month', 0}) . query($alert), 'planner.alerted', 'alert: without that of the next month');
is(call(q{'alerted', '1 month', 1}) . query($alert), '', 'no alert with it');
# pg_cron: a job that begins with the server does not wait for the next minute. Its owner cannot log in: the job belongs
# to a role that can, and runs as the owner.
SKIP:
{
	skip 'pg_cron is not installed for this PostgreSQL', 1 unless $has_cron;
	query('CREATE EXTENSION pg_cron');
	query('CREATE ROLE keeper NOLOGIN; CREATE ROLE worker LOGIN; CREATE SCHEMA keeper AUTHORIZATION keeper');
	query('SET ROLE keeper; CREATE TABLE keeper.events (id bigint PRIMARY KEY) PARTITION BY RANGE (id)');
	query('REVOKE USAGE ON SCHEMA ids FROM PUBLIC');
	query(block_of('contrib/admin/README.md', 'partition-cron') =~ s/events_owner/keeper/gr =~ s/cron_worker/worker/gr =~ s/'events'/'keeper.events'/r =~ s/'\@daily'/'\@reboot'/r =~ s/'shop'/'postgres'/r);
	$node->restart;
	ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM cron.job_run_details WHERE status IN ('succeeded', 'failed')}),
		'pg_cron has run the job');
	is(query(q{SELECT count(*) FROM parts WHERE parent = 'keeper.events'}), 4, 'and the partitions are there');
}

$node->stop;
done_testing();
