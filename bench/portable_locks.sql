-- The two locks that can be let go before a transaction ends, for bench/portable.py: nothing but the lock, a look at a sequence
-- and setval.
CREATE SEQUENCE portable.locked;

CREATE FUNCTION portable.lock_of_subtransaction(generator regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    last bigint;
BEGIN
    BEGIN
        PERFORM pg_advisory_xact_lock(generator::oid::bigint);
        last := setval(generator, pg_sequence_last_value(generator) + 1);
        RAISE SQLSTATE 'SHID0';
    EXCEPTION WHEN SQLSTATE 'SHID0' THEN
        NULL;
    END;
    RETURN last;
END
$$;

-- It has to be given back whatever happens, which takes a subtransaction, too.
CREATE FUNCTION portable.lock_of_session(generator regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    last bigint;
BEGIN
    BEGIN
        PERFORM pg_advisory_lock(generator::oid::bigint);
        last := setval(generator, pg_sequence_last_value(generator) + 1);
    EXCEPTION WHEN OTHERS OR query_canceled THEN
        PERFORM pg_advisory_unlock(generator::oid::bigint);
        RAISE;
    END;
    PERFORM pg_advisory_unlock(generator::oid::bigint);
    RETURN last;
END
$$;

SELECT setval('portable.locked', 1) \g /dev/null
