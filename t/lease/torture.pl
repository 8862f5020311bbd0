# An hour of random faults: of servers, clocks, workers and the connection to the registry, and of the registry itself,
# which is copied, restored, and fails over with and without its last grants. No id is repeated, no two incarnations use
# one millisecond of a shard, and at most 10 s after a fault each generator draws that may; one that has lost its shard
# draws after take_over_shard(). SECONDS_EACH sets the duration (3600); SHARDID_SEED repeats a run.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Fleet;
use LeaseFaults;
use List::Util qw(max shuffle);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);
use ShardidTest;

plan skip_all => 'takes an hour, see make test-full' unless $ENV{FULL} || $ENV{SECONDS_EACH};

my $seed = $ENV{SHARDID_SEED} || time | 0;
srand $seed;
diag "SHARDID_SEED=$seed";
my $seconds = $ENV{SECONDS_EACH} || 3600;
my $seconds_of_a_fleet = 900;
my $bound = 10;

# --- Faults of the connection, of workers and of clocks.

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

# --- Faults of the registry.

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

%kinds = (
	(map { my $kind = $_; $kind => $kinds{$kind} } grep { $_ ne 'clock of the registry wrong' && $_ ne 'clock of a member wrong' } keys %kinds),
	'way refused or silent' => { do => sub { on_the_way(@_, 'refuse', 'swallow') } },
	'way cut' => { do => sub { on_the_way(@_, 'cut_before', 'cut_after') } },
	'way slow or late' => { do => sub { on_the_way(@_, 'delay 300', 'late_request 3000', 'late_answer 3000') } },
	'workers stopped' => { do => \&workers_stopped },
	'clocks off by two leases' => { do => \&clocks_jump },
	'registry copied' => { do => \&registry_copied },
	'registry fails over, nothing lost' => { do => sub { registry_fails_over(@_, 0) } },
	'registry fails over, grants lost' => { do => sub { registry_fails_over(@_, 1) } });

# --- The rounds, and the state that each must end with.

# Waits until all places draw; those that have lost their shard take it over. Returns how long it took.
sub recovered
{
	my ($fleet) = @_;
	my $start = time;
	my $was_told = qr/is held by|last held by|was released|take_over_shard/;
	my @silent = $fleet->places_that_do_not_draw($bound);
	my $took = time - $start;
	my @stuck = grep {
		my (undef, undef, $error) = $_->{node}->psql($_->{db}, 'SELECT ' . Fleet::next_id());
		$error && $error !~ $was_told && "$_->{db}: $error"
	} @silent;
	push @{ $fleet->{wrong} }, "round $fleet->{round}: silent after $bound s: " . $_->{node}->name . " $_->{db}: $fleet->{error}" for @stuck;
	$took = 0 if @silent;    # The time is that of places that need a takeover.
	eval { $fleet->take_back(@silent); 1 } or push @{ $fleet->{wrong} }, "round $fleet->{round}: no takeover: $@";
	push @{ $fleet->{wrong} }, "round $fleet->{round}: silent after a takeover: " . $_->{node}->name . " $_->{db}: $fleet->{error}"
	  for $fleet->places_that_do_not_draw($bound);
	$fleet->{error} = '';
	return $took;
}

my %sum_of;
my $end = time + $seconds;
my @plan;
for (my $number = 1; time < $end; $number++)
{
	my $fleet = Fleet->new(number => "f$number", databases => [ 4, 4, 4 ], by_proxy => 1, max_ahead => rand() < 0.5 ? '1 min' : '5 hours');
	$fleet->keep_old($_) for $fleet->{registry}, $fleet->{members}[0];
	my $end_of_fleet = time + $seconds_of_a_fleet;
	while (time < $end && time < $end_of_fleet)
	{
		@plan = shuffle(sort keys %kinds) unless @plan;
		my $kind = shift @plan;
		my $place = place_for($fleet, $kind);
		my ($ids, $wrong) = ($fleet->{ids}, scalar @{ $fleet->{wrong} });
		$fleet->{round}++;
		note "round $fleet->{round} of fleet $number: $kind";
		my $done = eval {
			local $SIG{ALRM} = sub { die "a round does not end\n" };
			alarm 300;
			$fleet->load(4, map { $fleet->any_place(sub { $_[0] != $place }) } 1 .. 2);
			$kinds{$kind}{do}->($fleet, $place);
			$fleet->repair;
			alarm 0;
			1;
		};
		my $error = $@;
		alarm 0;
		ok($done, "round $fleet->{round} of fleet $number: $kind") or BAIL_OUT("SHARDID_SEED=$seed, $kind: $error");
		my $sum = $sum_of{$kind} //= { rounds => 0, ids => 0, wrong => 0, slowest => 0 };
		$sum->{slowest} = max($sum->{slowest}, recovered($fleet));
		$sum->{rounds}++;
		$sum->{ids} += $fleet->{ids} - $ids;
		$sum->{wrong} += @{ $fleet->{wrong} } - $wrong;
	}
	is(scalar @{ $fleet->{wrong} }, 0, "fleet $number: nothing is wrong or stuck") or diag explain $fleet->{wrong};
	my $space = judge_space($fleet->{notes}, sequence_bits => $fleet->{sequence_bits});
	is("$space->{duplicates} $space->{shared_ms}", '0 0', "fleet $number: of $space->{ids} ids none twice, no millisecond shared")
	  or diag explain $space;
	note_fault("torture of leases: fleet $number", $fleet->{round}, $space->{ids}, $space->{violations});
	$fleet->stop;
	unlink @{ $fleet->{notes} };
}
note_fault(sprintf("torture: %s (draws again after %.1f s at most)", $_, $sum_of{$_}{slowest}), @{ $sum_of{$_} }{qw(rounds ids wrong)})
  for sort keys %sum_of;
done_testing();
