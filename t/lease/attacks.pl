# Attacks on a lease and on the background worker, which is a superuser: a window of an earlier lease, a schema that
# another role owns, rows and locks of other roles' shards, settings of the database, a registry that answers nonsense.
use strict;
use warnings;
use lib 't/lib';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ShardidTest;
use Test::More;
use Leases 'registry_here';

my $node = new_node('attacked', <<'CONF');
log_min_messages = info
CONF

# psql's parameters to connect as this role, by default the superuser.
sub as_role { return [ map { ('-U', $_) } grep { defined } @_ ] }

sub query
{
	my ($sql, %params) = @_;
	return $node->safe_psql($params{db} // 'postgres', $sql,
		extra_params => as_role($params{role}));
}

# The error's SQLSTATE and message, or "none".
sub error_of
{
	my ($sql, %params) = @_;
	my ($code, $stdout, $stderr) = $node->psql(
		$params{db} // 'postgres', "\\set VERBOSITY verbose\n$sql",
		extra_params => as_role($params{role}));
	return $stderr =~ /ERROR:\s+(\w+: .*)/ ? $1 : 'none';
}

query('CREATE ROLE member LOGIN; CREATE ROLE other LOGIN;' . registry_here('member') . <<'SQL');
SELECT shardid_lease.create_id_space('orders', lease => '2 s', max_ahead => '20 s');
GRANT CREATE ON SCHEMA public TO member, other;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards(jsonb), shardid_lease.receipts(jsonb) TO member, other;
SQL

# Generator "ahead" had shard 2 until 1.5 s ahead of the clock; meanwhile generator "behind" held another shard.
query(<<'SQL');
CREATE SEQUENCE behind;
CREATE SEQUENCE ahead;
CREATE TABLE ids (id bigint);
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'ahead', shard => 2);
SELECT raise_generator('ahead', next_id('ahead'::regclass) + (1500::bigint << 23));
INSERT INTO ids SELECT next_ids(2, 100000, 'ahead');
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'behind', shard => 1);
SELECT next_id('behind'::regclass);
SELECT shardid_lease.release_shard('behind');
SELECT shardid_lease.release_shard('ahead');
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'behind', shard => 2);
INSERT INTO ids SELECT next_id('behind'::regclass);
SQL
is(query('SELECT max(id) = (SELECT id FROM ids ORDER BY ctid DESC LIMIT 1) FROM ids'),
	't', 'a new lease does not begin in the window of the last one');

is(error_of(<<'SQL'), 'none', 'no release waits for a lease of the same transaction');
SET statement_timeout = '30s';
BEGIN;
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'behind', shard => 2);
SELECT shardid_lease.release_shard('behind');
SQL

# The registry's rows.
query(<<'SQL', role => 'member');
CREATE SEQUENCE held;
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'held', shard => 7);
SQL
my $request = q(jsonb_build_object('space', 'orders', 'shard', %d, 'origin', 'o', 'place', 'p', 'incarnation', 'i', 'joins', true, 'started', 1,
	'host', 'h', 'port', 1, 'database', 'd', 'system_identifier', 's', 'timeline', 1, 'tick', %s::bigint, 'clock', floor(extract(epoch FROM clock_timestamp()) * 1000)));
my $session = $node->background_psql('postgres', on_error_die => 1, extra_params => [ '-U', 'other' ]);
my $refused = $session->query_safe('BEGIN; SELECT shardid_lease.grant_shards(jsonb_build_array(' . sprintf($request, 7, 0) . '))');
like($refused, qr/is held by .*role member/, 'what another role holds is refused');
is(error_of(<<'SQL', role => 'member'),
SET shardid.lease_timeout = '10s';
SELECT shardid_lease.renew_leases();
SELECT pg_sleep(2.5);
SELECT next_id('public.held'::regclass);
SQL
	'none', 'who is refused does not keep the holder from its row');
$session->query_safe('ROLLBACK');
$session->quit;

query('SELECT shardid_lease.grant_shards(jsonb_build_array(' . sprintf($request, 9, 0) . '))', role => 'other');
query('SELECT shardid_lease.grant_shards(jsonb_build_array(' . sprintf($request, 9, '4611686018427387904') . q{ || '{"returns": true}'))},
	role => 'other');
cmp_ok(query("SELECT until - now() < '1 min' FROM shardid_lease.id_space_shards WHERE shard = 9"),
	'eq', 't', 'a shard is given back no later than any window ends');

# The worker's schema.
query('CREATE ROLE planter LOGIN; CREATE DATABASE planted OWNER planter; CREATE DATABASE shared');
query('CREATE SCHEMA shardid_lease', db => 'planted', role => 'planter');
like(error_of('CREATE EXTENSION shardid_lease CASCADE', db => 'planted'),
	qr/^55000: schema "shardid_lease" is not the extension's own/, "somebody's schema is refused");
query('CREATE SCHEMA shardid_lease; GRANT CREATE ON SCHEMA shardid_lease TO planter', db => 'shared');
like(error_of('CREATE EXTENSION shardid_lease CASCADE', db => 'shared'),
	qr/^55000: schema "shardid_lease" is not the extension's own/, 'so is one in which others can make functions');
query('REVOKE CREATE ON SCHEMA shardid_lease FROM planter', db => 'shared');
is(error_of('CREATE EXTENSION shardid_lease CASCADE', db => 'shared'), 'none', 'and an empty one of a superuser is not');

# The database's settings.
query("ALTER DATABASE shared OWNER TO planter");
query(registry_here() . <<'SQL', db => 'shared');
SELECT shardid_lease.create_id_space('orders');
CREATE SEQUENCE g;
SELECT shardid_lease.lease_shard('orders', 'here', generator => 'g');
SQL
query("ALTER DATABASE shared SET role = planter; ALTER DATABASE shared SET default_transaction_read_only = on",
	db => 'shared', role => 'planter');
is(error_of(q{SET role = none; SET default_transaction_read_only = off; SELECT next_id('g'::regclass)}, db => 'shared'),
	'none', 'the worker is itself whatever the database has set');

# An id space that was dropped and created anew, with another layout.
query(<<'SQL');
SELECT shardid_lease.create_id_space('short', lease => '1 s', max_ahead => '1 s', reclaim_after => '1 s');
CREATE SEQUENCE short;
SELECT shardid_lease.lease_shard('short', 'here', generator => 'short');
SELECT pg_sleep(2.2);
SELECT shardid_lease.drop_id_space('short');
SELECT shardid_lease.create_id_space('short', shard_bits => 10);
SQL
like(error_of(q{SELECT next_id('short'::regclass)}), qr/^55000: .*no lease of shard/, 'an id space that was made anew grants nothing');
like(query(q{SELECT error FROM shardid_lease.shard_leases WHERE generator = 'short'::regclass}), qr/is another one/, 'and it is said why');
query(q{UPDATE shardid_lease.registry_confirmation c SET identity = l.registry
	FROM shardid_lease.id_space s JOIN shardid_lease.leased_generator l ON l.space = s.name WHERE s.name = 'short' AND c.identity = s.identity;
	UPDATE shardid_lease.id_space s SET identity = l.registry FROM shardid_lease.leased_generator l WHERE l.space = 'short' AND s.name = 'short';
	UPDATE shardid_lease.lease_window SET receipt = NULL});
unlike(error_of(q{SELECT shardid_lease.take_over_shard('short')}), qr/none/, 'nor is one of another layout taken over');
like(query(q{SELECT error FROM shardid_lease.shard_leases WHERE generator = 'short'::regclass}), qr/layout/, 'and it is said why');

$node->stop;
unlike(slurp_file($node->logfile), qr/background worker "shardid lease".*exit code 1/, 'no worker ended in an error');

done_testing();
