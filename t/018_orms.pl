# The applications in docs/migrating.md: an INSERT ... RETURNING through Django, SQLAlchemy and
# node-postgres, each with a default of next_id.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use Docs;
use File::Copy;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('orms', 'autovacuum = off');
local %ENV = (
	%ENV,
	PGHOST => $node->host,
	PGPORT => $node->port,
	PGDATABASE => 'postgres',
	PGUSER => scalar getpwuid($<),
	PYTHONDONTWRITEBYTECODE => 1);
sub on { return $node->safe_psql($ENV{PGDATABASE}, $_[0]) }

sub new_database
{
	my ($database) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$ENV{PGDATABASE} = $database;
	return on('CREATE EXTENSION shardid');
}

# What a program said: the lists after the names.
sub said_by
{
	my (@command) = @_;
	my ($out, $err) = ('', '');
	IPC::Run::run(\@command, '>', \$out, '2>', \$err) or die "@command: $err";
	return { map { my ($name, @values) = split /\t/; $name => \@values } split /\n/, $out };
}

# Ids that a program was told: of shard 5, increasing, above what was there, and the ones that are stored.
sub are_stored
{
	my ($name, $table, $above, @ids) = @_;
	my @all = ($above, @ids);
	is(scalar(grep { $all[$_] <= $all[ $_ - 1 ] } 1 .. $#all), 0, "$name: each id is above the one before");
	my $list = join ', ', @ids;
	is(on("SELECT count(*), min(id_shard(id)), max(id_shard(id)), bool_and(id_timestamp(id) BETWEEN now() - interval '1 hour' AND now() + interval '2 s') FROM $table WHERE id IN ($list)"),
		scalar(@ids) . '|5|5|t', "$name: " . @ids . ' ids that came back are those stored, of shard 5 and now');
	return;
}

# That the page shows what is run here.
sub stands_in
{
	my ($block, $file) = @_;
	ok(index(slurp_file($file), block_of('migrating.md', $block)) >= 0, "$block stands in $file");
	return;
}

# --- Django

new_database('django');
stands_in('django-migration', 't/orms/django/shop/migrations/0002_next_id.py');
my $django = said_by('python3', 't/orms/django/insert.py', PostgreSQL::Test::Utils::tempdir());
note "Django $django->{version}[0]";
is($django->{old}[0], 1, 'Django: a row of its own sequence');
like($django->{sql}[0], qr/^INSERT INTO "shop_photo" \("name"\) VALUES \('lighthouse'\) RETURNING "shop_photo"."id"$/,
	'Django: the id is left out and read back');
are_stored('Django', 'shop_photo', 1, $django->{created}[0], @{ $django->{bulk} }, $django->{after_loaddata}[0]);
is(scalar @{ $django->{bulk} }, 100, 'Django: bulk_create reads all back');
is($django->{found}[0], 'lighthouse', 'Django: found by its id');
is($django->{referenced}[0], $django->{created}[0], 'Django: and referenced');
is($django->{owned}[0], '55000', 'Django: a generator that belongs to the column is spoilt by loaddata');

# --- SQLAlchemy

new_database('sqlalchemy');
stands_in('sqlalchemy-model', 't/orms/sqlalchemy_insert.py');
my $sqlalchemy = said_by('python3', 't/orms/sqlalchemy_insert.py');
note "SQLAlchemy $sqlalchemy->{version}[0]";
like($sqlalchemy->{ddl}[0], qr/id BIGINT DEFAULT next_id\(5\) NOT NULL/, 'SQLAlchemy: the column is BIGINT with the default');
like($sqlalchemy->{sql}[0], qr/^INSERT INTO photos \(name\) VALUES \(%\(name\)s\) RETURNING photos.id$/,
	'SQLAlchemy: the id is left out and read back');
are_stored('SQLAlchemy', 'photos', 0, $sqlalchemy->{created}[0], @{ $sqlalchemy->{several} }, $sqlalchemy->{core}[0]);
is(scalar @{ $sqlalchemy->{several} }, 100, 'SQLAlchemy: add_all reads all back');
is($sqlalchemy->{found}[0], 'lighthouse', 'SQLAlchemy: found by its id');

# --- node-postgres, fetched into the sandbox by npm ci: what package-lock.json says, by its checksums.

# The folder with it; or nothing, and why. npm is started there, since --prefix would also put another
# file in the place of the machine's npm settings.
sub fetched_node_postgres
{
	my $folder = "$ENV{SANDBOX}/node_postgres";
	return (undef, 'npm is not installed; make test-full installs it')
	  if grep { system("command -v $_ >/dev/null 2>&1") != 0 } qw(node npm);
	mkdir $folder or die "$folder: $!";
	copy("t/orms/node_postgres/$_", $folder) or die "$_: $!" for qw(package.json package-lock.json insert.js);
	my ($out, $err) = ('', '');
	return $folder
	  if IPC::Run::run(
		[ qw(npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --fetch-retries=1 --fetch-timeout=30000) ],
		init => sub { chdir $folder or die }, '>', \$out, '2>', \$err);
	die "npm ci: $err" if $err =~ /EINTEGRITY|EUSAGE/;
	my ($code) = $err =~ /(?:error|ERR!) code (\w+)/;
	return (undef, 'the npm registry does not give node-postgres: ' . ($code // 'npm ci failed'));
}

SKIP:
{
	my ($folder, $why) = fetched_node_postgres();
	skip "node-postgres: $why", 10 unless $folder;
	new_database('node_postgres');
	on(<<'SQL');
CREATE TABLE photos (id bigint PRIMARY KEY DEFAULT next_id(5), name text);
CREATE SEQUENCE small_ids;
CREATE TABLE small (
    id bigint PRIMARY KEY DEFAULT next_id(5, 'small_ids', shard_bits => 5, sequence_bits => 7),
    name text);
-- The first id has sequence 0, and zeros are what a JavaScript number keeps.
SELECT next_id(5) FROM generate_series(1, 3);
SQL
	my $js = said_by('node', "$folder/insert.js");
	note "node-postgres $js->{version}[0]";
	my $id = $js->{id}[0];
	is($js->{type}[0], 'string', 'node-postgres: an id comes back as a string');
	are_stored('node-postgres', 'photos', 0, $id, $js->{parsed}[1]);
	is("$js->{bigint}[0] $js->{json_text}[0]", "$id $id", 'node-postgres: BigInt has all its digits, and text in JSON');
	isnt($js->{number}[0], $id, "node-postgres: Number makes $js->{number}[0] of $id");
	is($js->{json_number}[0], $js->{number}[0], 'node-postgres: and so does a number in JSON');
	is("$js->{found}[0] $js->{found_by_number}[0]", 'lighthouse 0', 'node-postgres: the row is found by the string and not by the number');
	is("$js->{parsed}[0] $js->{stringify}[0]", 'bigint TypeError', 'node-postgres: with the type parser a bigint, which JSON refuses');
	is("@{ $js->{small_number} }", "$js->{small}[0] true", 'node-postgres: an id of 53 bits is a safe integer');
	is(on('SELECT count(*) FROM small WHERE id = ' . $js->{small_number}[0]), 1, 'node-postgres: the one that is stored');
}

$node->stop;
done_testing();
