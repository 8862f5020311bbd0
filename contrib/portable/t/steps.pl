# contrib/portable/shardid.sql step by step: no id is repeated, ahead of the clock or below an earlier one if another session
# generates ids, or moves the generator, between any two steps of a call. contrib/portable/t/lib/Steps.pm has the steps.
use ShardidTest;
use Steps;

start_steps('steps');

# Generates ids in a new millisecond, then follows the schedule. Returns whether a session was held, and how many ids
# are wrong: duplicates, ids below one that was returned before their call began, and ids ahead of the clock.
sub follow
{
	my ($schedule) = @_;
	return query(<<"SQL");
SET lock_timeout = '100ms';
SET statement_timeout = '10min';
DROP SEQUENCE IF EXISTS g;
CREATE SEQUENCE g;
TRUNCATE steps.ids;
SELECT steps.dblink_connect('held', \$connection\$$connection\$connection\$) \\g /dev/null
DO \$\$
DECLARE
    mark regclass := shardid_mark_of('g');
    first bigint;
    marked bigint;
    last bigint;
BEGIN
    CALL steps.pass(1000);
    PERFORM steps.draw(), steps.draw();
    $schedule
END
\$\$;
SELECT CASE COALESCE(current_setting('steps.was_held', true), '') WHEN '' THEN '' WHEN 'true' THEN 'held: ' ELSE 'not held: ' END
       || count(*) FILTER (WHERE id <= above) + count(*) - count(DISTINCT id) + count(*) FILTER (WHERE (id >> 23) > ms) || ' wrong'
FROM steps.ids;
SQL
}
sub is_right { my ($name, $schedule) = @_; is(follow($schedule), '0 wrong', $name); return; }
sub is_right_held { my ($name, $schedule) = @_; is(follow($schedule), 'held: 0 wrong', $name); return; }

# A millisecond whose first number the schedule determines: after 200 comes 201.
is_right_held('held before nextval while others generate ids and move the generator back', <<'SQL');
first := steps.draw();
CALL steps.hold('nextval generator', 1, 'SELECT next_id(5, ''g'')');
PERFORM steps.draw();
CALL steps.pass(5);
PERFORM steps.draw();
PERFORM setval('g', ((first >> 23) << 10) | (first & 1023));
CALL steps.resume();
SQL
is_right_held('held before the mark, in a millisecond to which others have moved the generator', <<'SQL');
CALL steps.pass(1);
CALL steps.move(0, 200);
CALL steps.hold('last mark', 1, 'SELECT next_id(5, ''g'')');
CALL steps.move(-1, 200);
PERFORM steps.draw();
CALL steps.resume();
SQL
is_right('moved into a millisecond that is not open, and back', <<'SQL');
CALL steps.pass(1);
CALL steps.move(0, 200);
PERFORM steps.draw();
CALL steps.move(-1, 200);
PERFORM steps.draw();
SQL
is_right('moved to the next millisecond', <<'SQL');
first := steps.draw();
PERFORM steps.draw();
CALL steps.move(1, (first & 1023)::int);
PERFORM steps.draw();
SQL
is_right_held('held before it sets the generator, while others move that forward', <<'SQL');
CALL steps.move(0, 200);
CALL steps.pass(1);
CALL steps.hold('setval generator', 1, 'SELECT next_id(5, ''g'')');
CALL steps.move(0, 200);
PERFORM steps.draw();
CALL steps.resume();
SQL
is_right('raised within the millisecond that is to be opened', <<'SQL');
CALL steps.pass(1);
PERFORM raise_generator('g', steps.ms(0) << 23);
CALL steps.others_have(0, 1023);
PERFORM steps.draw();
SQL
is_right_held('held before the lock, while others open the millisecond and move the generator back', <<'SQL');
CALL steps.pass(1);
CALL steps.hold('lock', 1, 'SELECT next_id(5, ''g'')');
PERFORM steps.draw(), steps.draw();
CALL steps.move(-1, 200);
CALL steps.resume();
SQL
is_right_held('held before the lock, while others open the millisecond and restore an old generator and its mark', <<'SQL');
marked := pg_sequence_last_value(mark);
last := pg_sequence_last_value('g');
CALL steps.pass(1);
CALL steps.hold('lock', 1, 'SELECT next_id(5, ''g'')');
PERFORM steps.draw(), steps.draw();
CALL steps.pass(200);
PERFORM steps.draw(), setval('g', last), setval(mark, marked);
CALL steps.resume();
SQL
is_right_held('held before the lock with an old mark, while others generate ids and restore generator and mark', <<'SQL');
marked := pg_sequence_last_value(mark);
last := pg_sequence_last_value('g');
CALL steps.pass(200);
CALL steps.hold('lock', 1, 'SELECT next_id(5, ''g'')');
PERFORM steps.draw(), steps.draw();
PERFORM setval('g', last), setval(mark, marked);
CALL steps.resume();
SQL
is_right('moved back to the end of the millisecond before', <<'SQL');
CALL steps.move(0, 1022);
PERFORM steps.draw();
CALL steps.move(-1, 1023);
PERFORM steps.draw();
SQL
is_right_held('held in a wait, while others open the next millisecond', <<'SQL');
CALL steps.move(1, 5);
CALL steps.hold('sleep', 1, 'SELECT next_ids(5, 40, ''g'')');
CALL steps.pass(1);
PERFORM steps.draw();
CALL steps.resume();
SQL
is_right_held('next_ids is held before it looks at the clock, while others move the generator forward', <<'SQL');
CALL steps.pass(1);
CALL steps.hold('clock', 1, 'SELECT next_ids(5, 40, ''g'')');
CALL steps.move(0, 900);
CALL steps.others_have(0, 900);
CALL steps.resume();
PERFORM steps.draw();
SQL
# Whether or not the call comes to that step.
like(follow(<<'SQL'), qr/held: 0 wrong/, 'raise_generator finds the generator as high, while others generate ids');
first := steps.draw();
CALL steps.hold('setval generator', 1, format('SELECT NULL::bigint FROM raise_generator(''g'', %s - (1 << 23))', first));
PERFORM steps.draw();
CALL steps.resume();
PERFORM steps.draw();
SQL

# Many ids at once in an open millisecond, while other sessions take numbers of it; also where the call does not set the
# generator.
like(follow(<<'SQL'), qr/held: 0 wrong/, 'next_ids in an open millisecond, while others generate ids');
CALL steps.hold('setval generator', 1, 'SELECT next_ids(5, 40, ''g'')');
PERFORM steps.draw();
CALL steps.resume();
SQL
is_right_held('next_ids is held between two numbers', <<'SQL');
CALL steps.hold('nextval generator', 10, 'SELECT next_ids(5, 40, ''g'')');
PERFORM steps.draw(), steps.draw(), steps.draw();
CALL steps.resume();
SQL
is_right_held('next_ids is held before its first number, while others move the generator back', <<'SQL');
first := steps.draw();
PERFORM steps.draw();
CALL steps.pass(2);
PERFORM steps.draw();
CALL steps.hold('nextval generator', 1, 'SELECT next_ids(5, 40, ''g'')');
PERFORM setval('g', ((first >> 23) << 10) | (first & 1023));
CALL steps.resume();
SQL

# With few sequence bits each id is generated under the lock, and a move within the millisecond is noticed.
is_right('8 sequence bits, moved back within the millisecond', <<'SQL');
DELETE FROM steps.ids;
CREATE SEQUENCE few;
FOR i IN 1 .. 8 LOOP
    INSERT INTO steps.ids (above, id, ms) SELECT COALESCE(steps.highest(), 0), next_id(5, 'few', sequence_bits => 8), steps.ms(0);
    IF i % 4 = 0 THEN
        PERFORM setval('few', pg_sequence_last_value('few') - 2);
    END IF;
END LOOP;
SQL
stop_steps();
done_testing();
