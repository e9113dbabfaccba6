-- Purpose:  who keeps our connections waiting.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later; what a server or a user's rights lack is left out (waits.py).
-- Placeholders: none.

-- name: connections
-- Result: connection; who; state, of its statement; command; seconds in it. Without PROCESS only this user's.
SELECT id AS connection, CONCAT(user, '@', SUBSTRING_INDEX(host, ':', 1)) AS who, COALESCE(state, '') AS state, command,
       COALESCE(time, 0) AS seconds
FROM information_schema.processlist
WHERE command NOT IN ('Daemon', 'Binlog Dump', 'Binlog Dump GTID') AND user NOT IN ('system user', 'event_scheduler')
ORDER BY id

-- name: row_waits_mariadb
-- Result: waiting, holder, both numbers of connections.
SELECT r.trx_mysql_thread_id AS waiting, b.trx_mysql_thread_id AS holder
FROM information_schema.innodb_lock_waits w
JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id

-- name: row_waits_mysql
SELECT r.processlist_id AS waiting, b.processlist_id AS holder
FROM performance_schema.data_lock_waits w
JOIN performance_schema.threads r ON r.thread_id = w.requesting_thread_id
JOIN performance_schema.threads b ON b.thread_id = w.blocking_thread_id

-- name: metadata_waits
-- Empty where performance_schema does not instrument wait/lock/metadata/sql/mdl.
SELECT r.processlist_id AS waiting, b.processlist_id AS holder
FROM performance_schema.metadata_locks w
JOIN performance_schema.metadata_locks h
  ON h.object_type = w.object_type AND h.object_schema <=> w.object_schema AND h.object_name <=> w.object_name
 AND h.lock_status = 'GRANTED' AND h.owner_thread_id <> w.owner_thread_id
JOIN performance_schema.threads r ON r.thread_id = w.owner_thread_id
JOIN performance_schema.threads b ON b.thread_id = h.owner_thread_id
WHERE w.lock_status = 'PENDING'
