# registry_was_restored() may be called more often than once, as by one who is not sure that it has worked: unless a
# shard has changed in between, it changes nothing, so that members are not too far ahead of the clock.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids'); SELECT shardid_lease.create_id_space('others')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '5s'\n");
connect_to_registry($member, $registry);

sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub not_before { return on_registry("SELECT not_before - shardid_lease.now_ms(epoch) FROM shardid_lease.id_space WHERE name = '" . ($_[0] // 'ids') . q(')) }
sub row { return on_registry(q(SELECT not_before, branch FROM shardid_lease.id_space WHERE name = 'ids')) }
sub restored { return on_registry('SELECT shardid_lease.registry_was_restored(' . ($_[0] // '') . ')') }
sub renew { return $member->safe_psql('postgres', 'SET ROLE app; SELECT shardid_lease.renew_leases()') }
my ($lease, $max_ahead) = (60_000, 3_600_000);
my $most = $max_ahead + 2 * $lease;

is(lease($member, 'ids', 'a'), 0, 'a lease');
draw_one($member, 'a');
restored();
my $once = row();
cmp_ok(not_before(), '<=', $most, 'restored: windows are put off by max_ahead and a lease');
restored() for 2 .. 23;
is(row(), $once, 'restored 23 times: put off once');
cmp_ok(not_before('others'), '<=', $most, 'also in an id space of which nothing was leased');
is(renew(), 1, 'the member is renewed');
like(draw_one($member, 'a'), qr/^\d+$/, 'and generates ids');
is($member->safe_psql('postgres', q(SELECT error FROM shardid_lease.shard_leases)), '', 'it is not too far ahead');
my $until = on_registry(q(SELECT until_ms FROM shardid_lease.granted_shard WHERE shard = 0));
cmp_ok($until - on_registry(q(SELECT shardid_lease.now_ms(epoch) FROM shardid_lease.id_space WHERE name = 'ids')), '<=', $most + $lease,
	'by a window after them');

# A grant since may be lost by the next restore.
restored();
cmp_ok((split /\|/, row())[0], '>=', $until + $max_ahead, 'after another grant: later than all that it can be followed by');
my $twice = row();
restored();
is(row(), $twice, 'and once');

# So may a reservation, or an eviction, even if it changes no window.
on_registry(q(SELECT shardid_lease.reserve_shard('ids', 9)));
restored();
isnt(row(), $twice, 'after a reservation it puts them off again');
my $third = row();
restored(q('2001-01-01'));
is(row(), $third, 'a newest_grant that is earlier asks for nothing');
my $newest = not_before();
restored("clock_timestamp() + interval '23 hours'");
cmp_ok(not_before(), '>', $newest, 'a later one does');
my $fourth = row();
restored();
is(row(), $fourth, 'which is kept');

no_id_comes_twice('a registry that is told again and again');
$_->stop for $member, $registry;
done_testing();
