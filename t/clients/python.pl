# docs/clients.md in Python: an INSERT ... RETURNING through psycopg 2 and 3, Django and SQLAlchemy, each with a default
# of next_id; and a table by Alembic.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Clients;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = clients_node('python_clients');

# --- psycopg

new_database('psycopg2', 'ids.sql', 'tables.sql');
my $psycopg2 = said_by('python3', 't/clients/psycopg2_client.py');
note "psycopg $psycopg2->{version}[0]";
gets_as_page_says('psycopg 2', $psycopg2->{type}[0], $psycopg2->{exact}[0]);
are_stored('psycopg 2', 'orders', 0, $psycopg2->{created}[0], @{ $psycopg2->{several} });
is(scalar @{ $psycopg2->{several} }, 2, 'psycopg 2: execute_values reads all back');
is($psycopg2->{lastrowid}[0], 0, 'psycopg 2: lastrowid is no id');

new_database('psycopg3', 'ids.sql', 'tables.sql');
my $psycopg3 = said_by('python3', 't/clients/psycopg3_client.py');
note "psycopg $psycopg3->{version}[0]";
gets_as_page_says('psycopg 3', $psycopg3->{type}[0], $psycopg3->{exact}[0]);
are_stored('psycopg 3', 'orders', 0, $psycopg3->{created}[0], @{ $psycopg3->{several} });
is(scalar @{ $psycopg3->{several} }, 2, 'psycopg 3: executemany reads all back');
is(on("SELECT count(*) FROM orders WHERE customer <> 'exact'") . " $psycopg3->{copied}[0]", '5 2', 'psycopg 3: and COPY gives ids');

# --- Django

new_database('django', 'ids.sql', 'tables.sql');
my $django = said_by('python3', 't/clients/django/django_client.py', PostgreSQL::Test::Utils::tempdir());
note "Django $django->{version}[0]";
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
note "SQLAlchemy $sqlalchemy->{version}[0]";
gets_as_page_says('SQLAlchemy', $sqlalchemy->{type}[0], $sqlalchemy->{exact}[0]);
like($sqlalchemy->{ddl}[0], qr/id BIGINT DEFAULT ids\.next_id\(\) NOT NULL/, 'SQLAlchemy: the column is BIGINT with the default');
like($sqlalchemy->{sql}[0], qr/^INSERT INTO shop_orders \(customer\) VALUES \(%\(customer\)s\) RETURNING shop_orders.id$/,
	'SQLAlchemy: the id is left out and read back');
are_stored('SQLAlchemy', 'shop_orders', 0, $sqlalchemy->{created}[0], @{ $sqlalchemy->{several} }, $sqlalchemy->{core}[0]);
is(scalar @{ $sqlalchemy->{several} }, 100, 'SQLAlchemy: add_all reads all back');
is($sqlalchemy->{found}[0], 'Ada', 'SQLAlchemy: found by its id');

new_database('alembic', 'ids.sql');
my $alembic = said_by('python3', 't/clients/alembic_client.py');
note "Alembic $alembic->{version}[0]";
are_stored('Alembic', 'invoices', 0, $alembic->{created}[0]);
is(on(q{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'invoices'::regclass}),
	$alembic->{default}[0], 'Alembic: the default is written as \d prints it');
is("@{ $alembic->{as_printed} } $alembic->{nothing_drawn}[0]", ' True', 'Alembic: so autogenerate finds no difference, and draws no id');
is("@{ $alembic->{otherwise} } $alembic->{drawn}[0]", 'modify_default True', 'Alembic: written otherwise it finds one, and draws ids');

$node->stop;
done_testing();
