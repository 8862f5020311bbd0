# The rules that keep the ids of a leased generator in its window, each met once, on one server that is registry and
# member: what was moved, restarted or remade draws in a later window; at a window's end there is nothing to draw;
# and there is one shard and one layout.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('rules');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('shop');
SELECT shardid_lease.lease_shard('shop', shard => 5);
SQL

# Of the default layout, as id_space has it.
my $bits = 13 + 10;

sub query { return $node->safe_psql('postgres', $_[0]) }

sub sqlstate
{
	my ($sql) = @_;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql");
	return $error =~ /ERROR:  (\w+)/ ? $1 : "no error";
}

sub window
{
	my ($generator) = @_;
	my ($from, $until) = split /\|/,
	  query("SELECT from_ms, until_ms FROM shardid_lease.lease_window WHERE generator = '$generator'::regclass");
	return { from => $from, until => $until };
}

# One who goes on with what it has kept of its window, and one who reads it.
my $session = $node->background_psql('postgres');
sub drawn { return $session->query_safe("SELECT next_id() >> $bits") }
sub drawn_anew { return query("SELECT next_id() >> $bits") }

my $first = drawn();
my $window = window('shardid_seq');
cmp_ok($first, '>=', $window->{from}, 'an id is not before its window');
cmp_ok($first, '<', $window->{until}, 'nor after it');
ok(abs($window->{until} - $window->{from} - 65_000) <= 5000, 'of a lease, of which little is gone');

# One shard, one layout.
is(query('SELECT id_shard(next_id()), id_shard(next_id(5))'), '5|5', 'its shard');
is(query('SET shardid.shard_id = 7; SELECT id_shard(next_id())'), 5, 'whatever shardid.shard_id says');
is(sqlstate('SELECT next_id(6)'), '55000', 'no other shard');
is(sqlstate('SELECT next_id(5); SELECT next_id(6)'), '55000', 'nor after its own');
is(sqlstate('SELECT next_ids(6, 10)'), '55000', 'nor of many ids');
is(sqlstate('SELECT next_id(5, shard_bits => 12)'), '55000', 'no other layout');

# What the window of before does not hold any more: ids are of the next one.
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

# The registry has another holder, whose window begins where this one ends.
query(<<'SQL');
SELECT shardid_lease.create_id_space('short', lease => '1 s');
CREATE SEQUENCE short_seq;
SELECT shardid_lease.lease_shard('short', generator => 'short_seq');
SQL
is(sqlstate("SELECT next_id(0, 'short_seq', shard_bits => 12)"), '55000', 'no other layout, for its first id either');
$session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_safe(q(SET shardid.lease_timeout = '100 ms'));
$session->query_safe(q(\set VERBOSITY sqlstate));
my $draw = "SELECT max(next_id(0, 'short_seq') >> $bits) FROM generate_series(1, 3)";
like($session->query($draw), qr/^\d+$/, 'there is a window');
my $until = query(<<'SQL');
UPDATE shardid_lease.granted_shard SET origin = 'other', place = 'other', incarnation = 'other', until_ms = until_ms + 3600000
WHERE space = 'short' RETURNING until_ms - 3600000
SQL
my ($most, $draws) = (0, 0);
for my $deadline (time + 10)
{
	while (time < $deadline)
	{
		my $time = $session->query($draw);
		last unless $time =~ /^\d+$/;
		$most = $time;
		$draws++;
	}
}
cmp_ok($draws, '>', 0, "ids go on to the window's end");
cmp_ok($most, '<', $until, 'and not beyond it');
my $refused = "SET shardid.lease_timeout = '100 ms'; SELECT next_id(0, 'short_seq')";
is(sqlstate($refused), '55000', 'then there are none');
is(sqlstate("$refused FROM generate_series(1, 100)"), '55000', 'nor many');
$session->quit;

# Given back, and the transaction rolled back.
query('BEGIN; SELECT shardid_lease.release_shard(); ROLLBACK');
is(sqlstate('SELECT next_id()'), '55000', 'nothing is drawn after a release');
is(sqlstate('SELECT next_id(5)'), '55000', 'of its shard neither');

# The registry, asked for shard 100 by servers that are made up. Times are in milliseconds.
my $lease = 60_000;
my $clock = query(q(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)));
my $epoch = query(q(SELECT floor(extract(epoch FROM epoch) * 1000) FROM shardid_lease.id_space WHERE name = 'shop'));

sub ask
{
	my (%request) = (space => 'shop', shard => 100, origin => 'o', tick => 0, clock => $clock, @_);
	my $json = '{' . join(', ', map { qq("$_": "$request{$_}") } sort keys %request) . '}';
	my ($from, $until) = split /\|/,
	  query("SELECT a->>'from', a->>'until' FROM jsonb_array_elements(shardid_lease.grant_shards('[$json]')) a WHERE (a->>'ok')::boolean");
	return defined $from ? { from => $from, until => $until } : undef;
}

sub give_back
{
	my (%request) = (space => 'shop', shard => 100, origin => 'o', @_);
	my $json = '{' . join(', ', map { qq("$_": "$request{$_}") } sort keys %request) . '}';
	return query("SELECT shardid_lease.return_shard('$json')->>'ok'");
}

# As if so much time had passed.
sub pass
{
	my ($ms) = @_;
	query("UPDATE shardid_lease.granted_shard SET from_ms = from_ms - $ms, until_ms = until_ms - $ms WHERE shard = 100");
	return;
}

my @a = (place => 'a', incarnation => 'a1');
my @a_again = (place => 'a', incarnation => 'a2');
my @b = (place => 'b', incarnation => 'b1');
my @stranger = (place => 'c', incarnation => 'c1', origin => 'other');

my $held = ask(@a);
is($held->{until} - $held->{from}, $lease, 'a shard that nobody had');
is(ask(@b), undef, 'not granted to a copy of its holder');
is(ask(@stranger), undef, 'nor to a stranger');
my $more = ask(@a, clock => $clock + 40_000);
is_deeply([ $more->{from}, $more->{until} - $held->{until} ], [ $held->{from}, 40_000 ], 'but to its holder for longer');
is(ask(@a)->{until}, $more->{until}, 'never for less long');
my $restarted = ask(@a_again);
is($restarted->{from}, $more->{until}, 'restarted, it gets the next window');
is(ask(@b, takes_over => 'true')->{from}, $restarted->{until}, 'who takes over gets the one after that');
is(ask(@a_again), undef, 'the displaced holder none');
is(give_back(@a_again, tick => 0), 'false', 'nor can it give back what it has not');
my $later = ask(@b);
is(give_back(@b, from => $later->{from}, tick => 0), 'true', 'given back by who never drew');
is(ask(@stranger)->{from}, $later->{from}, 'all of its window is left, and nothing before it');
is(give_back(@stranger, from => $later->{from}, tick => ($later->{from} + 10) << 10 | 1023), 'true', 'given back by who drew');
$held = ask(@a);
is($held->{from}, $later->{from} + 11, 'the next window begins after that');

my $anew = ask(@a, joins => 'true');
is($anew->{from}, $held->{until}, 'leased anew, it gets a window of its own');
is(give_back(@a, from => $held->{from}, tick => ($held->{from} + 1) << 10), 'false', 'a release of the window before comes too late');
is(ask(@b), undef, 'and frees nothing');
$held = ask(@a);
is($held->{from}, $anew->{from}, 'its holder goes on');

pass($held->{until} - ($clock - $epoch) + 1000);
is(ask(@stranger), undef, 'expired: not granted to a stranger yet');
ok(ask(@b), 'but to a copy');
pass(31 * 86_400_000);
ok(ask(@stranger), 'long expired: to a stranger');

is(ask(@stranger, clock => $clock + 3_700_000), undef, 'not to who is further ahead than max_ahead');
is(ask(@stranger, tick => ($clock - $epoch + 3_700_000) << 10), undef, 'nor by its generator');
ok(ask(@stranger, clock => $clock + 3_500_000), 'less is allowed');

# A reserved shard, released by a message that the registry has not seen yet, and leased anew at the same place.
my @reserved = (shard => 101, permanent => 'true', @a);
$held = ask(@reserved);
is(ask(@reserved)->{from}, $held->{from}, 'reserved for good');
$anew = ask(@reserved, joins => 'true');
cmp_ok($anew->{from}, '>', $held->{from}, 'leased anew, it is another lease');
is(give_back(@reserved, from => $held->{from}, tick => ($held->{from} + 1) << 10), 'false', 'a release of the one before comes too late');
is(give_back(@reserved, from => $held->{from}), 'false', 'of a generator that was moved, too');
is(ask(@reserved, @b), undef, 'and frees nothing');
is(give_back(@reserved, from => $anew->{from}, tick => ($anew->{from} + 1) << 10), 'true', 'its own release does');

# A member tells which it had.
query('CREATE SEQUENCE reserved');
my $lease_reserved = q(SELECT shardid_lease.lease_shard('shop', generator => 'reserved', shard => 102, permanent => true));
for my $times ('first', 'second')
{
	query($lease_reserved);
	is( query(q(SELECT shardid_lease.return_request('reserved')->>'from')),
		query(q(SELECT from_ms FROM shardid_lease.granted_shard WHERE shard = 102)),
		"the $times time, the member's release names its lease");
	query(q(SELECT shardid_lease.release_shard('reserved')));
	is(query(q(SELECT state FROM shardid_lease.granted_shard WHERE shard = 102)), 'released', 'and is taken');
}

query('SELECT shardid_lease.registry_was_restored()');
cmp_ok(ask(@stranger)->{from}, '>=', $clock - $epoch + 3_600_000 + $lease, "after a restore a holder's next window is a later one")
  for 1 .. 2;

$node->stop;
done_testing();
