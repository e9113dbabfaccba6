-- Purpose:  what the test's sessions are doing at this moment, counted by event.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): roster; row_locks, a query; running, an event. Parameter purpose, a LIKE pattern.
-- Result:   event text (`Class:Event`, or `CPU` where the session does not wait), sessions.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
--           MariaDB does not instrument the wait for the log at a commit, but the commit is a state of its own.
--           A call of the storage engine is an event, too, around whatever it does: it is no wait, so it is left out.
--           Waits for rows have no event. Without the privilege for row_locks such sessions look like running ones.

-- name: instrumented
SELECT event, COUNT(*) AS sessions FROM (
    SELECT CASE WHEN l.connection IS NOT NULL THEN 'Lock:row'
                WHEN t.processlist_state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
                WHEN w.event_name IS NULL THEN {running}
                WHEN w.event_name IN ('wait/io/file/innodb/innodb_log_file', 'wait/io/file/sql/binlog')
                THEN 'IO:log write'
                ELSE CONCAT(CASE SUBSTRING_INDEX(SUBSTRING_INDEX(w.event_name, '/', 3), '/', -2)
                                WHEN 'io/file' THEN 'IO' WHEN 'io/socket' THEN 'Network'
                                WHEN 'lock/table' THEN 'Lock' WHEN 'lock/metadata' THEN 'Lock' ELSE 'Latch' END,
                            ':', SUBSTRING_INDEX(w.event_name, '/', -1)) END AS event
    FROM {roster} r
    JOIN performance_schema.threads t ON t.processlist_id = r.connection
    LEFT JOIN performance_schema.events_waits_current w
           ON w.thread_id = t.thread_id AND w.end_event_id IS NULL AND w.event_name <> 'idle'
          AND w.event_name NOT LIKE 'wait/io/table/%%'
    LEFT JOIN ({row_locks}) AS l ON l.connection = r.connection
    WHERE r.purpose LIKE %(purpose)s AND t.processlist_command = 'Query' AND t.processlist_state <> 'User sleep'
) AS seen GROUP BY event

-- name: states
-- Without performance_schema: the server shows the stage of a session's statement, not what it waits for.
SELECT event, COUNT(*) AS sessions FROM (
    SELECT CASE WHEN l.connection IS NOT NULL THEN 'Lock:row'
                WHEN p.state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
                ELSE CONCAT('Stage:', COALESCE(NULLIF(p.state, ''), 'executing')) END AS event
    FROM {roster} r JOIN information_schema.processlist p ON p.id = r.connection
    LEFT JOIN ({row_locks}) AS l ON l.connection = r.connection
    WHERE r.purpose LIKE %(purpose)s AND p.command = 'Query' AND p.state <> 'User sleep'
) AS seen GROUP BY event

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
