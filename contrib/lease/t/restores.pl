# A dump has all rows of leases, of members and of registries, but no window; whatever its restore lacks (roles,
# privileges, a sequence, a schema), they arrive; and on the restored server no leased sequence generates an id until
# it has its lease again or is released. When the original's lease is over, the restored server takes it over.
use Leases;
use ShardidTest;

my $registry = new_registry('registry');
$registry->safe_psql('postgres', <<'SQL');
CREATE ROLE registrar;
GRANT EXECUTE ON FUNCTION shardid_lease.create_id_space TO registrar;
SET ROLE registrar;
SELECT shardid_lease.create_id_space('orders', lease => '10 min');
RESET ROLE;
CREATE ROLE leaver LOGIN PASSWORD 'of the leaver';
GRANT member TO leaver;
GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards, shardid_lease.receipts TO leaver;
SQL
my $original = new_node('original', "autovacuum = off\nshardid_lease.timeout = '3s'\n");
connect_to_registry($original, $registry);
$original->safe_psql('postgres', 'CREATE SCHEMA "Odd schema" AUTHORIZATION app');
my @generators = ('ids', 'left_out', '"Odd schema"."Odd seq"', 'renamed');
lease($original, 'orders', $_) for @generators;
$original->safe_psql('postgres', 'ALTER SEQUENCE renamed RENAME TO new_name');
$generators[3] = 'new_name';
draw_one($original, $_) for @generators;
my $rows = $original->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.leased_generator');
is($rows, 4, 'four leases');
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('brief', lease => '4 s')));
my $brief = lease($original, 'brief', 'brief', shard => 9);
lease($original, 'orders', 'given_back');
draw_one($original, 'given_back');
$original->safe_psql('postgres', q(SET ROLE app; SELECT shardid_lease.release_shard('given_back')));
$rows += 2;

my $dir = PostgreSQL::Test::Utils::tempdir();
my $restored = new_node('restored', "autovacuum = off\nshardid_lease.timeout = '1s'\n");
$restored->safe_psql('postgres', 'DROP EXTENSION shardid');

# The server has no role "app": statements that need it fail, and the restore continues.
sub restore_to
{
	my ($dbname, $dump, @restores) = @_;
	$restored->safe_psql('postgres', "CREATE DATABASE $dbname");
	system_or_bail(@$dump);
	IPC::Run::run([ @$_[ 0 .. 0 ], '-h', $restored->host, '-p', $restored->port, '-d', $dbname, @$_[ 1 .. $#$_ ] ],
		'>', \my $output, '2>', \my $error) for @restores;
	return;
}

sub refuses
{
	my ($dbname, $what, $generator) = @_;
	for my $call ("next_id(generator => '$generator')", "next_id(1, '$generator')", "next_ids(1, 10, '$generator')")
	{
		like(error_of($restored, $dbname, "SELECT $call"), qr/ERROR:  55000: /, "$what: $call is refused");
	}
	return;
}

sub dump_to { return [ 'pg_dump', '-f', "$dir/$_[0]", @_[ 1 .. $#_ ], $original->connstr('postgres') ] }
my %ways = (
	no_owner => [ dump_to('no_owner', '-Fc'), [ 'pg_restore', '--no-owner', '--no-acl', "$dir/no_owner" ] ],
	errors_ignored => [ dump_to('errors_ignored'), [ 'psql', '-qX', '-f', "$dir/errors_ignored" ] ],
	no_sequence => [ dump_to('no_sequence', '-Fc', '-T', 'left_out'), [ 'pg_restore', '--no-owner', "$dir/no_sequence" ] ],
	no_schema => [ dump_to('no_schema', '-Fc', '-N', '"Odd schema"'), [ 'pg_restore', '--no-owner', "$dir/no_schema" ] ],
	sections => [ dump_to('sections', '-Fc'), map { [ 'pg_restore', "--section=$_", "$dir/sections" ] } qw(pre-data data post-data) ],
	parallel => [ dump_to('parallel', '-Fd', '-j', '2'), [ 'pg_restore', '-j', '2', "$dir/parallel" ] ],
	inserts_twice => [ dump_to('inserts_twice', '--inserts', '--clean', '--if-exists'), ([ 'psql', '-qX', '-f', "$dir/inserts_twice" ]) x 2 ],
	one_schema => [
		dump_to('one_schema', '-n', 'public', '-e', 'shardid_lease'),
		[ 'psql', '-qX', '-c', 'CREATE EXTENSION shardid_lease CASCADE' ],
		[ 'psql', '-qX', '-f', "$dir/one_schema" ] ]);
for my $way (sort keys %ways)
{
	restore_to($way, @{ $ways{$way} });
	is($restored->safe_psql($way, 'SELECT count(*) FROM shardid_lease.leased_generator'), $rows, "$way: all rows arrive");
	my @arrived = grep { $restored->safe_psql($way, "SELECT to_regclass('$_')") } @generators;
	cmp_ok(scalar @arrived, '>=', 3, "$way: @arrived");
	refuses($way, $way, $_) for @arrived, 'given_back';
}

# A sequence that is created, renamed or given to another owner after the restore is found by its row.
$restored->safe_psql('no_sequence', 'CREATE SEQUENCE left_out');
refuses('no_sequence', 'a sequence made by hand', 'left_out');
restore_to('changed', @{ $ways{no_owner} });
$restored->safe_psql('changed', 'CREATE ROLE another; ALTER SEQUENCE ids OWNER TO another; ALTER SEQUENCE ids RENAME TO other_ids');
refuses('changed', 'a sequence named and owned anew', 'other_ids');
$restored->safe_psql('changed', 'ALTER SEQUENCE other_ids RENAME TO ids');
is($restored->safe_psql('changed', 'SELECT count(*) FROM shardid_lease.shard_leases WHERE generator::text = \'ids\''),
	1, 'until it has its name back');
refuses('changed', 'by its name', 'ids');
$restored->safe_psql('changed', 'ALTER SEQUENCE ids RENAME TO other_ids');
is($restored->safe_psql('changed', 'SELECT count(*) FROM shardid_lease.shard_leases WHERE generator::text = \'other_ids\''),
	1, 'and from then on it is followed');
is($original->safe_psql('postgres', "SELECT id_shard(next_id(generator => '$generators[$_]'))"), $_, "the original goes on, shard $_") for 0 .. 3;

# --- The original is lost, with its last window: the shard is taken over when that is over, and only if one asks.

$restored->safe_psql('postgres', 'CREATE ROLE app LOGIN');
restore_to('complete', @{ $ways{inserts_twice} });
my ($before) = draw_from_all([ $original, 'postgres', 'brief' ]);
cmp_ok($before, '>', 0, "$before ids");
my $refused = sub { return error_of($restored, 'complete', "SELECT next_id(generator => 'brief')") };
like($refused->(), qr/(is|last) held by \S+, port @{[ $original->port ]}, database "postgres"/, 'the original has the lease, or had it until now');
wait_for_end($registry, 'postgres', 'brief', $brief);
my $until = $registry->safe_psql('postgres', q(SELECT until FROM shardid_lease.id_space_shards WHERE space = 'brief'));
like($refused->(), qr/expired lease, last held by .*take_over_shard/s, 'nor by itself when it is over');
is($restored->safe_psql('complete', q(SET shardid_lease.timeout = '3min'; SET ROLE app; SELECT shardid_lease.take_over_shard('brief'))), $brief, 'it is told to, and is granted the shard');
my $first = draw_one($restored, 'brief', dbname => 'complete');
is($restored->safe_psql('complete', "SELECT id_timestamp($first) >= '$until'"), 't', 'its ids begin at the end of that window');
like(draw_one($original, 'brief'), qr/(?:is|last) held by \S+, port @{[ $restored->port ]}, database "complete"/, 'the original, back, has lost its shard');

# --- The registry, one role of which is dropped, and another one renamed.

$original->safe_psql('postgres', "ALTER USER MAPPING FOR app SERVER registry OPTIONS (SET user 'leaver', SET password 'of the leaver')");
is(lease($original, 'orders', 'of_leaver'), 4, 'a lease of a role that leaves');
my $leaver = $registry->safe_psql('postgres', q(SELECT 'leaver'::regrole::oid));
$registry->safe_psql('postgres', 'DROP OWNED BY leaver; DROP ROLE leaver; ALTER ROLE member RENAME TO tenant');
is($registry->safe_psql('postgres', "SELECT count(*), string_agg(DISTINCT role::text, ' ' ORDER BY role::text) FROM shardid_lease.id_space_shards"),
	"6|$leaver tenant", 'a role that is gone is shown as its number, and one that was renamed by its name');
$restored->safe_psql('postgres', 'CREATE DATABASE registry; CREATE DATABASE registry_plain');
system_or_bail('pg_dump', '-Fc', '-f', "$dir/registry", $registry->connstr('postgres'));
IPC::Run::run([ 'pg_restore', '--no-owner', '--no-acl', '-d', $restored->connstr('registry'), "$dir/registry" ], '2>', \my $error);
system_or_bail('pg_dump', '-f', "$dir/registry_plain", $registry->connstr('postgres'));
IPC::Run::run([ 'psql', '-qX', '-d', $restored->connstr('registry_plain'), '-f', "$dir/registry_plain" ], '>', \my $output, '2>', \$error);
my $counts = 'SELECT (SELECT count(*) FROM shardid_lease.id_space), (SELECT count(*) FROM shardid_lease.granted_shard)';
is($restored->safe_psql($_, $counts), '2|6', "$_: all rows arrive without their roles") for 'registry', 'registry_plain';

# The rows of a role that does not exist here grant nothing, not even to a role with the same OID; a role of the same
# name gets them.
$restored->safe_psql('registry', 'CREATE ROLE registrar; SELECT shardid_lease.registry_was_restored()');
is($restored->safe_psql('registry', 'SELECT bool_and(not_before > 0) FROM shardid_lease.id_space'), 't', 'it is told that it was restored');
my $request = $registry->safe_psql('postgres', <<'SQL');
SELECT to_jsonb(g) || jsonb_build_object('started', 1, 'clock', floor(extract(epoch FROM now()) * 1000), 'takes_over', true, 'displaces', serial)
FROM shardid_lease.granted_shard g WHERE shard = 0 AND space = 'orders'
SQL
my $ask = "SELECT (shardid_lease.grant_shards(jsonb_build_array('$request'::jsonb))->0->>'ok')::boolean";
is($restored->safe_psql('registry', $ask), 'f', 'a row without its role: nothing is granted');
$restored->safe_psql('registry', 'CREATE ROLE tenant');
is($restored->safe_psql('registry', $ask), 't', 'with it: granted');

no_id_comes_twice('restores by halves');
$_->stop for $original, $restored, $registry;
done_testing();
