# If a generator's page cannot be read, each call fails with the error and nothing is drawn; other generators continue,
# and nothing leaks.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('damage', '', extra => ['--data-checksums']);
$node->safe_psql('postgres', 'CREATE SEQUENCE bad; CREATE SEQUENCE good; SELECT next_id(1, \'bad\')');
my $path = $node->data_dir . '/' . $node->safe_psql('postgres', q(SELECT pg_relation_filepath('bad')));
$node->stop;
open my $file, '+<:raw', $path or die;
seek $file, 5000, 0;
print $file 'x';
close $file;
$node->start;

my $try = <<'SQL';
DO $$ BEGIN PERFORM next_id(1, 'bad'); RAISE NOTICE 'drawn'; EXCEPTION WHEN data_corrupted THEN RAISE NOTICE 'caught'; END $$;
SQL
my ($code, $stdout, $stderr) =
  $node->psql('postgres', "BEGIN;\n$try$try" . "SELECT next_id(1, 'good') > 0;\n$try" . "COMMIT;");
is($stdout, 't', 'another generator goes on');
is(scalar(() = $stderr =~ /NOTICE:  caught/g), 3, 'each draw is refused');
unlike($stderr, qr/drawn|leak/, 'none is drawn and nothing leaks');
($code, $stdout, $stderr) = $node->psql('postgres', 'SELECT next_id(1, \'bad\')');
like($stderr, qr/ERROR:  invalid page in block 0/, 'in the next session too');

# A page that can be read but is no sequence's: its magic number, at the page header's pd_special, is overwritten.
$node->stop;
append_to_file($node->data_dir . '/postgresql.conf', "ignore_checksum_failure = on\n");
open $file, '+<:raw', $path or die;
seek $file, 16, 0;
read $file, my $pd_special, 2;
seek $file, unpack('S', $pd_special), 0;
print $file "\0\0\0\0";
close $file;
$node->start;
($code, $stdout, $stderr) = $node->psql('postgres', "\\set VERBOSITY verbose\nSELECT next_id(1, 'bad')");
like($stderr, qr/ERROR:  XX001: bad magic number in sequence page: 00000000/, 'a page without magic');

$node->stop;
done_testing();
