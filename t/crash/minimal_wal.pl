# wal_level = minimal: storage made in a transaction has no WAL until the commit logs its pages, so no draw relies on the
# values that nextval marks there as logged ahead.
use ShardidTest;

my $node = new_node('minimal_wal', <<'CONF');
wal_level = minimal
max_wal_senders = 0
autovacuum = off
CONF
is($node->safe_psql('postgres', 'SHOW wal_level'), 'minimal', 'wal_level');

# For each way to draw, its result as an increasing number; and a position an hour ahead of the clock, so that the
# clock does not prevent duplicates.
my %ways = (
	next_id => {
		draw => "SELECT next_id(5, 'own_seq')",
		ahead => "(id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10"
	},
	next_ids => {
		draw => "SELECT max(id) FROM next_ids(5, 3, 'own_seq') id",
		ahead => "(id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10"
	},
	nextval_range => {
		draw => "SELECT first FROM nextval_range('own_seq', 3)",
		ahead => '1'
	});

# Ways in which a sequence gets new storage in a transaction.
my %makings = (
	'CREATE SEQUENCE' => 'DROP SEQUENCE IF EXISTS own_seq; BEGIN; CREATE SEQUENCE own_seq',
	'ALTER SEQUENCE' => 'BEGIN; ALTER SEQUENCE own_seq CACHE 2; ALTER SEQUENCE own_seq CACHE 1',
	'TRUNCATE' => 'BEGIN; CREATE TABLE IF NOT EXISTS owner (id int); ALTER SEQUENCE own_seq OWNED BY owner.id; '
	  . 'TRUNCATE owner RESTART IDENTITY; ALTER SEQUENCE own_seq OWNED BY NONE');

sub told { return map { split /\n/ } $node->safe_psql('postgres', join(";\n", @_)) }

my $rounds = 0;
my $ids = 0;
my $violations = 0;
for my $name (sort keys %ways)
{
	my $way = $ways{$name};
	for my $making (sort keys %makings)
	{
		$node->safe_psql('postgres', 'CREATE SEQUENCE IF NOT EXISTS own_seq');
		my @made = told(
			$makings{$making},
			"SELECT FROM setval('own_seq', $way->{ahead})",
			$way->{draw}, "SELECT FROM nextval('own_seq')",
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

# The layout of storage that the same transaction made is written at its commit, too.
$node->safe_psql('postgres', 'BEGIN; CREATE SEQUENCE g; SELECT next_id(1, $$g$$, shard_bits => 12); COMMIT');
kill_node($node);
start_again($node);
like(error_on($node, q(SELECT next_id(1, 'g', shard_bits => 13))), qr/^55000/, 'the layout survives a crash');
like(error_on($node, q(SELECT next_id(1, 'g', shard_bits => 12))), qr/^none: \d+$/, 'and is gone on with');

$node->stop;
done_testing();
