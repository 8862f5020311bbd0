# Others move the generator of portable/shardid.sql, as in t/024_moved.pl: while the clock is right, none of it repeats an id.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Utils;
use Test::More;
use Moved;
use Portable;
use ShardidTest;

plan skip_all => 'takes long, see make test-full' unless $ENV{FULL} || $ENV{ROUNDS};

my $node = new_portable_node('portable');
my @portable = (dbname => 'portable');
sub query { return $node->safe_psql('portable', $_[0]) }

sub moved_by
{
	my ($name, $moves) = @_;
	draw_beside($node, "portable: $name", $moves, dbname => 'portable', seconds => rounds(2, 20));
	return;
}

moved_by('setval to the value of 50 ms ago', q{PERFORM pg_sleep(0.05); PERFORM setval('g', before);});
moved_by('setval to the value read before, at once', q{PERFORM setval('g', before);});
moved_by('setval to 1', q{PERFORM setval('g', 1);});
moved_by('setval and raise_generator',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);});

# Two generators with one mark, of which one is moved: they wait for each other, no more.
query(<<'SQL');
DO $$
BEGIN
    FOR n IN 1 .. 70 LOOP EXECUTE format('CREATE SEQUENCE twin_%s', n); END LOOP;
END
$$
SQL
my ($one, $other) = split /\|/, query(<<'SQL');
SELECT a.relname, b.relname FROM pg_class a, pg_class b
WHERE a.relkind = 'S' AND b.relkind = 'S' AND a.relname LIKE 'twin%' AND b.relname LIKE 'twin%' AND a.oid < b.oid
  AND shardid_mark_of(a.oid) = shardid_mark_of(b.oid) LIMIT 1
SQL
if ($other)
{
	my @twins = map { start_clients($node, 2, "SELECT next_id(1, '$_')", @portable, seconds => 1) } $one, $other;
	finish_clients($_) for @twins;
	my @found = map { judge_clients([$_]) } @twins;
	cmp_ok($found[$_]{ids}, '>', 20, "a generator whose mark is another's, too: $found[$_]{ids} ids") for 0, 1;
	is_innocent($found[$_], 'portable: a shared mark', 1) for 0, 1;
}
else
{
	fail('there are two generators with one mark');
}

$node->stop;
done_testing();
