# Each rule of settled_below, by sessions that are led step by step: what holds it back, for how long, and what of it a
# crash leaves.
use Settled;
use ShardidTest;

my $node = new_node('rules', "max_prepared_transactions = 10\nwal_writer_delay = 10s\nautovacuum = off\n");
create_tables($node);
sub query { return $node->safe_psql('postgres', $_[0]) }
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

# Transactions that are open, prepared, and ended; a restart keeps what is prepared.
my $id = ask($writer, 'BEGIN; INSERT INTO photos DEFAULT VALUES RETURNING id;');
held_back('g', $id, 'an open transaction');
passes('h', $id, 'a transaction that has generated ids of another generator');
ask($writer, q(PREPARE TRANSACTION 'kept';));
held_back('g', $id, 'a prepared transaction');
close_session($_) for $writer, $other;
$node->restart;
held_back('g', $id, 'a prepared transaction after a restart');
kill_node($node);
start_again($node);
held_back('g', $id, 'a prepared transaction after a crash');
query(q(COMMIT PREPARED 'kept'));
passes('g', $id, 'a transaction that has ended');
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
query(q(SELECT raise_generator('h', id_lower_bound(clock_timestamp() + interval '10 s'))));
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

# Nobody is waited for: an ALTER SEQUENCE that is open.
query(q(SELECT next_id(1, 'g')));
ask($writer, 'BEGIN; ALTER SEQUENCE g INCREMENT BY 1;');
like(error_on($node, q(SET statement_timeout = '5s'; SELECT settled_below('g') > 0)), qr/^none: t/, 'an open ALTER SEQUENCE is not waited for');
ask($writer, 'ROLLBACK;');

# Idle: the last row is delivered by the second poll.
for my $generator (qw(g h))
{
	$id = query("SELECT next_id(1, '$generator')");
	query('SELECT pg_sleep(0.002)');
	my $b = (split /\n/, query("SELECT settled_below('$generator'); SELECT pg_sleep(0.002); SELECT settled_below('$generator')"))[-1];
	cmp_ok($b, '>', $id, "idle $generator: its last id is below");
}
close_session($_) for $writer, $other;

# What settled_below has returned outlives a crash: the position is ahead by a setval whose WAL nothing else has flushed.
my $mover = open_session($node);
ask($mover, q(BEGIN; SELECT setval('g', (id_lower_bound(clock_timestamp() + interval '30 s') >> 23) << 10);));
my $b = query(q(SELECT settled_below('g')));
kill_node($node);
eval { close_session($mover) };
start_again($node);
cmp_ok(query(q(SELECT next_id(0, 'g'))), '>=', $b, 'after a crash ids are above what was returned');

$node->stop;
done_testing();
