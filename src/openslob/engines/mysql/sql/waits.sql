-- Purpose:  what the test's sessions are doing at this moment, counted by event, and who else is at work.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): roster; row_locks, a query; running, an event; wait, the part of that name; own,
--           numbers of connections. Parameter purpose, a LIKE pattern.
-- Result:   others, 1 for sessions that are not ours; event, as text (`Class:Event`, or `CPU` where the session does not
--           wait), of others user, host and database; sessions.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
--           MariaDB does not instrument the wait for the log at a commit, but the commit is a state of its own.
--           A call of the storage engine is an event, too, around whatever it does: it is no wait, so it is left out.
--           Waits for rows have no event. Without the privilege for row_locks such sessions look like running ones.
--           Others that wait for a named lock or for metadata are not at work. A session may be between two stages: its state
--           is null then. Changes of another server are applied by the `system user`; a scheduled event runs as a
--           connection of its user.

-- name: wait
-- The name of a wait.
CASE WHEN w.event_name IN ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/sql/binlog') THEN 'IO:log write'
     ELSE CONCAT(CASE SUBSTRING_INDEX(SUBSTRING_INDEX(w.event_name, '/', 3), '/', -2)
                     WHEN 'io/file' THEN 'IO' WHEN 'io/socket' THEN 'Network'
                     WHEN 'lock/table' THEN 'Lock' WHEN 'lock/metadata' THEN 'Lock' ELSE 'Latch' END,
                 ':', SUBSTRING_INDEX(w.event_name, '/', -1)) END

-- name: instrumented
SELECT r.connection IS NULL AS others,
       CASE WHEN r.connection IS NULL
            THEN CONCAT(t.processlist_user, '@', COALESCE(t.processlist_host, ''),
                        COALESCE(CONCAT(' in ', t.processlist_db), ''))
            WHEN l.connection IS NOT NULL THEN 'Lock:row'
            WHEN t.processlist_state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
            WHEN w.event_name IS NULL THEN {running}
            ELSE {wait} END AS event,
       COUNT(*) AS sessions
FROM performance_schema.threads t
LEFT JOIN {roster} r ON r.connection = t.processlist_id
LEFT JOIN performance_schema.events_waits_current w
       ON w.thread_id = t.thread_id AND w.end_event_id IS NULL AND w.event_name <> 'idle'
      AND w.event_name NOT LIKE 'wait/io/table/%%' AND r.connection IS NOT NULL
LEFT JOIN ({row_locks}) AS l ON l.connection = t.processlist_id
WHERE t.processlist_command IN ('Query', 'Execute', 'Fetch', 'Prepare', 'Connect')
  AND COALESCE(t.processlist_state, '') <> 'User sleep'
  AND (r.purpose LIKE %(purpose)s
       OR r.connection IS NULL AND t.processlist_id <> CONNECTION_ID() AND t.processlist_user NOT IN ('system user', 'unauthenticated user')
          AND COALESCE(t.processlist_state, '') <> 'User lock'
          AND COALESCE(t.processlist_state, '') NOT LIKE 'Waiting for%%')
GROUP BY others, event

-- name: states
-- Without performance_schema, or with a storage engine that it does not observe: the server shows the stage of a session's statement, not what it waits for.
SELECT r.connection IS NULL AS others,
       CASE WHEN r.connection IS NULL THEN CONCAT(p.user, '@', SUBSTRING_INDEX(p.host, ':', 1), COALESCE(CONCAT(' in ', p.db), ''))
            WHEN l.connection IS NOT NULL THEN 'Lock:row'
            WHEN p.state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
            WHEN p.state = 'Waiting for row lock' THEN 'Lock:row'
            ELSE CONCAT('Stage:', COALESCE(NULLIF(p.state, ''), 'executing')) END AS event,
       COUNT(*) AS sessions
FROM information_schema.processlist p
LEFT JOIN {roster} r ON r.connection = p.id
LEFT JOIN ({row_locks}) AS l ON l.connection = p.id
WHERE p.command IN ('Query', 'Execute', 'Fetch', 'Prepare', 'Connect') AND COALESCE(p.state, '') <> 'User sleep'
  AND (r.purpose LIKE %(purpose)s
       OR r.connection IS NULL AND p.id <> CONNECTION_ID() AND p.user NOT IN ('system user', 'unauthenticated user')
          AND COALESCE(p.state, '') <> 'User lock' AND COALESCE(p.state, '') NOT LIKE 'Waiting for%%')
GROUP BY others, event

-- name: ready
-- Result: a row if the server observes the waits of sessions.
SELECT 1 AS ready FROM performance_schema.setup_consumers c
JOIN performance_schema.setup_instruments i ON i.name = 'wait/io/file/innodb/innodb_data_file' AND i.enabled = 'YES'
WHERE c.name = 'events_waits_current' AND c.enabled = 'YES' AND @@performance_schema = 1

-- name: row_locks
-- Connections that wait for a row. Requires PROCESS.
SELECT trx_mysql_thread_id AS connection FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'

-- name: no_row_locks
SELECT 0 AS connection FROM DUAL WHERE FALSE

-- name: server_instrumented
-- All clients' sessions. Connections of ours are those in `own`, a list of numbers. The lock that the storage engine takes
-- for a statement is a call of it, too; who waits for a table is in a state that says so.
SELECT 0 AS others,
       CASE WHEN l.connection IS NOT NULL THEN 'Lock:row'
            WHEN t.processlist_state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
            WHEN t.processlist_state = 'User lock' THEN 'Lock:user'
            WHEN t.processlist_state LIKE 'Waiting for%%lock%%' THEN CONCAT('Lock:', SUBSTRING(t.processlist_state, 13))
            WHEN w.event_name IS NULL THEN {running}
            ELSE {wait} END AS event,
       COUNT(*) AS sessions
FROM performance_schema.threads t
LEFT JOIN performance_schema.events_waits_current w
       ON w.thread_id = t.thread_id AND w.end_event_id IS NULL AND w.event_name <> 'idle'
      AND w.event_name NOT LIKE 'wait/io/table/%%' AND w.event_name NOT LIKE 'wait/lock/table/%%'
LEFT JOIN ({row_locks}) AS l ON l.connection = t.processlist_id
WHERE t.processlist_command IN ('Query', 'Execute', 'Fetch', 'Prepare', 'Connect')
  AND COALESCE(t.processlist_state, '') <> 'User sleep'
  AND t.processlist_id NOT IN ({own})
  AND t.processlist_user NOT IN ('system user', 'unauthenticated user', 'event_scheduler')
GROUP BY event

-- name: server_states
SELECT 0 AS others,
       CASE WHEN l.connection IS NOT NULL THEN 'Lock:row'
            WHEN p.state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
            WHEN p.state = 'User lock' THEN 'Lock:user'
            WHEN p.state LIKE 'Waiting for%%lock%%' THEN CONCAT('Lock:', SUBSTRING(p.state, 13))
            ELSE CONCAT('Stage:', COALESCE(NULLIF(p.state, ''), 'executing')) END AS event,
       COUNT(*) AS sessions
FROM information_schema.processlist p
LEFT JOIN ({row_locks}) AS l ON l.connection = p.id
WHERE p.command IN ('Query', 'Execute', 'Fetch', 'Prepare', 'Connect') AND COALESCE(p.state, '') <> 'User sleep'
  AND p.id NOT IN ({own}) AND p.user NOT IN ('system user', 'unauthenticated user', 'event_scheduler')
GROUP BY event
