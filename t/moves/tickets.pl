# Ids from two and three independent servers, by the statements of examples/tickets/README.md: tickets, the triple with
# a counter, the triple of next_id. No server repeats another's id, also while two servers become three. The ways that
# the page warns of do repeat ids.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

# The blocks of SQL on the page, by the comment in their first line.
my $page = slurp_file('examples/tickets/README.md');
my %block = $page =~ /^```sql\n-- (.*?)\n(.*?)^```$/gms;
my %has_run;

my @servers = map { new_node("server_$_", 'autovacuum = off') } 1 .. 3;

# Runs a block of the page on a server, with the variables that it names.
sub run_block
{
	my ($number, $name, %variables) = @_;
	die "examples/tickets/README.md has no '$name'" unless $block{$name};
	$has_run{$name} = 1;
	$variables{server} = $number;
	my @settings = map { ('-v', "$_=$variables{$_}") } sort keys %variables;
	my ($status, $out, $err) = $servers[ $number - 1 ]->psql(
		'postgres', $block{$name},
		on_error_stop => 0,
		extra_params => [ '-v', 'VERBOSITY=sqlstate', @settings ]);
	return $err ? $err =~ s/.*ERROR:\s+//sr : $out;
}

sub query
{
	my ($number, $sql) = @_;
	return $servers[ $number - 1 ]->safe_psql('postgres', $sql);
}

# How many numbers of all lists are duplicates.
sub meetings
{
	my %seen;
	return scalar grep { $seen{$_}++ } map { @$_ } @_;
}

sub draw
{
	my ($number, $expression, $count) = @_;
	return [ split /\n/, query($number, "SELECT $expression FROM generate_series(1, $count)") ];
}

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
	die 'the clients get no more';
}

# --- Tickets from two servers, of which one is killed and starts again. Its clients have ended before: what nextval
# returns just before a crash is tested below.

is(run_block($_, 'On each server: tickets.', servers => 2), '', "server $_: tickets") for 1, 2;
is_deeply(draw(1, "nextval('tickets')", 3), [ 1, 3, 5 ], 'server 1 gives the odd ones');
is_deeply(draw(2, "nextval('tickets')", 3), [ 2, 4, 6 ], 'server 2 gives the even ones');

my @ticket_clients = map { start_clients($servers[$_], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0)) } 0, 1;
wait_for_more($_) for @ticket_clients;
finish_clients($ticket_clients[0], 1);
kill_node($servers[0]);
is(query(2, "SELECT nextval('tickets') % 2"), 0, 'server 2 goes on without server 1');
start_again($servers[0]);
push @ticket_clients, start_clients($servers[0], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0));

# --- Under the same load, the two servers become three.

wait_for_more($ticket_clients[$_]) for 1, 2;
my ($highest) = sort { $b <=> $a } map { run_block($_, 'On each old server: where it is.') } 1, 2;
is(run_block(1, 'On each old server: the maximum.', maximum => 10), '22023', 'a maximum below what was given is refused');
my $maximum = $highest + 10_000_000;
is(run_block($_, 'On each old server: the maximum.', maximum => $maximum), '', "server $_: the maximum") for 1, 2;
wait_for_more($ticket_clients[$_]) for 1, 2;
my %three = (maximum => $maximum, servers => 3);
is(run_block(2, 'On each old server: above the maximum with the new step.', %three), '', 'server 2 goes over');
wait_for_more($ticket_clients[$_]) for 1, 2;
is(run_block(3, 'On the new server.', %three), '', 'server 3 begins');
push @ticket_clients, start_clients($servers[2], 4, "SELECT nextval('tickets')", pause_ms => rounds(2, 0));
wait_for_more($_) for @ticket_clients[ 1 .. 3 ];
is(run_block(1, 'On each old server: above the maximum with the new step.', %three), '', 'server 1 goes over');
wait_for_more($_) for @ticket_clients[ 1 .. 3 ];
finish_clients($_, 1) for @ticket_clients[ 1 .. 3 ];

my @told = map { @{ read_told($_) } } @ticket_clients;
my $tickets = map { @$_ } @told;
my @above = map { my $left = $_; scalar grep { $_ > $maximum && ($_ - $maximum) % 3 == $left } map { @$_ } @told } 1, 2, 0;
note "$tickets tickets, above the maximum @above";
cmp_ok($above[$_], '>=', 100, 'server ' . ($_ + 1) . ' has given tickets of its own above the maximum') for 0 .. 2;
my $met = meetings(@told);
is($met, 0, 'of all tickets, none was given twice');
note_fault('two ticket servers become three, one was killed before', 1, $tickets, $met);

# A sequence that reaches the maximum before the change fails, instead of repeating another server's tickets.
query(1, 'CREATE SEQUENCE late INCREMENT 2 START 1 MAXVALUE 10');
is_deeply(draw(1, "nextval('late')", 5), [ 1, 3, 5, 7, 9 ], 'below the maximum');
my ($status, $out, $err) = $servers[0]->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT nextval('late')");
like($err, qr/2200H/, 'and no further');

# Only a larger step, without a maximum: the page's example of duplicates.
query(1, 'CREATE SEQUENCE naive INCREMENT 2 START 1');
query(2, 'CREATE SEQUENCE naive INCREMENT 2 START 2');
query(3, 'CREATE SEQUENCE naive INCREMENT 3 START 3');
my @naive = map { draw($_, "nextval('naive')", 100) } 1, 2;
query($_, 'ALTER SEQUENCE naive INCREMENT 3') for 1, 2;
push @naive, map { draw($_, "nextval('naive')", 100) } 1, 2, 3;
is($naive[0][-1], 199, 'server 1 stood at 199');
is($naive[2][0], 202, 'went on with 202');
cmp_ok(meetings(@naive), '>', 50, 'without a maximum ' . meetings(@naive) . ' of ' . map({ @$_ } @naive) . ' meet');

# nextval returns values before they are on disk: one session's record covers the next 32 values of all sessions.
query(2, 'CREATE SEQUENCE soon_told');
my $gate = PostgreSQL::Test::Utils::tempdir() . '/gate';
$servers[1]->stop;
with_wal_gate($gate, sub { $servers[1]->start });
append_to_file($gate, 'closed');
my $first = start_clients($servers[1], 1, "SELECT nextval('soon_told')", rounds => 1);
$servers[1]->poll_query_until('postgres', q(SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND lower(wait_event) = 'walwrite'))
  or die 'the session does not wait for WAL';
is(query(2, "SELECT nextval('soon_told')"), 2, 'the second session is told 2 while the first one waits');
kill_node($servers[1]);
unlink $gate;
finish_clients($first);
start_again($servers[1]);
is_deeply(draw(2, "nextval('soon_told')", 2), [ 1, 2 ], 'after a crash 2 comes again');

# With room from the beginning, the third server can be added without the others.
run_block($_, 'On each server: tickets with room for 16 servers.') for 1 .. 3;
is(meetings(map { draw($_, "nextval('roomy_tickets')", 1000) } 1 .. 3), 0, 'a step of 16: three servers do not meet');

# --- The triple with a counter.

is(run_block($_, 'On each server: the counter.', servers => 3), '', "server $_: a counter") for 1 .. 3;
my @triple = split /\|/, run_block(2, 'The triple.');
is($triple[0], 2, 'next is the server\'s');
is($triple[1], 196, 'the shard is the article\'s');
cmp_ok(abs($triple[2] / 1000 - time), '<', 600, 'the time is in milliseconds');
my @counters = map { draw($_, "nextval('articles')", 2048) } 1 .. 3;
is(meetings(@counters), 0, 'the counters of three servers do not meet');

# How many values of the last ten bits come from more than one server.
sub shared_low_bits
{
	my %from;
	$from{ $_[$_ >> 16][ $_ & 0xffff ] % 1024 }{ $_ >> 16 } = 1
	  for map { my $server = $_; map { $server << 16 | $_ } 0 .. $#{ $_[$server] } } 0 .. $#_;
	return scalar grep { keys %$_ > 1 } values %from;
}
is(shared_low_bits(@counters), 1024, 'in steps of 3 every value of ten bits comes from several servers');
run_block($_, 'On each server: a counter whose last ten bits stay apart.') for 1 .. 3;
is(shared_low_bits(map { draw($_, "nextval('articles_of_4')", 2048) } 1 .. 3), 0, 'in steps of 4 none does');

# --- The triple of next_id.

is(run_block($_, 'On each server: a generator.'), '', "server $_: a generator") for 1 .. 3;
for my $number (1 .. 3)
{
	my ($id, $ts, @parts) = split /\|/, run_block($number, 'An id and its triple.');
	is("@parts[0, 1]", "196 $number", "server $number: shard and server in the id");
	is(query($number, "SELECT id_timestamp($id, '2024-01-01 00:00:00+00', 12, 10) = '$ts'"), 't', 'and the time');
}

my $layout = "'articles_id_seq', '2024-01-01 00:00:00+00', 12, 10";
sub next_article { return "next_id((n % 1024) << 2 | $_[0], $layout)" }

# All servers at the same time, in bulk and one by one.
my @clients = map {
	start_clients($servers[ $_ - 1 ], 4, [
		'SELECT ' . next_article($_) . ' FROM generate_series(1, 5000) n',
		'SELECT ' . next_article($_) . ' FROM generate_series(14532, 14532) n' ], rounds => rounds(2, 50))
} 1 .. 3;
finish_clients($_) for @clients;
@told = map { @{ read_told($_) } } @clients;
my $ids = map { @$_ } @told;
$met = meetings(@told);
is($met, 0, "of $ids ids from three servers, none was given twice");
note_fault('three servers draw for the same shards at once', rounds(2, 50), $ids, $met);

# Times do not make ids differ: from the same position, in the same order, the servers generate ids that differ only in
# the server's number. Two servers with one number generate the same ids.
my $position = query(1, "SELECT id_lower_bound(now() + interval '1 hour', '2024-01-01 00:00:00+00', 12, 10) >> 22 << 10");
sub draw_from_position
{
	my ($number, $server) = @_;
	query($number, "SELECT setval('articles_id_seq', $position)");
	return [ split /\n/, query($number, 'SELECT ' . next_article($server) . ' FROM generate_series(1, 1000) n') ];
}
my @same_ticks = map { draw_from_position($_, $_) } 1 .. 3;
is(meetings(map { [ map { $_ & ~(3 << 10) } @$_ ] } @same_ticks), 2000, 'at the same ticks');
is(meetings(@same_ticks), 0, 'three servers do not meet');
is(meetings(map { draw_from_position($_, 1) } 1, 2), 1000, 'two with one number do');

# How many ids are drawn for one triple.
query(1, <<'SQL');
CREATE SEQUENCE draws;
CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('draws'); SELECT next_id(5) $$;
SQL
for my $form (
	[ 1, 'SELECT * FROM id_parts(counted())' ],
	[ 1, 'SELECT id_parts(counted())' ],
	[ 1, 'SELECT id, p.* FROM counted() id, id_parts(id) p' ],
	[ 3, 'SELECT (id_parts(counted())).*' ])
{
	my ($draws, $statement) = @$form;
	query(1, 'ALTER SEQUENCE draws RESTART');
	query(1, $statement);
	is(query(1, 'SELECT last_value FROM draws'), $draws, "$draws drawn by $statement");
}

is(join(', ', grep { !$has_run{$_} } sort keys %block), '', 'every block of the page has run');
is(() = $page =~ /^```sql$/gm, keys %block, 'and every block was found');

$_->stop for @servers;
done_testing();
