# docs/migrating.md, for its tests: a server whose clock can be set, on which each case is a database with the extension, the
# page's blocks, its query whether ids continue above, and a server an hour behind on which a dump is restored.
package Migrating;

use strict;
use warnings;
use Exporter 'import';
use Docs;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

our @EXPORT = qw(start_original stop_servers clock new_database on fails block answer next_is_above goes_on_restored
  create_recipe_of recipe_switch $original $restored $database $dir $insert_photo);
our ($original, $restored, $database, $dir);
our $insert_photo = q(INSERT INTO insta5.photos (name) VALUES ('x') RETURNING id);

# The blocks name the schema of the functions themselves; what this test adds finds it in search_path.
sub block { return "SET search_path = public;\n" . block_of($_[0] =~ /^uuid/ ? 'uuid.md' : 'migrating.md', $_[0]) }

sub start_node
{
	my ($name, $offset) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	set_fake_clock("$dir/$name.clock", $offset);
	$node->init;
	$node->append_conf('postgresql.conf', "autovacuum = off\nmax_connections = 40");
	with_fake_clock("$dir/$name.clock", sub { $node->start });
	$node->safe_psql('postgres', 'CREATE ROLE app; CREATE ROLE batch; CREATE ROLE caller');
	return $node;
}

sub start_original
{
	$dir = PostgreSQL::Test::Utils::tempdir();
	$original = start_node('original', '+0');
	return;
}

sub stop_servers
{
	$_->stop for grep { defined } $original, $restored;
	return;
}

sub clock { return set_fake_clock("$dir/original.clock", $_[0]) }

# A database of the original with the extension, and what runs in it.
sub new_database
{
	($database) = @_;
	clock('+0');
	$original->safe_psql('postgres', "CREATE DATABASE $database; ALTER DATABASE $database SET search_path = public, ids");
	return on(block('extension') =~ s/ALTER DATABASE \Kshop/$database/r =~ s/^GRANT.*\n//mgr);
}

# As the page says, a switch that has not got its locks in time runs again.
sub on
{
	my ($code, $stdout, $stderr);
	for (1 .. 100)
	{
		($code, $stdout, $stderr) = $original->psql($database, $_[0]);
		last if $stderr !~ /canceling statement due to lock timeout/;
	}
	die "$database: $stderr\n$_[0]" if $code;
	return $stdout;
}

sub fails
{
	my ($sql) = @_;
	my ($code, $stdout, $stderr) = $original->psql($database, $sql);
	isnt($code, 0, 'it fails');
	return $stderr =~ s/^psql:<stdin>:\d+: //mgr;
}

# Whether all ids that the generator will make are above those of the table.
my %default_layout = (epoch => '2011-08-24 21:07:01.721+00', shard_bits => 13, sequence_bits => 10);

sub answer
{
	my ($table, $generator, %layout) = @_;
	my %variable = (%default_layout, column => 'id', shard => 5, table => $table, generator => $generator, %layout);
	my $sets = join '', map { "\\set $_ '$variable{$_}'\n" } sort keys %variable;
	return (split /\|/, on($sets . <<'SQL'))[1];
WITH highest AS (
    SELECT max(:column) AS id, pg_typeof(max(:column)) AS type FROM :table),
generator AS (
    SELECT last_value + is_called::int AS next_tick FROM :generator),
clock AS (
    SELECT ids.id_lower_bound(date_trunc('milliseconds', clock_timestamp()),
                              :'epoch', :shard_bits, :sequence_bits) AS id),
future AS (
    SELECT next_tick >> :sequence_bits AS ms,
           ((next_tick >> :sequence_bits) << (:shard_bits + :sequence_bits))
           | (:shard::bigint << :sequence_bits)
           | (next_tick & ((1::bigint << :sequence_bits) - 1)) AS first_by_generator,
           clock.id | (:shard::bigint << :sequence_bits) AS first_by_clock,
           clock.id >> (:shard_bits + :sequence_bits) AS now_ms
    FROM generator, clock)
SELECT id AS highest,
       CASE WHEN type <> 'bigint'::regtype THEN 'no: the column is ' || type
            WHEN ms - now_ms > 86400000 THEN 'no: the generator is more than a day ahead of the clock'
            WHEN id IS NULL THEN 'yes: there is none'
            WHEN first_by_generator > id THEN 'yes'
            WHEN first_by_clock > id THEN 'yes, if the clock is right'
            ELSE 'no' END AS every_future_id_is_above
FROM highest, future;
SQL
}

# Whether the highest id that the table has is below a new row's; the row is not kept.
sub next_is_above
{
	my ($table, $default) = @_;
	return on("BEGIN; SELECT $default > max(id) FROM $table; ROLLBACK");
}

# The dump of the database, restored where it is an hour ago: new rows are above all that there are.
sub goes_on_restored
{
	my ($table, $insert, $shard, %layout) = @_;
	my $highest = on("SELECT max(id) FROM $table");
	my $rows = on("SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM $table t");
	$restored //= start_node('restored', '-1h');
	$restored->safe_psql('postgres', "CREATE DATABASE $database; ALTER DATABASE $database SET search_path = public, ids");
	$original->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/$database", $original->connstr($database) ], "$database: dump");
	$restored->command_ok([ 'pg_restore', '--exit-on-error', '--no-owner', '-d', $database, "$dir/$database" ], "$database: restore");
	is($restored->safe_psql($database, "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM $table t"),
		$rows, "$database: the same rows, " . $rows =~ s/\|.*//r);
	my (undef, undef, $stderr) = $restored->psql($database, "\\set VERBOSITY sqlstate\n$insert");
	is($stderr =~ /ERROR:  (\w+)/ ? $1 : 'none', $database =~ /recipe/ ? 'none' : '55000', "$database: the setting is not in the dump");
	$restored->safe_psql($database, "SELECT id_shard(0); ALTER DATABASE $database SET shardid.shard_id = $shard");
	my $bits = ($layout{shard_bits} // 13) . ', ' . ($layout{sequence_bits} // 10);
	my @ids = split /\n/, $restored->safe_psql($database, "$insert;\n" x 20);
	my @all = ($highest, @ids);
	my $not_above = grep { $all[$_] <= $all[ $_ - 1 ] } 1 .. $#all;
	is($not_above, 0, "$database: restored an hour behind, ids go on increasing");
	is($restored->safe_psql($database, "SELECT id_shard($ids[0], $bits)"), $shard, "$database: of shard $shard");
	note_fault("switch in $database, clock set back, dump restored an hour behind", 1, scalar @ids, $not_above);
	return;
}

# The PL/pgSQL recipe, and what the page's loop runs for the schema insta5, in a transaction.
sub create_recipe_of
{
	my ($epoch_ms, $shard) = @_;
	return on(<<"SQL" =~ s/insta5/'insta' . ($shard \/\/ 5)/egr =~ s/shard_id int := \K5/$shard \/\/ 5/er);
CREATE SCHEMA insta5;
CREATE SEQUENCE insta5.photos_id_seq;
CREATE FUNCTION insta5.next_id(OUT result bigint) LANGUAGE plpgsql AS \$\$
DECLARE
    our_epoch bigint := $epoch_ms;
    seq_id bigint;
    now_millis bigint;
    shard_id int := 5;
BEGIN
    SELECT nextval('insta5.photos_id_seq') % 1024 INTO seq_id;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_millis;
    result := (now_millis - our_epoch) << 23 | (shard_id << 10) | seq_id;
END
\$\$;
CREATE TABLE insta5.photos (id bigint PRIMARY KEY DEFAULT insta5.next_id(), name text);
CREATE TABLE insta5.likes (id bigint PRIMARY KEY DEFAULT insta5.next_id(), photo bigint REFERENCES insta5.photos);
SQL
}

sub recipe_switch
{
	my ($epoch) = @_;
	my ($statements) = block_of('migrating.md', 'recipe-switch') =~ /\$switch\$\n(.*)\$switch\$/s or die;
	$statements =~ s/%1\$I/insta5/g;
	$statements =~ s/%1\$L/'insta5'/g;
	$statements =~ s/%2\$s/5/g;
	$statements =~ s{%3\$L}{"'" . ($epoch // $default_layout{epoch}) . "'"}ge;
	return "SET search_path = public;\nBEGIN;\n$statements;\nCOMMIT;\n";
}

1;
