# What was told to a client never comes again: after a crash, whatever the transaction did and
# wherever the clock stands then.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');

# The WAL writer must not help: a draw has to flush by itself.
my $node;
with_fake_clock($clock, sub { $node = new_node('crash', <<'CONF'); });
wal_writer_delay = 10s
max_connections = 40
max_prepared_transactions = 10
autovacuum = off
CONF
sub query { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

# Kills the server, sets its clock and starts it.
sub crash
{
	my ($offset) = @_;
	kill_node($node);
	set_fake_clock($clock, $offset);
	with_fake_clock($clock, sub { start_again($node) });
	return;
}

# The history test: clients note what they are told while the server is killed, time and again, with
# the clock an hour back in every other round.
query('CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5)); CREATE SEQUENCE plain;');
my %draw = (
	'autocommit' => 'SELECT next_id(5);',
	'INSERT ... RETURNING' => 'INSERT INTO photos DEFAULT VALUES RETURNING id;',
	'synchronous_commit = off' =>
	  'SET synchronous_commit = off; INSERT INTO photos DEFAULT VALUES RETURNING id;',
	'rolled back' => 'BEGIN; SELECT next_id(5); ROLLBACK;');

sub history
{
	my ($statement, $rounds) = @_;
	my @lists;
	for my $round (1 .. $rounds)
	{
		my $clients = start_clients($node, 8, $statement);
		usleep 300_000;
		query('CHECKPOINT') if $round % 2;
		usleep 100_000 + int rand 200_000;
		crash($round % 2 ? '-1h' : '+0');
		finish_clients($clients);
		push @lists, @{ read_told($clients) };
	}
	return judge(\@lists);
}

for my $mode (sort keys %draw)
{
	my $verdict = history($draw{$mode}, 3);
	cmp_ok($verdict->{ids}, '>', 1000, "$mode: $verdict->{ids} ids told");
	is($verdict->{twice}, 0, "$mode: none twice");
	is($verdict->{decreases}, 0, "$mode: each client's increase");
	cmp_ok($verdict->{most_in_a_millisecond}, '<=', 1024, "$mode: at most 1024 a millisecond");
}

# That the test can see a loss: nextval is not flushed before it is shown.
my $nextval = history(q(BEGIN; SELECT nextval('plain'); ROLLBACK;), 3);
cmp_ok($nextval->{twice}, '>', 0, "nextval rolled back: $nextval->{twice} of $nextval->{ids} twice");

# One id, then at once a crash, then the clock an hour back: after everything that gives the page a
# state of its own.
my %before = (
	'a new generator' => '',
	'a checkpoint' => 'SELECT next_id(5, \'g\'); CHECKPOINT',
	'ids and a checkpoint' => 'SELECT count(next_id(5, \'g\')) FROM generate_series(1, 5000); CHECKPOINT; SELECT next_id(5, \'g\'); CHECKPOINT',
	'ALTER SEQUENCE' => 'SELECT next_id(5, \'g\'); ALTER SEQUENCE g MAXVALUE 9000000000000000000',
	'SET UNLOGGED and SET LOGGED' => 'SELECT next_id(5, \'g\'); ALTER SEQUENCE g SET UNLOGGED; ALTER SEQUENCE g SET LOGGED',
	'SET LOGGED with values logged ahead' => 'ALTER SEQUENCE g SET UNLOGGED; SELECT nextval(\'g\'); ALTER SEQUENCE g SET LOGGED',
	'RESTART' => 'ALTER SEQUENCE g RESTART',
	'setval' => 'SELECT setval(\'g\', 1000)',
	'setval, not called' => 'SELECT setval(\'g\', 1000, false)',
	'nextval' => 'SELECT next_id(5, \'g\'); SELECT nextval(\'g\')',
	'nextval in steps' => 'ALTER SEQUENCE g INCREMENT 7 CACHE 3; SELECT next_id(5, \'g\'); SELECT nextval(\'g\')');
for my $what (sort keys %before)
{
	query('DROP SEQUENCE IF EXISTS g; CREATE SEQUENCE g');
	query($before{$what}) if $before{$what};
	my $told = query('BEGIN; SELECT next_id(5, \'g\'); ROLLBACK');
	crash('-1h');
	cmp_ok(query('SELECT next_id(5, \'g\')'), '>', $told, "one id after $what");
	set_fake_clock($clock, '+0');
}

# Rolling back gives old storage back; it knows what was drawn from the new, after a crash too.
query('DROP SEQUENCE g; CREATE SEQUENCE g; SELECT next_id(5, \'g\')');
my $rolled_back = query('BEGIN; ALTER SEQUENCE g CACHE 2; SELECT next_id(5, \'g\'); ROLLBACK');
crash('-1h');
cmp_ok(query('SELECT next_id(5, \'g\')'), '>', $rolled_back, 'one id after ALTER rolled back');
set_fake_clock($clock, '+0');
my $in_flight = start_clients($node, 1, 'BEGIN; ALTER SEQUENCE g CACHE 2; SELECT next_id(5, \'g\'); SELECT pg_sleep(10);');
usleep 500_000;
crash('-1h');
finish_clients($in_flight);
my ($told_in_flight) = @{ read_told($in_flight)->[0] };
ok($told_in_flight, 'an id was told in a transaction that altered its generator');
cmp_ok(query('SELECT next_id(5, \'g\')'), '>', $told_in_flight, 'and did not come again');
set_fake_clock($clock, '+0');

# CREATE DATABASE ... TEMPLATE copies the page with its remainder of values logged ahead, which
# nextval trusts in the copy and next_id must not.
for my $strategy ('wal_log', 'file_copy')
{
	query('CREATE DATABASE origin');
	query('CREATE EXTENSION shardid; CREATE SEQUENCE plain; SELECT nextval(\'plain\'); SELECT next_id(5)',
		'origin');
	query("CREATE DATABASE copy TEMPLATE origin STRATEGY $strategy");
	my $told = query('SELECT next_id(5)', 'copy');
	my $told_plain = query('SELECT nextval(\'plain\')', 'copy');
	crash('-1h');
	cmp_ok(query('SELECT next_id(5)', 'copy'), '>', $told, "one id in a copy by $strategy");
	my $again = query('SELECT nextval(\'plain\')', 'copy');
	note "nextval in that copy: told $told_plain, then $again";
	ok($again <= $told_plain, 'nextval repeats there: the test can see it') if $strategy eq 'wal_log';
	set_fake_clock($clock, '+0');
	query('DROP DATABASE copy');
	query('DROP DATABASE origin');
}

# A crash of one session alone takes the whole server through recovery.
my $last = query('SELECT next_id(5)');
my $victim = $node->psql('postgres', 'SELECT next_id(5); SELECT pg_terminate_backend(pg_backend_pid())');
cmp_ok(query('SELECT next_id(5)'), '>', $last, 'a session ended in the middle takes nothing back');

# WAL: a second ahead, not a record for every 32 values.
query('SELECT next_id(5)');
my $bytes = query(<<'SQL');
CREATE TEMPORARY TABLE position AS SELECT pg_current_wal_insert_lsn() AS lsn;
SELECT count(next_id(5)) FROM (SELECT generate_series(1, 1000000)) s;
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), lsn) FROM position;
SQL
$bytes = (split /\n/, $bytes)[-1];
cmp_ok($bytes, '<', 4096, "WAL of a million ids: $bytes bytes");

$node->stop;
done_testing();
