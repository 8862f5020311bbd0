# Tickets by nextval from two and three independent servers, by the statements of examples/tickets/README.md: no server
# repeats another's number, also while one server is killed and while two servers become three. The ways that the page
# warns of do repeat numbers: a larger step alone, and a crash before a value is on disk.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;
use Tickets;

my @servers = map { new_node("server_$_", 'autovacuum = off') } 1 .. 3;
on_servers(map { [ $_, 'postgres' ] } @servers);

# How many ids the clients have received so far; just after their start they have no files yet.
sub told_so_far
{
	my ($clients) = @_;
	return 0 if grep { !-e } @{ $clients->{files} };
	return scalar map { @$_ } @{ read_told($clients) };
}

# Waits until the clients have received some more.
sub wait_for_more
{
	my ($clients) = @_;
	my $before = told_so_far($clients);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return if told_so_far($clients) >= $before + 100;
		usleep 100_000;
	}
	die 'the clients receive no more';
}

# --- Tickets from two servers, of which one is killed and starts again. Its clients have ended before: what nextval
# returns just before a crash is tested below.

is(run_block($_, 'On each server: tickets.', servers => 2), '', "server $_: tickets") for 1, 2;
is_deeply(draw(1, "nextval('tickets')", 3), [ 1, 3, 5 ], 'server 1 gives odd numbers');
is_deeply(draw(2, "nextval('tickets')", 3), [ 2, 4, 6 ], 'server 2 gives even numbers');

my @ticket_clients = map { start_clients($servers[$_], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0)) } 0, 1;
wait_for_more($_) for @ticket_clients;
finish_clients($ticket_clients[0], 1);
kill_node($servers[0]);
is(query(2, "SELECT nextval('tickets') % 2"), 0, 'server 2 continues without server 1');
start_again($servers[0]);
push @ticket_clients, start_clients($servers[0], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0));

# --- Under the same load, the two servers become three.

wait_for_more($ticket_clients[$_]) for 1, 2;
my ($highest) = sort { $b <=> $a } map { run_block($_, 'On each old server: where it is.') } 1, 2;
is(run_block(1, 'On each old server: the maximum.', maximum => 10), '22023', 'a maximum below tickets that exist is refused');
my $maximum = $highest + 10_000_000;
is(run_block($_, 'On each old server: the maximum.', maximum => $maximum), '', "server $_: the maximum") for 1, 2;
wait_for_more($ticket_clients[$_]) for 1, 2;
my %three = (maximum => $maximum, servers => 3);
is(run_block(2, 'On each old server: above the maximum with the new step.', %three), '', 'server 2 continues above the maximum');
wait_for_more($ticket_clients[$_]) for 1, 2;
is(run_block(3, 'On the new server.', %three), '', 'server 3 begins');
push @ticket_clients, start_clients($servers[2], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0));
wait_for_more($_) for @ticket_clients[ 1 .. 3 ];
is(run_block(1, 'On each old server: above the maximum with the new step.', %three), '', 'server 1 continues above the maximum');
wait_for_more($_) for @ticket_clients[ 1 .. 3 ];
finish_clients($_, 1) for @ticket_clients[ 1 .. 3 ];

my @told = map { @{ read_told($_) } } @ticket_clients;
my $tickets = map { @$_ } @told;
my @above = map { my $left = $_; scalar grep { $_ > $maximum && ($_ - $maximum) % 3 == $left } map { @$_ } @told } 1, 2, 0;
note "$tickets tickets, above the maximum @above";
cmp_ok($above[$_], '>=', 100, 'server ' . ($_ + 1) . ' has generated tickets of its own above the maximum') for 0 .. 2;
my $met = duplicates(@told);
is($met, 0, "no ticket of $tickets is a duplicate");
note_fault('two ticket servers become three, one was killed before', 1, $tickets, $met);

# A sequence that reaches the maximum before the change fails, instead of repeating another server's tickets.
query(1, 'CREATE SEQUENCE late INCREMENT 2 START 1 MAXVALUE 10');
is_deeply(draw(1, "nextval('late')", 5), [ 1, 3, 5, 7, 9 ], 'below the maximum');
my ($status, $out, $err) = $servers[0]->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT nextval('late')");
like($err, qr/2200H/, 'at the maximum: refused');

# Only a larger step, without a maximum: the page's example of duplicates.
query(1, 'CREATE SEQUENCE naive INCREMENT 2 START 1');
query(2, 'CREATE SEQUENCE naive INCREMENT 2 START 2');
query(3, 'CREATE SEQUENCE naive INCREMENT 3 START 3');
my @naive = map { draw($_, "nextval('naive')", 100) } 1, 2;
query($_, 'ALTER SEQUENCE naive INCREMENT 3') for 1, 2;
push @naive, map { draw($_, "nextval('naive')", 100) } 1, 2, 3;
is($naive[0][-1], 199, 'server 1 is at 199');
is($naive[2][0], 202, 'server 1 continues with 202');
cmp_ok(duplicates(@naive), '>', 50, 'without a maximum ' . duplicates(@naive) . ' of ' . map({ @$_ } @naive) . ' are duplicates');

# nextval returns values before they are on disk: one session's record covers the next 32 values of all sessions.
query(2, 'CREATE SEQUENCE returned_soon');
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
$servers[1]->stop;
with_wal_gate($gate, sub { $servers[1]->start });
append_to_file($gate, 'closed');
my $first = start_clients($servers[1], 1, "SELECT nextval('returned_soon')", rounds => 1);
$servers[1]->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND lower(wait_event) = 'walwrite'))
  or die 'the session does not wait for WAL';
is(query(2, "SELECT nextval('returned_soon')"), 2, 'the second session receives 2 while the first one waits');
kill_node($servers[1]);
unlink $gate;
finish_clients($first);
start_again($servers[1]);
is_deeply(draw(2, "nextval('returned_soon')", 2), [ 1, 2 ], 'after a crash 2 is generated again');

# With room from the beginning, the third server can be added without the others.
run_block($_, 'On each server: tickets with room for 16 servers.') for 1 .. 3;
is(duplicates(map { draw($_, "nextval('roomy_tickets')", 1000) } 1 .. 3), 0, 'a step of 16: no duplicates from three servers');

every_block_has_run(qr/^(?!The triple)/);

$_->stop for @servers;
done_testing();
