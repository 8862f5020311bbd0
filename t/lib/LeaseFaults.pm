# Faults of servers whose databases lease shards of one id space. Each takes a fleet and a place, which it puts under
# load; Fleet's repair() ends them.
package LeaseFaults;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ShardidTest;

our @EXPORT = qw(%kinds place_for);

# Wrong by at most a day, mostly by less, in either direction.
sub wrong_clock
{
	my $seconds = rand() < 0.2 ? 86400 : exp(rand(log 86400 / 0.01)) * 0.01;
	return sprintf '%s%.3f', rand() < 0.5 ? '-' : '+', $seconds;
}

# Sometimes a server that starts again finds another time.
sub clock_at_start { return rand() < 0.3 ? wrong_clock() : '+0' }

sub member_killed
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	kill_node($place->{node});
	$fleet->start($place->{node}, clock_at_start());
	$fleet->nap(0.6);
	return;
}

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
	my ($postmaster) = split /\n/, slurp_file($fleet->{registry}->data_dir . '/postmaster.pid');
	my @processes = ($postmaster, split ' ', `ps -o pid= --ppid $postmaster`);
	kill 'STOP', @processes;
	$fleet->nap(3);
	kill 'CONT', @processes;
	$fleet->nap(1);
	return;
}

sub beside
{
	my ($fleet, $copy, $place) = @_;
	$fleet->start($copy, clock_at_start());
	$fleet->load(4, { %$place, node => $copy });
	$fleet->nap(0.6);
	if (rand() < 0.3)
	{
		# The original's lease ends.
		$fleet->end_load($place);
		$fleet->nap(2.5);
		$fleet->load(4, $place);
		$fleet->nap(0.6);
	}
	return;
}

sub copy_beside
{
	my ($fleet, $place) = @_;
	$fleet->load(4, $place);
	beside($fleet, $fleet->copy_of($place->{node}), $place);
	return;
}

sub recovered_beside
{
	my ($fleet, $place) = @_;
	$fleet->load(4, $place);
	my $copy = $fleet->copy_of($place->{node}, old => 1);
	$fleet->recover_to_old($copy->data_dir, $place->{node}->archive_dir);
	beside($fleet, $copy, $place);
	return;
}

sub recovered_in_place
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	kill_node($place->{node});
	$fleet->end_load(grep { $_->{node} == $place->{node} } @{ $fleet->{places} });
	$fleet->put_old_in_place($place->{node});
	$fleet->start($place->{node}, clock_at_start());
	$fleet->wait_for_end_of_recovery($place->{node});
	$fleet->load(8, $place);
	$fleet->nap(0.8);
	$fleet->set_clock($place->{node}, '+0');
	$fleet->keep_old($place->{node});
	return;
}

# The old primary continues.
sub promoted
{
	my ($fleet, $place, %params) = @_;
	my $old = $place->{node};
	$fleet->load(4, $place);
	my $new = $fleet->copy_of($old, streams => 1);
	$fleet->start($new);
	if ($params{sync})
	{
		$old->safe_psql('postgres', q(ALTER SYSTEM SET synchronous_standby_names = '*'));
		$old->reload;
	}
	$fleet->nap(0.5);
	$new->promote;
	my $promoted = { %$place, node => $new };
	$fleet->load(4, $promoted);
	$fleet->insist($promoted, 'SELECT shardid_lease.take_over_shard()') if $params{taken_over};
	$fleet->nap(0.4);
	if ($params{sync})
	{
		$old->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
		$old->reload;
	}
	# The new primary is a second ahead, as after a crash; and the old one's window has not ended yet.
	$fleet->nap($params{taken_over} ? 1 : 0.4);
	return;
}

# A standby without primary_conninfo that is promoted.
sub copy_promoted
{
	my ($fleet, $place) = @_;
	$fleet->load(4, $place);
	my $copy = $fleet->copy_of($place->{node});
	append_to_file($copy->data_dir . '/standby.signal', '');
	$fleet->start($copy, clock_at_start());
	$fleet->load(4, { %$place, node => $copy });
	$copy->promote;
	$fleet->nap(0.8);
	return;
}

sub dump_restored
{
	my ($fleet, $place) = @_;
	my $there = { node => $fleet->any_place->{node}, db => 'restored' };
	$fleet->load(4, $place);
	$there->{node}->safe_psql('postgres', 'CREATE DATABASE restored');
	IPC::Run::run(
		[ 'pg_dump', '-d', $place->{node}->connstr($place->{db}) ],
		'|', [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $there->{node}->connstr('restored') ],
		'>', \my $output) or die 'the dump is not restored';
	$fleet->load(4, $there);
	$fleet->nap(0.6);
	if (rand() < 0.3)
	{
		$fleet->end_load($place);
		$fleet->nap(2.5);
		$fleet->load(4, $place);
		$fleet->nap(0.6);
	}
	$fleet->end_load;
	$there->{node}->safe_psql('postgres', 'DROP DATABASE restored');
	return;
}

# There must be no session in the template meanwhile, but there is load just before and just after.
sub template_copied
{
	my ($fleet, $place) = @_;
	my $copy = { %$place, db => 'copied' };
	my $strategy = rand() < 0.5 ? 'wal_log' : 'file_copy';
	$fleet->load(4, $place);
	$fleet->nap(0.3);
	$fleet->end_load($place);
	$place->{node}->safe_psql('postgres', "CREATE DATABASE copied TEMPLATE $place->{db} STRATEGY $strategy");
	$fleet->load(4, $place, $copy);
	$fleet->nap(0.6);
	$fleet->end_load($copy);
	$place->{node}->safe_psql('postgres', 'DROP DATABASE copied');
	return;
}

sub member_has_wrong_clock
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	for (0 .. rand 3)
	{
		$fleet->set_clock($place->{node}, wrong_clock());
		$fleet->nap(0.6);
	}
	$fleet->set_clock($place->{node}, '+0');
	$fleet->nap(0.5);
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

sub moved
{
	my ($fleet, $place) = @_;
	my @moves = (
		q(SELECT setval('shardid_seq', 1)),
		q(SELECT setval('shardid_seq', last_value - 2000000) FROM shardid_seq),
		q(SELECT setval('shardid_seq', last_value - 5000) FROM shardid_seq),
		q(SELECT nextval('shardid_seq')),
		'ALTER SEQUENCE shardid_seq RESTART',
		'BEGIN; ALTER SEQUENCE shardid_seq RESTART; SELECT ' . Fleet::next_id() . '; ROLLBACK');
	$fleet->load(8, $place);
	for (1 .. 6)
	{
		$fleet->nap(0.15);
		# Without a window there is an error.
		$place->{node}->psql($place->{db}, $moves[ rand @moves ]);
	}
	$fleet->nap(0.3);
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

# small => 1: copies a server, mostly the smallest one; old => 1: needs the older backup, which only the smallest has;
# slow => 1: for make test-full.
our %kinds = (
	'member killed' => { do => \&member_killed },
	'registry killed' => { do => \&registry_killed },
	'registry stopped past the lease' => { do => \&registry_stopped, slow => 1 },
	'copy started beside' => { do => \&copy_beside, small => 1, slow => 1 },
	'copy promoted' => { do => \&copy_promoted, small => 1, slow => 1 },
	'standby promoted' => { do => sub { promoted(@_) }, small => 1, slow => 1 },
	'standby promoted, taken over' => { do => sub { promoted(@_, taken_over => 1) }, small => 1 },
	'sync standby promoted' => { do => sub { promoted(@_, sync => 1) }, small => 1, slow => 1 },
	'sync standby promoted, taken over' => { do => sub { promoted(@_, sync => 1, taken_over => 1) }, small => 1, slow => 1 },
	'recovered to a past time beside' => { do => \&recovered_beside, old => 1, slow => 1 },
	'recovered to a past time in place' => { do => \&recovered_in_place, old => 1, slow => 1 },
	'dump restored beside' => { do => \&dump_restored },
	'CREATE DATABASE TEMPLATE' => { do => \&template_copied },
	'clock of a member wrong' => { do => \&member_has_wrong_clock },
	'clock of the registry wrong' => { do => \&registry_has_wrong_clock },
	'setval and RESTART' => { do => \&moved },
	'released and leased elsewhere' => { do => \&handed_on },
	'dead holder evicted' => { do => \&evicted },
	'registry restored and told' => { do => \&registry_restored, slow => 1, seldom => 1 });

sub place_for
{
	my ($fleet, $kind) = @_;
	my $first = $fleet->{members}[0];
	my $must_be_first = $kinds{$kind}{old} || $kinds{$kind}{small} && rand() < 0.9;
	return $fleet->any_place($must_be_first ? sub { $_[0]{node} == $first } : undef);
}

1;
