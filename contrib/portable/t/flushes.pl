# A commit flushes the WAL that covers the ids of contrib/portable/shardid.sql: also if that WAL is of another transaction,
# which has not ended. The clock of contrib/portable/t/lib/Steps.pm stands still, so that both generate ids in one millisecond.
use ShardidTest;
use Steps;

# The WAL writer must not help.
start_steps('flushes', 'wal_writer_delay = 10s');

sub flushes
{
	my ($name, $call, $before) = @_;
	is(query(<<"SQL"), 't', "flushed by a commit: $name");
@{[ $before // '' ]}
SELECT steps.dblink_connect('open', \$connection\$$connection\$connection\$), steps.dblink_exec('open', 'BEGIN') \\g /dev/null
CALL steps.pass(1000);
SELECT FROM steps.dblink('open', 'SELECT next_id(5, ''g'') FROM generate_series(1, 3)') r (id bigint) \\g /dev/null
SELECT pg_current_wal_insert_lsn() AS needed \\gset
\\o /dev/null
$call;
\\o
SELECT pg_current_wal_flush_lsn() >= :'needed';
SQL
	return;
}
flushes('next_id', q{SELECT next_id(5, 'g')});
flushes('next_ids', q{SELECT next_ids(5, 3, 'g')});
flushes('a raise_generator that has nothing to raise', q{SELECT raise_generator('g', 5)});
flushes('next_id in a transaction with an xid and no WAL', q{BEGIN; SELECT pg_current_xact_id(); SELECT next_id(5, 'g'); COMMIT});
flushes('next_id after a write to a temporary table', q{BEGIN; INSERT INTO notes VALUES (1); SELECT next_id(5, 'g'); COMMIT},
	'CREATE TEMPORARY TABLE notes (id bigint);');

stop_steps();
done_testing();
