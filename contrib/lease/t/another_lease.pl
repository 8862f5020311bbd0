# What belongs to one lease is never used for another one: an answer counts only if it is that of the registry that was
# asked, and a session that has begun with another lease of the generator looks again before it generates an id.
use Leases;
use ShardidTest;

my %spaces = map { $_ => "lease => '10 min'" } 'ids', 'brief';
my %registries = map { $_ => new_registry("registry_$_", \%spaces) } 'a', 'b';
my $member = new_node('member', "autovacuum = off\n");
for my $dbname ('postgres', 'other')
{
	connect_to_registry($member, $registries{a}, $dbname);
	my ($host, $port) = ($registries{b}->host, $registries{b}->port);
	$member->safe_psql($dbname, <<"SQL");
CREATE SERVER b FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR app SERVER b OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER b TO app;
SQL
}
sub as_app { return error_of($member, 'postgres', "SET ROLE app; SELECT shardid_lease.$_[0]") }
sub state_of_10 { return $registries{a}->safe_psql('postgres', q(SELECT state FROM shardid_lease.id_space_shards WHERE space = 'brief' AND shard = 10)) }
my @calls;
sub begin_call { push @calls, IPC::Run::start([ 'psql', '-Xq', '-d', $member->connstr('postgres'), '-c', 'SET ROLE app', '-c', "SELECT shardid_lease.$_[0]" ], '<', \'', '>', \my $said, '2>&1', guard($_[0])) }
sub held { return $registries{ $_[0] }->safe_psql('postgres', q(SELECT coalesce(string_agg(shard || ' ' || database, ', ' ORDER BY shard), '') FROM shardid_lease.id_space_shards WHERE state = 'held')) }

# --- Another registry: the worker tells one that is back of a release, and then asks the other one for a lease.

is(lease($member, 'ids', 'moves'), 0, 'a lease from one registry');
$registries{a}->stop;
as_app("release_shard('moves')");
$registries{a}->start;
is(as_app("lease_shard('ids', 'b', 'moves')"), 'no error', 'and then one from another registry');
is(held('a') . '|' . held('b'), '|0 postgres', 'which has granted it');

# --- Another lease of the generator, while a transaction that has used it is open.

$member->safe_psql('postgres', 'CREATE ROLE reader; SET ROLE app; CREATE SEQUENCE changes; GRANT USAGE ON SEQUENCE changes TO reader');
is(lease($member, 'brief', 'changes', shard => 10), 10, 'a lease of shard 10');
my @sessions = map { open_session($member) } 1 .. 3;
my $ids_of = sub { my ($session, $call) = @_; return ask($session, "SELECT next_id($call) FROM generate_series(1, 300);") };
my $shards_of = sub { return join ' ', sort keys %{ { map { (($_ >> 10) & 8191) => 1 } split /\n/, $_[0] } } };
ask_safe($_, "\\set VERBOSITY verbose\nSET ROLE reader; BEGIN;") for @sessions;
for (@sessions)
{
	my $ids = $ids_of->($_, "generator => 'changes'");
	is($shards_of->($ids), 10, 'an open transaction generates ids of shard 10');
	all_ids([ split /\n/, $ids ]);
}
# The times of its window that are left are skipped.
$member->safe_psql('postgres', q(SELECT raise_generator('changes', id_lower_bound(until)) FROM shardid_lease.shard_leases WHERE generator = 'changes'::regclass));
# Both calls wait for these transactions, after they have done their work.
begin_call("release_shard('changes')");
await_event('it is released', sub { state_of_10() eq 'released' });
ask_safe($sessions[2], 'SAVEPOINT before;');
for my $time ('after its window', 'and again')
{
	like($ids_of->($sessions[2], "generator => 'changes'"), qr/55000: .*has released its lease/, "$time a transaction that is still open learns that");
	ask_safe($sessions[2], 'ROLLBACK TO before;');
}
begin_call("lease_shard('brief', 'registry', 'changes', 15)");
await_event('and has a lease of shard 15', sub { $member->safe_psql('postgres', q(SELECT count(*) FROM shardid_lease.shard_leases WHERE generator = 'changes'::regclass AND shard = 15 AND state = 'held')) });
is($member->safe_psql('other', q(SET ROLE app; CREATE SEQUENCE has_10; SELECT shardid_lease.lease_shard('brief', 'registry', 'has_10', 10))), 10, 'another member leases shard 10');
my $beside = start_drawing($member, 'has_10', dbname => 'other');
like($ids_of->($sessions[0], "10, 'changes'"), qr/55000: .*another shard\nDETAIL:  Its shard is 15, and this call asks for ids of shard 10/, 'a call for shard 10 is refused');
my $ids = $ids_of->($sessions[1], "generator => 'changes'");
is($shards_of->($ids), 15, 'a call without a shard has the new one');
all_ids([ split /\n/, $ids ]);
close_session($_) for @sessions;
$_->finish for @calls;
finish_drawing($beside);

# --- The lease is deleted, with the extension, while a call waits for a window: the shard may be another generator's.

$registries{a}->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('short', lease => '1 s')));
lease($member, 'short', 'gone', dbname => 'other');
$registries{a}->stop;
my $over = q(FROM shardid_lease.shard_leases WHERE generator = 'gone'::regclass AND until < clock_timestamp());
await_event('its window ends', sub { $member->safe_psql('other', "SELECT count(*) $over") });
my $waits = IPC::Run::start([ 'psql', '-Xq', '-v', 'VERBOSITY=verbose', '-d', $member->connstr('other'), '-c', q(SELECT next_id(generator => 'gone') AS waits) ], '<', \'', '>', \my $told, '2>&1', guard('a call that waits'));
my $waiting = q(FROM pg_stat_activity WHERE query LIKE '%AS waits%' AND pid <> pg_backend_pid() AND wait_event_type = 'Extension');
await_event('a call waits', sub { $member->safe_psql('postgres', "SELECT count(*) $waiting") });
$member->safe_psql('other', 'DROP EXTENSION shardid_lease');
$waits->finish;
like($told, qr/55000: generator "public.gone" holds no lease/, 'it generates no id of the shard that was leased');

no_id_comes_twice('another lease', $member, values %registries);
