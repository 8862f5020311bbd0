# portable/shardid.sql through crashes and failovers: what it promises, and what it does not.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

# The WAL writer must not help.
my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_portable_node('portable', <<'CONF'); });
wal_writer_delay = 10s
restart_after_crash = off
log_min_messages = error
log_min_error_statement = panic
CONF
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

sub restart_at
{
	my ($offset) = @_;
	set_fake_clock($clock, $offset);
	with_fake_clock($clock, sub { start_again($node) });
	return;
}

# Crashes. Ids that a commit has flushed are never repeated, whatever the clock shows. Other ids are not repeated if the
# clock is not behind.
my @modes = (
	{ name => 'autocommit', draw => 'SELECT next_id(5, \'crashed\')', offset => '-1h' },
	{ name => 'INSERT', draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id', offset => '-1h' },
	{ name => 'rolled back', draw => [ 'BEGIN', 'SELECT next_id(5, \'crashed\')', 'ROLLBACK' ], offset => '+0' },
	{
		name => 'synchronous_commit = off',
		draw => 'INSERT INTO crashes DEFAULT VALUES RETURNING id',
		options => '-c synchronous_commit=off',
		offset => '+0'
	});

sub crashes
{
	my ($mode, $offset, $count) = @_;
	my @histories;
	for my $round (1 .. $count)
	{
		my $clients = start_clients($node, 8, $mode->{draw}, @portable, options => $mode->{options});
		await_clients($node, 8);
		usleep 200_000 + rand 200_000;
		query('CHECKPOINT') if $round % 2;
		usleep 100_000;
		kill_node($node);
		finish_clients($clients);
		restart_at($offset);
		push @histories, $clients;
	}
	my $after = start_clients($node, 2, $modes[0]{draw}, @portable, rounds => 20);
	finish_clients($after);
	restart_clock();
	return [ @histories, $after ];
}

sub restart_clock { set_fake_clock($clock, '+0'); return; }

for my $mode (@modes)
{
	query('DROP TABLE IF EXISTS crashes; DROP SEQUENCE IF EXISTS crashed; CREATE SEQUENCE crashed;'
		  . q( CREATE TABLE crashes (id bigint DEFAULT next_id(5, 'crashed'))));
	my $count = rounds(1, 10);
	is_innocent(judge_clients(crashes($mode, $mode->{offset}, $count), lead_ms => -1), "portable: kill -9, $mode->{name}", $count);
}
$node->stop;

# Failover: to an asynchronous standby whose clock is right; to a synchronous one whose clock is an hour behind.
for my $round (1 .. rounds(1, 5))
{
	for my $is_synchronous (0, 1)
	{
		my $primary = new_portable_node("primary_${round}_$is_synchronous", '', allows_streaming => 1);
		$primary->backup('base');
		my $standby = PostgreSQL::Test::Cluster->new("standby_${round}_$is_synchronous");
		$standby->init_from_backup($primary, 'base', has_streaming => 1);
		if ($is_synchronous)
		{
			set_fake_clock($clock, '-3600');
			with_fake_clock($clock, sub { $standby->start });
			$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
			$primary->reload;
		}
		else
		{
			$standby->start;
		}
		my $before = start_clients($primary, 8, 'SELECT next_id(5)', @portable);
		usleep 500_000;
		kill_node($primary);
		finish_clients($before);
		$standby->promote;
		my $after = start_clients($standby, 8, 'SELECT next_id(5)', @portable, seconds => 1);
		finish_clients($after);
		is_innocent(judge_clients([ $before, $after ], lead_ms => -1),
			'portable: failover, ' . ($is_synchronous ? 'synchronous, an hour behind' : 'asynchronous'), 1);
		restart_clock();
		kill_node($standby);
	}
}

done_testing();
