# Replication of sequences (PostgreSQL 19 and later) by the statements of docs/operations.md: two databases with the
# extension are synchronized again and again while both draw, and then the subscriber takes over. Neither repeats an id,
# and the subscriber repeats none of the publisher.
use Docs;
use ShardidTest;

my ($major) = `postgres --version` =~ /(\d+)/;
plan skip_all => 'no replication of sequences before PostgreSQL 19' if $major < 19;

# Synchronization needs no more configuration than this.
my $conf = "autovacuum = off\nwal_retrieve_retry_interval = 10ms\nsearch_path = 'public, ids'\n";
my $dir = PostgreSQL::Test::Utils::tempdir();
my $clock = "$dir/clock";
set_fake_clock($clock, '+0');
my $publisher = new_node('publisher', $conf, allows_streaming => 'logical');
my $subscriber;
with_fake_clock($clock, sub { $subscriber = new_node('subscriber', $conf); });
sub on { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql) }

# How to draw, as a number for the judge; that of UUIDs and ObjectIds is their time, on both servers.
my %draws = (
	shardid_seq => [ 'next_id(:shard)', {} ],
	photos_id_seq => [ q(next_id(:shard, 'photos_id_seq')), {} ],
	in_bulk => [ q(next_ids(:shard, 200, 'in_bulk')), {} ],
	shardid_uuid_seq => [ 'ticks(uuid_v1())', { shard_bits => 0, sequence_bits => 0, clock_percent => 1_000_000 } ],
	shardid_objectid_seq => [ 'ticks(objectid())', { shard_bits => 0, sequence_bits => 0, clock_percent => 1_677_700 } ]);
my @generators = sort keys %draws;

for my $node ($publisher, $subscriber)
{
	on($node, <<'SQL');
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
CREATE SEQUENCE photos_id_seq;
CREATE SEQUENCE in_bulk;
CREATE FUNCTION ticks(u uuid) RETURNS bigint LANGUAGE sql AS
$$ SELECT (extract(epoch FROM uuid_v1_timestamp(u)) * 1000000)::bigint * 10 + uuid_v1_hundred_ns(u) $$;
CREATE FUNCTION ticks(id bytea) RETURNS bigint LANGUAGE sql AS
$$ SELECT ('x' || encode(substr(id, 1, 4) || substr(id, 10, 3), 'hex'))::bit(56)::bigint $$;
SQL
}

# A block of the page, with the publisher's address instead of the page's.
sub page
{
	my ($name) = @_;
	my $address = $publisher->connstr . ' dbname=postgres user=replicator';
	return block_of('operations.md', $name) =~ s/'host=[^']*'/'$address'/r;
}

sub draw { my ($generator, $shard) = @_; return 'SELECT ' . $draws{$generator}[0] =~ s/:shard/$shard/r }

sub judge_of
{
	my ($generator, @clients) = @_;
	return judge_clients(\@clients, lead_ms => -1, %{ $draws{$generator}[1] });
}

sub is_synchronized
{
	return $subscriber->poll_query_until('postgres', page('sequences-synchronized'));
}

# --- The first synchronization.

my $refresh = command_of('operations.md', 'ALTER SUBSCRIPTION sequences REFRESH');
on($publisher, command_of('operations.md', 'CREATE PUBLICATION sequences'));
on($publisher, 'CREATE ROLE replicator LOGIN REPLICATION; GRANT USAGE ON SCHEMA ids TO replicator; GRANT SELECT ON ALL SEQUENCES IN SCHEMA public, ids TO replicator');
on($publisher, join q(;), map { draw($_, 1) } @generators);
on($subscriber, page('sequences-subscribe'));
ok(is_synchronized(), 'all sequences are synchronized');
# --- Both draw while the subscriber is set to the publisher's values, which are behind its own.

my $seconds = rounds(5, 60);
my %drawing;
for my $generator (@generators)
{
	push @{ $drawing{$generator} }, map { start_clients($_->[0], 2, draw($generator, $_->[1])) }[ $publisher, 1 ],
	  [ $subscriber, 2 ];
}
on($subscriber, "$refresh \\watch i=0.1 c=" . 10 * $seconds);
finish_clients($_, 'stop') for map { @$_ } values %drawing;
ok(is_synchronized(), 'synchronized again after ' . 10 * $seconds . ' times');

for my $generator (@generators)
{
	my ($there, $here) = @{ $drawing{$generator} };
	my $verdict = judge_of($generator, $there);
	is($verdict->{violations}, 0, "$generator: on the publisher none of $verdict->{ids} is wrong");
	is_innocent(judge_of($generator, $here), "$generator refreshed under load", 10 * $seconds);
}

# --- The subscriber takes over, its clock a minute behind.

set_fake_clock($clock, '-60');
my %told = map { my $clients = start_clients($publisher, 2, draw($_, 1), rounds => 200); finish_clients($clients); ($_ => $clients) } @generators;
on($subscriber, $refresh);
ok(is_synchronized(), 'and once more');
on($subscriber, command_of('operations.md', 'DROP SUBSCRIPTION sequences'));
for my $generator (@generators)
{
	my $after = start_clients($subscriber, 2, draw($generator, 1), rounds => 50);
	finish_clients($after);
	is_innocent(judge_of($generator, $drawing{$generator}[0], $told{$generator}, $after), "$generator after the subscriber has taken over", 1);
}
unlike(slurp_file($subscriber->logfile), qr/(?:WARNING|ERROR):/, 'nothing warned of');
$_->stop for $publisher, $subscriber;
done_testing();
