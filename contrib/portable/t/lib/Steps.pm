# A database in which the functions of contrib/portable/shardid.sql run step by step. A step is a read of a sequence or of the
# clock, a setval, nextval or sleep. The functions that generate ids are loaded once more, with each step replaced by a
# function of schema "steps". Their clock stands still unless a schedule, or a sleep, advances it. A session can be held
# before one of the steps, while the schedule continues.
package Steps;

use strict;
use warnings;
use Exporter 'import';
use PostgreSQL::Test::Utils;
use Test::More;
use Portable;

our @EXPORT = qw(start_steps stop_steps query $connection);

# For dblink.
our $connection;
my $node;

sub query { return $node->safe_psql('portable', $_[0]) }

sub start_steps
{
	my ($name, $conf) = @_;
	$node = new_portable_node($name, $conf);
	$connection = $node->connstr('portable') . q( options='-c statement_timeout=10min');
	make_schedules();
	replace_steps();
	return;
}

sub stop_steps { return $node->stop }

sub make_schedules
{
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
	return;
}

sub replace_steps
{
	my $text = slurp_file('contrib/portable/shardid.sql');
	my ($before, $drawing, $after) =
	  $text =~ /\A(.*?)(^CREATE OR REPLACE FUNCTION shardid_draw_at_once\(.*?)(^-- Watching and advancing a generator\..*)\z/ms
	  or die 'where do the functions begin and end?';
	my $replaced = $drawing =~
	  s/(?:\bpg_catalog\.)?\b(nextval|setval|pg_sequence_last_value|pg_try_advisory_xact_lock|clock_timestamp|pg_sleep)\(/steps.$1(/g;
	die "only $replaced steps" if $replaced <= 30;
	my $file = PostgreSQL::Test::Utils::tempdir() . '/steps.sql';
	append_to_file($file, $before . $drawing . $after);
	run_log([ 'psql', '-Xq', '-d', $node->connstr('portable') . ' user=ids_owner', '-f', $file ]) or die 'the steps do not load';
	return;
}

1;
