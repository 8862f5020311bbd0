# docs/several-databases.md from its start to its end, by its blocks: three databases with shard numbers, their copies,
# the alerts, the drill; then with leases of a registry in one of them, and the drill again; a lease undone; the cluster
# of the registry lost, and restored from a backup that does not know the last lease. The search for one number, and
# pg_dump -C, are in t/moves/fingerprint.
use IO::Socket::INET;
use Socket;
use Docs;
use Leases 'let_in';
use ShardidTest;

my %number_of = (oslo => 1, lisbon => 2, cairo => 3);
my (%node, %has_run, $hole, @waiting);
my $ask = command_of('several-databases.md', 'SELECT id_shard(next_id())');
$ENV{PGOPTIONS} = '-c client_min_messages=warning';

sub page
{
	my ($name) = @_;
	$has_run{$name} = 1;
	return block_of('several-databases.md', $name);
}

# What psql prints for this role; there must be no error or warning.
sub run_as
{
	my ($role, $server, $sql, $dbname) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-U', $role, '-d', $server->connstr($dbname // 'shop') ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', $server->name . ": $role: " . (split /\n/, $sql)[0]);
	return $out =~ s/\n+\z//r;
}

sub refused
{
	my ($server, $dbname) = @_;
	return ($server->psql($dbname // 'shop', "SET shardid.lease_timeout = '2s'; $ask"))[2];
}

# The page's server with several nodes, of which the first is switched off: simulated by a listener that accepts no
# more connections.
sub several_hosts
{
	socket($hole, PF_INET, SOCK_STREAM, 0) && bind($hole, sockaddr_in(0, INADDR_LOOPBACK)) && listen($hole, 0) or die $!;
	my ($port) = sockaddr_in(getsockname $hole);
	@waiting = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Blocking => 0) } 1 .. 3;
	my $hosts = sprintf "host '127.0.0.1,%s', port '%s,%s'", $node{oslo}->host, $port, $node{oslo}->port;
	return page('several_hosts') =~ s/host '[^']*'/$hosts/r;
}

# --- Numbers.

for my $name (sort keys %number_of)
{
	my $server = $node{$name} = new_node($name, undef, allows_streaming => 1);
	$server->safe_psql('postgres', 'CREATE ROLE shop_owner LOGIN; CREATE ROLE shop_app LOGIN');
	$server->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
	run_as('shop_owner', $server, page('number') =~ s/= 1;/= $number_of{$name};/r . page('table'));
	is(run_as('shop_app', $server, command_of('several-databases.md', "SELECT current_setting('shardid.shard_id')")), "$number_of{$name}|$number_of{$name}", "$name: both columns show its number");
}

# --- Whether copies have the setting.

my $oslo = $node{oslo};
$oslo->safe_psql('postgres', 'CREATE DATABASE by_template TEMPLATE shop');
like(refused($oslo, 'by_template'), qr/no shard is set/, 'a copy by TEMPLATE has no number');
$oslo->safe_psql('postgres', 'CREATE DATABASE by_dump OWNER shop_owner');
$oslo->safe_psql('by_dump', (run_command([ 'pg_dump', $oslo->connstr('shop') ]))[0]);
like(refused($oslo, 'by_dump'), qr/no shard is set/, 'a restored dump has none');

# --- Alerts.

$oslo->safe_psql('shop', command_of('several-databases.md', 'CREATE ROLE watcher') . ';' . command_of('several-databases.md', 'GRANT SELECT ON SEQUENCE'));
my ($lead, $literal) = page('alerts') =~ /(SELECT .*?;\n)/sg;
is(run_as('watcher', $oslo, $_), '', 'no alert') for $lead, $literal;
$oslo->safe_psql('shop', <<'SQL');
CREATE TABLE literal (id bigint DEFAULT next_id(5), other bigint DEFAULT 2 * next_id(6),
    named bigint DEFAULT next_id(generator => 'shardid_seq', shard => '7'::smallint),
    fine bigint DEFAULT next_id(), own bigint DEFAULT next_id(generator => 'shardid_seq'))
SQL
is(join(' ', run_as('watcher', $oslo, $literal) =~ /^literal\|(\w+)\|/mg), 'id other named', 'three that do');

# --- The drill.

# A copy of a synchronous server, with the original's configuration, but without its standbys. $waits: it stays in
# recovery until it is promoted.
sub copy_of
{
	my ($name, $waits) = @_;
	$oslo->backup($name);
	my $copy = PostgreSQL::Test::Cluster->new($name);
	$copy->init_from_backup($oslo, $name);
	$copy->append_conf('postgresql.conf', sprintf <<'CONF', $oslo->port, $oslo->host);
synchronous_standby_names = 'of_the_original'
port = %s
unix_socket_directories = '%s'
hba_file = '/nonexistent/pg_hba.conf'
ident_file = '/nonexistent/pg_ident.conf'
CONF
	append_to_file($copy->data_dir . '/standby.signal', '') if $waits;
	my ($data, $log, $socket, $port) = ($copy->data_dir, $copy->logfile, PostgreSQL::Test::Utils::tempdir_short(), $copy->port);
	$copy->{_host} = $socket;
	my $command = page('drill_start') =~ s{(-h |directories=)/srv/restored}{$1$socket}gr =~ s{/srv/restored}{$data}gr
	  =~ s/restored\.log/$log/r =~ s/5433/$port/gr;
	my ($out, $err) = run_command([ 'sh', '-c', "exec 2>&1; $command" ]);
	is($out =~ s/.*server started\n//sr, "$data\n" . ($waits ? 't' : 'f'), "$name: the page leads to the copy");
	is($copy->safe_psql('shop', command_of('several-databases.md', 'SELECT pg_promote()')), 't', "$name: is promoted") if $waits;
	return $copy;
}

my $copy = copy_of('drill');
is($copy->safe_psql('shop', $ask), 1, 'a restored server generates the ids of its original');
$copy->safe_psql('shop', command_of('several-databases.md', 'ALTER DATABASE shop SET shardid.shard_id') . ';' . command_of('several-databases.md', 'SELECT renew_identity()'));
is($copy->safe_psql('shop', $ask), 9, 'until it has a number of its own');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

# --- Leases. The registry asks for passwords.

let_in($oslo, "local all oslo_member,lisbon_member,cairo_member scram-sha-256\n");
$oslo->safe_psql('postgres', page('registry'));
my $address = sprintf "host '%s', port '%s'", $oslo->host, $oslo->port;
for my $name (sort keys %number_of)
{
	my $block = page('member') =~ s/lisbon_member/${name}_member/r =~ s/secret2/secret$number_of{$name}/r;
	$block =~ s/^CREATE SERVER .*\n/several_hosts()/me if $name eq 'lisbon';
	$block =~ s/host 'registry\.example'/$address/;
	is($node{$name}->safe_psql('shop', $block =~ s/'shop', 'registry'\)/'shop', 'registry', shard => $number_of{$name})/r),
		$number_of{$name}, "$name leases the number that it has had");
	is(run_as('shop_app', $node{$name}, "SET shardid.shard_id = 7; $ask"), $number_of{$name}, "$name: the setting is ignored");
}

# Without the page's timeout, lisbon does not try the next node.
my $lisbon = $node{lisbon};
my ($timeout) = page('several_hosts') =~ /(tcp_user_timeout '\d+')/ or die;
$lisbon->safe_psql('shop', 'ALTER SERVER registry OPTIONS (DROP tcp_user_timeout)');
$lisbon->safe_psql('shop', "SET shardid.lease_timeout = '9s'; SELECT shardid_lease.renew_leases()");
my $trouble = 'SELECT error FROM shardid_lease.shard_leases WHERE failed_at IS NOT NULL';
like($lisbon->safe_psql('shop', $trouble), qr/no connection within shardid\.registry_timeout/, 'a node that is switched off keeps others from being asked');
$lisbon->safe_psql('shop', "ALTER SERVER registry OPTIONS (ADD $timeout); SET shardid.lease_timeout = '9s'; SELECT shardid_lease.renew_leases()");
is($lisbon->safe_psql('shop', $trouble), '', 'but not with the timeout of the page');

$copy = copy_of('drill_leased', 1);
like(refused($copy), qr/has no lease of shard 1 at this time.*held by/s, 'a restored server generates no ids, and its error names the original');
command_ok([ 'pg_ctl', '-D', $copy->data_dir, 'stop' ], 'it stops');

# --- A lease is undone: from then on the number in the setting is used again, which the owner changes.

my $cairo = $node{cairo};
my $load = command_of('several-databases.md', 'SELECT id_shard(0)');
$cairo->safe_psql('shop', command_of('several-databases.md', 'SELECT shardid_lease.release_shard()'));
like(refused($cairo), qr/has released its lease/, 'until the extension is dropped, no ids are generated with the old setting');
my $reserve = command_of('leases.md', "SELECT shardid_lease.reserve_shard('shop', 7") =~ s/7/3/r;
isnt($oslo->psql('registry', $reserve), 0, 'the number is not reserved before its last window has ended');
$oslo->safe_psql('registry', "UPDATE shardid_lease.granted_shard SET until_ms = 0 WHERE shard = 3; $reserve");
is(run_as('shop_owner', $cairo, "$load; " . command_of('several-databases.md', 'ALTER DATABASE shop RESET')), 0, 'the owner resets the number in a later session');
$cairo->safe_psql('shop', command_of('several-databases.md', 'DROP EXTENSION shardid_lease'));
like(refused($cairo), qr/no shard is set/, 'without the number no ids are generated');
is(run_as('shop_owner', $cairo, "$load; ALTER DATABASE shop SET shardid.shard_id = 3"), 0, 'and sets it');
is($cairo->safe_psql('shop', $ask), 3, 'which is used');

# --- Ids ahead of the clock are an alert.

$oslo->safe_psql('shop', "SELECT raise_generator('shardid_seq', id_lower_bound(clock_timestamp() + interval '1 minute'))");
like(run_as('watcher', $oslo, $lead), qr/^00:00:[1-5]\d(\.\d+)?\|2046-/, 'a minute ahead');

# --- The cluster of the registry is lost, after it has granted a lease of which its backup does not know.

$oslo->backup('last');
$lisbon->safe_psql('shop', "CREATE SEQUENCE late; SELECT shardid_lease.lease_shard('shop', 'registry', 'late')");
my $late = 'SELECT id_shard(next_id(generator => \'late\'))';
my $shard_of_late = $lisbon->safe_psql('shop', $late);
my %last = map { $_ => $node{$_}->safe_psql('shop', 'SELECT next_id()') } 'oslo', 'lisbon';
$oslo->stop('immediate');
my $again = PostgreSQL::Test::Cluster->new('oslo_again');
$again->init_from_backup($oslo, 'last');
$again->append_conf('postgresql.conf', sprintf "port = %s\nunix_socket_directories = '%s'\nsynchronous_standby_names = ''\n", $oslo->port, $oslo->host);
@$again{qw(_host _port)} = ($oslo->host, $oslo->port);
$again->start;
$node{oslo} = $again;
like(refused($again), qr/is stopped/, 'the restored registry grants nothing');
$again->safe_psql('registry', command_of('several-databases.md', 'psql -d registry -c') =~ s/.*'(.*)'/$1/r);
is($lisbon->safe_psql('shop', "SET shardid.lease_timeout = '9s'; " . command_of('several-databases.md', 'SELECT shardid_lease.renew_leases()')), 2,
	'a member has its leases again');
is($lisbon->safe_psql('shop', $late), $shard_of_late, 'also the one that the backup does not know');
$again->safe_psql('shop', "SET shardid.lease_timeout = '9s'; " . block_of('high-availability.md', 'take_over') . command_of('several-databases.md', 'SELECT renew_identity()'));
cmp_ok($node{$_}->safe_psql('shop', 'SELECT next_id()'), '>', $last{$_}, "$_: ids are above those before") for sort keys %last;

my @blocks = grep { $_->{words} && $_->{words} ne 'same_number' } blocks_of('docs/several-databases.md');
is_deeply([ grep { !$has_run{$_} } map { $_->{words} } @blocks ], [], 'every block of the page was run');

$_->stop for values %node;
done_testing();
