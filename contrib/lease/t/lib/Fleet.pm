# A registry, and servers whose databases lease shards of its one id space; copies and older states of them; a clock for
# each; load on their places, and records of every id that a client received, which are judged as one id space. A place is
# where ids are drawn: a server's node, a database and, unless it is the extension's own, a generator.
package Fleet;

use ShardidTest;
use File::Path 'remove_tree';
use Time::HiRes qw(time usleep);
use Proxy;

# No window or no lease, a standby, and a statement in a failed transaction.
my $tolerated = '55000,57P03,25006,25P02';

# Load waits half a second for the registry; where what must come is awaited, a slow machine may need longer.
my $longer = "SET shardid_lease.timeout = '10s';";

# Four ids per millisecond: two generators that draw for one shard at the same time almost certainly collide.
my ($shard_bits, $sequence_bits) = (20, 2);
my $layout = "shard_bits => $shard_bits, sequence_bits => $sequence_bits";

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
	$node->backup($copy->name) unless $params{old};
	$copy->init_from_backup($node, $params{old} ? 'old' : $copy->name, has_streaming => $params{streams});
	$copy->append_conf('postgresql.conf', 'archive_mode = off');
	remove_tree($node->backup_dir . '/' . $copy->name);
	push @{ $self->{copies} }, $copy;
	return $copy;
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
	remove_tree(old_of($node));
	$node->backup('old');
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

# ---- Load ----

# What is under load right now.
sub load
{
	my ($self, $count, @places) = @_;
	my ($sessions, $pause_ms) = $self->{is_small} ? ($count / 2, 250) : ($count, 20);
	for my $place (@places)
	{
		my $next = next_id($place->{generator});
		# A call that names the shard must fail as well while another place holds the shard.
		my @named = $place->{generator} || !defined $place->{shard} ? () : "SELECT next_id($place->{shard}, $layout)";
		my $clients = start_clients(
			$place->{node}, $sessions,
			[
				"SELECT $next", "SELECT $next FROM generate_series(1, 30)", @named,
				'BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT $next", "SELECT $next", 'ROLLBACK'
			],
			dbname => $place->{db}, reconnect => 1, tolerate => $tolerated, pause_ms => $pause_ms);
		push @{ $self->{load} }, { place => $place, clients => $clients };
	}
	return;
}

# Ends the load, on these places or everywhere, and keeps the ids. The ids of each place are judged as those of
# one generator.
sub end_load
{
	my ($self, @places) = @_;
	my %ends = map { $_ => 1 } @places ? @places : map { $_->{place} } @{ $self->{load} };
	my @ended = grep { $ends{ $_->{place} } } @{ $self->{load} };
	$self->{load} = [ grep { !$ends{ $_->{place} } } @{ $self->{load} } ];
	kill 'TERM', $_->{clients}{pid} for @ended;
	$self->keep($_) for @ended;
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
	my $verdict = judge_clients([$clients], shard_bits => $shard_bits, sequence_bits => $sequence_bits, lead_ms => -1, borrow_ms => 1);
	$self->{ids} += $verdict->{ids};
	push @{ $self->{wrong} }, "$label: " . join ', ', map { "$_ $verdict->{$_}" } sort keys %$verdict
	  if $verdict->{violations};
	my $file = "$self->{dir}/$label";
	# Calls that were lost have no id.
	IPC::Run::run([ 'sed', '-nE', 's/^(-?[0-9]+) .*/\1/p', @{ $clients->{files} } ], '>', $file) or die 'sed';
	push @{ $self->{notes} }, $file;
	unlink @{ $clients->{files} };
	return;
}

# The places that draw no id within some seconds, with their {error}. Those whose error matches are {is_lost}, and are not
# waited for.
sub places_that_do_not_draw
{
	my ($self, $seconds, $lost) = @_;
	my @silent = @{ $self->{places} };
	for (my $end = time + $seconds;; usleep 200_000)
	{
		my @asked = map { $self->ask_for_id($_) } @silent;
		$_->finish for @asked;
		@silent = grep { $_->{error} =~ /ERROR|error:|FATAL/ } @silent;
		$_->{is_lost} = $lost && $_->{error} =~ $lost for @silent;
		return @silent if time > $end || !grep { !$_->{is_lost} } @silent;
	}
}

# Starts a session that asks a place for an id, which is added to those of its server.
sub ask_for_id
{
	my ($self, $place) = @_;
	my $file = "$self->{dir}/end-" . $place->{node}->name;
	push @{ $self->{notes} }, $file unless grep { $_ eq $file } @{ $self->{notes} };
	$place->{error} = '';
	return IPC::Run::start([ 'psql', '-XAtq', '-d', $place->{node}->connstr($place->{db}), '-c', $longer, '-c', 'SELECT ' . next_id() ],
		'>>', $file, '2>', \$place->{error});
}

# Retries what may be refused for a while: if the holder's clock was far ahead, the shard's windows are as far ahead as
# they may be. Returns whether it was done; it was not, if the error matches what is final.
sub insist
{
	my ($self, $place, $sql, $final) = @_;
	my $error;
	for (my $end = time + $self->{patience}; time < $end; usleep 500_000)
	{
		return 1 if $place->{node}->psql($place->{db}, "$longer $sql", stderr => \$error) == 0;
		return 0 if $final && $error =~ $final;
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
# as long. A place that lost its shard still generates ids until its own window ends. A takeover is refused if another
# generator has leased the shard, after an eviction, or held it in the registry's backup: then the place leases another.
sub take_back
{
	my ($self, @places) = @_;
	for my $place (@places)
	{
		my $draws = $place->{node}->psql($place->{db}, 'SELECT ' . next_id(), stderr => \my $error) == 0;
		next if $draws && $self->ask_registry(<<"SQL") eq 't';
SELECT count(*) = 1 FROM shardid_lease.id_space_shards
WHERE shard = $place->{shard} AND port = @{[ $place->{node}->port ]} AND database = '$place->{db}' AND state = 'held'
SQL
		next if $self->insist($place, 'SELECT shardid_lease.take_over_shard()', qr/held by (?!.*if it replaces that one)/s);
		$self->release($place, 'shardid_seq');
		$self->insist($place, "SELECT shardid_lease.lease_shard('ids', 'registry')");
		$place->{shard} = shard_of(@$place{qw(node db)});
	}
	return;
}

# A random place of all, or of those that the code accepts.
sub any_place
{
	my ($self, $wanted) = @_;
	my @places = grep { !$wanted || $wanted->($_) } @{ $self->{places} };
	return $places[ rand @places ];
}

# The call that draws, from the extension's own generator or from the one that is named.
sub next_id
{
	my ($generator) = @_;
	return 'next_id(' . ($generator ? "'$generator'::regclass, " : '') . "$layout)";
}

1;
