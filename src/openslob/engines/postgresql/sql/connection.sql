-- Purpose:  connections that wait long, or are idle for long, whatever role, database or server set for applications; and
--           who keeps our connections waiting.
-- Versions: PostgreSQL 13 and later.

-- name: unlimited_130000
SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0

-- name: unlimited_140000
SET idle_session_timeout = 0

-- name: unlimited_170000
SET transaction_timeout = 0

-- name: blockers
-- Result: application name and pid of each of our waiting connections, and of each that holds what it waits for: pid (0: a
-- prepared transaction), kind, user, application, state, since when. Sessions that wait for each other, as updates of one
-- row do, and those that wait behind another one in the queue, are left out.
WITH waiting AS (
    SELECT application_name, pid, unnest(pg_blocking_pids(pid)) AS blocker
      FROM pg_stat_activity
     WHERE application_name LIKE 'slob/%' AND wait_event_type = 'Lock' AND datname = current_database()
       AND pid <> pg_backend_pid())
SELECT w.application_name, w.pid, w.blocker, b.backend_type, b.usename, b.application_name, b.state,
       to_char(b.xact_start, 'YYYY-MM-DD HH24:MI:SS') AS since
  FROM waiting AS w LEFT JOIN pg_stat_activity AS b ON b.pid = w.blocker
 WHERE w.blocker NOT IN (SELECT pid FROM waiting) AND coalesce(b.application_name, '') NOT LIKE 'slob/run/%'
 ORDER BY w.pid, w.blocker
