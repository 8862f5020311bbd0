# An ordinary role leases shards from a registry on another server: set-up, ids of two members, renewal without a wait,
# and what happens while the registry is down.
use List::Util 'sum';
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', <<'SQL');
SELECT shardid_lease.create_id_space('orders');
SELECT shardid_lease.create_id_space('quick', lease => '2 s');
SELECT shardid_lease.create_id_space('steady', lease => '10 s');
SQL
my @members = map { new_node($_, "log_min_messages = debug1\n") } 'first', 'second';
connect_to_registry($_, $registry) for @members;
my ($first, $second) = @members;

sub of_registry { return $registry->safe_psql('postgres', $_[0]) }

# The lowest free shards, one for each generator.
is(lease($first, 'orders', 'ids'), 0, 'the first member has shard 0');
is(lease($second, 'orders', 'ids'), 1, 'the second has shard 1');
is(lease($first, 'orders', 'more'), 2, 'another generator of the first has shard 2');
is(of_registry("SELECT string_agg(format('%s %s %s', shard, port, role), ', ' ORDER BY shard) FROM shardid_lease.id_space_shards"),
	join(', ', map { "$_->[0] " . $_->[1]->port . ' member' } [ 0, $first ], [ 1, $second ], [ 2, $first ]),
	'the registry knows who has which');

# A wrong password, a role without a user mapping, an id space that does not exist.
sub refused
{
	my ($name, $sql, $error) = @_;
	my ($status, undef, $said) = $first->psql('postgres', "\\set VERBOSITY verbose\nSET ROLE app;\n$sql");
	like($said, $error, $name);
	return;
}
$first->safe_psql('postgres', <<'SQL');
CREATE SERVER other FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '/nowhere', dbname 'postgres');
GRANT USAGE ON FOREIGN SERVER other TO app;
SQL
my $lease_refused = 'CREATE SEQUENCE IF NOT EXISTS refused; SELECT shardid_lease.lease_shard';
refused('no user mapping', "$lease_refused('orders', 'other', 'refused')", qr/ERROR:  \w+: .*user mapping not found for (user )?"app"/s);
$first->safe_psql('postgres', "CREATE USER MAPPING FOR app SERVER other OPTIONS (user 'member', password 'x')");
refused('no server there', "$lease_refused('orders', 'other', 'refused')", qr/ERROR:  \w+: .*Could not reach the registry: .*nowhere/s);
$first->safe_psql('postgres', 'ALTER USER MAPPING FOR app SERVER other OPTIONS (DROP password)');
refused('no password', "$lease_refused('orders', 'other', 'refused')", qr/ERROR:  \w+: .*password.* required/s);
refused('no such server', "$lease_refused('orders', 'none', 'refused')", qr/ERROR:  42704: server "none" does not exist/);
refused('no such space', "$lease_refused('none', 'registry', 'refused')", qr/ERROR:  \w+: .*The registry says: id space "none" does not exist/s);

# Both members draw, by 8 sessions each: all ids differ, and each member's ids have its shard.
my @clients = map { start_clients($_, 8, q(SELECT next_id(generator => 'ids')), pause_ms => rounds(3, 0)) } @members;
usleep 2_000_000;
await_ids(@clients);
finish_clients($_, 1) for @clients;
my @lists = map { @{ read_told($_) } } @clients;
all_ids(@lists);
is_innocent(judge_clients([ $clients[$_] ]), "leased, member $_", 1) for 0, 1;
for my $n (0, 1)
{
	my %shards = map { ($_ >> 10 & 8191) => 1 } map { @$_ } @{ read_told($clients[$n]) };
	is(join(' ', keys %shards), $n, "member $n draws shard $n only");
}
no_id_comes_twice('two members');

# A lease of 10 s is renewed while 16 sessions draw: it never expires, so no session waits, and there are few workers:
# one per half lease, and those that sessions start until the first one runs.
lease($first, 'steady', 'steady');
draw_one($first, 'steady');
my $workers = worker_starts($first);
my $since = of_registry("SELECT since FROM shardid_lease.id_space_shards WHERE space = 'steady'");
my $load = start_clients($first, 16, [ q(SELECT next_id(generator => 'steady')), 'SELECT pg_sleep(0.02)' ]);
my ($looks, $held, %renewals, %of_idle) = (0, 0);
ok(wait_until(sub {
	my ($state, $renewed_at, $idle_renewed_at) = split /\|/, $first->safe_psql('postgres', <<'SQL');
SELECT l.state, l.renewed_at, idle.renewed_at FROM shardid_lease.shard_leases l, shardid_lease.shard_leases idle
WHERE l.generator = 'steady'::regclass AND idle.generator = 'ids'::regclass
SQL
	$looks++;
	$held++ if $state eq 'held';
	$renewals{$renewed_at} = $of_idle{$idle_renewed_at} = 1;
	return keys %renewals >= 4;
}), 'it is renewed');
finish_clients($load, 1);
all_ids(@{ read_told($load) });
my $verdict = judge_clients([$load]);
is_innocent($verdict, 'renewals under load', 1);
note "the lease was held at $held of $looks looks";
$workers = worker_starts($first) - $workers;
cmp_ok($workers, '<', $verdict->{ids} / 20, "$workers workers, and not one for each of $verdict->{ids} ids");
is(of_registry("SELECT since FROM shardid_lease.id_space_shards WHERE space = 'steady'"), $since, 'in one incarnation');
cmp_ok(scalar keys %of_idle, '>=', 3, 'each renewal renews all leases of the role, also one that generates no ids');

lease($first, 'quick', 'quick');
draw_one($first, 'quick');

# --- The registry is down.

# Draws until the registry is down and the window ends, fails as promised, and draws again after the registry's return.
sub registry_goes_away
{
	my ($name, $go, $come, $error) = @_;
	my $session = start_drawing($first, 'quick', settings => 'SET shardid_lease.timeout = 1000;');
	ok(wait_until(sub { ids_of($session) > 50 }), "$name: ids come");
	$go->();
	my $before = -s $session->{file};
	ok(wait_until(sub { slurp_file($session->{file}, $before) =~ /ERROR.*$error/s }), "$name: they end, with what is wrong");
	$come->();
	my $drawn = () = ids_of($session);
	ok(wait_until(sub { ids_of($session) > $drawn + 5 }), "$name: ids come again");
	my @told = finish_drawing($session);
	my @errors = grep { !defined $_->[0] } @told;
	my ($said) = map { $_->[3] =~ $error ? $_->[3] : () } @errors;
	my ($until, $clock) = $said =~ /window of time ends at ([-\d :.+]+), and the clock is at ([-\d :]+\.\d+\+\d+)/;
	is($first->safe_psql('postgres', "SELECT '$clock'::timestamptz >= '$until'"), 't', "$name: ids go on to the end of the window");
	is(join(' ', keys %{ { map { $_->[2] => 1 } @errors } }), '57P03', "$name: then " . @errors . ' times 57P03');
	return;
}

my ($log_before, $start) = (-s $first->logfile, time);
registry_goes_away('registry stopped', sub { $registry->stop('immediate') }, sub { $registry->start }, qr/Could not reach the registry: /);
my $lines = () = slurp_file($first->logfile, $log_before) =~ /could not renew the lease of generator "public.quick"/g;
ok($lines >= 1 && $lines <= 2 + (time - $start) / 60, "the log says so once a minute, not more: $lines times");

my @stopped = processes_of($registry);
registry_goes_away('registry stands still', sub { kill 'STOP', @stopped }, sub { kill 'CONT', @stopped },
	qr/Could not reach the registry: no (connection|answer) within shardid_lease.registry_timeout|The registry did not answer within/);

# The bytes that each session that waits uses.
sub used_by_waiting
{
	my $before = -s $first->logfile;
	my $count = $first->safe_psql('postgres',
		q(SELECT count(pg_log_backend_memory_contexts(pid)) FROM pg_stat_activity WHERE query LIKE 'SELECT next_id%'));
	my @used;
	wait_until(sub { (@used = slurp_file($first->logfile, $before) =~ /Grand total: .* (\d+) used$/mg) == $count }) or die 'no totals';
	return @used;
}

# Sessions that wait for a window can be ended, and the server can be stopped.
sub start_waiting
{
	my ($output) = @_;
	my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $first->connstr('postgres'),
			'-c', q(SELECT next_id(generator => 'quick')) ],
		'>', $output, '2>&1', IPC::Run::timer(180));
	die 'nobody waits' unless $first->poll_query_until('postgres',
		q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'SELECT next_id%' AND state = 'active' AND wait_event_type IN ('Extension', 'IPC')));
	return $session;
}
wait_for_end($registry, 'postgres', 'quick', 0);
@stopped = processes_of($registry);
kill 'STOP', @stopped;
my $said = '';
my @waiting = map { start_waiting(\$said) } 1, 2;
my $used = sum(used_by_waiting());
usleep 2_000_000;
cmp_ok(sum(used_by_waiting()), '<', $used + 20_000, 'sessions use no more memory the longer they wait');
ok($first->stop('fast', fail_ok => 1), 'the server stops while a draw waits, fast');
$_->finish for @waiting;
$first->start;
# A smart shutdown waits for clients, but not for the worker that a client has started.
# Shortly after a failure a draw starts none.
sub draw_at_once { return draw_one($first, 'quick', settings => 'SET shardid_lease.timeout = 0;') }
like(draw_at_once(), qr/57P03/, 'a draw that does not wait');
ok(wait_until(sub { workers_of($first) == 1 || !draw_at_once() }), 'leaves a worker');
ok($first->stop('smart', fail_ok => 1), 'the server stops then, smart');
$first->start;
kill 'CONT', @stopped;

# After a restart ids come at once, and are later: it is the same server in the same place.
my $before = draw_one($second, 'ids');
$second->restart;
my $after = draw_one($second, 'ids');
cmp_ok($after, '>', $before, 'after a restart ids are later');
kill_node($second);
start_again($second);
cmp_ok(draw_one($second, 'ids'), '>', $after, 'after a crash as well');

no_id_comes_twice('registry away');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing worse in the log of ' . $_->name) for @members, $registry;
$_->stop for @members, $registry;
done_testing();
