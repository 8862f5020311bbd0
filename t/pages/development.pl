# docs/development.md: the number in the server's command, or in its configuration, is that of all its databases.
use Docs;
use ShardidTest;

my $page = 'development.md';
my $node = new_node('development');
my $number = 'SELECT ids.id_shard(ids.next_id())';
my ($setting) = block_of($page, 'compose') =~ /^    command: postgres (-c \S+)$/m;

my ($image) = grep { $_->{language} eq 'dockerfile' } blocks_of("docs/$page");
is($image->{text} =~ s/^ADD .*/COPY . \/shardid/mr =~ s/^COPY init.*\n//mr, block_of('install.md', 'image') =~ s/postgres:18/postgres:17/gr,
	'the image is built as on the other page');

sub server { return PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-D', $node->data_dir, '-l', $node->logfile, '-w', @_) }

$node->stop;
server('-o', $setting, 'start');
for my $database (qw(shop test_shop))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, block_of($page, 'development'));
	is($node->safe_psql($database, $number), 7, "$database: the number of the command");
}
server('stop');

server('start');
my ($status, undef, $error) = $node->psql('shop', $number);
is($status, 3, 'without it no id');
like($error, qr/no shard is set/, 'and the error that the page names');
$node->safe_psql('postgres', block_of($page, 'development_server'));
$node->poll_query_until('shop', $number, 7) or die 'no reload';
is($node->safe_psql('test_shop', $number), 7, 'the number of the configuration');
server('stop');
done_testing();
