# docs/migrating.md: all schemas of the recipe switch in one loop, and back; what fails is left as it was and found by the
# checks, and roles keep their rights. Provoked by schemas that lack a table, and roles with the fewest rights.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Docs;
use PostgreSQL::Test::Utils;
use Test::More;
use Migrating;

start_original();
my $users = command_of('migrating.md', 'SELECT adrelid::regclass');

# All schemas in one loop; what fails is left, and found when it runs again.
new_database('recipe_all');
create_recipe_of(1314220021721, $_) for 11, 12, 7;
on('DROP TABLE insta12.likes');
on("INSERT INTO insta$_.photos (name) VALUES ('old')") for 11, 12, 7;
my $epoch = '2011-08-24 21:07:01.721+00';
is(on(block('recipe-save')), "insta7|7|$epoch|f\ninsta11|11|$epoch|f\ninsta12|12|$epoch|f", 'recipe_all: the functions, with their numbers and epochs');
like(slurp_file('docs/migrating.md'), qr/If `epoch` is not `\Q$epoch\E`/, 'recipe_all: the epoch is the default one');
my ($code, undef, $complaint) = $original->psql($database, block('recipe-switch'), on_error_stop => 0);
like($complaint, qr/relation "insta12.likes" does not exist/, 'recipe_all: one schema fails');
is( on(q(SELECT pronamespace::regnamespace FROM pg_proc WHERE proname = 'next_id' AND prosrc LIKE '%ids.next_id%' ORDER BY oid)),
	"insta11\ninsta7", 'recipe_all: the others are switched');
is(on($users), 'insta12.photos', 'recipe_all: which the check finds');
on('CREATE TABLE insta12.likes (id bigint PRIMARY KEY DEFAULT insta12.next_id(), photo bigint)');
on('CREATE TABLE insta7.forgotten (id bigint PRIMARY KEY DEFAULT insta7.next_id())');
on(block('recipe-switch'));
is(on($users), 'insta7.forgotten', 'recipe_all: and a table that was forgotten');
on('DROP TABLE insta7.forgotten');
is(on(block('recipe-switch')), '', 'recipe_all: run again, the switch prints nothing');
for my $shard (11, 12, 7)
{
	is( on("INSERT INTO insta$shard.photos (name) VALUES ('new') RETURNING id_shard(id), id > (SELECT max(id) FROM insta$shard.photos), id_sequence(id) = (SELECT last_value & 1023 FROM insta$shard.photos_id_seq)"),
		"$shard|t|t", "recipe_all: shard $shard has switched");
}
is(on($users), '', 'recipe_all: so has every table');

# A schema that fails on the way back keeps the saved functions.
on('ALTER TABLE insta12.likes RENAME TO hidden');
($code, undef, $complaint) = $original->psql($database, block('recipe-back'), on_error_stop => 0);
like($complaint, qr/relation "insta12.likes" does not exist/, 'recipe_all: one schema fails on the way back');
like(on(block('users-of-ids')), qr/^function insta12.next_id\(\)$/m, 'recipe_all: so the saved functions are still needed');
on('ALTER TABLE insta12.hidden RENAME TO likes');
on(block('recipe-back'));
is(on(block('recipe-back')), '', 'recipe_all: run again, the way back prints nothing');
is(on(block('users-of-ids')), '', 'recipe_all: nothing uses the extension');
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
is(on(block('recipe-save')), "insta5|5|$epoch|f", 'recipe_back: the function, with its number');
my $body = q(SELECT md5(pg_get_functiondef(oid)), proowner::regrole FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
my $body_before = on($body);
isnt(on(block('recipe-rights') =~ s/\\gexec//r), '', 'recipe_back: roles lack rights');
on(block('recipe-rights'));
is(on(block('recipe-rights') =~ s/\\gexec//r), '', 'recipe_back: and then none does');
on(block('recipe-switch'));
like(fails(block('recipe-save')), qr/schema "before_ids" already exists/, 'recipe_back: what is saved stays');
like(on("SET ROLE app; $insert_photo"), qr/^\d+$/, 'recipe_back: app inserts');
is(on(command_of('migrating.md', 'BEGIN; SET LOCAL ROLE app; INSERT')), 5, 'recipe_back: app inserts as the page says');
like(on('SET ROLE batch; INSERT INTO insta5.likes (photo) VALUES (NULL) RETURNING id'), qr/^\d+$/, 'recipe_back: batch inserts into some columns');
is(on('SET ROLE caller; SELECT id_shard(insta5.next_id())'), 5, 'recipe_back: caller calls the function');
my $highest = on($insert_photo);
on(block('recipe-back'));
is(on($body), $body_before, 'recipe_back: the function is as before');
my @ids = split /\n/, on("$insert_photo;\n" x 20);
is(scalar(grep { $_ <= $highest } @ids), 0, 'recipe_back: ids of the function are above those of next_id');
is(on('SELECT last_value & 1023 FROM insta5.photos_id_seq'), on("SELECT id_sequence($ids[-1])"), 'recipe_back: they are those of the function');
is(on(block('users-of-ids')), '', 'recipe_back: nothing uses the extension');
on(block('recipe-switch'));
is(on($insert_photo) > $ids[-1] ? 't' : 'f', 't', 'recipe_back: and forth again');
is(join("\n", sort split /\n/, on(block('users-of-ids'))), join("\n", 'default value for column id of table insta5.likes', 'default value for column id of table insta5.photos',
	'function insta5.next_id()'), 'recipe_back: defaults and the function use it');
on(block('recipe-back'));
on(command_of('migrating.md', $_)) for 'DROP SCHEMA ids', 'DROP SCHEMA before_ids';
is(on("SET ROLE app; $insert_photo") > $ids[-1] ? 't' : 'f', 't', 'recipe_back: without the extension the function is what it was');

# A function of another name and epoch: the blocks as the page says to change them.
new_database('recipe_named');
create_recipe_of(1325376000000);
on('ALTER FUNCTION insta5.next_id RENAME TO make_id');
my $old_id = on($insert_photo);
my $of_2012 = '2012-01-01 00:00:00+00';
my $named = sub { return $_[0] =~ s/(?<!ids\.)next_id/make_id/gr };
is(on($named->(block('recipe-save'))), "insta5|5|$of_2012|f", 'recipe_named: the function, with its number and epoch');
is(on($named->($users)), "insta5.photos\ninsta5.likes", 'recipe_named: its tables');
like(on($named->(block('recipe-switch'))), qr/^insta5\|$old_id\|\d+$/m, 'recipe_named: switched');
is(on($named->($users)), '', 'recipe_named: every table');
my $new_id = on($insert_photo);
is(on("SELECT $new_id > $old_id, id_timestamp($new_id, '$of_2012') - id_timestamp($old_id, '$of_2012') < '1 hour', insta5.make_id() > $new_id"), 't|t|t',
	'recipe_named: ids continue in the same epoch');
on($named->(block('recipe-back')));
is(on(block('users-of-ids')), '', 'recipe_named: and back');

# The end of the old functions: a caller by name is found, and then only the defaults are left.
new_database('recipe_end');
create_recipe_of(1314220021721);
on(block($_)) for 'recipe-save', 'recipe-switch';
$original->safe_psql('postgres', $_) for q(ALTER SYSTEM SET track_functions = 'pl'), 'SELECT pg_reload_conf()';
is(on(block('recipe-calls')), '', 'recipe_end: nothing calls a function by name');
my ($look) = block('recipe-calls') =~ /(SELECT.*?);/s;
ok($original->poll_query_until($database, "SELECT insta5.next_id() > 0 AND EXISTS ($look)"),
	'recipe_end: a caller is found');
on(block('recipe-end'));
like(on($insert_photo), qr/^\d+$/, 'recipe_end: without the function, rows are inserted');
is(on('SELECT count(*) FROM pg_namespace WHERE nspname = $$before_ids$$'), 0, 'recipe_end: and nothing is left of it');

stop_servers();
done_testing();
