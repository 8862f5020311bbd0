# A session that borrows time (shardid.max_borrow) generates ids faster than the layout's rate, no further ahead
# of the clock than the setting allows, also for other sessions and through crashes; ids have honest time again when
# the clock has caught up. The commands are those of docs/operations.md.
use Docs;
use ShardidTest;

my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';
set_fake_clock($clock, '+0');
my $node;
with_fake_clock($clock, sub { $node = new_node('borrow', "autovacuum = off\nsearch_path = 'public, ids'"); });
sub query { return $node->safe_psql('postgres', $_[0]) }
sub last_line { return (split /\n/, $_[0])[-1] }

# The right to borrow. Before the library is loaded any role can set the parameter: the warning follows at loading.
query(<<'SQL');
CREATE ROLE loader LOGIN;
CREATE SCHEMA ids;
ALTER EXTENSION shardid SET SCHEMA ids;
GRANT USAGE ON SCHEMA ids TO loader;
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), name text);
CREATE TABLE incoming AS SELECT 'photo ' || i AS name FROM generate_series(1, 20000) i;
GRANT ALL ON photos, incoming, ids.shardid_seq TO loader;
SQL
sub as_loader { return $node->psql('postgres', $_[0], extra_params => [ '-U', 'loader' ]) }
my $load = block_of('operations.md', 'borrow');
my $lead_of_photos = 'SELECT ceil(1000 * extract(epoch FROM id_timestamp(max(id)) - clock_timestamp())) FROM photos';

my ($code, $stdout, $stderr) = as_loader("$load; $lead_of_photos");
like($stderr, qr/WARNING:  permission denied to set parameter "shardid.max_borrow"/, 'not everybody may borrow');
cmp_ok(last_line($stdout), '<=', 0, 'such ids are not ahead of the clock');
query(command_of('operations.md', 'GRANT SET ON PARAMETER shardid.max_borrow'));

# With a clock at a thousandth of its speed any machine is faster than the layout: 20,000 rows use the ids of 19 ms,
# for which this clock takes 19 seconds. A change of its speed sets it back, so it is set forward, too. The generator has
# an id already: on a fresh page a session waits for the next millisecond, again and again if each takes over 200 ms.
query('TRUNCATE photos; ALTER SEQUENCE shardid_seq RESTART; SELECT ids.next_id(5)');
set_fake_clock($clock, '+3600 x0.001');
my $log_start = -s $node->logfile;
($code, $stdout, $stderr) = as_loader("$load; $load; $lead_of_photos");
my $lead = last_line($stdout);
is($stderr, '', 'with GRANT SET a role may borrow');
cmp_ok($lead, '>', 0, "INSERT ... SELECT is faster than the default layout: $lead ms ahead of a slow clock");
is(query('SELECT sum(count), max(count) FROM (SELECT count(DISTINCT id) FROM photos GROUP BY id >> 23) s'),
	'40000|1024', 'no millisecond has more than its 1,024 ids');
my @told = slurp_file($node->logfile, $log_start) =~ /LOG:  (generator .* ahead of the clock)/g;
is("@told", 'generator "ids.shardid_seq" may get up to 3600000 ms ahead of the clock', 'the log says so, once');
is( query(<<'SQL'), 't|t', 'who borrows nothing draws ids as far ahead');
SELECT id > max, id_timestamp(id) > clock_timestamp() FROM (SELECT next_id(5) AS id, max(id) FROM photos) s
SQL
like(query('SELECT lead FROM ids.id_generator_status()'), qr/^00:00:00\.\d+$/, 'status shows the lead');

# By how many milliseconds ids are ahead of the clock at most. They are generated until the limit has been reached three
# times: from then on each millisecond is waited for, so this clock is faster.
set_fake_clock($clock, '+0 x0.01');
query(<<'SQL');
CREATE FUNCTION most_ahead(generator regclass, bound int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    ahead int;
    most int := 0;
    reached int := 0;
BEGIN
    FOR n IN 1 .. 10000 LOOP
        SELECT ceil(1000 * extract(epoch FROM id_timestamp(max(id)) - clock_timestamp())) INTO ahead FROM next_ids(5, 1024, generator) id;
        most := greatest(most, ahead);
        reached := reached + (ahead >= bound)::int;
        EXIT WHEN reached = 3;
    END LOOP;
    RETURN most;
END
$$;
SQL

sub most_ahead
{
	my ($generator, $bound, @settings) = @_;
	return last_line(query(join ';', "CREATE SEQUENCE $generator", "LOAD 'shardid'", @settings, "SELECT most_ahead('$generator', $bound)"));
}
my $hour = "SET shardid.max_borrow = '1h'";
is(most_ahead('limited', 100, "SET shardid.max_borrow = '100ms'"), 100, 'as far ahead as it may go, and no further');
is(most_ahead('by_lead', 50, $hour, "SET shardid.max_lead = '1050ms'"),
	50, 'max_lead less the second that a crash adds is a limit too');

# A page that is fresh, or was moved by setval or the like, waits for the clock as without borrowing. The clock then has its
# own speed (libfaketime keeps the last one): one that hardly moves is taken for one that stands.
my $is_ahead = "SELECT id_timestamp(next_id(5, 'ours')) > clock_timestamp()";
set_fake_clock($clock, '+0 x1');
my @ahead = query("CREATE SEQUENCE ours; LOAD 'shardid'; $hour; $is_ahead");
set_fake_clock($clock, '+0 x0.01');
push @ahead, query("LOAD 'shardid'; $hour; SELECT count(*) FROM (SELECT next_ids(5, 20000, 'ours')) s; $is_ahead");
set_fake_clock($clock, '+0 x1');
push @ahead, query("LOAD 'shardid'; $hour; SELECT count(*) FROM (SELECT next_ids(5, 20000, 'ours')) s; SELECT pg_sleep(extract(epoch FROM greatest(lead, '0')) + 0.001) FROM id_generator_status('ours');
	SELECT setval('ours', 1); $is_ahead; ALTER SEQUENCE ours RESTART; $is_ahead");
is(join(' ', map { /^[tf]$/mg } @ahead), 'f t f f', 'ahead after a load; not when fresh, moved or restarted');
$node->stop;

# With a true clock, sessions that may borrow half a second run next to others that may not; kill -9 while time is
# borrowed: ids continue above the old ones, at most by the one second that was logged ahead.
$node = new_node('load', "autovacuum = off\nrestart_after_crash = off");
query('CREATE SEQUENCE full_size');
my $may_borrow = '-c shardid.max_borrow=500';
my $bulk = "SELECT max(id) FROM (SELECT next_ids(5, 20000, 'full_size') AS id) s";
my @histories;
my $rounds = rounds(2, 20);
for my $round (1 .. $rounds)
{
	my @clients = (
		start_clients($node, 4, [ 'BEGIN', $bulk, 'ROLLBACK' ], options => $may_borrow),
		start_clients($node, 4, "SELECT next_id(5, 'full_size')"));
	await_clients($node, 8);
	await_ids(@clients);
	usleep 200_000 + rand 200_000;
	query('CHECKPOINT') if $round % 2;
	kill_node($node);
	finish_clients($_) for @clients;
	is_innocent(judge_clients(\@clients, borrow_ms => 500), 'time borrowed', 1) if $round == 1;
	start_again($node);
	push @clients, start_clients($node, 2, "SELECT next_id(5, 'full_size')", rounds => 50);
	finish_clients($clients[-1]);
	is(judge_clients(\@clients, lead_ms => 1000, borrow_ms => 500)->{violations}, 0, 'a crash adds a second at most')
	  if $round == 1;
	push @histories, @clients;
}
is_innocent(judge_clients(\@histories, lead_ms => -1, borrow_ms => 500), 'kill -9 while time is borrowed', $rounds);

$node->stop;
done_testing();
