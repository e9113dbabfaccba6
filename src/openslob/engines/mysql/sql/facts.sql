-- Purpose:  what the server says of itself, for the checks before a run and for the record.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): database.

-- name: identity
-- Result: product version text, block size, cache bytes, limits, and who we are to the server.
SELECT VERSION() AS version, @@innodb_page_size AS block_size, @@innodb_buffer_pool_size AS cache_bytes,
       @@max_connections AS max_connections,
       @@max_user_connections AS max_user_connections, @@read_only AS read_only, CURRENT_USER() AS user

-- name: settings
-- Result: name, value, of every setting that bears on what a run measures; one that the server lacks is absent.
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'binlog_format', 'innodb_adaptive_flushing', 'innodb_adaptive_hash_index', 'innodb_buffer_pool_instances',
    'innodb_buffer_pool_size', 'innodb_change_buffering', 'innodb_checksum_algorithm', 'innodb_data_file_buffering',
    'innodb_dedicated_server', 'innodb_doublewrite', 'innodb_flush_log_at_timeout', 'innodb_flush_log_at_trx_commit',
    'innodb_flush_method', 'innodb_flush_neighbors', 'innodb_flush_sync', 'innodb_io_capacity',
    'innodb_io_capacity_max', 'innodb_log_buffer_size', 'innodb_log_file_buffering', 'innodb_log_file_size',
    'innodb_lru_scan_depth', 'innodb_max_dirty_pages_pct', 'innodb_page_cleaners', 'innodb_page_size',
    'innodb_purge_threads', 'innodb_random_read_ahead', 'innodb_read_ahead_threshold', 'innodb_read_io_threads',
    'innodb_redo_log_capacity', 'innodb_stats_auto_recalc', 'innodb_use_native_aio', 'innodb_write_io_threads',
    'large_pages', 'log_bin', 'max_connections', 'performance_schema', 'query_cache_size', 'query_cache_type',
    'read_only', 'sync_binlog', 'thread_handling', 'transaction_isolation', 'tx_isolation', 'userstat')

-- name: connected
-- Result: Variable_name, Value: connections of everybody.
SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'

-- name: replication
-- Result: Variable_name, Value, of a Galera cluster's instance: which cluster, and its last transaction committed here.
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_last_committed')

-- name: own_number
-- Result: number of this connection. A proxy that knows the bare question answers it itself.
SELECT CONNECTION_ID() AS number, @@version AS told_by

-- name: grants
-- Result: one statement a row, under a name with the user in it: what was granted to us and to the roles that we have on.
SHOW GRANTS

-- name: reads_statistics
SELECT stat_value FROM mysql.innodb_index_stats LIMIT 0

-- name: reads_performance_schema
SELECT count_read FROM performance_schema.file_summary_by_event_name LIMIT 0

-- name: reads_metrics
-- Asks for a row: with LIMIT 0 no right is looked at.
SELECT count FROM information_schema.innodb_metrics LIMIT 1

-- name: clock_is_now
-- Result: moved, 0 on a server that was started with --sysdate-is-now.
SELECT SLEEP(0.002) + (SYSDATE(6) > NOW(6)) AS moved

-- name: lock
-- Result: held, whether the lock was free within the time and is now held by this connection.
SELECT GET_LOCK(%(lock)s, %(patience)s) AS held

-- name: lock_holder
-- Result: connection that holds the lock, or null.
SELECT IS_USED_LOCK(%(lock)s) AS connection

-- name: unlock
SELECT RELEASE_LOCK(%(lock)s)

-- name: warm
-- Visits every active row by the index, as the work loop does.
SELECT COUNT(c2) AS n FROM {cf1} FORCE INDEX (custid) WHERE custid BETWEEN 1 AND %(scale)s

-- name: warm_scan
SELECT COUNT(c2) AS n FROM {cf2}

-- name: dirty
SHOW GLOBAL STATUS WHERE Variable_name = 'Innodb_buffer_pool_pages_dirty'

-- name: threads
-- Result: number, the operating system's; kind.
SELECT thread_os_id AS number, CASE WHEN name = 'thread/sql/one_connection' THEN 'session'
                                    ELSE SUBSTRING_INDEX(name, '/', -1) END AS kind
FROM performance_schema.threads WHERE thread_os_id IS NOT NULL
