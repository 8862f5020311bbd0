# contrib/portable/shardid.sql step by step: no id is repeated, ahead of the clock or below an earlier one if another session
# generates ids, or moves the generator, between any two steps of a call; and a commit flushes the WAL that covers its ids. A
# step is a read of a sequence or of the clock, a setval, nextval or sleep. The functions that generate ids are loaded once
# more, with each step replaced by a function of schema "steps". Their clock stands still unless a schedule, or a sleep,
# advances it. A session can be held before one of the steps, while the schedule continues.
use Portable;
use ShardidTest;

# The WAL writer must not help.
my $node = new_portable_node('steps', 'wal_writer_delay = 10s');
my $connection = $node->connstr('portable') . q( options='-c statement_timeout=10min');
sub query { return $node->safe_psql('portable', $_[0]) }
query(<<'SQL');
CREATE SCHEMA steps;
CREATE EXTENSION dblink SCHEMA steps;
GRANT USAGE ON SCHEMA steps TO PUBLIC;
CREATE SEQUENCE g;
CREATE SEQUENCE steps.now;              -- milliseconds since 1970
SELECT setval('steps.now', 1800000000000);
CREATE SEQUENCE steps.passed;           -- how often the held session came to the step before which it must stop
CREATE TABLE steps.ids (n serial, above bigint, id bigint NOT NULL, ms bigint);

CREATE FUNCTION steps.at(step text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('steps.stop', true) IS NOT DISTINCT FROM step AND nextval('steps.passed') = current_setting('steps.time')::int THEN
        PERFORM pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1);
    END IF;
END
$$;
CREATE FUNCTION steps.kind(regclass) RETURNS text LANGUAGE sql RETURN CASE WHEN $1::text LIKE '%mark%' THEN ' mark' ELSE ' generator' END;
CREATE FUNCTION steps.nextval(regclass) RETURNS bigint LANGUAGE plpgsql STRICT AS
$$BEGIN PERFORM steps.at('nextval' || steps.kind($1)); RETURN nextval($1); END$$;
CREATE FUNCTION steps.setval(regclass, bigint) RETURNS bigint LANGUAGE plpgsql STRICT AS
$$BEGIN PERFORM steps.at('setval' || steps.kind($1)); RETURN setval($1, $2); END$$;
CREATE FUNCTION steps.pg_sequence_last_value(regclass) RETURNS bigint LANGUAGE plpgsql STRICT AS
$$BEGIN PERFORM steps.at('last' || steps.kind($1)); RETURN pg_sequence_last_value($1); END$$;
CREATE FUNCTION steps.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE plpgsql STRICT AS
$$BEGIN PERFORM steps.at('lock'); RETURN pg_try_advisory_xact_lock($1); END$$;
CREATE FUNCTION steps.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS
$$BEGIN PERFORM steps.at('clock'); RETURN to_timestamp(pg_sequence_last_value('steps.now') / 1000.0 + 0.0005); END$$;
-- Sleeps to the end of the millisecond, unless the schedule has advanced the clock.
CREATE FUNCTION steps.pg_sleep(double precision) RETURNS void LANGUAGE plpgsql STRICT AS $$
DECLARE
    began bigint := pg_sequence_last_value('steps.now');
BEGIN
    PERFORM steps.at('sleep');
    IF pg_sequence_last_value('steps.now') = began THEN
        PERFORM nextval('steps.now');
    END IF;
END
$$;

-- The parts of schedules. Milliseconds are relative to the clock.
CREATE FUNCTION steps.ms(later int) RETURNS bigint LANGUAGE sql RETURN pg_sequence_last_value('steps.now') - 1314220021721 + later;
CREATE PROCEDURE steps.pass(ms int) LANGUAGE sql AS $$SELECT setval('steps.now', pg_sequence_last_value('steps.now') + ms)$$;
CREATE PROCEDURE steps.move(later int, number int) LANGUAGE sql AS $$SELECT setval('g', (steps.ms(later) << 10) | number)$$;
CREATE FUNCTION steps.highest() RETURNS bigint LANGUAGE sql AS $$SELECT max(id) FROM steps.ids$$;
-- An id, or nothing if another session holds the lock.
CREATE FUNCTION steps.draw() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    above bigint := steps.highest();
    drawn bigint;
BEGIN
    drawn := next_id(5, 'g');
    INSERT INTO steps.ids (above, id, ms) VALUES (above, drawn, steps.ms(0));
    RETURN drawn;
EXCEPTION WHEN lock_not_available THEN
    RETURN NULL;
END
$$;
-- An id of another session, or a value to which it has raised the generator: it must not be generated.
CREATE PROCEDURE steps.others_have(later int, number int) LANGUAGE sql AS
$$INSERT INTO steps.ids (above, id, ms) VALUES (steps.highest(), (steps.ms(later) << 23) | (5 << 10) | number, steps.ms(later))$$;
CREATE PROCEDURE steps.raise(later int) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM raise_generator('g', steps.ms(later) << 23);
    CALL steps.others_have(later - 1, 1023);
EXCEPTION WHEN lock_not_available THEN
END
$$;
-- Another session makes the call, and stops before this step when it comes there for the given time.
CREATE PROCEDURE steps.hold(step text, times int, call text) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_lock(1), setval('steps.passed', 1, false);
    PERFORM set_config('steps.above', steps.highest()::text, false);
    PERFORM steps.dblink_exec('held', format('SET steps.stop = %L; SET steps.time = %L', step, times));
    PERFORM steps.dblink_send_query('held', call);
    WHILE steps.dblink_is_busy('held') = 1
          AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND mode = 'ShareLock' AND NOT granted) LOOP
        PERFORM pg_sleep(0.001);
    END LOOP;
    PERFORM set_config('steps.was_held', (steps.dblink_is_busy('held') = 1)::text, false);
END
$$;
CREATE PROCEDURE steps.resume() LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_unlock(1);
    INSERT INTO steps.ids (above, id)
    SELECT current_setting('steps.above')::bigint, id FROM steps.dblink_get_result('held') r (id bigint) WHERE id IS NOT NULL;
    UPDATE steps.ids SET ms = steps.ms(0) WHERE ms IS NULL;
    PERFORM FROM steps.dblink_get_result('held') r (id bigint);
END
$$;
SQL

# The functions with their steps.
my $text = script_with_includes('contrib/portable/shardid.sql');
my ($before, $drawing, $after) =
  $text =~ /\A(.*?)(^CREATE OR REPLACE FUNCTION shardid_draw_at_once\(.*?)(^-- Watching and advancing a generator\..*)\z/ms
  or die 'where do the functions begin and end?';
my $replaced = $drawing =~
  s/(?:\bpg_catalog\.)?\b(nextval|setval|pg_sequence_last_value|pg_try_advisory_xact_lock|clock_timestamp|pg_sleep)\(/steps.$1(/g;
die "only $replaced steps" if $replaced <= 30;
my $file = PostgreSQL::Test::Utils::tempdir() . '/steps.sql';
append_to_file($file, $before . $drawing . $after);
run_log([ 'psql', '-Xq', '-d', $node->connstr('portable') . ' user=ids_owner', '-f', $file ]) or die 'the steps do not load';

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
is_right('old generators and marks are restored: within the millisecond of an id, and raised to the one before', <<'SQL');
FOR i IN 0 .. 3 LOOP
    marked := pg_sequence_last_value(mark);
    last := pg_sequence_last_value('g');
    CALL steps.pass(50);
    IF i % 2 = 1 THEN
        PERFORM steps.draw();
    END IF;
    PERFORM steps.draw(), setval('g', last), setval(mark, marked);
    IF i < 2 THEN
        PERFORM raise_generator('g', (steps.highest() >> 23) - 1 << 23);
    END IF;
    PERFORM steps.draw();
END LOOP;
SQL
is_right('moved back, while a generator far ahead of the clock has set the mark, which both share', <<'SQL');
LOOP
    CREATE SEQUENCE twin;
    EXIT WHEN shardid_mark_of('twin') = mark;
    DROP SEQUENCE twin;
END LOOP;
PERFORM raise_generator('twin', steps.ms(4000000) << 23), next_id(5, 'twin');
last := pg_sequence_last_value('g');
CALL steps.pass(1);
PERFORM steps.draw(), next_id(5, 'twin'), setval('g', last), steps.draw();
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

# A call is held before each of its steps in turn, in an open millisecond and in a new one, while others do each of these.
my $count = 0;
my @calls = (q{SELECT next_id(5, ''g'')}, q{SELECT next_ids(5, 40, ''g'')}, q{SELECT NULL::bigint FROM raise_generator(''g'', steps.ms(0) << 23)});
my $wrong = '';
my @others = ('PERFORM steps.draw(), steps.draw();', 'CALL steps.pass(1); PERFORM steps.draw(), steps.draw();',
	'CALL steps.pass(2); PERFORM steps.draw(); CALL steps.move(-2, 200); PERFORM steps.draw();',
	'CALL steps.raise(1); CALL steps.pass(1); PERFORM steps.draw();');
for my $call (@calls[ 0 .. rounds(0, 2) ])
{
	for my $held (map { my $step = $_; map { "CALL steps.hold('$step', $_, '$call');" } 1 .. rounds(1, 3) } ((map { ("last $_", "nextval $_", "setval $_") } 'generator', 'mark'), qw(lock clock sleep)))
	{
		for my $passed ('', 'CALL steps.pass(1);')
		{
			for my $others (@others)
			{
				my $said = follow("$passed\n$held\n$others\nCALL steps.resume();\nPERFORM steps.draw();");
				$wrong .= "$said: $passed $held $others\n" if $said !~ /held: 0 wrong$/;
				last if $said =~ /^not held/;
				$count++;
			}
		}
	}
}
is($wrong, '', 'held before any step');
cmp_ok($count, '>', 20, "held $count times");

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

# A commit flushes the WAL that covers the ids: also if that WAL is of another transaction, which has not ended. Both generate
# ids in one millisecond.
query('DROP SEQUENCE IF EXISTS g; CREATE SEQUENCE g');
sub flushes
{
	my ($name, $call) = @_;
	is(query(<<"SQL"), 't', "flushed by a commit: $name");
CREATE TEMPORARY TABLE notes (id bigint);
SELECT steps.dblink_connect('open', \$connection\$$connection\$connection\$), steps.dblink_exec('open', 'BEGIN') \\g /dev/null
CALL steps.pass(1000);
SELECT FROM steps.dblink('open', 'SELECT next_id(5, ''g'') FROM generate_series(1, 3)') r (id bigint) \\g /dev/null
SELECT pg_current_wal_insert_lsn() AS needed \\gset
\\o /dev/null
$call;
\\o
SELECT pg_current_wal_flush_lsn() >= :'needed';
SQL
	return;
}
flushes('next_id', q{SELECT next_id(5, 'g')});
flushes('next_ids', q{SELECT next_ids(5, 3, 'g')});
flushes('a raise_generator that has nothing to raise', q{SELECT raise_generator('g', 5)});
flushes('next_id in a transaction with an xid and no WAL', q{BEGIN; SELECT pg_current_xact_id(); SELECT next_id(5, 'g'); COMMIT});
flushes('next_id after a write to a temporary table', q{BEGIN; INSERT INTO notes VALUES (1); SELECT next_id(5, 'g'); COMMIT});

$node->stop;
done_testing();
