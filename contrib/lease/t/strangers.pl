# A role without a lease that may connect and create temporary tables starts no worker, whatever function of the
# extension it calls; and a role that owns sequences but no lease changes no row of leases. What only superusers may call
# does no harm either, whatever relation it is given and however a trigger is fired.
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

# Some run as the extension's owner, and one of them tells passwords to the library. A procedure that commits cannot have
# settings: the worker, which calls it, has them.
is(query(<<'SQL'), '', 'what runs as the owner is for no stranger, and PL/pgSQL finds what it names in pg_catalog only');
SELECT string_agg(p.oid::regprocedure::text, ' ')
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'shardid_lease'::regnamespace
    AND (p.prosecdef AND has_function_privilege('stranger', p.oid, 'EXECUTE')
        OR (p.prosecdef OR l.lanname = 'plpgsql' AND p.prokind = 'f')
            AND (p.proconfig @> ARRAY['search_path=pg_catalog, pg_temp']) IS NOT TRUE)
SQL

# Nor has anybody a right on what they create, as default privileges could give, or a way to be in the way of its DROP.
is(query(<<'SQL'), '', 'nothing with a name is created later');
SELECT string_agg(pg_describe_object(d.classid, d.objid, 0), ' ') FROM pg_depend d
WHERE d.refobjid = 'shardid_lease'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_depend e WHERE (e.classid, e.objid, e.deptype) = (d.classid, d.objid, 'e'))
SQL

# The calls of all functions that this role may execute, each with NULL and every argument that is listed for its type.
sub calls_of
{
	my ($role) = @_;
	return split /\n/, query(<<SQL);
WITH RECURSIVE tried (type, value) AS (
    SELECT type, value FROM unnest('{regclass,oid}'::regtype[]) type, unnest('{pg_temp.mine,leased,shardid_seq,mine}'::text[]) value
    UNION ALL VALUES ('text'::regtype, 'ids'), ('text', ''), ('name', 'here'), ('integer', '0'), ('bigint', '0')
), calls AS (
    SELECT p.oid::regproc, proargtypes::oid[] AS types, 0 AS n, '{}'::text[] AS arguments
    FROM pg_proc p
    WHERE pronamespace = 'shardid_lease'::regnamespace AND prokind = 'f' AND prorettype <> 'trigger'::regtype
        AND has_function_privilege('$role', p.oid, 'EXECUTE')
        AND NOT EXISTS (SELECT FROM pg_type y WHERE p.oid IN (y.typinput, y.typoutput))
    UNION ALL
    SELECT oid, types, n + 1, arguments || format('%L::%s', value, CASE types[n] WHEN 'oid'::regtype THEN 'regclass' ELSE types[n]::regtype::text END)
    FROM calls, LATERAL (SELECT value FROM tried WHERE type = types[n] UNION ALL SELECT NULL) v
    WHERE n < cardinality(types)
)
SELECT format('SELECT %s(%s)', oid, array_to_string(arguments, ', ')) FROM calls WHERE n = cardinality(types) ORDER BY 1
SQL
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
	$node->psql('postgres', $sql, extra_params => [ '-U', $role ], on_error_stop => 0, timeout => $PostgreSQL::Test::Utils::timeout_default);
	return;
}

my ($workers, $rows) = (worker_starts($node), rows());
call_all('stranger', "CREATE TEMP SEQUENCE mine;\n");
is(worker_starts($node), $workers, 'one who has no lease starts no worker');
is(rows(), $rows, 'and changes no row');
is(workers_of($node), 0, 'none is left');

# A role that owns a sequence: its renewals, releases and takeovers change nothing.
query('CREATE ROLE maker LOGIN; GRANT CREATE ON SCHEMA public TO maker');
call_all('maker', "CREATE SEQUENCE mine;\nSELECT next_id(3, 'mine');\n");
is(rows(), $rows, 'an owner of sequences who is granted no shard changes no row');
is(query(q(SELECT count(*) FROM shardid_lease.shard_leases WHERE state <> 'joining')), 1, 'there is one lease as before');
like(error_of($node, 'postgres', q(SELECT next_id(generator => 'leased')), role => 'owner'), qr/no error/, 'which goes on');

is(query(<<'SQL'), '', 'no page is read but of sequences');
SELECT string_agg(oid::regclass::text, ' ') FROM pg_class
WHERE relkind <> 'S' AND ((shardid_lease.page_of(oid)).family IS NOT NULL OR shardid_lease.may_be_restored(oid) OR shardid_lease.is_own_family(oid, '') IS NOT NULL)
SQL
like(error_on($node, q(SELECT shardid_lease.renew_now('pg_class'))), qr/^42P01: /, 'nor is a lease sought');
query('CREATE SCHEMA other; CREATE TABLE other.leased_generator (n) AS SELECT 1; CREATE VIEW other.seen AS TABLE other.leased_generator');
for my $fired ('BEFORE INSERT ON leased_generator FOR EACH ROW', 'AFTER INSERT ON leased_generator FOR EACH ROW', 'INSTEAD OF INSERT ON seen FOR EACH ROW',
	map { my $event = $_; map { "$_ $event ON leased_generator FOR EACH STATEMENT" } qw(BEFORE AFTER) } qw(INSERT UPDATE DELETE TRUNCATE))
{
	my ($when, $change, $relation) = $fired =~ /(\w+) (?:OF )?(\w+) ON (\w+)/;
	my $sql = { INSERT => 'INSERT INTO %s VALUES (2)', UPDATE => 'UPDATE %s SET n = 3', DELETE => 'DELETE FROM %s', TRUNCATE => 'TRUNCATE %s' }->{$change};
	like(error_on($node, sprintf "SET search_path = other; BEGIN; CREATE TRIGGER t $fired EXECUTE FUNCTION shardid_lease.keep_own_rows(); $sql; ROLLBACK", $relation),
		$fired =~ /^BEFORE.*ROW/ ? qr/^none/ : qr/^39P01: /, $fired);
}

$node->stop;
unlike(slurp_file($node->logfile), qr/background worker "shardid lease".*exit code 1/, 'no worker ended in an error');
done_testing();
