# A role without a lease that may connect and create temporary tables starts no worker, whatever function of the
# extension it calls; a role that owns sequences but no lease changes no row of leases; and an open transaction that
# requests a shard from a registry does not block other requests.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use ShardidTest;

my $node = new_node('node', "log_min_messages = debug1\nshardid.lease_timeout = '2s'\n");
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN;' . registry_here('owner') . <<'SQL');
SELECT shardid_lease.create_id_space('ids', lease => '10 min');
CREATE ROLE stranger LOGIN;
GRANT CREATE ON SCHEMA public TO owner;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO owner;
SET ROLE owner;
CREATE SEQUENCE leased;
SELECT shardid_lease.lease_shard('ids', 'here', generator => 'leased');
SELECT next_id(generator => 'leased');
SQL
sub query { return $node->safe_psql('postgres', $_[0]) }

# The calls of all functions that this role may execute, each with every argument that is listed for its type.
my %tried = (
	regclass => [ "'pg_temp.mine'", "'leased'", "'shardid_seq'", "'mine'", 'NULL' ],
	oid => [ "'pg_temp.mine'::regclass", "'leased'::regclass", 'NULL' ],
	text => [ "'ids'", "''", 'NULL' ], name => [ "'here'", 'NULL' ], integer => [ '0', 'NULL' ], bigint => [ '0', 'NULL' ],
	boolean => ['true'], jsonb => [ "'[]'", "'{}'", q('[{"space": "ids", "joins": true}]') ]);

sub calls_of
{
	my ($role) = @_;
	my @functions = split /\n/, query(<<SQL);
SELECT p.oid::regproc || ' ' || coalesce((SELECT string_agg(replace(format_type(t, NULL), ' ', '_'), ' ' ORDER BY n)
                                          FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a(t, n)), '')
FROM pg_proc p
WHERE pronamespace = 'shardid_lease'::regnamespace AND prokind = 'f' AND prorettype <> 'trigger'::regtype
    AND has_function_privilege('$role', p.oid, 'EXECUTE')
    AND NOT EXISTS (SELECT FROM pg_type y WHERE p.oid IN (y.typinput, y.typoutput))
ORDER BY 1
SQL
	my @calls;
	for (@functions)
	{
		my ($function, @types) = split / /;
		my @arguments = ([]);
		for my $type (@types)
		{
			my $values = $tried{$type} // ['NULL'];
			@arguments = map { my $list = $_; map { [ @$list, "$_\::" . $type =~ tr/_/ /r ] } @$values } @arguments;
		}
		push @calls, map { "SELECT $function(" . join(', ', @$_) . ')' } @arguments;
	}
	return @calls;
}

# The rows of all tables, without what the lease's holder changes by renewals.
sub rows
{
	return query(<<'SQL');
SELECT jsonb_agg(to_jsonb(l)) FROM shardid_lease.leased_generator l WHERE state <> 'joining'
UNION ALL SELECT jsonb_agg(to_jsonb(g)) FROM shardid_lease.granted_shard g
UNION ALL SELECT jsonb_agg(to_jsonb(s)) FROM shardid_lease.id_space s
UNION ALL SELECT jsonb_agg(to_jsonb(w)) FROM shardid_lease.lease_window w JOIN shardid_lease.leased_generator USING (origin) WHERE state <> 'joining'
SQL
}

sub call_all
{
	my ($role, $setup) = @_;
	my @calls = calls_of($role);
	cmp_ok(scalar @calls, '>', 5, "$role: " . @calls . ' calls');
	my $sql = join '', "SET statement_timeout = '20s'; SET shardid.lease_timeout = 0;\n", $setup, map { "$_;\n" } @calls;
	$node->psql('postgres', $sql, extra_params => [ '-U', $role ], on_error_stop => 0, timeout => 180);
	return;
}

my ($workers, $rows) = (worker_starts($node), rows());
call_all('stranger', "CREATE TEMP SEQUENCE mine;\n");
is(worker_starts($node), $workers, 'one who has no lease starts no worker');
is(rows(), $rows, 'and changes no row');
is(query(q(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'shardid lease')), 0, 'none is left');

# A role that owns a sequence: its renewals, releases and takeovers change nothing.
query('CREATE ROLE maker LOGIN; GRANT CREATE ON SCHEMA public TO maker');
call_all('maker', "CREATE SEQUENCE mine;\nSELECT next_id(3, 'mine');\n");
is(rows(), $rows, 'an owner of sequences who is granted no shard changes no row');
is(query(q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state <> 'joining')), 1, 'there is one lease as before');
like(error_of($node, 'postgres', q(SELECT next_id(generator => 'leased')), role => 'owner'), qr/no error/, 'which goes on');

# The owner of a lease cannot change its window: there are no internal functions to call.
my $window = query('SELECT from_ms, until_ms FROM shardid_lease.lease_window');
for my $internal (split /\n/, query(q(SELECT oid::regproc FROM pg_proc WHERE pronamespace = 'shardid_lease'::regnamespace
	AND proname IN ('join_id_space', 'lease_request', 'lock_for_lease', 'registry_call', 'note_answers', 'requests_of', 'return_request', 'release_now'))))
{
	fail("$internal is still there");
}
is(query('SELECT from_ms, until_ms FROM shardid_lease.lease_window'), $window, 'the window is as it was');

# --- A registry: a transaction requests a shard and stays open.

my $request = q({"space": "ids", "origin": "%s", "incarnation": "i", "place": "p", "started": 1, "joins": true,
	"host": "h", "port": 1, "database": "d", "system_identifier": "s", "timeline": 1});
sub ask_by_hand { return sprintf "SELECT shardid_lease.grant_shards(jsonb_build_array('$request'::jsonb || jsonb_build_object('clock', floor(extract(epoch FROM clock_timestamp()) * 1000)%s)))->0->>'%s'", @_ }
my $open = $node->background_psql('postgres', on_error_die => 1, extra_params => [ '-U', 'owner' ]);
is($open->query_safe('BEGIN; ' . ask_by_hand('first', '', 'shard')), 1, 'a transaction that is granted a shard and stays open');
my $settings = "SET statement_timeout = '20s';";
is($node->safe_psql('postgres', $settings . ask_by_hand('second', '', 'shard')), 2, 'others are granted the next one meanwhile');
like($node->safe_psql('postgres', $settings . ask_by_hand('third', ", 'shard', 1", 'error')), qr/is being granted to another generator/,
	'and are told at once of the one that it has asked for');
$open->query_safe('ROLLBACK');
$open->quit;
is($node->safe_psql('postgres', ask_by_hand('third', ", 'shard', 1", 'shard')), 1, 'which is free when it has not committed');

$node->stop;
done_testing();
