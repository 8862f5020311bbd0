# wal_level = minimal: storage made in a transaction has no WAL until the commit logs its pages, so no draw relies on the
# values that nextval marks there as logged ahead.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('minimal_wal', <<'CONF');
wal_level = minimal
max_wal_senders = 0
autovacuum = off
CONF
is($node->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'wal_level');

# For each way to draw, its result as an increasing number; and a position an hour ahead of the clock, so that the
# clock does not prevent duplicates.
my $hundred_ns = '(extract(epoch FROM uuid_v1_timestamp(u)) * 1000000)::bigint * 10 + uuid_v1_hundred_ns(u)';
my %ways = (
	next_id => {
		sequence => 'own_seq',
		draw => "SELECT next_id(5, 'own_seq')",
		ahead => "(id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10"
	},
	next_ids => {
		sequence => 'own_seq',
		draw => "SELECT max(id) FROM next_ids(5, 3, 'own_seq') id",
		ahead => "(id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10"
	},
	nextval_range => {
		sequence => 'own_seq',
		draw => "SELECT first FROM nextval_range('own_seq', 3)",
		ahead => '1'
	},
	uuid_v1 => {
		sequence => 'shardid_uuid_seq',
		draw => "SELECT $hundred_ns FROM (SELECT uuid_v1() AS u OFFSET 0) s",
		ahead => '(extract(epoch FROM clock_timestamp()) + 3600)::bigint * 10000000 + 122192928000000000'
	},
	objectid => {
		sequence => 'shardid_objectid_seq',
		draw => q(SELECT ('x' || encode(substr(id, 1, 4) || substr(id, 10), 'hex'))::bit(56)::bigint FROM objectid() id),
		ahead => '(extract(epoch FROM clock_timestamp()) + 3600)::bigint * 16777000'
	});

# Ways in which a sequence gets new storage in a transaction.
my %makings = (
	'CREATE SEQUENCE' => 'DROP SEQUENCE IF EXISTS own_seq; BEGIN; CREATE SEQUENCE own_seq',
	'bigserial' => 'DROP SEQUENCE IF EXISTS own_seq; BEGIN; CREATE TABLE t (id bigserial); '
	  . 'ALTER SEQUENCE t_id_seq OWNED BY NONE; DROP TABLE t; ALTER SEQUENCE t_id_seq RENAME TO own_seq',
	'ALTER SEQUENCE' => 'BEGIN; ALTER SEQUENCE %1$s CACHE 2; ALTER SEQUENCE %1$s CACHE 1',
	'TRUNCATE' => 'BEGIN; CREATE TABLE IF NOT EXISTS owner (id int); ALTER SEQUENCE %1$s OWNED BY owner.id; '
	  . 'TRUNCATE owner RESTART IDENTITY; ALTER SEQUENCE %1$s OWNED BY NONE');

sub told { return map { split /\n/ } $node->safe_psql('postgres', join(";\n", @_)) }

my $rounds = 0;
my $ids = 0;
my $violations = 0;
for my $name (sort keys %ways)
{
	my $way = $ways{$name};
	for my $making (sort keys %makings)
	{
		my $is_own = $way->{sequence} eq 'own_seq';
		next unless $is_own || $making eq 'ALTER SEQUENCE';
		$node->safe_psql('postgres', 'CREATE SEQUENCE IF NOT EXISTS own_seq') if $is_own;
		my @made = told(
			sprintf($makings{$making}, $way->{sequence}),
			"SELECT FROM setval('$way->{sequence}', $way->{ahead})",
			$way->{draw}, "SELECT FROM nextval('$way->{sequence}')",
			'COMMIT', $way->{draw}, $way->{draw});
		@made = grep { $_ ne '' } @made;
		kill_node($node);
		start_again($node);
		my @after = told($way->{draw});
		my $is_above = @made == 3 && $after[0] > $made[0] && $after[0] > $made[1] && $after[0] > $made[2];
		ok($is_above, "$name, $making: $after[0] after @made");
		$rounds += 1;
		$ids += @made + @after;
		$violations += $is_above ? 0 : 1;
	}
}
note_fault('kill -9 under wal_level = minimal', $rounds, $ids, $violations);

$node->stop;
done_testing();
