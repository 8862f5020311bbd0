# setval under load: with a clock that is right and a generator that is not ahead of it, no value that
# setval moves a generator to, at any moment, repeats an id. (SELECT last_value FROM g takes no lock on
# the page: beside a draw it may see the bound that is being logged, a second ahead.)
use strict;
use warnings;
use lib 't/lib';
use PostgreSQL::Test::Utils;
use ShardidTest;
use Test::More;

my $node = new_node('moved');

# Three sessions in bulk, and beside them one that moves their generator, for some seconds.
sub draw_beside
{
	my ($name, $moves, %allowed) = @_;
	$node->safe_psql('postgres', 'CREATE SEQUENCE g');
	my $seconds = rounds(3, 30);
	my $clients = start_clients($node, 3,
		q{SELECT next_id(1, 'g') FROM (SELECT generate_series(1, 300)) s},
		seconds => $seconds);
	my $moved = $node->safe_psql('postgres', <<SQL);
CREATE TEMPORARY TABLE moved (count int);
DO \$\$
DECLARE
    n int := 0;
    before bigint;
    till timestamptz := clock_timestamp() + interval '$seconds s';
BEGIN
    WHILE clock_timestamp() < till LOOP
        before := pg_sequence_last_value('g');
        $moves
        n := n + 1;
    END LOOP;
    INSERT INTO moved VALUES (n);
END
\$\$;
SELECT count FROM moved;
SQL
	finish_clients($clients);
	my $verdict = judge_clients([$clients], %allowed);
	cmp_ok($moved, '>', 10, "$name: moved $moved times");
	cmp_ok($verdict->{ids}, '>', 100, "$name: $verdict->{ids} ids drawn beside");
	is_innocent($verdict, $name, $moved);
	$node->safe_psql('postgres', 'DROP SEQUENCE g');
	return;
}

draw_beside('setval to the value of 50 ms ago',
	q{PERFORM pg_sleep(0.05); PERFORM setval('g', before);});
draw_beside('setval to the value read before, at once',
	q{PERFORM setval('g', before);});
# nextval waits for no millisecond: from the last value of this one it carries the generator into the next.
draw_beside('setval to the value of some ids ago, and nextval',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before); PERFORM nextval('g');}, lead_ms => 1000);
# Moves alone keep nobody waiting, however fast they follow each other.
draw_beside('nextval in a loop', q{PERFORM nextval('g');}, lead_ms => 1000, clock_percent => 10000);
draw_beside('setval to 1', q{PERFORM setval('g', 1);});
draw_beside('setval and raise_generator',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);});

done_testing();
