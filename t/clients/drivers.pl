# docs/clients.md by drivers and frameworks: INSERT ... RETURNING with a default of next_id gives a program the stored id,
# in the type that the page names. In Python psycopg 2 and 3, Django, SQLAlchemy and Alembic; PHP; with FULL=1 also Active
# Record, pgx and JDBC. t/clients/node.pl has Node.js.
use Clients;
use ShardidTest;

# JDBC cannot use unix sockets.
my $node = clients_node('drivers', $ENV{FULL} ? "listen_addresses = '127.0.0.1'\n" : '');

# --- psycopg

new_database('psycopg2', 'ids.sql', 'tables.sql');
my $psycopg2 = said_by('python3', 't/clients/psycopg2_client.py');
gets_as_page_says('psycopg 2', $psycopg2->{type}[0], $psycopg2->{exact}[0]);
are_stored('psycopg 2', 'orders', 0, $psycopg2->{created}[0], @{ $psycopg2->{several} });
is(scalar @{ $psycopg2->{several} }, 2, 'psycopg 2: execute_values reads all back');
is($psycopg2->{lastrowid}[0], 0, 'psycopg 2: lastrowid is no id');

new_database('psycopg3', 'ids.sql', 'tables.sql');
my $psycopg3 = said_by('python3', 't/clients/psycopg3_client.py');
gets_as_page_says('psycopg 3', $psycopg3->{type}[0], $psycopg3->{exact}[0]);
are_stored('psycopg 3', 'orders', 0, $psycopg3->{created}[0], @{ $psycopg3->{several} });
is(scalar @{ $psycopg3->{several} }, 2, 'psycopg 3: executemany reads all back');
is(on("SELECT count(*) FROM orders WHERE customer <> 'exact'") . " $psycopg3->{copied}[0]", '5 2', 'psycopg 3: and COPY gives ids');

# --- Django

new_database('django', 'ids.sql', 'tables.sql');
my $django = said_by('python3', 't/clients/django/django_client.py', PostgreSQL::Test::Utils::tempdir());
gets_as_page_says('Django', $django->{type}[0], $django->{exact}[0]);
is($django->{old}[0], 1, 'Django: a row of its own sequence');
like($django->{sql}[0], qr/^INSERT INTO "shop_photo" \("name"\) VALUES \('lighthouse'\) RETURNING "shop_photo"."id"$/,
	'Django: the id is left out and read back');
are_stored('Django', 'shop_photo', 1, $django->{created}[0], @{ $django->{bulk} }, $django->{after_loaddata}[0]);
is(scalar @{ $django->{bulk} }, 100, 'Django: bulk_create reads all back');
is($django->{found}[0], 'lighthouse', 'Django: found by its id');
is($django->{referenced}[0], $django->{created}[0], 'Django: and referenced');
is("$django->{inspected}[0] $django->{as_inspected}[0]", 'BigIntegerField 23502', 'Django: what inspectdb writes inserts NULL');
are_stored('Django, with BigAutoField instead', 'orders', 0, $django->{as_big_auto_field}[0]);
is($django->{owned}[0], '55000', 'Django: a generator that belongs to the column is spoilt by loaddata');

# --- SQLAlchemy and Alembic

new_database('sqlalchemy', 'ids.sql');
my $sqlalchemy = said_by('python3', 't/clients/sqlalchemy_client.py');
gets_as_page_says('SQLAlchemy', $sqlalchemy->{type}[0], $sqlalchemy->{exact}[0]);
like($sqlalchemy->{ddl}[0], qr/id BIGINT DEFAULT ids\.next_id\(\) NOT NULL/, 'SQLAlchemy: the column is BIGINT with the default');
like($sqlalchemy->{sql}[0], qr/^INSERT INTO shop_orders \(customer\) VALUES \(%\(customer\)s\) RETURNING shop_orders.id$/,
	'SQLAlchemy: the id is left out and read back');
are_stored('SQLAlchemy', 'shop_orders', 0, $sqlalchemy->{created}[0], @{ $sqlalchemy->{several} }, $sqlalchemy->{core}[0]);
is(scalar @{ $sqlalchemy->{several} }, 100, 'SQLAlchemy: add_all reads all back');
is($sqlalchemy->{found}[0], 'Ada', 'SQLAlchemy: found by its id');

new_database('alembic', 'ids.sql');
my $alembic = said_by('python3', 't/clients/alembic_client.py');
are_stored('Alembic', 'invoices', 0, $alembic->{created}[0]);
is(on(q{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'invoices'::regclass}),
	$alembic->{default}[0], 'Alembic: the default is written as \d prints it');
is("@{ $alembic->{as_printed} } $alembic->{nothing_drawn}[0]", ' True', 'Alembic: so autogenerate finds no difference, and draws no id');
is("@{ $alembic->{otherwise} } $alembic->{drawn}[0]", 'modify_default True', 'Alembic: written otherwise it finds one, and draws ids');

# --- PHP

new_database('php', 'ids.sql', 'tables.sql');
my $php = said_by('php', 't/clients/php_client.php');
gets_as_page_says('PHP, PDO', $php->{type}[0], $php->{exact}[0]);
gets_as_page_says('PHP, pg_query', @{ $php->{exact_of_pgsql} });
are_stored('PHP', 'orders', 0, $php->{created}[0], $php->{of_pgsql}[0]);
is("$php->{last_insert_id}[0] $php->{last_insert_id_of_generator}[0]", '55000 55000', 'PHP: lastInsertId does not know next_id');
is($php->{last_insert_id_of_other}[0], 1, 'PHP: or returns what another sequence gave');

SKIP:
{
	skip 'Active Record, pgx and JDBC take long, see make test-full', 1 unless $ENV{FULL};
	active_record();
	pgx();
	jdbc();
}

$node->stop;
done_testing();

# --- Active Record

sub active_record
{
	$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(of_schema_rb of_structure_sql);
	new_database('active_record');
	on('CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
	on("ALTER DATABASE $_ SET shardid.shard_id = 5") for qw(active_record of_schema_rb of_structure_sql);
	local @ENV{qw(PGDATABASE_OF_SCHEMA_RB PGDATABASE_OF_STRUCTURE_SQL)} = qw(of_schema_rb of_structure_sql);
	my $rails = said_by('ruby', 't/clients/rails_client.rb', PostgreSQL::Test::Utils::tempdir());
	gets_as_page_says('Rails', $rails->{type}[0], $rails->{exact}[0]);
	are_stored('Rails', 'orders', 0, map { @{ $rails->{$_} } } qw(created several several_made));
	like($rails->{json}[0], qr/"id":"$rails->{created}[0]"/, 'Rails: as_json writes text');
	is(scalar(@{ $rails->{several} }), 2, 'Rails: insert_all reads all back');
	is("@{ $rails->{structure} }", 'CREATE SEQUENCE ids.order_ids CREATE FUNCTION public.next_order_id()', 'Rails: structure.sql has generator and function');
	$ENV{PGDATABASE} = 'of_structure_sql';
	are_stored('Rails, loaded from structure.sql', 'orders', $rails->{created}[0], $rails->{restored}[0]);
	like($rails->{schema}[0], qr/^create_table "orders".* default: -> \{ "next_order_id\(\)" \}/, 'Rails: schema.rb has the default');
	is("$rails->{schema_generators}[0] $rails->{loaded}[0]", '0 PG::UndefinedFunction', 'Rails: but neither generator nor function: it does not load');
	return;
}

# --- pgx

sub pgx
{
	new_database('pgx', 'ids.sql', 'tables.sql');
	local @ENV{qw(GO111MODULE GOPATH GOFLAGS)} = ('off', '/usr/share/gocode', '');
	my $pgx = said_by('go', 'run', 't/clients/pgx/main.go');
	gets_as_page_says('pgx', $pgx->{type}[0], $pgx->{exact}[0]);
	are_stored('pgx', 'orders', 0, $pgx->{created}[0]);
	is($pgx->{scanned}[0], 'int64', 'pgx: so is what is scanned into an interface');
	is(on("SELECT count(*) FROM orders WHERE customer <> 'exact'") . " $pgx->{copied}[0]", '3 2', 'pgx: CopyFrom gives ids');
	is($pgx->{json}[0], '{"id":"4032112536055714817","customer":"exact"}', 'pgx: a string in JSON, by its tag');
	return;
}

# --- JDBC

sub jdbc
{
	new_database('jdbc', 'ids.sql', 'tables.sql');
	my $url = "jdbc:postgresql://127.0.0.1:$ENV{PGPORT}/jdbc?user=$ENV{PGUSER}";
	my $jdbc = said_by(qw(java -cp /usr/share/java/postgresql.jar t/clients/jdbc/Client.java), $url);
	gets_as_page_says('JDBC', $jdbc->{type}[0], $jdbc->{exact}[0]);
	are_stored('JDBC', 'orders', 0, $jdbc->{created}[0], @{ $jdbc->{several} });
	return;
}

