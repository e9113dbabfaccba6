-- Purpose:  connections that wait long, or are idle for long, whatever role, database or server set for applications; and
--           who keeps our connections waiting.
-- Versions: PostgreSQL 13 and later.

-- name: own
-- What the statements of every connection rely on, whatever role, database, server, service file or PGOPTIONS say: no time
-- limit, a snapshot for each statement, the server's own functions, numbers with all digits, and texts that the driver
-- reads.
-- Parameters: always, or else only where the server process ``pid``, of the handshake, answers itself: a pooler would hand
-- the settings on to others. Result: their values.
SELECT pg_catalog.set_config(name, value, false)
  FROM (VALUES (130000, 'statement_timeout', '0'),
               (130000, 'lock_timeout', '0'),
               (130000, 'idle_in_transaction_session_timeout', '0'),
               (140000, 'idle_session_timeout', '0'),
               (170000, 'transaction_timeout', '0'),
               (130000, 'search_path', 'pg_catalog'),
               (130000, 'default_transaction_isolation', 'read committed'),
               (130000, 'default_transaction_deferrable', 'off'),
               (150000, 'stats_fetch_consistency', 'cache'),
               (130000, 'extra_float_digits', '1'),
               (130000, 'DateStyle', 'ISO, MDY'),
               (130000, 'IntervalStyle', 'postgres'),
               (130000, 'bytea_output', 'hex'),
               (130000, 'standard_conforming_strings', 'on'),
               (130000, 'quote_all_identifiers', 'off'),
               (130000, 'transform_null_equals', 'off'),
               (130000, 'array_nulls', 'on'),
               (130000, 'row_security', 'on'),
               (130000, 'exit_on_error', 'off'),
               (130000, 'check_function_bodies', 'on'),
               (130000, 'plpgsql.extra_errors', 'none'),
               (130000, 'client_min_messages', 'warning')) AS ours (since, name, value)
 WHERE since <= pg_catalog.current_setting('server_version_num')::int
   AND (%(always)s OR pg_catalog.pg_backend_pid() = %(pid)s)

-- name: path_of_role
-- The search_path as it was, where `own` has changed it.
SELECT pg_catalog.set_config(name, reset_val, false) FROM pg_catalog.pg_settings
 WHERE name = 'search_path' AND pg_catalog.pg_backend_pid() = %(pid)s

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
 WHERE w.blocker NOT IN (SELECT pid FROM waiting) AND coalesce(b.application_name, '') NOT LIKE ALL ('{slob/run/%,slob/pool/%}')
 ORDER BY w.pid, w.blocker
