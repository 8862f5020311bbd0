# docs/clients.md by drivers and frameworks: INSERT ... RETURNING with a default of next_id gives a program the stored id,
# in the type that the page names. In Python psycopg 2 and 3, Django with contrib/django, SQLAlchemy and Alembic; Active
# Record; PHP; with FULL=1 also Doctrine, pgx and JDBC. t/clients/node.pl has Node.js.
use Clients;
use Docs;
use ShardidTest;

# JDBC cannot use unix sockets.
my $node = clients_node('drivers', $ENV{FULL} ? "listen_addresses = '127.0.0.1'\n" : '');

# --- What migrations run: it creates the extension once, and calls nothing in a schema that another role has prepared.

new_database('prepared');
sub creating
{
	my (undef, undef, $error) = $node->psql('prepared', "\\set VERBOSITY sqlstate\n$_[0];\n" . slurp_file('t/clients/create_shardid.sql'));
	return $error =~ /ERROR:\s+(\w+)/ ? $1 : 'created';
}
my @prepared = ('CREATE ROLE mallory; CREATE SCHEMA ids AUTHORIZATION mallory', 'CREATE EXTENSION shardid SCHEMA ids',
	map({ "ALTER SCHEMA ids OWNER TO $_" } qw(pg_database_owner CURRENT_USER)), 'DROP EXTENSION shardid; DROP SCHEMA ids');
is(join(' ', map { creating($_) } @prepared), '42P06 42P06 created created created', 'the block of the page refuses a schema of another role');

# --- psycopg

new_database('psycopg2', 'ids.sql', 'tables.sql');
my $psycopg2 = client('psycopg 2', 'orders', [ 'python3', 't/clients/psycopg2_client.py' ]);
is(scalar @{ $psycopg2->{several} }, 2, 'psycopg 2: execute_values reads all back');
is($psycopg2->{lastrowid}[0], 0, 'psycopg 2: lastrowid is no id');

new_database('psycopg3', 'ids.sql', 'tables.sql');
my $psycopg3 = client('psycopg 3', 'orders', [ 'python3', 't/clients/psycopg3_client.py' ]);
is(scalar @{ $psycopg3->{several} }, 2, 'psycopg 3: executemany reads all back');
is(on("SELECT count(*) FROM orders WHERE customer <> 'exact'") . " $psycopg3->{copied}[0]", '5 2', 'psycopg 3: and COPY gives ids');

# --- Django, with contrib/django

new_database('django', 'ids.sql', 'tables.sql');
my $django = said_by('python3', 't/clients/django/django_client.py', PostgreSQL::Test::Utils::tempdir());
page_names_release('Django', $django->{version}[0]);
gets_as_page_says('Django', $django->{type}[0], $django->{exact}[0]);
like($django->{makemigrations}[0], qr/^No changes detected/, 'Django: makemigrations finds nothing to do then');
like($django->{sql}[0], qr/^INSERT INTO "shop_photo" \("name"\) VALUES \('lighthouse'\) RETURNING "shop_photo"."id"$/,
	'Django: the id is left out and read back');
is(scalar @{ $django->{bulk} }, 100, 'Django: bulk_create reads all back');
is($django->{found}[0], 'lighthouse', 'Django: found by its id');
is($django->{since}[0], 101, 'Django: the rows since a time');
is($django->{referenced}[0], $django->{created}[0], 'Django: and referenced');
are_stored('Django', 'shop_photo', 1, $django->{created}[0], @{ $django->{bulk} }, $django->{after_loaddata}[0], $django->{again}[0]);
are_stored('Django, by default_auto_field', 'shop_like', 1, @{ $django->{likes} });
is($django->{place}[0], q(ids.next_id('ids.place_ids'::regclass)), 'Django: a generator of its own');
is("$django->{inspected}[0] $django->{as_inspected}[0]", 'BigIntegerField 23502', 'Django: what inspectdb writes inserts NULL');
are_stored('Django, with ShardIdField instead', 'orders', 0, $django->{as_shard_id_field}[0]);
is("@{ $django->{sharded} }", '7 7 7', 'Django: rows with the number of their logical shard');
is($django->{unmanaged}[0], 'others.Orders has managed = False, so migrations do not change its table', 'Django: what AlterToShardId leaves alone');
is("$django->{AutoField}[0], $django->{UUIDField}[0], $django->{no_key}[0]", 'others.Keyed.id is no BigAutoField: make it one first, by a migration of its own, '
	  . 'others.Keyed.id is no BigAutoField: keep it, as its values cannot become ids, fields.E100', 'Django: which keys can become a ShardIdField');
is("@{ $django->{prepared} }", '42501 42501 3F000', 'Django: CreateShardid refuses a schema in which another role can create functions, or that another role could create');
is("$django->{reversed}[0] $django->{generator_dropped}[0]", 'True True', 'Django: the migrations are reversed, and ids continue above that of a deleted row');
is("@{ $django->{altered_1} }, @{ $django->{altered_2} }, @{ $django->{altered_3} }", '42601 ids.next_id(), 42601 ids.next_id(7), 42601 none',
	'Django: AlterField is refused, and AlterToShardId sets the default');
is("@{ $django->{altered_back} }", 'ids.next_id(7) ids.next_id()', 'Django: and back');
is("@{ $django->{plain} }, $django->{plain_already}[0]", 'True ids.next_id(), others.Switched.id is no ShardIdField', 'Django: a BigAutoField again, forwards');
is("@{ $django->{of_new_generator} }, $django->{granted}[0], $django->{granted_back}[0]", 'has_shared True, has_shared has_table, has_table',
	'Django: roles get privileges on a generator, and on the sequence of the way back');
is("@{ $django->{not_granted} }", 'roles that insert into "switched" have no privilege on its generator HINT:  The owner of the generator must run: '
	  . 'GRANT USAGE ON SEQUENCE ids.shardid_seq TO has_table.', 'Django: or the migration fails, and says which');
is("@{ $django->{in_use} } $django->{waits}[0]", '55P03 55P03 99s', 'Django: a table in use is given up, and the next migration waits as before');
is("@{ $django->{quoted} }", '5 True', 'Django: names with quotes and percent signs, forwards and backwards');
is($django->{above}[0], q(table "shop's 100%d $switch$" has ids above those that are generated now), 'Django: and not applied to ids of the future');
like(slurp_file($django->{section}[1]), qr/^## \Q$django->{section}[0]\E$/m, 'Django: of which the hint names a section');
is($django->{second}[0] // 5, 5, 'Django: a second id of a model');
is($django->{owned}[0], '55000', 'Django: a generator that belongs to the column is spoilt by loaddata');
is("@{ $django->{test_database} }", 'test_django 5', 'Django: a test database, with a shard number by its settings');

# --- SQLAlchemy and Alembic

new_database('sqlalchemy', 'ids.sql', 'sharded.sql');
my $sqlalchemy = client('SQLAlchemy', 'shop_orders', [ 'python3', 't/clients/sqlalchemy_client.py' ]);
like($sqlalchemy->{ddl}[0], qr/id BIGINT DEFAULT ids\.next_id\(\) NOT NULL/, 'SQLAlchemy: the column is BIGINT with the default');
like($sqlalchemy->{sql}[0], qr/^INSERT INTO shop_orders \(customer\) VALUES \(%\(customer\)s\) RETURNING shop_orders.id$/,
	'SQLAlchemy: the id is left out and read back');
are_stored('SQLAlchemy, by an insert of its core', 'shop_orders', $sqlalchemy->{several}[-1], $sqlalchemy->{core}[0]);
is(scalar @{ $sqlalchemy->{several} }, 100, 'SQLAlchemy: add_all reads all back');
are_in_shards('SQLAlchemy', 'photos', $sqlalchemy);
my $sorts = $sqlalchemy->{version}[0] =~ /^2/;
is("@{ $sqlalchemy->{declared} }, @{ $sqlalchemy->{undeclared} }", ($sorts ? '3 9 8 7, 1 7 8 9' : '1 9 8 7, 1 9 8 7'),
	'SQLAlchemy: with a declared default each row gets its own id');

new_database('alembic', 'ids.sql');
my $alembic = said_by('python3', 't/clients/alembic_client.py');
page_names_release('Alembic', $alembic->{version}[0]);
are_stored('Alembic', 'invoices', 0, $alembic->{created}[0]);
is(on(q{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'invoices'::regclass}),
	$alembic->{default}[0], 'Alembic: the default is written as \d prints it');
is("@{ $alembic->{as_printed} } $alembic->{nothing_drawn}[0]", ' True', 'Alembic: so autogenerate finds no difference, and draws no id');
is("@{ $alembic->{otherwise} } $alembic->{drawn}[0]", 'modify_default True', 'Alembic: written otherwise it finds one, and draws ids');
is("@{ $alembic->{by_function} }", '', 'Alembic: and none for a function around a layout');

# --- PHP

new_database('php', 'ids.sql', 'tables.sql');
my $php = client('PHP', 'orders', [ 'php', 't/clients/php_client.php' ], 'PHP, PDO');
gets_as_page_says('PHP, pg_query', @{ $php->{exact_of_pgsql} });
are_stored('PHP, pg_query', 'orders', $php->{created}[0], $php->{of_pgsql}[0]);
is("$php->{last_insert_id}[0] $php->{last_insert_id_of_generator}[0]", '55000 55000', 'PHP: lastInsertId does not know next_id');
is($php->{last_insert_id_of_other}[0], 1, 'PHP: or returns what another sequence gave');

# --- Active Record

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(of_migrations of_schema_rb of_structure_sql);
new_database('active_record', 'ids.sql', 'sharded.sql');
my $rails = client('Rails', 'orders', [ 'env', map({ 'PGDATABASE_' . uc . "=$_" } qw(of_migrations of_schema_rb of_structure_sql)),
		'ruby', 't/clients/rails_client.rb', PostgreSQL::Test::Utils::tempdir() ]);
is("$rails->{of_empty}[0] $rails->{of_existing}[0]", '5 5', 'Rails: the migrations, without and with the extension, and the number of database.yml');
are_stored('Rails, create!', 'orders', $rails->{several}[-1], @{ $rails->{several_made} });
are_in_shards('Rails', 'photos', $rails);
like($rails->{json}[0], qr/"id":"$rails->{created}[0]"/, 'Rails: to_json writes text');
is("@{ $rails->{json_of_reference} }", qq({"id":"$rails->{created}[0]","user_id":"$rails->{created}[0]","name":null} {"id":null,"user_id":null,"name":null}),
	'Rails: also keys that refer to an id');
is(scalar(@{ $rails->{several} }), 2, 'Rails: insert_all reads all back');
is("@{ $rails->{structure} }", 'CREATE SCHEMA ids; CREATE EXTENSION IF NOT EXISTS shardid', 'Rails: structure.sql has schema and extension');
like($rails->{schema}[0], qr/^create_table "orders".* default: -> \{ "ids\.next_id\(\)" \}/, 'Rails: schema.rb has the default');
like($rails->{loaded}[0], qr/^PG::(?:InvalidSchemaName|UndefinedFunction)$/, 'Rails: but the extension not in its schema: it does not load');
$ENV{PGDATABASE} = 'of_structure_sql';
are_stored('Rails, loaded from structure.sql', 'orders', $rails->{created}[0], $rails->{restored}[0]);

# --- Functions around next_id, of which the planner sees through those in SQL without SET; the page's grants, and what the
# trigger of a logical shard needs: it calls next_id by its name, as the role that inserts.

new_database('wrappers', 'ids.sql', 'tables.sql', 'sharded.sql', 'wrappers.sql');
for my $kind (qw(by_return by_string with_path of_owner stable in_plpgsql))
{
	my $called = $kind =~ /^by_/ ? qr/ids\.next_id\(5, 'ids\.wrapped_ids'/ : qr/$kind\(\)/;
	like(on("CREATE TABLE of_$kind (id bigint DEFAULT $kind(), n int); EXPLAIN (VERBOSE) INSERT INTO of_$kind (n) VALUES (1)"), qr/Output: $called/, "$kind: what is called for each row");
}
sub error_of_app
{
	my ($result, $out, $err) = $node->psql('wrappers', "\\set VERBOSITY sqlstate\nSET ROLE app; $_[0]");
	return $err =~ s/.*ERROR:\s+(\w+).*/$1/sr;
}
on('CREATE ROLE app;' . slurp_file('t/clients/grants.sql') . 'GRANT INSERT ON photos TO app');
is(error_of_app(q(INSERT INTO orders (customer) VALUES ('Ada') RETURNING id)), '', 'as the page grants it');
is(error_of_app('INSERT INTO photos (user_id) VALUES (4007)'), '', 'the trigger generates an id');
is(error_of_app('INSERT INTO photos VALUES (4032112536055721985, 4012)'), '', 'it keeps one that a row has');
is(error_of_app('INSERT INTO photos VALUES (4032112536055721986, 4007)'), '23514', 'but not one of another shard');
on(<<'SQL');
CREATE TABLE parted (LIKE photos) PARTITION BY RANGE (id);
CREATE TABLE part PARTITION OF parted FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
CREATE TRIGGER set_id BEFORE INSERT ON parted FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION set_photo_id();
GRANT INSERT ON parted TO app;
SQL
is(error_of_app('INSERT INTO parted (user_id) VALUES (4007)'), '23514', 'a table partitioned by its id gets none from a trigger');
# A table with rows.
my ($no_default, $check, $validate) = map { command_of('clients.md', $_) =~ s/photos/old_photos/r } 'ALTER TABLE photos ALTER id', 'ALTER TABLE photos ADD CONSTRAINT', 'ALTER TABLE photos VALIDATE';
for my $kind ('bigserial', 'bigint GENERATED BY DEFAULT AS IDENTITY')
{
	on(<<"SQL");
CREATE TABLE old_photos (id $kind PRIMARY KEY, user_id bigint NOT NULL);
INSERT INTO old_photos VALUES (1, 4005), (20001, 7);
CREATE TRIGGER set_id BEFORE INSERT ON old_photos FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION set_photo_id();
@{[ $kind eq 'bigserial' ? $no_default : $no_default =~ s/DROP DEFAULT/DROP IDENTITY/r ]};
$check;
$validate;
SQL
	is(on('INSERT INTO old_photos (user_id) VALUES (4007) RETURNING ids.id_shard(id)'), 7, "$kind with rows: a new one has an id of its logical shard");
	is(error_of_app('RESET ROLE; INSERT INTO old_photos VALUES (20002, 4007)'), '23514', "$kind with rows: and must have");
	on('DROP TABLE old_photos');
}
on('REVOKE USAGE ON SCHEMA ids FROM app');
is(error_of_app('INSERT INTO photos (user_id) VALUES (4007)'), '42501', 'the trigger is refused without USAGE on the schema');

SKIP:
{
	skip 'Doctrine, pgx and JDBC take long, see make test-full', 1 unless $ENV{FULL};
	new_database('pgx', 'ids.sql', 'tables.sql');
	local @ENV{qw(GO111MODULE GOPATH GOFLAGS)} = ('off', '/usr/share/gocode', '');
	my $pgx = client('pgx', 'orders', [qw(go run t/clients/pgx/main.go)]);
	is($pgx->{scanned}[0], 'int64', 'pgx: so is what is scanned into an interface');
	is(on("SELECT count(*) FROM orders WHERE customer <> 'exact'") . " $pgx->{copied}[0]", '3 2', 'pgx: CopyFrom gives ids');
	is($pgx->{json}[0], '{"id":"4032112536055714817","customer":"exact"}', 'pgx: a string in JSON, by its tag');

	new_database('jdbc', 'ids.sql', 'tables.sql');
	client('JDBC', 'orders', [ qw(java -cp /usr/share/java/postgresql.jar t/clients/jdbc/Client.java),
			"jdbc:postgresql://127.0.0.1:$ENV{PGPORT}/jdbc?user=$ENV{PGUSER}" ]);

	skip 'the page names the Doctrine of Debian 12', 1 unless slurp_file('/etc/os-release') =~ /^VERSION_CODENAME=bookworm$/m;
	new_database('doctrine', 'ids.sql', 'tables.sql');
	client('Doctrine', 'orders', [ 'php', 't/clients/doctrine_client.php' ]);
}

$node->stop;
done_testing();
