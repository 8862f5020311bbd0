# What a fleet draws: load on its places, and records of every id that a client received, which are judged as one id
# space. A place is where ids are drawn: a server's node, a database and, unless it is the extension's own, a generator.
package FleetLoad;

use ShardidTest;
use Exporter 'import';
use Time::HiRes qw(time usleep);

our @EXPORT = qw($shard_bits $sequence_bits $layout);

# No window or no lease, a standby, and a statement in a failed transaction.
my $tolerated = '55000,57P03,25006,25P02';

# Load waits half a second for the registry; where what must come is awaited, a slow machine may need longer.
my $longer = "SET shardid_lease.timeout = '10s';";

# Four ids per millisecond: two generators that draw for one shard at the same time almost certainly collide.
our ($shard_bits, $sequence_bits) = (20, 2);
our $layout = "shard_bits => $shard_bits, sequence_bits => $sequence_bits";

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
	my $end = time + $seconds;
	while (1)
	{
		my @asked = map { ask_for_ids($_, @silent) } @{ $self->{members} };
		my %error_of = map { $self->errors_of($_) } @asked;
		$_->{error} = $error_of{ $_->{node}->name . " $_->{db}" } for @silent;
		@silent = grep { defined $_->{error} } @silent;
		$_->{is_lost} = $lost && $_->{error} =~ $lost for @silent;
		return @silent if time > $end || !grep { !$_->{is_lost} } @silent;
		usleep 200_000;
	}
}

# Starts one session per server, which asks all its databases for an id; the servers' sessions run at the same time.
sub ask_for_ids
{
	my ($node, @places) = @_;
	my @databases = map { $_->{db} } grep { $_->{node} == $node } @places;
	my $sql = join '', map { "\\warn of $_\n\\connect $_\n$longer SELECT " . next_id() . ";\n" } @databases;
	my $asked = { name => $node->name, databases => \@databases };
	$asked->{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ],
		'<', \$sql, '>', \$asked->{told}, '2>', \$asked->{error});
	return $asked;
}

# The errors of the databases that have no id. If psql cannot connect to one, it asks no more.
sub errors_of
{
	my ($self, $asked) = @_;
	$asked->{run}->finish;
	my $file = "$self->{dir}/end-$asked->{name}";
	append_to_file($file, $asked->{told});
	push @{ $self->{notes} }, $file unless grep { $_ eq $file } @{ $self->{notes} };
	my %said = map { /^of (\w+)\n(.*)/s } split /^(?=of d\d+$)/m, $asked->{error};
	$said{$_} //= 'not asked' for @{ $asked->{databases} };
	return map { ("$asked->{name} $_" => $said{$_}) } grep { $said{$_} =~ /ERROR|error:|FATAL|not asked/ } keys %said;
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

# The call that draws, from the extension's own generator or from the one that is named.
sub next_id
{
	my ($generator) = @_;
	return 'next_id(' . ($generator ? "'$generator'::regclass, " : '') . "$layout)";
}

1;
