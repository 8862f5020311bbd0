# examples/instagram/README.md: the scripts of examples/instagram are interrupted at random moments, and run again, while sessions
# write: by the end of their session, of psql, of the server. Every row, and all that belongs to the tables, is as the
# sessions have left it. SHARDID_SEED repeats the moments, ROUNDS sets how many.
use AddId;
use Migrating 'recipe_of_page';
use ShardidTest;

my $seed = $ENV{SHARDID_SEED} || time;
srand $seed;
diag "SHARDID_SEED=$seed";
my $kills = $ENV{ROUNDS} || rounds(4, 40);
my %count;
start_shop('migration_kills', "restart_after_crash = on\n");

my $done = '42P06: schema "before_ids" already exists';
my %ways = (
	terminate => sub { as_superuser(q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop_owner')) },
	backend => sub {
		my @pids = split ' ', as_superuser(q(SELECT pid FROM pg_stat_activity WHERE usename = 'shop_owner'));
		kill 'KILL', @pids;
		usleep 1_000 while grep { kill 0, $_ } @pids;
		$node->poll_query_until('shop', q(SELECT true)) or die 'the server does not come back';
	},
	server => sub { $node->stop('immediate'); start_again($node) },
	psql => sub { $_[0]->signal('KILL') });

# Starts a script of examples/instagram, with what it prints line by line.
sub start_script
{
	my ($out, $err, $name, %variables) = @_;
	return IPC::Run::start([ 'stdbuf', '-oL', 'psql', '-Xqt', '-A', '-v', 'VERBOSITY=verbose', '-d', $node->connstr('shop') . ' user=shop_owner',
			(map { ('-v', "$_=$variables{$_}") } sort keys %variables), '-f', "examples/instagram/$name.sql" ], '<', \'', '>', $out, '2>', $err);
}

# A run of the script that is interrupted when it has printed this, and up to so many seconds have passed.
sub interrupted
{
	my ($way, $printed, $seconds, @script) = @_;
	my ($out, $err) = ('', '');
	my $script = start_script(\$out, \$err, @script);
	$script->pump_nb, usleep 1_000 until $out =~ /$printed/ || !$script->pumpable;
	usleep rand($seconds) * 1e6;
	$script->pump_nb if $script->pumpable;
	my $is_running = $script->pumpable;
	$ways{$way}->($script) if $is_running;
	eval { $script->finish };
	is_error_of_page($err, "$way at /$printed/");
	$count{$_}++ for $is_running ? ($way, 'kills') : 'too late';
	return;
}

# What its end does, also while psql connects, where libpq tells no SQLSTATE; and what the page says to answer by another
# run: a lock that somebody has, here the session of a psql that was killed; and that there is nothing more to do.
sub is_error_of_page
{
	my ($err, $when) = @_;
	my @others = grep { !/57P0[1-3]|^terminating connection|the database system is|55P03|55006|40P01|not all schemas have changed|$done/ } $err =~ /(?:ERROR|FATAL):  (.*)/g;
	return is("@others", '', "$when: no other error");
}

# Runs it until it succeeds, as the page says; returns what it prints.
sub at_last
{
	my @command = @_;
	my $out;
	await_event("@command succeeds", sub {
		($out, my $err) = ('', '');
		my $script = start_script(\$out, \$err, @command);
		return 1 if ($script->finish && $err !~ /ERROR/) || $err =~ /$done/;
		is_error_of_page($err, "@command");
		usleep 300_000;
		return 0;
	});
	return $out;
}

# Random ways, at random ones of these moments.
sub campaign
{
	my ($rounds, $moments, @script) = @_;
	my @names = sort keys %ways;
	interrupted($names[ rand @names ], @{ $moments->[ rand @$moments ] }, @script) for 1 .. $rounds;
	return;
}

# All that these schemas contain, as pg_dump writes it. A generator's MINVALUE has random bits.
sub fingerprint
{
	my ($schemas) = @_;
	my ($dump, $err) = run_command([ 'pg_dump', '-s', '-n', $schemas, '-d', $node->connstr('shop') ]);
	die $err if $err;
	return join "\n", grep { !/^--|^$|^\\(?:un)?restrict|^ +(?:NO )?MINVALUE/ } split /\n/, $dump =~ s/,$//mgr;
}

# The sessions write the same to a second table; and what they may be told: the server is gone.
sub write_to
{
	return start_clients($node->connstr . ' user=app', 2, [@_], dbname => 'shop', pause_ms => 5, reconnect => 1, tolerate => '57P01,57P02,57P03');
}

sub is_as_written
{
	my ($table, $columns, $told, $when) = @_;
	return is(on("SELECT count(*) FROM ((SELECT $columns FROM $table EXCEPT ALL SELECT $columns FROM $told) UNION ALL (SELECT $columns FROM $told EXCEPT ALL SELECT $columns FROM $table)) d"),
		0, "$when: all rows of $table are as written");
}

$node->safe_psql('postgres', 'CREATE DATABASE shop OWNER shop_owner');
install('extension');
on(recipe_of_page($_) . <<"SQL") for 5 .. 7;
ALTER FUNCTION insta$_.next_id SET search_path = pg_catalog;
COMMENT ON FUNCTION insta$_.next_id IS 'the function';
COMMENT ON COLUMN insta$_.photos.id IS 'the id';
CREATE TABLE insta$_.told (id bigint PRIMARY KEY, name text);
GRANT USAGE ON SCHEMA insta$_ TO app;
GRANT USAGE ON SEQUENCE insta$_.photos_id_seq TO app;
GRANT INSERT, SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA insta$_ TO app;
SQL
my $before = fingerprint('insta*');
# The old function can repeat an id.
my $clients = write_to(map { (
	"WITH n AS (INSERT INTO insta$_.photos (name) VALUES (random()) ON CONFLICT DO NOTHING RETURNING *) INSERT INTO insta$_.told TABLE n RETURNING id",
	"WITH n AS (UPDATE insta$_.photos SET name = random() WHERE id = (SELECT id FROM insta$_.told OFFSET floor(random() * 300)::int LIMIT 1) RETURNING *) UPDATE insta$_.told t SET name = n.name FROM n WHERE t.id = n.id RETURNING 1",
	"WITH n AS (DELETE FROM insta$_.photos WHERE id = (SELECT id FROM insta$_.told OFFSET floor(random() * 3000)::int LIMIT 1) RETURNING id) DELETE FROM insta$_.told t USING n WHERE t.id = n.id RETURNING 1") } 5 .. 7);
at_last('save', tables => 'photos,likes');
at_last('rights');
for my $cycle (1 .. rounds(1, $kills / 4))
{
	for my $script ('switch', 'back')
	{
		campaign(rounds(3, 12), [ [ '', 0.06 ], [ 'insta', 0.02 ] ], $script);
		1 while at_last($script) =~ /insta/;
		my $is_old = $script =~ /back/;
		is(on(q(SELECT count(*) FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) ~ '^insta..next_id')), $is_old ? 6 : 0, "$script: the defaults");
		is(fingerprint('insta*'), $before, "$script: all is as before") if $is_old;
		is_as_written("insta$_.photos", 'id, name', "insta$_.told", $script) for 5 .. 7;
	}
}
finish_clients($clients, 1);
is_as_written("insta$_.photos", 'id, name', "insta$_.told", 'at the end') for 5 .. 7;
note_fault('the switch from Instagram\'s function is interrupted', $count{kills}, on('SELECT count(*) FROM insta5.photos'), 0);

diag(join ', ', map { "$_ $count{$_}" } sort keys %count);
$node->stop;
done_testing();
