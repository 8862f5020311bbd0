# A dump has all rows of a member's leases, but no window; whatever its restore lacks (roles,
# privileges, a sequence, a schema), they arrive; and on the restored server no leased sequence generates an id until
# it has its lease again or is released. When the original is lost, the restored server takes its lease over.
use Leases;
use ShardidTest;

my $original = new_registry('original', { ids => "lease => '10 min'" }, "autovacuum = off\n");
connect_to_registry($original, $original, 'shop');
$original->safe_psql('shop', 'CREATE SCHEMA "Odd schema" AUTHORIZATION app');
my @generators = ('ids', 'left_out', '"Odd schema"."Odd seq"', 'renamed', 'given_back');
for my $n (0 .. $#generators)
{
	is(lease($original, 'ids', $generators[$n], dbname => 'shop'), $n, "a lease of shard $n");
	draw_one($original, $generators[$n], dbname => 'shop');
}
$original->safe_psql('shop', q(SELECT shardid_lease.release_shard('given_back'); ALTER SEQUENCE renamed RENAME TO new_name));
$generators[3] = 'new_name';

# Has no role "app" and no role "member": statements that need them fail, and the restore continues.
my $restored = new_node('restored', "autovacuum = off\nshardid_lease.timeout = '1s'\n");
my $dir = PostgreSQL::Test::Utils::tempdir();
sub on { return $restored->safe_psql($_[0], $_[1]) }

sub restore_to
{
	my ($dbname, $from, $dump, @restores) = @_;
	on('postgres', "CREATE DATABASE $dbname");
	my $run = sub { local @ENV{qw(PGHOST PGPORT)} = ($_[0]->host, $_[0]->port); return run_command([ 'sh', '-c', $_[1] ]) };
	my (undef, $error) = $run->($original, "pg_dump $dump -f $dir/$dbname $from");
	is($error, '', "$dbname: a dump");
	$run->($restored, "$_ $dir/$dbname") for map { s/^psql/psql -qX -d $dbname/r =~ s/^pg_restore/pg_restore -d $dbname/r } @restores;
	return;
}

# In three forms of the call, for each generator.
sub refuses
{
	my ($dbname, $what, @names) = @_;
	my $calls = join '', map { "SELECT next_id(generator => '$_'); SELECT next_id(1, '$_'); SELECT next_ids(1, 10, '$_');\n" } @names;
	my (undef, $ids, $errors) = $restored->psql($dbname, "\\set VERBOSITY sqlstate\nSET shardid_lease.timeout = 0;\n$calls", on_error_stop => 0);
	is($ids, '', "$dbname: $what: no id");
	is(scalar(() = $errors =~ /ERROR:  (?:55000|57P03)$/mg), 3 * @names, "$dbname: $what: each call is refused") or diag $errors;
	return;
}

my %ways = (
	no_owner => [ '-Fc', 'pg_restore --no-owner --no-acl' ],
	no_schema => [ q(-Fc -T left_out -N '"Odd schema"'), 'pg_restore' ],
	data_only => [ '-Fc', 'pg_restore --section=pre-data', 'pg_restore --data-only --disable-triggers' ],
	sections => [ '-Fd -j 2', map { "pg_restore -j 2 --section=$_" } qw(pre-data data post-data) ],
	inserts_twice => [ '--inserts --clean --if-exists', ('psql -f') x 2 ],
	one_schema => [ '-n public -e shardid_lease', q(psql -c 'CREATE EXTENSION shardid_lease CASCADE' -f) ]);
for my $way (sort keys %ways)
{
	restore_to($way, 'shop', @{ $ways{$way} });
	is(on($way, 'SELECT count(*) FROM shardid_lease.leased_generator'), 5, "$way: all rows arrive");
	my @arrived = split /\n/, on($way, 'SELECT name FROM unnest(ARRAY[' . join(', ', map { "'$_'" } @generators) . ']) name WHERE to_regclass(name) IS NOT NULL');
	cmp_ok(scalar @arrived, '>=', 3, "$way: @arrived");
	refuses($way, 'leased there', @arrived);
}

# That leaves a trigger that logical replication does not fire.
my $open = error_of($restored, 'data_only', q(SELECT next_id(generator => 'ids')));
like($open, qr/55000: logical replication can change the lease/, 'a table that is not its own');
on('data_only', $open =~ /HINT:  As a superuser, run (ALTER TABLE .*)\./ ? $1 : 'no hint');
like(error_of($restored, 'data_only', q(SELECT next_id(generator => 'ids'))), qr/has no lease/, 'until what the HINT says is done');

# A sequence that is created, renamed or given to another owner after the restore is found by its row.
on('no_schema', 'CREATE SEQUENCE left_out');
refuses('no_schema', 'made by hand', 'left_out');
on('no_owner', 'CREATE ROLE another; ALTER SEQUENCE ids OWNER TO another; ALTER SEQUENCE ids RENAME TO other_ids');
refuses('no_owner', 'named and owned anew', 'other_ids');
on('no_owner', 'ALTER SEQUENCE other_ids RENAME TO ids');
my $listed = 'SELECT count(*) FROM shardid_lease.shard_leases WHERE generator::text =';
is(on('no_owner', "$listed 'ids'"), 1, 'until it has its name back');
is(on('no_owner', "ALTER SEQUENCE ids RENAME TO other_ids; $listed 'other_ids'"), 1, 'and from then on it is followed');
refuses('no_owner', 'followed', 'other_ids');

# --- The original is lost, with its last window.

on('postgres', 'CREATE ROLE app LOGIN');
restore_to('complete', 'shop', '', 'psql -f');
like(draw_one($restored, 'ids', dbname => 'complete'), qr/is held by \S+, port @{[ $original->port ]}, database "shop"/, 'the original has the lease');
cmp_ok((draw_from_all([ $original, 'shop', 'ids' ]))[0], '>', 0, 'and ids');
my $until = $original->safe_psql('shop', q(SELECT until FROM shardid_lease.shard_leases WHERE shard = 0));
is(on('complete', q(SET shardid_lease.timeout = '3min'; SET ROLE app; SELECT shardid_lease.take_over_shard('ids'))), 0, 'the restored server takes it over');
my $first = draw_one($restored, 'ids', dbname => 'complete');
is(on('complete', "SELECT id_timestamp($first) >= '$until'"), 't', 'its ids begin at the end of that window');

no_id_comes_twice('restores by halves', $original, $restored);
