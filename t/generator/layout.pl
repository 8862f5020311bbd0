# A generator's storage remembers the layout through crashes and a failover; a generator that raise_generator has moved
# stays there through a crash.
use ShardidTest;

# WAL reaches the disk only if a session flushes it.
my $node = new_node('layouts', <<'CONF', allows_streaming => 1);
wal_writer_delay = 10s
autovacuum = off
checkpoint_timeout = 1h
CONF

sub query { return $node->safe_psql($_[1] // 'postgres', $_[0]) }

# The SQLSTATE with which a draw in a layout ends, or "drawn".
sub drawing
{
	my ($generator, $bits, $dbname) = @_;
	my ($code, $stdout, $stderr) = $node->psql($dbname // 'postgres',
		"\\set VERBOSITY sqlstate\nSELECT next_id(1, '$generator', shard_bits => $bits)");
	return $code == 0 ? 'drawn' : $stderr =~ /ERROR:\s+(\w+)/ ? $1 : $stderr;
}

# Session 1 has drawn its first id and its transaction is open when the server is killed.
sub crash_after
{
	my ($sql) = @_;
	my $session = $node->background_psql('postgres', on_error_die => 1);
	$session->query_safe("BEGIN; $sql");
	$node->stop('immediate');
	eval { $session->quit };
	$node->start;
	return;
}

for my $checkpoint ('', 'CHECKPOINT;')
{
	my $when = $checkpoint ? 'after a checkpoint' : 'after its creation';
	query("DROP SEQUENCE IF EXISTS g; CREATE SEQUENCE g; $checkpoint");
	crash_after("SELECT next_id(1, 'g', shard_bits => 12)");
	is(drawing('g', 13), '55000', "crash $when: another layout is refused");
	is(drawing('g', 12), 'drawn', 'and its own goes on');
}

# Bound in one session, then used by another that has seen it without a binding; and after a checkpoint.
query('CREATE SEQUENCE seen');
my $other = $node->background_psql('postgres', on_error_stop => 0);
$other->query("SELECT last_value FROM seen; SELECT nextval('seen'); ALTER SEQUENCE seen RESTART");
is(drawing('seen', 12), 'drawn', 'bound by one session');
$other->query("SELECT next_id(1, 'seen') AS drawn");
is(query('SELECT count(*) FROM seen WHERE log_cnt < 0'), '1', 'and left alone by the other');
$other->quit;
query('CHECKPOINT');
is(drawing('seen', 13), '55000', 'nor by a third one after a checkpoint');

# Two sessions at once, each with a layout of its own: every generator is bound to one of the two.
query(<<'SQL');
DO $$ BEGIN FOR n IN 1 .. 300 LOOP EXECUTE format('CREATE SEQUENCE both_%s', n); END LOOP; END $$;
CREATE TABLE won (generator int, bits int);
SQL
my @rivals;
for my $bits (12, 13)
{
	push @rivals, IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', <<SQL ]);
DO \$\$
BEGIN
    FOR n IN 1 .. 300 LOOP
        BEGIN
            PERFORM next_id(1, ('both_' || n)::regclass, shard_bits => $bits);
            INSERT INTO won VALUES (n, $bits);
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
        END;
    END LOOP;
END
\$\$
SQL
}
$_->finish for @rivals;
is(query('SELECT count(*), count(DISTINCT generator) FROM won'), '300|300',
	'of two sessions that bind one generator each time one wins');

# A promoted standby.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
query("CREATE SEQUENCE on_standby");
is(drawing('on_standby', 12), 'drawn', 'bound on the primary');
$node->wait_for_catchup($standby);
$node->stop('immediate');
$standby->promote;
$node = $standby;
is(drawing('on_standby', 13), '55000', 'and known to the promoted standby');
is(drawing('on_standby', 12), 'drawn', 'which goes on with it');

# When raise_generator returns, the move is durable.
query('CREATE SEQUENCE raised; SELECT next_id(1, \'raised\'); CHECKPOINT');
my $future = query("SELECT id_lower_bound(clock_timestamp() + interval '10 minutes')");
crash_after("SELECT raise_generator('raised', $future)");
cmp_ok(query("SELECT next_id(0, 'raised')"), '>', $future, 'a crash does not undo raise_generator');
crash_after("SELECT raise_generator('raised', $future + (1::bigint << 40), shard_bits => 13)");
cmp_ok(query("SELECT next_id(0, 'raised')"), '>', $future + 2**40, 'nor a second one');
query('CREATE SEQUENCE fresh');
crash_after("SELECT raise_generator('fresh', $future, shard_bits => 13)");
cmp_ok(query("SELECT next_id(0, 'fresh')"), '>', $future, 'also not of a fresh sequence');

$node->stop;
done_testing();
