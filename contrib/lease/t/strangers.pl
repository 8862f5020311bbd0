# A role without a lease that may connect and create temporary tables starts no worker, whatever function of the
# extension it calls; a role that owns sequences but no lease changes no row of leases, and keeps no holder from its
# registry; the background worker, which is a superuser, is itself whatever the database's owner has set; and an id space
# that was made anew with another layout grants nothing to leases of before.
use Leases;
use ShardidTest;

my $node = new_node('node', "log_min_messages = debug1\n");
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

# Some run as the extension's owner, and one of them tells passwords to the library.
is(query(<<'SQL'), '', 'what runs as the owner is for no stranger, and PL/pgSQL finds what it names in pg_catalog only');
SELECT string_agg(p.oid::regprocedure::text, ' ')
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'shardid_lease'::regnamespace
    AND (p.prosecdef AND has_function_privilege('stranger', p.oid, 'EXECUTE')
        OR (p.prosecdef OR l.lanname = 'plpgsql')
            AND (p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp']) IS NOT TRUE)
SQL

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
	my $sql = join '', "SET statement_timeout = '60s'; SET shardid_lease.timeout = 0;\n", $setup, map { "$_;\n" } @calls;
	$node->psql('postgres', $sql, extra_params => [ '-U', $role ], on_error_stop => 0, timeout => 900);
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

# --- A request that is refused, in a transaction that stays open, does not keep the holder from its row.

my $held = query(q(SELECT shard FROM shardid_lease.shard_leases WHERE state <> 'joining'));
my $open = $node->background_psql('postgres', on_error_die => 1, extra_params => [ '-U', 'maker' ]);
query('GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO maker');
like($open->query_safe(<<SQL), qr/is held by .*role owner/, 'what another role holds is refused');
BEGIN; SELECT shardid_lease.grant_shards(jsonb_build_array(jsonb_build_object('space', 'ids', 'shard', $held, 'origin', 'o', 'incarnation', 'i',
	'place', 'p', 'started', 1, 'joins', true, 'host', 'h', 'port', 1, 'database', 'd',
	'clock', floor(extract(epoch FROM clock_timestamp()) * 1000))))
SQL
my $until = query('SELECT until FROM shardid_lease.shard_leases WHERE shard = ' . $held);
is(error_of($node, 'postgres', 'SELECT shardid_lease.renew_leases()', role => 'owner'), 'no error', 'meanwhile the holder renews');
cmp_ok(query('SELECT until FROM shardid_lease.shard_leases WHERE shard = ' . $held), 'gt', $until, 'and has a later window');
$open->query_safe('ROLLBACK');
$open->quit;

# --- The database's owner and its settings.

query('CREATE DATABASE set_up OWNER maker');
$node->safe_psql('set_up', registry_here() . <<'SQL');
SELECT shardid_lease.create_id_space('orders');
CREATE SEQUENCE g;
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'g');
ALTER DATABASE set_up SET role = maker; ALTER DATABASE set_up SET default_transaction_read_only = on;
SQL
is(error_of($node, 'set_up', q(SET role = none; SET default_transaction_read_only = off; SELECT next_id('g'::regclass))), 'no error',
	'the worker is itself whatever the database has set');

# --- Another id space of the name, with another layout.

query(<<'SQL');
SELECT shardid_lease.create_id_space('short');
CREATE SEQUENCE short;
SELECT shardid_lease.lease_shard('short', 'here', generator => 'short'), setval('short', 1);
UPDATE shardid_lease.id_space SET shard_bits = 10 WHERE name = 'short';
UPDATE shardid_lease.lease_window SET receipt = NULL;
SQL
isnt(error_of($node, 'postgres', q(SELECT shardid_lease.take_over_shard('short'))), 'no error', 'a lease of another layout is not taken over');
like(query(q(SELECT error FROM shardid_lease.shard_leases WHERE generator = 'short'::regclass)), qr/layout/, 'and it is said why');

$node->stop;
unlike(slurp_file($node->logfile), qr/background worker "shardid lease".*exit code 1/, 'no worker ended in an error');
done_testing();
