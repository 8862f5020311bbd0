# What next_id() without a shard says to do, and what docs/operations.md says of who may set what, work: run as the owner
# of the database and as a superuser, before and after the library is loaded.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Test::More;
use Docs;
use ShardidTest;

my $node = new_node('settings');
sub query { return $node->safe_psql('postgres', $_[0]) }
sub shop { return $node->safe_psql('shop', $_[0]) }
query('CREATE ROLE shop_owner LOGIN; CREATE DATABASE shop OWNER shop_owner');
shop('CREATE EXTENSION shardid');
sub as_owner { return $node->psql('shop', $_[0], extra_params => [ '-U', 'shop_owner' ]) }

my $drawn = 'SELECT id_shard(next_id());';
my ($hint) = (as_owner($drawn))[2] =~ /HINT:  (.*)/;
my ($for_session, $for_database) = $hint =~ /\b(SET shardid\.shard_id = )\.\.\..*\b(ALTER DATABASE shop SET shardid\.shard_id = )\.\.\./;
is((as_owner("$for_session 7; $drawn"))[1], 7, "the hint's SET works: $hint");
my @answer = as_owner("\\set ON_ERROR_STOP 0\n$drawn\n$for_database 8; $for_session 7; $drawn");
is($answer[1], 7, 'and its ALTER DATABASE, beside it in a session that next_id() has refused');
is((as_owner($drawn))[1], 8, 'which shows in the next one');
query('ALTER DATABASE shop RESET ALL');

# In a session that has not used the extension.
my $shard_id = 'ALTER DATABASE shop SET shardid.shard_id = 5';
my $max_lead = "ALTER DATABASE shop SET shardid.max_lead = '40d'";
like((as_owner($shard_id))[2], qr/permission denied to set parameter/, 'the owner is refused');
my $system = 'ALTER SYSTEM SET shardid.shard_id = 5';
sub sqlstate_of { return $_[0] =~ /ERROR:\s+(\w+)/ ? $1 : 'works' }
my %before_loading = map { my ($as, $sql) = @$_; ("$as->[0]: $sql" => sqlstate_of(($as->[1]->("\\set VERBOSITY sqlstate\n$sql"))[2])) }
  map { my $as = $_; map { [ $as, $_ ] } $system, 'SHOW shardid.shard_id', $shard_id, 'ALTER ROLE shop_owner SET shardid.shard_id = 5' }
  [ owner => \&as_owner ], [ superuser => sub { $node->psql('shop', $_[0]) } ];
my $unknown = query('SHOW server_version_num') < 170000 ? '42704' : 'works';
is_deeply(
	\%before_loading,
	{
		"owner: $shard_id" => '42501', 'owner: ALTER ROLE shop_owner SET shardid.shard_id = 5' => '42501',
		"owner: $system" => '42501', 'owner: SHOW shardid.shard_id' => '42704',
		"superuser: $shard_id" => 'works', 'superuser: ALTER ROLE shop_owner SET shardid.shard_id = 5' => 'works',
		"superuser: $system" => $unknown, 'superuser: SHOW shardid.shard_id' => '42704' },
	'before the library is loaded, as the page says');
query('ALTER DATABASE shop RESET ALL; ALTER ROLE shop_owner RESET ALL');
query('ALTER SYSTEM RESET ALL');
is((as_owner(command_of('operations.md', 'SELECT id_shard(') . "; $shard_id"))[0], 0, 'unless the session has used the extension');
is((as_owner($drawn))[1], 5, 'which shows');
like((as_owner("SELECT id_shard(0); $max_lead"))[2], qr/permission denied to set parameter "shardid.max_lead"/, 'max_lead is the superuser\'s');
query(command_of('operations.md', 'GRANT SET ON PARAMETER shardid.shard_id'));
is((as_owner("$shard_id; $max_lead"))[0], 0, 'with GRANT SET the owner may set both in any session');
is((as_owner("$drawn SHOW shardid.max_lead"))[1], "5\n40d", 'which shows');
query('ALTER DATABASE shop RESET ALL');
is((as_owner($drawn))[0], 3, 'no shard is set again');
query(join ';', map { command_of('operations.md', $_) } q(LOAD 'shardid'), 'ALTER SYSTEM SET shardid.shard_id', 'SELECT pg_reload_conf()');
$node->poll_query_until('shop', 'SELECT id_shard(next_id())', '5');
is((as_owner($drawn))[1], 5, 'ALTER SYSTEM by a superuser, who loads the extension, holds for all');

$node->stop;
done_testing();
