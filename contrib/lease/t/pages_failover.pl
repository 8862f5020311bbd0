# After a restart or failover of a member, and after its registry is promoted, restored or lost, the commands of
# docs/operations.md and contrib/lease/README.md, and the scripts of examples/patroni, let the member continue at once,
# above its ids.
use Docs;
use LeasePages;
use ShardidTest;

# A script of examples/patroni, as Patroni calls it on that server.
sub patroni_calls
{
	my ($script, $node, $role) = @_;
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, scalar getpwuid($<));
	return (run_command([ 'sh', "examples/patroni/$script", 'on_role_change', $role, 'cluster' ]))[0];
}

start_registry();
my $old = start_member();
$old->backup('base');

# --- Restart and failover.

my $before = generate($old);
$old->restart;
my $after = generate($old);
cmp_ok($after, '>', $before, 'after a restart it continues at once');
cmp_ok(lead_ms($old, 'ids.shardid_seq', 'shop'), '<=', 60_000, 'at most a lease ahead of the clock');

my $member = PostgreSQL::Test::Cluster->new('standby');
$member->init_from_backup($old, 'base', has_streaming => 1);
$member->start;
$old->wait_for_catchup($member);
is($member->safe_psql('shop', $renew), '', 'cron renews nothing on a standby');
$old->stop('immediate');
like(slurp_file('examples/patroni/on_role_change.sh'), qr/^\Q@{[ block('take_over')->{text} ]}\E^SQL$/m,
	'the script runs what the page says');
is(patroni_calls('on_role_change.sh', $member, 'replica'), '', 'it does nothing for a replica');
# Patroni calls the script when it has requested the promotion, before the promotion has ended.
{
	my ($out, $err) = ('', '');
	local @ENV{qw(PGHOST PGPORT PGUSER)} = ($member->host, $member->port, scalar getpwuid($<));
	my $called = IPC::Run::start([ 'sh', 'examples/patroni/on_role_change.sh', 'on_role_change', 'primary', 'cluster' ],
		'>', \$out, '2>', \$err, IPC::Run::timeout(180));
	$called->pump until $err =~ /read-only transaction/;
	$member->promote;
	$called->finish;
	like($out, qr/ids\.shardid_seq *\| +0$/m, 'called before the end of the promotion, it takes the shard over after it');
}
cmp_ok(generate($member), '>', $after, 'ids are generated at once, above all of the old primary');
start_again($old);
like(refused($old), qr/held by .*port @{[ $member->port ]}, database "shop"/, 'which is told who has the shard');
# As if all that had taken no time.
on_registry('UPDATE shardid_lease.granted_shard SET until_ms = greatest(until_ms, shardid_lease.now_ms(epoch) + 150000) FROM shardid_lease.id_space');
like(run_block($registry, 'registry', 'watch_registry', rows => 1), qr/\Ashop\|0\|held\|[^\n]*\z/, 'the registry shows a shard with three windows within a lease');

# --- The callbacks of a node with the registry, as Patroni calls them: split by shlex, with three arguments added.

{
	my ($block) = grep { $_->{words} eq 'callbacks_registry' } blocks_of('examples/patroni/README.md');
	my ($command) = $block->{text} =~ /on_role_change: >-\n(.*)\z/s or die;
	$command =~ s/\s+/ /g;
	my $folder = "$PostgreSQL::Test::Utils::tmp_check/callbacks";
	mkdir $folder;
	for my $script ('registry_on_role_change.sh', 'on_role_change.sh')
	{
		append_to_file("$folder/$script", "#!/bin/sh\necho $script \$PGHOST \$PGUSER \"\$@\"\n");
		chmod 0755, "$folder/$script";
	}
	$command =~ s{/etc/patroni}{$folder}g;
	my ($out, $err) = run_command([ 'sh', '-c', "$command on_role_change primary 'a cluster'" ]);
	my $expected = join "\n", map { "$_ /var/run/postgresql postgres on_role_change primary a cluster" }
	  'registry_on_role_change.sh', 'on_role_change.sh';
	is($out, $expected, 'the registry is confirmed before the shard is taken over');
	chmod 0644, "$folder/registry_on_role_change.sh";
	($out, $err) = run_command([ 'sh', '-c', "$command on_role_change primary 'a cluster'" ]);
	unlike($out, qr/^registry/m, 'disabled, the script of the registry does not run');
	like($out, qr/^on_role_change/m, 'and the other does');
}

# --- The registry is promoted, restored, lost.

sub find_registry
{
	my $address = address() =~ s/(host|port) '/SET $1 '/gr;
	$member->safe_psql('shop', "ALTER SERVER registry OPTIONS ($address)");
	return;
}
$before = generate($member);
$registry->backup('base');
my $promoted = PostgreSQL::Test::Cluster->new('promoted');
$promoted->init_from_backup($registry, 'base', has_streaming => 1);
$promoted->start;
$registry->wait_for_catchup($promoted);
$registry->stop('immediate');
$promoted->promote;
$registry = $promoted;
find_registry();
$member->restart;
my $look = 'SELECT state, failed_at, error FROM shardid_lease.shard_leases';
$member->safe_psql('shop', $renew);
like($member->safe_psql('shop', $look), qr/^not held\|[^|]+\|The registry says: .* is stopped/, 'after a failover a member shows that it is not confirmed');
like(refused($member), qr/The registry says: .*registry_was_moved.*registry_was_restored|registry_was_restored.*registry_was_moved/s,
	'a promoted registry grants nothing, and names what its owner may call');
like(patroni_calls('registry_on_role_change.sh', $registry, 'primary'), qr/registry_was_moved/, 'the script confirms it');
cmp_ok(generate($member), '>', $before, 'and it grants');
is($member->safe_psql('shop', $look), 'held||', 'which a member shows, too');

on_registry('SELECT shardid_lease.registry_was_restored()');
$before = generate($member);
$member->restart;
cmp_ok($after = generate($member), '>', $before, 'after registry_was_restored() a new window is later');
my $lead = lead_ms($member, 'ids.shardid_seq', 'shop');
ok($lead > 0 && $lead <= 2 * 360_000, "and its ids are ahead of the clock ($lead ms)");

# A registry without its grants: its new id space grants the old one's members nothing, and other members no time that those
# can use, if its owner has said that it was restored.
like(($registry->psql('registry', 'DROP EXTENSION shardid_lease'))[2], qr/other objects depend on it\nDETAIL:  view shardid_lease.registry_in_use/, 'DROP EXTENSION needs CASCADE');
my $told = on_registry('SELECT shardid_lease.ts_of(not_before, epoch) FROM shardid_lease.id_space');
on_registry(block('registry')->{text} =~ s/^CREATE ROLE.*\n/DROP EXTENSION shardid_lease CASCADE;\n/r . "SELECT shardid_lease.registry_was_restored('$told')");
my $end = $member->safe_psql('shop', 'SELECT until FROM shardid_lease.shard_leases');
$member->restart;
like(refused($member), qr/is another one than the one that the lease is of: run take_over_shard\(\)/, 'to a new id space a member is a stranger');
is($member->safe_psql('shop', q(CREATE SEQUENCE joined; SELECT shardid_lease.lease_shard('shop', 'registry', 'joined'))), 0, 'another generator gets its shard');
is($member->safe_psql('shop', qq(SELECT "from" >= '$end' FROM shardid_lease.shard_leases WHERE shard = 0 AND generator = 'joined'::regclass)), 't', 'in a window after the old ones');
$member->safe_psql('shop', q(SELECT shardid_lease.release_shard('joined'); DROP SEQUENCE joined));
like(run_block($member, 'shop', 'take_over', rows => 1), qr/^ids\.shardid_seq\|0$/m, 'a member takes its shard over at a new registry');
cmp_ok(generate($member), '>', $after, 'above all ids that it generated before');

$_->stop for $member, $old, $registry;
done_testing();
