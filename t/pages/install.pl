# Installing as docs/install.md says: from the zip for PGXN, with PGXN's client and clang++, which has other warnings; on a
# running server; and from a directory as CloudNativePG mounts it. The build does not depend on the directory: the library
# does not contain its name, and an object file of g++ is that of this test run, byte for byte.
use Docs;
use Leases 'registry_here';
use ShardidTest;

my $page = 'install.md';
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($version) = slurp_file('META.json') =~ /"version": "(.*?)"/;
my $zip = "shardid-$version.zip";
my $source = "$dir/shardid-$version";
chomp(my %folder = map { $_ => scalar `$ENV{PG_CONFIG} --$_` } qw(pkglibdir sharedir version));

# The options of the make that runs this test must not reach other makes.
delete @ENV{qw(MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL REGRESS REGRESS_OPTS ISOLATION TAP_TESTS PROVE_TESTS PROVE_FLAGS)};

# Runs a script in the directory, and tests that it succeeds; returns its output.
sub run_in
{
	my ($where, $script, $name) = @_;
	my $output = `cd $where && { set -e; $script\n} 2>&1`;
	is($?, 0, $name) or diag($output);
	return $output;
}

# The zip. This directory has no .git, but it has the output of the build.
$ENV{SOURCE_DATE_EPOCH} = 1_600_000_000;
ok(-e 'shardid.so' && !-e '.git', 'a tree with build output and without .git');
run_in('.', "packaging/release/dist.py $dir", 'the zip is made') or BAIL_OUT('no zip');
my $names = `unzip -Z1 $dir/$zip`;
unlike($names, qr/\.(o|bc|so|zip)$/m, 'no build output in it');
unlike($names, qr{^(?!shardid-\Q$version\E/)}m, 'all of it is in a folder with its version');
like($names, qr{/\Q$_\E$}m, "$_ is in it") for qw(META.json Makefile shardid.control shardid_admin.control shardid_lease.control shardid_readers.control packaging/debian/control.in docs/install.md);
run_in($dir, "unzip -q $zip", 'unpacked');

run_in($source, command_of($page, 'make dist'), 'the zip makes itself: make dist');
is(slurp_file("$source/$zip"), slurp_file("$dir/$zip"), 'the same zip');
unlink "$source/$zip";

# PGXN's client builds it in a directory of its own, and installs it. To be fast, without bitcode, and PostgreSQL's headers,
# of which compat.h has all that many files need, are read once. The library has the name of their folder, which is none
# of a build.
{
	my $flags = '-g -O0 -Werror';
	my $header = PostgreSQL::Test::Utils::tempdir() . '/headers.h';
	append_to_file($header, slurp_file('src/compat.h') =~ /^(extern "C" \{\n.*?^\}\n)/ms);
	my ($command) = run_in($source, "make -n CXX=clang++ CXXFLAGS='$flags' src/module.o", 'how clang++ is called') =~ /^(clang\+\+ .*) -c -o /m;
	run_in($source, "$command -x c++-header $header -o $header.gch", "PostgreSQL's headers");
	$flags = "$flags -include $header" =~ s/ /\\ /gr;
	local $ENV{DESTDIR} = "$dir/inst";
	local $ENV{MAKEFLAGS} = " -j2 -- CXX=clang++ with_llvm=no CXXFLAGS=$flags";
	# --sudo: the client requires a program that grants the right to write to the server's directories; DESTDIR needs none.
	run_in($dir, block_of($page, 'pgxn') =~ s/--sudo /--sudo=env /r, 'installed by pgxn') or BAIL_OUT('not installed');
}
my $library = slurp_file("$dir/inst$folder{pkglibdir}/shardid.so");
like($library, qr/\.debug_info/, 'the library says from where its lines are');
unlike($library, qr/\Q$dir\E|pgxn-client/, 'and not in which folder it was built');
my $object = 'src/engine/wait.o';
run_in($source, "make -s $object", 'an object file made in another folder');
ok(slurp_file("$source/$object") eq slurp_file($object), 'is the same there');
unlink "$source/$object";

# On a running server.
my $node = PostgreSQL::Test::Cluster->new('install');
{
	local $ENV{TEMP_CONFIG};
	$node->init;
	$node->append_conf('postgresql.conf', "wal_level = replica\n" . `tools/extension_config.sh $dir/inst`);
	$node->start;
}
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;
my $check = command_of($page, 'make installcheck');
my $checked = run_in($source, qq($check REGRESS="ids extension"), 'with topics named');
like($checked, qr/^(test|ok \d+ +-) ids .*^(test|ok \d+ +-) extension .*All 2 tests passed/ms, 'runs these');
unlike($checked, qr/isolation/, 'and no others');
for my $where ('.', 'contrib/admin', 'contrib/lease', 'contrib/readers')
{
	like(`make -C $source/$where installcheck TAP_TESTS=1 2>&1`, qr/run "make test TEST=t"/, "$where: what runs the TAP tests");
}
# As pg_buildext does: on one server, in one database.
SKIP:
{
	skip 'all of them: takes long, see make test-full; make deb does it, too', 1 unless $ENV{FULL};
	run_in($source, "$check -j 4", 'all of them');
}
my $shard = 'SELECT shard FROM id_parts(next_id(5))';
$node->safe_psql('postgres', 'CREATE EXTENSION shardid; CREATE EXTENSION shardid_admin; CREATE EXTENSION shardid_readers; DROP EXTENSION shardid_admin, shardid_readers');
is($node->safe_psql('postgres', $shard), 5, 'the library of the zip makes an id');
my $lease = registry_here() . <<'SQL';
CREATE SEQUENCE leased;
SELECT shardid_lease.create_id_space('shop');
SELECT shardid_lease.lease_shard('shop', 'here', generator => 'leased', shard => 6);
SELECT id_shard(next_id(generator => 'leased'));
DROP EXTENSION shardid_lease, postgres_fdw CASCADE;
DROP SEQUENCE leased;
SQL
like($node->safe_psql('postgres', $lease), qr/^6\n6$/m, 'the second extension leases a shard');

# The page's paths are those of Debian's PostgreSQL 18.
SKIP:
{
	my ($major) = $folder{version} =~ /^PostgreSQL (\d+)/;
	skip 'no extension_control_path before PostgreSQL 18', 1 if $major < 18;
	skip "not Debian's folders", 1 if $folder{pkglibdir} ne "/usr/lib/postgresql/$major/lib";
	skip 'shardid is installed on this machine, and would be found first', 1
	  if -e "$folder{sharedir}/extension/shardid.control";

	my $image = "$dir/image";
	my @copies = block_of($page, 'extension_image') =~ /^COPY --from=build (.*)$/mg;
	for my $copy (@copies)
	{
		my ($from, $to) = $copy =~ m{^/installed(\S+) (\S+)$};
		$from =~ s{/18/}{/$major/};
		run_in($dir, "mkdir -p $image$to && cp -a $dir/inst$from. $image$to", "COPY $copy");
	}
	$node->append_conf('postgresql.conf', block_of($page, 'settings') =~ s{/extensions/shardid}{$image}gr);
	$node->reload;
	$node->poll_query_until('postgres', "SELECT current_setting('extension_control_path') LIKE '%$image/share'")
	  or die 'no reload';
	my $loaded = "SELECT pg_read_file('/proc/self/maps') LIKE '%$image/lib/shardid.so%'";
	is($node->safe_psql('postgres', "DROP EXTENSION shardid; CREATE EXTENSION shardid; $shard; $loaded"),
		"5\nt", 'an id from the folder of an extension image');
	like($node->safe_psql('postgres', $lease), qr/^6\n6$/m, 'and a lease');
}

$node->stop;

# DESTDIR needs no sudo.
run_in($source, command_of($page, 'sudo make uninstall') =~ s/^sudo //r . " DESTDIR=$dir/inst", 'make uninstall');
is(`find $dir/inst -type f`, '', 'no file is left');
done_testing();
