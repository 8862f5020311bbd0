# UUIDs of version 1, against others who read them: Python's uuid module, and from PostgreSQL 17 on
# uuid_extract_timestamp. Both cut off what is below a microsecond, counted from 1582, as we do: so each
# value has to be the same, with no allowance for rounding and whatever the century.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use ShardidTest;

my $node = new_node('uuid_oracle', "timezone = 'UTC'");
create_recipe($node);
sub query { return $node->safe_psql('postgres', $_[0]) }

# New ones in each run; the seed makes them again.
my $seed = int rand 1 << 31;
note "seed $seed";

# Python, 100,000 UUIDs: nine of ten of version 1, the others whatever comes.
my $file = PostgreSQL::Test::Utils::tempdir() . '/uuids';
system("python3 t/uuid_oracle.py 100000 $seed >$file") == 0 or die 'python3 failed';
query('CREATE TABLE of_python (u uuid, ts timestamptz, hundred_ns int, clock_seq int, node macaddr)');
query("COPY of_python FROM '$file'");
is(query('SELECT count(*), count(ts) > 90000, count(ts) < 100000, min(ts) < \'1583-01-01\', max(ts) > \'5230-01-01\' FROM of_python'),
	'100000|t|t|t|t', 'Python read 100,000 UUIDs, of all centuries');
my %ours = (
	ts => 'uuid_v1_timestamp(u)',
	hundred_ns => 'uuid_v1_hundred_ns(u)',
	clock_seq => 'uuid_v1_clock_seq(u)',
	node => 'uuid_v1_node(u)');
for my $theirs (sort keys %ours)
{
	is(query("SELECT count(*) FROM of_python WHERE $ours{$theirs} IS DISTINCT FROM $theirs"),
		0, "$ours{$theirs} is Python's $theirs");
}
is( query('SELECT count(*) FROM of_python WHERE uuid_v1_from(ts, clock_seq, node, hundred_ns) <> u'),
	0,
	"and of Python's parts uuid_v1_from makes each again");

# That the comparison can see a microsecond: the recipe reads the time through a double.
cmp_ok(query('SELECT count(*) FROM of_python WHERE baseline.uuid_v1_timestamp(u) <> ts'),
	'>', 1000, 'the recipe is found wrong');

# The server's own function, a million of version 1 and 100,000 of any version and variant.
SKIP:
{
	skip 'no uuid_extract_timestamp before PostgreSQL 17', 4
	  if query('SHOW server_version_num') < 170000;
	query(<<SQL);
CREATE TABLE random_uuids AS
SELECT overlay(overlay(digits PLACING '1' FROM 13)
               PLACING translate(substr(digits, 17, 1), '0123456789abcdef', '89ab89ab89ab89ab') FROM 17)::uuid AS u
FROM (SELECT md5('$seed ' || n) AS digits FROM generate_series(1, 1000000) n) s
SQL
	is(query('SELECT count(DISTINCT u), min(uuid_extract_timestamp(u)) < \'1583-01-01\', max(uuid_extract_timestamp(u)) > \'5230-01-01\' FROM random_uuids'),
		'1000000|t|t', 'a million UUIDs, of all centuries');
	is(query('SELECT count(*) FROM random_uuids WHERE uuid_v1_timestamp(u) IS DISTINCT FROM uuid_extract_timestamp(u)'),
		0, 'uuid_v1_timestamp is uuid_extract_timestamp');
	cmp_ok(query('SELECT count(*) FROM random_uuids WHERE baseline.uuid_v1_timestamp(u) <> uuid_extract_timestamp(u)'),
		'>', 10000, 'the recipe is found wrong');
	# From 18 on it reads version 7 too.
	is( query(<<SQL),
SELECT count(*)
FROM (SELECT md5('any $seed ' || n)::uuid AS u FROM generate_series(1, 100000) n) s
WHERE uuid_v1_timestamp(u) IS DISTINCT FROM
      CASE uuid_extract_version(u) WHEN 1 THEN uuid_extract_timestamp(u) END
SQL
		0, 'and NULL for any other version or variant');
}

$node->stop;
done_testing();
