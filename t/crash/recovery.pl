# Point-in-time recovery discards the WAL of ids on purpose: the clock alone keeps those ids from being generated again,
# or the command of docs/operations.md does.
use Docs;
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();

sub draw
{
	my ($node, $rounds) = @_;
	my $clients = start_clients($node, 4, 'SELECT next_id(5)', rounds => $rounds);
	finish_clients($clients);
	return $clients;
}

sub highest
{
	my (@clients) = @_;
	my ($highest) = sort { $b <=> $a } map { map { @$_ } @{ read_told($_) } } @clients;
	return $highest;
}

sub raise
{
	my ($node, $highest_id) = @_;
	return $node->safe_psql('postgres', "\\set highest_id $highest_id\n" . block_of('operations.md', 'raise'));
}

# The generator knows the ids from before the point, but not those from after it.
my $origin = new_node('origin', "autovacuum = off\nwal_level = replica\nsearch_path = 'public, ids'", has_archiving => 1, allows_streaming => 1);
$origin->safe_psql('postgres', 'CREATE SCHEMA ids; ALTER EXTENSION shardid SET SCHEMA ids');
$origin->backup('base');
my $before = draw($origin, 200);
$origin->safe_psql('postgres', q(SELECT pg_create_restore_point('point')));
$origin->poll_query_until('postgres', "SELECT clock_timestamp() > logged_to FROM id_generator_status('ids.shardid_seq')")
  or die 'time does not pass';
my $after = draw($origin, 200);
$origin->safe_psql('postgres', 'SELECT pg_switch_wal()');
$origin->stop;

sub recovered
{
	my ($name, $offset) = @_;
	my $clock = "$dir/$name.clock";
	set_fake_clock($clock, $offset);
	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init_from_backup($origin, 'base', has_restoring => 1, standby => 0);
	$node->append_conf('postgresql.conf', "recovery_target_name = 'point'\nrecovery_target_action = 'promote'");
	with_fake_clock($clock, sub { $node->start });
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	return $node;
}

my $node = recovered('right_clock', '+0');
is_innocent(judge_clients([ $before, $after, draw($node, 100) ], lead_ms => -1),
	'recovery to a past time, the clock right', 1);
$node->stop;
$node = recovered('clock_behind', '-1h');
my $repeats = draw($node, 100);
is(judge_clients([ $before, $repeats ], lead_ms => -1)->{violations},
	0, 'the clock an hour behind: what was told before the point does not come again');
cmp_ok(judge_clients([ $after, $repeats ], lead_ms => -1)->{crossings},
	'>', 0, 'but ids do that were told after it');
raise($node, highest($before, $after, $repeats));
is_innocent(judge_clients([ $before, $after, draw($node, 100) ], lead_ms => -1),
	'recovery to a past time, the clock an hour behind, the generator raised', 1);
$node->stop;

done_testing();
