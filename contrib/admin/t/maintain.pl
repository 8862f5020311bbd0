# maintain_id_partitions at the same time as other sessions: four calls at once, a server that is killed during a step,
# locks that it does not get, a DETACH CONCURRENTLY that was canceled; and by pg_cron. The next call completes the work. And the
# commands that it names to move rows of a default partition.
use Docs;
use ShardidTest;

my $has_cron = -e (`$ENV{PG_CONFIG} --pkglibdir` =~ s/\n//r) . '/pg_cron.so';
my $node = new_node('maintain', "timezone = 'UTC'\nautovacuum = off\nsearch_path = '\"\$user\", public, ids'\n" . ($has_cron ? "shared_preload_libraries = 'pg_cron'\ncron.use_background_workers = on\n" : ''), allows_streaming => 'logical');
sub query { return $node->safe_psql('postgres', $_[0]) }
query(<<'SQL');
CREATE SCHEMA ids;
GRANT USAGE ON SCHEMA ids TO PUBLIC;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE EXTENSION shardid_admin;
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
	as_planner("CREATE TABLE $name (id bigint PRIMARY KEY" . ($more // '') . ') PARTITION BY RANGE (id)');
	return;
}
sub as_planner { return $node->safe_psql('postgres', $_[0], extra_params => [ '-U', 'planner' ]) }
sub parts_of { return query("SELECT count(*) FROM parts WHERE parent = 'planner.$_[0]'") }

# A session that holds a lock until it quits.
sub holding
{
	my ($sql) = @_;
	my $session = open_session($node);
	ask_safe($session, "BEGIN; $sql;");
	return $session;
}

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
eval { close_session($gate) };
start_again($node);
is(parts_of('killed') . query(q{SELECT count(*) FROM pg_class WHERE relname ~ '^killed_\d+$'}), 22, 'a step that was killed has left nothing');
is(call(q{'killed', '1 month', 5}) . parts_of('killed'), 6, 'and the next call makes the rest');

# A lock that is not available: of the table, then of a table that it references, while other work continues. The next
# call gets it.
as_planner('CREATE TABLE users (id bigint PRIMARY KEY)');
table_of('locked', ', owner bigint REFERENCES users');
is(call(q{'locked', '1 month', 0, since => now() - '3 months'::interval}) . parts_of('locked'), 4, 'four months');
my $vacuum = holding('LOCK TABLE ONLY planner.locked IN SHARE UPDATE EXCLUSIVE MODE');
like(call(q{'locked', '1 month', 2}, '-clock_timeout=50ms'), qr/^WARNING:  55P03: could not get a lock.*DETAIL:  The lock is that of the table.*HINT:  The next call/s,
	'a lock of the table is not had');
ask_safe($vacuum, 'ROLLBACK;');
my $writer = holding('INSERT INTO planner.users VALUES (1)');
my $said = call(q{'locked', '1 month', 2, keep => '40 days'}, '-clock_timeout=50ms');
is(() = $said =~ /WARNING:  55P03: could not get a lock for a partition of planner\.locked\n.*?DETAIL:  The commands are: CREATE TABLE/g, 2, 'nor one of what it refers to');
unlike($said, qr/failed|ERROR/, 'which is no failure');
ask_safe($writer, 'ROLLBACK;');
is(call(q{'locked', '1 month', 2, keep => '40 days'}), '', 'the next call has all');
# Twelve old partitions and a session that has read: others wait for one drop only, and not until a deadlock is looked for.
table_of('read');
is(call(q{'read', '1 month', 0, since => now() - '12 months'::interval}) . parts_of('read'), 13, 'thirteen months');
my $reader = holding('SELECT count(*) FROM planner.read');
$said = call(q{'read', '1 month', 0, keep => '1 day'});
is(() = $said =~ /WARNING:  55P03: could not get a lock for a partition of planner\.read\n/g, 1, 'of the drops one is tried');
ask_safe($reader, 'ROLLBACK;');
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
my $dropping = IPC::Run::start([ @planner, '-c', <<'SQL' ], '>', '/dev/null', '2>', '/dev/null');
DO $$ BEGIN
	WHILE (SELECT count(*) > 1 FROM pg_inherits WHERE inhparent = 'planner.deadlock'::regclass) LOOP
		CALL shardid_admin.maintain_id_partitions('planner.deadlock', '1 month', 0, keep => '1 day');
	END LOOP;
END $$
SQL
$node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE usename = 'planner' AND NOT granted}) or die;
is(ask($application, q{INSERT INTO planner.deadlock SELECT ids.id_lower_bound(now()), 2 RETURNING 'inserted';}), 'inserted', 'a session that waits for the call gets in before the reader has ended');
ask_safe($reader, 'ROLLBACK;');
close_session($application);
ok($dropping->finish, 'then the call drops the partition');
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
as_planner(q{CREATE TABLE killed_200001 PARTITION OF killed FOR VALUES FROM (0) TO (ids.id_lower_bound('2011-09-01 00:00+00'))});
$reader = holding('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM planner.killed');
my ($detach, $drop) = split /\n/, as_planner(q{SELECT shardid_admin.id_partition_commands('killed', '1 month', keep => '5 years')});
is("$detach; $drop", 'ALTER TABLE planner.killed DETACH PARTITION planner.killed_200001 CONCURRENTLY; DROP TABLE planner.killed_200001', 'an old partition');
run_log([ @planner, '-c', q{SET lock_timeout = '50ms'}, '-c', $detach ]);
is(query(q{SELECT count(*) FROM parts WHERE pending}), 1, 'a DETACH that was canceled');
ask_safe($reader, 'ROLLBACK;');
is(call(q{'killed', '1 month', keep => '5 years'}), '', 'is brought to its end');
is(query(q{SELECT count(*) FROM pg_class WHERE relname = 'killed_200001'}), 0, 'and the table is dropped');

# Rows that are moved out of the default partition by the commands of the HINT fire no trigger, not of the table, of the default
# partition or of a part of it, also none that is newer than the HINT; and those of other sessions do. A subscriber gets both the
# DELETE and the INSERT of each row. Commands that fail leave all as it was.

# All commands of a text, as psql reads them if one fails.
sub psql_of { return ($node->psql('postgres', $_[0], on_error_stop => 0, extra_params => [ '-U', 'planner' ]))[ 1, 2 ] }
as_planner(<<'SQL');
CREATE TABLE counted (id bigint PRIMARY KEY, next bigint REFERENCES counted ON DELETE CASCADE) PARTITION BY RANGE (id);
CREATE TABLE counted_rest PARTITION OF counted DEFAULT PARTITION BY HASH (id);
CREATE TABLE counted_rest_0 PARTITION OF counted_rest FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE counted_rest_1 PARTITION OF counted_rest FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE counter AS SELECT 0 AS rows, 0 AS fired;
CREATE FUNCTION count_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE counter SET rows = rows + CASE WHEN TG_LEVEL = 'STATEMENT' OR TG_NARGS > 0 OR TG_NAME = 'later' THEN 0
			WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END, fired = fired + 1;
	RETURN NULL;
END $$;
CREATE TRIGGER count_rows AFTER INSERT OR DELETE ON counted FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE CONSTRAINT TRIGGER later AFTER INSERT OR DELETE ON counted DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION count_rows();
CREATE TRIGGER "100% always" AFTER INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_rows('audit');
CREATE TRIGGER off AFTER INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_rows('audit');
CREATE TRIGGER of_statements AFTER INSERT OR DELETE ON counted EXECUTE FUNCTION count_rows();
ALTER TABLE counted ENABLE ALWAYS TRIGGER "100% always", DISABLE TRIGGER off;
CREATE TRIGGER of_rest AFTER DELETE ON counted_rest EXECUTE FUNCTION count_rows();
CREATE TRIGGER of_part BEFORE DELETE ON counted_rest_0 FOR EACH ROW EXECUTE FUNCTION count_rows();
ALTER TABLE counted_rest_0 ENABLE ALWAYS TRIGGER of_part;
ALTER TABLE counted_rest_1 DISABLE TRIGGER count_rows;
ALTER TABLE counted_rest_1 ENABLE TRIGGER count_rows;
ALTER TABLE counted_rest_1 DISABLE TRIGGER later;
INSERT INTO counted SELECT id, id FROM generate_series(1, 50) n, LATERAL (SELECT ids.id_lower_bound(now()) + n) i (id);
UPDATE counter SET fired = 0;
CREATE TABLE of_part (event bigint REFERENCES counted_rest_0 ON DELETE CASCADE);
INSERT INTO of_part SELECT id FROM counted_rest_0;
SQL
my $triggers = q{SELECT string_agg(concat_ws(' ', tgrelid::regclass, tgname, tgenabled), ', '
		ORDER BY tgrelid::regclass::text COLLATE "C", tgname)
	FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'planner.counted_rest%' AND NOT tgisinternal AND tgname <> 'newer'};
my $triggers_before = query($triggers);
sub moving
{
	my ($commands) = join("\n", psql_of(q{CALL shardid_admin.maintain_id_partitions('counted', '1 month', 0)})) =~
	  /HINT:  Move them by these commands:\n(.*?COMMIT;)/s;
	return $commands;
}
my $state = q{SELECT (SELECT array_agg(c ORDER BY id) FROM planner.counted c),
	(SELECT array_agg(o ORDER BY event) FROM planner.of_part o),
	(SELECT string_agg(pg_get_constraintdef(oid), '; ' ORDER BY conrelid, conname) FROM pg_constraint
		WHERE contype = 'f' AND confrelid::regclass::text LIKE 'planner.counted%'),
	(SELECT count(*) FROM pg_class WHERE relname ~ '^counted_\d'), (SELECT c FROM planner.counter c), (} . $triggers . ')';
my $state_before = query($state);
like((psql_of(moving()))[1], qr/violates foreign key constraint "of_part_event_fkey"/, 
	'rows that are referenced where they are cannot be moved');
is(query($state), $state_before, 'which changes nothing, also in the rows that refer to them');
as_planner('DROP TABLE of_part');
my $moving = moving();
like($moving, qr/DELETE FROM planner\.counted_rest /, 'rows of the default partition are to be moved');
query(q{CREATE PUBLICATION of_counted FOR TABLE planner.counted WITH (publish_via_partition_root);
	SELECT pg_create_logical_replication_slot('counted', 'pgoutput')});
as_planner('CREATE TRIGGER newer AFTER DELETE ON counted_rest_1 FOR EACH ROW EXECUTE FUNCTION count_rows()');
$reader = holding('SELECT count(*) FROM planner.counted');
like((psql_of("SET statement_timeout = '1min'; $moving"))[1], qr/canceling statement due to lock timeout/, 'they do not wait long for a reader');
ask_safe($reader, 'ROLLBACK;');
$moving =~ s/^BEGIN;\n//;
my ($until_moved, $then) = $moving =~ /^(.*FROM moved)(.*)$/s;
my $moving_them = open_session($node, '-U', 'planner');
ask_safe($moving_them, "BEGIN; $until_moved;");
my $beside = (psql_of(q{SET lock_timeout = '100ms';
	INSERT INTO counted SELECT ids.id_lower_bound(now() + '4 months'::interval)}))[1];
like($beside, qr/canceling statement due to lock timeout/, 'no other session inserts while triggers are off');
ask_safe($moving_them, substr($then, 1) . ';');
close_session($moving_them);
is(query('SELECT rows, fired FROM planner.counter'), '50|0', 'rows that move fire no trigger');
is(query($triggers), $triggers_before, 'all triggers are as before');
is(query(q{SELECT string_agg(concat_ws(' ', c.tgname, c.tgenabled), ', ' ORDER BY c.tgname) FROM pg_trigger c
	JOIN pg_trigger t ON t.oid = c.tgparentid WHERE NOT t.tgisinternal AND t.tgrelid = 'planner.counted'::regclass
		AND c.tgrelid = to_regclass(to_char(now(), '"planner.counted_"YYYYMM'))}),
	'100% always A, count_rows O, later O, off D', 'those of the partition are as those of the table');
is(query(q{SELECT string_agg(kind || ' ' || n, ', ' ORDER BY kind) FROM (SELECT chr(get_byte(data, 0)) AS kind, count(*) AS n
	FROM pg_logical_slot_get_binary_changes('counted', NULL, NULL, 'proto_version', '1',
		'publication_names', 'of_counted') GROUP BY 1) c WHERE kind IN ('I', 'D')}),
	'D 50, I 50', 'a subscriber gets each row again');
query(q{SELECT pg_drop_replication_slot('counted'); DROP PUBLICATION of_counted});
is(query(q{SELECT count(*) FROM planner.counted
	WHERE tableoid = to_regclass(to_char(now(), '"planner.counted_"YYYYMM'))}), 50, 'the rows are in their partition');
as_planner('INSERT INTO counted SELECT max(id) + 1, max(id) FROM counted;
	DELETE FROM counted WHERE id = (SELECT min(id) FROM counted)');
is(query('SELECT rows, fired FROM planner.counter'), '50|7', 'then triggers fire again');
like((psql_of('INSERT INTO counted SELECT max(id) + 1, 1 FROM counted'))[1], qr/violates foreign key/, 'as do foreign keys');

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
