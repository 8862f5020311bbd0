# What other sessions do to a generator under load. setval: if the clock is right and the generator not ahead of it, no id
# is repeated, whatever the value and the moment of setval. (SELECT last_value FROM g does not lock the page: during a draw
# it may see the value that is being logged, a second ahead.) And first ids in two layouts.
use ShardidTest;

my $node = new_node('moved');

# Three sessions draw in bulk from the generator g. A fourth repeats $moves, PL/pgSQL statements in which "before" is
# the generator's last_value of a moment ago. %allowed are allowances for the judge.
sub moved_by
{
	my ($name, $moves, %allowed) = @_;
	my $seconds = rounds(0.5, 30);
	$node->safe_psql('postgres', 'CREATE SEQUENCE g');
	my $clients = start_clients($node, 3, q{SELECT next_id(1, 'g') FROM (SELECT generate_series(1, 300)) s});
	$node->poll_query_until('postgres', q(SELECT pg_sequence_last_value('g') IS NOT NULL)) or die 'nobody draws';
	my $moved = $node->safe_psql('postgres', <<SQL);
DO \$\$
DECLARE
    n int := 0;
    before bigint;
    till timestamptz := clock_timestamp() + interval '$seconds s';
BEGIN
    WHILE clock_timestamp() < till OR n <= 10 LOOP
        before := pg_sequence_last_value('g');
        $moves
        n := n + 1;
    END LOOP;
    PERFORM set_config('moved.times', n::text, false);
END
\$\$;
SHOW moved.times;
SQL
	finish_clients($clients, 1);
	my $verdict = judge_clients([$clients], %allowed);
	cmp_ok($verdict->{ids}, '>', 100, "$name: $verdict->{ids} ids drawn beside");
	is_innocent($verdict, $name, $moved);
	$node->safe_psql('postgres', 'DROP SEQUENCE g');
	return;
}

moved_by('setval to a value of some ms ago, or to 1, and raise_generator', <<'SQL');
PERFORM pg_sleep(0.03 * random() * random());
CASE floor(random() * 3)
    WHEN 0 THEN PERFORM setval('g', before);
    WHEN 1 THEN PERFORM setval('g', 1);
    ELSE PERFORM setval('g', before, false); PERFORM raise_generator('g', 5);
END CASE;
SQL
moved_by('setval to the value read before, at once',
	q{PERFORM setval('g', before);});
# nextval does not wait: from the last value of this millisecond it moves the generator into the next one.
moved_by('setval to the value of some ids ago, and nextval',
	q{PERFORM pg_sleep(0.0005); PERFORM setval('g', before); PERFORM nextval('g');}, lead_ms => 1000);
# Moves alone make no session wait, however fast they follow each other.
moved_by('nextval in a loop', q{PERFORM nextval('g');}, lead_ms => 1000, clock_percent => 10000);

# Two sessions at once, each with a layout of its own: each generator is bound to one of the two.
$node->safe_psql('postgres', <<'SQL');
SELECT format('CREATE SEQUENCE both_%s', n) FROM generate_series(1, 300) n \gexec
CREATE TABLE won (generator int, bits int);
CREATE FUNCTION draw_from_all(bits int) RETURNS SETOF bigint LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1 .. 300 LOOP
        BEGIN
            PERFORM next_id(1, ('both_' || n)::regclass, shard_bits => bits);
            INSERT INTO won VALUES (n, bits);
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
        END;
    END LOOP;
END
$$;
SQL
finish_clients($_) for map { start_clients($node, 1, "SELECT draw_from_all($_)", rounds => 1) } 12, 13;
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT generator) FROM won'), '300|300', 'of two layouts one wins each time');

$node->stop;
done_testing();
