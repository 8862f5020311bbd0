# contrib/move/move_shard.py and servers that lack something: the checks find it, a copy that does not progress says what its worker
# does, a lost server is one line, and shards of the same name in several databases move at the same time.
use Mover;
use ShardidTest;

start_with_shard_on('north');

# --- Shards of one name.

for my $name (sort keys %node)
{
	on($name, 'CREATE DATABASE "Other"');
	$node{$name}->safe_psql('Other', 'CREATE EXTENSION shardid;' . ($name eq 'north' ? slurp_file('contrib/move/shard.sql') : ''));
}
my @other = map { address($_, 'Other') } qw(north south);
moves('copy', 'north', 'south');
moves('copy', @other);
like(on('north', q(SELECT string_agg(slot_name, ' ' ORDER BY database COLLATE "C") FROM pg_replication_slots)),
	qr/^move_shard5__ther_\w{12} move_shard5_postgres$/, 'slots have the names of their databases');
moves('finish', @other);
is($node{south}->safe_psql('Other', 'SELECT count(*) FROM shard5.tallies'), 16, 'the other shard has moved');
moves('undo', 'north', 'south');
is(on('north', 'SELECT count(*) FROM pg_replication_slots'), 0, 'and no slot is left');

# --- What a server has too little of.

my %too_little = (
	north => "max_wal_senders = 1\nwal_level = replica\n",
	south => "max_logical_replication_workers = 1\nmax_sync_workers_per_subscription = 0\nmax_worker_processes = 2\n"
	  . ($node{south}->pg_version->major < 18 ? "max_replication_slots = 1\n" : "max_active_replication_origins = 1\n"));
$node{$_}->append_conf('postgresql.auto.conf', $too_little{$_}), $node{$_}->restart for sort keys %node;
stops(qr/the target has 1 free subscription workers, and 2 are needed \(max_logical_replication_workers\)/, 'servers without workers', 'copy', 'north', 'south');
like($said, $_, "$_") for qr/^  - .*max_sync_workers_per_subscription/m, qr/1 free replication origins,.*max_replication_slots/,
  qr/the target has -?\d free worker processes, and 2 are needed \(max_worker_processes\)/, qr/the source has 1 free WAL senders, and 2 are needed \(max_wal_senders\)/;
# From PostgreSQL 19 on the first slot raises the level, and what follows moves a shard from such a server.
my $raises_level = $node{north}->pg_version->major >= 19;
is($said =~ /the source's wal_level is not logical/ ? 'refused' : 'accepted', $raises_level ? 'accepted' : 'refused', 'wal_level = replica');
$node{north}->append_conf('postgresql.conf', 'wal_level = replica') if $raises_level;
# Below, a log that the server collects.
$node{south}->append_conf('postgresql.conf', 'logging_collector = on');
on($_, 'ALTER SYSTEM RESET ALL'), $node{$_}->restart for sort keys %node;

# --- pg_dump: an old one, and what pg_dump 17 begins with, which an older server does not know.

my $programs = PostgreSQL::Test::Utils::tempdir();
sub make_pg_dump
{
	my ($script) = @_;
	unlink "$programs/pg_dump";
	append_to_file("$programs/pg_dump", "#!/bin/sh\n$script\n");
	chmod 0755, "$programs/pg_dump";
	return;
}
my $path = $ENV{PATH};
$ENV{PATH} = "$programs:$path";
make_pg_dump(q(echo 'pg_dump (PostgreSQL) 14.9 (Debian 14.9-1)'));
stops(qr/pg_dump is of PostgreSQL 14, older than the source/, 'an old pg_dump', 'copy', 'north', 'south');
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard5')), $_ eq 'north' ? 1 : 0, "$_: nothing was changed") for sort keys %node;

# --- A copy that does not progress.

make_pg_dump(qq(echo 'SET transaction_timeout = 0;'\nPATH=\${PATH#*:} exec pg_dump "\$@"));
my $writer = session('north');
talk($writer, "BEGIN; $insert SELECT pg_sleep(1.1);");
my $mover = start_mover('copy', 'north', 'south');
$mover->pump until $said =~ /waiting[^\n]*\n/ || !$mover->pumpable;
like($said, qr/waiting +pid \d+ .* for \d\d:\d\d:\d\d: the copy begins after its end$/m, 'whose end a copy waits for is said');
talk($writer, 'COMMIT;');
close_session($writer);
ok($mover->finish, 'then it is made') or diag $said;
$ENV{PATH} = $path;
on('south', 'ALTER TABLE shard5.photos ADD CONSTRAINT none CHECK (false) NOT VALID');
on('north', $insert);
$node{south}->poll_query_until('postgres', 'SELECT apply_error_count > 0 FROM pg_stat_subscription_stats') or die;
on('south', 'ALTER SUBSCRIPTION move_shard5 DISABLE');
$node{north}->poll_query_until('postgres', 'SELECT NOT active FROM pg_replication_slots') or die;
$node{south}->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'logical replication worker')) or die;
# A worker that starts before its predecessor has ended says so. The log is written by another process, in its order.
on('south', q(DO 'BEGIN RAISE LOG ''all is written''; END'));
await_event('the log', sub { grep { slurp_file($_) =~ /LOG:  all is written/ } glob $node{south}->data_dir . '/log/*.log' });
my ($last) = reverse map { slurp_file($_) =~ /ERROR:  (.*)/g } glob $node{south}->data_dir . '/log/*.log';
$mover = start_mover('copy', 'north', 'south', '--report-after', 1, '--max-lag', 0);
$mover->pump until $said =~ /stuck[^\n]*\n/ || !$mover->pumpable;
like($said, qr/stuck +no progress for \d+ s: the subscription is disabled; [1-9]\d* errors; the last one in the target's log: .*\Q$last\E/,
	'what the subscription does, and the last error of a log that the server collects');
$mover->signal('TERM');
$mover->finish;
moves('undo', 'north', 'south');

# --- A server that is lost while the shard is sealed.

moves('copy', 'north', 'south');
my $gate = hold_marker('south');
$mover = start_mover('switch', 'north', 'south');
$mover->pump until $said =~ /sealed/ || !$mover->pumpable;
$node{south}->stop('immediate');
$mover->finish;
like($said, qr/trouble +the source stays as it is/, 'the mover says that nobody can write');
like($said, qr/^stopped +the connection to the target is lost: server closed the connection unexpectedly$/m, 'and which server is lost');
$gate->{psql}->kill_kill;
$node{south}->start;
moves('finish', 'north', 'south');

my $writers = start_writers("$programs/told", 4, 10);
$node{south}->poll_query_until('postgres', 'SELECT count(*) > 8 FROM shard5.photos') or die;
$node{$_}->stop('immediate') for sort keys %node;
$writers->{run}->finish;
cmp_ok($writers->{error} =~ tr/\n//, '<=', 2, 'writers say once that their server is lost') or diag $writers->{error};
$node{$_}->start for sort keys %node;

$_->stop for values %node;
done_testing();
