# The blocks and commands of contrib/lease/README.md and the scripts of examples/patroni do as the pages say: a member
# fails over, its old primary is a copy that stays, a shard moves, an owner is no superuser, a longer lease, a number
# without a lease, a registry that is confirmed by Patroni or lost. (The runbook has its own test.)
use Docs;
use Leases;
use ShardidTest;

my ($page, $superuser, %has_run) = ('contrib/lease/README.md', scalar getpwuid($<));
$ENV{PGOPTIONS} = '-c client_min_messages=warning';
sub command { return command_of($page, $_[0]) }

my $registry = new_node('registry');
$registry->safe_psql('postgres', <<'SQL' . join '', map { <<"SQL" } 'shop_member', 'copy_member');
CREATE DATABASE registry;
\c registry
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('shop');
SQL
CREATE ROLE $_ LOGIN PASSWORD '@{[ $_ eq 'shop_member' ? 'secret' : 'secret4' ]}';
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO $_;
SQL
let_in($registry, "local all shop_member,copy_member scram-sha-256\n");
sub on_registry { return $registry->safe_psql('registry', $_[0]) }
sub state_of { return on_registry("SELECT state FROM shardid_lease.id_space_shards WHERE shard = $_[0] AND space = 'shop'") }
my $old = new_node('old', "wal_keep_size = 64MB\n", allows_streaming => 1);
my ($by_superuser, $mapping) = (sprintf(<<'SQL', $registry->host, $registry->port), <<'SQL');
CREATE SCHEMA ids;
CREATE EXTENSION shardid SCHEMA ids;
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '%s', port '%s', dbname 'registry');
SQL
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'shop_member', password 'secret');
SQL

# A member in a database of its own; returns its shard.
my $join = "SELECT shardid_lease.lease_shard('shop', 'registry')";
sub new_member
{
	my ($node, $dbname, $lease) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	return $node->safe_psql($dbname, $by_superuser . $mapping . ($lease // $join));
}

# What a block prints, without an error or a warning.
sub run_block
{
	my ($node, $dbname, $name, $user) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$has_run{$name} = 1;
	my ($sql, $out, $err) = (block_of($page, $name), '', '');
	IPC::Run::run([ 'psql', '-XqAt', '-U', $user // $superuser, '-d', $node->connstr($dbname) ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: runs");
	return $out;
}
sub generate { return $_[0]->safe_psql($_[1], 'SELECT ids.next_id()') }
sub shard_of { return ($_[0] >> 10) & 8191 }
sub refused { return error_of($_[0], $_[1], "SET shardid_lease.timeout = '2s'; " . ($_[2] // 'SELECT ids.next_id()')) }

# As if time had passed until the end of the shard's last window.
sub end_window
{
	return on_registry("UPDATE shardid_lease.granted_shard g SET from_ms = 0, until_ms = shardid_lease.now_ms(epoch) - 1 "
		  . "FROM shardid_lease.id_space s WHERE name = 'shop' AND space = name AND shard = $_[0]");
}

is(new_member($old, 'shop'), 0, 'a member');
is(shard_of(generate($old, 'shop')), 0, 'generates ids');

# --- A generator without a lease is listed for roles with SELECT on it.

$old->safe_psql('shop', 'CREATE SEQUENCE plain_seq; CREATE SEQUENCE other_seq; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT USAGE ON SCHEMA ids TO watcher');
$old->safe_psql('shop', "SELECT nextval('plain_seq'), ids.uuid_v1(), ids.objectid()");
is(run_block($old, 'shop', 'watch_unleased'), '', 'a sequence that generates no ids is not listed');
$old->safe_psql('shop', "SELECT ids.next_id(7, 'other_seq')");
is(run_block($old, 'shop', 'watch_unleased'), "other_seq\n", 'a generator without a lease is');
is(run_block($old, 'shop', 'watch_unleased', 'watcher'), '', 'to roles with SELECT on it');
$old->safe_psql('shop', q(SELECT shardid_lease.lease_shard('shop', 'registry', 'other_seq')));
is(run_block($old, 'shop', 'watch_unleased'), '', 'nor once it is leased');
$old->safe_psql('shop', $_) for q(SELECT shardid_lease.release_shard('other_seq')), 'DROP SEQUENCE other_seq';

# --- A failover, by the script of examples/patroni, as Patroni calls it.

sub start_script
{
	my ($script, $node, $role, $out, $err) = @_;
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $superuser);
	return IPC::Run::start([ 'sh', "examples/patroni/$script", 'on_role_change', $role, 'cluster' ], '>', $out, '2>', $err, guard($script));
}
my $member = new_standby($old, 'standby');
my $before = generate($old, 'shop');
$old->wait_for_catchup($member);
my $renew = command('SELECT shardid_lease.renew_leases()');
is($member->safe_psql('shop', $renew), '', 'cron renews nothing on a standby');
$old->stop('immediate');
like(slurp_file('examples/patroni/on_role_change.sh'), qr/^\Q@{[ block_of('operations.md', 'take_over') ]}\E^SQL$/m, 'the script runs what the page says');
my ($out, $err) = ('', '');
start_script('on_role_change.sh', $member, 'replica', \$out, \$err)->finish;
is($out, '', 'it does nothing for a replica');
# Patroni calls the script when it has requested the promotion, before the promotion has ended.
my $called = start_script('on_role_change.sh', $member, 'primary', \$out, \$err);
$called->pump until $err =~ /read-only transaction/;
$member->promote;
$called->finish;
like($out, qr/take_over_shards.* 1\n/s, 'called before the end of the promotion, it takes the shard over after it');
cmp_ok(my $after = generate($member, 'shop'), '>', $before, 'ids are generated at once, above all of the old primary');
is($member->safe_psql('shop', $renew), 1, 'cron renews it');

# The callbacks of a node with the registry: Patroni splits them by shlex, and adds three arguments.
my ($callbacks) = grep { $_->{words} eq 'callbacks_registry' } blocks_of('examples/patroni/README.md');
my ($callback) = $callbacks->{text} =~ /on_role_change: >-\n(.*)\z/s or die;
my $folder = "$PostgreSQL::Test::Utils::tmp_check/callbacks";
mkdir $folder;
$callback = $callback =~ s/\s+/ /gr =~ s{/etc/patroni}{$folder}gr;
my @scripts = ('registry_on_role_change.sh', 'on_role_change.sh');
for (@scripts)
{
	append_to_file("$folder/$_", "#!/bin/sh\necho $_ \$PGHOST \$PGUSER \"\$@\"\n");
	chmod 0755, "$folder/$_";
}
is((run_command([ 'sh', '-c', "$callback on_role_change primary 'a cluster'" ]))[0],
	join("\n", map { "$_ /var/run/postgresql postgres on_role_change primary a cluster" } @scripts), 'the registry is confirmed before the shard is taken over');
chmod 0644, "$folder/$scripts[0]";
like((run_command([ 'sh', '-c', "$callback on_role_change primary x" ]))[0], qr/^on_role_change.sh/, 'disabled, the script of the registry does not run, and the other does');

# --- The old primary is a copy that stays.

start_again($old);
like(refused($old, 'shop'), qr/has no lease of shard 0 at this time\nDETAIL:  .* (?:is|last) held by \S+, port @{[ $member->port ]}, database "shop" \(role shop_member\)/,
	'the copy generates no ids, and its error names the holder');
$old->safe_psql('shop', command('ALTER USER MAPPING'));
like(refused($old, 'shop', 'SELECT shardid_lease.take_over_shard()'), qr/cannot take over its shard.*role shop_member/s, 'with a role of its own it cannot take the shard over');
my $release = command('SELECT shardid_lease.release_shard()');
$old->safe_psql('shop', $_) for $release, command($join);
is(shard_of(generate($old, 'shop')), 1, 'it generates ids of a shard of its own');

# --- Moving, evicting, reserving.

$before = generate($member, 'shop');
$member->safe_psql('shop', $release);
like(refused($member, 'shop'), qr/has released its lease/, 'a generator that has released its shard generates no ids');
is(new_member($old, 'moved', command("SELECT shardid_lease.lease_shard('shop', 'registry', shard")), 0, 'the shard moves');
cmp_ok(generate($old, 'moved'), '>', $before, 'above the ids of its last holder');
on_registry(command('SELECT shardid_lease.evict_shard('));
is(state_of(1), 'released', 'a holder that is gone has no shard');
on_registry(command("SELECT shardid_lease.reserve_shard('shop', 7"));
is(state_of(7), 'reserved', 'a number is reserved');
on_registry('SELECT shardid_lease.' . command('unreserve_shard('));
is(state_of(7), 'released', 'and is so no longer');

# --- An owner who is no superuser.

$member->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE DATABASE owned OWNER shop_owner');
$member->safe_psql('owned', $by_superuser . command('GRANT USAGE ON FOREIGN SERVER'));
run_block($member, 'owned', 'owner', 'shop_owner');
my $shard = $member->safe_psql('owned', 'INSERT INTO orders DEFAULT VALUES RETURNING ids.id_shard(id)');
is(on_registry("SELECT database FROM shardid_lease.id_space_shards WHERE shard = $shard"), 'owned', 'the owner has a shard');
like($member->safe_psql('owned', "$join; SELECT ids.id_shard(ids.next_id())", extra_params => [ '-U', 'shop_owner' ]), qr/^(\d+)\n\1$/, 'and another one for the generator of the extension');

# --- Another id space with a longer lease; a database that had an id space before.

my $number = new_member($old, 'longer');
$before = generate($old, 'longer');
$old->safe_psql('postgres', 'CREATE DATABASE older TEMPLATE longer');
on_registry("SELECT shardid_lease.create_id_space('shop_long', lease => '10 minutes')");
$old->safe_psql('longer', $release);
is($old->safe_psql('longer', command("SELECT shardid_lease.lease_shard('shop_long'") =~ s/shard => 0/shard => $number/r), $number, 'a member leases its number in the other id space');
cmp_ok($after = generate($old, 'longer'), '>', $before, 'and continues above its ids');
is(shard_of($after), $number, 'with its number');
my $reserve = command("SELECT shardid_lease.reserve_shard('shop', 0") =~ s/'shop', 0/'shop', $number/r;
like(refused($registry, 'registry', $reserve), qr/shard $number of id space "shop" is in use.*its last window ends at/s, 'the number can be reserved when its last window has ended');
end_window($number);
on_registry($reserve);
like(refused($old, 'older', 'SELECT shardid_lease.take_over_shard()'), qr/is reserved: leased in shop_long/, 'a database from before the change cannot take it over');

# --- A lease is given up for a number in a setting; also in a copy that does not reach the registry.

$before = generate($old, 'moved');
$old->safe_psql('moved', $release);
end_window(0);
on_registry(command("SELECT shardid_lease.reserve_shard('shop', 7") =~ s/7/0/r);
$old->safe_psql('postgres', 'ALTER DATABASE moved SET shardid.shard_id = 0');
$old->safe_psql('moved', command('DROP EXTENSION shardid_lease'));
cmp_ok($after = generate($old, 'moved'), '>', $before, 'with the number in the setting ids continue');
is(shard_of($after), 0, 'of that number');
new_member($old, 'staging');
$registry->stop;
like(($old->psql('staging', $release))[2], qr/WARNING:.*has released its lease, but/, 'a release that the registry does not learn');
$old->safe_psql('postgres', 'ALTER DATABASE staging SET shardid.shard_id = 9');
$old->safe_psql('staging', command('DROP EXTENSION shardid_lease'));
is(shard_of(generate($old, 'staging')), 9, 'then the copy has the number in the setting');
$registry->start;

# --- The registry has moved, as it would after a failover. Then it is lost: to a new one a member is a stranger.

$number = new_member($member, 'last');
my $move = q(SELECT setval('ids.shardid_seq', 1));    # which needs another window
on_registry(q(UPDATE shardid_lease.registry_confirmation SET place = 'elsewhere'));
$member->safe_psql('last', $move);
like(refused($member, 'last'), qr/The registry says: .* is stopped.*(?:registry_was_moved.*registry_was_restored|registry_was_restored.*registry_was_moved)/s, 'it grants nothing, and names what its owner may call');
start_script('registry_on_role_change.sh', $registry, 'primary', \$out, \$err)->finish;
cmp_ok($before = generate($member, 'last'), '>', 0, "the script confirms it, and it grants");
like(refused($registry, 'registry', 'DROP EXTENSION shardid_lease'), qr/other objects depend on it\nDETAIL:  cast from shardid_lease.id_space to shardid_lease.registry_in_use/, 'DROP EXTENSION needs CASCADE');
on_registry(<<'SQL');
SELECT shardid_lease.registry_was_restored();
SELECT shardid_lease.ts_of(not_before, epoch) AS told FROM shardid_lease.id_space WHERE name = 'shop' \gset
DROP EXTENSION shardid_lease CASCADE;
CREATE EXTENSION shardid_lease;
SELECT shardid_lease.create_id_space('shop');
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO shop_member;
SELECT shardid_lease.registry_was_restored(:'told');
SQL
my $end = $member->safe_psql('last', 'SELECT until FROM shardid_lease.shard_leases');
$member->safe_psql('last', $move);
like(refused($member, 'last'), qr/is another one than the one that the lease is of: run take_over_shard\(\)/, 'lost: to a new registry a member is a stranger');
is(new_member($member, 'first', $join =~ s/'\)/', shard => $number)/r), $number, 'another member gets its shard');
cmp_ok($member->safe_psql('first', 'SELECT "from" FROM shardid_lease.shard_leases'), 'ge', $end, 'in a window after the old ones');
$member->safe_psql('first', $release);
is($member->safe_psql('last', block_of('operations.md', 'take_over')), 1, 'a member takes its shard over at a new registry');
cmp_ok(generate($member, 'last'), '>', $before, 'above all ids that it generated before');

# --- The trial, on one server.

like(run_block($member, 'postgres', 'try_out'), qr/^0$/m, 'a database on the same server leases a shard');
$member->safe_psql('postgres', command('CREATE DATABASE twin'));
like($member->safe_psql('trial', command('SELECT next_id()')), qr/^\d+$/, 'and generates ids');
like(refused($member, 'twin', command('SELECT next_id()')), qr/(?:is|last) held by \S+, port \d+, database "trial"/, 'its copy does not');

is_deeply([ grep { $_ && !$has_run{$_} } map { $_->{words} } blocks_of($page) ], [], 'every block of the page was run');
$_->stop for $member, $old, $registry;
done_testing();
