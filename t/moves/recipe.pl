# docs/migrating-ids.md: tables of the PL/pgSQL recipe switch to next_id under load, with the clock 10 s back: each client's
# ids after it are above all before it. What the switch holds off, or what holds it off, ends as the page says.
use Migrating;
use ShardidTest;

start_original();

# --- Under load

sub use_recipe
{
	# The recipe itself may repeat an id under load.
	my @clients = (
		start_clients($original, 2, $insert_photo =~ s/(?= RETURNING)/ ON CONFLICT DO NOTHING/r, dbname => $database),
		start_clients($original, 2, 'SELECT insta5.next_id()', dbname => $database));
	wait_for_more(\@clients, 200);
	return \@clients;
}

# How many ids each was told; the files come a moment after the clients.
sub counts_of
{
	my ($clients) = @_;
	return map { -e $_ ? scalar(() = slurp_file($_) =~ /\n/g) : 0 } map { @{ $_->{files} } } @$clients;
}

# Until each client was told that many ids more.
sub wait_for_more
{
	my ($clients, $more) = @_;
	my @enough = map { $_ + $more } counts_of($clients);
	return await_event('the clients are told more', sub { my @counts = counts_of($clients); return !grep { $counts[$_] < $enough[$_] } 0 .. $#counts });
}

# Switches while the recipe is used and the clock is 10 s back: what each client was told, and the id
# that divides old from new.
sub switch_under_load
{
	my ($switch) = @_;
	my $clients = use_recipe();
	clock('-10s');
	wait_for_more($clients, 20);
	my ($first_new) = on($switch) =~ /^insta5\|\d*\|(\d+)$/m;
	# More than 200: the clients' files are behind by a buffer, so ids from before the switch may be counted.
	wait_for_more($clients, 400);
	finish_clients($_, 1) for @$clients;
	return ([ map { @{ read_told($_) } } @$clients ], $first_new);
}

sub is_divided
{
	my ($told, $first_new) = @_;
	my (@before, @after);
	for my $list (@$told)
	{
		my $old = 0;
		$old++ while $old < @$list && $list->[$old] < $first_new;
		push @before, [ @$list[ 0 .. $old - 1 ] ];
		push @after, [ @$list[ $old .. $#$list ] ];
	}
	is(scalar(grep { @$_ < 200 } @before, @after), 0, "$database: each client drew before and after");
	is(scalar(grep { $_ < $first_new } map { @$_ } @after), 0, 'after its first new id none is told an old one');
	is_innocent(judge(\@after, lead_ms => -1), "$database: switch under load, clock 10 s back", 1);
	return;
}

new_database('recipe');
create_recipe_of_page();
on($insert_photo) for 1 .. 3;
is_divided(switch_under_load(recipe_switch()));
is(on('SELECT count(DISTINCT id_shard(id)), min(id_shard(id)) FROM insta5.photos'), '1|5', 'all of one shard');

# The raise is what keeps ids above the old ones.
new_database('without_raise');
create_recipe_of_page();
on($insert_photo);
clock('-1h');
on(recipe_switch() =~ s/^SELECT 'insta5' AS schema.*?;\n//msr);
is(on($insert_photo . ' < (SELECT max(id) FROM insta5.photos)'), 't', 'without the raise a new id is below an old one');

# --- A transaction uses the tables in the other order: the switch gives way, before PostgreSQL looks for a deadlock.

new_database('other_order');
create_recipe_of_page();
on($insert_photo);
my $locks = () = recipe_switch() =~ /^(?:LOCK|ALTER SEQUENCE)|, insta5/mg;
my ($timeout_ms) = recipe_switch() =~ /lock_timeout = '(\d+)ms'/;
my $deadlock_ms = on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout'));
is($locks, 3, 'two tables and a sequence are locked');
cmp_ok($locks * $timeout_ms, '<', $deadlock_ms, "$locks locks are waited for less than deadlock_timeout");
my $application = $original->background_psql($database);
$application->query_safe("SET deadlock_timeout = '1h'; BEGIN; INSERT INTO insta5.likes (photo) VALUES (NULL)");
my $file = "$dir/other_order";
append_to_file($file, "SET deadlock_timeout = '1h';\n" . recipe_switch());
my $pid = fork // die "fork: $!";
my $connection = $original->connstr($database);
exec "psql -qX -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate -d '$connection' -f $file >$file.said 2>&1"
  if $pid == 0;
my $holds = q(SELECT count(*) FROM pg_locks
	WHERE relation = 'insta5.photos'::regclass AND mode = 'AccessExclusiveLock' AND granted);
await_event('the switch has a lock, or has failed', sub { return on($holds) || -s "$file.said" });
$application->query_safe($insert_photo . '; COMMIT');
waitpid $pid, 0;
like(slurp_file("$file.said"), qr/ERROR:  55P03/, 'other_order: the switch fails');
is(on('SELECT count(*) FROM insta5.likes'), 1, 'other_order: the application does not');
$application->quit;

# The switch comes when the session is ready, holds off its call of the function in the middle, by the lock on its
# sequence, and commits when the session waits. Returns what the statement then says, and the id that divides old from
# new.
sub held_off
{
	my ($switch, $statement) = @_;
	my $until = sub { return <<"SQL" };
DO \$\$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE $_[0]) LOOP PERFORM pg_sleep(0.01); END LOOP; END \$\$;
SQL
	my $ready = $until->(q(locktype = 'advisory' AND granted));
	my $held = $until->(q(mode = 'ShareRowExclusiveLock' AND granted AND relation = 'insta5.photos_id_seq'::regclass));
	my $waiting = $until->('NOT granted');
	my $file = "$dir/$database.switch";
	append_to_file($file, $ready . $switch =~ s/^(ALTER SEQUENCE.*)$/$1\n$waiting/mr);
	my $pid = fork // die "fork: $!";
	exec qw(psql -qXAt -v ON_ERROR_STOP=1 -d), $original->connstr($database), '-o', "$file.out", '-f', $file if $pid == 0;
	my ($code, $stdout, $stderr) = $original->psql($database, <<"SQL");
SELECT pg_advisory_lock(1) \\g /dev/null
$held
$statement;
SQL
	waitpid $pid, 0;
	is($?, 0, "$database: the switch commits");
	my ($first_new) = slurp_file("$file.out") =~ /^insta5\|\d*\|(\d+)$/m;
	return ($stdout . $stderr, $first_new);
}

new_database('held_off');
create_recipe_of_page();
on($insert_photo);
clock('-10s');
my ($said, $first_new) = held_off(recipe_switch(), 'SELECT insta5.next_id() FROM generate_series(1, 3)');
is(join(' ', map { $_ < $first_new ? 'old' : 'new' } split /\n/, $said), 'old new new', 'a call while the switch runs');

$original->stop;
done_testing();
