# A registry, and servers whose databases lease shards of its one id space; load on them; copies of them; and records
# of every id that a client received, which are judged as one id space.
#
# A place is where ids are drawn: a server's node, a database and, unless it is the extension's own, a generator.
package Fleet;

use strict;
use warnings;
use File::Path qw(make_path remove_tree);
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time usleep);
use Proxy;
use ShardidTest;

# No window or no lease, a standby, and a statement in a failed transaction.
my $tolerated = '55000,57P03,25006,25P02';

# Four ids per millisecond: two generators that draw for one shard at the same time almost certainly collide.
my ($shard_bits, $sequence_bits) = (20, 2);
my $layout = "shard_bits => $shard_bits, sequence_bits => $sequence_bits";

my $conf = <<'CONF';
autovacuum = off
log_statement = none
max_connections = 60
max_worker_processes = 64
wal_keep_size = 64MB
shardid.lease_timeout = '500ms'
shardid.max_lead = '10d'
CONF

# $params{databases}: the number of members on each server; {by_proxy}: they connect to the registry through {proxy},
# on the loopback. The other parameters are those of create_id_space.
sub new
{
	my ($class, %params) = @_;
	my $self = bless {
		dir => PostgreSQL::Test::Utils::tempdir(), number => $params{number}, load => [], copies => [], notes => [],
		wrong => [], serial => 0, ids => 0, error => '', sequence_bits => $sequence_bits
	}, $class;
	my @names = map { "$self->{number}_$_" } 'registry', map { "member_$_" } 1 .. @{ $params{databases} };
	my @nodes = map { PostgreSQL::Test::Cluster->new($_) } @names;
	side_by_side(map { my $node = $_; sub { init($node) } } @nodes);
	$self->start($_) for @nodes;
	($self->{registry}, @{ $self->{members} }) = @nodes;
	$self->{proxy} = Proxy->new($self->{registry}->port) if $params{by_proxy};
	$self->ask_registry(<<SQL);
CREATE EXTENSION shardid_lease CASCADE;
SELECT shardid_lease.create_id_space('ids', '2 s', max_ahead => '$params{max_ahead}', reclaim_after => '1 hour', $layout);
SQL
	my %places = map { my $i = $_; $i => [ map { sprintf 'd%02d', $_ } 1 .. $params{databases}[$i] ] } 0 .. $#{ $self->{members} };
	side_by_side(map { my $i = $_; sub { $self->set_up($self->{members}[$i], @{ $places{$i} }) } } keys %places);
	for my $i (sort keys %places)
	{
		my $node = $self->{members}[$i];
		push @{ $self->{places} }, map { { node => $node, db => $_, shard => shard_of($node, $_) } } @{ $places{$i} };
	}
	return $self;
}

sub init
{
	my ($node) = @_;
	$node->init(has_archiving => 1, allows_streaming => 1);
	$node->append_conf('postgresql.conf', "$conf\nlisten_addresses = '127.0.0.1'\n");
	return;
}

sub side_by_side
{
	my @pids;
	for my $code (@_)
	{
		my $pid = fork // die "fork: $!";
		if ($pid == 0)
		{
			my $done = eval { $code->(); 1 };
			print STDERR $@ unless $done;
			POSIX::_exit($done ? 0 : 1);
		}
		push @pids, $pid;
	}
	my $failed = grep { waitpid($_, 0); $? } @pids;
	die 'a part of the fleet could not be set up' if $failed;
	return;
}

sub set_up
{
	my ($self, $node, @databases) = @_;
	my ($host, $port) = $self->{proxy} ? ('127.0.0.1', $self->{proxy}->port) : ($self->{registry}->host, $self->{registry}->port);
	my $sql = <<SQL;
CREATE DATABASE pattern;
\\connect pattern
CREATE EXTENSION shardid_lease CASCADE;
CREATE SERVER registry FOREIGN DATA WRAPPER dblink_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
CREATE USER MAPPING FOR CURRENT_USER SERVER registry;
\\connect postgres
SQL
	$sql .= "CREATE DATABASE $_ TEMPLATE pattern STRATEGY file_copy;\n" for @databases;
	$sql .= "\\connect $_\nSELECT shardid_lease.lease_shard('ids', 'registry');\n" for @databases;
	$node->safe_psql('postgres', $sql);
	return;
}

sub shard_of
{
	my ($node, $database) = @_;
	return $node->safe_psql($database, 'SELECT shard FROM shardid_lease.shard_leases');
}

sub ask_registry { return $_[0]{registry}->safe_psql('postgres', $_[1]) }

sub nap { usleep 1_000_000 * $_[1]; return; }

# Each server follows a clock of its own from its start on.
sub clock_of
{
	my ($self, $node) = @_;
	return "$self->{dir}/" . $node->name . '.clock';
}

sub set_clock
{
	my ($self, $node, $offset) = @_;
	$self->{steps}{ $node->name }++;
	set_fake_clock($self->clock_of($node), $offset);
	return;
}

sub steps_of { return $_[0]{steps}{ $_[1]->name } // 0 }

sub start
{
	my ($self, $node, $offset) = @_;
	$self->set_clock($node, $offset // '+0');
	with_fake_clock($self->clock_of($node), sub { start_again($node) });
	return;
}

sub on
{
	my ($self, $place, $sql) = @_;
	return $place->{node}->safe_psql($place->{db}, $sql);
}

# Retries what may be refused for some seconds: if the holder's clock was far ahead, the shard's windows are as far
# ahead as they may be.
sub insist
{
	my ($self, $place, $sql) = @_;
	my $error;
	for (1 .. 20)
	{
		return if $place->{node}->psql($place->{db}, $sql, stderr => \$error) == 0;
		usleep 500_000;
	}
	die "$sql: $error";
}

# The registry may be slow to answer, and transactions to end.
sub release
{
	my ($self, $place, $generator) = @_;
	$self->insist($place, "SELECT shardid_lease.release_shard(generator) FROM shardid_lease.shard_leases "
		  . "WHERE generator = '$generator'::regclass AND state <> 'released'");
	return;
}

# What an operator does when a removed copy holds the shard: if the copy's clock was far ahead, it holds the shard for
# as long. A place that lost its shard still generates ids until its own window ends.
sub take_back
{
	my ($self, @places) = @_;
	for my $place (@places)
	{
		next if $place->{node}->psql($place->{db}, 'SELECT ' . next_id(), stderr => \my $error) == 0 && $self->holds($place);
		$self->insist($place, 'SELECT shardid_lease.take_over_shard()');
	}
	return;
}

sub holds
{
	my ($self, $place) = @_;
	my $port = $place->{node}->port;
	return $self->ask_registry(<<"SQL") eq 't';
SELECT count(*) = 1 FROM shardid_lease.id_space_shards
WHERE shard = $place->{shard} AND port = $port AND database = '$place->{db}' AND state = 'held'
SQL
}

# A random place of all, or of those that the code accepts.
sub any_place
{
	my ($self, $wanted) = @_;
	my @places = grep { !$wanted || $wanted->($_) } @{ $self->{places} };
	return $places[ rand @places ];
}

sub any_elsewhere
{
	my ($self, $place) = @_;
	return $self->any_place(sub { $_[0]{node} != $place->{node} });
}

# The call that draws, from the extension's own generator or from the one that is named.
sub next_id
{
	my ($generator) = @_;
	return 'next_id(' . ($generator ? "'$generator'::regclass, " : '') . "$layout)";
}

# What is under load right now.
sub load
{
	my ($self, $count, @places) = @_;
	for my $place (@places)
	{
		my $next = next_id($place->{generator});
		# A call that names the shard must fail as well while another place holds the shard.
		my @named = $place->{generator} || !defined $place->{shard} ? () : "SELECT next_id($place->{shard}, $layout)";
		my $clients = start_clients(
			$place->{node}, $count,
			[
				"SELECT $next", "SELECT $next FROM generate_series(1, 30)", @named,
				'BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT $next", "SELECT $next", 'ROLLBACK'
			],
			dbname => $place->{db}, reconnect => 1, tolerate => $tolerated, pause_ms => 20);
		push @{ $self->{load} }, { place => $place, clients => $clients, steps => $self->steps_of($place->{node}) };
	}
	return;
}

# Ends the load, on these places or everywhere, and keeps the ids. The ids of each place are judged as those of
# one generator.
sub end_load
{
	my ($self, @places) = @_;
	my ($ended, $kept) = ([], []);
	for my $load (@{ $self->{load} })
	{
		push @{ !@places || (grep { $_ == $load->{place} } @places) ? $ended : $kept }, $load;
	}
	$self->{load} = $kept;
	kill 'TERM', $_->{clients}{pid} for @$ended;
	$self->keep($_) for @$ended;
	return;
}

# Also if the test dies.
sub DESTROY
{
	my ($self) = @_;
	local ($?, $@);
	kill 'TERM', map { $_->{clients}{pid} } @{ $self->{load} };
	return;
}

sub keep
{
	my ($self, $load) = @_;
	my ($place, $clients) = @$load{qw(place clients)};
	# A server whose data were restored is another incarnation, as a copy is.
	my $incarnation = join '-', $place->{node}->name, $place->{node}{life} // 0, $place->{db}, $place->{generator} // ();
	my $label = "$incarnation@" . join '-', ++$self->{serial}, $self->{round} // 'setup';
	finish_clients($clients);
	$clients->{files} = [ grep { -e } @{ $clients->{files} } ];
	return unless @{ $clients->{files} };
	# If a clock steps forward, its ids are in one millisecond more than have passed.
	my $stepped = $self->steps_of($place->{node}) > $load->{steps} ? 1 : 0;
	my $verdict = judge_clients([$clients], shard_bits => $shard_bits, sequence_bits => $sequence_bits, lead_ms => -1, borrow_ms => $stepped);
	$self->{ids} += $verdict->{ids};
	push @{ $self->{wrong} }, "$label: " . join ', ', map { "$_ $verdict->{$_}" } sort keys %$verdict
	  if $verdict->{violations};
	my $file = "$self->{dir}/$label";
	IPC::Run::run([ 'cut', '-d', ' ', '-f', '1', @{ $clients->{files} } ], '>', $file) or die 'cut';
	push @{ $self->{notes} }, $file;
	unlink @{ $clients->{files} };
	return;
}

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

# Makes a copy of the registry the registry. The old registry is not running.
sub registry_is
{
	my ($self, $new) = @_;
	$self->{copies} = [ grep { $_ != $new } @{ $self->{copies} } ];
	$self->{registry} = $new;
	return;
}

# Removes the old registry's data. The new one archives its own WAL and keeps a backup.
sub forget
{
	my ($self, $old) = @_;
	remove_tree($old->data_dir, $old->backup_dir, $old->archive_dir);
	my $new = $self->{registry};
	make_path($new->archive_dir, $new->backup_dir);
	$new->enable_archiving;
	$new->stop;
	$self->start($new);
	$self->keep_old($new);
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
	$node->{has_old} = 1;
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

# Replaces the server's data by the older data, in the same directory or in another one of the same name. The server is
# not running, and there is no load on it.
sub put_old_in_place
{
	my ($self, $node) = @_;
	my $data = $node->data_dir;
	rename $data, "$data.gone" or die;
	if (rand() < 0.5)
	{
		system_or_bail('cp', '-a', old_of($node), $data);
		remove_tree("$data.gone");
	}
	else
	{
		remove_tree("$data.gone", { keep_root => 1 });
		rename "$data.gone", $data or die;
		system_or_bail('cp', '-a', old_of($node) . '/.', $data);
	}
	$self->recover_to_old($data, $node->archive_dir);
	$node->{life}++;
	return;
}

sub wait_for_end_of_recovery
{
	my ($self, $node) = @_;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not recovered';
	$node->safe_psql('postgres', <<'SQL') unless grep { $_ == $node } @{ $self->{copies} };
ALTER SYSTEM RESET restore_command;
ALTER SYSTEM RESET recovery_target_name;
ALTER SYSTEM RESET recovery_target_action;
SQL
	return;
}

# Ends load, copies and wrong clocks at the end of a round.
sub repair
{
	my ($self) = @_;
	$self->{proxy}->mode('pass') if $self->{proxy};
	$self->end_load;
	$self->remove_copies;
	$self->set_clock($_, '+0') for $self->{registry}, @{ $self->{members} };
	return;
}

# The places that draw no id within some seconds.
sub places_that_do_not_draw
{
	my ($self, $seconds) = @_;
	my @silent = @{ $self->{places} };
	my $end = time + $seconds;
	while (@silent && time < $end)
	{
		my @asked = map { ask_for_ids($_, @silent) } @{ $self->{members} };
		my %told = map { $_ => 1 } map { $self->ids_told($_) } @asked;
		@silent = grep { !$told{ $_->{node}->name . " $_->{db}" } } @silent;
		usleep 200_000 if @silent;
	}
	return @silent;
}

# Starts one session per server, which asks all its databases for an id; the servers' sessions run at the same time.
sub ask_for_ids
{
	my ($node, @places) = @_;
	my $sql = join '', map { "\\connect $_->{db}\nSELECT '$_->{db} ' || " . next_id() . ";\n" } grep { $_->{node} == $node } @places;
	my $asked = { name => $node->name };
	$asked->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
		'<', \$sql, '>', \$asked->{told}, '2>', \$asked->{error});
	return $asked;
}

sub ids_told
{
	my ($self, $asked) = @_;
	$asked->{run}->finish;
	$self->{error} .= $asked->{error};
	my %told = map { split / / } split /\n/, $asked->{told};
	my $file = "$self->{dir}/end-$asked->{name}";
	append_to_file($file, join '', map { "$_\n" } values %told);
	push @{ $self->{notes} }, $file unless grep { $_ eq $file } @{ $self->{notes} };
	return map { "$asked->{name} $_" } keys %told;
}

sub stop
{
	my ($self) = @_;
	$self->repair;
	$_->stop('immediate') for @{ $self->{members} }, $self->{registry};
	$self->{proxy}->stop if $self->{proxy};
	remove_tree(map { ($_->data_dir, $_->backup_dir, $_->archive_dir) } @{ $self->{members} }, $self->{registry});
	return;
}

1;
