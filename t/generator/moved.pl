# setval under load: with a clock that is right and a generator that is not ahead of it, no value that
# setval moves a generator to, at any moment, repeats an id. (SELECT last_value FROM g takes no lock on
# the page: beside a draw it may see the bound that is being logged, a second ahead.)
use strict;
use warnings;
use lib 't/lib';
use PostgreSQL::Test::Utils;
use Moved;
use ShardidTest;
use Test::More;

my $node = new_node('moved');

sub moved_by
{
	my ($name, $moves, %allowed) = @_;
	draw_beside($node, $name, $moves, seconds => rounds(0.5, 30), %allowed);
	return;
}

moved_by('setval to the value of 50 ms ago',
	q{PERFORM pg_sleep(0.05); PERFORM setval('g', before);});
moved_by('setval to the value read before, at once',
	q{PERFORM setval('g', before);});
# nextval waits for no millisecond: from the last value of this one it carries the generator into the next.
moved_by('setval to the value of some ids ago, and nextval',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before); PERFORM nextval('g');}, lead_ms => 1000);
# Moves alone keep nobody waiting, however fast they follow each other.
moved_by('nextval in a loop', q{PERFORM nextval('g');}, lead_ms => 1000, clock_percent => 10000);
moved_by('setval to 1', q{PERFORM setval('g', 1);});
moved_by('setval and raise_generator',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);});

done_testing();
