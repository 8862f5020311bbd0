# A member connects to its registry by the foreign server's options and the user mapping of the sequence's owner: with
# SCRAM over 240 ms, with TLS that verifies the certificate, never by a dblink connection of the session; and roles see
# errors of it only if they may. Then requests, answers and connections are lost or late: if the answer to a grant is lost,
# the next request gets the same shard; the next worker repeats a release that did not arrive; and an answer to a renewal
# that comes when the generator has another owner and another lease is not stored: the shard's earlier holder may have
# generated ids in such a window. A proxy in front of the registry loses and delays messages.
use IO::Socket::INET;
use Leases;
use Proxy;
use ShardidTest;

# Self-signed certificates for the name "localhost".
my $dir = PostgreSQL::Test::Utils::tempdir();
for my $name ('server', 'other')
{
	system_or_bail('openssl', 'req', '-new', '-x509', '-days', '2', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=localhost',
		'-addext', 'subjectAltName = DNS:localhost', '-keyout', "$dir/$name.key", '-out', "$dir/$name.crt", '-batch');
	chmod 0600, "$dir/$name.key";
}
my %spaces = (first => "lease => '10 s', max_ahead => '5 h'", ids => "lease => '10 min'", brief => "lease => '4 min'", other => "lease => '4 min'");
my $registry = new_registry('registry', \%spaces);
let_in($registry, join '', map { "$_ all +member 127.0.0.1/32 scram-sha-256\n" } 'hostssl', 'hostnossl');
$registry->append_conf('postgresql.conf', <<CONF);
listen_addresses = '127.0.0.1'
ssl = on
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
log_connections = on
CONF
$registry->restart;
my $proxy = Proxy->new($registry->port);
sub on_registry { return $registry->safe_psql('postgres', $_[0]) }
# The defaults.
my $member = new_node('member', "autovacuum = off\nshardid_lease.timeout = '5s'\nshardid_lease.registry_timeout = '5s'\n");
connect_to_registry($member, $registry, 'postgres', hostaddr => '127.0.0.1', host => 'localhost', port => $proxy->port, sslmode => 'disable');
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', @_) }
sub as_app { return error($_[0], role => 'app') }
sub alter { return on_member("ALTER SERVER registry OPTIONS ($_[0])") }

# From a page that was moved, for which a window must be requested.
sub move { return on_member(q(SELECT setval('ids', 1))) }
# Until the registry is asked again, the error is that of the request before.
sub refused { my ($name, $expected) = @_; return await_event($name, sub { move(); my $said = draw_one($member, 'ids'); die "$name: $said" if $said =~ /^\d+$/; return $said =~ $expected }) }
# After a failure the registry is not asked at once.
sub ids_come { my ($name) = @_; return await_event($name, sub { draw_one($member, 'ids') =~ /^\d+$/ }) }

# --- The defaults of shardid_lease.registry_timeout and shardid_lease.timeout are enough for a distant registry.

$proxy->mode('delay 120');
on_member('SET ROLE app; CREATE SEQUENCE ids');
await_event('a lease, 240 ms away, by SCRAM', sub { as_app(q(SELECT shardid_lease.lease_shard('first', 'registry', 'ids'))) eq 'no error' });
move();
ids_come('and it is renewed there');
$proxy->mode('pass');
# From now on only silence lasts too long.
sub patience { return on_member("ALTER DATABASE postgres SET shardid_lease.$_[0] = '$_[1]'") }
patience('registry_timeout', '3min');

# --- Errors distinguish what failed here from what the registry says. A role without the lease does not see them.

on_member(q(CREATE ROLE reader LOGIN; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT USAGE ON SEQUENCE ids TO reader, watcher));
my $mapping = 'ALTER USER MAPPING FOR app SERVER registry OPTIONS';
my %failures = (
	'wrong password' => [ sub { on_member("$mapping (SET password 'wrong')") }, sub { on_member("$mapping (SET password 'of the member')") },
		qr/Could not reach the registry: .*password authentication failed for user "member"/s ],
	'nobody there' => [ sub { $proxy->mode('refuse') }, sub { }, qr/Could not reach the registry: .*port \d+/s ],
	'silence' => [ sub { patience('registry_timeout', '1s'); $proxy->mode('swallow') }, sub { patience('registry_timeout', '3min') }, qr/Could not reach the registry: no connection within/ ],
	'a refusal' => [ sub { on_registry('REVOKE ALL ON FUNCTION shardid_lease.grant_shards FROM member') },
		sub { on_registry('GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO member') }, qr/The registry says: permission denied for function grant_shards/ ],
	'a refusal by another version' => [ sub { on_registry('ALTER TYPE shardid_lease.request_1 RENAME TO request_2') },
		sub { on_registry('ALTER TYPE shardid_lease.request_2 RENAME TO request_1') }, qr/The registry says: type "shardid_lease.request_1\[\]" does not exist/ ]);
for my $failure (sort keys %failures)
{
	my ($begin, $end, $expected) = @{ $failures{$failure} };
	$begin->();
	move();
	my $error = as_app("SET shardid_lease.timeout = '3s'; SELECT next_id(generator => 'ids')");
	like($error, $expected, "$failure: its owner reads why");
	unlike($error, $failure =~ /^a refusal/ ? qr/is held/ : qr/The registry says|is held/, 'which happened here, or there');
	like(on_member(q(SELECT error FROM shardid_lease.shard_leases WHERE generator = 'ids'::regclass)), $expected, 'so does the view');
	my $draw = "SET shardid_lease.timeout = 0; SELECT next_id(generator => 'ids')";
	like(error($draw, role => 'watcher'), $expected, 'pg_monitor as well');
	unlike(error($draw, role => 'reader'), qr/localhost|127\.0\.0\.1|"?member"?\b(?! of)|@{[ $proxy->port ]}|@{[ $registry->port ]}|says/,
		'one who may only draw reads no host, port or user');
	$end->();
	$proxy->mode('pass');
	ids_come("$failure: afterwards ids come");
}

on_registry(q(SELECT shardid_lease.reserve_shard('ids', 900, 'é, €')));
like(as_app(q(CREATE SEQUENCE IF NOT EXISTS more; SELECT shardid_lease.lease_shard('ids', 'registry', 'more', 900))), qr/is reserved: é, €/, 'any letters arrive');

# --- TLS, passwords and privileges.

alter("SET sslmode 'verify-full', ADD sslrootcert '$dir/server.crt'");
move();
ids_come('sslmode=verify-full');
like(slurp_file($registry->logfile), qr/connection authorized: user=member .*SSL enabled/, 'by an encrypted connection');
my @refused = (
	[ 'another certificate', sub { alter("SET sslrootcert '$dir/other.crt'") }, qr/57P03: .*Could not reach the registry: .*certificate verify failed/s ],
	[ 'another name', sub { alter("SET sslrootcert '$dir/server.crt', SET host 'elsewhere'") }, qr/Could not reach the registry: .*"elsewhere"/s ],
	[ 'no password', sub { alter("SET host 'localhost', SET sslmode 'disable', DROP sslrootcert"); on_member("$mapping (DROP password)") }, qr/ERROR: .*password/s ],
	[ 'no USAGE', sub { on_member("$mapping (ADD password 'of the member'); REVOKE USAGE ON FOREIGN SERVER registry FROM app") }, qr/ERROR: .*permission denied for foreign server/s ]);
for (@refused)
{
	my ($what, $do, $expected) = @$_;
	$do->();
	refused("refused: $what", $expected);
}
on_member('GRANT USAGE ON FOREIGN SERVER registry TO app');
# If the registry trusts the address, it could not tell members apart.
my $rest = let_in($registry, "host all +member 127.0.0.1/32 trust\n");
my $disconnect = q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'member');
on_registry($disconnect);
my $last = on_registry('SELECT max(until) FROM shardid_lease.id_space_shards');
refused('a registry that asks for no password', qr/password is required: the registry did not ask for one/s);
is(on_registry('SELECT max(until) FROM shardid_lease.id_space_shards'), $last, 'grants nothing');
let_in($registry, '', $rest);
on_registry($disconnect);
ids_come('then ids come again');

# --- What is no registry at all, and begins COPY: the worker neither waits for its end nor stays.

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die;
my $copies = fork // die "fork: $!";
if ($copies == 0)
{
	while (my $client = $listener->accept)
	{
		sysread $client, my $startup, 8192;
		syswrite $client, "R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
		sysread $client, my $statement, 8192;
		syswrite $client, "1\0\0\0\x042\0\0\0\x04G\0\0\0\x07\0\0\0";
		sysread $client, my $end, 8192;
	}
	POSIX::_exit(0);
}
on_member("CREATE SERVER copies FOREIGN DATA WRAPPER dblink_fdw OPTIONS (hostaddr '127.0.0.1', port '@{[ $listener->sockport ]}', sslmode 'disable', gssencmode 'disable')");
on_member('CREATE USER MAPPING FOR CURRENT_USER SERVER copies; CREATE SEQUENCE by_copy');
like(error(q(SELECT shardid_lease.lease_shard('ids', 'copies', 'by_copy'))), qr/57P03: .*Could not reach the registry: it gave no answer/s, 'an answer that begins COPY is none');
await_event('no worker stays', sub { workers_of($member) == 0 });
kill 'KILL', $copies;
waitpid $copies, 0;

# --- A dblink connection of the session that has the foreign server's name, to a server that is no registry, is not used.

is(on_member(<<SQL), "OK\n0", 'a dblink connection of the server\'s name is not used');
SELECT public.dblink_connect('registry', 'host=@{[ $member->host ]} port=@{[ $member->port ]} dbname=postgres user=' || current_user);
SELECT shardid_lease.lease_shard('first', 'registry', 'ids');
SQL
on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('ids')));
patience('timeout', '3min');

# --- Lost: lease_shard(), of any shard and of a given one. %granted_by: whether the registry grants it in this mode.

sub held { return on_registry(q(SELECT coalesce(string_agg(shard::text, ' ' ORDER BY shard), '') FROM shardid_lease.granted_shard WHERE state = 'held')) }
sub state_there { return on_registry("SELECT state FROM shardid_lease.granted_shard WHERE space = '$_[0]' AND shard = $_[1]") }
my $state_of = 'SELECT state FROM shardid_lease.shard_leases WHERE generator =';
my %granted_by = (cut_before => 0, cut_after => 1);
my ($next, @expected) = (0);
for my $mode (sort keys %granted_by)
{
	for my $given ('', ', ' . (100 + $next))
	{
		my $generator = $mode . ($given ? '_given' : '_any');
		my $ours = $given ? $given =~ s/, //r : $next++;
		my $ask = "SELECT shardid_lease.lease_shard('ids', 'registry', '$generator'$given)";
		on_member("SET ROLE app; CREATE SEQUENCE $generator");
		$proxy->mode($mode);
		my $error = as_app($ask);
		like($error, qr/ERROR:  \w+: .*\n?.*(Could not reach the registry|did not answer)/, "$generator: the error says that the registry was not reached");
		unlike($error, qr/registry says/, 'and not that it said so');
		is(scalar(grep { $_ == $ours } split / /, held()), $granted_by{$mode}, "granted there $granted_by{$mode} times");
		is(on_member("$state_of '$generator'::regclass; SELECT id_shard(next_id(4000, '$generator'))"), "joining\n4000", 'joining here, and drawn from as before');
		$proxy->mode('pass');
		is(on_member("SET ROLE app; $ask; SELECT id_shard(next_id(generator => '$generator'))"), "$ours\n$ours", "asked again, it has shard $ours, and draws");
		push @expected, $ours;
		is(held(), join(' ', sort { $a <=> $b } @expected), 'and no other');
	}
}

# --- release_shard(): if the request is lost, the next worker repeats it; if the answer is lost, it is released.

for my $mode (sort keys %granted_by)
{
	my $released = "${mode}_any";
	my $its_shard = on_member("SELECT shard FROM shardid_lease.shard_leases WHERE generator = '$released'::regclass");
	draw_one($member, $released);
	$proxy->mode($mode);
	like(as_app("SELECT shardid_lease.release_shard('$released')") . slurp_file($member->logfile), qr/WARNING:  /, "release, $mode: a warning");
	is(on_member("$state_of '$released'::regclass"), 'sealed', 'sealed');
	like(draw_one($member, $released), qr/55000: .*has released its lease/, 'draws nothing');
	is(state_there('ids', $its_shard), $granted_by{$mode} ? 'released' : 'held', 'what the registry knows');
	$proxy->mode('pass');
	is(on_member("SET ROLE app; SELECT shardid_lease.renew_leases() > 0; $state_of '$released'::regclass"), "t\nreleased", 'the worker of another generator');
	is(state_there('ids', $its_shard), 'released', 'tells it again');
}

# --- The answer to a renewal comes late, when another owner has leased the same number of another id space. (In t/torture it
# is that to the first of its two calls.)

on_member(<<'SQL');
CREATE ROLE heir LOGIN;
CREATE USER MAPPING FOR heir SERVER registry OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER registry TO heir;
GRANT CREATE ON SCHEMA public TO heir;
SQL
# Each is the only one of its owner that is leased, as in a renewal of its own.
on_member(q(SELECT shardid_lease.release_shard(generator) FROM shardid_lease.shard_leases WHERE state = 'held'));
is(held(), '', 'all are released');
my ($its, $of) = (205, 'changes_owner');
# The shard's holder before generates all ids of the next 2 s; some of them are noted.
for my $space ('other', 'brief')
{
	lease($member, $space, 'before', shard => $its);
	all_ids([ split /\n/, on_member(<<"SQL") ]) if $space eq 'brief';
SET shardid.max_borrow = '60s';
SELECT id FROM next_ids($its, 2 * 1024000, 'before') id WHERE id % 64 = 0;
SQL
	on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('before')));
}
lease($member, 'other', $of, shard => $its);
await_event('no worker', sub { workers_of($member) == 0 });
my $held = $proxy->held;
# Until its release, but by less than shardid_lease.registry_timeout.
$proxy->mode('late_answer 150000 receipts');
my $renewal = start_drawing($member, $of, settings => "SELECT shardid_lease.renew_now('$of');");
await_event('an answer to the renewal', sub { $proxy->held > $held });
$proxy->mode('pass');
on_member("ALTER SEQUENCE $of OWNER TO heir");
my $as_heir = 'SET ROLE heir; SELECT shardid_lease.';
is(on_member("${as_heir}release_shard('$of'); ${as_heir}lease_shard('brief', 'registry', '$of', $its)"), "\n$its", "meanwhile another owner has leased shard $its");
my $granted = "SELECT until FROM shardid_lease.id_space_shards WHERE space = 'brief' AND shard = $its";
my $stored = qq(SELECT shard, "from", until FROM shardid_lease.shard_leases WHERE generator = '$of'::regclass);
my ($until, $window) = (on_registry($granted), on_member($stored));
like($window, qr/^$its\|.*\|\Q$until\E$/, 'in the window that the registry has granted');
cmp_ok($proxy->links, '>', 0, 'the answer has not arrived yet');
$proxy->mode('release');
await_event('it arrives', sub { $proxy->links == 0 });
finish_drawing($renewal);
is(on_member($stored), $window, 'and the window stays as it was');
my ($ids) = draw_from_all([ $member, 'postgres', $of ]);
cmp_ok($ids, '>', 0, "$ids ids of shard $its");
is(on_registry($granted) . state_there('other', $its), "${until}released", 'that of the other id space is released');

no_id_comes_twice('ways to a registry, lost and late messages', $member, $registry);
