# WAL is written for a second of ids ahead: many ids need little of it, and after a crash a generator is where its
# status said, at most that second ahead of the clock.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use Test::More;
use ShardidTest;

my $node = new_node('logged_ahead', 'autovacuum = off');
sub query { return $node->safe_psql('postgres', $_[0]) }

my $bytes = (split /\n/, query(<<'SQL'))[-1];
SELECT next_id(5);
SELECT pg_current_wal_insert_lsn() AS start \gset
SELECT count(next_id(5)) FROM generate_series(1, 50000);
SELECT pg_current_wal_insert_lsn() - :'start';
SQL
cmp_ok($bytes, '<', 4096, "WAL of 50,000 ids: $bytes bytes");

query('SELECT next_id(5)');
my $logged_to = query('SELECT logged_to FROM id_generator_status()');
kill_node($node);
start_again($node);
is(query('SELECT last_ts FROM id_generator_status()'), $logged_to, 'a crash takes a generator to where its status said');
my $clients = start_clients($node, 2, 'SELECT next_id(5)', rounds => 100);
finish_clients($clients);
my $lead = judge_clients([$clients], lead_ms => 1000);
is($lead->{violations}, 0, "after a crash ids are at most a second ahead ($lead->{max_lead_ms} ms)");

$node->stop;
done_testing();
