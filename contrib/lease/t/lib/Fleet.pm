# A registry, and servers whose databases lease shards of its one id space; copies and older states of them; a clock for
# each.
package Fleet;

use ShardidTest;
use File::Path 'remove_tree';
use Time::HiRes qw(time usleep);
use FleetLoad;
use Proxy;

our @ISA = ('FleetLoad');

my $conf = <<'CONF';
autovacuum = off
log_statement = none
max_connections = 60
max_worker_processes = 64
wal_keep_size = 64MB
shardid_lease.timeout = '500ms'
shardid.max_lead = '10d'
listen_addresses = '127.0.0.1'
CONF

# $params{databases}: the number of members on each server, which connect to the registry through {proxy}, on the loopback.
sub new
{
	my ($class, %params) = @_;
	my $self = bless {
		dir => PostgreSQL::Test::Utils::tempdir(), number => $params{number}, load => [], copies => [], notes => [],
		wrong => [], serial => 0, ids => 0, round => 0, patience => $params{patience}, is_small => $params{is_small}, sequence_bits => $sequence_bits
	}, $class;
	my @names = map { "$self->{number}_$_" } 'registry', map { "member_$_" } 1 .. @{ $params{databases} };
	my @nodes = map { PostgreSQL::Test::Cluster->new($_) } @names;
	for my $node (@nodes)
	{
		$node->init(has_archiving => 1, allows_streaming => 1);
		$node->append_conf('postgresql.conf', $conf);
		$self->start($node);
	}
	($self->{registry}, @{ $self->{members} }) = @nodes;
	$self->{proxy} = Proxy->new($self->{registry}->port);
	$self->ask_registry(<<SQL);
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', '2 s', max_ahead => '$params{max_ahead}', $layout);
SQL
	for my $i (0 .. $#{ $self->{members} })
	{
		my $node = $self->{members}[$i];
		my @databases = map { sprintf 'd%02d', $_ } 1 .. $params{databases}[$i];
		my $sql = <<SQL;
CREATE DATABASE pattern;
\\connect pattern
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '127.0.0.1', port '@{[ $self->{proxy}->port ]}', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
\\connect postgres
SQL
		$sql .= "CREATE DATABASE $_ TEMPLATE pattern STRATEGY file_copy;\n" for @databases;
		$sql .= "\\connect $_\nSET shardid_lease.timeout = '3min';\nSELECT shardid_lease.lease_shard('ids', 'registry');\n" for @databases;
		$node->safe_psql('postgres', $sql);
		push @{ $self->{places} }, map { { node => $node, db => $_, shard => shard_of($node, $_) } } @databases;
	}
	return $self;
}

sub shard_of { my ($node, $database) = @_; return $node->safe_psql($database, 'SELECT shard FROM shardid_lease.shard_leases') }

sub ask_registry { return $_[0]{registry}->safe_psql('postgres', $_[1]) }

sub nap { usleep 1_000_000 * $_[1]; return; }

# Each server follows a clock of its own from its start on.
sub clock_of { my ($self, $node) = @_; return "$self->{dir}/" . $node->name . '.clock' }

sub set_clock { my ($self, $node, $offset) = @_; return set_fake_clock($self->clock_of($node), $offset) }

sub start
{
	my ($self, $node, $offset) = @_;
	$self->set_clock($node, $offset // '+0');
	with_fake_clock($self->clock_of($node), sub { start_again($node) });
	return;
}

sub crash
{
	my ($self, $node, $offset) = @_;
	kill_node($node);
	$self->nap(rand 0.5);
	$self->start($node, $offset);
	$self->nap(0.6);
	return;
}

sub on { my ($self, $place, $sql) = @_; return $place->{node}->safe_psql($place->{db}, $sql) }

# A copy of a server's present state, not started. %params: old (of the older state that keep_old kept), streams (a
# standby of it).
sub copy_of
{
	my ($self, $node, %params) = @_;
	my $copy = PostgreSQL::Test::Cluster->new("$self->{number}_copy_" . ++$self->{serial});
	if ($params{old})
	{
		system_or_bail('cp', '-a', old_of($node), $copy->data_dir);
	}
	else
	{
		backup_to($node, $copy->data_dir);
	}
	$copy->append_conf('postgresql.conf', 'port = ' . $copy->port . "\narchive_mode = off\n");
	$copy->enable_streaming($node) if $params{streams};
	push @{ $self->{copies} }, $copy;
	return $copy;
}

sub backup_to
{
	my ($node, $folder) = @_;
	remove_tree($folder);
	system_or_bail('pg_basebackup', '-D', $folder, '-h', $node->host, '-p', $node->port, '--checkpoint', 'fast', '--no-sync');
	return;
}

sub remove_copies
{
	my ($self) = @_;
	for my $copy (splice @{ $self->{copies} })
	{
		$copy->stop('immediate');
		remove_tree($copy->data_dir);
		unlink $self->clock_of($copy);
	}
	return;
}

# Keeps a backup of the server, and of its WAL up to a point after it.
sub keep_old
{
	my ($self, $node) = @_;
	backup_to($node, old_of($node));
	$node->safe_psql('postgres', q(SELECT pg_create_restore_point('old')));
	my $last = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');
	$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver")
	  or die 'WAL is not archived';
	return;
}

sub old_of { return $_[0]->backup_dir . '/old' }

# Has a server with the older data recover to that point.
sub recover_to_old
{
	my ($self, $folder, $archive) = @_;
	append_to_file("$folder/recovery.signal", '');
	append_to_file("$folder/postgresql.auto.conf", <<"CONF");
restore_command = 'cp $archive/%f %p'
recovery_target_name = 'old'
recovery_target_action = 'promote'
CONF
	return;
}

# Ends load, copies and wrong clocks at the end of a round.
sub repair
{
	my ($self) = @_;
	$self->{proxy}->mode('pass');
	$self->end_load;
	$self->remove_copies;
	$self->set_clock($_, '+0') for $self->{registry}, @{ $self->{members} };
	return;
}

sub stop
{
	my ($self) = @_;
	$self->repair;
	$_->stop('immediate') for @{ $self->{members} }, $self->{registry};
	undef $self->{proxy};
	remove_tree(map { ($_->data_dir, $_->backup_dir, $_->archive_dir) } @{ $self->{members} }, $self->{registry});
	return;
}

1;
