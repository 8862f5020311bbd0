# A copy of a server, a promoted standby, a copied database: only the holder of the shard draws, the holder continues,
# and all their ids differ.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);
use Leases;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL};

my $registry = new_registry('registry');
$registry->safe_psql('postgres', <<'SQL');
SELECT shardid_lease.create_id_space('orders');
SELECT shardid_lease.create_id_space('quick', lease => '2 s');
SQL
my $conf = "shardid.lease_timeout = '3s'\nwal_keep_size = 64MB\n";
my $original = new_node('original', $conf, allows_streaming => 1);
connect_to_registry($original, $registry);
sub held_by { return qr/shard \d+ of id space "$_[0]" is held by \S+, port \d+, database "postgres" \(role member\), since .* until / }

sub port_of_holder
{
	my ($space, $shard) = @_;
	return $registry->safe_psql('postgres', "SELECT port FROM shardid_lease.id_space_shards WHERE space = '$space' AND shard = $shard");
}

# A copy that runs at the same time as its original.
is(lease($original, 'orders', 'ids'), 0, 'the original has shard 0');
my $first = draw_one($original, 'ids');
$original->backup('copied');
my $load = start_drawing($original, 'ids');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($original, 'copied');
$copy->start;
my $refused = draw_one($copy, 'ids');
like($refused, qr/ERROR:  55000: generator "public.ids" has no lease of shard 0 at this time/, 'a copy: refused');
like($refused, held_by('orders'), 'and told who has the shard');
like($refused, qr/port @{[$original->port]},/, 'by its port');
is($copy->safe_psql('postgres', q(SELECT state || coalesce(until::text, '') FROM shardid_lease.shard_leases)), 'not held', 'its view says so');
is($copy->safe_psql('postgres', "SET ROLE app; SELECT shardid_lease.renew_leases()"), 0, 'renew_leases() as well');
like($copy->psql('postgres', "SET ROLE app; SELECT shardid_lease.release_shard('ids')", extra_params => ['-v', 'VERBOSITY=verbose'])
	// '', qr/^0$/, 'it can be released there');
is($registry->safe_psql('postgres', q(SELECT state FROM shardid_lease.id_space_shards WHERE space = 'orders' AND shard = 0)), 'held', 'which takes nothing from the original');
like(draw_one($copy, 'ids'), qr/55000: generator "public.ids" has released its lease/, 'and leaves it sealed');
is($copy->safe_psql('postgres', q(SET ROLE app; SELECT shardid_lease.lease_shard('orders', 'registry', 'ids'))), 1, 'it can lease a shard of its own');
cmp_ok(draw_one($copy, 'ids'), '>', $first, 'and draws');
my @told = finish_drawing($load);
is(scalar(grep { !defined $_->[0] } @told), 0, 'the original had no error among ' . @told . ' draws');
$copy->stop;

# A copied database.
$original->safe_psql('template1', 'CREATE DATABASE copied TEMPLATE postgres');
$refused = draw_one($original, 'ids', dbname => 'copied');
like($refused, qr/ERROR:  55000: generator "public.ids" has no lease of shard 0/, 'CREATE DATABASE TEMPLATE: refused');
like($refused, held_by('orders'), 'and told who has it');
cmp_ok(draw_one($original, 'ids'), '>', $first, 'the original goes on');

# Also if the original is idle for longer than its lease: otherwise the original would then be refused.
my $idle = lease($original, 'quick', 'idle');
draw_one($original, 'idle');
$original->safe_psql('template1', 'DROP DATABASE copied; CREATE DATABASE copied TEMPLATE postgres');
wait_for_end($registry, 'postgres', 'quick', $idle);
like(draw_one($original, 'idle', dbname => 'copied'), qr/expired lease, last held by .*take_over_shard/s, 'CREATE DATABASE TEMPLATE, original idle: refused');
like(draw_one($original, 'idle'), qr/^\d+$/, 'the original goes on after that');
$original->safe_psql('template1', 'DROP DATABASE copied');

# A standby that is promoted while the old primary continues.
sub promoted
{
	my ($name) = @_;
	$original->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($original, $name, has_streaming => 1);
	$standby->start;
	$original->wait_for_catchup($standby);
	my (undef, undef, $said) = $standby->psql('postgres', "SELECT next_id(generator => 'quick')");
	like($said, qr/cannot execute next_id\(\) in a read-only transaction/, "$name draws nothing");
	is($standby->safe_psql('postgres', q(SELECT state FROM shardid_lease.shard_leases WHERE generator = 'quick'::regclass)), 'not held', "$name: its view");
	for my $call ("take_over_shard('quick')", 'renew_leases()', "release_shard('quick')", "lease_shard('quick', 'registry', 'quick')")
	{
		(undef, undef, $said) = $standby->psql('postgres', "SET ROLE app; SELECT shardid_lease.$call");
		like($said, qr/cannot execute .* (in a read-only transaction|during recovery)/, "$name: $call");
	}
	return $standby;
}

my $shard = lease($original, 'quick', 'quick');
my $session = start_drawing($original, 'quick');
ok(wait_until(sub { ids_of($session) > 50 }, 60), 'the primary draws');
my $standby = promoted('standby');
$standby->promote;
is($standby->safe_psql('postgres', q(SET ROLE app; SELECT shardid_lease.take_over_shard('quick'))), $shard, 'take_over_shard()');
my $took_over = time;
my $id;
my $ms = ms_of(sub { $id = draw_one($standby, 'quick') });
like($id, qr/^\d+$/, "the promoted standby draws, after $ms ms") or diag $id;
cmp_ok($id, '>', (ids_of($session))[-1] // 0, 'what is later than the primary has drawn');
my $goes_on = start_drawing($standby, 'quick');
ok(wait_until(sub { slurp_file($session->{file}) =~ /ERROR/ }, 60), 'the old primary ends');
@told = finish_drawing($session);
my ($refusal) = grep { !defined $_->[0] } @told;
like($refusal->[3], qr/ERROR:  55000: /, 'with 55000');
like($refusal->[3], held_by('quick'), 'and is told who has the shard');
my ($last) = reverse grep { defined $_->[0] } @told;
note sprintf 'its last id came %.1f s after the takeover', $last->[1] - $took_over;
sleep 1;
is(scalar(grep { !defined $_->[0] } finish_drawing($goes_on)), 0, 'the promoted one goes on without an error');
is($registry->safe_psql('postgres', "SELECT timeline FROM shardid_lease.id_space_shards WHERE space = 'quick' AND shard = $shard"), 2, 'the registry shows the new timeline');
$standby->stop;

# Without take_over_shard() a promoted standby waits for the old lease's end.
$shard = lease($original, 'quick', 'another');
$original->safe_psql('postgres', 'DROP SEQUENCE quick; ALTER SEQUENCE another RENAME TO quick');
$id = draw_one($original, 'quick');
$standby = promoted('standby_2');
$id = draw_one($original, 'quick');
$original->stop('immediate');
my $gone = time;
$standby->promote;
my ($again, $errors) = (undef, 0);
ok(wait_until(sub {
	$again = draw_one($standby, 'quick');
	$errors++ unless $again =~ /^\d+$/;
	return $again =~ /^\d+$/;
}, 60), 'a promoted standby draws without take_over_shard(), as its timeline is a later one');
cmp_ok($again, '>', $id, 'what is later than the primary has drawn');
note sprintf 'after %.1f s and %d errors, when the lease of 2 s was over', time - $gone, $errors;
# The old primary starts again, unchanged.
$goes_on = start_drawing($standby, 'quick');
start_again($original);
$refused = draw_one($original, 'quick', settings => 'SET shardid.lease_timeout = 1000;');
like($refused, held_by('quick'), 'the old primary that is started again: refused');
is(scalar(grep { !defined $_->[0] } finish_drawing($goes_on)), 0, 'the promoted one goes on without an error');

no_id_comes_twice('copies');
unlike(slurp_file($_->logfile), qr/PANIC|TRAP:|terminated by signal/, 'nothing worse in the log of ' . $_->name)
  for $original, $copy, $standby, $registry;
$_->stop for $original, $standby, $registry;
done_testing();
