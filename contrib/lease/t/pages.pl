# The blocks and commands of contrib/lease/README.md, and the set-up of docs/several-databases.md, do as those pages say: for a
# member, a copy of it, dumps, a shard that moves, an owner who is no superuser, a lease that ends, and a longer one.
# contrib/lease/t/pages_failover.pl has those for failovers and for the registry's end.
use LeasePages;
use ShardidTest;

start_registry();
my $member = start_member();
$member->safe_psql('shop', 'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT ids.next_id())');
is(shard_of(generate($member)), 0, 'and generates ids of it');
is(run_block($member, 'shop', 'watch_member', rows => 1), '', 'a member without trouble has nothing to be watched');
is(run_block($registry, 'registry', 'watch_registry', rows => 1), '', 'nor has its registry');

# --- A generator without a lease.

my $unleased = sub { return run_block($member, 'shop', 'watch_unleased', rows => 1, @_) };
$member->safe_psql('shop', 'CREATE SEQUENCE plain_seq; CREATE SEQUENCE other_seq; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT USAGE ON SCHEMA ids TO watcher');
$member->safe_psql('shop', "SELECT nextval('plain_seq'), ids.uuid_v1(), ids.objectid()");
is($unleased->(), '', 'a sequence that generates no ids is not listed');
$member->safe_psql('shop', "SELECT ids.next_id(7, 'other_seq')");
is($unleased->(), 'other_seq', 'a generator without a lease is');
is($unleased->(user => 'watcher'), '', 'to roles with SELECT on it');
is(run_block($member, 'postgres', 'watch_unleased', rows => 1, before => <<'SQL'), '', 'none is in a database that is no member');
SET client_min_messages = error;
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE EXTENSION shardid_lease CASCADE;
DO 'BEGIN PERFORM ids.next_id(7); END';
SQL
$member->safe_psql('shop', "SELECT shardid_lease.lease_shard('shop', 'registry', 'other_seq')");
is($unleased->(), '', 'nor once it is leased');
$member->safe_psql('shop', $_) for q(SELECT shardid_lease.release_shard('other_seq')), 'DROP SEQUENCE other_seq';

# --- A copy next to it.

$member->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($member, 'base');
$copy->start;

like(refused($copy), qr/has no lease of shard 0 at this time\nDETAIL:  .* (?:is|last) held by \S+, port @{[ $member->port ]}, database "shop" \(role shop_member\)/,
	'a copy generates no ids, and its error names the original');
like(run_block($copy, 'shop', 'watch_member', rows => 1), qr/^ids\.shardid_seq\|0\|not held\|.*held by/, 'its trouble is shown');
is(shard_of(generate($member)), 0, 'the original continues');
on_registry(q(CREATE ROLE copy_member LOGIN PASSWORD 'secret4'; GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO copy_member));
$copy->safe_psql('shop', command('ALTER USER MAPPING'));
like(($copy->psql('shop', 'SELECT shardid_lease.take_over_shard()'))[2], qr/cannot take over its shard.*role shop_member/s,
	'with a role of its own it cannot take the shard over');
$copy->safe_psql('shop', $_) for $release, command("SELECT shardid_lease.lease_shard('shop', 'registry')");
is(shard_of(generate($copy)), 1, 'the copy generates ids of a shard of its own');
is($member->safe_psql('shop', $renew), 1, 'the original has its shard renewed');

# --- Dumps.

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$member->safe_psql('postgres', "CREATE DATABASE $_") for qw(beside plain);
command_ok([ 'pg_dump', '-f', $dump, $member->connstr('shop') ], 'dump of a member');
$member->safe_psql('beside', slurp_file($dump));
like(refused($member, 'beside'), qr/has no lease of shard 0 at this time.*held by .*database "shop"/s, 'a dump that is restored generates no ids');
command_ok([ 'pg_dump', '-t', 'photos', '-f', $dump, $member->connstr('shop') ], 'dump of its table');
$member->safe_psql('plain', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids; CREATE EXTENSION shardid_lease CASCADE');
$member->safe_psql('plain', slurp_file($dump));
is($member->safe_psql('plain', 'SELECT count(*) FROM shardid_lease.shard_leases'), 0, 'a dump of the table carries no membership');

# --- Moving, evicting, reserving.

$copy->safe_psql('postgres', 'CREATE DATABASE moved');
$copy->safe_psql('moved', block('member')->{text} =~ s/host 'registry\.example'/address()/er =~ s/^SELECT.*?;\n//mr);
my $before = generate($member);
$member->safe_psql('shop', $release);
like(refused($member), qr/has released its lease/, 'a generator that has released its shard generates no ids');
$copy->safe_psql('moved', command("SELECT shardid_lease.lease_shard('shop', 'registry', shard"));
my $after = generate($copy, 'moved');
is(shard_of($after), 0, 'the shard has moved');
cmp_ok($after, '>', $before, 'above the ids of its last holder');

on_registry(command('SELECT shardid_lease.evict_shard('));
is(on_registry('SELECT state FROM shardid_lease.id_space_shards WHERE shard = 1'), 'released', 'a holder that is gone has no shard');
on_registry(command("SELECT shardid_lease.reserve_shard('shop', 7"));
is(on_registry('SELECT state FROM shardid_lease.id_space_shards WHERE shard = 7'), 'reserved', 'a number is reserved');
on_registry('SELECT shardid_lease.' . command('unreserve_shard('));

# --- An owner who is no superuser.

$copy->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN');
$copy->safe_psql('postgres', 'CREATE DATABASE owned OWNER shop_owner');
my ($by_superuser) = block('member')->{text} =~ /(.*)^CREATE USER MAPPING/ms or die;
$copy->safe_psql('owned', $by_superuser =~ s/host 'registry\.example'/address()/er . command('GRANT USAGE ON FOREIGN SERVER'));
run_block($copy, 'owned', 'owner', user => 'shop_owner');
my $shard = $copy->safe_psql('owned', 'INSERT INTO orders DEFAULT VALUES RETURNING ids.id_shard(id)');
is(on_registry("SELECT database FROM shardid_lease.id_space_shards WHERE shard = $shard"), 'owned', 'the owner has a shard');
like($copy->safe_psql('owned', q(SELECT shardid_lease.lease_shard('shop', 'registry'); SELECT ids.id_shard(ids.next_id())), extra_params => [ '-U', 'shop_owner' ]),
	qr/^(\d+)\n\1$/, 'and another one for the generator of the extension');

# --- Leases that end: of a generator that was in use until then, and of an idle one.

on_registry("SELECT shardid_lease.create_id_space('brief', lease => '12 s')");
$copy->safe_psql('moved', q(CREATE SEQUENCE brief_seq; SELECT shardid_lease.lease_shard('brief', 'registry', 'brief_seq')));
like(run_block($copy, 'moved', 'watch_member', rows => 1, before => "SELECT ids.next_id(generator => 'brief_seq');\n"),
	qr/^brief_seq\|0\|/m, 'a lease that is about to end is shown on the member');
end_window(0, 'brief');
like(run_block($registry, 'registry', 'watch_registry', rows => 1), qr/^brief\|0\|expired\|/m, 'and on the registry when it has ended');
$copy->safe_psql('moved', $_) for q(SELECT shardid_lease.release_shard('brief_seq')), 'DROP SEQUENCE brief_seq';

# --- Another id space with a longer lease; a database that had an id space before.

$copy->safe_psql('postgres', "CREATE DATABASE $_") for qw(longer older);
my $join = block('member')->{text} =~ s/host 'registry\.example'/address()/er;
my $number = $copy->safe_psql('longer', $join);
$after = generate($copy, 'longer');
command_ok([ 'pg_dump', '-f', $dump, $copy->connstr('longer') ], 'dump before the change');
$copy->safe_psql('older', slurp_file($dump));
on_registry("SELECT shardid_lease.create_id_space('shop_long', lease => '10 minutes')");
$copy->safe_psql('longer', $release);
is($copy->safe_psql('longer', command("SELECT shardid_lease.lease_shard('shop_long'") =~ s/shard => 0/shard => $number/r), $number,
	'a member leases its number in the other id space');
$before = $after;
$after = generate($copy, 'longer');
cmp_ok($after, '>', $before, 'and continues above its ids');
is(shard_of($after), $number, 'with its number');
cmp_ok($copy->safe_psql('longer', 'SELECT extract(epoch FROM until - "from") FROM shardid_lease.shard_leases'), '>=', 600,
	'for as long as that lease is');
my $reserve = command("SELECT shardid_lease.reserve_shard('shop', 0") =~ s/'shop', 0/'shop', $number/r;
like(($registry->psql('registry', $reserve))[2], qr/shard $number of id space "shop" is in use.*its last window ends at/s,
	'the number can be reserved when its last window has ended');
end_window($number);
on_registry($reserve);
like(($copy->psql('older', 'SELECT shardid_lease.take_over_shard()'))[2], qr/is reserved: leased in shop_long/,
	'a database from before the change cannot take it over');

# --- A lease is given up for a number in a setting.

$before = generate($copy, 'moved');
$copy->safe_psql('moved', $release);
like(refused($copy, 'moved'), qr/has released its lease/, 'after the release no ids are generated');
$reserve = command("SELECT shardid_lease.reserve_shard('shop', 7") =~ s/7/0/r;
isnt($registry->psql('registry', $reserve), 0, 'the number is not reserved before its last window has ended');
end_window(0);
on_registry($reserve);
$copy->safe_psql('postgres', 'ALTER DATABASE moved SET shardid.shard_id = 0');
$copy->safe_psql('moved', command('DROP EXTENSION shardid_lease'));
cmp_ok($after = generate($copy, 'moved'), '>', $before, 'with the number in the setting ids continue');
is(shard_of($after), 0, 'of that number');

# --- The same in a copy that does not reach the registry.

$copy->safe_psql('postgres', 'CREATE DATABASE staging');
$copy->safe_psql('staging', $join);
$registry->stop;
like(($copy->psql('staging', $release))[2], qr/WARNING:.*has released its lease, but/, 'a release that the registry does not learn');
$copy->safe_psql('postgres', 'ALTER DATABASE staging SET shardid.shard_id = 9');
$copy->safe_psql('staging', command('DROP EXTENSION shardid_lease'));
is(shard_of(generate($copy, 'staging')), 9, 'then the copy has the number in the setting');

# --- The trial, on one server.

like(run_block($member, 'postgres', 'try_out', rows => 1), qr/^0$/m, 'a database on the same server leases a shard');
$member->safe_psql('postgres', command('CREATE DATABASE twin'));
like($member->safe_psql('trial', command('SELECT next_id()')), qr/^\d+$/, 'and generates ids');
like(refused($member, 'twin', command('SELECT next_id()')), qr/(?:is|last) held by \S+, port \d+, database "trial"/, 'its copy does not');

every_block_has_run('take_over');

$_->stop for $member, $copy;
done_testing();
