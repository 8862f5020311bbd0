# The blocks of docs/leases.md as they stand there, but for the registry's address: on a registry, a member, a copy of
# it, a standby that takes over, and a server to which a shard moves.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Docs;
use ShardidTest;

my $superuser = getpwuid($<);
my @blocks = blocks_of('docs/leases.md');
my %has_run;
$ENV{PGTZ} = 'UTC';
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub trimmed { return $_[0] =~ s/[ \t]+$//mgr =~ s/\n+\z//r }

my $registry = new_node('registry');
sub on_registry { return $registry->safe_psql('registry', $_[0]) }

# What a named block is, and the block behind it.
sub block
{
	my ($name) = @_;
	my ($n) = grep { $blocks[$_]{words} eq $name } 0 .. $#blocks;
	die "docs/leases.md has no block $name" unless defined $n;
	$has_run{$name} = 1;
	return @blocks[ $n, $n + 1 ];
}

# Runs a block by psql; it complains of nothing, and answers as the page says where that says it.
sub run_block
{
	my ($node, $dbname, $name, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($block, $next) = block($name);
	my $address = sprintf "host '%s', port '%s'", $registry->host, $registry->port;
	my $sql = $block->{text} =~ s/host 'registry\.example'/$address/r;
	my ($out, $err) = ('', '');
	my @command = ('psql', '-Xq', '-U', $params{user} // $superuser, '-d', $node->connstr($dbname));
	IPC::Run::run([ @command, $params{rows} ? '-At' : () ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: runs");
	is(trimmed($out), trimmed($next->{text}), "$name: answers as the page says")
	  if $next && $next->{language} eq 'text' && $next->{words} eq '';
	return trimmed($out);
}

sub draw { return $_[0]->safe_psql($_[1] // 'shop', 'SELECT next_id()') }

# The error of a draw that is not allowed.
sub refused
{
	my ($node, $dbname) = @_;
	my ($status, $out, $err) = $node->psql($dbname // 'shop', "SET shardid.lease_timeout = '1s'; SELECT next_id()");
	return $out eq '' ? $err =~ s/^psql:<stdin>:1: //r : "drew $out";
}

sub shard_of { return ($_[0] >> 10) & 8191 }

# --- Set up.

$registry->safe_psql('postgres', 'CREATE DATABASE registry');
run_block($registry, 'registry', 'registry');
my $hba = $registry->data_dir . '/pg_hba.conf';
my $rules = slurp_file($hba);
unlink $hba;
append_to_file($hba, "local all shop_member scram-sha-256\n$rules");
$registry->reload;

my $member = new_node('member', undef, allows_streaming => 1);
$member->safe_psql('postgres', 'CREATE DATABASE shop');
run_block($member, 'shop', 'member');
is(shard_of(draw($member)), 0, 'the member draws with shard 0');
is(run_block($member, 'shop', 'watch_member', rows => 1), '', 'a member without trouble has nothing to be watched');
like(run_block($registry, 'registry', 'watch_changes', rows => 1), qr/^shop\|0\|held\|.*\|shop\|1\|/,
	'the registry sees a new holder');
is(run_block($registry, 'registry', 'watch_left', rows => 1), 'shop|8191', 'and how many shards are left');

# --- A copy beside it.

$member->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($member, 'base');
$copy->start;

sub without_names
{
	return $_[0] =~ s/\d{4}-\d\d-\d\d [\d:.]+\+00/TIME/gr =~ s/held by \S+, port \d+/held by HOST/r;
}
my ($error) = block('copy_is_refused');
is(without_names(trimmed(refused($copy))), without_names(trimmed($error->{text})), 'a copy draws nothing, and its error is that of the page');
like(run_block($copy, 'shop', 'watch_member', rows => 1), qr/^shardid_seq\|0\|not held\|.*held by/, 'it is seen to be in trouble');
is(shard_of(draw($member)), 0, 'the original goes on');
run_block($copy, 'shop', 'copy_stays');
is(shard_of(draw($copy)), 1, 'the copy draws with a shard of its own');
is($member->safe_psql('shop', 'SELECT shardid_lease.renew_leases()'), 1, 'the original has its shard renewed');

# --- Dumps.

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$member->safe_psql('postgres', "CREATE DATABASE $_") for qw(beside plain);
command_ok([ 'pg_dump', '-f', $dump, $member->connstr('shop') ], 'dump of a member');
$member->safe_psql('beside', slurp_file($dump));
like(refused($member, 'beside'), qr/has no lease of shard 0 at this time.*held by .*database "shop"/s, 'a dump restored beside draws nothing');
command_ok([ 'pg_dump', '-t', 'photos', '-f', $dump, $member->connstr('shop') ], 'dump of its table');
$member->safe_psql('plain', 'CREATE EXTENSION shardid_lease CASCADE');
$member->safe_psql('plain', slurp_file($dump));
is($member->safe_psql('plain', 'SELECT count(*) FROM shardid_lease.shard_leases'), 0, 'a dump of the table carries no membership');

# --- Restart and failover.

my $before = draw($member);
$member->restart;
my $after = draw($member);
cmp_ok($after, '>', $before, 'after a restart it draws at once');
cmp_ok(lead_ms($member, 'shardid_seq', 'shop'), '<=', 60_000, 'by at most a lease ahead of the clock');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($member, 'base', has_streaming => 1);
$standby->start;
$member->wait_for_catchup($standby);
$member->stop('immediate');
$standby->promote;
like(refused($standby), qr/held by .*database "shop"/, 'a standby that was promoted waits for the lease of the old primary');

my $script = PostgreSQL::Test::Utils::tempdir() . '/on_role_change.sh';
append_to_file($script, (block('on_role_change'))[0]{text});
is(slurp_file($script), slurp_file('examples/patroni/on_role_change.sh'), 'it is the script of the example');
sub on_role_change
{
	my ($role) = @_;
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($standby->host, $standby->port, $superuser);
	return run_command([ 'sh', $script, 'on_role_change', $role, 'cluster' ]);
}
is((on_role_change('replica'))[0], '', 'the script does nothing for a replica');
like((on_role_change('primary'))[0], qr/shardid_seq *\| +0$/m, 'and takes the shard over for a primary');
cmp_ok(draw($standby), '>', $after, 'it draws at once, above all ids of the old one');

start_again($member);
like(refused($member), qr/held by .*port @{[ $standby->port ]}, database "shop"/, 'the old primary draws nothing and is told who does');

# Patroni calls the script when it has asked for the promotion, and does not wait for its end.
my $next = PostgreSQL::Test::Cluster->new('next');
$standby->backup('next');
$next->init_from_backup($standby, 'next', has_streaming => 1);
$next->start;
$after = draw($standby);
$standby->wait_for_catchup($next);
$standby->stop('immediate');
$standby = $next;
{
	my ($out, $err) = ('', '');
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($standby->host, $standby->port, $superuser);
	my $called = IPC::Run::start([ 'sh', $script, 'on_role_change', 'primary', 'cluster' ],
		'>', \$out, '2>', \$err, IPC::Run::timeout(60));
	$called->pump until $err =~ /read-only transaction/;
	$standby->promote;
	$called->finish;
	like($out, qr/shardid_seq *\| +0$/m, 'called before the promotion is over, the script takes the shard over after it');
}
cmp_ok(draw($standby), '>', $after, 'and it draws');

# --- Moving, evicting, a number for good.

my $fresh = new_node('fresh');
$fresh->safe_psql('postgres', 'CREATE DATABASE shop');
$fresh->safe_psql('shop', (block('member'))[0]{text} =~ s/host 'registry\.example'/sprintf "host '%s', port '%s'", $registry->host, $registry->port/re
	  =~ s/^SELECT.*?;\n//mr =~ s/^INSERT.*?;\n//mr);
$before = draw($standby);
run_block($standby, 'shop', 'move_from');
like(refused($standby), qr/is sealed/, 'who has released a shard draws nothing');
run_block($fresh, 'shop', 'move_to');
$after = draw($fresh);
is(shard_of($after), 0, 'the shard has moved');
cmp_ok($after, '>', $before, 'above the ids of its last holder');

run_block($registry, 'registry', 'evict');
is(on_registry("SELECT state FROM shardid_lease.id_space_shards WHERE shard = 1"), 'released', 'a holder that is gone has no shard');
like(run_block($fresh, 'shop', 'permanent', rows => 1), qr/^1\n1$/, 'a permanent lease takes what is free');
is(on_registry("SELECT state FROM shardid_lease.id_space_shards WHERE shard = 1"), 'permanent', 'for good');

# --- The registry is restored.

run_block($registry, 'registry', 'registry_was_restored');
$before = draw($fresh);
is(run_block($fresh, 'shop', 'renew', rows => 1), 1, 'members have their leases renewed');
cmp_ok($after = draw($fresh), '>', $before, 'and draw');
my $lead = lead_ms($fresh, 'shardid_seq', 'shop');
ok($lead > 0 && $lead <= 3_660_000, "at most max_ahead and a lease ahead of the clock ($lead ms)");

# --- An owner who is no superuser.

$fresh->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN');
$fresh->safe_psql('postgres', 'CREATE DATABASE owned OWNER shop_owner');
run_block($fresh, 'owned', 'owner_gets');
run_block($fresh, 'owned', 'owner', user => 'shop_owner');
my ($shard) = $fresh->safe_psql('owned', 'SELECT id_shard(id) FROM orders');
is(on_registry("SELECT database FROM shardid_lease.id_space_shards WHERE shard = $shard"), 'owned', 'the owner has a shard');
is($fresh->safe_psql('owned', 'SELECT next_id(generator => \'orders_id_seq\') > max(id) FROM orders'), 't', 'and draws');

# --- Leases that end: of a generator that is drawn from until a moment before, and of one that is idle.

is(run_block($registry, 'registry', 'watch_ends', rows => 1), '', 'no lease is about to end');
is(run_block($fresh, 'shop', 'watch_member', rows => 1), '', 'nor does a member see one');
on_registry("SELECT shardid_lease.create_id_space('brief', lease => '1 s')");
$fresh->safe_psql('shop', <<SQL);
CREATE SEQUENCE brief_seq;
SELECT shardid_lease.lease_shard('brief', 'registry', 'brief_seq');
SELECT next_id(generator => 'brief_seq');
SQL
like(run_block($registry, 'registry', 'watch_ends', rows => 1), qr/^brief\|0\|(held|expired)\|/, 'a lease that is about to end is seen');
like(run_block($fresh, 'shop', 'watch_member', rows => 1), qr/^brief_seq\|0\|/, 'and on the member, as it is drawn from');
$registry->poll_query_until('registry', "SELECT state = 'expired' FROM shardid_lease.id_space_shards WHERE space = 'brief'");
like(run_block($registry, 'registry', 'watch_ends', rows => 1), qr/^brief\|0\|expired\|/, 'and when it has ended');

# --- Without it.

$fresh->safe_psql('shop', 'DROP EXTENSION shardid_lease');
like(refused($fresh), qr/no shard is set/, 'a generator that was leased is told its shard again');
cmp_ok($fresh->safe_psql('shop', 'SELECT next_id(7)'), '>', $after, 'and draws any');

is_deeply([ grep { $_ && !$has_run{$_} } map { $_->{words} } @blocks ], [], 'every block of the page was run');

$_->stop for $fresh, $standby, $member, $copy, $registry;
done_testing();
