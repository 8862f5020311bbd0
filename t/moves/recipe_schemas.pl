# docs/migrating-ids.md: all schemas of the recipe switch in one loop, and back; what fails is left as it was and found by
# the checks, and roles keep their rights. Provoked by schemas that lack a table, and roles with the fewest rights.
use Docs;
use Migrating;
use ShardidTest;

start_original();

# --- All schemas in one loop

new_database('recipe_all');
create_recipe_of_page($_) for 11, 12, 7;
my $users = block('recipe-left');
on("INSERT INTO insta$_.photos (name) VALUES ('old')") for 11, 12, 7;
on('ALTER SEQUENCE insta11.photos_id_seq OWNED BY insta11.photos.id');
my $owned = q(SELECT pg_get_serial_sequence('insta11.photos', 'id'));
is(on(recipe('save')), join("\n", map { "insta$_|$_|$epoch|insta$_.photos_id_seq|insta$_.photos.id, insta$_.likes.id" } 7, 11, 12), 'what is saved');
like(fails(recipe('save')), qr/schema "before_ids" already exists/, 'and only once');
on('DROP TABLE insta12.likes');
my $fails = sub { return ($original->psql($database, recipe($_[0]), on_error_stop => 0))[2] };
like($fails->('switch'), qr/relation "insta12.likes" does not exist/, 'one schema fails');
is(on($users), 'insta12.photos', 'the others are switched, and the check finds the one');
on('CREATE TABLE insta12.likes (id bigint PRIMARY KEY DEFAULT insta12.next_id(), photo bigint)');
on(recipe('switch'));
is(on(recipe('switch')), '', 'run again, the switch prints nothing');
is(on($users), '', 'every table has switched');
is(on($owned), '', 'and no column owns a generator');
is(on(<<"SQL"), "$_|t", "shard $_ has switched") for 11, 12, 7;
INSERT INTO insta$_.photos (name) VALUES ('new') RETURNING id_shard(id), id > (SELECT max(id) FROM insta$_.photos)
SQL
on('ALTER TABLE insta12.likes RENAME TO hidden');
like($fails->('back'), qr/relation "insta12.likes" does not exist/, 'one schema fails on the way back');
like(on(block('users-of-ids')), qr/^function insta12.next_id\(\)$/m, 'so the saved functions are still needed');
on('ALTER TABLE insta12.hidden RENAME TO likes');
on(recipe('back'));
is(on(block('users-of-ids')), '', 'nothing uses the extension');
is(on($owned), 'insta11.photos_id_seq', 'and the column owns its sequence again');

# --- A superuser runs the scripts, and a stranger has a function, a sequence and a view of such names.

new_database('recipe_strangers');
create_recipe_of_page();
on(<<'SQL');
CREATE ROLE stranger;
CREATE SCHEMA strange AUTHORIZATION stranger;
CREATE SCHEMA thief AUTHORIZATION stranger;
SET ROLE stranger;
CREATE SEQUENCE strange."a$$b";
CREATE FUNCTION strange.own() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'run as %', current_user; END $$;
CREATE FUNCTION strange.next_id() RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE our_epoch bigint := 1314220021721; shard_id int := 9;
BEGIN RETURN nextval('strange."a$$b"'); END $body$;
CREATE TABLE strange.photos (id bigint DEFAULT strange.next_id());
CREATE VIEW strange.trap AS SELECT strange.own() AS id;
ALTER VIEW strange.trap ALTER id SET DEFAULT strange.next_id();
CREATE FUNCTION thief.next_id() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE our_epoch bigint := 1314220021721; shard_id int := 8;
BEGIN RETURN nextval('insta5.photos_id_seq'); END $$;
SQL
unlike(on(recipe('save')), qr/thief/, 'no function of a role without rights on its sequence');
on('SET ROLE stranger; ALTER TABLE strange.photos RENAME TO hidden; ALTER VIEW strange.trap RENAME TO photos');
like($fails->('switch'), qr/relation "strange.photos" is not a table/, 'switch: a view in the place of a table is not read');
on('SET ROLE stranger; ALTER VIEW strange.photos RENAME TO trap; ALTER TABLE strange.hidden RENAME TO photos');
is($fails->($_), '', "$_: no function of a view runs, and a name ends no string") for 'switch', 'back';

# --- Row-level security that hides the highest id from the owner of the table.

new_database('recipe_hidden');
create_recipe_of_page();
on(<<'SQL');
ALTER TABLE insta5.photos ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY, OWNER TO caller;
GRANT ALL ON SCHEMA insta5 TO caller;
GRANT ALL ON ALL SEQUENCES IN SCHEMA insta5 TO caller;
SQL
on(recipe('save'));
on(q(GRANT USAGE ON SCHEMA ids, before_ids TO caller; GRANT SELECT ON ALL TABLES IN SCHEMA before_ids TO caller;
ALTER TABLE insta5.likes OWNER TO caller; ALTER SEQUENCE insta5.photos_id_seq OWNER TO caller; ALTER FUNCTION insta5.next_id OWNER TO caller));
like(fails("SET ROLE caller;\n" . recipe('switch')), qr/^ERROR:  query would be affected by row-level security policy for table "photos"$/m, 'recipe_hidden: refused');

# --- So many tables that deadlock_timeout leaves no time for each lock.

new_database('recipe_many');
create_recipe_of_page();
on("CREATE TABLE insta5.many_$_ (id bigint DEFAULT insta5.next_id())") for 3 .. 60;
on(recipe('save'));
like(on(recipe($_)), qr/^insta5/m, "$_: 60 tables") for 'switch', 'back';

# --- A function that only callers by name use; and a generator that is ahead when the way back has waited.

new_database('recipe_called');
create_recipe_of_page();
on("ALTER TABLE insta5.$_ ALTER id DROP DEFAULT") for 'photos', 'likes';
on(recipe('save'));
my $called = q(SELECT id_shard(insta5.next_id()), prosrc ~ 'ids.next_id' FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
like(on(recipe('switch')), qr/^insta5\|\|\d+$/, 'recipe_called: a function without tables switches');
is(on($called), '5|t', 'recipe_called: its callers get ids of next_id');
on(q(SELECT raise_generator('insta5.photos_id_seq', id_lower_bound(clock_timestamp() + interval '3 s'))));
like(fails("SET plpgsql.check_asserts = off;\n" . recipe('back') =~ s/^SELECT pg_sleep\(extract.*\n//mr), qr/^ERROR:  generator "insta5.photos_id_seq" is ahead of the clock$/m,
	'recipe_called: not back while its ids could follow');
is(on($called), '5|t', 'recipe_called: and it is as it was');
on(recipe('back'));
is(on($called), '5|f', 'recipe_called: and back');

# --- Rights, and the way back. Roles that can insert keep that right: by a column, by PUBLIC, by a group.

new_database('recipe_back');
create_recipe_of_page();
on(<<'SQL');
GRANT USAGE ON SCHEMA insta5 TO PUBLIC;
GRANT INSERT, SELECT ON insta5.photos TO app;
GRANT INSERT (photo), SELECT ON insta5.likes TO batch;
GRANT USAGE ON SEQUENCE insta5.photos_id_seq TO batch, caller;
ALTER FUNCTION insta5.next_id SET search_path = pg_catalog;
ALTER FUNCTION insta5.next_id OWNER TO caller;
SQL
on(recipe('save'));
my $body = q(SELECT md5(pg_get_functiondef(oid)), proowner::regrole FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
my $body_before = on($body);
isnt(on(recipe('rights') =~ s/\\gexec//r), '', 'roles lack rights');
on(recipe('rights'));
is(on(recipe('rights') =~ s/\\gexec//r), '', 'and then none does');
on(recipe('switch'));
is(on(command_of('migrating-ids.md', 'BEGIN; SET LOCAL ROLE app; INSERT')), 5, 'app inserts');
like(on('SET ROLE batch; INSERT INTO insta5.likes (photo) VALUES (NULL) RETURNING id'), qr/^\d+$/, 'batch inserts');
is(on('SET ROLE caller; SELECT id_shard(insta5.next_id())'), 5, 'caller calls the function');
is(on(q(SELECT proconfig FROM pg_proc WHERE oid = 'insta5.next_id'::regproc)), '{search_path=pg_catalog}', 'its other options stay');
my $highest = on($insert_photo);
on(recipe('back'));
is(on($body), $body_before, 'back, the function is as before');
my @ids = split /\n/, on("$insert_photo;\n" x 20);
is(scalar(grep { $_ <= $highest } @ids), 0, 'its ids are above those of next_id');
on($_) for block_of('migrating.md', 'remove') =~ /^(DROP.*)/m, command_of('migrating-ids.md', 'DROP SCHEMA before_ids');
is(on("SET ROLE app; $insert_photo") > $ids[-1] ? 't' : 'f', 't', 'without the extension the function is what it was');

# --- Another name and another kind of result, in a table with a name to be quoted; the sequence is named without a schema.

new_database('recipe_named');
on(<<'SQL');
CREATE SCHEMA "Five";
CREATE SEQUENCE "Five".numbers;
CREATE FUNCTION "Five".new_number() RETURNS bigint LANGUAGE plpgsql SET search_path = 'Five' AS $$
DECLARE
    our_epoch bigint := 1314220021721;
    shard_id int := 5;
BEGIN
    RETURN ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - our_epoch) << 23 | (shard_id << 10) | nextval('numbers') % 1024;
END $$;
CREATE TABLE "Five"."my table" ("the id" bigint DEFAULT "Five".new_number());
INSERT INTO "Five"."my table" DEFAULT VALUES;
SQL
is(on("\\set function new_number\n" . recipe('save')), qq(Five|5|$epoch|"Five".numbers|"Five"."my table"."the id"), 'recipe_named: what is saved');
on(recipe('switch'));
my $by_name = q(SELECT id_shard(number), number > (SELECT max("the id") FROM "Five"."my table") FROM (SELECT "Five".new_number() AS number) n);
is(on($by_name), '5|t', 'recipe_named: the function has switched');
is(on(q(INSERT INTO "Five"."my table" DEFAULT VALUES RETURNING id_shard("the id"))), 5, 'recipe_named: and the table');
on(recipe('back'));
is(on($by_name), '5|t', 'recipe_named: and back');

# --- The end of the old functions: a caller by name is found, and then only the defaults are left.

new_database('recipe_end');
create_recipe_of_page();
on(recipe($_)) for 'save', 'switch';
$original->safe_psql('postgres', $_) for q(ALTER SYSTEM SET track_functions = 'pl'), 'SELECT pg_reload_conf()';
my ($look) = block('recipe-calls') =~ /(SELECT.*?);/s;
ok($original->poll_query_until($database, "SELECT insta5.next_id() > 0 AND EXISTS ($look)"), 'a caller is found');
on(block('recipe-end'));
like(on($insert_photo), qr/^\d+$/, 'without the function, rows are inserted');

$original->stop;
done_testing();
