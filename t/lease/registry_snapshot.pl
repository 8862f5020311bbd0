# A snapshot of the registry that was taken right after registry_was_restored(), and is put back in its place, shows no
# change since that call; but the registry has granted windows after it. registry_was_restored() has to put windows off
# again, as for any other state that may have lost grants.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use File::Path qw(remove_tree);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '10 s', max_ahead => '10 s')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '5s'\n");
connect_to_registry($member, $registry);

sub restored { return $registry->safe_psql('postgres', 'SELECT shardid_lease.registry_was_restored()') }
sub on_member { return $member->safe_psql('postgres', "SELECT $_[1] FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }

restored();
my $snapshot = PostgreSQL::Test::Utils::tempdir() . '/snapshot';
my $data = $registry->data_dir;
$registry->stop;
system_or_bail('cp', '-a', $data, $snapshot);
$registry->start;
is(lease($member, 'ids', 'forgotten'), 0, 'a lease after the snapshot');
my ($ids) = draw_at_once(0.3, [ $member, 'postgres', 'forgotten' ]);
cmp_ok($ids, '>', 0, "$ids ids of its window");

$registry->stop;
remove_tree($data, { keep_root => 1 });
system_or_bail('cp', '-a', "$snapshot/.", $data);
$registry->start;
restored();
is(lease($member, 'ids', 'next'), 0, 'a snapshot put back: another generator gets the forgotten shard');
cmp_ok(on_member('next', '"from"'), 'ge', on_member('forgotten', 'until'), 'in a window after the forgotten one');
($ids) = draw_at_once(0.3, [ $member, 'postgres', 'next' ]);
cmp_ok($ids, '>', 0, "$ids ids of its window");

no_id_comes_twice('a snapshot taken after registry_was_restored()');
$_->stop for $member, $registry;
done_testing();
