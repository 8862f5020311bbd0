# Each session that calls next_id waits until the standby has a WAL record of its own, also if another session has
# written the record of its id; a standby and logical decoding read these records. The standby is connected and does
# not answer.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Standbys;
use ShardidTest;

start_primary("wal_level = logical\n");
query(<<'SQL');
CREATE PUBLICATION notes FOR TABLE notes;
SELECT pg_create_logical_replication_slot('notes', 'pgoutput');
SQL

$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
want_standbys('*');
$node->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication));
query("INSERT INTO notes VALUES ('the standby answers')");
my $walsender = query('SELECT pid FROM pg_stat_replication');
kill 'STOP', $walsender;
# Ahead of the clock, so that one record covers the ids of all sessions, however slow they are.
query(<<'SQL');
SET synchronous_commit = local;
CREATE SEQUENCE shared;
SELECT setval('shared', ((extract(epoch FROM now()) * 1000)::bigint - 1314220021721 + 3600000) << 10);
SQL
my $from = query('SELECT pg_current_wal_insert_lsn()');
my @waiting = map { start_session("SELECT next_id(5, 'shared')") } 1 .. 8;
waits_for_standby($_, 'next_id waits for a standby that does not answer') for @waiting;

# In a transaction that has written since, and in a subtransaction whose first record it is.
query('SET synchronous_commit = local; CREATE SEQUENCE written; CREATE SEQUENCE of_another');
push @waiting, start_session("INSERT INTO notes VALUES (next_id(5, 'written')) RETURNING note");
push @waiting, start_session("BEGIN; SAVEPOINT sub; SELECT next_id(5, 'of_another'); COMMIT");
waits_for_standby($_, 'likewise in a transaction that writes') for @waiting[ -2, -1 ];

# PostgreSQL shows in the process title for which LSN a session waits.
SKIP:
{
	my @pids = map { activity($_, 'pid') } @waiting;
	skip 'no /proc here, where the title of a process shows what it waits for', 1
	  unless -r "/proc/$pids[0]/cmdline";
	my %lsns = map { slurp_file("/proc/$_/cmdline") =~ m{waiting for ([0-9A-F]+/[0-9A-F]+)} ? ($1 => 1) : () } @pids;
	is(scalar keys %lsns, scalar @waiting, 'each of them for an LSN of its own');
}

# The session that wrote the record waits for it, and each of the seven others for a record that does nothing.
my $to = query('SELECT pg_current_wal_insert_lsn()');
my ($records) = run_command([ 'pg_waldump', '-p', $node->data_dir . '/pg_wal', '-s', $from, '-e', $to ]);
my $empty = () = $records =~ /rmgr: XLOG .* desc: NOOP/g;
is($empty, 7, 'a record for each who wrote none, and no other');

kill 'CONT', $walsender;
is_told_an_id($_, 'the standby answers: an id is told') for @waiting;
my %ids = map { $_->{said} => 1 } @waiting[ 0 .. 7 ];
is(scalar keys %ids, 8, 'of one generator each another');
$node->wait_for_catchup($standby);
query(q(SELECT pg_logical_slot_get_binary_changes('notes', NULL, NULL, 'proto_version', '1', 'publication_names', 'notes')));
pass('logical decoding reads such records');

my $before = query('SELECT next_id(5)');
$standby->promote;
cmp_ok($standby->safe_psql('postgres', 'SELECT next_id(5)'), '>', $before, 'so does a standby, which is promoted');

$standby->stop;
unlike(slurp_file($standby->logfile), qr/TRAP|PANIC|terminated by signal (?:6|11)\b/, "the standby's log shows no crash");
stop_primary();
done_testing();
