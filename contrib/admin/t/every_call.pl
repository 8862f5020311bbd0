# Every function of shardid_admin, called with every boundary of every argument type: a result, or an SQLSTATE that
# docs/reference.md lists for the function; as t/generator/every_call.pl has it for those of shardid.
use EveryCall;
use ShardidTest;

check_extension('shardid_admin');
done_testing();
