# The blocks and commands of docs/leases.md, the set-up of docs/several-databases.md with one role and the default
# lease, the takeover of docs/high-availability.md, and the scripts that they name, with another address of the
# registry: on a registry that moves and is lost, a member, its copy, a standby that takes over, a server to which a
# shard moves.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Docs;
use ShardidTest;

my $superuser = getpwuid($<);
my @blocks = (
	blocks_of('docs/leases.md'),
	(grep { $_->{words} =~ /^(?:registry|member)$/ } blocks_of('docs/several-databases.md')),
	(grep { $_->{words} eq 'take_over' } blocks_of('docs/high-availability.md')));
for my $block (@blocks)
{
	s/^CREATE DATABASE registry;\n\\c registry\n//, s/^CREATE ROLE (?:lisbon|cairo)_member .*\n//mg, s/, lease => '10 minutes'//,
	  s/, lisbon_member, cairo_member//, s/(?:oslo|lisbon)_member/shop_member/g, s/secret[12]/secret/ for $block->{text};
}
my %has_run;
$ENV{PGTZ} = 'UTC';
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub trimmed { return $_[0] =~ s/[ \t]+$//mgr =~ s/\n+\z//r }

my $registry = new_node('registry', undef, allows_streaming => 1);
sub on_registry { return $registry->safe_psql('registry', $_[0]) }
sub address { return sprintf "host '%s', port '%s'", $registry->host, $registry->port }

# The block of this name.
sub block
{
	my ($name) = @_;
	my ($n) = grep { $blocks[$_]{words} eq $name } 0 .. $#blocks;
	die "the pages have no block $name" unless defined $n;
	$has_run{$name} = 1;
	return $blocks[$n];
}

# Runs a block by psql, without any error or warning.
sub run_block
{
	my ($node, $dbname, $name, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $block = block($name);
	my $sql = ($params{before} // '') . $block->{text} =~ s/host 'registry\.example'/address()/er;
	my ($out, $err) = ('', '');
	my @command = ('psql', '-Xq', '-U', $params{user} // $superuser, '-d', $node->connstr($dbname));
	IPC::Run::run([ @command, $params{rows} ? '-At' : () ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: runs");
	return trimmed($out);
}

# A script of examples/patroni, as Patroni calls it on that server.
sub patroni_calls
{
	my ($script, $node, $role) = @_;
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $superuser);
	return (run_command([ 'sh', "examples/patroni/$script", 'on_role_change', $role, 'cluster' ]))[0];
}

sub command { return command_of('leases.md', $_[0]) }
my $release = command('SELECT shardid_lease.release_shard()');

sub generate { return $_[0]->safe_psql($_[1] // 'shop', 'SELECT next_id()') }

# The error of a call that is not allowed.
sub refused
{
	my ($node, $dbname) = @_;
	my ($status, $out, $err) = $node->psql($dbname // 'shop', "SET shardid.lease_timeout = '2s'; SELECT next_id()");
	return $out eq '' ? $err =~ s/^psql:<stdin>:1: //r : "generated $out";
}

sub shard_of { return ($_[0] >> 10) & 8191 }

# --- Set up.

$registry->safe_psql('postgres', 'CREATE DATABASE registry');
run_block($registry, 'registry', 'registry');
my $hba = $registry->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all shop_member,copy_member scram-sha-256\n$rules");
$registry->reload;

my $member = new_node('member', "wal_keep_size = 64MB\n", allows_streaming => 1);
$member->safe_psql('postgres', 'CREATE DATABASE shop');
is(run_block($member, 'shop', 'member', rows => 1), 0, 'a member leases the lowest shard');
$member->safe_psql('shop', 'CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id())');
is(shard_of(generate($member)), 0, 'and generates ids of it');
is(run_block($member, 'shop', 'watch_member', rows => 1), '', 'a member without trouble has nothing to be watched');
is(run_block($registry, 'registry', 'watch_registry', rows => 1), '', 'nor has its registry');

# --- A copy next to it.

$member->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($member, 'base');
$copy->start;

like(refused($copy), qr/has no lease of shard 0 at this time\nDETAIL:  .* is held by \S+, port @{[ $member->port ]}, database "shop" \(role shop_member\)/,
	'a copy generates no ids, and its error names the original');
like(run_block($copy, 'shop', 'watch_member', rows => 1), qr/^shardid_seq\|0\|not held\|.*held by/, 'its trouble is shown');
is(shard_of(generate($member)), 0, 'the original continues');
on_registry(q(CREATE ROLE copy_member LOGIN PASSWORD 'secret4'; GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.return_shard TO copy_member));
$copy->safe_psql('shop', command('ALTER USER MAPPING'));
like(($copy->psql('shop', 'SELECT shardid_lease.take_over_shard()'))[2], qr/cannot take over its shard.*role shop_member/s,
	'with a role of its own it cannot take the shard over');
$copy->safe_psql('shop', $_) for $release, command("SELECT shardid_lease.lease_shard('shop', 'registry')");
is(shard_of(generate($copy)), 1, 'the copy generates ids of a shard of its own');
my $renew = command('SELECT shardid_lease.renew_leases()');
is($member->safe_psql('shop', $renew), 1, 'the original has its shard renewed');

# --- Dumps.

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$member->safe_psql('postgres', "CREATE DATABASE $_") for qw(beside plain);
command_ok([ 'pg_dump', '-f', $dump, $member->connstr('shop') ], 'dump of a member');
$member->safe_psql('beside', slurp_file($dump));
like(refused($member, 'beside'), qr/has no lease of shard 0 at this time.*held by .*database "shop"/s, 'a dump that is restored generates no ids');
command_ok([ 'pg_dump', '-t', 'photos', '-f', $dump, $member->connstr('shop') ], 'dump of its table');
$member->safe_psql('plain', 'CREATE EXTENSION shardid_lease CASCADE');
$member->safe_psql('plain', slurp_file($dump));
is($member->safe_psql('plain', 'SELECT count(*) FROM shardid_lease.shard_leases'), 0, 'a dump of the table carries no membership');

# --- Restart and failover.

my $before = generate($member);
$member->restart;
my $after = generate($member);
cmp_ok($after, '>', $before, 'after a restart it continues at once');
cmp_ok(lead_ms($member, 'shardid_seq', 'shop'), '<=', 60_000, 'at most a lease ahead of the clock');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($member, 'base', has_streaming => 1);
$standby->start;
$member->wait_for_catchup($standby);
is($standby->safe_psql('shop', $renew), '', 'cron renews nothing on a standby');
$member->stop('immediate');
like(slurp_file('examples/patroni/on_role_change.sh'), qr/^\Q@{[ block('take_over')->{text} ]}\E^SQL$/m,
	'the script runs what the page says');
is(patroni_calls('on_role_change.sh', $standby, 'replica'), '', 'it does nothing for a replica');
# Patroni calls the script when it has requested the promotion, before the promotion has ended.
{
	my ($out, $err) = ('', '');
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($standby->host, $standby->port, $superuser);
	my $called = IPC::Run::start([ 'sh', 'examples/patroni/on_role_change.sh', 'on_role_change', 'primary', 'cluster' ],
		'>', \$out, '2>', \$err, IPC::Run::timeout(180));
	$called->pump until $err =~ /read-only transaction/;
	$standby->promote;
	$called->finish;
	like($out, qr/shardid_seq *\| +0$/m, 'called before the end of the promotion, it takes the shard over after it');
}
cmp_ok(generate($standby), '>', $after, 'ids are generated at once, above all of the old primary');
start_again($member);
like(refused($member), qr/held by .*port @{[ $standby->port ]}, database "shop"/, 'which is told who has the shard');
like(run_block($registry, 'registry', 'watch_registry', rows => 1), qr/\Ashop\|0\|held\|[^\n]*\z/, 'the registry shows a shard with three windows within a lease');

# --- Moving, evicting, reserving.

my $fresh = new_node('fresh');
$fresh->safe_psql('postgres', 'CREATE DATABASE shop');
$fresh->safe_psql('shop', block('member')->{text} =~ s/host 'registry\.example'/address()/er =~ s/^SELECT.*?;\n//mr);
$before = generate($standby);
$standby->safe_psql('shop', $release);
like(refused($standby), qr/has released its lease/, 'a generator that has released its shard generates no ids');
$fresh->safe_psql('shop', command("SELECT shardid_lease.lease_shard('shop', 'registry', shard"));
$after = generate($fresh);
is(shard_of($after), 0, 'the shard has moved');
cmp_ok($after, '>', $before, 'above the ids of its last holder');

on_registry(command('SELECT shardid_lease.evict_shard('));
is(on_registry('SELECT state FROM shardid_lease.id_space_shards WHERE shard = 1'), 'released', 'a holder that is gone has no shard');
on_registry(command("SELECT shardid_lease.reserve_shard('shop', 7"));
is(on_registry('SELECT state FROM shardid_lease.id_space_shards WHERE shard = 7'), 'reserved', 'a number is reserved');
on_registry('SELECT shardid_lease.' . command('unreserve_shard('));

# --- An owner who is no superuser.

$fresh->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN');
$fresh->safe_psql('postgres', 'CREATE DATABASE owned OWNER shop_owner');
my ($first_two) = block('member')->{text} =~ /^((?:CREATE EXTENSION|CREATE SERVER).*?;\n){2}/s ? $& : die;
$fresh->safe_psql('owned', $first_two =~ s/host 'registry\.example'/address()/er . 'GRANT USAGE ON FOREIGN SERVER registry TO shop_owner');
run_block($fresh, 'owned', 'owner', user => 'shop_owner');
my $shard = $fresh->safe_psql('owned', 'INSERT INTO orders DEFAULT VALUES RETURNING id_shard(id)');
is(on_registry("SELECT database FROM shardid_lease.id_space_shards WHERE shard = $shard"), 'owned', 'the owner has a shard');

# --- Leases that end: of a generator that was in use until then, and of an idle one.

on_registry("SELECT shardid_lease.create_id_space('brief', lease => '1 s')");
$fresh->safe_psql('shop', q(CREATE SEQUENCE brief_seq; SELECT shardid_lease.lease_shard('brief', 'registry', 'brief_seq')));
like(run_block($fresh, 'shop', 'watch_member', rows => 1, before => "SELECT next_id(generator => 'brief_seq');\n"),
	qr/^brief_seq\|0\|/m, 'a lease that is about to end is shown on the member');
$registry->poll_query_until('registry', "SELECT state = 'expired' FROM shardid_lease.id_space_shards WHERE space = 'brief'");
like(run_block($registry, 'registry', 'watch_registry', rows => 1), qr/^brief\|0\|expired\|/m, 'and on the registry when it has ended');
$fresh->safe_psql('shop', $_) for q(SELECT shardid_lease.release_shard('brief_seq')), 'DROP SEQUENCE brief_seq';

# --- Another id space with a longer lease; a database that had an id space before.

$fresh->safe_psql('postgres', "CREATE DATABASE $_") for qw(longer older);
my $join = block('member')->{text} =~ s/host 'registry\.example'/address()/er;
my $number = $fresh->safe_psql('longer', $join);
$after = generate($fresh, 'longer');
command_ok([ 'pg_dump', '-f', $dump, $fresh->connstr('longer') ], 'dump before the change');
$fresh->safe_psql('older', slurp_file($dump));
on_registry("SELECT shardid_lease.create_id_space('shop_long', lease => '10 minutes')");
$fresh->safe_psql('longer', $release);
is($fresh->safe_psql('longer', command("SELECT shardid_lease.lease_shard('shop_long'") =~ s/shard => 0/shard => $number/r), $number,
	'a member leases its number in the other id space');
$before = $after;
$after = generate($fresh, 'longer');
cmp_ok($after, '>', $before, 'and continues above its ids');
is(shard_of($after), $number, 'with its number');
cmp_ok($fresh->safe_psql('longer', 'SELECT extract(epoch FROM until - clock_timestamp()) FROM shardid_lease.shard_leases'), '>', 500,
	'for as long as that lease is');
on_registry(command("SELECT shardid_lease.reserve_shard('shop', 0") =~ s/'shop', 0/'shop', $number/r);
like(($fresh->psql('older', 'SELECT shardid_lease.take_over_shard()'))[2], qr/is reserved: leased in shop_long/,
	'a database from before the change cannot take it over');

# --- The registry is promoted, restored, lost.

sub find_registry
{
	my $address = address() =~ s/(host|port) '/SET $1 '/gr;
	$fresh->safe_psql('shop', "ALTER SERVER registry OPTIONS ($address)");
	return;
}
$registry->backup('base');
my $promoted = PostgreSQL::Test::Cluster->new('promoted');
$promoted->init_from_backup($registry, 'base', has_streaming => 1);
$promoted->start;
$registry->wait_for_catchup($promoted);
$registry->stop('immediate');
$promoted->promote;
$registry = $promoted;
find_registry();
$fresh->restart;
my $look = command_of('high-availability.md', 'SELECT state, failed_at, error');
$fresh->safe_psql('shop', command_of('high-availability.md', 'SELECT shardid_lease.renew_leases()'));
like($fresh->safe_psql('shop', $look), qr/^not held\|[^|]+\|the registry says: .* is stopped/, 'after a failover a member shows that it is not confirmed');
like(refused($fresh), qr/the registry says: .*registry_was_moved.*registry_was_restored|registry_was_restored.*registry_was_moved/s,
	'a promoted registry grants nothing, and names what its owner may call');
like(patroni_calls('registry_on_role_change.sh', $registry, 'primary'), qr/registry_was_moved/, 'the script confirms it');
cmp_ok(generate($fresh), '>', $after, 'and it grants');
is($fresh->safe_psql('shop', $look), 'held||', 'which a member shows, too');

on_registry('SELECT shardid_lease.registry_was_restored()');
$before = generate($fresh);
$fresh->restart;
cmp_ok($after = generate($fresh), '>', $before, 'after registry_was_restored() a new window is later');
my $lead = lead_ms($fresh, 'shardid_seq', 'shop');
ok($lead > 0 && $lead <= 2 * 3_660_000, "and its ids are ahead of the clock ($lead ms)");

$registry->safe_psql('postgres', 'DROP DATABASE registry WITH (FORCE)');
$registry->safe_psql('postgres', 'CREATE DATABASE registry');
on_registry(block('registry')->{text} =~ s/^CREATE ROLE.*\n//r . 'SELECT shardid_lease.registry_was_restored()');
like(run_block($fresh, 'shop', 'take_over', rows => 1), qr/^shardid_seq\|0$/m, 'a member takes its shard over at a new registry');
cmp_ok(generate($fresh), '>', $after, 'above all ids that it generated before');

# --- Without it.

$fresh->safe_psql('shop', 'DROP EXTENSION shardid_lease');
like(refused($fresh), qr/no shard is set/, 'a generator that was leased is told its shard again');
cmp_ok($fresh->safe_psql('shop', 'SELECT next_id(7)'), '>', $after, 'and generates ids of any');

is_deeply([ grep { $_ && !$has_run{$_} } map { $_->{words} } @blocks ], [], 'every block of the pages was run');

$_->stop for $fresh, $standby, $member, $copy, $registry;
done_testing();
