-- Purpose:  what the test's sessions are doing, counted by wait event, at several moments a call: looking from inside the
--           server costs the driver one waking-up a call instead of one a look.
-- Versions: PostgreSQL 13 and later.
-- Placeholder: function, its name, quoted by the driver.
-- Parameters: application, a LIKE pattern of the sessions' application names; looks, how many; every, seconds between.
-- Result:   looked_us bigint, moment of the look by the server's clock; event text (`Class:Event`, or `CPU` where a
--           session does not wait; null in the one row of a look that found no session active); sessions bigint.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
CREATE OR REPLACE FUNCTION {function}(application text, looks int, every float8)
RETURNS TABLE (looked_us bigint, event text, sessions bigint)
LANGUAGE plpgsql AS $waits$
BEGIN
    FOR look IN 1 .. looks LOOP
        -- Within one statement the server would show the same moment again and again.
        PERFORM pg_stat_clear_snapshot();
        looked_us := date_part('epoch', clock_timestamp()) * 1e6::float8;
        RETURN QUERY
            SELECT looked_us, coalesce(wait_event_type || ':' || wait_event, 'CPU'), count(*)
              FROM pg_stat_get_activity(NULL)
             WHERE application_name LIKE application
               AND state = 'active'
               AND wait_event IS DISTINCT FROM 'PgSleep'
             GROUP BY 2;
        IF NOT FOUND THEN
            event := NULL; sessions := 0;
            RETURN NEXT;
        END IF;
        PERFORM pg_sleep(every);
    END LOOP;
END
$waits$
