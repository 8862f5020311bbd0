# A base backup of the registry that is started without recovery is on the same timeline, in another place or in its
# own, and does not know what was granted since: it grants nothing, says what differs, and registry_was_moved() does not
# believe that nothing is lost unless its caller says so.
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

my $registry = new_registry('registry', "autovacuum = off\n", allows_streaming => 1);
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '3 s', max_ahead => '1 min')));
my $member = new_node('member', "autovacuum = off\nshardid.lease_timeout = '3s'\n");
connect_to_registry($member, $registry);

sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', "SET ROLE app; $_[0]") }
sub moved { return error_of($registry, 'postgres', "SELECT shardid_lease.registry_was_moved($_[0])") }
sub draw { return draw_at_once(0.5, map { [ $member, 'postgres', $_ ] } @_) }
sub join_as { return "SELECT shardid_lease.lease_shard('ids', 'registry', '$_[0]')" }

my $data = $registry->data_dir;
lease($member, 'ids', 'known');
draw('known');

# An unchanged registry that was backed up, and restarted, goes on.
$registry->backup('unused');
$registry->restart;
lease($member, 'ids', 'after_restart');

# The state after the backup has to be lost, or the member's receipts alone would show it.
sub starts_from_backup
{
	my ($what, $start, $differs) = @_;
	my ($since, $stranger) = map { "${_}_" . ($what =~ tr/ /_/r) } 'since', 'stranger';
	$registry->backup($since);
	my $shard = lease($member, 'ids', $since);
	on_member('SET ROLE app; SELECT shardid_lease.renew_leases()');
	draw('known', $since);
	$registry->stop('immediate');
	$start->($registry->backup_dir . "/$since", $since);
	on_member("ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')");
	is(on_registry("SELECT count(*) FROM shardid_lease.granted_shard WHERE shard = $shard"), 0, "$what: it does not know shard $shard");

	# One that has nothing to prove asks first.
	my @drawing = map { start_drawing($member, $_, settings => 'SET shardid.lease_timeout = 0;') } 'known', $since;
	on_member("SET ROLE app; CREATE SEQUENCE $stranger");
	my $error = error(join_as($stranger));
	like($error, qr/ERROR: .*registry_was_restored\(.*registry_was_moved\(/s, "$what: stopped, and the error names both functions");
	like($error, $differs, "$what: it says what differs");
	like(moved(''), qr/ERROR:  55000: .*registry_was_restored\(/s, "$what: not moved");
	draw($stranger) if error(join_as($stranger)) eq 'no error';
	finish_drawing($_) for @drawing;
	like(error(join_as($stranger)), qr/ERROR: /, "$what: still stopped");
	return ($since, $stranger);
}

# --- In its own place.

my ($since, $stranger) = starts_from_backup('the same place', sub {
	my ($backup) = @_;
	remove_tree($data, { keep_root => 1 });
	system_or_bail('cp', '-a', "$backup/.", $data);
	$registry->start;
}, qr/base backup/);
on_registry('SELECT shardid_lease.registry_was_restored()');
like(error(join_as($stranger)), qr/no error/, 'restored: it grants');
on_member('SET ROLE app; SELECT shardid_lease.renew_leases()');
cmp_ok((draw('known', $stranger))[1], '>', 0, 'and ids come');
# A restart, which moves no backup label, changes nothing; neither does a backup of this registry.
$registry->backup('another');
$registry->restart;
like(error('SELECT shardid_lease.renew_leases()'), qr/no error/, 'a later restart');
is(on_member(q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state = 'held' AND generator = 'known'::regclass)), 1, 'stops nothing');

# --- In another place. Its owner knows that nothing that is in use is lost.

($since, $stranger) = starts_from_backup('another place', sub {
	my (undef, $name) = @_;
	my $elsewhere = PostgreSQL::Test::Cluster->new('elsewhere');
	$elsewhere->init_from_backup($registry, $name);
	$elsewhere->start;
	$registry = $elsewhere;
}, qr/another data directory.*base backup/);
# The only one with a lost lease leaves it.
on_member("DROP SEQUENCE $since");
is(moved('nothing_is_lost => true'), 'no error', 'unless one says that nothing is lost');
is(on_registry('SELECT count(*) FROM shardid_lease.id_space WHERE was_set_back'), 0, 'then it grants');
is(moved('nothing_is_lost => true'), 'no error', 'to say so again changes nothing');
# Those with the lost lease and windows prove that something was lost after all.
like(error("SELECT shardid_lease.take_over_shard('known')"), qr/ERROR: .*registry_was_restored\(/s, 'a member knows that it is not true');
is(on_registry('SELECT count(*) FROM shardid_lease.id_space WHERE was_set_back'), 1, 'so it is stopped again');
like(moved('nothing_is_lost => true'), qr/ERROR:  55000: .*registry_was_restored\(/s, 'and not even so believed to have moved');
on_registry('SELECT shardid_lease.registry_was_restored()');
like(error("SELECT shardid_lease.take_over_shard('known')"), qr/no error/, 'until it was restored');

no_id_comes_twice('backups of a registry on the same timeline');
$_->stop for $member, $registry;
done_testing();
