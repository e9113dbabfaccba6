-- Purpose:  the baseline: an I/O loop in PL/pgSQL as it is commonly written. Every operation is a new text with the key
--           in it, given to EXECUTE, and so parsed and planned again, with the planner's default settings; each is
--           timed in numeric seconds; the whole run is one call and one transaction.
-- Versions: PostgreSQL 13 and later.
-- Parameters: table to visit, run time in seconds, keys in the table, keys a SELECT visits.
-- Result:   one row: operations, rows visited, seconds of the loop.
CREATE OR REPLACE FUNCTION bench_dynamic_loop(
    visited_table text, run_seconds numeric, scale bigint, work_unit bigint,
    OUT ops bigint, OUT visits bigint, OUT seconds numeric
)
LANGUAGE plpgsql AS $loop$
DECLARE
    begun_at  timestamptz := clock_timestamp();
    op_at     timestamptz;
    op_took   numeric;
    slowest   numeric := 0;
    first_key bigint;
    found     bigint;
BEGIN
    ops := 0;
    visits := 0;
    seconds := 0;
    WHILE seconds < run_seconds LOOP
        first_key := 1 + floor(random() * (scale - work_unit + 1))::bigint;
        op_at := clock_timestamp();
        EXECUTE 'SELECT count(c2) FROM ' || visited_table || ' WHERE custid BETWEEN ' || first_key
             || ' AND ' || first_key + work_unit - 1 INTO found;
        op_took := extract(epoch FROM clock_timestamp() - op_at);
        IF op_took > slowest THEN
            slowest := op_took;
        END IF;
        ops := ops + 1;
        visits := visits + found;
        seconds := extract(epoch FROM clock_timestamp() - begun_at);
    END LOOP;
END
$loop$
