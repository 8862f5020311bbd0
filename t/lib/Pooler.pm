# pgbouncer on a unix socket, before a server: in a pool mode and with a number of sessions of the server for each database.
package Pooler;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More ();
use Time::HiRes qw(usleep);

our @EXPORT = qw(start_pgbouncer stop_pgbouncer $pgbouncer_version $pgbouncer_folder);
our ($pgbouncer_version, $pgbouncer_folder);

my ($program) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer';
die 'pgbouncer is not installed' unless $program;
($pgbouncer_version) = `$program --version` =~ /(\d+\.\d+)/;
Test::More::note("pgbouncer $pgbouncer_version");
my $running;

# Returns the port. Clients connect to it with $pgbouncer_folder as their host.
sub start_pgbouncer
{
	my ($node, $mode, $sessions, $more) = @_;
	$pgbouncer_folder //= PostgreSQL::Test::Utils::tempdir_short();
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $user = $node->safe_psql('postgres', 'SELECT current_user');
	my $files = "$pgbouncer_folder/$mode";
	append_to_file("$files.ini", <<"CONF");
[databases]
* = host=@{[ $node->host ]} port=@{[ $node->port ]} user=$user
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $pgbouncer_folder
auth_type = any
admin_users = $user
pool_mode = $mode
default_pool_size = $sessions
query_wait_timeout = 20
max_client_conn = 100
logfile = $files.log
pidfile = $files.pid
@{[ $more // '' ]}
CONF
	$running = IPC::Run::start([ $program, '-q', "$files.ini" ], '>', "$files.out", '2>&1');
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return $port if -S "$pgbouncer_folder/.s.PGSQL.$port";
		usleep 100_000;
	}
	die 'pgbouncer does not start: ' . slurp_file("$files.out");
}

sub stop_pgbouncer
{
	$running->kill_kill if $running;
	$running = undef;
	return;
}

END { stop_pgbouncer() }

1;
