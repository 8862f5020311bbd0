# Each rule by which a registry grants and takes back shards, by requests of imaginary servers: windows follow each
# other, only the holder gets a window, late requests change nothing, and a member that proves a forgotten grant stops
# the registry. Times are in milliseconds since the id space's epoch.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('registry');
sub query { return $node->safe_psql('postgres', $_[0]) }
query('CREATE EXTENSION shardid_lease CASCADE');
my ($lease, $max_ahead, $day) = (60_000, 3_600_000, 86_400_000);
query("SELECT shardid_lease.create_id_space('shop')");
my $epoch = query(q(SELECT floor(extract(epoch FROM epoch) * 1000) FROM shardid_lease.id_space WHERE name = 'shop'));
my $clock = query(q(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)));
my $now = $clock - $epoch;
my $shard = 100;

# A server, which remembers its last receipt, to send it with each request, and the registry's identity.
sub server { return { origin => 'o', database => 'd', system_identifier => 's', timeline => 1, host => 'h', port => 1, @_ } }

sub json
{
	my ($server, %more) = @_;
	my %request = (space => 'shop', shard => $shard, clock => $clock, tick => 0, %$server, %more);
	my @members = map { my $value = $request{$_}; qq("$_": ) . ($value =~ /^(true|null|-?\d+)$/ ? $value : qq("$value")) }
	  grep { defined $request{$_} } sort keys %request;
	return '{' . join(', ', @members) . '}';
}

sub answer
{
	my ($function, $server, $sql) = @_;
	my %said = map { split /\|/, $_, 2 } split /\n/, query("SELECT key, value FROM jsonb_each_text($sql)");
	@$server{qw(receipt registry)} = @said{qw(receipt registry)} if $said{ok} eq 'true' && $said{registry};
	$server->{receipt} = $said{receipt} if $said{ok} eq 'true' && $said{receipt};
	return \%said;
}

sub ask { return answer('grant_shards', $_[0], 'shardid_lease.grant_shards(jsonb_build_array($$' . json(@_) . '$$::jsonb))->0') }
sub give_back { return answer('return_shard', $_[0], 'shardid_lease.return_shard($$' . json(@_) . '$$)') }
sub granted { my $answer = ask(@_); return $answer->{ok} eq 'true' ? $answer : undef }

sub refused
{
	my ($name, $error, $server, %more) = @_;
	my $answer = ask($server, %more);
	is($answer->{ok}, 'false', $name);
	like($answer->{error} // '', $error, "$name: says why");
	return;
}
my @joins = (joins => 'true');
my @takes_over = (takes_over => 'true');

# --- Windows of one holder, its copies and strangers.

my $a = server(place => 'a', incarnation => 'a1');
my $b = server(place => 'b', incarnation => 'b1');
my $c = server(place => 'c', incarnation => 'c1', origin => 'other');
refused('a shard that was never leased is not renewed', qr/./, $a);
my $held = granted($a, @joins);
is($held->{until} - $held->{from}, $lease, 'a shard that nobody had');
refused('not granted to a copy of its holder', qr/is held by h, port 1, database "d"/, $b);
refused('nor to a stranger', qr/is held by/, $c, @joins);
my $more = granted($a, clock => $clock + 40_000);
is_deeply([ $more->{from}, $more->{until} - $held->{until} ], [ $held->{from}, 40_000 ], 'but to its holder for longer');
is(granted($a)->{until}, $more->{until}, 'never for less long');
my $again = { %$a, incarnation => 'a2' };
my $restarted = granted($again);
is($restarted->{from}, $more->{until}, 'restarted, it gets the next window');
my $taken = granted($b, @takes_over);
is($taken->{from}, $restarted->{until}, 'one that takes over gets the one after that');
refused('the displaced holder none', qr/is held by/, $again);
my $said = give_back($again, tick => 0);
is("$said->{ok} $said->{final}", 'false true', 'nor can it give back what it has not, which is final');
my $later = granted($b);
is($later->{until}, $taken->{until}, 'the new one goes on');

# --- Released: the next window begins after the last id, and not before the last window's start.

is(give_back($b, tick => 0)->{ok}, 'true', 'given back by one that never drew');
is(give_back($b, tick => 0)->{ok}, 'true', 'and released once more');
refused('a late renewal renews nothing', qr/was released|take_over_shard/, { %$b, receipt => $taken->{receipt} });
refused('nor does a request to lease it that was sent before', qr/./, { %$b, receipt => $taken->{receipt} }, @joins);
my $strangers = granted($c, @joins);
is($strangers->{from}, $later->{from}, 'all of its window is left, and nothing before it');
is(give_back($c, tick => ($strangers->{from} + 10) << 10 | 1023)->{ok}, 'true', 'given back by one that drew');
$held = granted($a, @joins);
is($held->{from}, $strangers->{from} + 11, 'the next window begins after that');
is(give_back({ %$c }, tick => 0)->{final}, 'true', 'told late, after somebody else has it: final');
my %before = %$a;
my $anew = granted($a, @joins);
is($anew->{from}, $held->{until}, 'leased anew, it gets a new window');
is(give_back(\%before, tick => ($held->{from} + 1) << 10)->{ok}, 'false', 'a release of the lease before comes too late');
is(granted($a)->{from}, $anew->{from}, 'and ends nothing');
my $kept = granted($a)->{until};
is(give_back($a, tick => undef)->{ok}, 'true', 'of a generator that was moved');
$held = granted($a, @joins);
is($held->{from}, $kept, 'the whole window is used up');

# --- Expired: a later timeline of the same database gets the shard without a takeover; much later, any member does.

# As if this time had passed.
sub age
{
	my ($ms) = @_;
	query("UPDATE shardid_lease.granted_shard SET from_ms = from_ms - $ms, until_ms = until_ms - $ms WHERE shard = $shard");
	return;
}
age($held->{until} - $now + 1000);
refused('expired: not granted to a stranger yet', qr/expired/, $c, @joins);
refused('nor to a copy on the same timeline', qr/expired lease, last held by .*take_over_shard/, $b);
refused('nor to one that joins', qr/expired/, $b, @joins);
refused('nor to one of another name on a later timeline', qr/take_over_shard/, { %$b, database => 'other', timeline => 2 });
refused('nor to another server on one', qr/take_over_shard/, { %$b, system_identifier => 'other', timeline => 2 });
ok(granted({ %$b, timeline => 2 }), 'but to one that was promoted');
ok(granted($a, @takes_over), 'and to one that takes it over');
age($lease + 31 * $day);
refused('long expired: not to a stranger that does not join', qr/./, $c);
ok(granted($c, @joins), 'but to one that does');
ok(give_back($c), 'which gives it back');

# --- Clocks and ticks that are too far ahead, one at a time.

my $ahead = $clock + $max_ahead;
refused('not to a clock that is further ahead than max_ahead', qr/ahead/, $a, @joins, clock => $ahead + 100_000);
refused('nor to a generator that is', qr/ahead/, $a, @joins, tick => ($now + $max_ahead + 100_000) << 10);
ok(granted($a, @joins, clock => $ahead - 100_000), 'less is allowed');
query('SELECT shardid_lease.registry_was_restored()');
my $restored = granted($a, tick => ($now + $max_ahead + 1000) << 10);
cmp_ok($restored->{from}, '>=', $now + $max_ahead + $lease, 'after a restore a generator may be ahead by what was put off');
refused('but no clock', qr/ahead/, $a, clock => $ahead + 100_000);
cmp_ok(granted($a)->{from}, '>=', $now + $max_ahead + $lease, 'the window after a restore is a later one');

# --- A reserved shard; another registry's identity; a forged receipt, and a genuine one.

$shard = 7;
query(q(SELECT shardid_lease.reserve_shard('shop', 8, 'by hand')));
refused('a reserved shard', qr/shard 8 of id space "shop" is reserved: by hand/, $c, @joins, shard => 8);
my $d = server(place => 'd', incarnation => 'd1', origin => 'd');
$held = granted($d, @joins);
refused('of another registry', qr/id space "shop" of this registry is another one/, $d, registry => 'another');
ok(granted($d, registry => $held->{registry}), 'and of this one');
my $row = query("SELECT to_jsonb(g) FROM shardid_lease.granted_shard g WHERE shard = $shard");
$more = granted($d, clock => $clock + 10_000);
refused('a receipt that is made up', qr/./, { %$d, receipt => $d->{receipt} =~ s/^(\d+\.[^.]+\.)\d+/${1}999/r });
ok(granted($d), 'stops nothing');
query("UPDATE shardid_lease.granted_shard g SET serial = (r->>'serial')::bigint, until_ms = (r->>'until_ms')::bigint FROM (SELECT '$row'::jsonb AS r) s WHERE shard = $shard");
refused('one that the registry has forgotten', qr/registry_was_restored/, $d);
refused('stops it for all', qr/registry_was_restored/, $c, @joins, shard => 9);
query('SELECT shardid_lease.registry_was_restored()');
cmp_ok((granted($d) // { from => 0 })->{from}, '>=', $more->{until}, 'until it is told: and begins after what it had forgotten');

# --- Isolation levels, and id spaces that are dropped and created again.

my ($status, undef, $error) = $node->psql('postgres', 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT shardid_lease.grant_shards($$[' . json($d) . ']$$)');
like($error, qr/ERROR: .*\n?.*HINT: .*(?i)read committed/s, 'only by what is committed');
query(q(SELECT shardid_lease.create_id_space('brief', lease => '5 s', max_ahead => '5 s')));
$clock = query(q(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)));
my $e = server(place => 'e', incarnation => 'e1', origin => 'e', space => 'brief', shard => 0);
$held = granted($e, @joins);
like(($node->psql('postgres', q(SELECT shardid_lease.drop_id_space('brief'))))[2], qr/ERROR: .*DETAIL: .*ends at .*HINT: /s, 'not dropped while a window runs');
give_back($e, tick => undef);
like(($node->psql('postgres', q(SELECT shardid_lease.drop_id_space('brief'))))[2], qr/ERROR: /, 'nor when it is given back as used up');
$node->poll_query_until('postgres', q(SELECT bool_and(until < clock_timestamp()) FROM shardid_lease.id_space_shards WHERE space = 'brief')) or die;
query(q(SELECT shardid_lease.drop_id_space('brief'); SELECT shardid_lease.create_id_space('brief', lease => '5 s', max_ahead => '5 s')));
my $f = server(place => 'f', incarnation => 'f1', origin => 'f', space => 'brief', shard => 0);
cmp_ok(granted($f, @joins, clock => $clock - 100_000)->{from}, '>=', $held->{until}, 'made anew, it begins no window before the last one of its name');

# --- Milliseconds are exact with any epoch.

is(query(<<'SQL'), 0, 'no millisecond is lost');
SELECT count(*) FROM generate_series(0, 99) n, unnest(ARRAY['1961-05-05', '1978-03-03', '1987-10-19', '2004-02-29', '2038-01-19', '2039-12-31']) day,
    LATERAL (SELECT (day || ' 12:00:00+00')::timestamptz + n * interval '997 ms' AS t) s
WHERE shardid_lease.ms_of(t) <> floor(extract(epoch FROM t)::numeric * 1000)
SQL

$node->stop;
done_testing();
