-- Purpose:  facts of the server, for the checks before a run and for the record.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): database.

-- name: identity
-- Placeholders: block_size, cache_bytes, variables of the storage engine (table_engine.py).
-- Result: version, with the product's name for MariaDB; block size; cache in bytes; limits; the account of this user.
SELECT VERSION() AS version, @@{block_size} AS block_size, @@{cache_bytes} AS cache_bytes,
       @@max_connections AS max_connections,
       @@max_user_connections AS max_user_connections, @@read_only AS read_only, CURRENT_USER() AS user

-- name: settings
-- Result: name, value, of every setting that influences what a run measures; a setting that the server does not have is absent.
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'binlog_format', 'default_storage_engine', 'innodb_adaptive_flushing', 'innodb_adaptive_hash_index', 'innodb_buffer_pool_instances',
    'innodb_buffer_pool_size', 'innodb_change_buffering', 'innodb_checksum_algorithm', 'innodb_data_file_buffering',
    'innodb_dedicated_server', 'innodb_doublewrite', 'innodb_flush_log_at_timeout', 'innodb_flush_log_at_trx_commit',
    'innodb_flush_method', 'innodb_flush_neighbors', 'innodb_flush_sync', 'innodb_io_capacity',
    'innodb_io_capacity_max', 'innodb_log_buffer_size', 'innodb_log_file_buffering', 'innodb_log_file_mmap', 'innodb_log_file_size',
    'innodb_lru_scan_depth', 'innodb_max_dirty_pages_pct', 'innodb_page_cleaners', 'innodb_page_size',
    'innodb_purge_threads', 'innodb_random_read_ahead', 'innodb_read_ahead_threshold', 'innodb_read_io_threads',
    'innodb_redo_log_capacity', 'innodb_stats_auto_recalc', 'innodb_use_native_aio', 'innodb_write_io_threads',
    'large_pages', 'log_bin', 'max_connections', 'performance_schema', 'query_cache_size', 'query_cache_type',
    'read_only', 'rocksdb_block_cache_size', 'rocksdb_block_size', 'rocksdb_deadlock_detect', 'rocksdb_default_cf_options',
    'rocksdb_flush_log_at_trx_commit', 'rocksdb_max_background_jobs', 'rocksdb_max_total_wal_size',
    'rocksdb_perf_context_level', 'rocksdb_use_direct_io_for_flush_and_compaction', 'rocksdb_use_direct_reads', 'sync_binlog', 'thread_handling', 'transaction_isolation', 'tx_isolation', 'userstat')

-- name: in_the_way
-- Placeholder: scope. Result: Variable_name, Value, of what a session may not set, or what somebody means by it.
SHOW {scope} VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only', 'enforce_storage_engine')

-- name: connected
-- Result: Variable_name, Value: connections of all users.
SHOW GLOBAL STATUS WHERE Variable_name = 'Threads_connected'

-- name: started
-- Placeholder: status, the view of global status. Result: when the server was started, in UTC, to the second. The uptime
-- counts up to the moment of the statement that asks for it, so that each gives the same.
SELECT DATE_FORMAT(UTC_TIMESTAMP() - INTERVAL variable_value SECOND, '%Y-%m-%dT%H:%i:%sZ') AS started_at
FROM {status} WHERE variable_name = 'UPTIME'

-- name: replication
-- Result: Variable_name, Value, of a Galera cluster's instance: which cluster, and its last transaction committed here.
SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_state_uuid', 'wsrep_last_committed')

-- name: own_number
-- Result: number of this connection. With @@version in it, since a proxy may answer SELECT CONNECTION_ID() itself.
SELECT CONNECTION_ID() AS number, @@version AS told_by

-- name: own_address
-- Result: address of this connection's client, HOST:PORT by TCP.
SELECT HOST AS address FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()

-- name: data_directory
-- Result: place, the data directory as the server names it.
SELECT @@datadir AS place

-- name: stored_name
-- Result: name, as the server stores it.
SELECT IF(@@lower_case_table_names = 1, LOWER(%(database)s), %(database)s) AS name

-- name: grants
-- Result: one GRANT statement a row, of this user and its active roles; the column's name contains the user.
SHOW GRANTS

-- name: reads_statistics
SELECT stat_value FROM mysql.innodb_index_stats LIMIT 0

-- name: reads_performance_schema
SELECT count_read FROM performance_schema.file_summary_by_event_name LIMIT 0

-- name: reads_metrics
-- LIMIT 1: with LIMIT 0 the server does not check the privilege.
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
-- Visits every active row through the index, as the work loop does.
SELECT COUNT(c2) AS n FROM {cf1} FORCE INDEX (custid) WHERE custid BETWEEN 1 AND %(scale)s

-- name: warm_scan
SELECT COUNT(c2) AS n FROM {cf2}

-- name: dirty
SHOW GLOBAL STATUS WHERE Variable_name = 'Innodb_buffer_pool_pages_dirty'

-- name: neighbours
-- Result: name of each other database that this user may see and that a load or run of this product has locked (the lock
-- is that of names.py); connection that holds the lock.
SELECT schema_name AS name, IS_USED_LOCK(CONCAT('openslob/use/', LEFT(SHA2(schema_name, 256), 16))) AS connection
FROM information_schema.schemata WHERE schema_name <> %(database)s
HAVING connection IS NOT NULL ORDER BY name

-- name: threads
-- Placeholder: roster. Result: number of the thread in the operating system; kind, with our samplers and the test's
-- sessions apart from other clients.
SELECT t.thread_os_id AS number,
       CASE WHEN t.name <> 'thread/sql/one_connection' THEN SUBSTRING_INDEX(t.name, '/', -1)
            WHEN r.purpose LIKE 'run/%%' THEN 'session'
            WHEN r.purpose IN ('counters', 'waits') THEN 'sampler'
            WHEN r.purpose IS NULL THEN 'other client' ELSE 'slob' END AS kind
FROM performance_schema.threads t LEFT JOIN {roster} r ON r.connection = t.processlist_id
WHERE t.thread_os_id IS NOT NULL
