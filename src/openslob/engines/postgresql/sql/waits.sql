-- Purpose:  what the test's sessions are doing, counted by wait event, at several moments a call: looking from inside the
--           server costs the driver one waking-up a call instead of one a look.
-- Versions: PostgreSQL 13 and later.
-- Placeholders: waits, its name, and nap (nap.sql), quoted by the driver.
-- Parameters: application, a LIKE pattern of the sessions' application names; looks, how many; every, seconds between.
-- Result:   three arrays of equal length: looked_us, moment of the look by the server's clock; event (`Class:Event`, or
--           `CPU` where a session does not wait; null in the one entry of a look that found no session active); sessions.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
--           Each look is a transaction of its own: within one the server would show the same moment again and again.
CREATE OR REPLACE PROCEDURE {waits}(
    application text, looks int, every float8,
    INOUT looked_us bigint[], INOUT event text[], INOUT sessions bigint[]
)
LANGUAGE plpgsql AS $waits$
DECLARE
    look_us bigint;
    found_events text[];
    found_sessions bigint[];
BEGIN
    FOR look IN 1 .. looks LOOP
        look_us := date_part('epoch', clock_timestamp()) * 1e6::float8;
        SELECT array_agg(seen), array_agg(how_many) INTO found_events, found_sessions
          FROM (SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS seen, count(*) AS how_many
                  FROM pg_stat_get_activity(NULL)
                 WHERE application_name LIKE application
                   AND state = 'active'
                   AND wait_event IS DISTINCT FROM 'PgSleep'
                 GROUP BY 1) AS counted;
        found_events := coalesce(found_events, ARRAY[NULL]::text[]);
        event := event || found_events;
        sessions := sessions || coalesce(found_sessions, ARRAY[0]::bigint[]);
        looked_us := looked_us || array_fill(look_us, ARRAY[cardinality(found_events)]);
        CALL {nap}(clock_timestamp() + every * interval '1 second');
    END LOOP;
END
$waits$
