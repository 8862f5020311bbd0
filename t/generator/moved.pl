# setval under load: if the clock is right and the generator not ahead of it, no id is repeated, whatever the value
# and the moment of setval. (SELECT last_value FROM g does not lock the page: during a draw it may see the value that
# is being logged, a second ahead.)
use Moved;
use ShardidTest;

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
# nextval does not wait: from the last value of this millisecond it moves the generator into the next one.
moved_by('setval to the value of some ids ago, and nextval',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before); PERFORM nextval('g');}, lead_ms => 1000);
# Moves alone make no session wait, however fast they follow each other.
moved_by('nextval in a loop', q{PERFORM nextval('g');}, lead_ms => 1000, clock_percent => 10000);
moved_by('setval to 1', q{PERFORM setval('g', 1);});
moved_by('setval and raise_generator',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);});

done_testing();
