# wal_level = minimal: storage made in a transaction has no WAL until the commit logs its pages, so no draw relies on the
# values that nextval marks there as logged ahead.
use ShardidTest;

my $node = new_node('minimal_wal', "wal_level = minimal\nmax_wal_senders = 0\nautovacuum = off\n");
sub told { return grep { $_ ne '' } split /\n/, $node->safe_psql('postgres', $_[0]) }

# Ways to draw, each with its result as an increasing number, and a position an hour ahead of the clock, so that the clock
# does not prevent duplicates; and ways in which a sequence gets new storage in a transaction.
my $ahead = q((id_lower_bound(clock_timestamp() + interval '1 hour') >> 23) << 10);
my %ways = (
	next_id => [ "SELECT next_id(5, 'GEN')", $ahead ],
	next_ids => [ "SELECT max(id) FROM next_ids(5, 3, 'GEN') id", $ahead ],
	nextval_range => [ "SELECT first FROM nextval_range('GEN', 3)", 1 ]);
my %makings = (
	create => 'BEGIN; CREATE SEQUENCE GEN',
	alter => 'CREATE SEQUENCE GEN; BEGIN; ALTER SEQUENCE GEN CACHE 2; ALTER SEQUENCE GEN CACHE 1',
	truncate => 'CREATE TABLE of_GEN (id int); CREATE SEQUENCE GEN OWNED BY of_GEN.id; BEGIN; TRUNCATE of_GEN RESTART IDENTITY');
my %made;
for my $way (keys %ways)
{
	my ($draw, $position) = @{ $ways{$way} };
	for my $making (keys %makings)
	{
		my $name = "${way}_$making";
		my $sql = "$makings{$making}; SELECT FROM setval('GEN', $position); $draw; SELECT FROM nextval('GEN'); COMMIT; $draw; $draw";
		$made{$name} = [ $draw =~ s/GEN/$name/r, told($sql =~ s/GEN/$name/gr) ];
	}
}
# The layout of such storage is written at the commit, too.
told('BEGIN; CREATE SEQUENCE g; SELECT next_id(1, $$g$$, shard_bits => 12); COMMIT');
kill_node($node);
start_again($node);
my ($ids, $violations) = (0, 0);
for my $name (sort keys %made)
{
	my ($draw, @told) = @{ $made{$name} };
	my ($after) = told($draw);
	my $is_above = @told == 3 && !grep { $_ >= $after } @told;
	ok($is_above, "$name: $after after @told");
	$ids += 1 + @told;
	$violations += !$is_above;
}
note_fault('kill -9 under wal_level = minimal', 1, $ids, $violations);
like(error_on($node, q(SELECT next_id(1, 'g', shard_bits => 13))), qr/^55000/, 'the layout survives a crash');
like($node->safe_psql('postgres', q(SELECT next_id(1, 'g', shard_bits => 12))), qr/^\d+$/, 'and is gone on with');

$node->stop;
done_testing();
