-- Purpose:  what the test's sessions are doing at this moment, counted by event.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): roster; transactions, where the server tells which of them wait for row locks.
--           Parameter purpose, a LIKE pattern.
-- Result:   event text (`Class:Event`, or `CPU` where the session does not wait), sessions.
-- Notes:    a session that sleeps (before the start, or its think time) is outside operations and left out.
--           The wait for the log at a commit is not instrumented in MariaDB, but the commit is a state by itself. Nor is
--           the wait for a row lock, which the engine's list of transactions has. Latches are not unless switched on:
--           a session that waits for one counts as on the CPU.

-- name: instrumented
SELECT event, COUNT(*) AS sessions FROM (
    SELECT CASE WHEN x.trx_mysql_thread_id IS NOT NULL THEN 'Lock:row'
                WHEN t.processlist_state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
                WHEN w.event_name IS NULL THEN 'CPU'
                ELSE CONCAT(CASE SUBSTRING_INDEX(SUBSTRING_INDEX(w.event_name, '/', 2), '/', -1)
                                WHEN 'io' THEN 'IO' WHEN 'lock' THEN 'Lock' ELSE 'Latch' END,
                            ':', SUBSTRING_INDEX(w.event_name, '/', -1)) END AS event
    FROM {roster} r
    JOIN performance_schema.threads t ON t.processlist_id = r.connection
    LEFT JOIN performance_schema.events_waits_current w
           ON w.thread_id = t.thread_id AND w.end_event_id IS NULL AND w.event_name <> 'idle'
    LEFT JOIN {transactions} x ON x.trx_mysql_thread_id = r.connection AND x.trx_state = 'LOCK WAIT'
    WHERE r.purpose LIKE %(purpose)s AND t.processlist_command = 'Query' AND t.processlist_state <> 'User sleep'
) AS seen GROUP BY event

-- name: states
-- Without performance_schema: the server says at which stage of a statement a session is, not for what it waits.
SELECT event, COUNT(*) AS sessions FROM (
    SELECT CASE WHEN x.trx_mysql_thread_id IS NOT NULL THEN 'Lock:row'
                WHEN p.state LIKE '%%ommit%%' THEN 'Commit:log write and flush'
                ELSE CONCAT('Stage:', COALESCE(NULLIF(p.state, ''), 'executing')) END AS event
    FROM {roster} r JOIN information_schema.processlist p ON p.id = r.connection
    LEFT JOIN {transactions} x ON x.trx_mysql_thread_id = r.connection AND x.trx_state = 'LOCK WAIT'
    WHERE r.purpose LIKE %(purpose)s AND p.command = 'Query' AND p.state <> 'User sleep'
) AS seen GROUP BY event

-- name: ready
-- Result: a row if the waits of sessions are observed.
SELECT 1 AS ready FROM performance_schema.setup_consumers
WHERE name = 'events_waits_current' AND enabled = 'YES' AND @@performance_schema = 1

-- name: row_locks
-- Result: one row, if this user may know.
SELECT COUNT(*) AS transactions FROM information_schema.innodb_trx
