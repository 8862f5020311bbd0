# A registry that is on another timeline, or has forgotten a grant that a member can prove, grants nothing until its
# owner says why: registry_was_moved() after a failover that lost nothing, registry_was_restored() after one that lost
# grants, a recovery in its place, or a restored snapshot. A restart needs neither.
use File::Path qw(remove_tree);
use Leases;
use ShardidTest;

my $conf = "autovacuum = off\nwal_keep_size = 64MB\n";
my $registry = new_node('registry', $conf, allows_streaming => 1);
$registry->safe_psql('postgres', <<'SQL');
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', lease => '10 min', max_ahead => '20 min');
SQL
my $member = new_node('member', "autovacuum = off\n");
$member->safe_psql('postgres', <<SQL);
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '@{[ $registry->host ]}', port '@{[ $registry->port ]}');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
CREATE SEQUENCE a; CREATE SEQUENCE b; CREATE SEQUENCE c; CREATE SEQUENCE fresh;
SQL
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub lease_of { return on_member("SELECT shardid_lease.lease_shard('ids', 'registry', '$_[0]')") }
sub error { return error_of($member, 'postgres', $_[0]) }

my $says_what_to_do = qr/registry_was_(restored|moved)\(.*registry_was_(?!\1)(restored|moved)\(/s;

# Draws from the generators at the same time; returns how many ids each received.
sub draw { return draw_from_all(map { [ $member, 'postgres', $_ ] } @_) }

sub goes_on
{
	my ($what, @generators) = @_;
	my @ids = draw(@generators);
	is(scalar(grep { $_ > 0 } @ids), scalar @generators, "$what: @ids ids of @generators");
	return;
}

# The times of the member's windows that are left are skipped, and no call of it is granted another one.
sub stands_still
{
	my ($what, $generator, $expected) = @_;
	$expected //= $says_what_to_do;
	on_member('SELECT raise_generator(generator, id_lower_bound(until)) FROM shardid_lease.shard_leases');
	like(error("SET shardid_lease.timeout = '1s'; SELECT next_id(generator => '$generator')"), $expected, "$what: the error says what to do");
	like(error("SELECT shardid_lease.lease_shard('ids', 'registry', 'fresh')"), $expected, "$what: no new lease");
	like(error("SELECT shardid_lease.take_over_shard('$generator')"), $expected, "$what: no takeover");
	return;
}

sub window_of { return on_member("SELECT (extract(epoch FROM \"$_[1]\") * 1000)::bigint FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }

# Promotes a standby that has all commits of its primary, except those that $lost makes while the standby is cut off.
sub fail_over
{
	my ($name, $lost) = @_;
	$registry->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($registry, $name, has_streaming => 1);
	$standby->start;
	$registry->wait_for_catchup($standby);
	if ($lost)
	{
		$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
		$standby->reload;
		$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver') or die 'it streams';
		$lost->();
	}
	like(error_of($standby, 'postgres', 'SELECT shardid_lease.replayed_all_wal()'), qr/ERROR:  55000: .*during recovery/s, "$name: not before its recovery is over");
	$registry->stop('immediate');
	$standby->promote;
	$registry = $standby;
	on_member("ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')");
	return;
}

is(lease_of('a'), 0, 'a has a lease');
goes_on('at first', 'a');
$registry->restart;
on_member('SELECT shardid_lease.renew_leases()');
kill_node($registry);
start_again($registry);
is(on_member('SELECT shardid_lease.renew_leases()'), 1, 'after a restart, and a crash, it grants as before');
goes_on('after a restart', 'a');

# --- Nothing is lost. The windows continue.

fail_over('second');
stands_still('a failover', 'a');
on_registry('SELECT shardid_lease.registry_was_moved()');
goes_on('moved', 'a');
is(on_registry('SELECT not_before FROM shardid_lease.id_space'), 0, 'and no window is put off');

# --- Commits are lost, with b's lease, and so is b; c leases the shard, whose grant is known to no server.

my $last_of_b;
fail_over('third', sub {
	is(lease_of('b'), 1, 'b has a lease, of which the next primary does not hear');
	goes_on('before the failover', 'a', 'b');
	$last_of_b = window_of('b', 'until');
});
on_member('DROP SEQUENCE b');
stands_still('a failover that lost a lease', 'a');
on_registry('SELECT shardid_lease.registry_was_restored()');
is(lease_of('c'), 1, "c gets b's shard");
cmp_ok(window_of('c', 'from'), '>=', $last_of_b, 'in a window after all of b\'s');
goes_on('restored', 'a', 'c');

# --- Two failovers without registry_was_moved() between them: the last confirmed state is not that of the last primary.

fail_over('fourth');
fail_over('fifth');
like(error_of($registry, 'postgres', 'SELECT shardid_lease.registry_was_moved()'),
	qr/ERROR:  55000: .*HINT: .*registry_was_restored\(\)/s, 'moved twice: not believed');
stands_still('moved twice', 'a');
on_registry('SELECT shardid_lease.registry_was_restored()');
goes_on('restored', 'a', 'c');

# --- Recovered in its place, to the end of its WAL or to a target; and a snapshot restored there, where only a
# member can know of it.

sub put_back
{
	my ($what, $recovery) = @_;
	my $data = $registry->data_dir;
	(my $backup = $what) =~ tr/ /_/;
	my $copied = $registry->backup_dir . "/$backup";
	if (defined $recovery)
	{
		$registry->backup($backup);
	}
	else
	{
		$registry->stop;
		system_or_bail('cp', '-a', $data, $copied);
		$registry->start;
	}
	on_member('SELECT shardid_lease.renew_leases()');
	goes_on('after the backup', 'a', 'c');
	$registry->stop;
	remove_tree($data, { keep_root => 1 });
	system_or_bail('cp', '-a', "$copied/.", $data);
	if (defined $recovery)
	{
		append_to_file("$data/recovery.signal", '');
		append_to_file("$data/postgresql.auto.conf", "restore_command = 'false'\nrecovery_target_action = 'promote'\n$recovery\n");
	}
	$registry->start;
	$registry->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	return;
}

my %recovery = ('recovered to its end' => '', 'recovered to a target' => q(recovery_target = 'immediate'), 'a snapshot put back' => undef);
my %not_moved = ('recovered to a target' => qr/ERROR:  55000: .*stopped at a target/s, 'a snapshot put back' => qr/ERROR:  55000: /);
for my $what (sort keys %recovery)
{
	my $recovered = defined $recovery{$what};
	put_back($what, $recovery{$what});
	stands_still($what, 'a', $recovered ? undef : qr/has forgotten what it granted: .*registry_was_restored\(\)/s);
	is(on_registry('SELECT was_set_back FROM shardid_lease.id_space'), $recovered ? 'f' : 't', "$what: noticed by " . ($recovered ? 'the timeline' : 'the member'));
	like(error_of($registry, 'postgres', 'SELECT shardid_lease.registry_was_moved()'), $not_moved{$what}, "$what: not moved")
	  if $not_moved{$what};
	my $until = window_of('a', 'until');
	on_registry('SELECT shardid_lease.registry_was_restored()');
	goes_on($what, 'a', 'c');
	cmp_ok(window_of('a', 'from'), '>=', $until, "$what: the next window is a later one");
}

no_id_comes_twice('a registry that moves and forgets');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing worse in the log of ' . $_->name) for $member, $registry;
$_->stop for $member, $registry;
done_testing();
