# If a generator's page cannot be read, each call fails, nothing is drawn, and nothing leaks. amcheck, which reads all
# generators before a server is stopped (ShardidTest.pm), sees a damaged one.
use ShardidTest;

my $node = new_node('amcheck', "autovacuum = off\n", extra => ['--data-checksums']);
sub query { return $node->safe_psql('postgres', $_[0]) }
query("CREATE SEQUENCE $_; SELECT next_id(5, '$_')") for 'damaged', 'other';

# Overwrites bytes of a generator's file while the server is stopped.
sub damage
{
	my ($offset_of, $bytes) = @_;
	my $path = $node->data_dir . '/' . query("SELECT pg_relation_filepath('damaged')");
	$node->stop('immediate');
	open my $file, '+<:raw', $path or die;
	my $offset = $offset_of->($file);
	seek $file, $offset, 0;
	print $file $bytes;
	close $file;
	$node->start;
	return;
}

# Two bytes of the page.
sub number_at
{
	my ($file, $offset) = @_;
	seek $file, $offset, 0;
	read $file, my $bytes, 2;
	return unpack 'S', $bytes;
}

query('CHECKPOINT');
damage(sub { 5000 }, 'x');
my $try = <<'SQL';
DO $$
BEGIN
    PERFORM next_id(1, 'damaged');
    RAISE NOTICE 'drawn';
EXCEPTION WHEN data_corrupted THEN
    RAISE NOTICE 'caught';
END
$$;
SQL
my (undef, $stdout, $stderr) = $node->psql('postgres', "BEGIN;\n$try$try SELECT next_id(1, 'other') > 0;\n$try COMMIT;");
is($stdout, 't', 'another generator goes on');
is(scalar(() = $stderr =~ /NOTICE:  caught/g), 3, 'each draw is refused');
unlike($stderr, qr/drawn|leak/, 'none is drawn and nothing leaks');

# A page that can be read, with a tuple whose data begin in its header: its t_hoff, at 22, is overwritten.
$node->append_conf('postgresql.conf', 'ignore_checksum_failure = on');
damage(sub { (number_at($_[0], 24) & 0x7fff) + 22 }, chr 16);
ok(!eval { $node->stop }, 'amcheck complains of the tuple');
like($@, qr/^amcheck: damaged\|0\|1\|/, 'which it names');
# And one that is no sequence's: its magic number, at the page header's pd_special, is overwritten.
damage(sub { number_at($_[0], 16) }, "\0\0\0\0");
like(error_on($node, q(SELECT next_id(1, 'damaged'))), qr/^XX001: bad magic number in sequence page: 0/, 'no magic');

$node->stop('immediate');
done_testing();
