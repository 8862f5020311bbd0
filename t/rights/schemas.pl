# The extension in schemas of any name, and moved from one to another: the default of next_id is the extension's sequence,
# while search_path finds another schema's sequence of the same name first. A dump restores it there.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('schemas');
my $administrator = $node->safe_psql('postgres', 'SELECT current_user');
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE DATABASE original OWNER mallory; CREATE DATABASE copy TEMPLATE template0 OWNER mallory');
sub psql_as
{
	my ($user, $sql) = @_;
	my ($status, $output, $error) = $node->psql('original', $sql, extra_params => [ '-U', $user ], on_error_stop => 0);
	return ($output, $error);
}

psql_as('mallory', 'CREATE SCHEMA evil; CREATE SCHEMA moved; CREATE SEQUENCE public.shardid_seq; CREATE SEQUENCE evil.shardid_seq');
my @schemas = ('My Schema', q(it's), 'a "quoted" one', '$1$$', 'back\\slash', 'evil, pg_temp', 'select', '@extschema@');
my $identifier = sub { '"' . $_[0] =~ s/"/""/gr . '"' };
for my $schema (@schemas)
{
	my $name = $identifier->($schema);
	my ($output, $error) = psql_as($administrator, <<"SQL");
SET search_path = evil, public;
SET ROLE mallory;
CREATE SCHEMA $name;
CREATE EXTENSION shardid SCHEMA $name;
RESET ROLE;
CREATE TABLE public.photos (id bigint DEFAULT $name.next_id(5));
INSERT INTO public.photos DEFAULT VALUES;
ALTER EXTENSION shardid SET SCHEMA moved;
INSERT INTO public.photos DEFAULT VALUES;
SELECT count(*), min(moved.id_shard(id)), bool_or(evil.is_called OR public.is_called), max(own.last_value) = max((id >> 23 << 10) | (id & 1023))
FROM public.photos, evil.shardid_seq evil, public.shardid_seq public, moved.shardid_seq own;
ALTER EXTENSION shardid SET SCHEMA $name;
SELECT $name.next_id(5) > max(id) FROM public.photos;
DROP TABLE public.photos;
DROP EXTENSION shardid;
SQL
	is($error, '', "in schema $schema and back: no error");
	is($output, "2|5|f|t\nt", "in schema $schema and back: the default is the extension's sequence");
}

# A dump restores it there.
psql_as('mallory', 'CREATE EXTENSION shardid SCHEMA "My Schema"; CREATE TABLE photos (id bigint DEFAULT "My Schema".next_id(5)); INSERT INTO photos DEFAULT VALUES');
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('original') ], 'dumped');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('copy'), $dump ], 'restored');
is( $node->safe_psql('copy', <<'SQL'), '2|t|f', "restored: the default is the extension's sequence");
INSERT INTO photos DEFAULT VALUES;
SELECT count(DISTINCT id), max((id >> 23 << 10) | (id & 1023)) = max(own.last_value), bool_or(public.is_called)
FROM photos, "My Schema".shardid_seq own, public.shardid_seq public;
SQL

$node->stop;
done_testing();
