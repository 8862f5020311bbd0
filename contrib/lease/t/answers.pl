# Requests, answers and connections that are lost or late: if the answer to a grant is lost, the next request gets the
# same shard; the next worker repeats a release that did not arrive; and an answer to a renewal that comes when the
# generator has another owner, and another lease or a later window, is not stored: the shard's earlier holder may have
# generated ids in such a window. A proxy in front of the registry loses and delays messages.
use Leases;
use Proxy;
use ShardidTest;

my $registry = new_registry('registry');
my $proxy = Proxy->new(on_loopback($registry));
$registry->safe_psql('postgres', q(SELECT shardid_lease.create_id_space('ids', lease => '10 min'); SELECT shardid_lease.create_id_space(s, lease => '4 min') FROM unnest(ARRAY['brief', 'other']) s));
my $member = new_node('member', "autovacuum = off\n");
connect_to_registry($member, $registry, 'postgres', host => '127.0.0.1', port => $proxy->port);

sub on_member { return $member->safe_psql('postgres', $_[0]) }
sub as_app { return (error_of($member, 'postgres', "SET ROLE app; $_[0]")) }
sub held { return $registry->safe_psql('postgres', q(SELECT coalesce(string_agg(shard::text, ' ' ORDER BY shard), '') FROM shardid_lease.granted_shard WHERE state = 'held')) }
sub state_there { return $registry->safe_psql('postgres', "SELECT state FROM shardid_lease.granted_shard WHERE space <> 'brief' AND shard = $_[0]") }
sub state_here { return on_member("SELECT state FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }

sub make { on_member("SET ROLE app; CREATE SEQUENCE $_[0]"); return $_[0]; }
sub ask_for { return "SELECT shardid_lease.lease_shard('ids', 'registry', '$_[0]'" . (defined $_[1] ? ", $_[1]" : '') . ')' }

# --- lease_shard(), of any shard and of a given one. %granted_by: whether the registry grants it in this mode.

my %granted_by = (cut_before => 0, cut_after => 1, refuse => 0);
my @expected;
my $next = 0;
for my $mode (sort keys %granted_by)
{
	for my $shard (undef, 100 + $next)
	{
		my $generator = make("${mode}_" . (defined $shard ? 'named' : 'any'));
		my $ours = $shard // $next++;
		$proxy->mode($mode);
		my $error = as_app(ask_for($generator, $shard));
		like($error, qr/ERROR:  \w+: .*\n?.*(Could not reach the registry|did not answer)/, "$generator: the error says that the registry was not reached");
		unlike($error, qr/registry says/, "$generator: and not that it said so");
		is(scalar(grep { $_ == $ours } split / /, held()), $granted_by{$mode}, "$generator: granted there $granted_by{$mode} times");
		is(state_here($generator), 'joining', "$generator: is joining");
		like(on_member("SELECT next_id(4000, '$generator')"), qr/^\d+$/, "$generator: is drawn from as before");
		$proxy->mode('pass');
		is(on_member('SET ROLE app; ' . ask_for($generator, $shard)), $ours, "$generator: asked again, it has shard $ours");
		push @expected, $ours;
		is(held(), join(' ', sort { $a <=> $b } @expected), "$generator: and no other");
		is(on_member("SELECT id_shard(next_id(generator => '$generator'))"), $ours, "$generator: draws");
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
	is(state_here($released), 'sealed', "release, $mode: sealed");
	like(draw_one($member, $released), qr/55000: .*has released its lease/, "release, $mode: draws nothing");
	is(state_there($its_shard), $granted_by{$mode} ? 'released' : 'held', "release, $mode: there");
	$proxy->mode('pass');
	cmp_ok(on_member('SET ROLE app; SELECT shardid_lease.renew_leases()'), '>=', 1, 'the worker of another generator');
	is(state_there($its_shard) . ' ' . state_here($released), 'released released', "release, $mode: told again");
}

# --- The answer to either call of a renewal comes late, when another owner has leased the same number of another id space.

on_member(<<'SQL');
CREATE ROLE heir LOGIN;
CREATE USER MAPPING FOR heir SERVER registry OPTIONS (user 'member', password 'of the member');
GRANT USAGE ON FOREIGN SERVER registry TO heir;
GRANT CREATE ON SCHEMA public TO heir;
SQL
sub as_heir { return on_member("SET ROLE heir; SELECT shardid_lease.$_[0]") }
sub window_of { return on_member("SELECT shard, \"from\", until FROM shardid_lease.shard_leases WHERE generator = '$_[0]'::regclass") }
sub row_of { return $registry->safe_psql('postgres', "SELECT until FROM shardid_lease.id_space_shards WHERE space = 'brief' AND shard = $_[0]") }

# The shard's holder before generates all ids of the next 6 s; some of them are returned.
sub draw_ahead
{
	my ($its) = @_;
	for my $space ('other', 'brief')
	{
		on_member("SET ROLE app; SELECT shardid_lease.release_shard('before_$its')") if $space eq 'brief';
		lease($member, $space, "before_$its", shard => $its);
	}
	my $ids = on_member(<<SQL);
SET shardid.max_borrow = '60s';
SELECT id FROM next_ids($its, 6 * 1024000, 'before_$its') id WHERE id % 64 = 0;
SQL
	on_member("SET ROLE app; SELECT shardid_lease.release_shard('before_$its')");
	return [ split /\n/, $ids ];
}

# Starts a renewal whose answer to this call is late: until its release, but by less than shardid_lease.registry_timeout.
sub start_renewal
{
	my ($of, $function) = @_;
	$member->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'shardid lease'") or die 'a worker does not end';
	my $held = $proxy->held;
	$proxy->mode("late_answer 150000 $function");
	my $renewal = start_drawing($member, $of, seconds => 1, settings => "SELECT shardid_lease.renew_now('$of');");
	ok(wait_until(sub { $proxy->held > $held }), "$of: the renewal asks, and has its answer to come");
	$proxy->mode('pass');
	return $renewal;
}

sub is_not_stored
{
	my ($of, $renewal) = @_;
	my $window = window_of($of);
	cmp_ok($proxy->links, '>', 0, "$of: the answer has not arrived yet");
	$proxy->mode('release');
	ok(wait_until(sub { $proxy->links == 0 }), "$of: it arrives");
	finish_drawing($renewal);
	return is(window_of($of), $window, "$of: and the window stays as it was");
}

# Each is the only one of its owner that is leased, as in a renewal of its own.
on_member(q(SELECT shardid_lease.release_shard(generator) FROM shardid_lease.shard_leases WHERE state = 'held'));
is(held(), '', 'all are released');
my %shard_of = (grant_shards => 205, receipts => 206);
for my $function (sort keys %shard_of)
{
	my $its = $shard_of{$function};
	my $of = "of_$function";
	all_ids(draw_ahead($its));
	lease($member, 'other', $of, shard => $its);
	my $renewal = start_renewal($of, $function);
	on_member("ALTER SEQUENCE $of OWNER TO heir");
	as_heir("release_shard('$of')");
	is(as_heir("lease_shard('brief', 'registry', '$of', $its)"), $its, "$of: meanwhile another owner has leased shard $its");
	my $until = row_of($its);
	like(window_of($of), qr/^$its\|.*\|\Q$until\E$/, "$of: in the window that the registry has granted");
	is_not_stored($of, $renewal);
	my ($ids) = draw_from_all([ $member, 'postgres', $of ]);
	cmp_ok($ids, '>', 0, "$of: $ids ids of shard $its");
	is(row_of($its) . state_there($its), "${until}released", "$of: that of the other id space is released");
}

# The same lease, which its new owner has renewed meanwhile: the window of before does not come back.
sub serial { return on_member("SELECT w.serial FROM shardid_lease.lease_window w JOIN shardid_lease.leased_generator USING (origin) WHERE shardid_lease.sequence_oid(generator) = 'renewed'::regclass") }
lease($member, 'brief', 'renewed', shard => 230);
draw_one($member, 'renewed');
my $renewal = start_renewal('renewed', 'receipts');
my $serial = serial();
on_member('ALTER SEQUENCE renewed OWNER TO heir');
as_heir("renew_now('renewed')");
ok(wait_until(sub { serial() > $serial }), 'another owner renews the same lease');
is_not_stored('renewed', $renewal);

# --- One answer that cannot be stored does not lose the others.

lease($member, 'ids', $_) for 'bad', 'good';
on_member(<<'SQL');
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
SELECT format('CREATE TRIGGER fail BEFORE UPDATE ON shardid_lease.lease_window FOR EACH ROW WHEN (new.origin = %L) EXECUTE FUNCTION fail()', origin)
FROM shardid_lease.leased_generator WHERE shardid_lease.sequence_oid(generator) = 'bad'::regclass \gexec
SQL
my $renewed = q(SELECT string_agg(renewed_at::text, ' ' ORDER BY generator::text) FROM shardid_lease.shard_leases WHERE generator::text IN ('bad', 'good'));
my @before = split / (?=2)/, on_member($renewed);
on_member(q(SET ROLE app; SELECT shardid_lease.renew_now('good')));
my @after = split / (?=2)/, on_member($renewed);
is($after[0], $before[0], 'an answer that cannot be stored');
isnt($after[1], $before[1], 'and that of another generator, which is');

no_id_comes_twice('lost and late messages');
$_->stop for $member, $registry;
done_testing();
