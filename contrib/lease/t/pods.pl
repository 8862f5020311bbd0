# packaging/cnpg/README.md: what happens to leases in pods, played by namespaces: servers have the host name of a pod, a
# network of their own, and no machine-id. A copy generates no ids next to its original, also under the same name, until it is
# told to; of two servers that differ in nothing, the later one has the shard.
use Leases;
use ShardidTest;

# The command within namespaces, as the same user, after another one as their root. A server's sockets are files.
sub in_pod
{
	my ($name, $mounts, @command) = @_;
	my $id = '[ ! -e /etc/machine-id ] || mount --bind /dev/null /etc/machine-id';
	return ('unshare', qw(--map-root-user --mount --uts --net --ipc), @{ $mounts->{options} // [] }, 'sh', '-c',
		"hostname $name && { $id; } && { $mounts->{run}; } && exec unshare --user --map-user=$< \"\$@\"", 'pod', @command);
}
my %nothing = (run => 'true');

my ($out, $why) = ('', '');
IPC::Run::run([ in_pod('pod-1', \%nothing, 'hostname') ], '>', \$out, '2>', \$why);
plan skip_all => 'no namespaces here: ' . ($why =~ s/\n.*//sr) if $out ne "pod-1\n";

# A cluster's server, as the pod of this name.
sub start_pod
{
	my ($node, $name) = @_;
	delete local $ENV{PGAPPNAME};
	system_or_bail(in_pod($name, \%nothing, 'pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile,
		'-o', '--cluster-name=' . $node->name, 'start'));
	$node->_update_pid(1);
	return;
}

sub take_over { return error_of($_[0], 'postgres', q(SET shardid_lease.timeout = '3min'; SELECT shardid_lease.take_over_shard(generator) FROM shardid_lease.shard_leases)) }

# The lease does not end here.
my $registry = new_registry('registry', { long => "lease => '10 min', max_ahead => '5 h'" });
my $original = new_node('original', "autovacuum = off\nshardid_lease.timeout = '1s'\n");
connect_to_registry($original, $registry);
$original->stop;
start_pod($original, 'shop-1');
lease($original, 'long', 'long');
$original->stop;
$original->backup_fs_cold('volume');

# --- Hibernation: the pod of the same name with the same volume

start_pod($original, 'shop-1');
like(draw_one($original, 'long'), qr/^\d+$/, 'hibernated, and back: ids come at once');

# --- A clone from a snapshot, in another namespace of Kubernetes, where its pod has the same name

my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($original, 'volume');
start_pod($clone, 'shop-1');
my $cloned = start_drawing($clone, 'long');
my ($held) = draw_from_all([ $original, 'postgres', 'long' ]);
cmp_ok($held, '>', 0, "the original continues: $held ids");
is(scalar(grep { defined $_->[0] } finish_drawing($cloned)), 0, 'its clone in a pod of the same name generates no id');
my $port = $original->port;
like(draw_one($clone, 'long'), qr/is held by shop-1, port $port, database "postgres"/, 'and its error names the original');

# As after a volume has gone to another device: its server is in another place.
$original->stop;
is(take_over($clone), 'no error', 'it is told to take over');
like(draw_one($clone, 'long'), qr/^\d+$/, 'and has ids');
start_pod($original, 'shop-1');
like(draw_one($original, 'long'), qr/is held by shop-1, port @{[ $clone->port ]}/, 'the original has lost its shard');
is(take_over($original), 'no error', 'until it takes it back');
like(draw_one($original, 'long'), qr/^\d+$/, 'and it has ids again');
$clone->stop;

# --- A clone whose devices and inodes have the same numbers, too: its directories are mounted over those of the original,
# with which it shares the files next to them; for those of databases, stat() gives one number to all. Each server checks every minute whether postmaster.pid has its own number,
# and stops if not: so the original is stopped by a signal while the file has that of the twin, or is missing.

$original->stop;
my $twin = PostgreSQL::Test::Cluster->new('twin');
my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/alike.c", <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int stat(const char *restrict path, struct stat *restrict found)
{
	int (*next)(const char *, struct stat *) = dlsym(RTLD_NEXT, "stat");
	int failed = next(path, found);

	if (!failed && strncmp(path, "base/", 5) == 0)
		found->st_ino = 1;
	return failed;
}

int statx(int folder, const char *restrict path, int flags, unsigned mask, struct statx *restrict found)
{
	return errno = ENOSYS, -1;
}
C
system_or_bail('gcc', qw(-shared -fPIC -o), "$dir/alike.so", "$dir/alike.c");
local $ENV{LD_PRELOAD} = "$dir/alike.so";
start_pod($original, 'shop-1');
is(take_over($original), 'no error', 'the original is there from now on');
$original->stop;
$original->backup_fs_cold('twin');
start_pod($original, 'shop-1');
like(draw_one($original, 'long'), qr/^\d+$/, 'and has ids');
my ($data, $copy) = ($original->data_dir, $original->backup_dir . '/twin');
my $pid_file = slurp_file("$data/postmaster.pid");
sub without_pid_file
{
	my ($code) = @_;
	my ($postmaster) = processes_of($original);
	kill 'STOP', $postmaster;
	my $done = eval { $code->(); 1 };
	unlink "$data/postmaster.pid";
	append_to_file("$data/postmaster.pid", $pid_file);
	kill 'CONT', $postmaster;
	die $@ unless $done;
	return;
}
my %over = (
	options => [ '--pid', '--fork' ],
	run => qq(for d in "$copy"/*/; do mount --bind "\$d" "$data/\${d#"$copy"/}"; done));
my @server = ('postgres', '-D', $data, '-p', $twin->port, '-k', $twin->host);
my $run;
without_pid_file(sub {
	$run = IPC::Run::start([ in_pod('shop-1', \%over, @server) ], '>&', \my $log);
	$twin->poll_query_until('postgres', 'SELECT true') or die "no twin: $log";
});
is($twin->safe_psql('postgres', 'SHOW data_directory'), $data, 'a twin runs in the same place');
my $draw = "SELECT next_id(generator => 'long') FROM generate_series(1, 100)";
my @clients = map { start_clients($_, 4, $draw, seconds => 3, pause_ms => 10, tolerate => '55000,57P03') } $original, $twin;
finish_clients($_) for @clients;
all_ids(map { @{ read_told($_) } } @clients);
like(draw_one($twin, 'long'), qr/^\d+$/, 'a twin that starts later has the shard');
is(error_of($original, 'postgres', q(SET shardid_lease.timeout = '3min'; SELECT shardid_lease.renew_leases())), 'no error', 'the original asks');
like($original->safe_psql('postgres', q(SELECT error FROM shardid_lease.shard_leases WHERE generator::text = 'long')),
	qr/two servers run in one place, shop-1, /, 'and is refused: two servers run in one place');
# A parent's death does not reach it, which has changed its user since.
without_pid_file(sub {
	kill 'QUIT', split ' ', `ps -o pid= --ppid $run->{KIDS}[0]{PID}`;
	$run->finish;
});
$original->stop;

no_id_comes_twice('pods', $registry);
