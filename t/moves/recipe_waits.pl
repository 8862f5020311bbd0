# docs/migrating.md: what the switch of the recipe holds off ends as the page says: a prepared INSERT, a call in the middle of
# the function, a transaction that locks in the other order. Each waits for the switch, or the switch for it, by its locks.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use Migrating;

start_original();

# A transaction that uses the tables in the other order: the switch gives way, before PostgreSQL looks for a deadlock.
{
	new_database('other_order');
	my $locks = () = recipe_switch() =~ /^(?:LOCK|ALTER SEQUENCE)|, insta5/mg;
	my ($timeout_ms) = recipe_switch() =~ /lock_timeout = '(\d+)ms'/;
	cmp_ok($locks * $timeout_ms, '<', on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout')), "$locks locks are waited for less than deadlock_timeout");
	create_recipe_of(1314220021721);
	on($insert_photo);
	my $application = $original->background_psql($database);
	$application->query_safe("SET deadlock_timeout = '1h'; BEGIN; INSERT INTO insta5.likes (photo) VALUES (NULL)");
	my $file = "$dir/other_order";
	append_to_file($file, recipe_switch());
	my $pid = fork // die "fork: $!";
	exec "psql -qX -v ON_ERROR_STOP=1 -v VERBOSITY=sqlstate -d '" . $original->connstr($database) . "' -f $file > $file.said 2>&1" if $pid == 0;
	my $holds = q(SELECT count(*) FROM pg_locks WHERE relation = 'insta5.photos'::regclass AND mode = 'AccessExclusiveLock' AND granted);
	usleep 10_000 until on($holds) || -s "$file.said";
	$application->query_safe($insert_photo . '; COMMIT');
	waitpid $pid, 0;
	like(slurp_file("$file.said"), qr/ERROR:  55P03/, 'other_order: the switch fails');
	is(on('SELECT count(*) FROM insta5.likes'), 1, 'other_order: the application does not');
	$application->quit;
}

# What is held off by the switch: a prepared INSERT by the lock on its table, a call of the function by that
# on its sequence, in the middle of the old function. The switch comes when the session is ready, and
# commits when the session waits. Returns what the statement then says, and the id that divides old from
# new.
sub held_off
{
	my ($switch, $statement) = @_;
	my $until = sub { "DO \$\$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE $_[0]) LOOP PERFORM pg_sleep(0.01); END LOOP; END \$\$;\n" };
	my $ready = $until->(q(locktype = 'advisory' AND granted));
	my $held = $until->(q(mode = 'ShareRowExclusiveLock' AND granted AND relation = 'insta5.photos_id_seq'::regclass));
	my $waiting = $until->('NOT granted');
	my $file = "$dir/$database.switch";
	append_to_file($file, $ready . $switch =~ s/^(ALTER SEQUENCE.*)$/$1\n$waiting/mr);
	my $pid = fork // die "fork: $!";
	exec 'psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', $original->connstr($database), '-At', '-o', "$file.out", '-f', $file if $pid == 0;
	my ($code, $stdout, $stderr) = $original->psql($database, <<"SQL");
PREPARE p AS INSERT INTO insta5.photos (name) VALUES ('p') RETURNING id;
EXECUTE p \\g /dev/null
SELECT pg_advisory_lock(1) \\g /dev/null
$held
$statement;
SQL
	waitpid $pid, 0;
	is($?, 0, "$database: the switch commits");
	my ($first_new) = slurp_file("$file.out") =~ /^insta5\|\d*\|(\d+)$/m;
	return ($stdout . $stderr, $first_new);
}

my %held_off = (
	prepared => [ 'EXECUTE p; EXECUTE p', 'new new' ],
	called => [ 'SELECT insta5.next_id() FROM generate_series(1, 3)', 'old new new' ]);
for my $how (sort keys %held_off)
{
	my ($statement, $expected) = @{ $held_off{$how} };
	new_database("held_off_$how");
	create_recipe_of(1314220021721);
	on($insert_photo);
	clock('-10s');
	my ($ids, $first_new) = held_off(recipe_switch(), $statement);
	is(join(' ', map { $_ < $first_new ? 'old' : 'new' } split /\n/, $ids), $expected, "$how while the switch runs: $expected");
}

# The same on the way back: a call that waits ends as next_id would.
new_database('held_off_back');
create_recipe_of(1314220021721);
on(block('recipe-save'));
on('GRANT USAGE ON SCHEMA insta5, ids TO app; GRANT USAGE ON SEQUENCE insta5.photos_id_seq TO app');
on(recipe_switch());
{
	my @told = split /\n/, (held_off(block('recipe-back'), 'SET ROLE app; SELECT insta5.next_id() FROM generate_series(1, 500)'))[0];
	my %told = map { $_ => 1 } @told;
	is(scalar(keys %told), 500, 'the way back: the call that it held off collides with none after it');
	like(on(q(SELECT prosrc FROM pg_proc WHERE oid = 'insta5.next_id'::regproc)), qr/nextval/, 'the way back: and it was done');
}

# A new body in another language is one that a call in the old one cannot go on with.
new_database('held_off_language');
create_recipe_of(1314220021721);
my $in_sql = recipe_switch() =~ s/plpgsql AS.*END \$\$;/sql RETURN ids.next_id(5, 'insta5.photos_id_seq');/msr;
like(
	(held_off($in_sql, $held_off{called}[0]))[0],
	qr/ERROR:  syntax error.*compilation of PL\/pgSQL function "next_id"/s, 'a call in the middle of a function that changes its language fails');

stop_servers();
done_testing();
