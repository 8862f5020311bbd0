# What needs a server of its own and fits nowhere else: storage that a rollback to a savepoint brings back,
# and a crash.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('smaller', "autovacuum = off\nmax_prepared_transactions = 2\nwal_level = replica");
sub query { return $node->safe_psql('postgres', $_[0]) }

# Storage that was made in the transaction comes back by a rollback to a savepoint, and is told at the end
# what was drawn. The generator is an hour ahead of the clock, so that only its memory keeps ids apart.
query('CREATE SEQUENCE g');
query("SELECT setval('g', id_lower_bound(clock_timestamp() + interval '1 hour') >> 23 << 10)");
my $brought_back = <<'SQL';
BEGIN;
ALTER SEQUENCE g CACHE 2;
SAVEPOINT a;
ALTER SEQUENCE g CACHE 3;
SELECT max(next_id(5, 'g')) FROM generate_series(1, 3000);
ROLLBACK TO a;
SQL
my %ends = (
	'COMMIT' => 'COMMIT',
	'PREPARE TRANSACTION' => "PREPARE TRANSACTION 'altered'; COMMIT PREPARED 'altered'",
	'ROLLBACK' => 'ROLLBACK');
for my $end (sort keys %ends)
{
	query('CHECKPOINT');
	my $last = query("$brought_back; $ends{$end}");
	kill_node($node);
	start_again($node);
	cmp_ok(query("SELECT next_id(5, 'g')"), '>', $last, "$end and a crash: it goes on above what was drawn");
}

$node->stop;
done_testing();
