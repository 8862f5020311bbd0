# In a database with leases nothing is generated where the library shardid_lease is missing, or is of another build: there
# may be a lease that nobody sees.
use Leases;
use Session;
use ShardidTest;

my $node = new_node('node');
$node->safe_psql('postgres', registry_here() . <<'SQL');
CREATE DATABASE without;
\c without
CREATE EXTENSION shardid;
\c postgres
CREATE SEQUENCE leased;
CREATE SEQUENCE free CACHE 2;
SELECT shardid_lease.create_id_space('ids');
SELECT shardid_lease.lease_shard('ids', 'here', 'leased');
SQL

# Sessions then find only these libraries, none that is installed. They are hard links: two copies of one are two libraries.
my ($installed) = slurp_file($ENV{TEMP_CONFIG}) =~ /^dynamic_library_path = '([^:]+)/m;
my $folder = PostgreSQL::Test::Utils::tempdir();
link "$installed/shardid.so", "$folder/shardid.so" or die $!;
# From 18 on those of PostgreSQL are sought in the same path.
chomp(my $pkglibdir = `$ENV{PG_CONFIG} --pkglibdir`);
symlink "$pkglibdir/$_.so", "$folder/$_.so" or die $! for 'plpgsql', 'dblink', 'postgres_fdw';
my $library = slurp_file("$installed/shardid_lease.so");

sub refused
{
	my ($expected, $why) = @_;
	for my $call ("SELECT next_id(generator => 'leased')", "SELECT next_id(1, 'free')", "SELECT settled_below('free')", "LOAD 'shardid_lease'")
	{
		my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$call");
		like($error, $expected, "$call: $why");
	}
	is($node->safe_psql('without', 'SELECT id_shard(next_id(1))'), 1, 'a database without the extension needs none');
	return;
}

$node->append_conf('postgresql.conf', "dynamic_library_path = '$folder'");
$node->restart;
refused(qr/ERROR:  58P01: could not access file "shardid_lease"/, 'no library');
ok($library =~ s/\0\K1\.0\.0(?=\0)/0.9.9/, 'a library with another version');
append_to_file("$folder/shardid_lease.so", $library);
chmod 0755, "$folder/shardid_lease.so";
refused(qr/ERROR:  55000: library "shardid_lease" is of another build.*0\.9\.9.*1\.0\.0/s, 'another version');

# The library from here on is this file.
sub use_library
{
	unlink "$folder/shardid_lease.so";
	return link $_[0], "$folder/shardid_lease.so" || die $!;
}

# One of the same version that was built with another number in a header, which these objects contain.
sub rebuilt
{
	my ($header, $from, $to, @objects) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	system_or_bail('cp', '-a', '--parents', 'src', 'contrib/lease', 'shardid.so', $dir);
	my $text = slurp_file("$dir/$header");
	$text =~ s/$from/$to/ or die "no $from in $header";
	unlink "$dir/$header";
	append_to_file("$dir/$header", $text);
	# The other objects remain as they are.
	utime undef, undef, map { "$dir/contrib/lease/src/$_.cpp" } @objects;
	system_or_bail('make', '-s', '-C', "$dir/contrib/lease", '-o', "$dir/$header", 'COPT=-O0', 'with_llvm=no', 'shardid_lease.so');
	return "$dir/contrib/lease/shardid_lease.so";
}
use_library(rebuilt('src/engine/lease.h', qr/library_abi_version =\s+\K1/, 2, 'module'));
refused(qr/ERROR:  55000: library "shardid_lease" is of another build.*ABI version 2.*ABI version 1/s, 'the same version with other structs');
use_library("$installed/shardid_lease.so");
my $draw = "SELECT id_shard(next_id(generator => 'leased'));";
is($node->safe_psql('postgres', $draw), 0, 'with its own library it generates ids again');

# A session that goes on with the library that has been replaced by one whose workers it cannot start.
$node->safe_psql('postgres', q(CREATE SEQUENCE brief; SELECT shardid_lease.create_id_space('short', lease => '1 s'); SELECT shardid_lease.lease_shard('short', 'here', 'brief')));
my $old = open_session($node, '-v', 'VERBOSITY=verbose');
my $brief = q(SELECT id_shard(next_id(generator => 'brief')););
is(ask($old, $brief), 0, 'a session');
use_library(rebuilt('contrib/lease/src/start_worker.h', qr/worker_abi_version =\s+\K1/, 2, 'start_worker', 'worker'));
$node->poll_query_until('postgres', q(SELECT until < clock_timestamp() FROM shardid_lease.shard_leases WHERE space = 'short'));
is(ask($old, $brief), 0, 'asks the registry itself');
my $not_begun = qr/^ERROR:  55000: .*\n.*The background worker did not begin/;
like(ask($old, "SET shardid_lease.timeout = '1s'; SELECT shardid_lease.lease_shard('short', 'here', 'free');"), $not_begun, 'what needs a worker is refused');
$node->safe_psql('postgres', q(SELECT setval('brief', 1)));
like(ask($old, "SET shardid_lease.timeout = 0; $brief"), $not_begun, 'and an id where it may not wait');
is(ask($old, "RESET shardid_lease.timeout; $brief"), 0, 'else it asks itself, also after setval');
close_session($old);
use_library("$installed/shardid_lease.so");
is($node->safe_psql('postgres', $brief), 0, 'other sessions continue');
like(slurp_file($node->logfile), qr/a session has another build of library "shardid_lease" than its worker/, 'the log says why');

# A second copy of a library is not loaded.
my $copy = PostgreSQL::Test::Utils::tempdir();
append_to_file("$copy/$_.so", slurp_file("$installed/$_.so")) for 'shardid', 'shardid_lease';
my (undef, $goes_on, $second) = $node->psql('postgres', "\\set VERBOSITY verbose\n$brief LOAD '$copy/shardid'; LOAD '$copy/shardid_lease'; $brief", on_error_stop => 0);
is(join(' ', $second =~ /ERROR:  55000: library "(\w+)" is loaded already, from another file$/mg), 'shardid shardid_lease', 'a second copy is refused');
is($goes_on, "0\n0", 'and the session goes on');

# A session that could not read the lease reads it again at the next call.
my $double = 'INSERT INTO shardid_lease.leased_generator SELECT gen_random_uuid(), gen_random_uuid(), generator, server, space,
	shard, registry, state, epoch, shard_bits, sequence_bits FROM shardid_lease.leased_generator';
$node->safe_psql('postgres', $double);
my (undef, $drawn, $twice) = $node->psql('postgres', "SET shardid.shard_id = 9;\n$draw\n$draw", on_error_stop => 0);
is($drawn, '', 'a lease of two rows: no id');
is(scalar(() = $twice =~ /generator "public.leased" has two leases/g), 2, 'nor by the next call of the session');
my ($too_many) = $twice =~ /rows of origin (?!\S+, never)\S+, last renewed here at .* and origin (\S+), never renewed here/;
is($node->safe_psql('postgres', "DELETE FROM shardid_lease.leased_generator WHERE origin = '@{[ $too_many // '' ]}' RETURNING state"), 'leased', 'the error tells the rows apart');

# What a transaction sees that drops the extension is undone by its rollback.
for my $rollback ('ROLLBACK', 'ROLLBACK TO s; COMMIT')
{
	for my $before ('', $draw)
	{
		my $drop = "BEGIN; SAVEPOINT s; DROP EXTENSION shardid_lease CASCADE; $draw $rollback;";
		like($node->safe_psql('postgres', "SET client_min_messages = error; SET shardid.shard_id = 9; $before $drop $draw"), qr/^9\n0$/m,
			"$rollback: the lease is there again");
	}
}

# The extension is there, whatever its schema is called.
$node->safe_psql('postgres', 'ALTER SCHEMA shardid_lease RENAME TO another');
my (undef, $shard) = $node->psql('postgres', "SET shardid.shard_id = 9; $draw");
isnt($shard, 9, 'in another schema: no id of the shard that is set');
$node->safe_psql('postgres', 'ALTER SCHEMA another RENAME TO shardid_lease');
is($node->safe_psql('postgres', "SET shardid.shard_id = 9; $draw"), 0, 'back in its own');

# A session that has drawn before the extension came learns of the first lease.
my $early = open_session($node->connstr('without'));
is(ask($early, 'SET shardid.shard_id = 9; SELECT id_shard(next_id());'), 9, 'no extension yet');
$node->safe_psql('without', registry_here() . q(SELECT shardid_lease.create_id_space('ids'); SELECT shardid_lease.lease_shard('ids', 'here');));
is(ask($early, 'SELECT id_shard(next_id());'), 0, 'the first lease: its shard');
close_session($early);
$node->stop;
done_testing();
