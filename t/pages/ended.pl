# make test that is ended by a signal ends with its servers, and leaves no directory.
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
		$folder //= $1 if $cwd =~ m{^(/\S+?/shardid\.\w{6})/} && $1 ne $ENV{SANDBOX};
	}
	return $folder && `ps -o args= -p @{[ join ",", $$, working_in($folder) ]}` =~ /^postgres: .*checkpointer/m;
}

my $make = fork // die;
exec "exec make -s test TEST=t/crash/altered.pl >$ENV{TEST_DIR}/ended 2>&1" unless $make;
await_event('make test has a server', sub { return has_server($make) });
kill 'TERM', $make;
waitpid $make, 0;
isnt($?, 0, 'make test ends, and not well');
is(join(' ', working_in($folder)), '', 'it leaves no process');
ok(!-e $folder, 'and no directory');
done_testing();
