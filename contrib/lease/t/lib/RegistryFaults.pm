# Faults of the registry, of the way to it, and of what it has granted to whom. Each takes a fleet and a place, which it
# puts under load; Fleet's repair() ends them.
package RegistryFaults;

use ShardidTest;
use Exporter 'import';
use MemberFaults;

our @EXPORT = qw(%of_registries);

sub registry_killed
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	kill_node($fleet->{registry});
	$fleet->nap(rand 0.5);
	$fleet->start($fleet->{registry});
	$fleet->nap(0.6);
	return;
}

# Stops all its processes until all windows have ended.
sub registry_stopped
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->nap(0.2);
	my @processes = processes_of($fleet->{registry});
	kill 'STOP', @processes;
	$fleet->nap(3);
	kill 'CONT', @processes;
	$fleet->nap(1);
	return;
}

# A member whose clock is as wrong would be granted a window that far ahead: its shard could not be leased until then.
sub registry_has_wrong_clock
{
	my ($fleet, $place) = @_;
	$fleet->load(4, $place);
	$fleet->nap(0.3);
	$fleet->set_clock($fleet->{registry}, wrong_clock());
	$fleet->nap(0.5);
	kill_node($place->{node});
	$fleet->start($place->{node});
	$fleet->nap(0.6);
	return;
}

# By up to four seconds: two leases.
sub clocks_jump
{
	my ($fleet, $place) = @_;
	$fleet->load(4, map { $fleet->any_place } 1 .. 3);
	for (1 .. 4)
	{
		my @all = ($fleet->{registry}, @{ $fleet->{members} });
		$fleet->set_clock($all[ rand @all ], sprintf '%+.2f', rand(8) - 4);
		$fleet->nap(0.4 + rand);
	}
	return;
}

sub on_the_way
{
	my ($fleet, $place, @modes) = @_;
	$fleet->load(4, map { $fleet->any_place } 1 .. 3);
	for (1 .. 1 + rand 3)
	{
		$fleet->{proxy}->mode($modes[ rand @modes ]);
		$fleet->nap(0.5 + rand 3);
		$fleet->{proxy}->mode('pass') if rand() < 0.5;
		# Calls meanwhile may fail, or their answers may be lost.
		my @asked = ('renew_leases()', 'release_shard()', "lease_shard('ids', 'registry')", 'take_over_shard()');
		$place->{node}->psql($place->{db}, 'SELECT shardid_lease.' . $asked[ rand @asked ]) if rand() < 0.5;
	}
	$fleet->{proxy}->mode('pass');
	$fleet->insist($place, "SELECT shardid_lease.lease_shard('ids', 'registry')")
	  if $fleet->on($place, q(SELECT state IN ('sealed', 'released', 'joining') FROM shardid_lease.shard_leases)) ne 'f';
	$place->{shard} = Fleet::shard_of(@$place{qw(node db)});
	return;
}

sub heir_elsewhere
{
	my ($fleet, $place) = @_;
	my $heir = { %{ $fleet->any_elsewhere($place) }, generator => 'heir' };
	$fleet->on($heir, 'CREATE SEQUENCE heir');
	return $heir;
}

sub lease_to_heir
{
	my ($fleet, $heir, $place) = @_;
	$fleet->insist($heir, "SELECT shardid_lease.lease_shard('ids', 'registry', 'heir', $place->{shard})");
	return;
}

sub remove_heir
{
	my ($fleet, $heir) = @_;
	$fleet->end_load($heir);
	$fleet->on($heir, 'DROP SEQUENCE heir');
	return;
}

sub handed_on
{
	my ($fleet, $place) = @_;
	my $heir = heir_elsewhere($fleet, $place);
	$fleet->take_back($place);
	$fleet->load(4, $place, $heir);
	for (1 .. 2)
	{
		$fleet->nap(0.2);
		$fleet->release($place, 'shardid_seq');
		lease_to_heir($fleet, $heir, $place);
		$fleet->nap(0.2);
		$fleet->release($heir, 'heir');
		$fleet->insist($place, "SELECT shardid_lease.lease_shard('ids', 'registry', shard => $place->{shard})");
	}
	$fleet->nap(0.2);
	remove_heir($fleet, $heir);
	return;
}

# A holder is evicted as dead, its heir leases the shard, and then the holder comes back.
sub evicted
{
	my ($fleet, $place) = @_;
	my $heir = heir_elsewhere($fleet, $place);
	$fleet->take_back($place);
	$fleet->load(4, $place, $heir);
	$fleet->nap(0.3);
	kill_node($place->{node});
	$fleet->ask_registry("SELECT shardid_lease.evict_shard('ids', $place->{shard})");
	lease_to_heir($fleet, $heir, $place);
	$fleet->start($place->{node}, clock_at_start());
	$fleet->nap(0.6);
	$fleet->release($heir, 'heir');
	$fleet->set_clock($place->{node}, '+0');
	$fleet->nap(0.3);
	remove_heir($fleet, $heir);
	return;
}

# Members reach the registry before it is told of its restore, and are granted nothing.
sub registry_restored
{
	my ($fleet, $place) = @_;
	my $registry = $fleet->{registry};
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	kill_node($registry);
	$fleet->put_old_in_place($registry);
	$fleet->start($registry, clock_at_start());
	$fleet->wait_for_end_of_recovery($registry);
	$fleet->nap(0.5);
	$fleet->set_clock($registry, '+0');
	$fleet->ask_registry('SELECT shardid_lease.registry_was_restored()');
	$fleet->nap(0.8);
	$fleet->keep_old($registry);
	return;
}

# For a while the registry's address leads to a copy of it.
sub registry_copied
{
	my ($fleet, $place) = @_;
	$fleet->load(4, map { $fleet->any_place } 1 .. 3);
	my $copy = $fleet->copy_of($fleet->{registry});
	$fleet->start($copy);
	if (rand() < 0.3)
	{
		$copy->safe_psql('postgres', 'SELECT pg_switch_wal()');
		$copy->restart;
	}
	$fleet->{proxy}->lead_to($copy->port);
	$fleet->nap(1 + rand 4);
	push @{ $fleet->{wrong} }, 'a copy of the registry has granted something' if
	  $copy->safe_psql('postgres', 'SELECT max(until_ms) FROM shardid_lease.granted_shard') >
	  $fleet->ask_registry('SELECT max(until_ms) FROM shardid_lease.granted_shard');
	$fleet->{proxy}->lead_to($fleet->{registry}->port);
	return;
}

# A standby becomes the registry; it has all grants, or lacks the last ones.
sub registry_fails_over
{
	my ($fleet, $place, $lost) = @_;
	my $old = $fleet->{registry};
	$fleet->load(4, map { $fleet->any_place } 1 .. 3);
	my $new = $fleet->copy_of($old, streams => 1);
	$fleet->start($new);
	$fleet->nap(0.5);
	if ($lost)
	{
		$new->append_conf('postgresql.conf', "primary_conninfo = ''\n");
		$new->reload;
		$fleet->nap(0.5 + rand 3);
		kill_node($old);
	}
	else
	{
		# No more grants, so that the standby has all.
		$fleet->{proxy}->mode('refuse');
		$old->wait_for_catchup($new);
		kill_node($old);
	}
	$new->promote;
	$fleet->{proxy}->lead_to($new->port);
	$fleet->{proxy}->mode('pass');
	$fleet->nap(rand 3);
	$fleet->registry_is($new);
	$fleet->ask_registry('SELECT shardid_lease.registry_was_' . ($lost || rand() < 0.5 ? 'restored()' : 'moved()'));
	$fleet->nap(0.5);
	$fleet->forget($old);
	return;
}

our %of_registries = (
	'registry killed' => { do => \&registry_killed },
	'registry stopped past the lease' => { do => \&registry_stopped },
	'clock of the registry wrong' => { do => \&registry_has_wrong_clock, wild => 1 },
	'clocks off by two leases' => { do => \&clocks_jump },
	'way refused or silent' => { do => sub { on_the_way(@_, 'refuse', 'swallow') } },
	'way cut' => { do => sub { on_the_way(@_, 'cut_before', 'cut_after') } },
	'way slow or late' => { do => sub { on_the_way(@_, 'delay 300', 'late_request 3000', 'late_answer 3000') } },
	'released and leased elsewhere' => { do => \&handed_on },
	'dead holder evicted' => { do => \&evicted },
	'registry restored and told' => { do => \&registry_restored },
	'registry copied' => { do => \&registry_copied },
	'registry fails over, nothing lost' => { do => sub { registry_fails_over(@_, 0) } },
	'registry fails over, grants lost' => { do => sub { registry_fails_over(@_, 1) } });

1;
