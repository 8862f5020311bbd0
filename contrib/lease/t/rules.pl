# Each rule that keeps the ids of a leased generator in its window, on one server that is registry and member: a
# generator that was moved, restarted or created again draws in a later window, and the time by which it is then ahead of
# the clock does not add up; at a window's end it draws nothing; and it has one shard and one layout. (The registry's
# rules are in sql/lease_registry.)
use List::Util 'max';
use Leases 'registry_here';
use ShardidTest;

my $node = new_node('rules');
$node->safe_psql('postgres', registry_here() . <<'SQL');
SELECT shardid_lease.create_id_space('shop', lease => '10 min', max_ahead => '12 min'), shardid_lease.create_id_space('short', lease => '2 s');
CREATE SEQUENCE short_seq;
SELECT shardid_lease.lease_shard('shop', 'here', shard => 5);
SQL
my ($lease, $bits) = (600_000, 13 + 10);
my $step = $lease / 32;
sub query { return $node->safe_psql('postgres', $_[0]) }

sub sqlstate { return substr error_on($node, $_[0]), 0, 5 }

sub window
{
	my ($from, $until) = split /\|/, query(<<'SQL');
SELECT from_ms, until_ms FROM shardid_lease.lease_window JOIN shardid_lease.leased_generator USING (origin)
WHERE shardid_lease.sequence_oid(generator) = 'shardid_seq'::regclass
SQL
	return { from => $from, until => $until };
}

# One session continues with the window that it has in memory, another reads it anew.
my $session = open_session($node);
sub drawn { return ask_safe($session, "SELECT next_id() >> $bits;") }
sub drawn_anew { return query("SELECT next_id() >> $bits") }

my ($first, $window) = (drawn(), window());
ok($first >= $window->{from} && $first < $window->{until}, 'an id is in its window');
cmp_ok($window->{until} - $window->{from}, '>=', $lease, 'of a lease');

# One shard, one layout.
is(query('SET shardid.shard_id = 7; SELECT id_shard(next_id()), id_shard(next_id(5))'), '5|5', 'its shard, whatever shardid.shard_id says');
is(sqlstate("SELECT $_"), '55000', "no other shard or layout: $_") for 'next_id(6)', 'next_id(5); SELECT next_id(6)', 'next_ids(6, 10)', 'next_id(5, shard_bits => 12)';

# After $change the old window is no longer valid: ids are in the next one. Ten changes at once take the generator a lease
# and ten small steps ahead of the clock.
my $ends = $window->{until};    # if the clock stood still
sub goes_on_later
{
	my ($what, $change, $draw) = @_;
	my $before = window();
	$change->();
	my ($time, $after) = ($draw->(), window());
	cmp_ok($after->{from}, '>=', $before->{until}, "$what: a window after that of before");
	ok($time >= $after->{from} && $time < $after->{until}, "$what: an id in it");
	cmp_ok(drawn_anew(), '>=', $before->{until}, "$what: nor does another session draw before it");
	my $clock = query('SELECT id_lower_bound(clock_timestamp()) >> 23');
	$ends = max($ends + $step, $clock + $lease);
	cmp_ok($after->{until}, '<=', $ends, "$what: it ends a lease from now, or a step after its beginning");
	return;
}

my $set_back = sub { query("SELECT setval('shardid_seq', (SELECT last_value - 1000000 FROM shardid_seq))") };
goes_on_later('set back', $set_back, \&drawn);
goes_on_later('set back again', $set_back, \&drawn);
goes_on_later('set back, and drawn by another session', $set_back, \&drawn_anew);
close_session($session);
goes_on_later("the server restarted, $_ times", sub { $node->restart }, \&drawn_anew) for 1 .. 6;
$session = open_session($node);
goes_on_later('started anew', sub { query('ALTER SEQUENCE shardid_seq RESTART') }, \&drawn);
is(sqlstate('BEGIN; ALTER SEQUENCE shardid_seq RESTART; SELECT next_id()'), '55000',
	'not drawn from storage whose page leaves no mark in WAL: wal_level is minimal');
close_session($session);
goes_on_later('the server crashed', sub { $node->stop('immediate'); $node->start }, \&drawn_anew);

# The registry has granted the shard to another holder, whose window begins where this one ends.
query(q(SELECT shardid_lease.lease_shard('short', 'here', generator => 'short_seq')));
is(sqlstate("SELECT next_id(0, 'short_seq', shard_bits => 12)"), '55000', 'no other layout, for its first id either');
$session = open_session($node, '-v', 'VERBOSITY=sqlstate');
my $draw = "SELECT max(next_id(0, 'short_seq') >> $bits) FROM generate_series(1, 3);";
like(my $most = ask($session, $draw), qr/^\d+$/, 'there is a window');
my $until = query(<<'SQL');
UPDATE shardid_lease.granted_shard
SET origin = gen_random_uuid()::text, place = 'other', family = 'other', until_ms = until_ms + 3600000, serial = serial + 1
WHERE space = 'short' RETURNING until_ms - 3600000
SQL
ask_safe($session, q(SET shardid_lease.timeout = '100 ms';));
await_event('it ends', sub { my $time = ask($session, $draw); return 1 unless $time =~ /^\d+$/; $most = $time; return 0 });
cmp_ok($most, '<', $until, 'no id is beyond it');
my ($refused, $state) = ("SET shardid_lease.timeout = '100 ms'; SELECT next_id(0, 'short_seq')");
for my $calls ($refused, "$refused FROM generate_series(1, 100)")
{
	# Once the registry has answered.
	await_event('an answer', sub { ($state = sqlstate($calls)) ne '57P03' });
	is($state, '55000', 'then there are none, nor many');
}
close_session($session);

# A release is not rolled back with its transaction.
query('BEGIN; SELECT shardid_lease.release_shard(); ROLLBACK');
is(sqlstate("SELECT $_"), '55000', "nothing is drawn after a release: $_") for 'next_id()', 'next_id(5)';

$node->stop;
done_testing();
