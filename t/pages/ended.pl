# make test that is ended by a signal ends with its servers, and leaves no directory. What fails says why, also if a guard
# has ended it, and how to repeat that alone; and so does a server that the tests cannot use.
use strict;
use warnings FATAL => 'all';

use Test::More;
use ShardidTest;

my $folder;

sub working_in { return map { m{/(\d+)/} } grep { (readlink // '') =~ m{^\Q$_[0]\E/} } glob '/proc/[0-9]*/cwd'; }

# The sandbox of that make, and whether it has a server.
sub has_server
{
	my @children = ($_[0]);
	while (defined(my $process = shift @children))
	{
		push @children, split ' ', `ps -o pid= --ppid $process`;
		my $cwd = readlink "/proc/$process/cwd" // '';
		$folder //= $1 if $cwd =~ m{^(/\S+/shardid\.\w{6})/} && $1 ne $ENV{SANDBOX};
	}
	return $folder && `ps -o args= -p @{[ join ",", $$, working_in($folder) ]}` =~ /^postgres: .*checkpointer/m;
}

my $make = fork // die;
exec "exec make -s test TEST=t/crash/altered.pl >$ENV{TEST_DIR}/ended 2>&1" unless $make;
my $has_begun = eval { await_event('make test has a server', sub { return has_server($make) }); 1 };
my ($sandbox) = split ' ', `ps -o pid= --ppid $make`;
kill 'TERM', $make;
# Signals that follow, such as timeout(1) sends to the whole group, do not end the cleaning up, even before it has begun.
1 while kill 'TERM', $sandbox;
waitpid $make, 0;
$has_begun or die $@;
like($folder, qr{^\Q$ENV{SANDBOX}\E/}, 'its directory is within that of this test, so neither stays if this is ended');
isnt($?, 0, 'make test ends, and not well');
is(join(' ', working_in($folder)), '', 'it leaves no process');
ok(!-e $folder, 'and no directory');

# In a copy of this tree, one test of which waits in vain, and one topic of which prints something else.
my $tree = PostgreSQL::Test::Utils::tempdir();
system_or_bail('cp', '-a', glob('*'), $tree);
append_to_file("$tree/t/pages/hangs.pl", "use ShardidTest;\nawait_event('the end of time', sub { return 0 });\n");
append_to_file("$tree/expected/short_text.out", "another line\n");
my %says = (
	't/pages/hangs.pl' => qr/died?: the guard has ended this after 1 s: waiting for: the end of time.*make test TEST=t\/pages\/hangs\.pl$/s,
	't/suite/regress.sh' => qr/^# -another line\n.*make test TEST=short_text$/ms);
for my $file (sort keys %says)
{
	local %ENV = (%ENV, SANDBOX => $tree, TEST => 'fingerprint short_text', PG_TEST_TIMEOUT_DEFAULT => 1);
	isnt(system("cd $tree && t/suite/run.sh $file >/dev/null"), 0, "$file fails");
	like(slurp_file("$tree/failures"), $says{$file}, 'and says why, and how to repeat it');
	unlink "$tree/failures";
}

# A server of PostgreSQL up to 17 without Debian's patch, as from PostgreSQL's own sources.
SKIP:
{
	skip 'it needs no patch from 18 on', 1 if `$ENV{PG_CONFIG} --version` =~ / (\d+)/ && $1 >= 18;
	my $programs = PostgreSQL::Test::Utils::tempdir() . '/bin';
	mkdir $programs or die;
	chomp(my $bindir = `$ENV{PG_CONFIG} --bindir`);
	system_or_bail('cp', "$bindir/pg_config", $programs);
	append_to_file("$programs/postgres", slurp_file("$bindir/postgres") =~ s/extension_destdir/other_setting_name/gr);
	local $ENV{PG_CONFIG} = "$programs/pg_config";
	like(`exec 2>&1; make -s test TEST=format`, qr/^The tests need a server that finds an extension outside its own directory/m, 'what a server needs');
}
done_testing();
