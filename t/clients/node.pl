# docs/clients.md in Node.js: node-postgres, postgres.js, Knex, TypeORM, Prisma and Drizzle, which npm fetches, give a
# program the stored id, in the type that the page names, exact or not as the page says, and the tools that compare a model
# with the database find no difference.
use Clients;
use ShardidTest;

plan skip_all => 'the clients for Node.js take long, see make test-full' unless $ENV{FULL};
my ($folder, $why) = fetched_by_npm('node');
plan skip_all => "the clients for Node.js: $why" unless $folder;
my $node = clients_node('node_clients');

# Runs a program in a database of its own.
sub for_node
{
	my ($client, $program, $table, @files) = @_;
	new_database($program, @files) if @files;
	return client($client, $table, [ 'node', "$folder/$program.js" ]);
}

my @tables = ('ids.sql', 'tables.sql');

# The function around next_id with a layout, as docs/layouts.md has it; the tools' first migrations create it.
my ($wrapper) = slurp_file('docs/layouts.md') =~ /^(CREATE SEQUENCE ids\.orders_id_seq;\n.*?\n)CREATE FUNCTION order_time/ms;
append_to_file("$folder/first_migration.sql", slurp_file('t/clients/create_shardid.sql') . $wrapper);

my $pg = for_node('node-postgres', 'node_postgres', 'orders', @tables);
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

my $postgres = for_node('postgres.js', 'postgres_js', 'orders', @tables);
gets_as_page_says('postgres.js, types: { bigint: postgres.BigInt }', $postgres->{parsed}[0], $postgres->{parsed}[1]);

my $knex = for_node('Knex', 'knex_client', 'shop_orders', 'ids.sql');
are_stored('Knex, batchInsert', 'shop_orders', $knex->{several}[-1], @{ $knex->{batches} });

new_database('typeorm_client', 'ids.sql');
on($wrapper);
my $typeorm = for_node('TypeORM', 'typeorm_client', 'shop_orders');
is("$typeorm->{generated}[0], $typeorm->{migrated}[0], $typeorm->{again}[0]",
	'generated successfully, executed successfully, No changes in database schema were found', 'TypeORM: migration:generate, twice');
is("@{ $typeorm->{of_layout} }", join(' ', ('generated successfully', 'executed successfully') x 2),
	'TypeORM: but a default with a layout in each migration again');

new_database('prisma_client');
on('ALTER DATABASE prisma_client SET shardid.shard_id = 5');
my $prisma = for_node('Prisma', 'prisma_client', 'orders');
is("$prisma->{deployed}[0], $prisma->{migrated}[0], $prisma->{again}[0]", 'successfully applied, now in sync, Already in sync', 'Prisma: migrate dev, twice');
is("$prisma->{first}[0], $prisma->{second}[0]", 'now in sync, now in sync', 'Prisma: but a default with a layout in each migration again');
is($prisma->{migration}[0], '"id" BIGINT NOT NULL DEFAULT ids.next_id(),', 'Prisma: with the default');
is($prisma->{pulled}[0], 'id BigInt @id @default(dbgenerated("ids.next_id()"))', 'Prisma: which db pull reads');
are_in_shards('Prisma', 'photos', $prisma);
is($prisma->{stringify}[0], 'TypeError', 'Prisma: JSON.stringify refuses a row');
is($prisma->{json}[0], qq({"id":"$exact","customer":"exact"}), 'Prisma: but not one with the id as a string');
is("@{ $prisma->{raw} }", "bigint $exact", 'Prisma: $queryRaw gives the same');

new_database('shard_number', 'ids.sql');
on('ALTER DATABASE shard_number RESET shardid.shard_id');
my $shard = said_by('node', "$folder/shard_number.js");
is("$_: @{ $shard->{$_} }", "$_: 5 5 no shard is set " . (/postgresJs/i ? 'no shard is set' : '5'),
	"$_: the shard number by URL and in the program, none, and by PGOPTIONS")
  for qw(nodePostgres postgresJs knex typeorm drizzle drizzleOnPostgresJs prisma);

new_database('drizzle_client');
on('ALTER DATABASE drizzle_client SET shardid.shard_id = 5');
my $drizzle = for_node('Drizzle, customType', 'drizzle_client', 'orders');
gets_as_page_says(q(Drizzle, mode: 'bigint'), @{ $drizzle->{bigint} });
gets_as_page_says(q(Drizzle, mode: 'number'), 'number', $drizzle->{number}[0]);
is($drizzle->{json}[0], qq({"id":"$exact","customer":"exact"}), 'Drizzle: customType is a string in JSON');
my @page = ($drizzle->{several}[0], $drizzle->{created}[0]);
is("@{ $drizzle->{of_hour} }, @{ $drizzle->{page} }", "@page, @page $exact", 'Drizzle: pages of orders since a time');
is("@{ $drizzle->{generated} }, $drizzle->{migrated}[0]",
	'Your SQL migration file Your SQL migration file No schema changes, migrations applied successfully',
	'Drizzle: generate --custom, then twice, and migrate');
is("$drizzle->{push}[0], $drizzle->{again}[0]", 'Changes applied, No changes detected', 'Drizzle: push, twice');
is("@{ $drizzle->{of_layout} }", 'Changes applied Changes applied', 'Drizzle: but a default with a layout again each time');
is("@{ $drizzle->{sequences} }", '__drizzle_migrations_id_seq orders_id_seq shardid_objectid_seq shardid_seq shardid_uuid_seq',
	'Drizzle: push drops a sequence in public that the schema has not, and leaves the schema ids alone');
is("@{ $drizzle->{identity} }, $drizzle->{reordered}[0]", 'migrations applied successfully, migrations applied successfully',
	'Drizzle: an identity becomes next_id in the order of the page only');
is($drizzle->{pulled}[0], 'number', 'Drizzle: pull writes mode number');

$node->stop;
done_testing();
