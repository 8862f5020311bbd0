# A registry that was set back on its timeline does not know what was granted since, and grants nothing: a base backup
# that is started without recovery, in another place or in its own, or a dump that is restored into the same database.
# registry_was_moved() does not believe that nothing is lost. And a snapshot that was taken right after
# registry_was_restored() shows no change since that call, which has to put windows off again.
use File::Path qw(remove_tree);
use Leases;
use ShardidTest;

my $registry = new_registry('registry', "autovacuum = off\n", allows_streaming => 1);
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '3 s', max_ahead => '1 min')));
my $member = new_node('member', "autovacuum = off\n");
connect_to_registry($member, $registry);

sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', "SET ROLE app; $_[0]") }
sub moved { return error_of($registry, 'postgres', 'SELECT shardid_lease.registry_was_moved()') }
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
sub is_set_back
{
	my ($what, $save, $set_back, @differs) = @_;
	my ($since, $stranger) = map { "${_}_" . ($what =~ tr/ /_/r) } 'since', 'stranger';
	$save->($since);
	my $shard = lease($member, 'ids', $since);
	on_member('SET ROLE app; SELECT shardid_lease.renew_leases()');
	draw('known', $since);
	$set_back->($since);
	on_member("ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')");
	is(on_registry("SELECT count(*) FROM shardid_lease.granted_shard WHERE shard = $shard"), 0, "$what: it does not know shard $shard");

	# One that has nothing to prove asks first.
	my @drawing = map { start_drawing($member, $_, settings => 'SET shardid_lease.timeout = 0;') } 'known', $since;
	on_member("SET ROLE app; CREATE SEQUENCE $stranger");
	my $error = error(join_as($stranger));
	like($error, $_, "$what: stopped, and the error says why") for @differs;
	like(moved(), qr/ERROR:  55000: .*registry_was_restored\(/s, "$what: not moved");
	draw($stranger) if error(join_as($stranger)) eq 'no error';
	finish_drawing($_) for @drawing;
	like(error(join_as($stranger)), qr/ERROR: /, "$what: still stopped");
	return $stranger;
}

sub is_restored
{
	my ($what, $stranger) = @_;
	on_registry('SELECT shardid_lease.registry_was_restored()');
	like(error(join_as($stranger)), qr/no error/, "$what, restored: it grants");
	on_member('SET ROLE app; SELECT shardid_lease.renew_leases()');
	return cmp_ok((draw_from_all(map { [ $member, 'postgres', $_ ] } 'known', $stranger))[1], '>', 0, "$what: and ids come");
}

sub put_in_place
{
	my ($from) = @_;
	$registry->stop('immediate');
	remove_tree($data, { keep_root => 1 });
	system_or_bail('cp', '-a', "$from/.", $data);
	$registry->start;
	return;
}

# --- A dump. The confirmation is not part of it.

my $dump = PostgreSQL::Test::Utils::tempdir() . '/registry';
my $stranger = is_set_back('a dump', sub { system_or_bail('pg_dump', '-Fc', '-f', $dump, '-d', $registry->connstr('postgres')) },
	sub { system_or_bail('pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', $registry->connstr('postgres'), $dump) },
	qr/ERROR: .*registry_was_restored\(/s);
is_restored('a dump', $stranger);

# --- A base backup in its own place.

my $says_both = qr/ERROR: .*registry_was_restored\(.*registry_was_moved\(/s;
$stranger = is_set_back('the same place', sub { $registry->backup($_[0]) },
	sub { put_in_place($registry->backup_dir . "/$_[0]") }, $says_both, qr/base backup/);
is_restored('the same place', $stranger);
# A restart, which moves no backup label, changes nothing; neither does a backup of this registry.
$registry->backup('another');
$registry->restart;
like(error('SELECT shardid_lease.renew_leases()'), qr/no error/, 'a later restart');
is(on_member(q(SELECT count(*) FROM shardid_lease.shard_leases WHERE error IS NULL AND generator = 'known'::regclass)), 1, 'stops nothing');

# --- In another place.

$stranger = is_set_back('another place', sub { $registry->backup($_[0]) }, sub {
	$registry->stop('immediate');
	my $elsewhere = PostgreSQL::Test::Cluster->new('elsewhere');
	$elsewhere->init_from_backup($registry, $_[0]);
	$elsewhere->start;
	$registry = $elsewhere;
}, $says_both, qr/another data directory.*base backup/);
is_restored('another place', $stranger);

# --- A snapshot that was taken right after registry_was_restored(), with another id space.

$data = $registry->data_dir;
on_registry(q(SELECT shardid_lease.create_id_space('more', lease => '10 s', max_ahead => '10 s'); SELECT shardid_lease.registry_was_restored()));
my $snapshot = PostgreSQL::Test::Utils::tempdir() . '/snapshot';
$registry->stop;
system_or_bail('cp', '-a', $data, $snapshot);
$registry->start;
sub of { return on_member("SELECT $_[1] FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }
is(lease($member, 'more', 'forgotten', shard => 500), 500, 'a lease after the snapshot');
cmp_ok((draw_from_all([ $member, 'postgres', 'forgotten' ]))[0], '>', 0, 'ids of its window');
put_in_place($snapshot);
on_registry('SELECT shardid_lease.registry_was_restored()');
is(lease($member, 'more', 'next', shard => 500), 500, 'a snapshot put back: another generator gets the forgotten shard');
cmp_ok(of('next', '"from"'), 'ge', of('forgotten', 'until'), 'in a window after the forgotten one');
cmp_ok((draw_from_all([ $member, 'postgres', 'next' ]))[0], '>', 0, 'ids of its window');

no_id_comes_twice('a registry that was set back on its timeline');
$_->stop for $member, $registry;
done_testing();
