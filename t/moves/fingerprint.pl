# docs/several-databases.md, "Two databases with one number": its views over servers and databases of every kind that can have one
# number say same place, copy or different; a role without further rights can look, and sees no place.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Docs;
use ShardidTest;

$ShardidTest::has_own_identifier = 1;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';
my $node = new_node('original', undef, allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE watcher LOGIN PASSWORD 'secret';
CREATE DATABASE shop;
ALTER DATABASE shop SET shardid.shard_id = 5;
SQL
$node->safe_psql('shop', 'CREATE EXTENSION shardid');
$node->safe_psql('shop', block_of('several-databases.md', 'fingerprint_each'));

# --- What there is to compare with.

my %others;

$others{itself} = [ $node, 'shop' ];

$node->backup('base');
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($node, 'base');
$copy->start;
$others{copy} = [ $copy, 'shop' ];

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
$others{standby} = [ $standby, 'shop' ];

my $promoted = PostgreSQL::Test::Cluster->new('promoted');
$promoted->init_from_backup($node, 'base', has_streaming => 1);
$promoted->start;
$promoted->promote;
$others{promoted} = [ $promoted, 'shop' ];

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init;
$restored->start;
$restored->safe_psql('postgres', 'CREATE ROLE watcher LOGIN');
system_or_bail('sh', '-c', "pg_dump -C -d '" . $node->connstr('shop') . "' | psql -Xq -v ON_ERROR_STOP=1 -d '" .
	$restored->connstr('postgres') . "' >/dev/null");
$others{restored} = [ $restored, 'shop' ];

for my $strategy ('wal_log', 'file_copy')
{
	$node->safe_psql('postgres', "CREATE DATABASE by_$strategy TEMPLATE shop STRATEGY $strategy");
	$node->safe_psql('postgres', "ALTER DATABASE by_$strategy SET shardid.shard_id = 5");
	$others{"template_$strategy"} = [ $node, "by_$strategy" ];
}

# Another database of the server, made by itself; and one restored from a dump beside its original.
for my $name ('beside', 'restored_beside')
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql('postgres', "ALTER DATABASE $name SET shardid.shard_id = 5");
}
$node->safe_psql('beside', 'CREATE EXTENSION shardid');
$node->safe_psql('beside', block_of('several-databases.md', 'fingerprint_each'));
$others{beside} = [ $node, 'beside' ];
system_or_bail('sh', '-c', "pg_dump -d '" . $node->connstr('shop') . "' | psql -Xq -v ON_ERROR_STOP=1 -d '" .
	$node->connstr('restored_beside') . "' >/dev/null");
$others{restored_beside} = [ $node, 'restored_beside' ];

# --- The page's views, over each of them. Its block is run for one name; the others stand in its place.

my $block = block_of('several-databases.md', 'fingerprint_others');
my ($create_extension, $server, $views) = $block =~ /\A(CREATE EXTENSION postgres_fdw;\n)(.*?)\n(CREATE VIEW .*)\z/s
  or die 'the block has other parts';
$node->safe_psql('shop', $create_extension);
for my $name (sort keys %others)
{
	my ($other, $dbname) = @{ $others{$name} };
	my $address = sprintf "host '%s', port '%s'", $other->host, $other->port;
	$node->safe_psql('shop',
		$server =~ s/host 'oslo\.example'/$address/r =~ s/dbname 'shop'/dbname '$dbname'/r =~ s/\boslo\b/$name/gr);
}
$node->safe_psql('shop', $views =~ s/^( *UNION ALL .*);$/join("\n", map { $1 =~ s{oslo}{$_}gr } sort keys %others) . ';'/mer);

my $verdicts = q(SELECT CASE one WHEN 'here' THEN other ELSE one END || ': ' || verdict FROM shard_verdicts
	WHERE 'here' IN (one, other));
my @wanted = (
	'beside: different', 'copy: copy', 'itself: same place', 'promoted: copy', 'restored: different',
	'restored_beside: different', 'standby: copy', 'template_file_copy: copy', 'template_wal_log: copy');
is(join("\n", sort split /\n/, $node->safe_psql('shop', $verdicts)), join("\n", @wanted), 'each is what it is');

# Others, with each other.
sub verdict
{
	return $node->safe_psql('shop', "SELECT verdict FROM shard_verdicts WHERE one IN ('$_[0]', '$_[1]') AND other IN ('$_[0]', '$_[1]')");
}
is(verdict('copy', 'promoted'), 'copy', 'two copies of one server');
is(verdict('template_wal_log', 'template_file_copy'), 'copy', 'two databases of one template');
is(verdict('copy', 'beside'), 'different', 'a database in a copy, and another one in the original');
is(verdict('copy', 'template_wal_log'), 'copy', 'a database in a copy, and a copy of it in the original');
is(verdict('restored', 'promoted'), 'different', 'a restored dump and a copy');

# What draws beside this database with its number: all but itself and the standby that follows.
my $watch = block_of('several-databases.md', 'fingerprint_watch');
sub watched
{
	my @rows = split /\n/, $node->safe_psql('shop', $watch);
	return join ' ', sort map { my ($one, $other) = split /\|/; $one eq 'here' ? $other : $other eq 'here' ? $one : () } @rows;
}
is(watched(), 'beside copy promoted restored restored_beside template_file_copy template_wal_log', 'those that repeat ids are found');
$copy->safe_psql('postgres', 'ALTER DATABASE shop SET shardid.shard_id = 6');
is(watched(), 'beside promoted restored restored_beside template_file_copy template_wal_log', 'but for one with another number');
$node->safe_psql('postgres', "ALTER DATABASE $_ RESET shardid.shard_id") for 'by_wal_log', 'by_file_copy';
is(watched(), 'beside promoted restored restored_beside', 'and for two without a number');
is($node->safe_psql('shop', "SELECT count(*) FROM shard_verdicts WHERE one_number AND one ~ 'template' AND other ~ 'template'"),
	0, 'also between these');

# --- What the row says of each.

sub told { return $_[0]->safe_psql($_[2] // 'shop', "SELECT $_[1] FROM shard_fingerprint()") }

is(told($promoted, 'timeline'), 2, 'a promoted standby is on another timeline');
is(told($_, 'timeline'), 1, 'as its original is not, nor ' . $_->name) for $node, $standby;
is(told($_, 'system_identifier'), told($node, 'system_identifier'), 'the system identifier goes along: ' . $_->name)
  for $copy, $standby, $promoted;
isnt(told($restored, 'system_identifier'), told($node, 'system_identifier'), 'but not with a dump');
is(told($_, 'data_directory'), $_->data_dir, 'a superuser sees where it is: ' . $_->name) for $node, $copy, $standby;
isnt(told($_, 'place'), told($node, 'place'), 'a server of its own is in a place of its own: ' . $_->name)
  for $copy, $standby, $promoted, $restored;
is(told($node, 'place', $_), told($node, 'place'), "a database of the server is in its place: $_")
  for 'beside', 'by_wal_log', 'by_file_copy';
is($node->safe_psql('shop', 'SELECT count(*) FROM shard_places WHERE data_directory IS NULL AND machine IS NULL'), 9,
	'watcher, as whom the others are asked, does not');
$node->safe_psql('postgres', 'GRANT pg_monitor TO watcher');
is($node->safe_psql('shop', 'SELECT data_directory FROM itself.shard_place'), $node->data_dir, 'but in pg_monitor');

# A standby that follows and is then promoted: its place stays, its timeline is the next one.
my $place = told($standby, 'place');
$standby->promote;
is(told($standby, 'timeline || place'), "2$place", 'a promotion changes the timeline, not the place');
is(verdict('standby', 'promoted'), 'copy', 'two that were promoted are copies');

# A restart: the same place, another start.
$place = told($copy, 'place');
my $started = told($copy, 'started');
$copy->restart;
is(told($copy, 'place'), $place, 'a restart keeps the place');
isnt(told($copy, 'started'), $started, 'and not the start');

$_->stop for $standby, $promoted, $restored, $copy, $node;
done_testing();
