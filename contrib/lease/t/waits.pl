# While a registry does not answer, lease_shard(), take_over_shard() and release_shard() can be cancelled, end after
# shardid_lease.timeout, leave no worker, and keep no other session from drawing; take_over_shard() does not either while an idle
# transaction that has drawn blocks it. When the registry answers again, the same calls succeed.
use Leases;
use ShardidTest;

my $registry = new_registry('registry', { ids => "lease => '10 min'" });
# Only the test ends what waits.
my $member = new_node('member', "autovacuum = off\nmax_worker_processes = 40\nmax_prepared_transactions = 2\n");
connect_to_registry($member, $registry);
sub on_member { return $member->safe_psql('postgres', $_[0]) }

# A generator for each call and each way in which it ends. One that is not leased yet draws as before; one that is being
# released draws nothing, even before the registry knows.
my %call_of = (
	lease_shard => [ "lease_shard('ids', 'registry', '%s')", "next_id(8000, '%s')" ],
	take_over_shard => [ "take_over_shard('%s')", "next_id(generator => '%s')" ],
	release_shard => [ "release_shard('%s')", "next_id(generator => '%s')" ]);
my %expected = (
	cancel => qr/ERROR:  57014: canceling statement due to user request/,
	terminate => qr/FATAL:  57P01: terminating connection/,
	statement_timeout => qr/ERROR:  57014: canceling statement due to statement timeout/,
	lease_timeout => qr/(ERROR:  \w+|WARNING:  \w+): .*(the registry|within)/s);
my %settings_of = (statement_timeout => "SET statement_timeout = '3s'", lease_timeout => "SET shardid_lease.timeout = '3s'");
my @all = map { my $call = $_; map { { call => $call, way => $_, generator => "${call}_$_" } } sort keys %expected } sort keys %call_of;
on_member('SET ROLE app; ' . join ' ', map { "CREATE SEQUENCE $_->{generator};" } @all);
on_member("SET ROLE app; SELECT shardid_lease.lease_shard('ids', 'registry', '$_->{generator}'), next_id(generator => '$_->{generator}')")
  for grep { $_->{call} ne 'lease_shard' } @all;

# --- All calls wait at the same time, while one session each draws.

freeze($registry);
for (@all)
{
	my @statements = ('SET ROLE app', "SET application_name = '$_->{generator}'", $settings_of{ $_->{way} } // (), sprintf "SELECT shardid_lease.$call_of{$_->{call}}[0]", $_->{generator});
	$_->{said} = '';
	$_->{session} = IPC::Run::start([ 'psql', '-Xq', '-v', 'VERBOSITY=verbose', '-d', $member->connstr('postgres'), map { ('-c', $_) } @statements ],
		'<', \'', '>', \$_->{said}, '2>&1', guard($_->{generator}));
}
my $waiting = q(FROM pg_stat_activity WHERE application_name ~ '_(cancel|terminate)$' AND state = 'active' AND query ~ 'shardid_lease');
await_event('calls wait', sub { on_member("SELECT count(*) $waiting") == 6 });
for my $call ('lease_shard', 'take_over_shard')
{
	my $ids = on_member(join ' ', map { sprintf "SELECT $call_of{$call}[1] FROM generate_series(1, 20);", "${call}_$_" } 'cancel', 'terminate');
	is(scalar(() = $ids =~ /^\d+$/mg), 40, "$call: others draw meanwhile");
	all_ids([ split /\n/, $ids ]);
}
is(on_member("SELECT count(*) $waiting"), 6, 'and they still wait');
on_member("SELECT pg_${_}_backend(pid) FROM pg_stat_activity WHERE application_name ~ '_$_\$'") for 'cancel', 'terminate';
for (@all)
{
	eval { $_->{session}->finish };
	like($_->{said}, $expected{ $_->{way} }, "$_->{generator}: it ends as it is told to");
}
my $late = qr/57P03: no answer about the lease of generator "public.lease_shard_lease_timeout" within 3000 ms\nDETAIL: .*foreign server "registry"/;
is(scalar(grep { $_->{said} =~ $late } @all), 1, 'the error names the server that does not answer');
await_event('a worker ends when its callers have', sub { workers_of($member) == 0 });
thaw();

# --- The registry answers again: each call succeeds, also beside who only reads, and no shard is granted twice.

my $reader = open_session($member);
ask_safe($reader, join ' ', 'BEGIN;', map { "SELECT last_value FROM $_->{generator};" } @all);
on_member(join ' ', 'SET ROLE app;', map { sprintf <<"SQL", ($_->{generator}) x 2 } @all);
SELECT shardid_lease.$call_of{$_->{call}}[0]
WHERE NOT EXISTS (SELECT FROM shardid_lease.shard_leases WHERE generator = '%s'::regclass AND state = 'released');
SQL
is(on_member('SELECT state, count(*) FROM shardid_lease.shard_leases GROUP BY 1 ORDER BY 1'), "held|8\nreleased|4", 'asked again, all succeed');
my (undef, $ids, $errors) = $member->psql('postgres', join(' ', map { "SELECT next_id(generator => '$_->{generator}');" } @all), on_error_stop => 0);
is(join(' ', scalar(() = $ids =~ /^\d+$/mg), scalar(() = $errors =~ /has released its lease/g)), '8 4', 'and all draw that may');
all_ids([ split /\n/, $ids ]);
close_session($reader);
# Shards that were released early are leased again by now.
is($registry->safe_psql('postgres', q(SELECT count(*) FROM shardid_lease.granted_shard WHERE state = 'held')), 8, 'no shard is held without a generator');

# --- A transaction that has drawn, and is idle: others draw after a takeover, and are refused at once after a release.

my $generator = 'take_over_shard_cancel';
my $idle = open_session($member);
ask_safe($idle, "BEGIN; SELECT next_id(generator => '$generator');");
on_member("SET ROLE app; SELECT shardid_lease.take_over_shard('$generator')");
like(draw_one($member, $generator), qr/^\d+$/, 'taken over behind an idle transaction: others draw');
like(error_of($member, 'postgres', "SET ROLE app; SET shardid_lease.timeout = '3s'; SELECT shardid_lease.release_shard('$generator')"),
	qr/ERROR:  55006: a transaction can still generate ids of .*release_shard\(\) need not be called again/s, 'released behind an idle transaction: it says so');
like(error_of($member, 'postgres', "SET statement_timeout = '60s'; SELECT next_id(generator => '$generator')"), qr/has released its lease/, 'others are refused at once');
close_session($idle);

# A prepared transaction generates no more ids.
my @used = ('take_over_shard_terminate', 'take_over_shard_statement_timeout');
for (@used)
{
	on_member("BEGIN; SELECT next_id(generator => '$_'); PREPARE TRANSACTION '$_'");
	$member->restart if $_ eq $used[0];
}
is(error_of($member, 'postgres', "SET ROLE app; SELECT shardid_lease.release_shard('$_')"), 'no error', "released behind a prepared transaction: $_") for @used;
on_member("ROLLBACK PREPARED '$_'") for @used;

no_id_comes_twice('a silent registry', $member, $registry);
