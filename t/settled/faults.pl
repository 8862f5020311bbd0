# Consumers that read below settled_below get each committed row exactly once over crashes of the server, failover to a
# synchronous standby, and a clock that is set back and forth; prepared transactions are committed after all of that.
# An idle generator delivers its last row by the second poll, also if it is ahead of the clock.
use Settled;
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || time;
srand $seed;
note "SHARDID_SEED=$seed";

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('faults', <<'CONF', allows_streaming => 1) });
max_prepared_transactions = 500
autovacuum = off
CONF
create_tables($node);
my @names = qw(first second third);

sub start_load
{
	my ($server) = @_;
	return (start_consumers($server, @names),
		start_scripts($server, 'writer', map { random_script(transactions => rounds(60, 400)) } 1 .. 6));
}

sub end_load
{
	my ($server, $consumers, $writers, $what) = @_;
	finish_scripts($writers);
	stop_consumers($server, $consumers);
	finish_prepared($server);
	is_delivered($server, $what, @names);
	return;
}

for my $round (1 .. rounds(1, 30))
{
	my ($consumers, $writers) = start_load($node);
	usleep 300_000 + rand 400_000;
	kill_node($node);
	finish_scripts($_) for $consumers, $writers;
	set_fake_clock($clock, $round % 2 ? '-3' : '+0');
	with_fake_clock($clock, sub { start_again($node) });
	end_load($node, start_load($node), 'kill -9');
}

for my $round (1 .. rounds(1, 30))
{
	my ($consumers, $writers) = start_load($node);
	for my $offset ('-0.1', '+0.3', '+0.05', '+0')
	{
		usleep 150_000 + rand 150_000;
		set_fake_clock($clock, $offset);
	}
	end_load($node, $consumers, $writers, 'the clock set back and forth');
}

# Idle, and 10 s ahead of the clock: time passes for the generator as it is polled.
$node->safe_psql('postgres', 'INSERT INTO clips DEFAULT VALUES');
set_fake_clock($clock, '-10');
is_delivered($node, 'idle and ahead of the clock', 'third');
set_fake_clock($clock, '+0');

# Failover.
$node->backup('standby');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'standby', has_streaming => 1);
$standby->start;
$node->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$node->reload;
$node->poll_query_until('postgres', q(SELECT sync_state = 'sync' FROM pg_stat_replication)) or die 'not synchronous';
like(error_on($standby, q(SELECT settled_below('g'))), qr/^55000: recovery is in progress/, 'refused on a standby');
my ($consumers, $writers) = start_load($node);
usleep 500_000 + rand 300_000;
kill_node($node);
finish_scripts($_) for $consumers, $writers;
$standby->promote;
end_load($standby, start_load($standby), 'failover to a synchronous standby');
my $naive = missed($standby, 'first', 'naively_delivered');
cmp_ok($naive, '>', 0, "a reader of id > last has missed $naive rows");

# A killed server leaves its shared memory behind until it is started once more.
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
start_again($node);
$node->stop;
$standby->stop;
done_testing();
