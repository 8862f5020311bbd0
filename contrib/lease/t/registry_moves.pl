# A registry that is on another timeline or in another place, that comes from a backup or a dump, or that has forgotten a
# grant which a member can prove, grants nothing until its owner says why: registry_was_moved() after a failover that lost
# nothing, registry_was_restored() after all else. What was forgotten is granted again in later windows only. A restart
# needs no word.
use File::Path qw(remove_tree);
use Leases;
use ShardidTest;

my $registry = new_registry('registry', { ids => "lease => '10 min', max_ahead => '20 min'" }, "autovacuum = off\nwal_keep_size = 64MB\n", allows_streaming => 1);
my $member = new_node('member', "autovacuum = off\n");
$member->safe_psql('postgres', <<SQL);
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '@{[ $registry->host ]}', port '@{[ $registry->port ]}');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
CREATE SEQUENCE known;
SELECT shardid_lease.lease_shard('ids', 'registry', 'known');
SQL
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub window_of { return on_member("SELECT \"$_[1]\" FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }
my $renew = 'SELECT shardid_lease.renew_leases()';

# While the member's windows last, no call of it is granted another one. Then the owner says what has happened. $save and
# $set_back get a name for the state between them; $more: says, not_moved (errors), is_unnoticed, moved.
sub happens
{
	my ($what, $save, $set_back, %more) = @_;
	my $name = $what =~ tr/ /_/r;
	my ($since, $fresh) = ("since_$name", "fresh_$name");
	$save->($name);
	my ($shard) = split /\n/, on_member("CREATE SEQUENCE $since; CREATE SEQUENCE $fresh; SELECT shardid_lease.lease_shard('ids', 'registry', '$since'); $renew");
	my @drawing = map { start_drawing($member, $_) } 'known', $since;
	$set_back->($name);
	# One that has nothing to prove asks first.
	on_member("ALTER SERVER registry OPTIONS (SET host '@{[ $registry->host ]}', SET port '@{[ $registry->port ]}')" . ($more{is_unnoticed} ? "; $renew" : ''));
	is(on_registry("SELECT count(*) FROM shardid_lease.granted_shard WHERE shard = $shard"), $more{moved} ? 1 : 0, "$what: what it knows");
	my $join = "SELECT shardid_lease.lease_shard('ids', 'registry', '$fresh', $shard)";
	my $says = $more{says} // qr/registry_was_(restored|moved)\(.*registry_was_(?!\1)(?:restored|moved)\(/s;
	like(error_of($member, 'postgres', $_), qr/ERROR: .*$says/s, "$what: $_ is refused") for $join, q(SELECT shardid_lease.take_over_shard('known'));
	if ($more{not_moved})
	{
		like(error_of($registry, 'postgres', 'SELECT shardid_lease.registry_was_moved()'), qr/ERROR:  55000: .*$more{not_moved}.*HINT: .*registry_was_restored\(/s, "$what: not moved");
		like(error_of($member, 'postgres', $join), qr/ERROR: .*$says/s, 'and still stopped');
	}
	on_registry('SELECT shardid_lease.registry_was_' . ($more{moved} ? 'moved()' : 'restored()'));
	if ($more{moved})
	{
		is(on_registry('SELECT not_before FROM shardid_lease.id_space'), 0, "$what: no window is put off");
		is(on_member($renew), 2, 'and it grants');
	}
	else
	{
		is(on_member($join), $shard, "$what: it grants the forgotten shard");
		cmp_ok(window_of($fresh, 'from'), 'ge', window_of($since, 'until'), 'in a window after the forgotten one');
	}
	my @told = map { scalar grep { defined $_->[0] } finish_drawing($_) } @drawing;
	my ($until) = split /\|/, on_member(q(SELECT until, raise_generator('known', id_lower_bound(until)) FROM shardid_lease.shard_leases WHERE generator = 'known'::regclass));
	my @ids = draw_from_all(map { [ $member, 'postgres', $_ ] } 'known', $more{moved} ? $since : $fresh);
	is(scalar(grep { $_ > 0 } @told, @ids), 4, "$what: @told ids meanwhile, and then @ids");
	cmp_ok(window_of('known', 'from'), 'ge', $until, 'in a later window') unless $more{moved};
	on_member("DROP SEQUENCE $since");
	return;
}

$registry->restart;
is(on_member($renew), 1, 'after a restart it grants as before');
kill_node($registry);
start_again($registry);
is(on_member($renew), 1, 'after a crash as well');

# --- A standby is promoted, which has all commits of its primary, or has been cut off.

my $standby;
sub follow
{
	my ($name) = @_;
	$standby = new_standby($registry, $name);
	$registry->wait_for_catchup($standby);
	like(error_of($standby, 'postgres', 'SELECT shardid_lease.replayed_all_wal()'), qr/ERROR:  55000: .*during recovery/s, "$name: not before its recovery is over");
	return;
}

sub promote
{
	$registry->stop('immediate');
	$standby->promote;
	$registry = $standby;
	return;
}
happens('a failover', \&follow, sub { $registry->wait_for_catchup($standby); promote() }, moved => 1);
happens('a failover that loses grants', sub {
	follow(@_);
	$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
	$standby->reload;
	$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver') or die 'it streams';
}, \&promote);

# --- An older state in its place or in another one, on its timeline or recovered.

sub state_of { return $registry->backup_dir . "/$_[0]" }
sub back_up { return $registry->backup($_[0]) }
sub snapshot
{
	$registry->stop;
	system_or_bail('cp', '-a', $registry->data_dir, state_of($_[0]));
	$registry->start;
	return;
}

sub put_in_place
{
	my ($name, $conf, $is_snapshot) = @_;
	my $data = $registry->data_dir;
	$registry->stop('immediate');
	# A snapshot of the disk has the directories of databases as they were; after others they are new ones.
	$is_snapshot ? system_or_bail('find', $data, qw(! -type d -delete)) : remove_tree($data, { keep_root => 1 });
	system_or_bail('cp', '-a', state_of($name) . '/.', $data);
	append_to_file("$data/recovery.signal", '') if $conf;
	append_to_file("$data/postgresql.auto.conf", $conf // '');
	$registry->start;
	$registry->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	return;
}
happens('recovered to a target', \&back_up,
	sub { put_in_place($_[0], "restore_command = 'false'\nrecovery_target = 'immediate'\nrecovery_target_action = 'promote'\n") },
	not_moved => qr/stopped at a target/);
sub put_back { return put_in_place($_[0], '', 1) }
happens('files in their place', \&snapshot, \&put_in_place, says => qr/another database than.*registry_was_restored\(/s, not_moved => qr/made again/);
happens('a snapshot in its place', \&snapshot, \&put_back, is_unnoticed => 1,
	says => qr/has forgotten what it granted: .*registry_was_restored\(\)/s, not_moved => qr/It has forgotten what it granted/);
happens('a base backup in its place', \&back_up, \&put_in_place, says => qr/base backup.*registry_was_restored\(/s, not_moved => qr/from a base backup/);
# A restart, which moves no backup label, changes nothing; neither does a backup of this registry.
back_up('another');
$registry->restart;
is(on_member("$renew; SELECT count(*) FROM shardid_lease.shard_leases WHERE error IS NULL AND generator = 'known'::regclass") =~ s/.*\n//r, 1, 'nothing is stopped by a later backup and restart');
happens('a dump in its database', sub { system_or_bail('pg_dump', '-Fc', '-f', state_of($_[0]), $registry->connstr('postgres')) },
	sub { system_or_bail('pg_restore', '--clean', '--if-exists', '--exit-on-error', '-d', $registry->connstr('postgres'), state_of($_[0])) },
	says => qr/registry_was_restored\(/, not_moved => qr/It comes from a dump/);
# Such a snapshot shows no change since that call, which has to put windows off again.
happens('a snapshot after registry_was_restored', sub { on_registry('SELECT shardid_lease.registry_was_restored()'); snapshot(@_) }, \&put_back,
	is_unnoticed => 1, says => qr/has forgotten what it granted/);

no_id_comes_twice('a registry that moves and forgets', $member, $registry);
