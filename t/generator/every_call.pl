# Every function of shardid, called with every boundary of every argument type: a result, or an SQLSTATE that docs/reference.md
# lists for the function, and no SQLSTATE listed that never comes. The functions come from pg_proc, so that a new one is covered
# as it is. Those of the other extensions are called in contrib/*/t/every_call.pl.
use EveryCall;
use ShardidTest;

check_extension('shardid');
done_testing();
