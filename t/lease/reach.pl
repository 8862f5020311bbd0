# A member connects to its registry by the foreign server's options and the user mapping of the sequence's owner: with
# SCRAM over 240 ms, with TLS that verifies the certificate, only to the registry that it knows, never by a dblink
# connection of the session; and roles see errors of it only if they may.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Leases;
use Proxy;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();

# A self-signed certificate for the name "localhost".
sub certificate
{
	my ($name) = @_;
	system_or_bail('openssl', 'req', '-new', '-x509', '-days', '2', '-nodes', '-newkey', 'rsa:2048', '-subj', '/CN=localhost',
		'-addext', 'subjectAltName = DNS:localhost', '-keyout', "$dir/$name.key", '-out', "$dir/$name.crt", '-batch');
	chmod 0600, "$dir/$name.key";
	return;
}
certificate($_) for 'server', 'other';

sub registry_with_tls
{
	my ($name) = @_;
	my $registry = new_registry($name);
	on_loopback($registry, "ssl = on\nssl_cert_file = '$dir/server.crt'\nssl_key_file = '$dir/server.key'\nlog_connections = on\n");
	$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '2 s')));
	return $registry;
}
my $registry = registry_with_tls('registry');
my $proxy = Proxy->new($registry->port);
my $member = new_node('member', "autovacuum = off\n");
connect_to_registry($member, $registry, 'postgres', hostaddr => '127.0.0.1', host => 'localhost', port => $proxy->port, sslmode => 'disable');
sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub error { return error_of($member, 'postgres', @_) }
sub of_view { return on_member("SELECT $_[0] FROM shardid_lease.shard_leases WHERE generator = 'ids'::regclass") }

# Draws after the window's end, so that a new one must be requested: returns the id, or the error.
sub draw_later
{
	$registry->poll_query_until('postgres', 'SELECT bool_and(until < clock_timestamp()) FROM shardid_lease.id_space_shards')
	  or die 'a lease does not end';
	return draw_one($member, 'ids');
}

# --- The defaults of shardid.registry_timeout and shardid.lease_timeout are enough for a distant registry.

$proxy->mode('delay 120');
is(lease($member, 'ids', 'ids'), 0, 'a lease, 240 ms away, by SCRAM');
like(draw_later(), qr/^\d+$/, 'and it is renewed there');
$proxy->mode('pass');

# --- TLS.

on_member("ALTER SERVER registry OPTIONS (SET sslmode 'require')");
like(draw_later(), qr/^\d+$/, 'sslmode=require');
on_member("ALTER SERVER registry OPTIONS (SET sslmode 'verify-full', ADD sslrootcert '$dir/server.crt')");
like(draw_later(), qr/^\d+$/, 'sslmode=verify-full');
like($registry->safe_psql('postgres', q(SELECT count(*) FILTER (WHERE ssl) FROM pg_stat_ssl)), qr/^\d+$/, 'the registry has TLS');
my $encrypted = () = slurp_file($registry->logfile) =~ /connection authorized: user=member .*SSL enabled/g;
cmp_ok($encrypted, '>=', 2, "$encrypted of the member's connections were encrypted");
on_member("ALTER SERVER registry OPTIONS (SET sslrootcert '$dir/other.crt')");
like(draw_later(), qr/57P03: .*Could not reach the registry: .*certificate verify failed/s, 'not with another certificate');
on_member("ALTER SERVER registry OPTIONS (SET sslrootcert '$dir/server.crt', SET host 'elsewhere')");
like(draw_later(), qr/Could not reach the registry: .*"elsewhere"/s, 'nor by another name');
on_member("ALTER SERVER registry OPTIONS (SET host 'localhost')");
like(draw_later(), qr/^\d+$/, 'by its own name again');

# --- Errors distinguish what failed here from what the registry says. A role without the lease does not see them.

on_member(q(CREATE ROLE reader LOGIN; GRANT USAGE ON SEQUENCE ids TO reader; CREATE ROLE watcher LOGIN IN ROLE pg_monitor; GRANT USAGE ON SEQUENCE ids TO watcher));
on_member("ALTER SERVER registry OPTIONS (SET sslmode 'disable', DROP sslrootcert)");
my %failures = (
	'wrong password' => [ "ALTER USER MAPPING FOR app SERVER registry OPTIONS (SET password 'wrong')", qr/Could not reach the registry: .*password authentication failed for user "member"/s ],
	'nobody there' => [ sub { $proxy->mode('refuse') }, qr/Could not reach the registry: .*port \d+/s ],
	'silence' => [ sub { $proxy->mode('swallow') }, qr/Could not reach the registry: no connection within/ ],
	'a refusal' => [ sub { $registry->safe_psql('postgres', q(REVOKE ALL ON FUNCTION shardid_lease.grant_shards FROM member)) }, qr/The registry says: permission denied for function grant_shards/ ]);
for my $failure (sort keys %failures)
{
	my ($do, $expected) = @{ $failures{$failure} };
	ref $do ? $do->() : on_member($do);
	$registry->poll_query_until('postgres', 'SELECT bool_and(until < clock_timestamp()) FROM shardid_lease.id_space_shards') or die;
	my $error = error("SET shardid.lease_timeout = '10s'; SELECT next_id(generator => 'ids')", role => 'app');
	my $draw = "SET shardid.lease_timeout = 0; SELECT next_id(generator => 'ids')";
	like($error, $expected, "$failure: its owner reads why");
	unlike($error, qr/The registry says/, "$failure: which happened here") unless $failure eq 'a refusal';
	unlike($error, qr/is held/, "$failure: an expired lease is not called held");
	like(of_view('error'), $expected, "$failure: so does the view");
	like(error($draw, role => 'watcher'), $expected, "$failure: pg_monitor as well");
	unlike(error($draw, role => 'reader'), qr/localhost|127\.0\.0\.1|"?member"?\b(?! of)|@{[ $proxy->port ]}|@{[ $registry->port ]}|says/,
		"$failure: one who may only draw reads no host, port or user");
	on_member("ALTER USER MAPPING FOR app SERVER registry OPTIONS (SET password 'of the member')");
	$registry->safe_psql('postgres', q(GRANT EXECUTE ON FUNCTION shardid_lease.grant_shards TO member));
	$proxy->mode('pass');
	like(draw_one($member, 'ids'), qr/^\d+$/, "$failure: afterwards ids come");
}
on_member(q(ALTER USER MAPPING FOR app SERVER registry OPTIONS (DROP password)));
like(draw_later(), qr/ERROR: .*password/s, 'one who is no superuser has to bring a password');
on_member(q(ALTER USER MAPPING FOR app SERVER registry OPTIONS (ADD password 'of the member')));
# If the registry trusts the address, it could not tell members apart.
{
	my $hba = $registry->data_dir . '/pg_hba.conf';
	my $rest = slurp_file($hba);
	my $let_in = sub {
		my ($first) = @_;
		open my $file, '>', $hba or die;
		print $file $first, $rest;
		close $file;
		$registry->reload;
		$registry->safe_psql('postgres', q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'member'));
		return;
	};
	$let_in->("host all +member 127.0.0.1/32 trust\n");
	my $window = $registry->safe_psql('postgres', 'SELECT max(until) FROM shardid_lease.id_space_shards');
	like(draw_later(), qr/password is required: the registry did not ask for one/s, 'and the registry to ask for it');
	is($registry->safe_psql('postgres', 'SELECT max(until) FROM shardid_lease.id_space_shards'), $window, 'nothing is granted without');
	$let_in->('');
	like(draw_one($member, 'ids'), qr/^\d+$/, 'else ids come again');
}
on_member(q(REVOKE USAGE ON FOREIGN SERVER registry FROM app));
like(draw_later(), qr/ERROR: .*permission denied for foreign server/s, 'and to have USAGE on the server');
on_member(q(GRANT USAGE ON FOREIGN SERVER registry TO app));
like(draw_one($member, 'ids'), qr/^\d+$/, 'then ids come again');

# --- By mistake another registry, with an id space of the same name.

my $other = registry_with_tls('other');
$other->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('more')));
$proxy->lead_to($other->port);
my $error = draw_later();
like($error, qr/55000: .*id space "ids" of this registry is another one/s, 'another registry: refused, and why');
is($other->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.granted_shard'), 0, 'nothing is granted there');
on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('ids')));
is(of_view('state'), 'sealed', 'a release does not reach its registry');
$proxy->lead_to($registry->port);
on_member(q(SET ROLE app; SELECT shardid_lease.release_shard('ids')));
is(of_view('state'), 'released', 'until it is the right registry again');

# --- A dblink connection of the session that has the foreign server's name is not used.

is(on_member(<<SQL), "OK\n0", 'a dblink connection of the server\'s name is not used');
SELECT public.dblink_connect('registry', 'host=@{[ $other->host ]} port=@{[ $other->port ]} dbname=postgres user=' || current_user);
SELECT shardid_lease.lease_shard('ids', 'registry', 'ids');
SQL
is($other->safe_psql('postgres', 'SELECT count(*) FROM shardid_lease.granted_shard'), 0, 'nothing is asked there');

no_id_comes_twice('ways to a registry');
$_->stop for $member, $registry, $other;
done_testing();
