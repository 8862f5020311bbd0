# docs/migrating.md, block by block: tables with ids of other kinds continue with those of next_id, above
# the old ones although the clock is set back before the switch; and again after a dump and a restore
# on a server whose clock is an hour behind. Its first part, for tables without ids, is t/moves/add_id.pl.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Docs;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use ShardidTest;

my $dir = PostgreSQL::Test::Utils::tempdir();
# The blocks name the schema of the functions themselves; what this test adds finds it in search_path.
sub block { return "SET search_path = public;\n" . block_of('migrating.md', $_[0]) }

# The page's switch of a column with these names, with the lines behind LOCK TABLE that another kind of column needs.
sub switch_of
{
	my ($table, $lines, %names) = @_;
	my $switch = block('column-switch');
	$switch =~ s/^(LOCK TABLE.*\n)/$1 . block_of('migrating.md', $lines)/me if $lines;
	$switch =~ s/\bitems\b/$table/g;
	$switch =~ s/\bitems_id_seq\b/${table}_id_seq/g;
	$switch =~ s/\b\Q$_\E\b/$names{$_}/g for sort keys %names;
	return $switch;
}

# What the page's loop runs for the schema insta5, in a transaction.
sub recipe_switch
{
	my ($statements) = block_of('migrating.md', 'recipe-switch') =~ /\$switch\$\n(.*)\$switch\$/s or die;
	$statements =~ s/%1\$I/insta5/g;
	$statements =~ s/%1\$L/'insta5'/g;
	$statements =~ s/%2\$s/5/g;
	return "SET search_path = public;\nBEGIN;\n$statements;\nCOMMIT;\n";
}

sub start_node
{
	my ($name, $offset) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	set_fake_clock("$dir/$name.clock", $offset);
	$node->init;
	$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 40");
	with_fake_clock("$dir/$name.clock", sub { $node->start });
	return $node;
}
my $original = start_node('original', '+0');
my $restored = start_node('restored', '-1h');
$_->safe_psql('postgres', 'CREATE ROLE app; CREATE ROLE batch; CREATE ROLE caller') for $original, $restored;
sub clock { return set_fake_clock("$dir/original.clock", $_[0]) }

# A database of the original with the extension, and what runs in it.
my $database;

sub new_database
{
	($database) = @_;
	clock('+0');
	$original->safe_psql('postgres', "CREATE DATABASE $database; ALTER DATABASE $database SET search_path = public, ids");
	return on(block('extension') =~ s/ALTER DATABASE \Kshop/$database/r =~ s/^GRANT.*\n//mgr);
}

# As the page says, a switch that has not got its locks in time runs again.
sub on
{
	my ($code, $stdout, $stderr);
	for (1 .. 100)
	{
		($code, $stdout, $stderr) = $original->psql($database, $_[0]);
		last if $stderr !~ /canceling statement due to lock timeout/;
	}
	die "$database: $stderr\n$_[0]" if $code;
	return $stdout;
}

sub fails
{
	my ($sql) = @_;
	my ($code, $stdout, $stderr) = $original->psql($database, $sql);
	isnt($code, 0, 'it fails');
	return $stderr =~ s/^psql:<stdin>:\d+: //mgr;
}

# Whether all ids that the generator will make are above those of the table.
my %default_layout = (epoch => '2011-08-24 21:07:01.721+00', shard_bits => 13, sequence_bits => 10);

sub answer
{
	my ($table, $generator, %layout) = @_;
	my %variable = (%default_layout, column => 'id', shard => 5, table => $table, generator => $generator, %layout);
	my $sets = join '', map { "\\set $_ '$variable{$_}'\n" } sort keys %variable;
	return (split /\|/, on($sets . <<'SQL'))[1];
WITH highest AS (
    SELECT max(:column) AS id, pg_typeof(max(:column)) AS type FROM :table),
generator AS (
    SELECT last_value + is_called::int AS next_tick FROM :generator),
clock AS (
    SELECT ids.id_lower_bound(date_trunc('milliseconds', clock_timestamp()),
                              :'epoch', :shard_bits, :sequence_bits) AS id),
future AS (
    SELECT next_tick >> :sequence_bits AS ms,
           ((next_tick >> :sequence_bits) << (:shard_bits + :sequence_bits))
           | (:shard::bigint << :sequence_bits)
           | (next_tick & ((1::bigint << :sequence_bits) - 1)) AS first_by_generator,
           clock.id | (:shard::bigint << :sequence_bits) AS first_by_clock,
           clock.id >> (:shard_bits + :sequence_bits) AS now_ms
    FROM generator, clock)
SELECT id AS highest,
       CASE WHEN type <> 'bigint'::regtype THEN 'no: the column is ' || type
            WHEN ms - now_ms > 86400000 THEN 'no: the generator is more than a day ahead of the clock'
            WHEN id IS NULL THEN 'yes: there is none'
            WHEN first_by_generator > id THEN 'yes'
            WHEN first_by_clock > id THEN 'yes, if the clock is right'
            ELSE 'no' END AS every_future_id_is_above
FROM highest, future;
SQL
}

# Whether the highest id that the table has is below a new row's; the row is not kept.
sub next_is_above
{
	my ($table, $default) = @_;
	return on("BEGIN; SELECT $default > max(id) FROM $table; ROLLBACK");
}

# The dump of the database, restored where it is an hour ago: new rows are above all that there are.
sub goes_on_restored
{
	my ($table, $insert, $shard, %layout) = @_;
	my $highest = on("SELECT max(id) FROM $table");
	my $rows = on("SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM $table t");
	$restored->safe_psql('postgres', "CREATE DATABASE $database; ALTER DATABASE $database SET search_path = public, ids");
	$original->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/$database", $original->connstr($database) ], "$database: dump");
	$restored->command_ok([ 'pg_restore', '--exit-on-error', '--no-owner', '-d', $database, "$dir/$database" ], "$database: restore");
	is($restored->safe_psql($database, "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM $table t"),
		$rows, "$database: the same rows, " . $rows =~ s/\|.*//r);
	my (undef, undef, $stderr) = $restored->psql($database, "\\set VERBOSITY sqlstate\n$insert");
	is($stderr =~ /ERROR:  (\w+)/ ? $1 : 'none', $database =~ /recipe/ ? 'none' : '55000', "$database: the setting is not in the dump");
	$restored->safe_psql($database, "SELECT id_shard(0); ALTER DATABASE $database SET shardid.shard_id = $shard");
	my $bits = ($layout{shard_bits} // 13) . ', ' . ($layout{sequence_bits} // 10);
	my @ids = split /\n/, $restored->safe_psql($database, "$insert;\n" x 20);
	my @all = ($highest, @ids);
	my $not_above = grep { $all[$_] <= $all[ $_ - 1 ] } 1 .. $#all;
	is($not_above, 0, "$database: restored an hour behind, ids go on increasing");
	is($restored->safe_psql($database, "SELECT id_shard($ids[0], $bits)"), $shard, "$database: of shard $shard");
	note_fault("switch in $database, clock set back, dump restored an hour behind", 1, scalar @ids, $not_above);
	return;
}

# --- The recipe, while it is used: two sessions insert, two call the function and insert nothing.

sub create_recipe_of
{
	my ($epoch_ms, $shard) = @_;
	return on(<<"SQL" =~ s/insta5/'insta' . ($shard \/\/ 5)/egr =~ s/shard_id int := \K5/$shard \/\/ 5/er);
CREATE SCHEMA insta5;
CREATE SEQUENCE insta5.photos_id_seq;
CREATE FUNCTION insta5.next_id(OUT result bigint) LANGUAGE plpgsql AS \$\$
DECLARE
    our_epoch bigint := $epoch_ms;
    seq_id bigint;
    now_millis bigint;
    shard_id int := 5;
BEGIN
    SELECT nextval('insta5.photos_id_seq') % 1024 INTO seq_id;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_millis;
    result := (now_millis - our_epoch) << 23 | (shard_id << 10) | seq_id;
END
\$\$;
CREATE TABLE insta5.photos (id bigint PRIMARY KEY DEFAULT insta5.next_id(), name text);
CREATE TABLE insta5.likes (id bigint PRIMARY KEY DEFAULT insta5.next_id(), photo bigint REFERENCES insta5.photos);
SQL
}

sub use_recipe
{
	# The recipe itself may repeat an id under load.
	my @clients = (
		start_clients($original, 2, 'INSERT INTO insta5.photos (name) VALUES ($$x$$) ON CONFLICT DO NOTHING RETURNING id', dbname => $database),
		start_clients($original, 2, 'SELECT insta5.next_id()', dbname => $database));
	wait_for_more(\@clients, 200);
	return \@clients;
}

# How many ids each was told; the files come a moment after the clients.
sub counts_of
{
	my ($clients) = @_;
	return map { my $told = $_; map { -e $_ ? scalar(() = slurp_file($_) =~ /\n/g) : 0 } @{ $told->{files} } } @$clients;
}

# Until each client was told that many ids more.
sub wait_for_more
{
	my ($clients, $more) = @_;
	my @enough = map { $_ + $more } counts_of($clients);
	for (1 .. 3000)
	{
		my @counts = counts_of($clients);
		return unless grep { $counts[$_] < $enough[$_] } 0 .. $#counts;
		usleep 20_000;
	}
	die 'the clients are told nothing more';
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
	is(scalar(grep { $_ < $first_new } map { @$_ } @after), 0, "$database: after its first new id none is told an old one");
	is_innocent(judge(\@after, lead_ms => -1), "$database: switch under load, clock 10 s back", 1);
	return;
}

# The epoch goes into all calls.
sub with_epoch
{
	my ($switch, $epoch) = @_;
	$switch =~ s/next_id\(5, 'insta5.photos_id_seq'\K\)/, '$epoch')/g;
	$switch =~ s/id_timestamp\(max\(id\)\K/, '$epoch'/;
	$switch =~ s/'1 second'\K\)\)/, '$epoch'), '$epoch')/;
	return $switch;
}

my $insert_photo = q(INSERT INTO insta5.photos (name) VALUES ('x') RETURNING id);
my $users = q(SELECT adrelid::regclass FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) LIKE '%next_id()');
my %recipe = (recipe => {}, recipe_2012 => { epoch => '2012-01-01 00:00:00+00' });
for my $name (sort keys %recipe)
{
	my %layout = %{ $recipe{$name} };
	my $epoch = $layout{epoch};
	my $switch = $epoch ? with_epoch(recipe_switch(), $epoch) : recipe_switch();
	my $default = "next_id(5, 'insta5.photos_id_seq'" . ($epoch ? ", '$epoch')" : ')');

	new_database($name);
	create_recipe_of($epoch ? 1325376000000 : 1314220021721);
	is(on($users), "insta5.photos\ninsta5.likes", "$name: the tables whose default calls the function");
	my @generator = ('insta5.photos', 'insta5.photos_id_seq', %layout);
	is(answer(@generator), 'yes: there is none', "$name: an empty table");
	on($insert_photo) for 1 .. 3;
	is(answer(@generator), 'yes, if the clock is right', "$name: a clock that is right");
	clock('-10s');
	is(answer(@generator), 'no', "$name: one that is behind");
	is(next_is_above('insta5.photos', $default), 'f', "$name: and so it is");
	on("SELECT setval('insta5.photos_id_seq', 3)");
	clock('+0');

	is_divided(switch_under_load($switch));
	is(answer(@generator), 'yes', "$name: after the switch");
	is(next_is_above('insta5.photos', $default), 't', "$name: and so it is");
	is(on("SELECT count(DISTINCT id_shard(id)), min(id_shard(id)) FROM insta5.photos"), '1|5', "$name: all of one shard");
	my $of_epoch = $epoch ? ", '$epoch'" : '';
	is( on("SELECT bool_and(id_timestamp(id$of_epoch) BETWEEN now() - interval '1 hour' AND now() + interval '1 hour') FROM insta5.photos"),
		't', "$name: old and new tell their time by the same call");
	on(q(INSERT INTO insta5.likes (photo) SELECT max(id) FROM insta5.photos));
	is(on('SELECT id > photo FROM insta5.likes'), 't', "$name: both tables draw from it");
	goes_on_restored('insta5.photos', $insert_photo, 5);
}

# A switch that leaves out the raise is what the query warns of.
new_database('without_raise');
create_recipe_of(1314220021721);
on($insert_photo);
clock('-10s');
on(recipe_switch() =~ s/^SELECT 'insta5' AS schema.*?;\n//msr);
is(answer('insta5.photos', 'insta5.photos_id_seq'), 'no', 'without the raise: no');
is(on($insert_photo . ' < (SELECT max(id) FROM insta5.photos)'), 't', 'without the raise a new id is below an old one');

# All schemas in one loop; what fails is left, and found when it runs again.
new_database('recipe_all');
create_recipe_of(1314220021721, $_) for 11, 12, 7;
on('DROP TABLE insta12.likes');
on("INSERT INTO insta$_.photos (name) VALUES ('old')") for 11, 12, 7;
is(on(block('recipe-save')), "insta7|7|f\ninsta11|11|f\ninsta12|12|f", 'recipe_all: the functions, with their numbers');
my ($code, undef, $complaint) = $original->psql($database, block('recipe-switch'), on_error_stop => 0);
like($complaint, qr/relation "insta12.likes" does not exist/, 'recipe_all: one schema fails');
is( on(q(SELECT pronamespace::regnamespace FROM pg_proc WHERE proname = 'next_id' AND prosrc LIKE '%ids.next_id%' ORDER BY oid)),
	"insta11\ninsta7", 'recipe_all: the others are switched');
is(join(' ', sort split /\n/, on(block('recipe-check'))), 'insta11|t insta12|f insta7|t', 'recipe_all: which the check finds');
on('CREATE TABLE insta12.likes (id bigint PRIMARY KEY DEFAULT insta12.next_id(), photo bigint)');
on('CREATE TABLE insta7.forgotten (id bigint PRIMARY KEY DEFAULT insta7.next_id())');
on(block('recipe-switch'));
is(join(' ', sort split /\n/, on(block('recipe-check'))), 'insta11|t insta12|t insta7|f', 'recipe_all: and a table that was forgotten');
on('DROP TABLE insta7.forgotten');
is(on(block('recipe-switch')), '', 'recipe_all: run again, the switch prints nothing');
for my $shard (11, 12, 7)
{
	is( on("INSERT INTO insta$shard.photos (name) VALUES ('new') RETURNING id_shard(id), id > (SELECT max(id) FROM insta$shard.photos), id_sequence(id) = (SELECT last_value & 1023 FROM insta$shard.photos_id_seq)"),
		"$shard|t|t", "recipe_all: shard $shard has switched");
}
is(join(' ', sort split /\n/, on(block('recipe-check'))), 'insta11|t insta12|t insta7|t', 'recipe_all: so have the functions');

# A schema that fails on the way back keeps the saved functions.
on('ALTER TABLE insta12.likes RENAME TO hidden');
($code, undef, $complaint) = $original->psql($database, block('recipe-back'), on_error_stop => 0);
like($complaint, qr/relation "insta12.likes" does not exist/, 'recipe_all: one schema fails on the way back');
like(fails("\\set VERBOSITY sqlstate\n" . block('recipe-drop')), qr/^ERROR:  P0001$/m, 'recipe_all: so the saved functions cannot be dropped');
on('ALTER TABLE insta12.hidden RENAME TO likes');
on(block('recipe-back'));
is(on(block('recipe-back')), '', 'recipe_all: run again, the way back prints nothing');
on(block('recipe-drop'));
is(on(q(SELECT count(*) FROM pg_proc WHERE proname = 'next_id' AND prosrc LIKE '%nextval%' AND pronamespace::regnamespace::text LIKE 'insta%')),
	3, 'recipe_all: all functions are back');

# The way back, while it is used, and forth again. Roles that can insert keep that right: by a column, by PUBLIC, by a group.
new_database('recipe_back');
create_recipe_of(1314220021721);
on(<<'SQL');
ALTER SEQUENCE insta5.photos_id_seq CYCLE;
GRANT USAGE ON SCHEMA insta5 TO PUBLIC;
GRANT INSERT, SELECT ON insta5.photos TO app;
GRANT INSERT (photo), SELECT ON insta5.likes TO batch;
GRANT USAGE ON SEQUENCE insta5.photos_id_seq TO batch, caller;
ALTER FUNCTION insta5.next_id OWNER TO caller;
SQL
is(on(block('recipe-save')), 'insta5|5|f', 'recipe_back: the function, with its number');
my $body = q(SELECT md5(pg_get_functiondef(oid)), proowner::regrole FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
my $body_before = on($body);
isnt(on(block('recipe-rights') =~ s/\\gexec//r), '', 'recipe_back: roles lack rights');
on(block('recipe-rights'));
is(on(block('recipe-rights') =~ s/\\gexec//r), '', 'recipe_back: and then none does');
on(block('recipe-switch'));
like(fails(block('recipe-save')), qr/schema "before_ids" already exists/, 'recipe_back: what is saved stays');
like(on("SET ROLE app; $insert_photo"), qr/^\d+$/, 'recipe_back: app inserts');
on(command_of('migrating.md', 'BEGIN; SET LOCAL ROLE app; INSERT'));
like(on('SET ROLE batch; INSERT INTO insta5.likes (photo) VALUES (NULL) RETURNING id'), qr/^\d+$/, 'recipe_back: batch inserts into some columns');
is(on('SET ROLE caller; SELECT id_shard(insta5.next_id())'), 5, 'recipe_back: caller calls the function');
my $highest = on($insert_photo);
on(block('recipe-back'));
is(on($body), $body_before, 'recipe_back: the function is as before');
my @ids = split /\n/, on("$insert_photo;\n" x 20);
is(scalar(grep { $_ <= $highest } @ids), 0, 'recipe_back: ids of the function are above those of next_id');
is(on('SELECT last_value & 1023 FROM insta5.photos_id_seq'), on("SELECT id_sequence($ids[-1])"), 'recipe_back: they are those of the function');
is(on(block('users-of-ids')), '', 'recipe_back: nothing uses the extension');
on(recipe_switch());
is(on($insert_photo) > $ids[-1] ? 't' : 'f', 't', 'recipe_back: and forth again');
is(join("\n", sort split /\n/, on(block('users-of-ids'))), join("\n", 'default value for column id of table insta5.likes', 'default value for column id of table insta5.photos',
	'function insta5.next_id()'), 'recipe_back: defaults and the function use it');
on(block('recipe-back'));
on(block('recipe-drop') . command_of('migrating.md', 'DROP SCHEMA ids'));
is(on("SET ROLE app; $insert_photo") > $ids[-1] ? 't' : 'f', 't', 'recipe_back: without the extension the function is what it was');

# A transaction that uses the tables in the other order: the switch gives way, before PostgreSQL looks for a deadlock.
{
	my $locks = () = recipe_switch() =~ /^(?:LOCK|ALTER SEQUENCE)|, insta5/mg;
	my ($timeout_ms) = recipe_switch() =~ /lock_timeout = '(\d+)ms'/;
	cmp_ok($locks * $timeout_ms, '<', on(q(SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout')), "$locks locks are waited for less than deadlock_timeout");
	new_database('other_order');
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

# An epoch later than the recipe's, and a clock that is right.
new_database('later_epoch');
create_recipe_of(1262304000000);
on($insert_photo);
is(answer('insta5.photos', 'insta5.photos_id_seq'), 'no', 'an epoch later than that of the old ids: no');
is(next_is_above('insta5.photos', "next_id(5, 'insta5.photos_id_seq')"), 'f', 'and so it is');
like(fails("\\set VERBOSITY sqlstate\n" . recipe_switch()), qr/^ERROR:  55000$/m, 'the switch is refused');
like(on($users), qr/photos.*likes/s, 'and nothing has happened');

# --- Sequences of columns.

new_database('bigserial');
on(<<'SQL');
CREATE TABLE items (id bigserial PRIMARY KEY, name text);
CREATE TABLE parts (item bigint NOT NULL REFERENCES items, name text);
INSERT INTO items (name) SELECT 'item' FROM generate_series(1, 1000);
INSERT INTO parts SELECT id, 'part' FROM items;
SQL
is(answer('items', 'items_id_seq'), 'yes', 'bigserial: before');
on('GRANT USAGE ON SEQUENCE items_id_seq TO app; GRANT INSERT, SELECT ON items TO app; GRANT USAGE ON SCHEMA ids TO app');
like(fails("\\set VERBOSITY sqlstate\nSET ROLE app; SELECT next_id(5, 'items_id_seq')"), qr/^ERROR:  42501$/m,
	'bigserial: with USAGE alone the application cannot make a generator of the sequence');
on('INSERT INTO items VALUES (1000000)');
is(answer('items', 'items_id_seq'), 'yes, if the clock is right', 'bigserial: with an id far above the sequence');
on('DELETE FROM items WHERE id = 1000000');
clock('-10s');
on(block('column-switch'));
is(answer('items', 'items_id_seq'), 'yes', 'bigserial: after');
on(q(WITH item AS (INSERT INTO items (name) VALUES ('new') RETURNING id) INSERT INTO parts SELECT id FROM item));
is( on('SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 1::bigint << 58), count(*) FILTER (WHERE id <= 1000) FROM items'),
	'1001|1001|1|1000', 'bigserial: old ids stay, the new one is above 2^58');
is(on(q(SELECT nextval('items_id_seq') < 1::bigint << 52)), 't', 'bigserial: nextval on a generator is no id');
is(on(q(SELECT pg_get_serial_sequence('items', 'id'))), 'public.items_id_seq', 'bigserial: it stays the sequence of the column');
on(block('way-back'));
is( on(q(SET ROLE app; INSERT INTO items (name) VALUES ('back') RETURNING id > ALL (SELECT id FROM items), id = currval('items_ids'))),
	't|t', 'bigserial: the way back, to a plain sequence above all ids');
on(q(DELETE FROM items WHERE name = 'back'; ALTER TABLE items ALTER id SET DEFAULT next_id(generator => 'items_id_seq')));
goes_on_restored('items', q(SET ROLE app; INSERT INTO items (name) VALUES ('x') RETURNING id), 5);
is($restored->safe_psql('bigserial', 'SELECT count(*) FROM parts JOIN items ON item = id'), 1001, 'bigserial: foreign keys');

# All tables of a schema in one loop.
new_database('bigserial_all');
on(<<'SQL');
CREATE TABLE first (id bigserial PRIMARY KEY, name text);
CREATE TABLE "Second Table" ("the id" bigserial PRIMARY KEY, name text);
CREATE TABLE parted (id bigserial, name text) PARTITION BY LIST (name);
CREATE TABLE part PARTITION OF parted DEFAULT;
CREATE TABLE small (id serial PRIMARY KEY);
CREATE SCHEMA other;
CREATE TABLE other.left_alone (id bigserial PRIMARY KEY);
INSERT INTO first (name) VALUES ('old');
INSERT INTO "Second Table" (name) VALUES ('old');
INSERT INTO parted (name) VALUES ('old');
SQL
on(block('bigserial-all'));
is(on(qq(INSERT INTO $_ (name) VALUES ('new') RETURNING id_shard("the id"))), 5, 'bigserial_all: a table with a name in quotes') for '"Second Table"';
is(on("INSERT INTO $_ (name) VALUES ('new') RETURNING id_shard(id)"), 5, "bigserial_all: $_") for 'first', 'parted', 'part';
is(on('INSERT INTO small DEFAULT VALUES RETURNING id'), 1, 'bigserial_all: not a column of 32 bits');
is(on('INSERT INTO other.left_alone DEFAULT VALUES RETURNING id'), 1, 'bigserial_all: nor another schema');

for my $kind ('ALWAYS', 'BY DEFAULT')
{
	new_database('identity_' . lc $kind =~ s/ /_/r);
	on(<<"SQL");
CREATE TABLE orders (id bigint GENERATED $kind AS IDENTITY PRIMARY KEY, customer text);
GRANT INSERT (customer), SELECT ON orders TO app;
SET ROLE app;
INSERT INTO orders (customer) SELECT 'c' FROM generate_series(1, 1000);
SQL
	is(answer('orders', 'orders_id_seq'), 'yes', "$database: before");
	clock('-10s');
	on(switch_of('orders', 'identity-lines'));
	is(answer('orders', 'orders_id_seq'), 'yes', "$database: after");
	is( on(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c') RETURNING id > 1::bigint << 58)),
		't', "$database: new ids are above 2^58, with the right to use the generator");
	like(fails('SET ROLE app; INSERT INTO orders VALUES (7)'), qr/^ERROR:  permission denied for table orders/m,
		"$database: the right to other columns only keeps ids out of the INSERT");
	on('REVOKE USAGE ON SEQUENCE orders_id_seq FROM app');
	like(fails(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('c'))),
		qr/^ERROR:  permission denied for sequence orders_id_seq/m, "$database: and without is refused");
	on('GRANT USAGE ON SEQUENCE orders_id_seq TO app');
	goes_on_restored('orders', q(SET ROLE app; INSERT INTO orders (customer) VALUES ('x') RETURNING id), 5);
}

# --- A column of 32 bits.

new_database('serial');
on(<<'SQL');
CREATE TABLE visits (id serial PRIMARY KEY, page text);
CREATE TABLE clicks (visit_id int REFERENCES visits, at text);
INSERT INTO visits (page) SELECT 'page' FROM generate_series(1, 1000);
INSERT INTO clicks SELECT id FROM visits;
SQL
is(answer('visits', 'visits_id_seq'), 'no: the column is integer', 'serial: before');
on(q(ALTER TABLE visits ALTER id SET DEFAULT next_id(5, 'visits_id_seq')));
like(fails(q(\set VERBOSITY sqlstate
INSERT INTO visits (page) VALUES ('x'))), qr/ERROR:  55000/, 'serial: the sequence is refused');
on('ALTER SEQUENCE visits_id_seq AS bigint NO MAXVALUE');
is(fails(q(\set VERBOSITY sqlstate
INSERT INTO visits (page) VALUES ('x'))), 'ERROR:  22003', 'serial: 22003');
on('CREATE VIEW seen AS SELECT id FROM visits');
like(fails(switch_of('visits', 'serial-lines', parts => 'clicks', item => 'visit_id')), qr/^ERROR:  cannot alter type of a column used by a view/m, 'serial: a view is in the way');
on('DROP VIEW seen');
my $files = q(SELECT pg_relation_filenode('visits'), pg_relation_filenode('visits_pkey'), pg_relation_filenode('clicks'));
my @before = split /\|/, on($files);
clock('-10s');
on(switch_of('visits', 'serial-lines', parts => 'clicks', item => 'visit_id'));
my @after = split /\|/, on($files);
is(scalar(grep { $before[$_] == $after[$_] } 0 .. 2), 0, 'serial: TYPE bigint writes tables and indexes anew');
is(answer('visits', 'visits_id_seq'), 'yes', 'serial: after');
on(q(WITH visit AS (INSERT INTO visits (page) VALUES ('new') RETURNING id) INSERT INTO clicks SELECT id FROM visit));
is( on('SELECT count(*), count(*) FILTER (WHERE id > 1::bigint << 58), max(id) = (SELECT max(visit_id) FROM clicks) FROM visits'),
	'1001|1|t', 'serial: old ids stay, the new one is above 2^58, and is referenced');
goes_on_restored('visits', q(INSERT INTO visits (page) VALUES ('x') RETURNING id), 5);

# --- pgEdge's snowflake: ids that it published, and others made the same way, whose last one is the
# value of the sequence. MAXVALUE is what it leaves behind before 2.5.0.

my %of_snowflake = (epoch => '2023-01-01 00:00:00+00', shard_bits => 10, sequence_bits => 12);
my $arguments = "'2023-01-01 00:00:00+00', 10, 12";
for my $order ('counter_above_node', 'node_above_counter')
{
	new_database("pgedge_$order");
	my $low_bits = $order eq 'node_above_counter' ? '5 << 12 | n % 4096' : '(n % 4096) << 10 | 5';
	on(<<"SQL");
CREATE SEQUENCE orders_id_seq;
CREATE TABLE orders (id bigint PRIMARY KEY, customer text);
INSERT INTO orders VALUES (136169504773242881), (135824181823537153), (135824609030176769);
INSERT INTO orders
SELECT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1672531200000) << 22 | ($low_bits)
FROM generate_series(1, 1000) n;
SELECT setval('orders_id_seq', max(id)) FROM orders;
SQL
	is( on("SELECT id_timestamp(id, $arguments) AT TIME ZONE 'UTC' FROM orders WHERE id = 136169504773242881"),
		'2024-01-11 18:08:59.845', "$database: the published time of a published id");
	is( on('SELECT id_sequence(id, 10), id_shard(id, 12, 10) FROM orders WHERE id = 136169504773242881'),
		'1|0', "$database: and its node and counter, in the older order");
	is( on($order eq 'node_above_counter'
			? 'SELECT DISTINCT id_shard(id, 10, 12), max(id_sequence(id, 12)) OVER () FROM orders WHERE customer IS NULL AND id > 140000000000000000'
			: 'SELECT DISTINCT id_sequence(id, 10), max(id_shard(id, 12, 10)) OVER () FROM orders WHERE customer IS NULL AND id > 140000000000000000'),
		'5|1000', "$database: nodes and counters of the others");
	like(answer('orders', 'orders_id_seq', %of_snowflake), qr/^no: .* ahead/, "$database: before");
	like(fails("SELECT next_id(5, 'orders_id_seq', $arguments)"), qr/^ERROR:  generator "public.orders_id_seq" is too far ahead/m,
		"$database: its sequence is refused as it is");
	on('CREATE SEQUENCE another');
	is(answer('orders', 'another'), 'yes, if the clock is right', "$database: the default layout is above as well");
	is(next_is_above('orders', "next_id(5, 'another')"), 't', "$database: and so it is");
	clock('-10s');
	is(answer('orders', 'another', %of_snowflake), 'no', "$database: the clock behind, and a sequence that knows nothing: no");
	on(block('pgedge-switch'));
	is(answer('orders', 'orders_id_seq', %of_snowflake), 'yes', "$database: after");
	is( on("INSERT INTO orders (customer) VALUES ('new') RETURNING id > ALL (SELECT id FROM orders), id_shard(id, 10, 12)"),
		't|5', "$database: a new id is above, of the same node");
	is( on("SELECT bool_and(id_timestamp(id, $arguments) BETWEEN '2024-01-10' AND now() + interval '1 hour') FROM orders"),
		't', "$database: old and new tell their time by the same call");
	goes_on_restored('orders', q(INSERT INTO orders (customer) VALUES ('x') RETURNING id), 5, %of_snowflake);
}

# --- UUIDs of version 1, by uuid-ossp.

sub create_documents
{
	my ($name) = @_;
	new_database($name);
	return on(<<'SQL');
CREATE EXTENSION "uuid-ossp";
CREATE TABLE documents (uuid uuid PRIMARY KEY DEFAULT uuid_generate_v1(), n serial);
CREATE TABLE pages (document uuid REFERENCES documents, document_id bigint);
INSERT INTO documents SELECT FROM generate_series(1, 2000);
INSERT INTO pages SELECT uuid FROM documents;
SQL
}
create_documents('uuid_v1');
on(block('uuid-keep'));
like(
	on(q(SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT * FROM documents WHERE uuid_v1_timestamp(uuid) >= now())),
	qr/documents_uuid_v1_timestamp_idx.*Index Cond: \(uuid_v1_timestamp\(uuid\) >= now\(\)\)/s,
	'uuid: kept, and found by time on an index');
is( on(<<'SQL'), '100|t', 'uuid: new ones are made here, of another node');
GRANT INSERT, SELECT ON documents TO app;
GRANT USAGE ON SEQUENCE documents_n_seq TO app;
GRANT USAGE ON SCHEMA ids TO app; -- for this test
SET ROLE app;
WITH made AS (INSERT INTO documents SELECT FROM generate_series(1, 100) RETURNING uuid)
SELECT count(DISTINCT made.uuid), bool_and(uuid_v1_node(made.uuid) <> uuid_v1_node(old.uuid))
FROM made, (SELECT uuid FROM documents LIMIT 1) old;
SQL
on('DELETE FROM documents WHERE n > 2000');

# Those of the first part of the page, for this table.
sub for_documents { return block($_[0]) =~ s/\borders\b/documents/gr =~ s/order_no text/order_no uuid/r =~ s/order_no/uuid/gr =~ s/'-infinity', ''/'-infinity', '00000000-0000-0000-0000-000000000000'/r }
on('INSERT INTO documents VALUES (gen_random_uuid())');
on(block('uuid-time'));
is(on(for_documents('add-id-look')) =~ s/^(\d+\|\d+)\|.*/$1/r, '2001|1', 'uuid: one of another version has no time');
on('DELETE FROM documents WHERE created_at IS NULL');
on(for_documents("add-id-$_")) for qw(column order procedure fill unique refuse-null not-null clean-up);
is( on(q(SELECT count(*), count(DISTINCT id), bool_and(id_timestamp(id) = date_trunc('milliseconds', uuid_v1_timestamp(uuid))), min(id_shard(id)), max(id_shard(id)) FROM documents)),
	'2000|2000|t|4101|4101', 'uuid: each has an id of its time and of shard 4101');
is( on('SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY uuid_v1_timestamp(uuid), uuid) AS previous FROM documents) s WHERE id <= previous'),
	0, 'uuid: in the order of their times');
cmp_ok(on('SELECT max(id_sequence(id)) FROM documents'), '>', 0, 'uuid: several of them in a millisecond');
is(on('INSERT INTO documents DEFAULT VALUES RETURNING id > ALL (SELECT id FROM documents), id_shard(id), created_at = now()'), 't|5|t', 'uuid: new rows get ids above them');
goes_on_restored('documents', 'INSERT INTO documents DEFAULT VALUES RETURNING id', 5);

$original->stop;
$restored->stop;
done_testing();
