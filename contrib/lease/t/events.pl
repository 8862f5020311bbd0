# Leases are renewed whatever operators do to a member: ALTER of all kinds, settings of the database and the role, DROP
# DATABASE while a worker waits for the registry, DROP EXTENSION under load.
use Leases;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL};

my $registry = new_registry('registry');
$registry->safe_psql('postgres', <<'SQL');
SELECT shardid_lease.create_id_space('orders');
SELECT shardid_lease.create_id_space('quick', lease => '2 s');
SQL
my $member = new_node('member', "shardid_lease.registry_timeout = '5s'\n");
connect_to_registry($member, $registry);
sub query { return $member->safe_psql('postgres', $_[0]) }

sub draws
{
	my ($name, $generator, %params) = @_;
	my $id = draw_one($member, $generator, %params);
	like($id, qr/^\d+$/, $name);
	return $id;
}

# A session draws continuously while the code runs and until two renewals later; none of its draws may fail.
sub goes_on
{
	my ($name, $generator, $code) = @_;
	my $session = start_drawing($member, $generator, ms => 20);
	wait_until(sub { ids_of($session) > 10 }) or die "$name: nothing drawn";
	$code->();
	sleep 3;
	my @told = finish_drawing($session);
	my ($error) = grep { !defined $_->[0] } @told;
	is($error ? $error->[3] : '', '', "$name: none of " . @told . ' draws failed');
	return;
}

# --- Names, schemas, owners and settings.

lease($member, 'quick', 'ids');
draws('a lease', 'ids');
# The registry is asked as the owner.
query(<<'SQL');
CREATE SCHEMA elsewhere; CREATE ROLE another; GRANT app TO another;
GRANT ALL ON SCHEMA elsewhere TO app, another; GRANT USAGE ON FOREIGN SERVER registry TO another;
CREATE USER MAPPING FOR another SERVER registry OPTIONS (user 'member', password 'of the member');
SQL
my $by_oid = query("SELECT 'ids'::regclass::oid");
goes_on('ALTER SEQUENCE ... RENAME, SET SCHEMA, OWNER', $by_oid, sub {
	query('ALTER SEQUENCE ids RENAME TO renamed');
	query('ALTER SEQUENCE renamed SET SCHEMA elsewhere');
	query('ALTER SEQUENCE elsewhere.renamed OWNER TO another');
});
is(query("SELECT generator, shard, state FROM shardid_lease.shard_leases"), 'elsewhere.renamed|0|held', 'the lease follows it');
query('ALTER SEQUENCE elsewhere.renamed OWNER TO app; ALTER SEQUENCE elsewhere.renamed SET SCHEMA public; ALTER SEQUENCE renamed RENAME TO ids');
goes_on('settings of database and role', 'ids', sub {
	query(<<'SQL');
ALTER DATABASE postgres SET default_transaction_read_only = on;
ALTER DATABASE postgres SET default_transaction_isolation = 'serializable';
ALTER DATABASE postgres SET search_path = 'elsewhere', 'nowhere';
ALTER DATABASE postgres SET role = 'another';
ALTER DATABASE postgres SET statement_timeout = '1ms';
ALTER DATABASE postgres SET lock_timeout = '1ms';
ALTER DATABASE postgres SET datestyle = 'German, DMY';
ALTER DATABASE postgres SET row_security = off;
ALTER DATABASE postgres SET bytea_output = 'escape';
ALTER DATABASE postgres SET intervalstyle = 'sql_standard';
ALTER DATABASE postgres SET client_min_messages = 'debug5';
ALTER DATABASE postgres SET session_replication_role = 'replica';
ALTER DATABASE postgres SET extra_float_digits = 0;
ALTER ROLE app SET default_transaction_read_only = on;
ALTER ROLE app SET search_path = 'nowhere';
SQL
	$member->safe_psql('template1', 'ALTER DATABASE postgres SET standard_conforming_strings = off') if $member->pg_version->major < 19;    # 19 has nothing else
});
$member->safe_psql('template1', 'ALTER DATABASE postgres RESET ALL; ALTER ROLE app RESET ALL');
$member->safe_psql('postgres', 'ALTER EXTENSION shardid SET SCHEMA elsewhere');
my $moved = 'SET search_path = public, elsewhere;';
my $first = draws('ALTER EXTENSION shardid SET SCHEMA', 'ids', settings => $moved);
sleep 3;
draws('and a new window', 'ids', settings => $moved);
query('ALTER EXTENSION shardid SET SCHEMA public; ALTER EXTENSION dblink SET SCHEMA elsewhere');
sleep 3;
draws('ALTER EXTENSION dblink SET SCHEMA', 'ids');
query('ALTER EXTENSION dblink SET SCHEMA public');

# DROP SEQUENCE ends the lease; a new sequence of the same name has none.
query('DROP SEQUENCE ids');
query('CREATE SEQUENCE ids');
like(draw_one($member, 'ids'), qr/ERROR:  55000: no shard is set/, 'a dropped generator, and another of its name: no lease');
is(lease($member, 'quick', 'new_ids'), 1, 'the shard stays with the registry until its lease is over, or it is evicted');
draws('a new lease', 'new_ids');
is(query('SELECT string_agg(generator::text, \' \') FROM shardid_lease.shard_leases'), 'new_ids', 'the row is gone');

# --- DROP DATABASE while a worker is at work, in each place where it waits.

sub member_database
{
	my ($name) = @_;
	query("CREATE DATABASE $name");
	connect_to_registry($member, $registry, $name);
	lease($member, 'orders', 'ids', dbname => $name);
	draws("database $name", 'ids', dbname => $name);
	# After setval the window is used up: the next draw must start a worker.
	$member->safe_psql($name, q(SELECT setval('ids', 1)));
	return;
}

sub drops_in_time
{
	my ($name, $block, $unblock) = @_;
	my $dbname = 'victim';
	member_database($dbname);
	my $state = $block->();
	like(draw_one($member, 'ids', dbname => $dbname, settings => 'SET shardid_lease.timeout = 0;'), qr/55000|57P03/, "$name: no window");
	is(query("SELECT count(*) FROM pg_stat_activity WHERE datname = '$dbname' AND backend_type = 'shardid lease'"), 1, "$name: a worker is at work");
	# It fails if others do not leave the database within five seconds.
	is(error_of($member, 'postgres', "DROP DATABASE $dbname"), 'no error', "$name: DROP DATABASE");
	$unblock->($state);
	return;
}
drops_in_time('registry stands still', sub {
	my @processes = processes_of($registry);
	kill 'STOP', @processes;
	return \@processes;
}, sub { kill 'CONT', @{ $_[0] } });
for my $table ('shardid_lease.granted_shard', 'pg_authid')
{
	drops_in_time("registry has locked $table", sub {
		my $locker = $registry->background_psql('postgres');
		$locker->query_safe("BEGIN; LOCK $table IN ACCESS EXCLUSIVE MODE");
		return $locker;
	}, sub { $_[0]->quit });
}

# --- DROP EXTENSION under load: no server crashes, and without leases a generator draws as before.

lease($member, 'quick', 'loaded');
query('GRANT ALL ON SEQUENCE loaded TO PUBLIC');
my $shard = query("SELECT shard FROM shardid_lease.shard_leases WHERE generator = 'loaded'::regclass");
my $load = start_clients($member, 8, "SELECT next_id($shard, 'loaded')");
sleep 3;
query('DROP EXTENSION shardid_lease');
sleep 1;
finish_clients($load, 1);
all_ids(@{ read_told($load) });
is_innocent(judge_clients([$load]), 'DROP EXTENSION shardid_lease under load', 1);
draws('without the extension', 'loaded', settings => "SET shardid.shard_id = $shard;");
query('CREATE EXTENSION shardid_lease');
query('GRANT USAGE ON FOREIGN SERVER registry TO app');
lease($member, 'orders', 'again');
draws('with it again', 'again');

no_id_comes_twice('operators');
$_->stop for $member, $registry;
done_testing();
