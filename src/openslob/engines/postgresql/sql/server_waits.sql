-- Purpose:  what the sessions of all clients are doing at this moment, by wait event.
-- Versions: PostgreSQL 13 and later; flush from 15.
-- Parameters: $1, a LIKE pattern of the application names of the work loop's sessions.
-- Result:   kind: test or hidden; what, text: `Class:Event`, or `CPU` where the session does not wait; sessions, bigint.
-- Notes:    everything that runs a statement, with the parallel workers of it, in any database. A base backup does, too;
--           other replication does not. A session of the work loop that sleeps (before the start, or its think time) is
--           outside operations. Samplers, the lock and the stop signal of this and of other drivers are left out.
--           Hidden is what sessions of other roles do, unless this role may see it, and where nothing is tracked.

-- name: sessions
SELECT kind, CASE kind WHEN 'test' THEN coalesce(wait_event_type || ':' || wait_event, 'CPU') ELSE '' END AS what,
       count(*) AS sessions
  FROM (SELECT CASE
                   WHEN application_name LIKE 'slob/%' AND (application_name NOT LIKE $1 OR wait_event = 'PgSleep') THEN NULL
                   WHEN (backend_type IS NULL OR state = 'disabled') AND datid IS NOT NULL AND usesysid IS NOT NULL
                   THEN 'hidden'
                   WHEN state = 'active' AND (backend_type IN ('client backend', 'parallel worker')
                                              OR query LIKE 'BASE_BACKUP%')
                   THEN 'test'
               END AS kind, *
          FROM pg_stat_get_activity(NULL)) AS every
 WHERE kind IS NOT NULL
 GROUP BY 1, 2

-- name: flush
-- A row of no sessions: what this statement did is to be seen by others at its end. Transactions are shown with the use of
-- tables only, so it uses one, which is empty nearly everywhere: a block would be a logical read of ours.
SELECT 'test', '', 0 FROM pg_stat_force_next_flush() LEFT JOIN (SELECT FROM pg_catalog.pg_seclabel LIMIT 1) AS used ON true
