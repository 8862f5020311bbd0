# Faults of members, and of copies of them. Each takes a fleet and a place, which it puts under load; Fleet's repair()
# ends them.
package MemberFaults;

use ShardidTest;
use Exporter 'import';

our @EXPORT = qw(%of_members wrong_clock clock_at_start);

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
	$fleet->nap(0.6);
	return;
}

# In its present state, or recovered to an old one.
sub copy_beside
{
	my ($fleet, $place, $is_old) = @_;
	$fleet->load(4, $place);
	my $copy = $fleet->copy_of($place->{node}, old => $is_old);
	$fleet->recover_to_old($copy->data_dir, $place->{node}->archive_dir) if $is_old;
	$fleet->start($copy, clock_at_start());
	beside($fleet, $place, { %$place, node => $copy });
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
	beside($fleet, $place, $there);
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

sub moved
{
	my ($fleet, $place) = @_;
	my @moves = (
		q(SELECT setval('shardid_seq', 1)),
		q(SELECT setval('shardid_seq', last_value - 2000000) FROM shardid_seq),
		q(SELECT setval('shardid_seq', last_value - 5000) FROM shardid_seq),
		q(SELECT nextval('shardid_seq')),
		'ALTER SEQUENCE shardid_seq RESTART',
		'BEGIN; ALTER SEQUENCE shardid_seq RESTART; SELECT ' . FleetLoad::next_id() . '; ROLLBACK');
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

sub workers_stopped
{
	my ($fleet, $place) = @_;
	$fleet->load(8, $place);
	$fleet->on($place, q(SELECT setval('shardid_seq', 1)));
	my $workers = q(SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'shardid lease');
	my @stopped;
	for (1 .. 100)
	{
		push @stopped, split ' ', $place->{node}->safe_psql('postgres', $workers);
		last if @stopped;
	}
	kill 'STOP', @stopped;
	$fleet->nap(rand 5);
	$fleet->on($place, q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'shardid lease')) if rand() < 0.3;
	kill 'CONT', @stopped;
	$fleet->nap(0.5);
	return;
}

# small: copies a server, mostly the smallest one; old: needs the older backup, which only the smallest has; wild: shards
# may be out of reach for long.
our %of_members = (
	'member killed' => { do => \&member_killed },
	'copy started beside' => { do => \&copy_beside, small => 1 },
	'standby promoted' => { do => sub { promoted(@_) }, small => 1 },
	'standby promoted, taken over' => { do => sub { promoted(@_, taken_over => 1) }, small => 1 },
	'sync standby promoted, taken over' => { do => sub { promoted(@_, sync => 1, taken_over => 1) }, small => 1 },
	'recovered to a past time beside' => { do => sub { copy_beside(@_, 1) }, old => 1 },
	'recovered to a past time in place' => { do => \&recovered_in_place, old => 1 },
	'dump restored beside' => { do => \&dump_restored },
	'CREATE DATABASE TEMPLATE' => { do => \&template_copied },
	'clock of a member wrong' => { do => \&member_has_wrong_clock, wild => 1 },
	'setval and RESTART' => { do => \&moved },
	'workers stopped' => { do => \&workers_stopped });

1;
