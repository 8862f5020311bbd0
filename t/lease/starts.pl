# Two servers of one place, as after a virtual machine was cloned with its disk: the registry knows the starts of a
# place, and a start that comes back after a later one has to take its shard over. A restart, and a crash, only begin a
# later one. And an expired lease goes to a promoted server by itself only if the request says that it inherits.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use Requests;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('shop', lease => '4 s', max_ahead => '10 min')));
use_registry($registry, 'shop');

# 2026-01-02 03:04:05 and the minutes after it, in microseconds since 1970.
my @starts = map { 1_767_323_045_000_000 + 60_000_000 * $_ } 0 .. 3;

my @named = map { my $minute = 4 + $_; qr/2026-01-02 03:0$minute:05/ } 0 .. 3;
my @servers = map { server(shard => 1, place => 'place', incarnation => "i$_", started => $starts[$_]) } 0 .. 3;
my ($first, $second, $third, $fourth) = @servers;

# --- Two starts of one place take turns.

my $held = granted($first, joins => 1);
ok(granted($first), 'the first start renews');
@$second{qw(receipt registry)} = @$first{qw(receipt registry)};
my $next = granted($second);
cmp_ok($next->{from}, '>=', $held->{until}, 'a later start of the place gets the next window, as after a restart');
ok(granted($second), 'and renews');
my $error = ask($first)->{error} // '';
like($error, $named[$_], "the start that comes back is refused, and the error names start $_") for 0, 1;
like($error, qr/two servers.*machine-id/, 'and says what to do');
ok(granted($second), 'the later start goes on');

# --- It takes the shard over: then the other is the one that comes back.

my $taken = granted($first, takes_over => 1);
cmp_ok($taken->{from}, '>=', $next->{until}, 'a takeover by the start that came back');
ok(granted($first), 'it renews');
$error = ask($second)->{error} // '';
like($error, $named[$_], "the other is refused, and the error names start $_") for 0, 1;
@$third{qw(receipt registry)} = @$first{qw(receipt registry)};
ok(granted($third), 'a start that was never seen is a restart');
refused("start $_ comes back", $named[$_], $servers[$_]) for 0, 1;

# Nor once the lease is over.
wait_for_end($registry, 'postgres', 'shop', 1);
refused('one that comes back after the end of the lease', $named[0], $first);
@$fourth{qw(receipt registry)} = @$third{qw(receipt registry)};
ok(granted($fourth), 'a restart gets it');
give_back($first);
isnt(state_of(1), 'released', 'nor does it release what a later start has');

# --- An expired lease: to a later timeline by itself, unless the request says that it does not inherit.

my $primary = server(shard => 2, origin => 'ha', place => 'primary', incarnation => 'p1');
my $promoted = server(shard => 2, origin => 'ha', place => 'standby', incarnation => 's1', timeline => 2);
my $window = granted($primary, joins => 1);
refused('promoted, while the lease runs', qr/is held by/, $promoted);
wait_for_end($registry, 'postgres', 'shop', 2);
refused('not to one that does not inherit', qr/take_over_shard/, $promoted, inherits => 0);
refused('nor when it joins', qr/expired/, $promoted, inherits => 0, joins => 1);
my $inherited = granted($promoted, inherits => 1);
ok($inherited, 'but to one that does');
cmp_ok($inherited->{from}, '>=', $window->{until}, 'in a later window');
wait_for_end($registry, 'postgres', 'shop', 2);
my $clone = server(shard => 2, origin => 'ha', place => 'clone', incarnation => 'c1', timeline => 3, inherits => 0);
ok(granted($promoted), 'one that does not inherit renews its own expired lease');
ok(granted($clone, takes_over => 1), 'and takes a lease over');

$registry->stop;
done_testing();
