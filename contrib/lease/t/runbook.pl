# The runbook of contrib/lease/RUNBOOK.md from its start to its end, by its blocks: a registry with a synchronous
# standby, two of its members, the alerts, a member fails over, the registry hangs, loses its standby, fails over, and is
# restored from a backup of before that, the cluster of a member is restored. Each block prints what the page says.
use IO::Socket::INET;
use Socket;
use Docs;
use Leases qw(answered freeze let_in thaw);
use ShardidTest;

my ($runbook, $before) = ('contrib/lease/RUNBOOK.md', 'several-databases.md');
my $page = slurp_file($runbook);
my $dir = PostgreSQL::Test::Utils::tempdir();
my (%node, %has_run);
my %number_of = (oslo => 0, lisbon => 1);
$ENV{PGOPTIONS} = '-c client_min_messages=warning';
$ENV{PGPASSFILE} = "$dir/pgpass";
append_to_file($ENV{PGPASSFILE}, "*:*:*:replicator:secret\n*:*:*:watcher:secret\n");
chmod 0600, $ENV{PGPASSFILE};

sub block { $has_run{ $_[0] } = 1; return block_of($runbook, $_[0]) }
sub command { return command_of($runbook, $_[0]) }

# What psql prints, without an error or warning.
sub run_on
{
	my ($name, $dbname, $sql, $role) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', $role // scalar getpwuid($<), '-d', $node{$name}->connstr($dbname) ], '<', \$sql, '>', \$out, '2>', \$err);
	is($err, '', "$name: " . (split /\n/, $sql)[0]);
	return $out =~ s/\n+\z//r;
}

# Runs a block, whose output the paragraph above it shows: "prints `t` and `1`".
sub block_prints
{
	my ($name, $dbname, $block) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($said) = $page =~ /^.*prints ((?:`[^`]*`|(?!\n\n)[^`:.])*)[:.](?:(?!\n\n|prints).)*?\n```sql $block$/ms or die "the page does not say what $block prints";
	is(run_on($name, $dbname, block($block)), join("\n", $said =~ /`([^`]*)`/g), "$name: $block prints what the page says");
	return;
}

# With the addresses of these servers in place of those of the page.
sub with_addresses
{
	my ($command, @names) = @_;
	my ($hosts, $ports) = map { my $part = $_; join ',', map { $node{$_}->$part } grep { $node{$_} } @names } qw(host port);
	return $command =~ s/host=\S+\.example/host=$hosts port=$ports/r;
}

# A backup of the registry, or of these servers, by the page's command, to this directory.
sub back_up
{
	my ($place, @names) = @_;
	@names = ('registry2', 'registry1') unless @names;
	system_or_bail('sh', '-c', with_addresses(block('backup'), @names) =~ s{/backup/registry}{$place}r);
	return;
}

# A standby of this server, by the page's commands, in the place of another one.
my $count = 0;
sub make_standby
{
	my ($of, $name, $place) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name . '_' . ++$count);
	@$standby{qw(_host _port)} = @$place{qw(_host _port)} if $place;
	my $address = $node{$of}->host . ' -p ' . $node{$of}->port;
	my ($copy, $start) = block('standby') =~ s/registry1\.example/$address/r =~ /(.*\n)(.*\n)/;
	local $ENV{PGDATA} = $standby->data_dir;
	mkdir $standby->basedir;
	is((run_command([ 'sh', '-c', "exec 2>&1; $copy" ]))[0], '', "$name: is copied");
	$standby->append_conf('postgresql.conf', sprintf "port = %s\nunix_socket_directories = '%s'\n", $standby->port, $standby->host);
	start_by($standby, $start);
	$node{$name} = $standby;
	return;
}

# Starts it by the page's command, so that its end also ends it.
sub start_by
{
	my ($server, $command) = @_;
	local $ENV{PGDATA} = $server->data_dir;
	like((run_command([ 'sh', '-c', $command ]))[0], qr/server started/, $server->name . ': starts');
	$server->_update_pid(1);
	return;
}

# --- 2. The registry

my $registry = $node{registry1} = new_node('registry1', undef, allows_streaming => 1);
sub rules_of { return block($_[0]) =~ s/^host (\S+ \S+) \S+ (\S+)/local $1 $2/mgr }
let_in($registry, rules_of('hba') =~ s/app,//r);
is(run_on('registry1', 'postgres', command('CREATE ROLE replicator') . ';' . command('SELECT pg_reload_conf()')), 't', 'registry1 reloads');
make_standby('registry1', 'registry2');
block_prints('registry1', 'postgres', 'synchronous');
is(run_on('registry1', 'postgres', block('registry')), '', 'registry prints an empty line');
is(run_on('registry1', 'registry', q(SELECT extnamespace::regnamespace FROM pg_extension WHERE extname = 'shardid')), 'public', 'where shardid goes');

# --- 3. The members

my $both = sprintf "host '%s,%s', port '%s,%s'", map { ($node{registry1}->$_, $node{registry2}->$_) } 'host', 'port';
for my $name ('oslo', 'lisbon')
{
	$node{"${name}1"} = new_node("${name}1", undef, allows_streaming => 1);
	$node{"${name}1"}->safe_psql('postgres', $_) for 'CREATE DATABASE shop', 'CREATE ROLE app LOGIN', command('CREATE ROLE replicator');
	let_in($node{"${name}1"}, rules_of('hba') =~ s/app,//r);
	my $number = $number_of{$name};
	my $block = block('member') =~ s/host 'registry1\.example,registry2\.example'/$both/r =~ s/lisbon_member/${name}_member/r
	  =~ s/secret2/'secret' . ($number + 1)/er;
	is(run_on("${name}1", 'shop', $block), $number, "$name leases $number");
	run_on("${name}1", 'shop', block_of($before, 'table'));
	is(run_on("${name}1", 'shop', command('INSERT INTO photos'), 'app'), $number, "$name: app inserts");
	is(run_on("${name}1", 'shop', q(SELECT count(*) FROM photos WHERE id >= ids.id_lower_bound(now() - interval '1 hour')), 'app'), 1, 'and asks for a time');
}
make_standby('lisbon1', 'lisbon2');

# --- Alerts

run_on($_, $_ eq 'registry1' ? 'registry' : 'shop', command_of($before, 'CREATE ROLE watcher')) for qw(registry1 oslo1 lisbon1);
run_on($_, 'shop', command_of($before, 'GRANT USAGE ON SCHEMA ids TO watcher')) for qw(oslo1 lisbon1);

append_to_file("$dir/shop.sql", block_of($before, 'alerts') =~ s/5 seconds/11 minutes/r . block('watch_member'));
append_to_file("$dir/registry.sql", block('watch_registry'));
my ($watch_shop, $watch_registry) = (block_of($before, 'watch'), block('watch_registry_run'));
sub alerts_of
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $is_registry = $name =~ /^registry/;
	my $command = with_addresses($is_registry ? $watch_registry : $watch_shop, map { $name =~ s/\d//r . $_ } 1, 2);
	my ($out, $err) = run_command([ 'sh', '-c', "cd $dir; $command" ]);
	is($err, '', "$name: the queries of the alerts run");
	return $out;
}
is(alerts_of($_), '', "$_: no alert") for qw(registry1 oslo1 lisbon1);

# --- The nightly backup, also of a member. It must not count as a standby: commits would then wait for it only.

my $slow = IPC::Run::start([ 'sh', '-c', 'export PGAPPNAME=pg_basebackup; exec ' . with_addresses(block('backup'), 'registry2', 'registry1') =~ s{/backup/registry}{$dir/slow --max-rate=256k}r ]);
ok($node{registry1}->poll_query_until('postgres', q(SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = 'pg_basebackup' AND state = 'streaming'))),
	'a backup runs');
is(run_on('registry1', 'postgres', q(SELECT application_name = 'pg_basebackup', sync_state FROM pg_stat_replication WHERE state = 'streaming' ORDER BY 1)),
	"f|sync\nt|async", 'beside the synchronous standby');
$node{registry1}->safe_psql('postgres', q(SELECT pg_terminate_backend(pid) FROM pg_stat_replication WHERE application_name = 'pg_basebackup'));
$slow->finish;
back_up("$dir/registry");
# Not reloaded: the backup has the setting, oslo1 has no standby.
run_on('oslo1', 'postgres', q(ALTER SYSTEM SET synchronous_standby_names = '*'));
back_up("$dir/oslo", 'oslo1', 'oslo2');
run_on('oslo1', 'postgres', 'ALTER SYSTEM RESET synchronous_standby_names');

# --- A member fails over

my $old = $node{lisbon1};
$old->stop('immediate');
block_prints('lisbon2', 'shop', 'member_failover');
start_again($old);
like(answered(sub { return ($old->psql('shop', "SET shardid_lease.timeout = '1s'; SELECT ids.next_id()"))[2] }), qr/held by \S+, port @{[ $node{lisbon2}->port ]},/, 'the old primary generates no ids');
$old->stop;
is(alerts_of('lisbon2'), '', 'lisbon2: no alert');

# A generator that was leased after the backups.
is(run_on('oslo1', 'shop', q(CREATE SEQUENCE late; GRANT SELECT ON SEQUENCE late TO watcher; SELECT shardid_lease.lease_shard('shop', 'registry', 'late'))), 2, 'one more shard');

# --- The registry hangs, or waits for a standby that is gone: the check must not look well.

# How long a member waits for the registry.
sub patience { return run_on($_[0], 'postgres', "ALTER DATABASE shop SET shardid_lease.registry_timeout = '$_[1]'") }

freeze($node{registry1});
patience('oslo1', '1s');
like(run_on('oslo1', 'shop', block('member_check')), qr/held\|f\|.*no connection within /, 'oslo1: the check of a registry that hangs');
thaw();
patience('oslo1', '10s');
$node{registry2}->stop('immediate');
like(run_on('oslo1', 'shop', block('member_check')), qr/held\|f\|.*no answer within /, 'oslo1: the check of a registry without its standby');
patience('oslo1', '3min');
is(run_on('registry1', 'postgres', command('ALTER SYSTEM SET synchronous_standby_names') . ';' . command('SELECT pg_reload_conf(), pg_sleep')), 't|', 'registry1 waits for no standby');
block_prints('lisbon2', 'shop', 'member_check');
make_standby('registry1', 'registry2', $node{registry2});
block_prints('registry1', 'postgres', 'synchronous');
# As if it had been made without the step "alone": the standby then has the setting of its primary.
run_on('registry2', 'postgres', q(ALTER SYSTEM SET synchronous_standby_names = '*'));
run_on('registry1', 'registry', q(SELECT shardid_lease.reserve_shard('shop', 9, 'synchronous again')));

# --- The registry fails over

$node{registry1}->stop('immediate');
block_prints('registry2', 'registry', 'registry_failover');
block_prints('lisbon2', 'shop', 'member_check');
make_standby('registry2', 'registry1', $node{registry1});
block_prints('registry2', 'postgres', 'synchronous');
back_up("$dir/later");
like(slurp_file("$dir/later/backup_label"), qr/^BACKUP FROM: primary$/m, 'the next backup is of registry2');

# --- The registry is restored, from a backup of before the failovers. As of a standby, it has a standby.signal.

append_to_file("$dir/registry/standby.signal", '');
my %last = map { $_ => run_on($_, 'shop', 'SELECT ids.next_id()') } qw(oslo1 lisbon2);
$_->stop('immediate') for @node{qw(registry2 registry1)};

# Puts a backup in the place of this server, by the page's block.
sub restore_server
{
	my ($server, $name, $block, $backup) = @_;
	my $restored = PostgreSQL::Test::Cluster->new($name);
	@$restored{qw(_host _port)} = @{ $node{$server} }{qw(_host _port)};
	$node{$server} = $restored;
	my ($restore, $start) = block($block) =~ s{/backup/}{$dir/}r =~ /(.*\n.*\n.*\n)(.*\n)/;
	mkdir $restored->basedir;
	mkdir $restored->data_dir, 0700;
	{
		local $ENV{PGDATA} = $restored->data_dir;
		system_or_bail('sh', '-c', $restore);
	}
	$restored->append_conf('postgresql.conf', sprintf "port = %s\nunix_socket_directories = '%s'\n", $restored->port, $restored->host);
	start_by($restored, $start);
	return;
}
restore_server('registry1', 'restored', 'registry_restore');
# As if the backup were older than a lease.
run_on('registry1', 'registry', 'UPDATE shardid_lease.granted_shard SET from_ms = from_ms - 3600000, until_ms = until_ms - 3600000');
like(run_on('lisbon2', 'shop', block('member_check')), qr/held\|f\|.*is stopped/, 'the restored registry grants nothing');
{
	local $ENV{PGOPTIONS} = '';
	my ($said) = $page =~ m{`(no window that is granted from now on begins before) \.\.\.`};
	like(($node{registry1}->psql('registry', command('SELECT shardid_lease.registry_was_restored()')))[2], qr/NOTICE:  $said \d{4}-\S+ [\d:.]+\S*\d/, 'its NOTICE');
}
# What the page forbids: another member leases the shard of which the backup does not know.
is(run_on('lisbon2', 'shop', q(CREATE SEQUENCE forbidden; SELECT shardid_lease.lease_shard('shop', 'registry', 'forbidden'))), 2, 'a shard again');
my $port = $old->port;
my %wanted = (lisbon2 => qr/^\d\nheld\|f\|.*has an expired lease, last held by \S+, port $port, .*\(role lisbon_member\).*\nheld\|t\|$/,
	oslo1 => qr/^\d\nheld\|t\|\nheld\|f\|.*(?:is|last) held by .*\(role lisbon_member\)/);
for my $name (sort keys %wanted)
{
	like(run_on($name, 'shop', block('member_check') =~ s/shard_leases;/shard_leases ORDER BY shard;/r), $wanted{$name}, "$name: what the check shows");
}
is(run_on('lisbon2', 'shop', block_of('operations.md', 'take_over')), 2, 'lisbon takes over from its old primary');
is(run_on('registry1', 'registry', command_of('contrib/lease/README.md', 'SELECT shardid_lease.evict_shard(') =~ s/, 1\)/, 2)/r), '', 'the later holder is evicted');
run_on('lisbon2', 'shop', 'DROP SEQUENCE forbidden');
is(run_on('oslo1', 'shop', q(SELECT shardid_lease.take_over_shard('late'))), 2, 'oslo takes over from it');
block_prints('lisbon2', 'shop', 'member_check');
# The minutes that this test has run, by so much a lead can have shrunk.
my $passed = (time - $^T) / 60;
for my $name (sort keys %last)
{
	cmp_ok(run_on($name, 'shop', 'SELECT ids.next_id()'), '>', $last{$name}, "$name: continues above its ids");
	my $minutes = run_on($name, 'shop', 'SELECT extract(epoch FROM lead) / 60 FROM ids.id_generator_status()');
	ok($minutes >= 29 - $passed && $minutes < 60, "$name: $minutes minutes ahead of the clock");
	like(alerts_of($name), qr/^a generator needs attention\|ids\.shardid_seq\|00:\d\d:/, "$name: the alert shows it");
}
like(alerts_of('registry1'), qr/^shop\|0\|held\|/m, 'as does that of the registry');

# --- A lost cluster

$node{oslo1}->stop('immediate');
restore_server('oslo1', 'oslo_again', 'member_restore');
is(run_on('oslo1', 'shop', 'SHOW synchronous_standby_names'), '', 'the restored member waits for no standby');
is(run_on('oslo1', 'shop', join(';', map { command_of('operations.md', $_) } 'SELECT shardid_lease.take_over_shards()', 'SELECT ids.renew_identity()')), 1, 'the restored member takes over');
cmp_ok(run_on('oslo1', 'shop', 'SELECT ids.next_id()'), '>', $last{oslo1}, 'its ids are above those before');

# --- A registry's server that is switched off: simulated by a listener that accepts no more connections. Without the
# timeout of the page, the member does not try the other server.

my $hole;
socket($hole, PF_INET, SOCK_STREAM, 0) && bind($hole, sockaddr_in(0, INADDR_LOOPBACK)) && listen($hole, 0) or die $!;
my ($hole_port) = sockaddr_in(getsockname $hole);
my @waiting = map { IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $hole_port, Blocking => 0) } 1 .. 3;
my $trouble = 'SELECT error FROM shardid_lease.shard_leases WHERE failed_at IS NOT NULL';
my $renew = 'SELECT shardid_lease.renew_leases()';
patience('lisbon2', '1s');
my ($timeout) = $page =~ /(tcp_user_timeout '\d+')/ or die;
my $with_hole = sprintf "SET host '127.0.0.1,%s', SET port '%s,%s'", $node{registry1}->host, $hole_port, $node{registry1}->port;
run_on('lisbon2', 'shop', "ALTER SERVER registry OPTIONS ($with_hole, DROP tcp_user_timeout); $renew");
like(run_on('lisbon2', 'shop', $trouble), qr/no connection within shardid_lease\.registry_timeout/, 'a server that is switched off keeps the other one from being asked');
patience('lisbon2', '3min');
run_on('lisbon2', 'shop', "ALTER SERVER registry OPTIONS (ADD $timeout); $renew");
is(run_on('lisbon2', 'shop', $trouble), '', 'but not with the timeout of the page');

is_deeply([ grep { $_ && !$has_run{$_} } map { $_->{words} } blocks_of($runbook) ],
	[], 'every block of the runbook was run');
$_->stop for grep { -e $_->data_dir . '/postmaster.pid' } values %node;
done_testing();
