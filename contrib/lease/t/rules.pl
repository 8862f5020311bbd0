# Each rule that keeps the ids of a leased generator in its window, on one server that is registry and member: a
# generator that was moved, restarted or created again draws in a later window; at a window's end it draws nothing; and
# it has one shard and one layout. (The registry's rules are in sql/lease_registry.)
use Leases qw(registry_here wait_until);
use ShardidTest;

my $node = new_node('rules');
$node->safe_psql('postgres', registry_here() . <<'SQL');
SELECT shardid_lease.create_id_space('shop');
SELECT shardid_lease.lease_shard('shop', 'here', shard => 5);
SQL
my $lease = 60_000;

# Shard and sequence bits of the default layout.
my $bits = 13 + 10;

sub query { return $node->safe_psql('postgres', $_[0]) }

sub sqlstate
{
	my ($sql) = @_;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql");
	return $error =~ /ERROR:  (\w+)/ ? $1 : "no error";
}

# Once the registry has answered.
sub refusal
{
	my ($sql) = @_;
	my $state;
	wait_until(sub { ($state = sqlstate($sql)) ne '57P03' });
	return $state;
}

sub window
{
	my ($generator) = @_;
	my ($from, $until) = split /\|/,
	  query("SELECT from_ms, until_ms FROM shardid_lease.lease_window JOIN shardid_lease.leased_generator USING (origin) "
		  . "WHERE shardid_lease.sequence_oid(generator) = '$generator'::regclass");
	return { from => $from, until => $until };
}

# One session continues with the window that it has in memory, another reads it anew.
my $session = $node->background_psql('postgres');
sub drawn { return $session->query_safe("SELECT next_id() >> $bits") }
sub drawn_anew { return query("SELECT next_id() >> $bits") }

my $first = drawn();
my $window = window('shardid_seq');
cmp_ok($first, '>=', $window->{from}, 'an id is not before its window');
cmp_ok($first, '<', $window->{until}, 'nor after it');
cmp_ok($window->{until} - $window->{from}, '>=', $lease, 'of a lease');

# One shard, one layout.
is(query('SELECT id_shard(next_id()), id_shard(next_id(5))'), '5|5', 'its shard');
is(query('SET shardid.shard_id = 7; SELECT id_shard(next_id())'), 5, 'whatever shardid.shard_id says');
is(sqlstate('SELECT next_id(6)'), '55000', 'no other shard');
is(sqlstate('SELECT next_id(5); SELECT next_id(6)'), '55000', 'nor after its own');
is(sqlstate('SELECT next_ids(6, 10)'), '55000', 'nor of many ids');
is(sqlstate('SELECT next_id(5, shard_bits => 12)'), '55000', 'no other layout');

# After $change the old window is no longer valid: ids are in the next one.
sub goes_on_later
{
	my ($what, $change, $draw) = @_;
	my $before = window('shardid_seq');
	$change->();
	my $time = $draw->();
	my $after = window('shardid_seq');
	cmp_ok($time, '>=', $before->{until}, "$what: an id after the window of before");
	cmp_ok($after->{from}, '>=', $before->{until}, "$what: in a window after that");
	cmp_ok($time, '<', $after->{until}, "$what: not after this");
	cmp_ok(drawn_anew(), '>=', $before->{until}, "$what: nor does another session draw before it");
	return;
}

my $set_back = sub { query("SELECT setval('shardid_seq', (SELECT last_value - 1000000 FROM shardid_seq))") };
goes_on_later('set back', $set_back, \&drawn);
goes_on_later('set back again', $set_back, \&drawn);
goes_on_later('set back, and drawn by another session', $set_back, \&drawn_anew);
goes_on_later('started anew', sub { query('ALTER SEQUENCE shardid_seq RESTART') }, \&drawn);
is(sqlstate('BEGIN; ALTER SEQUENCE shardid_seq RESTART; SELECT next_id()'), '55000',
	'not drawn from storage whose page leaves no mark in WAL: wal_level is minimal');
$session->quit;
goes_on_later('the server restarted', sub { $node->restart }, \&drawn_anew);
goes_on_later('the server crashed', sub { $node->stop('immediate'); $node->start }, \&drawn_anew);

# The registry has granted the shard to another holder, whose window begins where this one ends.
query(q(SELECT shardid_lease.create_id_space('short', lease => '8 s')));
query('CREATE SEQUENCE short_seq');
query(q(SELECT shardid_lease.lease_shard('short', 'here', generator => 'short_seq')));
is(sqlstate("SELECT next_id(0, 'short_seq', shard_bits => 12)"), '55000', 'no other layout, for its first id either');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q(\set VERBOSITY sqlstate));
my $draw = "SELECT max(next_id(0, 'short_seq') >> $bits) FROM generate_series(1, 3)";
like($session->query($draw), qr/^\d+$/, 'there is a window');
my $until = query(<<'SQL');
UPDATE shardid_lease.granted_shard
SET origin = gen_random_uuid()::text, place = 'other', incarnation = 'other', until_ms = until_ms + 3600000, serial = serial + 1
WHERE space = 'short' RETURNING until_ms - 3600000
SQL
$session->query_safe(q(SET shardid_lease.timeout = '100 ms'));
my ($most, $draws, $end) = (0, 0, time + 120);
while (time < $end)
{
	my $time = $session->query($draw);
	last unless $time =~ /^\d+$/;
	$most = $time;
	$draws++;
}
note "$draws draws to the window's end";
cmp_ok($most, '<', $until, 'none is beyond it');
my $refused = "SET shardid_lease.timeout = '100 ms'; SELECT next_id(0, 'short_seq')";
is(refusal($refused), '55000', 'then there are none');
is(refusal("$refused FROM generate_series(1, 100)"), '55000', 'nor many');
$session->quit;

# A release is not rolled back with its transaction.
query('BEGIN; SELECT shardid_lease.release_shard(); ROLLBACK');
is(sqlstate('SELECT next_id()'), '55000', 'nothing is drawn after a release');
is(sqlstate('SELECT next_id(5)'), '55000', 'of its shard neither');

$node->stop;
done_testing();
