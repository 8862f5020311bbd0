# Servers whose databases lease shards of one id space, under load, with a random fault in each round: all ids that any
# client received differ.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Fleet;
use LeaseFaults;
use List::Util qw(shuffle sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $seed = $ENV{SHARDID_SEED} || time;
note "SHARDID_SEED=$seed";
diag "SHARDID_SEED=$seed" if $ENV{FULL};

# First each kind once, in random order; then random kinds.
sub planned
{
	my ($rounds) = @_;
	my @all = grep { $ENV{FULL} || !$kinds{$_}{slow} } sort keys %kinds;
	my @often = grep { !$kinds{$_}{seldom} } @all;
	my @plan = shuffle(@all);
	push @plan, $often[ rand @often ] while @plan < $rounds;
	return @plan[ 0 .. $rounds - 1 ];
}

sub run_round
{
	my ($fleet, $kind) = @_;
	my $place = place_for($fleet, $kind);
	local $SIG{ALRM} = sub { die "a round does not end: $kind\n" };
	alarm 180;
	$fleet->load(4, map { $fleet->any_place(sub { $_[0] != $place }) } 1 .. 2);
	$kinds{$kind}{do}->($fleet, $place);
	$fleet->repair;
	alarm 0;
	return;
}

my $fleets = $ENV{ROUNDS} ? 1 : rounds(1, 4);
my $rounds = $ENV{ROUNDS} || rounds(10, 250);
my $databases = rounds([ 4, 6, 6 ], [ 8, 28, 28 ]);
my $count = sum(@$databases);
my %sum_of;    # for each kind: rounds, ids and violations
for my $number (1 .. $fleets)
{
	srand($seed + $number);
	my $max_ahead = ($seed + $number) % 2 ? '1 hour' : '5 hours';
	my $fleet = Fleet->new(number => "f$number", databases => $databases, max_ahead => $max_ahead);
	my @plan = planned($rounds);
	$fleet->keep_old($_) for $ENV{FULL} ? ($fleet->{registry}, $fleet->{members}[0]) : ();

	for my $round (1 .. @plan)
	{
		my $kind = $plan[ $round - 1 ];
		($fleet->{round}, my $ids, my $wrong) = ($round, $fleet->{ids}, scalar @{ $fleet->{wrong} });
		note "round $round of fleet $number: $kind";
		my $done = eval { run_round($fleet, $kind); 1 };
		ok($done, "round $round of fleet $number: $kind") or diag $@;
		BAIL_OUT("SHARDID_SEED=$seed, round $round of fleet $number: $kind") unless $done;
		my $sum = $sum_of{$kind} //= { rounds => 0, ids => 0, wrong => 0 };
		$sum->{rounds}++;
		$sum->{ids} += $fleet->{ids} - $ids;
		$sum->{wrong} += @{ $fleet->{wrong} } - $wrong;
	}

	my @lost = $fleet->places_that_do_not_draw(5);
	ok(eval { $fleet->take_back(@lost); 1 }, "fleet $number: " . @lost . ' databases take over from copies that are gone') or diag $@;
	my @silent = $fleet->places_that_do_not_draw(20);
	is(scalar @silent, 0, "fleet $number: all $count databases draw at the end")
	  or diag $fleet->{error}, map { $_->{node}->name . " $_->{db}\n" } @silent;
	is(scalar @{ $fleet->{wrong} }, 0, "fleet $number: in each generator ids are right") or diag explain $fleet->{wrong};
	my $space = judge_space($fleet->{notes}, sequence_bits => $fleet->{sequence_bits});
	is($space->{violations}, 0, "fleet $number: of $space->{ids} ids, none twice anywhere, and no millisecond of a shard is two incarnations'")
	  or diag explain $space;
	note_fault("leases: fleet of $count databases, max_ahead $max_ahead", $rounds, $space->{ids}, $space->{violations});
	$fleet->stop;
	unlink @{ $fleet->{notes} };
}

note_fault("leases: $_", @{ $sum_of{$_} }{qw(rounds ids wrong)}) for sort keys %sum_of;
my @missed = grep { !$sum_of{$_} && ($ENV{FULL} || !$kinds{$_}{slow}) } sort keys %kinds;
is("@missed", '', 'every kind of fault happened') unless $ENV{ROUNDS};
done_testing();
