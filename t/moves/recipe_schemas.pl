# docs/migrating.md: all schemas of the recipe switch in one loop, and back; what fails is left as it was and found by
# the checks, and roles keep their rights. Provoked by schemas that lack a table, and roles with the fewest rights.
use Docs;
use Migrating;
use ShardidTest;

start_original();

# --- All schemas in one loop

new_database('recipe_all');
create_recipe_of_page($_) for 11, 12, 7;
my $users = command_of('migrating.md', 'SELECT adrelid::regclass');
on('DROP TABLE insta12.likes');
on("INSERT INTO insta$_.photos (name) VALUES ('old')") for 11, 12, 7;
is(on(block('recipe-save')), join("\n", map { "insta$_|$_|$epoch|f" } 7, 11, 12), 'the functions and their numbers');
my $fails = sub { return ($original->psql($database, block($_[0]), on_error_stop => 0))[2] };
like($fails->('recipe-switch'), qr/relation "insta12.likes" does not exist/, 'one schema fails');
is(on($users), 'insta12.photos', 'the others are switched, and the check finds the one');
on('CREATE TABLE insta12.likes (id bigint PRIMARY KEY DEFAULT insta12.next_id(), photo bigint)');
on(block('recipe-switch'));
is(on(block('recipe-switch')), '', 'run again, the switch prints nothing');
is(on($users), '', 'every table has switched');
is(on(<<"SQL"), "$_|t", "shard $_ has switched") for 11, 12, 7;
INSERT INTO insta$_.photos (name) VALUES ('new') RETURNING id_shard(id), id > (SELECT max(id) FROM insta$_.photos)
SQL
on('ALTER TABLE insta12.likes RENAME TO hidden');
like($fails->('recipe-back'), qr/relation "insta12.likes" does not exist/, 'one schema fails on the way back');
like(on(block('users-of-ids')), qr/^function insta12.next_id\(\)$/m, 'so the saved functions are still needed');
on('ALTER TABLE insta12.hidden RENAME TO likes');
on(block('recipe-back'));
is(on(block('users-of-ids')), '', 'nothing uses the extension');

# --- Rights, and the way back. Roles that can insert keep that right: by a column, by PUBLIC, by a group.

new_database('recipe_back');
create_recipe_of_page();
on(<<'SQL');
GRANT USAGE ON SCHEMA insta5 TO PUBLIC;
GRANT INSERT, SELECT ON insta5.photos TO app;
GRANT INSERT (photo), SELECT ON insta5.likes TO batch;
GRANT USAGE ON SEQUENCE insta5.photos_id_seq TO batch, caller;
ALTER FUNCTION insta5.next_id OWNER TO caller;
SQL
on(block('recipe-save'));
my $body = q(SELECT md5(pg_get_functiondef(oid)), proowner::regrole FROM pg_proc WHERE oid = 'insta5.next_id'::regproc);
my $body_before = on($body);
isnt(on(block('recipe-rights') =~ s/\\gexec//r), '', 'roles lack rights');
on(block('recipe-rights'));
is(on(block('recipe-rights') =~ s/\\gexec//r), '', 'and then none does');
on(block('recipe-switch'));
is(on(command_of('migrating.md', 'BEGIN; SET LOCAL ROLE app; INSERT')), 5, 'app inserts');
like(on('SET ROLE batch; INSERT INTO insta5.likes (photo) VALUES (NULL) RETURNING id'), qr/^\d+$/, 'batch inserts');
is(on('SET ROLE caller; SELECT id_shard(insta5.next_id())'), 5, 'caller calls the function');
my $highest = on($insert_photo);
on(block('recipe-back'));
is(on($body), $body_before, 'back, the function is as before');
my @ids = split /\n/, on("$insert_photo;\n" x 20);
is(scalar(grep { $_ <= $highest } @ids), 0, 'its ids are above those of next_id');
on(command_of('migrating.md', $_)) for 'DROP SCHEMA ids', 'DROP SCHEMA before_ids';
is(on("SET ROLE app; $insert_photo") > $ids[-1] ? 't' : 'f', 't', 'without the extension the function is what it was');

# --- The end of the old functions: a caller by name is found, and then only the defaults are left.

new_database('recipe_end');
create_recipe_of_page();
on(block($_)) for 'recipe-save', 'recipe-switch';
$original->safe_psql('postgres', $_) for q(ALTER SYSTEM SET track_functions = 'pl'), 'SELECT pg_reload_conf()';
my ($look) = block('recipe-calls') =~ /(SELECT.*?);/s;
ok($original->poll_query_until($database, "SELECT insta5.next_id() > 0 AND EXISTS ($look)"), 'a caller is found');
on(block('recipe-end'));
like(on($insert_photo), qr/^\d+$/, 'without the function, rows are inserted');

$original->stop;
done_testing();
