# Each rule of settled_below, by sessions that are led step by step: what holds it back, for how long, and what of it a
# crash leaves.
use ShardidTest;

my $node = new_node('rules', "max_prepared_transactions = 10\nmax_locks_per_transaction = 10\nwal_writer_delay = 10s\nautovacuum = off\n");
sub query { return $node->safe_psql('postgres', $_[0]) }
query(<<'SQL');
CREATE SEQUENCE g CACHE 2;
CREATE SEQUENCE h CACHE 2;
CREATE SEQUENCE k CACHE 2;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(1, 'g'), name text);
SQL
my $writer = open_session($node);
my $other = open_session($node);

# The id that settled_below returns after another session has generated an id, more than a millisecond later.
sub settled
{
	my ($generator) = @_;
	return (split /\n/, query(<<"SQL"))[-1];
SELECT next_id(1, '$generator'); SELECT pg_sleep(0.002); SELECT settled_below('$generator');
SELECT pg_sleep(0.002); SELECT settled_below('$generator')
SQL
}

sub held_back
{
	my ($generator, $id, $why) = @_;
	cmp_ok(settled($generator), '<=', $id, "$why holds it back");
	return;
}

sub passes
{
	my ($generator, $id, $why) = @_;
	cmp_ok(settled($generator), '>', $id, "$why does not hold it back");
	return;
}

# Transactions that are open, prepared, and ended; a crash keeps what is prepared.
my $id = ask($writer, 'BEGIN; INSERT INTO photos DEFAULT VALUES RETURNING id;');
held_back('g', $id, 'an open transaction');
passes('h', $id, 'a transaction that has generated ids of another generator');
ask($writer, q(PREPARE TRANSACTION 'kept';));
held_back('g', $id, 'a prepared transaction');
close_session($_) for $writer, $other;
kill_node($node);
start_again($node);
held_back('g', $id, 'a prepared transaction after a crash');
query(q(COMMIT PREPARED 'kept'));
passes('g', $id, 'a transaction that has ended');
query('CREATE DATABASE copy TEMPLATE postgres');
$writer = open_session($node->connstr('copy'));
passes('g', ask($writer, q(BEGIN; SELECT next_id(1, 'g');)), 'a transaction of another database, whose generator has the same OID,');
close_session($writer);
($writer, $other) = map { open_session($node) } 1, 2;
ask($other, 'BEGIN; SELECT txid_current(); SELECT count(*) FROM photos; CREATE TABLE new (id int);');
passes('g', $id, 'a session that has generated nothing');
ask($other, 'ROLLBACK;');

# Subtransactions: the first id keeps its note.
for my $end ('ROLLBACK TO a', 'RELEASE a')
{
	$id = ask($writer, "BEGIN; SAVEPOINT a; SELECT next_id(2, 'g'); $end;");
	held_back('g', $id, "an id of a subtransaction that has ended by $end");
	ask($writer, 'ROLLBACK;');
}

# A generator that was ahead is moved back: the transaction's next id is below its first.
query(q(SELECT raise_generator('h', id_lower_bound(clock_timestamp() + interval '1 hour'))));
ask($writer, q(BEGIN; SELECT next_id(101, 'h');));
query(q(SELECT setval('h', 1)));
$id = ask($writer, q(SELECT next_id(101, 'h');));
held_back('h', $id, 'an id below the first of its transaction');
ask($writer, 'COMMIT;');

# An id that was generated while CACHE was 1, for its own transaction only.
$id = ask($writer, q(BEGIN; SAVEPOINT a; ALTER SEQUENCE g CACHE 1; SELECT next_id(1, 'g'); ROLLBACK TO a;));
held_back('g', $id, 'an id of a storage that was rolled back');
ask($writer, 'COMMIT;');

# ALTER SEQUENCE that switches notes on waits for ids without a note.
query('CREATE SEQUENCE plain');
ask($writer, q(BEGIN; SELECT next_id(1, 'plain');));
like(error_on($node, q(SET lock_timeout = '200ms'; ALTER SEQUENCE plain CACHE 2)), qr/^55P03/, 'CACHE 2 waits for ids without a note');
ask($writer, 'COMMIT;');

# Where the lock table has no room for a note, no id is generated.
ask($other, <<'SQL');
CREATE TEMPORARY SEQUENCE n;
DO $$
BEGIN
	LOOP
		PERFORM pg_advisory_lock(nextval('n'));
	END LOOP;
EXCEPTION WHEN out_of_memory THEN
END $$;
SQL
like(ask($writer, q(SELECT next_id(1, 'g');)), qr/out of shared memory/, 'a full lock table');
ask($other, 'SELECT pg_advisory_unlock_all();');
is(ask($writer, q(SELECT next_id(1, 'g') > 0;)), 't', 'that has room again');

# An ALTER SEQUENCE that is open is waited for, as by next_id; an open transaction that has called them, by nobody.
my $waits = q(SELECT count(*) > 0 FROM pg_locks WHERE relation = 'g'::regclass AND mode = 'RowExclusiveLock' AND NOT granted);
for my $call (q(SELECT settled_below('g') > 0;), q(SELECT lead IS NOT NULL FROM id_generator_status('g');))
{
	query(q(SELECT next_id(1, 'g')));
	ask($writer, 'BEGIN; ALTER SEQUENCE g INCREMENT BY 1;');
	send_to($other, "BEGIN; $call");
	ok($node->poll_query_until('postgres', $waits), "$call waits for an open ALTER SEQUENCE");
	ask($writer, 'ROLLBACK;');
	is(answer($other), 't', 'and then returns');
	is(ask($writer, q(SET lock_timeout = '3min'; ALTER SEQUENCE g CACHE 2; SELECT next_id(1, 'g') > 0;)), 't', 'no ALTER SEQUENCE waits for it');
	ask($other, 'ROLLBACK;');
}

# Sessions that poll, each stopped at any point while ALTER SEQUENCE replaces the storage: no error, and no decrease.
query(q(SELECT next_id(1, 'k')));
my @pollers = map { open_session($node) } 1, 2;
my @stopped = map { ask($_, 'SELECT pg_backend_pid();') } @pollers;
for (@pollers)
{
	$_->{out} = '';
	$_->{in} .= <<'SQL';
DO $$
DECLARE
	b bigint;
	last bigint := 0;
BEGIN
	LOOP
		BEGIN
			LOOP
				b := settled_below('k');
				ASSERT b >= last, 'decreased';
				last := b;
				PERFORM last_ts FROM id_generator_status('k');
			END LOOP;
		EXCEPTION WHEN object_not_in_prerequisite_state THEN
			NULL;
		END;
	END LOOP;
END $$;
SQL
	$_->{psql}->pump_nb;
}
my $pids = join ', ', @stopped;
my $poll = "SELECT count(*) = 2 FROM pg_stat_activity WHERE pid IN ($pids) AND state = 'active' AND query LIKE 'DO%'";
$node->poll_query_until('postgres', $poll) or die;
for my $n (1 .. rounds(100, 1000))
{
	kill STOP => @stopped;
	$writer->{in} .= "ALTER SEQUENCE k INCREMENT BY 1;\n";
	$writer->{psql}->pump_nb;
	usleep 1000 * ($n % 10);
	kill CONT => @stopped;
	ask($writer, q(SELECT next_id(1, 'k');));
}
query("SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[$pids]) pid");
for (@pollers)
{
	$_->{guard}->start;
	$_->{psql}->pump until $_->{out} =~ /ERROR|FATAL/;
	like($_->{out}, qr/^FATAL:  terminating connection/, 'a session that polls while ALTER SEQUENCE replaces the storage sees no error');
	eval { close_session($_) };
}

close_session($_) for $writer, $other;

# What settled_below has returned outlives a crash: the position is ahead by a setval, and no commit has flushed its WAL.
my $mover = open_session($node);
my $b = ask($mover, <<'SQL');
BEGIN;
SELECT FROM setval('g', (id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10);
SELECT settled_below('g');
SQL
kill_node($node);
eval { close_session($mover) };
start_again($node);
cmp_ok(query(q(SELECT next_id(0, 'g'))), '>=', $b, 'after a crash ids are above what was returned');

$node->stop;
done_testing();
