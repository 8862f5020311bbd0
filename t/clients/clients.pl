# docs/clients.md: what holds for every client - a function in the place of next_id, its rights, currval - and PHP;
# with FULL=1 also Active Record, pgx, JDBC and, fetched by npm, the clients for Node.js.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Clients;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

# JDBC cannot use unix sockets.
my $node = clients_node('clients', $ENV{FULL} ? "listen_addresses = '127.0.0.1'\n" : '');

sub error_of
{
	my ($sql) = @_;
	my ($result, $out, $err) = $node->psql($ENV{PGDATABASE}, "\\set VERBOSITY verbose\n$sql");
	return $err =~ /ERROR:  (\w{5}): / ? $1 : "none: $out";
}

# --- A function in the place of next_id

new_database('wrappers', 'ids.sql', 'tables.sql', 'wrappers.sql');
on(<<'SQL');
CREATE EXTENSION pg_walinspect;
CREATE TABLE t (id bigint, n int);
CREATE ROLE with_nothing;
CREATE ROLE with_generator;
CREATE ROLE with_both;
CREATE ROLE app;
GRANT INSERT ON t TO with_nothing, with_generator, with_both;
GRANT USAGE ON SEQUENCE ids.wrapped_ids TO with_generator, with_both;
GRANT USAGE ON SCHEMA ids TO with_both;
SQL

# Whether WAL shows that COPY inserted its rows in batches.
sub copied
{
	return on(<<'SQL') =~ s/^.*\n//sr;
TRUNCATE t;
SELECT pg_current_wal_insert_lsn() AS start \gset
COPY t (n) FROM PROGRAM 'seq 3000';
SELECT CASE WHEN (SELECT count(*) FROM pg_get_wal_records_info(:'start', pg_current_wal_flush_lsn())
                  WHERE record_type LIKE 'MULTI_INSERT%') > 0 THEN 'in batches' ELSE 'row by row' END
       || CASE WHEN count(DISTINCT id) = 3000 THEN '' ELSE ', with ids repeated' END
FROM t;
SQL
}

# Name: what EXPLAIN shows, what COPY does, and what a role needs USAGE on.
my %rows = (
	by_return => 'next_id | in batches | the generator',
	by_string => 'next_id | in batches | the generator and the schema',
	with_path => 'the function | row by row | the generator',
	of_owner => 'the function | row by row | nothing',
	stable => 'the function | in batches | the generator',
	in_plpgsql => 'the function | row by row | the generator and the schema');
my $page = slurp_file('docs/clients.md');
for my $kind (sort keys %rows)
{
	on("ALTER TABLE t ALTER id SET DEFAULT $kind()");
	my $plan = on('EXPLAIN (VERBOSE) INSERT INTO t (n) VALUES (1)');
	my $shown = $plan =~ /Output: ids\.next_id\(5, 'ids\.wrapped_ids'/ ? 'next_id' : $plan =~ /Output: $kind\(\)/ ? 'the function' : $plan;
	my $rights = join ', ', grep { error_of("SET ROLE $_; INSERT INTO t (n) VALUES (1)") eq 'none: ' } qw(with_nothing with_generator with_both);
	my $needs = { 'with_nothing, with_generator, with_both' => 'nothing', 'with_generator, with_both' => 'the generator',
		'with_both' => 'the generator and the schema' }->{$rights} // $rights;
	is("$shown | " . copied() . " | $needs", $rows{$kind}, "$kind: $rows{$kind}");
}
on(slurp_file('t/clients/grants.sql'));
is(error_of(q(SET ROLE app; INSERT INTO orders (customer) VALUES ('Ada') RETURNING id)) =~ /^none: \d+$/, 1, 'as the page grants it');

# A function whose body is a string looks up names when it is called, by the caller's search_path; one with RETURN does
# so when it is created.
on("ALTER TABLE t ALTER id SET DEFAULT by_string(); INSERT INTO t (n) VALUES (1)");
$node->safe_psql('wrappers', 'ALTER EXTENSION shardid SET SCHEMA public');
is(error_of('INSERT INTO t (n) VALUES (1)'), '42883', 'by_string: not found once the extension is in another schema');
on('ALTER TABLE t ALTER id SET DEFAULT by_return()');
is(error_of('INSERT INTO t (n) VALUES (1)'), 'none: ', 'by_return: found');
on('ALTER EXTENSION shardid SET SCHEMA ids');

# --- currval and lastval

is(error_of(q(SELECT next_order_id(); SELECT currval('ids.order_ids'))), '55000', 'currval does not know what next_id returned');
is(error_of('SELECT next_order_id(); SELECT lastval()'), '55000', 'nor does lastval');
is(on(q(SELECT nextval('invoice_numbers'); INSERT INTO orders VALUES (DEFAULT, 'Ada'); SELECT lastval())),
	"1\n1", 'which then returns what another sequence gave');
my ($id, $tick) = split /\n/, on(q(SELECT next_order_id(); SELECT nextval('ids.order_ids')));
is($tick >> 10, $id >> 23, 'nextval of a generator is a time and a sequence number without the shard');

# --- Ids for JavaScript numbers

is(on(q(SELECT ids.id_lower_bound(ts, shard_bits => 5, sequence_bits => 7) < 2 ^ 53
FROM (VALUES ('2081-01-01 00:00:00+00'::timestamptz), ('2082-01-01 00:00:00+00')) times (ts))), "t\nf", 'ids of 53 bits until 2081');

# --- PHP

new_database('php', 'ids.sql', 'tables.sql');
my $php = said_by('php', 't/clients/php_client.php');
note "PHP $php->{version}[0]";
gets_as_page_says('PHP, PDO', $php->{type}[0], $php->{exact}[0]);
gets_as_page_says('PHP, pg_query', @{ $php->{exact_of_pgsql} });
are_stored('PHP', 'orders', 0, $php->{created}[0], $php->{of_pgsql}[0]);
is("$php->{last_insert_id}[0] $php->{last_insert_id_of_generator}[0]", '55000 55000', 'PHP: lastInsertId does not know next_id');
is($php->{last_insert_id_of_other}[0], 1, 'PHP: or returns what another sequence gave');

# --- Active Record

sub active_record
{
	$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(of_schema_rb of_structure_sql);
	new_database('active_record');
	on('CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids');
	on("ALTER DATABASE $_ SET shardid.shard_id = 5") for qw(active_record of_schema_rb of_structure_sql);
	local @ENV{qw(PGDATABASE_OF_SCHEMA_RB PGDATABASE_OF_STRUCTURE_SQL)} = qw(of_schema_rb of_structure_sql);
	my $rails = said_by('ruby', 't/clients/rails_client.rb', PostgreSQL::Test::Utils::tempdir());
	note "Active Record $rails->{version}[0]";
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
	note "JDBC driver $jdbc->{version}[0]";
	gets_as_page_says('JDBC', $jdbc->{type}[0], $jdbc->{exact}[0]);
	are_stored('JDBC', 'orders', 0, $jdbc->{created}[0], @{ $jdbc->{several} });
	return;
}

# --- Node.js

# Runs a program in a database of its own, with the assertions that all programs share.
sub for_node
{
	my ($folder, $client, $program, $table, @files) = @_;
	new_database($program, @files);
	my $js = said_by('node', "$folder/$program.js");
	is(join(' ', grep { $page !~ /\s\Q$_\E[,.\s]/ } @{ $js->{version} }), '', "$client: the page names the version");
	gets_as_page_says($client, $js->{type}[0], $js->{exact}[0]);
	are_stored($client, $table, 0, $js->{created}[0], @{ $js->{several} // [] });
	is($js->{found}[0], 'Ada', "$client: found by its id") if $js->{found};
	return $js;
}

sub node_clients
{
	my ($folder) = @_;
	my @tables = ('ids.sql', 'tables.sql');

	my $pg = for_node($folder, 'node-postgres', 'node_postgres', 'orders', @tables);
	my $exact = $pg->{exact}[0];
	gets_as_page_says('node-postgres, type parser BigInt', $pg->{parsed}[0], $pg->{parsed}[1]);
	gets_as_page_says('node-postgres, Number(id)', 'number', $pg->{number}[0]);
	is("$pg->{bigint}[0] $pg->{json_text}[0]", "$exact $exact", 'node-postgres: BigInt has all its digits, and text in JSON');
	is($pg->{json_number}[0], $pg->{number}[0], 'node-postgres: a number in JSON has not');
	is($pg->{found_by_number}[0], 0, "node-postgres: no row is found by $pg->{number}[1]");
	is($pg->{stringify}[0], 'TypeError', 'node-postgres: JSON.stringify refuses a bigint');
	is($pg->{replaced}[0], $exact, 'node-postgres: unless told what to write');
	is("@{ $pg->{small_number} }", "$pg->{small}[0] true", 'node-postgres: an id of 53 bits is a safe integer');
	is(on('SELECT count(*) FROM visits WHERE id = ' . $pg->{small_number}[0]), 1, 'node-postgres: the one that is stored');

	my $postgres = for_node($folder, 'postgres.js', 'postgres_js', 'orders', @tables);
	gets_as_page_says('postgres.js, types: { bigint: postgres.BigInt }', $postgres->{parsed}[0], $postgres->{parsed}[1]);

	my $knex = for_node($folder, 'Knex', 'knex_client', 'shop_orders', 'ids.sql');
	are_stored('Knex, batchInsert', 'shop_orders', $knex->{several}[-1], @{ $knex->{batches} });

	my $kysely = for_node($folder, 'Kysely', 'kysely_client', 'shop_orders', 'ids.sql');
	is($kysely->{insert_id}[0] // 'undefined', 'undefined', 'Kysely: insertId is undefined');

	for_node($folder, 'Sequelize', 'sequelize_client', 'shop_orders', 'ids.sql');

	my $typeorm = for_node($folder, 'TypeORM', 'typeorm_client', 'shop_orders', 'ids.sql');
	is("@{ $typeorm->{second} }", '', 'TypeORM: synchronize finds nothing to do then');

	my $prisma = for_node($folder, 'Prisma', 'prisma_client', 'orders', @tables);
	is($prisma->{stringify}[0], 'TypeError', 'Prisma: JSON.stringify refuses a row');
	is($prisma->{json}[0], qq({"id":"$exact","customer":"exact"}), 'Prisma: but not one with the id as a string');
	is("@{ $prisma->{raw} }", "bigint $exact", 'Prisma: $queryRaw gives the same');

	drizzle($folder);
	return;
}

sub drizzle
{
	my ($folder) = @_;
	$node->safe_psql('postgres', 'CREATE DATABASE drizzle_public');
	$node->safe_psql('drizzle_public', 'CREATE EXTENSION shardid; CREATE FUNCTION next_order_id() RETURNS bigint LANGUAGE sql RETURN next_id(5)');
	$ENV{PGDATABASE} = 'drizzle_public';
	my $public = said_by('node', "$folder/drizzle_client.js", 'push');
	is($public->{push}[0], q(code: '2BP01'), 'Drizzle: push would drop the sequences of an extension in public');
	is("@{ $public->{sequences} }", 'shardid_objectid_seq shardid_seq shardid_uuid_seq', 'Drizzle: and cannot');

	new_database('drizzle_stray', 'ids.sql');
	on('CREATE SEQUENCE public.stray_ids');
	my $stray = said_by('node', "$folder/drizzle_client.js", 'push');
	is("$stray->{push}[0]: @{ $stray->{sequences} }",
		'Changes applied: order_ids shardid_objectid_seq shardid_seq shardid_uuid_seq visit_ids',
		'Drizzle: push drops a sequence in public that the schema has not, and leaves the schema ids alone');

	my $drizzle = for_node($folder, q(Drizzle, mode: 'bigint'), 'drizzle_client', 'orders', 'ids.sql');
	gets_as_page_says(q(Drizzle, mode: 'number'), 'number', $drizzle->{number}[0]);
	is("$drizzle->{push}[0], $drizzle->{again}[0]", 'Changes applied, No changes detected', 'Drizzle: push with the extension in ids');
	is($drizzle->{pulled}[0], 'number', 'Drizzle: pull writes mode number');
	return;
}

if ($ENV{FULL})
{
	active_record();
	pgx();
	jdbc();
  SKIP:
	{
		my ($folder, $why) = fetched_by_npm('node');
		skip "the clients for Node.js: $why", 1 unless $folder;
		node_clients($folder);
	}
}
else
{
  SKIP:
	{
		skip 'Active Record, pgx, JDBC and the clients for Node.js take long, see make test-full', 1;
	}
}

$node->stop;
done_testing();
