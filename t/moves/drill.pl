# The restore drill of docs/operations.md, by its commands: with a number in a setting, and with a lease.
use Docs;
use Leases;
use ShardidTest;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub command { return command_of('operations.md', $_[0]) }
my $ask = command('SELECT ids.id_shard(ids.next_id())');
my $original = new_node('original', undef, allows_streaming => 1);
$original->safe_psql('postgres', $_) for 'CREATE DATABASE shop', 'ALTER DATABASE shop SET shardid.shard_id = 1';
$original->safe_psql('shop', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');

# A copy of a synchronous server, with the original's configuration, but without its standbys. $waits: it stays in
# recovery until it is promoted.
sub copy_of
{
	my ($name, $waits) = @_;
	$original->backup($name);
	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($original, $name);
	$copy->append_conf('postgresql.conf', sprintf <<'CONF', $original->port, $original->host);
synchronous_standby_names = 'of_the_original'
port = %s
unix_socket_directories = '%s'
hba_file = '/nonexistent/pg_hba.conf'
ident_file = '/nonexistent/pg_ident.conf'
CONF
	append_to_file($copy->data_dir . '/standby.signal', '') if $waits;
	my ($data, $log, $socket, $port) = ($copy->data_dir, $copy->logfile, PostgreSQL::Test::Utils::tempdir_short(), $copy->port);
	$copy->{_host} = $socket;
	my $command = block_of('operations.md', 'drill_start') =~ s{(-h |directories=)/srv/restored}{$1$socket}gr
	  =~ s{/srv/restored}{$data}gr =~ s/restored\.log/$log/r =~ s/5433/$port/gr =~ s/ -U postgres//r;
	my ($out, $err) = run_command([ 'sh', '-c', "exec 2>&1; $command" ]);
	is($out =~ s/.*server started\n//sr, "$data\n" . ($waits ? 't' : 'f'), "$name: the page leads to the copy");
	is($copy->safe_psql('shop', command('SELECT pg_promote()')), 't', "$name: is promoted") if $waits;
	return $copy;
}

my $copy = copy_of('drill');
is($copy->safe_psql('shop', $ask), 1, 'a restored server generates the ids of its original');
$copy->safe_psql('shop', command('ALTER DATABASE shop SET shardid.shard_id = 9') . ';' . command('SELECT ids.renew_identity()'));
is($copy->safe_psql('shop', $ask), 9, 'until it has a number of its own');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

my $registry = new_registry('registry');
$registry->safe_psql('postgres', "SELECT shardid_lease.create_id_space('shop')");
my $address = sprintf "host '%s', port '%s', dbname 'postgres'", $registry->host, $registry->port;
$original->safe_psql('shop', <<"SQL");
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS ($address);
CREATE USER MAPPING FOR CURRENT_USER SERVER registry OPTIONS (user 'member', password 'of the member');
SELECT shardid_lease.lease_shard('shop', 'registry');
SQL
$copy = copy_of('drill_leased', 1);
$original->safe_psql('shop', command('SELECT shardid_lease.renew_leases()'));
my $port = $original->port;
like(answered(sub { return ($copy->psql('shop', "\\set VERBOSITY verbose\nSET shardid_lease.timeout = '1s'; $ask"))[2] }), qr/ERROR:  55000: .*held by \S+, port $port,/s,
	'with a lease a restored server generates no ids, and its error names the original');
is($original->safe_psql('shop', $ask), 0, 'which continues');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

$_->stop for $original, $registry;
done_testing();
