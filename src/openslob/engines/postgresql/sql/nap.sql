-- Purpose:  sleep without keeping old row versions from being pruned. A sleeping statement holds a snapshot; while it is
--           held, no version that became dead since can be pruned, updates no longer fit into their block, and the table
--           grows. So the sleep is divided into short pieces, each a transaction of its own.
-- Versions: PostgreSQL 13 and later.
-- Placeholder: nap, its name, quoted by the driver.
-- Parameters: until, when to wake up; stop_key, the advisory lock that is held exclusively when the run must stop;
--             stopping, false. Must be called where COMMIT is allowed.
-- Result:   stopping, true when the sleep ended early because the run must stop.
CREATE OR REPLACE PROCEDURE {nap}(until timestamptz, stop_key bigint, INOUT stopping boolean)
LANGUAGE plpgsql AS $nap$
DECLARE
    piece CONSTANT float8 := 0.02;
BEGIN
    WHILE clock_timestamp() < until LOOP
        COMMIT;
        stopping := NOT pg_try_advisory_lock_shared(stop_key);
        EXIT WHEN stopping;
        PERFORM pg_advisory_unlock_shared(stop_key);
        PERFORM pg_sleep(least(date_part('epoch', until - clock_timestamp()), piece));
    END LOOP;
    COMMIT;
END
$nap$
