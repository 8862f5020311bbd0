# From the portable functions to the extension and back, under load: no id is repeated, all increase, and objects that
# use the functions stay. And a dump of a database with them.
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $node = new_portable_node('moves');
sub query { return $node->safe_psql('portable', $_[0]) }

sub run_script
{
	my ($name) = @_;
	return run_log([ 'psql', '-Xq', '-v', 'AUTOCOMMIT=off', '-d', $node->connstr('portable') . ' user=ids_owner', '-f', "contrib/portable/$name.sql" ]);
}

query(<<'SQL');
GRANT CREATE ON DATABASE portable TO ids_owner;
SET ROLE ids_owner;
CREATE SEQUENCE orders_id_seq;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5) CHECK (id_shard(id) = 5));
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT next_id(5, 'orders_id_seq'), made timestamptz GENERATED ALWAYS AS (id_timestamp(id)) STORED);
CREATE INDEX photos_ts ON photos (id_timestamp(id));
CREATE VIEW newest AS SELECT id, ts FROM photos, id_parts(id) ORDER BY id DESC LIMIT 1;
SQL

# A generator that is being switched back refuses.
my @allowed = (dbname => 'portable', tolerate => '55000');

sub start_load
{
	return {
		photos => [
			start_clients($node, 3, 'INSERT INTO photos DEFAULT VALUES RETURNING id', @allowed),
			start_clients($node, 2, 'INSERT INTO photos SELECT FROM generate_series(1, 100) RETURNING id', @allowed)
		],
		orders => [
			start_clients($node, 2, [ 'BEGIN', 'INSERT INTO orders DEFAULT VALUES RETURNING id', 'COMMIT' ],
				dbname => 'portable', tolerate => '55000,25P02'),
			start_clients($node, 2, q{SELECT next_ids(5, 300, 'orders_id_seq')}, @allowed)
		]
	};
}

sub is_the_extensions
{
	return query(q(SELECT prosrc = '' AND pg_get_functiondef(oid) LIKE '%shardid.next_id%' FROM pg_proc
		WHERE proname = 'next_id' AND pronamespace = 'ids'::regnamespace AND pronargs = 5));
}

sub goes_on
{
	my $drawn = query('SELECT count(*) FROM photos');
	return ok($node->poll_query_until('portable', "SELECT count(*) > $drawn FROM photos"), 'which goes on drawing');
}

my %all = (photos => [], orders => []);
for my $round (1 .. rounds(1, 10))
{
	my $load = start_load();
	goes_on();
	ok(run_script('to_extension'), 'to the extension, under load');
	is(is_the_extensions(), 't', 'next_id is the extension\'s');
	goes_on();
	ok(run_script('from_extension'), 'and back, under load');
	is(is_the_extensions(), 'f', 'next_id is the portable one');
	goes_on();
	for my $table (sort keys %$load)
	{
		finish_clients($_, 'stop') for @{ $load->{$table} };
		push @{ $all{$table} }, @{ $load->{$table} };
	}
}
for my $table (sort keys %all)
{
	is_innocent(judge_clients($all{$table}, lead_ms => -1), "portable to extension and back: $table", rounds(1, 10));
}
is(query('SELECT count(*) FROM photos WHERE id_shard(id) <> 5'), 0, 'the check holds');
like(query('SET enable_seqscan = off; SET enable_bitmapscan = off; EXPLAIN SELECT * FROM photos WHERE id_timestamp(id) > now()'),
	qr/photos_ts/, 'an index on a function is one still');

# A role with USAGE alone, which is enough for the extension, must be granted UPDATE before the way back.
query(<<'SQL');
CREATE ROLE app;
SET ROLE ids_owner;
GRANT USAGE ON SEQUENCE orders_id_seq TO app;
SQL
ok(run_script('to_extension'), 'to the extension');
$node->command_fails_like([ 'psql', '-Xq', '-d', $node->connstr('portable') . ' user=ids_owner', '-f', 'contrib/portable/from_extension.sql' ],
	qr/HINT:  Run GRANT UPDATE ON SEQUENCE ids\.orders_id_seq TO app;$/m, 'not back before it may UPDATE');
query('GRANT UPDATE ON SEQUENCE orders_id_seq TO app');
ok(run_script('from_extension'), 'back');

# The extension and the portable functions never draw at the same time: the way back waits for statements that are
# planned with the extension, and until they end all draws are refused.
ok(run_script('to_extension'), 'to the extension');
my $late = q(SELECT next_id(5, 'orders_id_seq') FROM generate_series(1, 1) WHERE pg_advisory_lock_shared(7) IS NOT NULL);
my $gate = $node->background_psql('portable');
$gate->query_safe('SELECT pg_advisory_lock(7)');
my @psql = ('psql', '-XAtq', '-d', $node->connstr('portable'));
my $drawing = IPC::Run::start([ @psql, '-c', $late ], '>', \my $drawn, '2>&1');
my $runs = q(SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT next_id%advisory%');
$node->poll_query_until('portable', "$runs AND wait_event = 'advisory'") or die 'the late statement does not start';
my $going_back = IPC::Run::start([ @psql, '-U', 'ids_owner', '-f', 'contrib/portable/from_extension.sql' ], '>', \my $said, '2>&1');
$node->poll_query_until('portable', q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'DO %JOIN shardid_others%'))
  or die 'the way back does not begin';
my (undef, undef, $refused) = $node->psql('portable', q(SELECT next_id(5, 'orders_id_seq')));
like($refused, qr/sequence "ids.orders_id_seq" has CYCLE/, 'until the way back has ended, nobody draws');
is(query($runs), 't', 'while a statement runs that was planned with the extension');
$gate->query_safe('SELECT pg_advisory_unlock(7)');
$gate->quit;
$going_back->finish;
is(query($runs), 'f', 'which is not before it has ended');
$drawing->finish;
like($drawn, qr/sequence "ids.orders_id_seq" has CYCLE/, 'those are refused');
like(query(q(SELECT next_id(5, 'orders_id_seq'))), qr/^\d+$/, 'then all draw again');

# A dump contains the functions, the marks and each generator's position, which prevents duplicates, even if the clock is
# behind: here the generator was ahead of it.
query(q(SELECT raise_generator('shardid_seq', id_lower_bound(now() + interval '1 hour'))));
my $last = query('INSERT INTO photos DEFAULT VALUES RETURNING id');
my $file = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
run_log([ 'pg_dump', '-f', $file, $node->connstr('portable') ]) or die 'pg_dump';
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ qw(psql -Xq -v ON_ERROR_STOP=1 -f), $file, $node->connstr('restored') ], 'restored');
cmp_ok($node->safe_psql('restored', 'INSERT INTO ids.photos DEFAULT VALUES RETURNING id'), '>', $last, 'ids go on');
cmp_ok($node->safe_psql('restored', 'SELECT id FROM ids.newest'), '>', $last, 'a view works');

# Refused: to load the functions into the extension's schema, and to switch without them.
$node->safe_psql('postgres', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
my $load = [ 'psql', '-Xq', '-d', $node->connstr('postgres') . ' options=-csearch_path=ids' ];
$node->command_fails_like([ @$load, '-f', 'contrib/portable/shardid.sql' ], qr/the extension shardid is in schema "ids"/, 'not beside the extension');
$node->command_fails_like([ @$load, '-f', 'contrib/portable/to_extension.sql' ], qr/schema ids has no portable functions/, 'nothing to move');

$node->stop;
done_testing();
