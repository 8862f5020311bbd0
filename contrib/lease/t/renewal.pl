# An ordinary role leases shards from a registry on another server: set-up, renewal without a wait, whatever settings the
# database and the role have and wherever sequence and extensions are put meanwhile, and what happens while the registry
# is down.
use Leases;
use ShardidTest;

my $registry = new_registry('registry', {});
# As if the server had been started from a base backup once, which the registry remembers.
append_to_file($registry->data_dir . '/backup_label.old', "\\ once");
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('quick', lease => '2 s'); SELECT shardid_lease.create_id_space('steady', lease => '10 s')));
my $member = new_node('member', "log_min_messages = debug1\n");
connect_to_registry($member, $registry);
# Up to PostgreSQL 18 a database may read backslashes in strings in another way.
$member->safe_psql('postgres', 'ALTER DATABASE postgres SET standard_conforming_strings = off') if $member->pg_version->major < 19;

is(lease($member, 'steady', $_), { steady => 0, idle => 1 }->{$_}, "the lowest free shard: $_") for 'steady', 'idle';
my $rows = q(SELECT string_agg(format('%s %s %s', shard, port, role), ', ' ORDER BY shard) FROM shardid_lease.id_space_shards);
is($registry->safe_psql('postgres', $rows), join(', ', map { "$_ " . $member->port . ' member' } 0, 1), 'the registry knows who has which');
$member->safe_psql('postgres', q(CREATE SERVER other FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere', dbname 'postgres'); GRANT USAGE ON FOREIGN SERVER other TO app));
for my $refused ('user mapping not found for (user )?"app"', 'password.* required')
{
	like(error_of($member, 'postgres', q(SET ROLE app; CREATE SEQUENCE refused; SELECT shardid_lease.lease_shard('steady', 'other', 'refused'))), qr/ERROR:  \w+: .*$refused/s, "refused: $refused");
	$member->safe_psql('postgres', "DROP SEQUENCE IF EXISTS refused; CREATE USER MAPPING IF NOT EXISTS FOR app SERVER other OPTIONS (user 'member')");
}

# From now on all output functions that a setting changes give another text, on both sides.
my ($locale) = grep { !/^(C|POSIX|C\.utf-?8)$/i } split /\n/, `locale -a`;
my %turned = (bytea_output => 'escape', DateStyle => 'SQL, DMY', IntervalStyle => 'sql_standard', TimeZone => 'Asia/Kathmandu',
	extra_float_digits => -15, map { ("lc_$_" => $locale // 'POSIX') } qw(monetary numeric time));
$_->safe_psql('postgres', join '', map { "ALTER DATABASE postgres SET $_ = '$turned{$_}';\n" } sort keys %turned) for $registry, $member;
# A lease of 10 s is renewed while 16 sessions draw: it never expires, so no session waits, and there are few workers:
# one per half lease, and those that sessions start until the first one runs. So it is whatever operators do meanwhile,
# which sessions that draw already do not notice.
draw_one($member, 'steady');
my $oid = $member->safe_psql('postgres', q(CREATE SCHEMA elsewhere; CREATE ROLE another; GRANT app TO another; SELECT 'steady'::regclass::oid));
my @settings = ('default_transaction_read_only = on', q(default_transaction_isolation = 'serializable'), q(search_path = 'elsewhere', 'nowhere'),
	q(role = 'another'), q(statement_timeout = '1ms'), q(lock_timeout = '1ms'), 'row_security = off', q(client_min_messages = 'debug5'), q(session_replication_role = 'replica'));
my @moved = ('SEQUENCE steady', 'EXTENSION shardid', 'EXTENSION dblink');
my $workers = worker_starts($member);
my $incarnations = q(SELECT since FROM shardid_lease.id_space_shards WHERE space = 'steady' AND shard = 0);
my $since = $registry->safe_psql('postgres', $incarnations);
my $load = start_clients($member, 16, [ "SELECT next_id(generator => '$oid')", 'SELECT pg_sleep(0.1)' ], options => '-csearch_path=public,elsewhere');
ask_safe(my $watch = open_session($member), 'SELECT 1;');
await_ids($load);
$member->safe_psql('postgres', join '', map { "ALTER $_ SET SCHEMA elsewhere;\n" } @moved);
$member->safe_psql('template1', join '', (map { "ALTER DATABASE postgres SET $_;\n" } @settings), map { "ALTER ROLE app SET $_;\n" } @settings[ 0, 2 ]);
my (%renewals, %of_idle);
await_event('renewals', sub {
	my ($renewed_at, $idle_renewed_at) = split /\n/, ask($watch, 'SELECT renewed_at FROM shardid_lease.shard_leases ORDER BY shard;');
	$renewals{$renewed_at} = $of_idle{$idle_renewed_at} = 1;
	return keys %renewals >= 4;
});
close_session($watch);
finish_clients($load, 1);
$member->safe_psql('template1', join '', 'ALTER ROLE app RESET ALL;', map { "ALTER DATABASE postgres RESET $_;\n" } map { /(\w+)/ } @settings);
$member->safe_psql('postgres', join '', map { 'ALTER ' . s/ (?=steady)/ elsewhere./r . " SET SCHEMA public;\n" } @moved);
all_ids(@{ read_told($load) });
my $verdict = judge_clients([$load]);
is_innocent($verdict, 'renewals under load', 1);
$workers = worker_starts($member) - $workers;
cmp_ok($workers, '<', $verdict->{ids} / 20, "$workers workers, and not one for each of $verdict->{ids} ids");
is($registry->safe_psql('postgres', $incarnations), $since, 'in one incarnation');
cmp_ok(scalar keys %of_idle, '>=', 3, 'each renewal renews all leases of the role, also one that generates no ids');

# --- Many generators: a call about one asks for that one; one about all, for each of them once, whatever becomes of others.

$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('many', lease => '1 h')));
$member->safe_psql('postgres', 'SET ROLE app; DO $$ BEGIN FOR i IN 0 .. 101 LOOP EXECUTE format($f$CREATE SEQUENCE many_%s$f$, i); END LOOP; END $$');
$member->safe_psql('postgres', q(SET ROLE app; SELECT shardid_lease.lease_shard('many', 'registry', ('many_' || i)::regclass, i) FROM generate_series(0, 101) i));
my @serials = (1) x 102;
sub asks_for
{
	my ($sql, @asked) = @_;
	my $said = error_of($member, 'postgres', "SET ROLE app; SET shardid_lease.timeout = '3min'; SELECT shardid_lease.$sql");
	$serials[$_]++ for @asked;
	is($registry->safe_psql('postgres', q(SELECT string_agg(serial::text, ' ' ORDER BY shard) FROM shardid_lease.granted_shard WHERE space = 'many')), "@serials", $sql);
	return $said;
}
asks_for(q(take_over_shard('many_7')), 7);
is(asks_for('take_over_shards()', 0 .. 101), 'no error', 'all are taken over');
$registry->safe_psql('postgres', q(UPDATE shardid_lease.granted_shard SET origin = 'another' WHERE space = 'many' AND shard = 50));
my @others = (0 .. 49, 51 .. 101);
like(asks_for('take_over_shards()', @others), qr/55006: 1 of 104 generators cannot take over.*"public.many_50": The registry says: shard 50 of id space "many" is held by/s, 'but one');
asks_for('renew_leases()', @others);
# What keeps a generator from being taken over keeps no other one: all of a server, a registry that does not answer, a lock, two leases.
$member->safe_psql('postgres', "CREATE SERVER again FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '" . $registry->host . "', port '" . $registry->port . "', dbname 'postgres')");
$member->safe_psql('postgres', "CREATE SERVER nowhere FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere', dbname 'postgres')");
$member->safe_psql('postgres', "CREATE USER MAPPING FOR app SERVER $_ OPTIONS (user 'member', password 'of the member'); GRANT USAGE ON FOREIGN SERVER $_ TO app") for 'again', 'nowhere';
my $of = q(UPDATE shardid_lease.leased_generator SET server = '%s' WHERE generator::text = 'public.many_%s');
$member->safe_psql('postgres', sprintf $of, @$_) for [ 'again', 50 ], [ 'nowhere', 51 ];
$member->safe_psql('postgres', q(INSERT INTO shardid_lease.leased_generator SELECT gen_random_uuid(), gen_random_uuid(), generator, server, space, 5000,
	registry, 'released', epoch, shard_bits, sequence_bits FROM shardid_lease.leased_generator WHERE generator::text = 'public.steady'));
my $locking = open_session($member);
ask_safe($locking, 'BEGIN; ALTER SEQUENCE many_1 CACHE 2;');
like(asks_for('take_over_shards()', 0, 2 .. 49, 52 .. 101), qr/4 of 104 generators cannot take over/, 'but those that cannot');
asks_for('renew_leases()', 0, 2 .. 49, 52 .. 101);
like(error_of($member, 'postgres', q(SET ROLE app; SET shardid_lease.timeout = 100; SELECT shardid_lease.take_over_shard('many_1'))), qr/55006: sequence "public.many_1" is locked/, 'the call ends');
close_session($locking);
$member->safe_psql('postgres', 'DELETE FROM shardid_lease.leased_generator WHERE shard = 5000');
$member->safe_psql('postgres', 'DO $$ BEGIN FOR i IN 0 .. 101 LOOP EXECUTE format($f$DROP SEQUENCE many_%s$f$, i); END LOOP; END $$');

# --- The registry is down.

lease($member, 'quick', 'quick');
my ($log_before, $start) = (-s $member->logfile, time);
my $session = start_drawing($member, 'quick', settings => 'SET shardid_lease.timeout = 1000;');
await_event('ids come', sub { ids_of($session) > 50 });
$registry->stop('immediate');
my $before = -s $session->{file};
my $unreached = qr/Could not reach the registry: /;
await_event('they end, with what is wrong', sub { slurp_file($session->{file}, $before) =~ /ERROR.*$unreached/s });
$registry->start;
my $drawn = () = ids_of($session);
await_event('ids come again', sub { ids_of($session) > $drawn + 5 });
my @errors = grep { !defined $_->[0] } finish_drawing($session);
my ($why) = map { $_->[2] =~ $unreached ? $_->[2] : () } @errors;
my ($until, $clock) = $why =~ /window of time ends at ([^,]+), and the clock is at (.*?)\. Could/;
is($member->safe_psql('postgres', "SELECT '$clock'::timestamptz >= '$until'"), 't', 'ids go on to the end of the window');
is(join(' ', keys %{ { map { $_->[1] => 1 } @errors } }), '57P03', 'then ' . @errors . ' times 57P03');
my $lines = () = slurp_file($member->logfile, $log_before) =~ /could not renew the lease of generator "public.quick"/g;
ok($lines >= 1 && $lines <= 2 + (time - $start) / 60, "the log says so once a minute, not more: $lines times");

# Sessions that wait for a window can be ended, and the server can be stopped.
$registry->poll_query_until('postgres', q(SELECT until < clock_timestamp() FROM shardid_lease.id_space_shards WHERE space = 'quick')) or die 'no end';
freeze($registry);
my @command = ('psql', '-XAtq', '-d', $member->connstr('postgres'), '-c', q(SELECT next_id(generator => 'quick')));
my @waiting = map { IPC::Run::start(\@command, '>', \my $said, '2>&1', guard('a call that waits')) } 1, 2;
$member->poll_query_until('postgres', <<'SQL') or die 'they do not wait';
SELECT count(*) = 2 FROM pg_stat_activity WHERE query LIKE 'SELECT next_id%' AND state = 'active' AND wait_event_type IN ('Extension', 'IPC')
SQL
ok($member->stop('fast', fail_ok => 1), 'the server stops while a draw waits, fast');
$_->finish for @waiting;
$member->start;
# A smart shutdown waits for clients, but not for the worker that a client has started.
# Shortly after a failure a draw starts none.
sub draw_without_waiting { return draw_one($member, 'quick', settings => 'SET shardid_lease.timeout = 0;') }
like(draw_without_waiting(), qr/57P03/, 'a draw that does not wait');
await_event('leaves a worker', sub { workers_of($member) == 1 || !draw_without_waiting() });
ok($member->stop('smart', fail_ok => 1), 'the server stops then, smart');
$member->start;
thaw();

unlike(slurp_file($member->logfile), qr/WARNING:  (?:snapshot|resource|relcache)/, 'no worker leaves anything behind');
no_id_comes_twice('registry away', $member, $registry);
