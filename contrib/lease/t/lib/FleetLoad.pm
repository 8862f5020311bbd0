# What a fleet draws: load on its places, and records of every id that a client received, which are judged as one id
# space. A place is where ids are drawn: a server's node and a database.
package FleetLoad;

use ShardidTest;
use Exporter 'import';
use Time::HiRes qw(time usleep);

our @EXPORT = qw($sequence_bits $layout $next_id);

# No window or no lease, a standby, and a statement in a failed transaction.
my $tolerated = '55000,57P03,25006,25P02';

# Load waits half a second for the registry; where what must come is awaited, a slow machine may need longer.
my $longer = "SET shardid_lease.timeout = '10s';";

# Four ids per millisecond: two generators that draw for one shard at the same time almost certainly collide.
my $shard_bits = 20;
our $sequence_bits = 2;
our $layout = "shard_bits => $shard_bits, sequence_bits => $sequence_bits";
our $next_id = "next_id($layout)";

# What is under load right now.
sub load
{
	my ($self, $count, @places) = @_;
	my ($sessions, $pause_ms) = $self->{is_small} ? ($count / 2, 250) : ($count, 20);
	for my $place (@places)
	{
		# A call that names the shard must fail as well while another place holds the shard.
		my @named = defined $place->{shard} ? "SELECT next_id($place->{shard}, $layout)" : ();
		my $clients = start_clients(
			$place->{node}, $sessions,
			[
				"SELECT $next_id", "SELECT $next_id FROM generate_series(1, 30)", @named,
				'BEGIN ISOLATION LEVEL REPEATABLE READ', "SELECT $next_id", "SELECT $next_id", 'ROLLBACK'
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
	my $incarnation = join '-', $place->{node}->name, $place->{node}{life} // 0, $place->{db};
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
	my $file = "$self->{dir}/ends";
	push @{ $self->{notes} }, $file unless -e $file;
	my $end = time + $seconds;
	while (1)
	{
		# All at the same time.
		my @asked = map {
			IPC::Run::start([ 'psql', '-XAtq', '-d', $_->{node}->connstr($_->{db}), '-c', $longer, '-c', "SELECT $next_id" ], '>', \$_->{told}, '2>', \$_->{error})
		} @silent;
		my @failed = grep { !$asked[$_]->finish } 0 .. $#asked;
		append_to_file($file, join '', map { $_->{told} } @silent);
		@silent = @silent[@failed];
		$_->{is_lost} = $lost && $_->{error} =~ $lost for @silent;
		return @silent if time > $end || !grep { !$_->{is_lost} } @silent;
		usleep 200_000;
	}
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

# What an operator does when a removed copy holds the shard: if the copy's clock was far ahead, it holds the shard for
# as long. A place that lost its shard still generates ids until its own window ends. A takeover is refused if another
# generator held the shard in the registry's backup: then the place leases another.
sub take_back
{
	my ($self, @places) = @_;
	for my $place (@places)
	{
		my $draws = $place->{node}->psql($place->{db}, "SELECT $next_id", stderr => \my $error) == 0;
		next if $draws && $self->ask_registry(<<"SQL") eq 't';
SELECT count(*) = 1 FROM shardid_lease.id_space_shards
WHERE shard = $place->{shard} AND port = @{[ $place->{node}->port ]} AND database = '$place->{db}' AND state = 'held'
SQL
		next if $self->insist($place, 'SELECT shardid_lease.take_over_shard()', qr/held by (?!.*if it replaces that one)/s);
		$self->insist($place, q(SELECT shardid_lease.release_shard(generator) FROM shardid_lease.shard_leases WHERE state <> 'released'));
		$self->insist($place, "SELECT shardid_lease.lease_shard('ids', 'registry')");
		$place->{shard} = Fleet::shard_of(@$place{qw(node db)});
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

1;
