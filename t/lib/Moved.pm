# Sessions draw from a generator while another session moves it.
package Moved;

use ShardidTest;
use Exporter 'import';

our @EXPORT = qw(draw_beside);

# Three sessions draw in bulk from the generator g. A fourth repeats $moves, PL/pgSQL statements in which "before" is
# the generator's last_value of a moment ago. %params: dbname, seconds; all others are allowances for the judge.
sub draw_beside
{
	my ($node, $name, $moves, %params) = @_;
	my $dbname = delete $params{dbname} // 'postgres';
	my $seconds = delete $params{seconds};
	$node->safe_psql($dbname, 'CREATE SEQUENCE g');
	my $clients = start_clients($node, 3,
		q{SELECT next_id(1, 'g') FROM (SELECT generate_series(1, 300)) s},
		dbname => $dbname);
	$node->poll_query_until($dbname, q(SELECT pg_sequence_last_value('g') IS NOT NULL)) or die 'nobody draws';
	my $moved = $node->safe_psql($dbname, <<SQL);
CREATE TEMPORARY TABLE moved (count int);
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
    INSERT INTO moved VALUES (n);
END
\$\$;
SELECT count FROM moved;
SQL
	finish_clients($clients, 1);
	my $verdict = judge_clients([$clients], %params);
	cmp_ok($moved, '>', 10, "$name: moved $moved times");
	cmp_ok($verdict->{ids}, '>', 100, "$name: $verdict->{ids} ids drawn beside");
	is_innocent($verdict, $name, $moved);
	$node->safe_psql($dbname, 'DROP SEQUENCE g');
	return;
}

1;
