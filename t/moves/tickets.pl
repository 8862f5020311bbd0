# Tickets and triples from three databases, by the blocks of docs/layouts.md: no database repeats another's numbers, also
# while two become three under load.
use Docs;
use ShardidTest;

my $node = new_node('tickets', 'autovacuum = off');
$node->safe_psql('template1', 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
$node->safe_psql('postgres', "CREATE DATABASE server_$_") for 1 .. 3;

my $more_servers = block_of('layouts.md', 'more_servers');

# Runs SQL of the page on a server, with the variables that it names. Returns its result or the SQLSTATE.
sub run_sql
{
	my ($server, $sql, %variables) = @_;
	my ($status, $out, $err) = $node->psql("server_$server", $sql, on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', map { ('-v', $_) } "server=$server", map { "$_=$variables{$_}" } keys %variables ]);
	return $err ? $err =~ s/.*ERROR:\s+//sr : $out;
}

sub query { my ($server, $sql) = @_; return $node->safe_psql("server_$server", $sql) }
sub draw { my ($server, $expression, $count) = @_; return [ split /\n/, query($server, "SELECT $expression FROM generate_series(1, $count)") ] }
sub duplicates { my %seen; return scalar grep { $seen{$_}++ } map { @$_ } @_ }

# --- Two servers become three under load.

is(run_sql($_, command_of('layouts.md', 'CREATE SEQUENCE tickets INCREMENT :servers START :server'), servers => 2), '', "server $_: tickets") for 1, 2;
is_deeply(draw(1, "nextval('tickets')", 3), [ 1, 3, 5 ], 'server 1 gives odd numbers');
my @clients = map { start_clients($node, 4, "SELECT nextval('tickets')", dbname => "server_$_", pause_ms => 2) } 1, 2;
# The clients' files are behind by a buffer, so ids are counted by their values.
sub wait_for_tickets
{
	my ($clients, $above) = @_;
	return await_event("tickets above $above", sub {
		return 0 if grep { !-e } @{ $clients->{files} };
		return 100 <= grep { $_ > $above } map { @$_ } @{ read_told($clients) };
	});
}
wait_for_tickets($_, 0) for @clients;
my $the_maximum = command_of('layouts.md', 'ALTER SEQUENCE tickets MAXVALUE');
is(run_sql(1, $the_maximum, maximum => 10), '22023', 'a maximum below tickets that exist is refused');
my ($highest) = sort { $b <=> $a } map { query($_, 'SELECT last_value FROM tickets') } 1, 2;
my %three = (maximum => $highest + 10_000_000, servers => 3);
is(run_sql($_, $the_maximum, %three), '', "server $_: the maximum") for 1, 2;
is(run_sql(2, $more_servers, %three), '', 'server 2 continues above the maximum');
wait_for_tickets($clients[1], $three{maximum});
my $new_server = $more_servers =~ s/^ALTER .*/command_of('layouts.md', 'CREATE SEQUENCE tickets INCREMENT :servers START :first')/emr;
is(run_sql(3, $new_server, %three), '', 'server 3 begins');
push @clients, start_clients($node, 4, "SELECT nextval('tickets')", dbname => 'server_3', pause_ms => 2);
is(run_sql(1, $more_servers, %three), '', 'server 1 continues above the maximum');
wait_for_tickets($_, $three{maximum}) for @clients;
finish_clients($_, 1) for @clients;
my @told = map { @{ read_told($_) } } @clients;
for my $server (1 .. 3)
{
	my $above = grep { $_ > $three{maximum} && ($_ - $three{maximum}) % 3 == $server % 3 } map { @$_ } @told;
	cmp_ok($above, '>=', 100, "server $server has tickets of its own above the maximum");
}
is(duplicates(@told), 0, 'no ticket of ' . scalar(map { @$_ } @told) . ' is a duplicate');

# --- Triples.

my @triple = split /[|\n]/, run_sql(2, block_of('layouts.md', 'triples'));
is("$triple[0] $triple[1]", query(2, 'SELECT last_value FROM tickets') . ' 196', 'number and shard of article 14532');
cmp_ok(abs($triple[2] / 1000 - time), '<', 600, 'the time is in milliseconds');
for my $server (1 .. 3)
{
	my ($id, $ts, @parts) = split /\|/, (split /\n/, run_sql($server, block_of('layouts.md', 'triples')))[1];
	is("@parts[0, 1]", "196 $server", "server $server: shard and server in the id");
}
$node->stop;
done_testing();
