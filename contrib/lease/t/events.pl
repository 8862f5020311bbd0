# Leases are renewed whatever operators do to a member: ALTER of all kinds, settings of the database and the role, DROP
# DATABASE while a worker waits for the registry, DROP EXTENSION under load.
use Leases;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL};

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('orders'), shardid_lease.create_id_space('quick', lease => '2 s')));
my $member = new_node('member', "shardid_lease.registry_timeout = '5s'\n");
connect_to_registry($member, $registry);
sub query { return $member->safe_psql('postgres', $_[0]) }
sub draws { return like(draw_one($member, @_), qr/^\d+$/, "$_[0] draws") }

# A session draws continuously while the code runs and until two renewals later; none of its draws may fail.
sub goes_on
{
	my ($name, $generator, $code, $settings) = @_;
	my $session = start_drawing($member, $generator, settings => $settings);
	await_event("$name: ids are drawn", sub { ids_of($session) > 10 });
	$code->();
	my $serials = sub { return $registry->safe_psql('postgres', q(SELECT sum(serial) FROM shardid_lease.granted_shard WHERE space = 'quick')) };
	my $before = $serials->();
	await_event("$name: two renewals", sub { $serials->() >= $before + 2 });
	my @told = finish_drawing($session);
	my ($error) = grep { !defined $_->[0] } @told;
	return is($error ? $error->[2] : '', '', "$name: none of " . @told . ' draws failed');
}

# --- Names, schemas, owners and settings. The registry is asked as the owner.

lease($member, 'quick', 'ids');
query(<<'SQL');
CREATE SCHEMA elsewhere; CREATE ROLE another; GRANT app TO another;
GRANT ALL ON SCHEMA elsewhere TO app, another; GRANT USAGE ON FOREIGN SERVER registry TO another;
CREATE USER MAPPING FOR another SERVER registry OPTIONS (user 'member', password 'of the member');
SQL
goes_on('ALTER SEQUENCE ... RENAME, SET SCHEMA, OWNER', query("SELECT 'ids'::regclass::oid"), sub {
	query("ALTER SEQUENCE $_") for 'ids RENAME TO renamed', 'renamed SET SCHEMA elsewhere', 'elsewhere.renamed OWNER TO another';
});
is(query("SELECT generator, shard, state FROM shardid_lease.shard_leases"), 'elsewhere.renamed|0|held', 'the lease follows it');
query("ALTER SEQUENCE $_") for 'elsewhere.renamed OWNER TO app', 'elsewhere.renamed SET SCHEMA public', 'renamed RENAME TO ids';
my @settings = ('default_transaction_read_only = on', q(default_transaction_isolation = 'serializable'), q(search_path = 'elsewhere', 'nowhere'),
	q(role = 'another'), q(statement_timeout = '1ms'), q(lock_timeout = '1ms'), q(datestyle = 'German, DMY'), 'row_security = off',
	q(bytea_output = 'escape'), q(intervalstyle = 'sql_standard'), q(client_min_messages = 'debug5'), q(session_replication_role = 'replica'),
	'extra_float_digits = 0', $member->pg_version->major < 19 ? 'standard_conforming_strings = off' : ());    # 19 has nothing else
goes_on('settings of database and role', 'ids', sub {
	$member->safe_psql('template1', join '', (map { "ALTER DATABASE postgres SET $_;\n" } @settings), map { "ALTER ROLE app SET $_;\n" } @settings[ 0, 2 ]);
});
$member->safe_psql('template1', 'ALTER DATABASE postgres RESET ALL; ALTER ROLE app RESET ALL');
my $both = 'SET search_path = public, elsewhere;';
goes_on("ALTER EXTENSION $_ SET SCHEMA", 'ids', sub { query("ALTER EXTENSION $_ SET SCHEMA elsewhere") }, $both) for 'shardid', 'dblink';
query("ALTER EXTENSION $_ SET SCHEMA public") for 'shardid', 'dblink';

# DROP SEQUENCE ends the lease; a new sequence of the same name has none.
query('DROP SEQUENCE ids');
query('CREATE SEQUENCE ids');
like(draw_one($member, 'ids'), qr/ERROR:  55000: no shard is set/, 'a dropped generator, and another of its name: no lease');
is(lease($member, 'quick', 'new_ids'), 1, 'the shard stays with the registry until its lease is over, or it is evicted');
is(query('SELECT string_agg(generator::text, \' \') FROM shardid_lease.shard_leases'), 'new_ids', 'the row is gone');

# --- DROP DATABASE while a worker is at work, in each place where it waits. After setval the window is used up.

my @frozen = processes_of($registry);
END { kill 'CONT', @frozen }
for my $place ('nowhere', 'shardid_lease.granted_shard', 'pg_authid')
{
	query('CREATE DATABASE victim');
	connect_to_registry($member, $registry, 'victim');
	lease($member, 'orders', 'ids', dbname => 'victim');
	draws('ids', dbname => 'victim');
	$member->safe_psql('victim', q(SELECT setval('ids', 1)));
	my $locker = open_session($registry);
	ask_safe($locker, "BEGIN; LOCK $place IN ACCESS EXCLUSIVE MODE;") if $place ne 'nowhere';
	kill 'STOP', @frozen = processes_of($registry) if $place eq 'nowhere';
	like(draw_one($member, 'ids', dbname => 'victim', settings => 'SET shardid_lease.timeout = 0;'), qr/55000|57P03/, "waiting at $place: no window");
	is(workers_of($member), 1, 'a worker is at work');
	# It fails if others do not leave the database within five seconds.
	is(error_of($member, 'postgres', 'DROP DATABASE victim'), 'no error', 'DROP DATABASE');
	kill 'CONT', @frozen;
	close_session($locker);
}

# --- DROP EXTENSION under load: no server crashes, and without leases a generator draws as before.

lease($member, 'quick', 'loaded');
query('GRANT ALL ON SEQUENCE loaded TO PUBLIC');
my $shard = query("SELECT shard FROM shardid_lease.shard_leases WHERE generator = 'loaded'::regclass");
my $load = start_clients($member, 8, "SELECT next_id($shard, 'loaded')");
await_ids($load);
query('DROP EXTENSION shardid_lease');
my $before = () = map { @$_ } @{ read_told($load) };
await_event('a thousand ids more', sub { ((() = map { @$_ } @{ read_told($load) })) > $before + 1000 });
finish_clients($load, 1);
all_ids(@{ read_told($load) });
is_innocent(judge_clients([$load]), 'DROP EXTENSION shardid_lease under load', 1);
draws('loaded', settings => "SET shardid.shard_id = $shard;");
query('CREATE EXTENSION shardid_lease; GRANT USAGE ON FOREIGN SERVER registry TO app');
lease($member, 'orders', 'again');
draws('again');

no_id_comes_twice('operators');
$_->stop for $member, $registry;
done_testing();
