# An answer that the registry may lose is no answer: if the registry's commit no longer waits for its synchronous
# standby, because the wait was cancelled, a member stores nothing, and generates nothing that the promoted standby does
# not know. Neither does it store an answer that an error follows. What the registry's functions leave behind is a commit
# that is flushed whatever their caller has set, and their caller's settings.
use Leases;
use ShardidTest;

my $registry = new_registry('registry', { ids => "lease => '2 min', max_ahead => '10 min'" }, "autovacuum = off\nwal_keep_size = 64MB\nwal_writer_delay = 10s\n", allows_streaming => 1);
my $member = new_node('member', "autovacuum = off\n");
connect_to_registry($member, $registry, $_) for 'a', 'b';
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub of_a { return $member->safe_psql('a', "SELECT $_[1] FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }
sub renew { my $said = error_of($member, 'a', 'SET ROLE app; SELECT shardid_lease.renew_leases()'); return $said eq 'no error' || die $said }
is(lease($member, 'ids', 'old', dbname => 'a'), 0, 'a lease');
draw_one($member, 'old', dbname => 'a');

# --- A result, and then an error at the commit.

on_registry(<<'SQL');
CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''too late''; END';
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT OR UPDATE ON shardid_lease.granted_shard
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit();
SQL
my $until = of_a('old', 'until');
renew();
is(of_a('old', 'until'), $until, 'an error after the result: the window stays as it was');
like(of_a('old', 'error'), qr/too late/, 'the error says why');
on_registry('DROP FUNCTION at_commit CASCADE');
is(lease($member, 'ids', 'fresh', dbname => 'a'), 1, 'another lease');

# --- The standby hangs, is not heard of any more, and the wait for it is cancelled.

my $standby = new_standby($registry, 'standby');
wait_for_standby($registry, 'standby');
renew();
like(error_of($registry, 'postgres', "SET synchronous_commit = $_; SELECT shardid_lease.reserve_shard('ids', 900)"),
	qr/ERROR:  55000: the registry has to wait for its synchronous standby/, "the owner's functions, synchronous_commit = $_") for 'off', 'local';
freeze($standby);
# Else it would receive what was sent when it continues.
on_registry('SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_replication');

# Ends each wait of the registry for the standby until the member's statement is over; returns what that said.
my $canceller = open_session($registry);
sub cancelled
{
	my ($statement) = @_;
	my ($said, $cancels) = ('', 0);
	my $call = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $member->connstr('a'), '-c', 'SET ROLE app', '-c', $statement ],
		'<', \undef, '>', \$said, '2>&1', guard($statement));
	while (runs($call))
	{
		$cancels += ask($canceller, q(SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'member';));
		usleep 20_000;
	}
	$call->finish;
	cmp_ok($cancels, '>', 0, 'the registry has waited for the standby');
	return $said;
}

$member->safe_psql('a', 'SET ROLE app; CREATE SEQUENCE new_on; CREATE SEQUENCE new_local');
like(error_of($member, 'a', q(SET ROLE app; SELECT shardid_lease.lease_shard('ids', 'registry', 'new_on', 0)), once => 1),
	qr/55006: .*shard 0 of id space "ids" is held by/s, 'what is refused waits for no standby');
for my $setting ('on', 'local')
{
	# Not even a role that does not want to wait is granted what can be lost.
	on_registry("SET synchronous_commit = local; ALTER ROLE member SET synchronous_commit = $setting");
	$until = of_a('old', 'until');
	cancelled('SELECT shardid_lease.renew_leases()');
	is(of_a('old', 'until'), $until, "$setting: a renewal whose wait is cancelled is not stored");
	isnt(of_a('old', 'error'), '', "$setting: and there is an error");
	like(cancelled("SELECT shardid_lease.lease_shard('ids', 'registry', 'new_$setting')"), qr/ERROR:  57P03: /, "$setting: nor is a lease, which can be had later");
	is(of_a("new_$setting", 'state'), 'joining', "$setting: it is not leased");
}

# --- The standby is promoted, and lacks what was cancelled; another member leases what is free there.

my @drawing = map { start_drawing($member, $_, dbname => 'a', settings => 'SET shardid_lease.timeout = 0;') } 'old', 'new_on', 'new_local';
kill_node($registry);
$canceller->{psql}->kill_kill;
thaw();
$standby->promote;
$registry = $standby;
on_registry("ALTER SYSTEM SET synchronous_standby_names = ''");
$registry->reload;
is(on_registry(q(SELECT string_agg(shard::text, ' ' ORDER BY shard) FROM shardid_lease.id_space_shards)), '0 1', 'the standby knows none of it');
on_registry('SELECT shardid_lease.registry_was_moved()');
$member->safe_psql($_, "ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')") for 'a', 'b';
my @shards = lease($member, 'ids', 'other', dbname => 'b');
cmp_ok((draw_from_all([ $member, 'b', 'other' ]))[0], '>', 0, 'another member has ids');
finish_drawing($_) for @drawing;
push @shards, map { lease($member, 'ids', $_, dbname => 'a') } 'new_on', 'new_local';
is("@shards", '2 3 4', 'each shard has one holder');
renew();
cmp_ok(of_a('old', 'until'), 'gt', $until, 'the promoted standby renews what it knows');
cmp_ok($_, '>', 0, "$_ ids") for draw_from_all([ $member, 'b', 'other' ], map { [ $member, 'a', $_ ] } 'old', 'new_on', 'new_local');

# --- Each function flushes its commit: the WAL writer sleeps.

on_registry(<<'SQL');
SELECT shardid_lease.create_id_space('flushed'), shardid_lease.create_id_space('dropped');
CREATE FUNCTION join_at(shard int) RETURNS shardid_lease.request_1[] LANGUAGE sql AS $$
	SELECT ARRAY[jsonb_populate_record(NULL::shardid_lease.request_1, jsonb_build_object('space', 'flushed', 'origin', 's', 'family', 'i',
		'moved_at', '0/0', 'place', 'p', 'started', 1, 'shard', shard, 'kind', 'join', 'host', 'h', 'port', 1, 'database', 'd',
		'clock', floor(extract(epoch FROM clock_timestamp()) * 1000)))]
$$;
SQL
my @calls = (q(create_id_space('new')), q(drop_id_space('dropped')), q(reserve_shard('flushed', 9)), q(unreserve_shard('flushed', 9)),
	'grant_shards(join_at(3))', q(evict_shard('flushed', 3)), 'registry_was_moved()', 'registry_was_restored()', q(receipts('{}')));
my $settings = join ' || ', map { "current_setting('$_')" } qw(synchronous_commit lock_timeout statement_timeout search_path);
for my $call (@calls)
{
	my $said = on_registry(<<SQL);
SET synchronous_commit = local; SET lock_timeout = '70s'; SET statement_timeout = '80s'; SET search_path = pg_catalog, public;
BEGIN; SELECT shardid_lease.$call; SELECT $settings; ROLLBACK;
SET synchronous_commit = off;
BEGIN; SELECT shardid_lease.$call; SELECT pg_current_wal_insert_lsn() AS changed \\gset
COMMIT; SELECT pg_current_wal_flush_lsn() > :'changed';
SQL
	my $flushed = $call =~ /^receipts/ ? '[tf]' : 't';    # which changes nothing
	like($said, qr/^local70s80spg_catalog, public\n.*^$flushed\z/ms, "$call keeps its caller's settings, and is flushed");
}

no_id_comes_twice('waits for a standby that are cancelled', $member, $registry);
