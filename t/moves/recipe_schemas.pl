# examples/instagram/README.md: all schemas of the recipe switch in one loop, and back; what fails is left as it was and found by
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
is(on(recipe('save')), join("\n", map { "insta$_|$_|$epoch|13|10|insta$_.photos_id_seq|insta$_.photos.id, insta$_.likes.id|" } 7, 11, 12), 'what is saved');
like(fails(recipe('save')), qr/schema "before_ids" already exists/, 'and only once');
on('CREATE ROLE other; ALTER TABLE insta12.likes OWNER TO other');
my $fails = sub { return ($original->psql($database, recipe($_[0]), on_error_stop => 0))[2] =~ s{^psql:<stdin>:\d+: }{}mgr };
like($fails->('switch'), qr/must be owner of table insta12.likes.*not all schemas have changed.*: insta12\./s, 'one schema fails, and so does the script');
on('CREATE DOMAIN insta12.key AS bigint DEFAULT insta12.next_id()');
is(on($users =~ s/(?=;\nRESET)/ ORDER BY 1/r), join("\n", (map { "default value for column id of table insta12.$_" } qw(likes photos)), 'type insta12.key'),
	'the others are switched, and the check finds the one');
on('ALTER TABLE insta12.likes OWNER TO ' . getpwuid $<);
on(recipe('switch'));
is(on(recipe('switch')), '', 'run again, the switch prints nothing');
is(on($users), 'type insta12.key', 'every table has switched');
like(fails(block('recipe-end')), qr/^ERROR:  cannot drop function insta12.next_id\(\) because other objects depend on it$/m, 'and a domain keeps its function');
on('DROP DOMAIN insta12.key');
is(on($owned), '', 'and no column owns a generator');
is(on(<<"SQL"), "$_|t", "shard $_ has switched") for 11, 12, 7;
INSERT INTO insta$_.photos (name) VALUES ('new') RETURNING id_shard(id), id > (SELECT max(id) FROM insta$_.photos)
SQL
is(on("BEGIN; SET LOCAL shardid.shard_id = 9;\n" . block('recipe-staging') . <<'SQL'), "9|9|9\n9|9|9", 'a copy whose schemas use the setting');
INSERT INTO insta7.photos (name) VALUES ('copied') RETURNING ids.id_shard(id), ids.id_shard(insta7.next_id()), ids.id_shard(insta11.next_id());
INSERT INTO insta12.likes DEFAULT VALUES RETURNING ids.id_shard(id), ids.id_shard(insta12.next_id()), ids.id_shard(insta11.next_id());
ROLLBACK;
SQL
# Of the tables one is dropped since the save, one is renamed, and one gets a copy. One of another role stays as it is.
on(<<'SQL');
DROP TABLE insta7.likes;
ALTER TABLE insta11.likes RENAME TO renamed;
CREATE TABLE insta11.copy (LIKE insta11.renamed INCLUDING DEFAULTS);
CREATE TABLE insta11.of_other (LIKE insta11.renamed INCLUDING DEFAULTS);
ALTER TABLE insta11.of_other OWNER TO other;
ALTER FUNCTION insta12.next_id OWNER TO other;
SQL
like($fails->('back'), qr/must be owner of/, 'one schema fails on the way back');
like(on(block('users-of-ids')), qr/^function insta12.next_id\(\)$/m, 'so the saved functions are still needed');
on('ALTER FUNCTION insta12.next_id OWNER TO ' . getpwuid $<);
is(on(recipe('back') . 'DROP SCHEMA before_ids CASCADE'), 'insta12', 'what is put back, and nothing else, is printed');
is(on(block('users-of-ids')), 'default value for column id of table insta11.of_other', 'all others have their function again');
on('DROP TABLE insta11.of_other');
is(on(block('users-of-ids')), '', 'nothing uses the extension');
on(<<'SQL');
CREATE SCHEMA users;
CREATE FUNCTION users.quoted() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN "ids".next_id(); END';
CREATE FUNCTION users.capital() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN IDS . next_id(); END';
CREATE FUNCTION users.by_path() RETURNS timestamptz LANGUAGE plpgsql SET search_path = 'ids', public AS 'BEGIN RETURN id_timestamp(0); END';
CREATE FUNCTION users.by_any_path() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN next_id(); END';
CREATE TABLE users.plain (id bigint DEFAULT nextval('ids.shardid_seq'));
CREATE FUNCTION users.not_one(ids bigint[]) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN kids.next_id() + users.next_id() + ids[1]; END';
SQL
is(on(block('users-of-ids') =~ s/(?=; RESET)/ ORDER BY 1/r), join("\n", 'default value for column id of table users.plain', map { "function users.$_()" } qw(by_any_path by_path capital quoted)),
	'what still uses it, in each way to write it');
is(on($owned), 'insta11.photos_id_seq', 'and the column owns its sequence again');

# --- Strangers have functions, a sequence and tables of such names, and the planner runs their code.

new_database('recipe_strangers');
create_recipe_of_page();
on(<<'SQL');
CREATE ROLE stranger LOGIN;
CREATE SCHEMA strange AUTHORIZATION stranger;
CREATE SCHEMA thief AUTHORIZATION stranger;
CREATE TABLE strange.heir () INHERITS (insta5.photos);
ALTER TABLE strange.heir OWNER TO stranger, ALTER id DROP DEFAULT;
GRANT USAGE ON SCHEMA ids, insta5 TO stranger;
GRANT CREATE ON DATABASE recipe_strangers TO stranger;
GRANT CREATE ON SCHEMA public TO stranger;
SET ROLE stranger;
CREATE FUNCTION strange.own(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN 1;
CREATE SEQUENCE strange."a$$b";
CREATE FUNCTION strange.next_id() RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE our_epoch bigint := 1314220021721; shard_id int := 9;
BEGIN
    RETURN ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - our_epoch) << 23 | (shard_id << 10) | nextval('strange."a$$b"') % 1024;
END $body$;
CREATE TABLE strange.photos (id bigint DEFAULT strange.next_id());
CREATE INDEX ON strange.photos (strange.own(1));
CREATE INDEX ON strange.heir (strange.own(1));
CREATE OR REPLACE FUNCTION strange.own(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE 'run as %', current_user; END $$;
CREATE FUNCTION thief.next_id() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE our_epoch bigint := 1314220021721; shard_id int := 8;
BEGIN RETURN (1 << 23 | 1 << 10) + nextval('insta5.photos_id_seq') % 1024; END $$;
CREATE FUNCTION public.format(text, name, name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'run as %', current_user; END $$;
SQL
like(fails("SET $_ stranger;\n" . recipe('save')), qr/^ERROR:  a superuser, or a member of one, cannot run this as another role$/m, "no superuser, who could RESET $_")
  for 'ROLE', 'SESSION AUTHORIZATION';
on(sprintf 'CREATE ROLE dba LOGIN NOINHERIT IN ROLE stranger, %s', $original->safe_psql('postgres', 'SELECT quote_ident(current_user)'));
like(fails("SET ROLE stranger;\n" . recipe('save'), 'dba'), qr/^ERROR:  a superuser, or a member of one, cannot run this as another role$/m, 'nor a member of one');
like(fails(recipe('begin')), qr/^ERROR:  schema "before_ids" does not exist$/m, 'nor before anything is saved, when another role could create the schema');
on('ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO stranger');
like(on(recipe('save')), qr/^insta5\|.*\|must be owner of table strange\.heir\. [^\n]*\Z/, 'a superuser saves what he owns, and no heir is read');
is(on(q(SELECT has_schema_privilege('stranger', 'before_ids', 'USAGE, CREATE'))), 'f', 'default privileges open nothing of it');
like(fails(recipe($_)), qr/^ERROR:  must be owner of table strange.heir$/m, "$_: only by the owner of all") for 'rights', 'switch';
is(on(q(SELECT count(*) FROM pg_class, aclexplode(relacl) x WHERE oid = 'insta5.photos_id_seq'::regclass AND x.grantee <> relowner)), 0, 'a thief gets no rights');
on(q(DROP TABLE strange.heir; SELECT nextval('insta5.photos_id_seq')));
on(recipe($_)) for 'rights', 'switch', 'back';
on(q(DROP SCHEMA before_ids CASCADE; SET ROLE stranger; CREATE OR REPLACE FUNCTION strange.own(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN 1));
like(on(recipe('save'), 'stranger'), qr/^strange\|9\|.*\|thief\.next_id|must be owner of sequence insta5\.photos_id_seq\.[^\n]*/ms, 'the owner saves his own, and owns the generator');
$original->command_fails_like([ 'psql', '-X', '-d', $original->connstr($database), '-f', 'examples/instagram/switch.sql' ],
	qr/\A\S+ ERROR:  must be owner of schema before_ids\n(?!.*ERROR)/s, 'nobody runs what another role has saved');
on('ALTER TABLE strange.photos ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
my $refused = fails(recipe('switch'), 'stranger');
like($refused, qr/^ERROR:  must be owner of sequence insta5.photos_id_seq$/m, 'one schema fails');
like($refused, qr/^ERROR:  query would be affected by row-level security policy for table "photos"$/m, 'and another, if the highest id is hidden from its owner');
on('ALTER TABLE strange.photos NO FORCE ROW LEVEL SECURITY');
like(($original->psql($database, recipe('switch'), extra_params => [ '-U', 'stranger' ]))[1], qr/^strange\|/m, 'and not without');
is(on(q(INSERT INTO strange.photos DEFAULT VALUES RETURNING id_shard(id)), 'stranger'), 9, 'and a name ends no string');

# --- Other layouts, read from the body of the function, whatever the settings of the session. With another name and another
# kind of result, tables and columns with names to be quoted, and a sequence that is named without its schema.

new_database('recipe_layouts');
sub other_recipe
{
	my ($schema, $epoch_ms, $shifts, $modulus) = @_;
	return on(<<"SQL");
CREATE SCHEMA "$schema";
CREATE SEQUENCE "$schema".ids;
CREATE FUNCTION "$schema".new_number() RETURNS bigint LANGUAGE plpgsql SET search_path = '$schema' AS \$\$
DECLARE
    our_epoch CONSTANT bigint := $epoch_ms;
    shard_id integer := 5;    -- not shard_id int := 6, and not ids.next_id()
BEGIN
    RETURN ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - our_epoch) << $shifts->[0] | (shard_id << $shifts->[1]) | nextval('ids') % $modulus;
END \$\$;
CREATE TABLE "$schema"."my table" ("the id" bigint DEFAULT "$schema".new_number());
INSERT INTO "$schema"."my table" VALUES (DEFAULT), (DEFAULT);
SQL
}
other_recipe('A', 1314220021721, [ 22, 12 ], 4096);
other_recipe('b', 0, [ 21, 10 ], 1000);
other_recipe('c', 1314220021721, [ 23, 10 ], 4096);
other_recipe('d', 1314220021721, [ 23, 10 ], 1024);
other_recipe('e', 1314220021721, [ 23, 10 ], 1024);
on('INSERT INTO e."my table" SELECT e.new_number() + (1::bigint << 40) + 1024');
my $backslashes = $original->pg_version->major < 19 ? 'SET standard_conforming_strings = off;' : '';
like(on("\\set function new_number\n" . 'SET quote_all_identifiers = on; SET datestyle = "SQL, DMY"; SET timezone = "Asia/Tokyo";' . $backslashes . recipe('save')),
	qr/^A\|5\|\Q$epoch\E\|10\|12\|"A"\.ids\|"A"\."my table"\."the id"\|$/m, 'recipe_layouts: what is saved');
is(on('SELECT schema, shard, epoch, shard_bits, sequence_bits FROM before_ids.old_functions ORDER BY 1'),
	join("\n", "A|5|$epoch|10|12", 'b|5|1970-01-01 00:00:00+00|11|10', "c|5|$epoch||", "d|5|$epoch|13|10", "e|5|$epoch|13|10"), 'recipe_layouts: what is read');
on(q(UPDATE before_ids.old_functions SET epoch = epoch + interval '1 month' WHERE schema = 'd'));
my $unknown = $fails->('switch');
like($unknown, qr/^ERROR:  the layout of c.new_number\(\) is not known$/m, 'recipe_layouts: sequence numbers that change the shard are refused');
like($unknown, qr/^ERROR:  ids of $_->[0].new_number\(\) have another layout\nDETAIL:.* the $_->[1] id \d+ contains /m, "recipe_layouts: the $_->[1] id shows another layout")
  for [ d => 'new' ], [ e => 'highest' ];
is(on(q(SELECT string_agg(nspname, ' ' ORDER BY nspname) FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE proname = 'new_number' AND prosrc ~ 'RETURN ids.next_id')), 'A b',
	'recipe_layouts: only the others have switched');
for ([ '"A"', "'$epoch', 10, 12" ], [ 'b', q('1970-01-01 00:00:00+00', 11, 10) ])
{
	my ($schema, $layout) = @$_;
	my $is_later = sub {
		my ($id) = @_;
		return "$id > (SELECT max(\"the id\") FROM $schema.\"my table\"), id_timestamp($id, $layout) - clock_timestamp() BETWEEN '-10 min' AND '10 min',
			id_shard($id" . $layout =~ s/'.*?'//r . ')';
	};
	my $both = 'SELECT ' . $is_later->('number') . " FROM (SELECT $schema.new_number() AS number) n;\nINSERT INTO $schema.\"my table\" DEFAULT VALUES RETURNING " . $is_later->('"the id"');
	is(on($both), "t|t|5\nt|t|5", "recipe_layouts: $schema continues in its layout, by the function and by the default");
	like($fails->('back'), qr/ahead of the clock|^$/, "recipe_layouts: back");
	is(on($both), "t|t|5\nt|t|5", "recipe_layouts: $schema, and back");
}

# --- So many tables that deadlock_timeout leaves no time for each lock.

new_database('recipe_many');
like(fails(recipe('save')), qr/^ERROR:  role ".*" owns no such function with a sequence$/m, 'recipe_many: there is nothing to save');
create_recipe_of_page();
on(join '', map { "CREATE TABLE insta5.many_$_ (id bigint DEFAULT insta5.next_id());\n" } 3 .. 60);
on('CREATE TEMPORARY TABLE copies (LIKE insta5.photos INCLUDING DEFAULTS);' . recipe('save'));
like(on(recipe($_)), qr/^insta5/m, "$_: 60 tables, and none that was temporary") for 'switch', 'back', 'switch';

# --- The end of the old functions: a caller by name is found, and then only the defaults are left.

$original->safe_psql('postgres', $_) for q(ALTER SYSTEM SET track_functions = 'pl'), 'SELECT pg_reload_conf()';
my ($look) = block('recipe-calls') =~ /(SELECT.*?);/s;
on('CREATE FUNCTION public.format(text, name, name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE $f$run as %$f$, current_user; END $$');
ok($original->poll_query_until($database, "SELECT insta5.next_id() > 0 AND EXISTS ($look)"), 'a caller is found');
on(block('recipe-end'));
like(on($insert_photo), qr/^\d+$/, 'without the function, rows are inserted');

# --- A function that only callers by name use; and a generator that is ahead when the way back has waited.

new_database('recipe_called');
create_recipe_of_page();
on("ALTER TABLE insta5.$_ ALTER id DROP DEFAULT") for 'photos', 'likes';
on(recipe('save'));
my $called = q(SELECT id_shard(insta5.next_id()), prosrc ~ 'ids.next_id' FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
like(on(recipe('switch') =~ s/^(?=\\set tables)/\\set AUTOCOMMIT off\n/mr), qr/^insta5\|\|\d+$/, 'recipe_called: a function without tables switches');
is(on($called), '5|t', 'recipe_called: its callers get ids of next_id');
on(q(SELECT raise_generator('insta5.photos_id_seq', id_lower_bound(clock_timestamp() + interval '1 hour'))));
like(fails(recipe('back') =~ s/^CALL .*NULL\);\n//mr), qr/^ERROR:  generator "insta5.photos_id_seq" is ahead of the clock$/m,
	'recipe_called: not back while its ids could follow');
is(on($called), '5|t', 'recipe_called: and it is as it was');
clock('+3598s');
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
SQL
on(recipe('save'));
my $body = q(SELECT md5(pg_get_functiondef(oid)), proowner::regrole FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
my $body_before = on($body);
isnt(on(recipe('rights') =~ s/\\gexec//r), '', 'roles lack rights');
on(recipe('rights'));
is(on(recipe('rights') =~ s/\\gexec//r), '', 'and then none does');
on(recipe('switch'));
is(on(command_of('examples/instagram/README.md', 'BEGIN; SET LOCAL ROLE app; INSERT')), 5, 'app inserts');
like(on('SET ROLE batch; INSERT INTO insta5.likes (photo) VALUES (NULL) RETURNING id'), qr/^\d+$/, 'batch inserts');
is(on('SET ROLE caller; SELECT id_shard(insta5.next_id())'), 5, 'caller calls the function');
is(on(q(SELECT proconfig FROM pg_proc WHERE oid = 'insta5.next_id'::regproc)), '{search_path=pg_catalog}', 'its other options stay');
my $highest = on($insert_photo);
on(recipe('back'));
is(on($body), $body_before, 'back, the function is as before');
my @ids = split /\n/, on("$insert_photo;\n" x 20);
is(scalar(grep { $_ <= $highest } @ids), 0, 'its ids are above those of next_id');
on($_) for block_of('migrating.md', 'remove') =~ /^(DROP.*)/m, command_of('examples/instagram/README.md', 'DROP SCHEMA before_ids');
is(on("SET ROLE app; $insert_photo") > $ids[-1] ? 't' : 'f', 't', 'without the extension the function is what it was');

$original->stop;
done_testing();
