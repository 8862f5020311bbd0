# shard_fingerprint() on every kind of servers and databases that can share a shard number: from two rows one can tell
# whether they are one place, copies, or different databases; the script of examples/monitoring finds those that
# repeat ids. An ordinary role can call it, and sees no place.
use ShardidTest;

$ShardidTest::has_own_identifier = 1;

$ENV{PGOPTIONS} = '-c client_min_messages=warning';
my $conf = "search_path = 'public, ids'\n";
my $node = new_node('original', $conf, allows_streaming => 1);
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE watcher LOGIN PASSWORD 'secret';
CREATE DATABASE shop;
ALTER DATABASE shop SET shardid.shard_id = 5;
SQL
my $install = 'CREATE SCHEMA ids; CREATE EXTENSION shardid SCHEMA ids; GRANT USAGE ON SCHEMA ids TO watcher';
$node->safe_psql('shop', $install);

# --- The databases that are compared.

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
$restored->append_conf('postgresql.conf', $conf);
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

# A database of the same server that was created separately; and one restored from a dump on the original's server.
for my $name ('beside', 'restored_beside')
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql('postgres', "ALTER DATABASE $name SET shardid.shard_id = 5");
}
$node->safe_psql('beside', $install);
$others{beside} = [ $node, 'beside' ];
system_or_bail('sh', '-c', "pg_dump -d '" . $node->connstr('shop') . "' | psql -Xq -v ON_ERROR_STOP=1 -d '" .
	$node->connstr('restored_beside') . "' >/dev/null");
$others{restored_beside} = [ $node, 'restored_beside' ];

# --- Two fingerprints, as any role sees them.

my @columns = qw(system_identifier database extension place started data_directory machine);

sub row_of
{
	my ($name) = @_;
	my ($server, $dbname) = @{ $others{$name} };
	my %row;
	@row{@columns} = split /\|/, $server->safe_psql($dbname, 'SELECT ' . join(', ', @columns) . ' FROM shard_fingerprint()',
		extra_params => [ '-U', 'watcher' ]), -1;
	return \%row;
}
my %row = map { $_ => row_of($_) } keys %others;

sub verdict
{
	my ($one, $other) = @row{@_};
	my %equal = map { $_ => $one->{$_} eq $other->{$_} } @columns;
	return 'different' unless $equal{system_identifier} && ($equal{database} || $equal{extension});
	return $equal{database} && $equal{place} && $equal{started} ? 'same place' : 'copy';
}

my @wanted = (
	'beside: different', 'copy: copy', 'itself: same place', 'promoted: copy', 'restored: different',
	'restored_beside: different', 'standby: copy', 'template_file_copy: copy', 'template_wal_log: copy');
is(join("\n", map { "$_: " . verdict('itself', $_) } sort keys %others), join("\n", @wanted), 'each is what it is');
is(join('', map { $_->{data_directory} . $_->{machine} } values %row), '', 'watcher does not see where they are');
$node->safe_psql('postgres', 'GRANT pg_monitor TO watcher');
is(row_of('itself')->{data_directory}, $node->data_dir, 'but in pg_monitor');

# --- The script, on this database and another one.

sub same_number
{
	my @databases = map { my ($server, $dbname) = @{ $others{$_} }; $server->connstr($dbname) } @_;
	my ($out, $err) = run_command([ 'examples/monitoring/same_number.sh', @databases ]);
	return $err || $out;
}
sub found { return join ' ', grep { same_number('itself', $_) eq '5' } sort keys %others }

is(found(), 'beside copy promoted restored restored_beside template_file_copy template_wal_log',
	'finds those that repeat ids: all but itself and the standby that follows');
is(same_number(keys %others), 5, 'also among more than two');
$copy->safe_psql('postgres', 'ALTER DATABASE shop SET shardid.shard_id = 6');
$node->safe_psql('postgres', "ALTER DATABASE $_ RESET shardid.shard_id") for 'by_wal_log', 'by_file_copy';
is(found(), 'beside promoted restored restored_beside', 'not one with another number, nor two without a number');
is(same_number('template_wal_log', 'template_file_copy', 'copy'), '', 'also between these');

command_fails_like([ 'examples/monitoring/same_number.sh', $node->connstr('shop'), $node->connstr($_) ], qr/does not exist/,
	"fails if it cannot ask one: $_") for 'none', 'template1';

# --- The fields of each row.

sub told { return $_[0]->safe_psql($_[2] // 'shop', "SELECT $_[1] FROM shard_fingerprint()") }

is(told($promoted, 'timeline'), 2, 'a promoted standby is on another timeline');
$_->stop for $standby, $promoted, $restored, $copy, $node;
done_testing();
