-- Purpose:  what the test's sessions are doing at this moment, counted by wait event.
-- Versions: PostgreSQL 13 and later.
-- Parameters: $1, a LIKE pattern of the sessions' application names.
-- Result:   event text (`Class:Event`, or `CPU` where the session does not wait), sessions bigint.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
--           Several samples in one call would save the driver waking up for each, but a statement that sleeps between
--           them holds a snapshot, and old row versions stay meanwhile: updates then leave their block.
SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS event, count(*) AS sessions
  FROM pg_stat_get_activity(NULL)
 WHERE application_name LIKE $1
   AND state = 'active'
   AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND wait_event IS DISTINCT FROM 'PgSleep'
 GROUP BY 1
