# Faults of members, of the registry, of copies of both, and of the way between them. Each takes a fleet and a place, which is
# under load; Fleet's repair() ends them.
package Faults;

use ShardidTest;
use Exporter 'import';
use File::Path qw(make_path remove_tree);
use Fleet ();

our @EXPORT = qw(%faults);

# Wrong by at most a day, mostly by less, in either direction.
sub wrong_clock
{
	my $seconds = rand() < 0.2 ? 86400 : exp(rand(log 86400 / 0.01)) * 0.01;
	return sprintf '%s%.3f', rand() < 0.5 ? '-' : '+', $seconds;
}

# Sometimes a server that starts again finds another time.
sub clock_at_start { return rand() < 0.3 ? wrong_clock() : '+0' }

# While the original draws, and sometimes after its lease has ended.
sub beside
{
	my ($fleet, $original, $copy) = @_;
	$fleet->load(4, $copy);
	$fleet->nap(0.6);
	return if rand() < 0.7;
	$fleet->end_load($original);
	$fleet->nap(2.5);
	$fleet->load(4, $original);
	return $fleet->nap(0.6);
}

# In its present state, or recovered to an old one.
sub copy_beside
{
	my ($fleet, $place, $is_old) = @_;
	my $copy = $fleet->copy_of($place->{node}, old => $is_old);
	$fleet->recover_to_old($copy->data_dir, $place->{node}->archive_dir) if $is_old;
	$fleet->start($copy, clock_at_start());
	return beside($fleet, $place, { %$place, node => $copy });
}

# The old primary continues.
sub promoted
{
	my ($fleet, $place, %params) = @_;
	my $old = $place->{node};
	my $new = $fleet->copy_of($old, streams => 1);
	$fleet->start($new);
	my $waits_for = sub { $old->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '$_[0]'; SELECT pg_reload_conf()") };
	$waits_for->('*') if $params{sync};
	$fleet->nap(0.5);
	$new->promote;
	my $promoted = { %$place, node => $new };
	$fleet->load(4, $promoted);
	$fleet->insist($promoted, 'SELECT shardid_lease.take_over_shard()') if $params{taken_over};
	$fleet->nap(0.4);
	$waits_for->('') if $params{sync};
	# The new primary is a second ahead, as after a crash; and the old one's window has not ended yet.
	return $fleet->nap($params{taken_over} ? 1 : 0.4);
}

# From an older state; members reach the registry before it is told, and are granted nothing.
sub restored_in_place
{
	my ($fleet, $node) = @_;
	kill_node($node);
	$fleet->end_load(grep { $_->{node} == $node } @{ $fleet->{places} });
	# In the same directory, or in another one of the same name.
	my $data = $node->data_dir;
	remove_tree($data, { keep_root => rand() < 0.5 });
	mkdir $data, 0700;
	system_or_bail('cp', '-a', Fleet::old_of($node) . '/.', $data);
	$fleet->recover_to_old($data, $node->archive_dir);
	$node->{life}++;
	$fleet->start($node, clock_at_start());
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	$node->safe_psql('postgres', "ALTER SYSTEM RESET $_") for qw(restore_command recovery_target_name recovery_target_action);
	return;
}

sub on_the_way
{
	my ($fleet, $place, @modes) = @_;
	for (0 .. rand 3)
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

# The code has the place's shard leased by a generator elsewhere.
sub with_heir
{
	my ($fleet, $place, $code) = @_;
	my $heir = { %{ $fleet->any_place(sub { $_[0]{node} != $place->{node} }) }, generator => 'heir' };
	$fleet->on($heir, 'CREATE SEQUENCE heir');
	$fleet->take_back($place);
	$fleet->load(4, $heir);
	$code->(sub { $fleet->insist($heir, "SELECT shardid_lease.lease_shard('ids', 'registry', 'heir', $place->{shard})") }, sub { $fleet->release($heir, 'heir') });
	$fleet->nap(0.3);
	$fleet->end_load($heir);
	$fleet->on($heir, 'DROP SEQUENCE heir');
	return;
}

# A standby becomes the registry; it has all grants, or lacks the last ones.
sub registry_fails_over
{
	my ($fleet, $lost) = @_;
	my $old = $fleet->{registry};
	my $new = $fleet->copy_of($old, streams => 1);
	$fleet->start($new);
	$fleet->nap(0.5);
	if ($lost)
	{
		$new->append_conf('postgresql.conf', "primary_conninfo = ''\n");
		$new->reload;
		$fleet->nap(0.5 + rand 3);
	}
	else
	{
		# No more grants, so that the standby has all.
		$fleet->{proxy}->mode('refuse');
		$old->wait_for_catchup($new);
	}
	kill_node($old);
	$new->promote;
	$fleet->{proxy}->lead_to($new->port);
	$fleet->{proxy}->mode('pass');
	$fleet->nap(rand 3);
	$fleet->{copies} = [ grep { $_ != $new } @{ $fleet->{copies} } ];
	$fleet->{registry} = $new;
	$fleet->ask_registry('SELECT shardid_lease.registry_was_' . ($lost || rand() < 0.5 ? 'restored()' : 'moved()'));
	$fleet->nap(0.5);
	# The new one archives its own WAL and keeps a backup.
	remove_tree($old->data_dir, $old->backup_dir, $old->archive_dir);
	make_path($new->archive_dir, $new->backup_dir);
	$new->enable_archiving;
	$new->stop;
	$fleet->start($new);
	return $fleet->keep_old($new);
}

my @moves = (
	q(SELECT setval('shardid_seq', 1)),
	q(SELECT setval('shardid_seq', last_value - 2000000) FROM shardid_seq),
	q(SELECT setval('shardid_seq', last_value - 5000) FROM shardid_seq),
	q(SELECT nextval('shardid_seq')),
	'ALTER SEQUENCE shardid_seq RESTART',
	'BEGIN; ALTER SEQUENCE shardid_seq RESTART; SELECT ' . Fleet::next_id() . '; ROLLBACK');

# small: copies a server, mostly the smallest one; old: needs the older backup, which only the smallest has; wild: shards
# may be out of reach for long.
our %faults = (
	'member killed' => { do => sub { my ($fleet, $place) = @_; $fleet->crash($place->{node}, clock_at_start()) } },
	'copy started beside' => { do => \&copy_beside, small => 1 },
	'standby promoted' => { do => \&promoted, small => 1 },
	'standby promoted, taken over' => { do => sub { promoted(@_, taken_over => 1) }, small => 1 },
	'sync standby promoted, taken over' => { do => sub { promoted(@_, sync => 1, taken_over => 1) }, small => 1 },
	'recovered to a past time beside' => { do => sub { copy_beside(@_, 1) }, old => 1 },
	'recovered to a past time in place' => { old => 1, do => sub {
		my ($fleet, $place) = @_;
		restored_in_place($fleet, $place->{node});
		$fleet->load(8, $place);
		$fleet->nap(0.8);
		$fleet->set_clock($place->{node}, '+0');
		$fleet->keep_old($place->{node});
	} },
	'dump restored beside' => { do => sub {
		my ($fleet, $place) = @_;
		my $there = { node => $fleet->any_place->{node}, db => 'restored' };
		$there->{node}->safe_psql('postgres', 'CREATE DATABASE restored');
		IPC::Run::run([ 'pg_dump', '-d', $place->{node}->connstr($place->{db}) ],
			'|', [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $there->{node}->connstr('restored') ], '>', \my $output) or die 'the dump is not restored';
		beside($fleet, $place, $there);
		$fleet->end_load;
		$fleet->insist({ %$there, db => 'postgres' }, 'DROP DATABASE restored');
	} },
	# There must be no session in the template meanwhile, but there is load just before and just after.
	'CREATE DATABASE TEMPLATE' => { do => sub {
		my ($fleet, $place) = @_;
		my $copy = { %$place, db => 'copied' };
		my $strategy = rand() < 0.5 ? 'wal_log' : 'file_copy';
		$fleet->end_load;
		my $postgres = { %$place, db => 'postgres' };
		$fleet->insist($postgres, "CREATE DATABASE copied TEMPLATE $place->{db} STRATEGY $strategy");
		$fleet->load(4, $place, $copy);
		$fleet->nap(0.6);
		$fleet->end_load($copy);
		$fleet->insist($postgres, 'DROP DATABASE copied');
	} },
	'clock of a member wrong' => { wild => 1, do => sub {
		my ($fleet, $place) = @_;
		for my $clock ((map { wrong_clock() } 0 .. rand 3), '+0')
		{
			$fleet->set_clock($place->{node}, $clock);
			$fleet->nap(0.6);
		}
	} },
	'setval and RESTART' => { do => sub {
		my ($fleet, $place) = @_;
		for (1 .. 6)
		{
			# Without a window there is an error.
			$place->{node}->psql($place->{db}, $moves[ rand @moves ]);
			$fleet->nap(0.15);
		}
	} },
	'workers stopped' => { do => sub {
		my ($fleet, $place) = @_;
		$fleet->on($place, $moves[0]);
		my $workers = q(FROM pg_stat_activity WHERE backend_type = 'shardid lease');
		my @stopped;
		for (1 .. 100)
		{
			push @stopped, split ' ', $place->{node}->safe_psql('postgres', "SELECT string_agg(pid::text, ' ') $workers");
			last if @stopped;
		}
		kill 'STOP', @stopped;
		$fleet->nap(rand 5);
		$fleet->on($place, "SELECT pg_terminate_backend(pid) $workers") if rand() < 0.3;
		kill 'CONT', @stopped;
		$fleet->nap(0.5);
	} },
	'registry killed' => { do => sub { my ($fleet) = @_; $fleet->crash($fleet->{registry}, '+0') } },
	# All its processes, until all windows have ended.
	'registry stopped past the lease' => { do => sub {
		my ($fleet) = @_;
		my @processes = processes_of($fleet->{registry});
		kill 'STOP', @processes;
		$fleet->nap(3);
		kill 'CONT', @processes;
		$fleet->nap(1);
	} },
	# A member whose clock is as wrong would be granted a window that far ahead: its shard could not be leased until then.
	'clock of the registry wrong' => { wild => 1, do => sub {
		my ($fleet, $place) = @_;
		$fleet->set_clock($fleet->{registry}, wrong_clock());
		$fleet->nap(0.5);
		$fleet->crash($place->{node}, '+0');
	} },
	# By up to four seconds.
	'clocks off by two leases' => { do => sub {
		my ($fleet) = @_;
		for (1 .. 4)
		{
			my @all = ($fleet->{registry}, @{ $fleet->{members} });
			$fleet->set_clock($all[ rand @all ], sprintf '%+.2f', rand(8) - 4);
			$fleet->nap(0.4 + rand);
		}
	} },
	'way refused or silent' => { do => sub { on_the_way(@_, 'refuse', 'swallow') } },
	'way cut' => { do => sub { on_the_way(@_, 'cut_before', 'cut_after') } },
	'way slow or late' => { do => sub { on_the_way(@_, 'delay 300', 'late_request 3000', 'late_answer 3000') } },
	'released and leased elsewhere' => { do => sub {
		my ($fleet, $place) = @_;
		with_heir($fleet, $place, sub {
			my ($lease, $release) = @_;
			for (1 .. 2)
			{
				$fleet->release($place, 'shardid_seq');
				$lease->();
				$fleet->nap(0.2);
				$release->();
				$fleet->insist($place, "SELECT shardid_lease.lease_shard('ids', 'registry', shard => $place->{shard})");
				$fleet->nap(0.2);
			}
		});
	} },
	# Its heir leases the shard, and then the holder comes back.
	'dead holder evicted' => { do => sub {
		my ($fleet, $place) = @_;
		with_heir($fleet, $place, sub {
			my ($lease, $release) = @_;
			kill_node($place->{node});
			$fleet->ask_registry("SELECT shardid_lease.evict_shard('ids', $place->{shard})");
			$lease->();
			$fleet->start($place->{node}, clock_at_start());
			$fleet->nap(0.6);
			$release->();
			$fleet->set_clock($place->{node}, '+0');
		});
	} },
	'registry restored and told' => { do => sub {
		my ($fleet) = @_;
		my $registry = $fleet->{registry};
		restored_in_place($fleet, $registry);
		$fleet->nap(0.5);
		$fleet->set_clock($registry, '+0');
		$fleet->ask_registry('SELECT shardid_lease.registry_was_restored()');
		$fleet->nap(0.8);
		$fleet->keep_old($registry);
	} },
	# For a while the registry's address leads to a copy of it.
	'registry copied' => { do => sub {
		my ($fleet) = @_;
		my $copy = $fleet->copy_of($fleet->{registry});
		$fleet->start($copy);
		if (rand() < 0.3)
		{
			$copy->safe_psql('postgres', 'SELECT pg_switch_wal()');
			$copy->restart;
		}
		$fleet->{proxy}->lead_to($copy->port);
		$fleet->nap(1 + rand 4);
		my $last = 'SELECT max(until_ms) FROM shardid_lease.granted_shard';
		push @{ $fleet->{wrong} }, 'a copy of the registry has granted something' if $copy->safe_psql('postgres', $last) > $fleet->ask_registry($last);
		$fleet->{proxy}->lead_to($fleet->{registry}->port);
	} },
	'registry fails over, nothing lost' => { do => sub { registry_fails_over($_[0], 0) } },
	'registry fails over, grants lost' => { do => sub { registry_fails_over($_[0], 1) } });

1;
