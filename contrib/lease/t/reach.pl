# A member connects to its registry by the foreign server's options and the user mapping of the sequence's owner: with
# SCRAM over 240 ms, with TLS that verifies the certificate, only to the registry that it knows, never by a dblink
# connection of the session; and roles see errors of it only if they may.
use IO::Socket::INET;
use Leases;
use Proxy;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();

# Self-signed certificates for the name "localhost".
for my $name ('server', 'other')
{
	system_or_bail('openssl', 'req', '-new', '-x509', '-days', '2', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=localhost',
		'-addext', 'subjectAltName = DNS:localhost', '-keyout', "$dir/$name.key", '-out', "$dir/$name.crt", '-batch');
	chmod 0600, "$dir/$name.key";
}

sub registry_with_tls
{
	my ($name) = @_;
	my $registry = new_registry($name);
	on_loopback($registry, "ssl = on\nssl_cert_file = '$dir/server.crt'\nssl_key_file = '$dir/server.key'\nlog_connections = on\n");
	$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '10 s', max_ahead => '5 h')));
	return $registry;
}
my $registry = registry_with_tls('registry');
my $proxy = Proxy->new($registry->port);
# The defaults.
my $member = new_node('member', "autovacuum = off\nshardid_lease.timeout = '5s'\nshardid_lease.registry_timeout = '5s'\n");
connect_to_registry($member, $registry, 'postgres', hostaddr => '127.0.0.1', host => 'localhost', port => $proxy->port, sslmode => 'disable');
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', @_) }
sub of_view { return on_member("SELECT $_[0] FROM shardid_lease.shard_leases WHERE generator = 'ids'::regclass") }

# From a page that was moved, for which a window must be requested.
sub move { return on_member(q(SELECT setval('ids', 1))) }
sub draw_anew { move(); return draw_one($member, 'ids') }
# After a failure the registry is not asked at once.
sub ids_come { return ok(wait_until(sub { draw_one($member, 'ids') =~ /^\d+$/ }), $_[0]) }

# --- The defaults of shardid_lease.registry_timeout and shardid_lease.timeout are enough for a distant registry.

$proxy->mode('delay 120');
on_member('SET ROLE app; CREATE SEQUENCE ids');
ok(wait_until(sub { error(q(SET ROLE app; SELECT shardid_lease.lease_shard('ids', 'registry', 'ids'))) eq 'no error' }), 'a lease, 240 ms away, by SCRAM');
move();
ids_come('and it is renewed there');
$proxy->mode('pass');
# From now on only silence lasts too long.
sub patience { return on_member("ALTER DATABASE postgres SET shardid_lease.registry_timeout = '$_[0]'") }
patience('3min');

# --- Errors distinguish what failed here from what the registry says. A role without the lease does not see them.

on_member(q(CREATE ROLE reader LOGIN; GRANT USAGE ON SEQUENCE ids TO reader; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT USAGE ON SEQUENCE ids TO watcher));
my %failures = (
	'wrong password' => [ "ALTER USER MAPPING FOR app SERVER registry OPTIONS (SET password 'wrong')", qr/Could not reach the registry: .*password authentication failed for user "member"/s ],
	'nobody there' => [ sub { $proxy->mode('refuse') }, qr/Could not reach the registry: .*port \d+/s ],
	'silence' => [ sub { patience('1s'); $proxy->mode('swallow') }, qr/Could not reach the registry: no connection within/ ],
	'a refusal' => [ sub { $registry->safe_psql('postgres', q(REVOKE ALL ON FUNCTION shardid_lease.grant_shards FROM member)) }, qr/The registry says: permission denied for function grant_shards/ ]);
for my $failure (sort keys %failures)
{
	my ($do, $expected) = @{ $failures{$failure} };
	ref $do ? $do->() : on_member($do);
	move();
	my $error = error("SET shardid_lease.timeout = '3s'; SELECT next_id(generator => 'ids')", role => 'app');
	my $draw = "SET shardid_lease.timeout = 0; SELECT next_id(generator => 'ids')";
	like($error, $expected, "$failure: its owner reads why");
	unlike($error, qr/The registry says/, "$failure: which happened here") unless $failure eq 'a refusal';
	unlike($error, qr/is held/, "$failure: an expired lease is not called held");
	like(of_view('error'), $expected, "$failure: so does the view");
	like(error($draw, role => 'watcher'), $expected, "$failure: pg_monitor as well");
	unlike(error($draw, role => 'reader'), qr/localhost|127\.0\.0\.1|"?member"?\b(?! of)|@{[ $proxy->port ]}|@{[ $registry->port ]}|says/,
		"$failure: one who may only draw reads no host, port or user");
	on_member("ALTER USER MAPPING FOR app SERVER registry OPTIONS (SET password 'of the member')");
	$registry->safe_psql('postgres', q(GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO member));
	patience('3min');
	$proxy->mode('pass');
	ids_come("$failure: afterwards ids come");
}
# --- TLS.

on_member("ALTER SERVER registry OPTIONS (SET sslmode 'verify-full', ADD sslrootcert '$dir/server.crt')");
move();
ids_come('sslmode=verify-full');
like(slurp_file($registry->logfile), qr/connection authorized: user=member .*SSL enabled/, 'by an encrypted connection');
on_member("ALTER SERVER registry OPTIONS (SET sslrootcert '$dir/other.crt')");
like(draw_anew(), qr/57P03: .*Could not reach the registry: .*certificate verify failed/s, 'not with another certificate');
on_member("ALTER SERVER registry OPTIONS (SET sslrootcert '$dir/server.crt', SET host 'elsewhere')");
like(draw_anew(), qr/Could not reach the registry: .*"elsewhere"/s, 'nor by another name');
on_member("ALTER SERVER registry OPTIONS (SET host 'localhost', SET sslmode 'disable', DROP sslrootcert)");

# --- Passwords and privileges.

on_member(q(ALTER USER MAPPING FOR app SERVER registry OPTIONS (DROP password)));
like(draw_anew(), qr/ERROR: .*password/s, 'one who is no superuser has to bring a password');
on_member(q(ALTER USER MAPPING FOR app SERVER registry OPTIONS (ADD password 'of the member')));
# If the registry trusts the address, it could not tell members apart.
{
	my $rest = let_in($registry, "host all +member 127.0.0.1/32 trust\n");
	my $disconnect = q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'member');
	$registry->safe_psql('postgres', $disconnect);
	my $window = $registry->safe_psql('postgres', 'SELECT max(until) FROM shardid_lease.id_space_shards');
	like(draw_anew(), qr/password is required: the registry did not ask for one/s, 'and the registry to ask for it');
	is($registry->safe_psql('postgres', 'SELECT max(until) FROM shardid_lease.id_space_shards'), $window, 'nothing is granted without');
	let_in($registry, '', $rest);
	$registry->safe_psql('postgres', $disconnect);
	ids_come('else ids come again');
}
on_member(q(REVOKE USAGE ON FOREIGN SERVER registry FROM app));
like(draw_anew(), qr/ERROR: .*permission denied for foreign server/s, 'and to have USAGE on the server');
on_member(q(GRANT USAGE ON FOREIGN SERVER registry TO app));
ids_come('then ids come again');

# --- By mistake another registry, with an id space of the same name.

my $other = registry_with_tls('other');
$other->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('more')));
$proxy->lead_to($other->port);
my $error = draw_anew();
like($error, qr/55000: .*id space "ids" of this registry is another one/s, 'another registry: refused, and why');
is($other->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.granted_shard'), 0, 'nothing is granted there');
on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('ids')));
is(of_view('state'), 'sealed', 'a release does not reach its registry');
$proxy->lead_to($registry->port);
on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('ids')));
is(of_view('state'), 'released', 'until it is the right registry again');

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
ok(wait_until(sub { workers_of($member) == 0 }), 'no worker stays');
kill 'KILL', $copies;
waitpid $copies, 0;

# --- A dblink connection of the session that has the foreign server's name is not used.

is(on_member(<<SQL), "OK\n0", 'a dblink connection of the server\'s name is not used');
SELECT public.dblink_connect('registry', 'host=@{[ $other->host ]} port=@{[ $other->port ]} dbname=postgres user=' || current_user);
SELECT shardid_lease.lease_shard('ids', 'registry', 'ids');
SQL
is($other->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.granted_shard'), 0, 'nothing is asked there');

no_id_comes_twice('ways to a registry');
$_->stop for $member, $registry, $other;
done_testing();
