# Random faults: of servers, clocks, workers and the connection to the registry, and of the registry itself, which is
# copied, restored, and fails over with and without its last grants. No id is repeated, no two incarnations use one
# millisecond of a shard, and after a fault each generator draws that may; one that has lost its shard draws after
# take_over_shard(), or lease_shard() if another generator has leased its shard. make test has some rounds of a small
# fleet; make test-full has an hour, in which every other fleet is a large one, whose clocks may be wrong by a day:
# its shards draw at the end. SECONDS_EACH sets the duration (3600); SHARDID_SEED repeats a run.
use List::Util qw(max min shuffle);
use Time::HiRes qw(time);
use Faults;
use Fleet;
use ShardidTest;

my $is_long = $ENV{FULL} || $ENV{SECONDS_EACH};
my $seed = $ENV{SHARDID_SEED} || time | 0;
srand $seed;
diag "SHARDID_SEED=$seed";
my $seconds = $ENV{SECONDS_EACH} || 3600;
my $seconds_of_a_fleet = min(900, $seconds / 2);
my $patience = $PostgreSQL::Test::Utils::timeout_default;

sub is_wrong { my ($fleet, $what) = @_; push @{ $fleet->{wrong} }, "round $fleet->{round}: $what"; return }

# Waits until all places draw that may; those that have lost their shard, and may still draw in their last window, take it
# over. Returns how long it took.
sub recovered
{
	my ($fleet) = @_;
	my $start = time;
	my @lost = $fleet->places_that_do_not_draw($patience, qr/is held by|last held by|was released|take_over_shard/);
	my $took = time - $start;
	is_wrong($fleet, "silent after $patience s: " . $_->{node}->name . " $_->{db}: $_->{error}") for grep { !$_->{is_lost} } @lost;
	take_back($fleet, @{ $fleet->{places} });
	return $took;
}

sub take_back
{
	my ($fleet, @lost) = @_;
	eval { $fleet->take_back(@lost); 1 } or is_wrong($fleet, "no takeover: $@");
	is_wrong($fleet, 'silent after a takeover: ' . $_->{node}->name . " $_->{db}: $_->{error}") for $fleet->places_that_do_not_draw($patience);
	return;
}

sub run_round
{
	my ($fleet, $kind) = @_;
	my $first = $fleet->{members}[0];
	my $must_be_first = $faults{$kind}{old} || $faults{$kind}{small} && rand() < 0.9;
	my $place = $fleet->any_place($must_be_first ? sub { $_[0]{node} == $first } : undef);
	local $SIG{ALRM} = sub { die guard_said("a round\n") };
	alarm 10 * $patience;
	$fleet->load(4, map { $fleet->any_place(sub { $_[0] != $place }) } 1 .. 2);
	$fleet->load(8, $place);
	$fleet->nap(0.3);
	$faults{$kind}{do}->($fleet, $place);
	$fleet->repair;
	alarm 0;
	return 1;
}

my %sum_of;
my $end = time + $seconds;
for (my $number = 1; $is_long ? time < $end : $number == 1; $number++)
{
	my $is_wild = $number % 2 == 0;
	my $databases = !$is_long ? [ 2, 2 ] : !$is_wild ? [ 4, 4, 4 ] : $seconds < 3600 ? [ 4, 6, 6 ] : [ 8, 28, 28 ];
	my $fleet = Fleet->new(number => "f$number", databases => $databases,
		patience => $patience, is_small => !$is_long, max_ahead => $is_wild && rand() < 0.5 ? '1 hour' : !$is_wild && rand() < 0.5 ? '1 min' : '5 hours');
	$fleet->keep_old($_) for $fleet->{registry}, $fleet->{members}[0];
	my @plan;
	my $end_of_fleet = time + $seconds_of_a_fleet;
	while ($is_long ? time < $end && time < $end_of_fleet : $fleet->{round} < 4)
	{
		@plan = shuffle(grep { $is_wild || !$faults{$_}{wild} } sort keys %faults) unless @plan;
		my $kind = shift @plan;
		my ($ids, $wrong) = ($fleet->{ids}, scalar @{ $fleet->{wrong} });
		$fleet->{round}++;
		note "round $fleet->{round} of fleet $number: $kind";
		my $done = eval { run_round($fleet, $kind) };
		my $error = $@;
		alarm 0;
		ok($done, "round $fleet->{round} of fleet $number: $kind") or BAIL_OUT("SHARDID_SEED=$seed, $kind: $error");
		my $sum = $sum_of{$kind} //= { rounds => 0, ids => 0, wrong => 0, slowest => 0 };
		$sum->{slowest} = max($sum->{slowest}, recovered($fleet)) unless $is_wild;
		$sum->{rounds}++;
		$sum->{ids} += $fleet->{ids} - $ids;
		$sum->{wrong} += @{ $fleet->{wrong} } - $wrong;
	}
	take_back($fleet, $fleet->places_that_do_not_draw(5)) if $is_wild;
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
