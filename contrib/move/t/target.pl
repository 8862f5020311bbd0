# contrib/move/move_shard.py and servers that lack something: the checks find it, a copy that does not progress says what its worker
# does, a lost server is one line, and shards of the same name in several databases move at the same time.
use Mover;
use ShardidTest;

start_with_shard_on('north');

# --- Shards of one name.

on($_, 'CREATE DATABASE "Other"') for sort keys %node;
$node{$_}->safe_psql('Other', 'CREATE EXTENSION shardid') for sort keys %node;
$node{north}->safe_psql('Other', slurp_file('contrib/move/shard.sql'));
my @other = map { address($_, 'Other') } qw(north south);
moves('copy', 'north', 'south');
moves('copy', @other);
like(on('north', q(SELECT string_agg(slot_name, ' ' ORDER BY database COLLATE "C") FROM pg_replication_slots)),
	qr/^move_shard5__ther_\w{12} move_shard5_postgres$/, 'slots have the names of their databases');
moves('finish', @other);
is($node{south}->safe_psql('Other', 'SELECT count(*) FROM shard5.tallies'), 16, 'the other shard has moved');
state_is('copying', 'north', 'south');
moves('undo', 'north', 'south');
is(on('north', 'SELECT count(*) FROM pg_replication_slots'), 0, 'and no slot is left');

# --- What a server has too little of.

sub with_settings
{
	my ($name, $settings, $code) = @_;
	my $file = $node{$name}->data_dir . '/postgresql.auto.conf';
	my $before = slurp_file($file);
	append_to_file($file, $settings);
	$node{$name}->restart;
	$code->();
	open my $auto, '>', $file or die;
	print $auto $before;
	close $auto;
	$node{$name}->restart;
	return;
}

with_settings('south', "max_logical_replication_workers = 1\nmax_sync_workers_per_subscription = 0\nmax_replication_slots = 1\n", sub {
	stops(qr/the target has 1 free subscription workers, and 2 are needed \(max_logical_replication_workers\)/,
		'a target without workers', 'copy', 'north', 'south');
	like($said, $_, "$_") for qr/^  - .*max_sync_workers_per_subscription/m, qr/1 free replication origins,.*max_replication_slots/;
});
with_settings('south', "max_worker_processes = 2\n", sub {
	stops(qr/the target has \d free worker processes, and 2 are needed \(max_worker_processes\)/, 'without processes', 'copy', 'north', 'south');
});
with_settings('north', "max_wal_senders = 1\n", sub {
	stops(qr/the source has 1 free WAL senders, and 2 are needed \(max_wal_senders\)/, 'a source without senders', 'copy', 'north', 'south');
});

# --- pg_dump.

my $programs = PostgreSQL::Test::Utils::tempdir();
append_to_file("$programs/pg_dump", "#!/bin/sh\necho 'pg_dump (PostgreSQL) 14.9 (Debian 14.9-1)'\n");
chmod 0755, "$programs/pg_dump";
{
	local $ENV{PATH} = "$programs:$ENV{PATH}";
	stops(qr/pg_dump is of PostgreSQL 14, older than the source/, 'an old pg_dump', 'copy', 'north', 'south');
}
is(on($_, q(SELECT count(*) FROM pg_namespace WHERE nspname = 'shard5')), $_ eq 'north' ? 1 : 0, "$_: nothing was changed") for sort keys %node;

# What pg_dump 17 begins with, which an older server does not know.
unlink "$programs/pg_dump";
append_to_file("$programs/pg_dump", "#!/bin/sh\necho 'SET transaction_timeout = 0;'\nPATH=\${PATH#*:} exec pg_dump \"\$@\"\n");
chmod 0755, "$programs/pg_dump";

# --- A copy that does not progress.

my $writer = session('north');
talk($writer, "BEGIN; $insert SELECT pg_sleep(1.1);");
{
	local $ENV{PATH} = "$programs:$ENV{PATH}";
	my $mover = start_mover('copy', 'north', 'south');
	$mover->pump until $said =~ /waiting[^\n]*\n/ || !$mover->pumpable;
	like($said, qr/waiting +pid \d+ .* for \d\d:\d\d:\d\d: the copy begins after its end$/m, 'whose end a copy waits for is said');
	talk($writer, 'COMMIT;');
	$writer->{run}->finish;
	ok($mover->finish, 'then it is made') or diag $said;
}
sub stuck
{
	my ($pattern, $what) = @_;
	my $mover = start_mover('copy', 'north', 'south', '--report-after', 1, '--max-lag', 0);
	$mover->pump until $said =~ /stuck[^\n]*\n/ || !$mover->pumpable;
	like($said, $pattern, $what);
	$mover->signal('TERM');
	$mover->finish;
	return;
}
$node{south}->append_conf('postgresql.conf', 'logging_collector = on');
$node{south}->restart;
on('south', 'ALTER TABLE shard5.photos ADD CONSTRAINT none CHECK (false) NOT VALID');
on('north', $insert);
$node{south}->poll_query_until('postgres', 'SELECT apply_error_count > 0 FROM pg_stat_subscription_stats') or die;
on('south', 'ALTER SUBSCRIPTION move_shard5 DISABLE');
$node{north}->poll_query_until('postgres', 'SELECT NOT active FROM pg_replication_slots') or die;
$node{south}->poll_query_until('postgres', q(SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'logical replication worker')) or die;
# A worker that starts before its predecessor has ended says so.
my ($last) = reverse map { slurp_file($_) =~ /ERROR:  (.*)/g } glob $node{south}->data_dir . '/log/*.log';
stuck(qr/stuck +no progress for \d+ s: the subscription is disabled; [1-9]\d* errors; the last one in the target's log: .*\Q$last\E/,
	'what the subscription does, and the last error of a log that the server collects');
moves('undo', 'north', 'south');

# --- A server that is lost while the shard is sealed.

moves('copy', 'north', 'south');
my $gate = session('south');
talk($gate, 'BEGIN; LOCK TABLE shard_move.marker IN EXCLUSIVE MODE;');
my $mover = start_mover('switch', 'north', 'south');
$mover->pump until $said =~ /sealed/ || !$mover->pumpable;
$node{south}->stop('immediate');
$mover->finish;
like($said, qr/trouble +the source stays as it is/, 'the mover says that nobody can write');
like($said, qr/^stopped +the connection to the target is lost: server closed the connection unexpectedly$/m, 'and which server is lost');
my $lines = () = $said =~ /closed/g;
is($lines, 1, 'in one line');
$gate->{run}->kill_kill;
$node{south}->start;
moves('finish', 'north', 'south');

my $writers = IPC::Run::start([ 'contrib/move/writer.py', "$programs/told", address('south'), address('north') ], '>&', \my $error, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$node{south}->poll_query_until('postgres', 'SELECT count(*) > 8 FROM shard5.photos') or die;
$node{$_}->stop('immediate') for sort keys %node;
$writers->finish;
cmp_ok($error =~ tr/\n//, '<=', 2, 'writers say once that their server is lost') or diag $error;
$node{$_}->start for sort keys %node;

stop_servers();
done_testing();
