-- The same call in functions of several kinds, for t/clients/drivers.pl and bench/instructions.py: which of them the planner
-- inlines, and what they cost.
CREATE SEQUENCE ids.wrapped_ids;

CREATE FUNCTION by_return() RETURNS bigint
    LANGUAGE sql VOLATILE
    RETURN ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20);

CREATE FUNCTION by_string() RETURNS bigint
    LANGUAGE sql VOLATILE
    AS $$ SELECT ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20) $$;

CREATE FUNCTION with_path() RETURNS bigint
    LANGUAGE sql VOLATILE SET search_path = ids
    RETURN ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20);

CREATE FUNCTION of_owner() RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER
    RETURN ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20);

CREATE FUNCTION stable() RETURNS bigint
    LANGUAGE sql STABLE
    RETURN ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20);

CREATE FUNCTION in_plpgsql() RETURNS bigint
    LANGUAGE plpgsql VOLATILE
    AS $$ BEGIN RETURN ids.next_id(5, 'ids.wrapped_ids', shard_bits => 3, sequence_bits => 20); END $$;
