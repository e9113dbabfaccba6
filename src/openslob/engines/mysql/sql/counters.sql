-- Purpose:  the server's cumulative counters, in one statement so that they are of one moment (except `commits`).
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later; each part is read where the server has it (counters.py).
-- Placeholders (quoted by names.py): status, the view of global status. Parameters: database; folder, its name in files;
--           tables, a pattern of the names of our tables.
-- Result:   source, name, value.

-- name: clock
-- µs since the epoch.
SELECT 'clock' AS source, 'us' AS name, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6)) AS value

-- name: status
SELECT 'status', UPPER(variable_name), CAST(variable_value AS DECIMAL(30)) FROM {status}
WHERE variable_name IN (
    'COM_COMMIT',
    'INNODB_BUFFER_POOL_PAGES_SPLIT', 'INNODB_BUFFER_POOL_READ_REQUESTS', 'INNODB_BUFFER_POOL_READS',
    'INNODB_BUFFER_POOL_WRITE_REQUESTS',
    'INNODB_DATA_FSYNCS', 'INNODB_DATA_READ', 'INNODB_DATA_READS', 'INNODB_DATA_WRITES', 'INNODB_DATA_WRITTEN',
    'INNODB_LOG_WRITES', 'INNODB_OS_LOG_FSYNCS', 'INNODB_OS_LOG_WRITTEN', 'INNODB_PAGES_WRITTEN',
    'INNODB_REDO_LOG_CURRENT_LSN', 'INNODB_ROW_LOCK_TIME', 'INNODB_ROW_LOCK_WAITS', 'UPTIME',
    'UPTIME_SINCE_FLUSH_STATUS')

-- name: writes_mysql
-- MySQL's INNODB_DATA_WRITTEN counts the log's bytes too, and those of a page once, though it is written twice.
SELECT 'pages', 'write_bytes', SUM(variable_value) * @@innodb_page_size FROM {status}
WHERE variable_name IN ('INNODB_PAGES_WRITTEN', 'INNODB_DBLWR_PAGES_WRITTEN')

-- name: changed_mariadb
-- Rows that anybody changed, in tables of any engine. MariaDB counts those of temporary results apart.
SELECT 'every', 'rows_changed', SUM(variable_value) FROM {status}
WHERE variable_name IN ('HANDLER_DELETE', 'HANDLER_UPDATE', 'HANDLER_WRITE')

-- name: changed_mysql
-- Rows that anybody changed, in InnoDB's tables that are not the server's own (before 8.0.19 those, too). In MySQL the
-- handler's counts include temporary results: a query of innodb_metrics writes 314 rows of one, by HANDLER_WRITE.
SELECT 'every', 'rows_changed', SUM(variable_value) FROM {status}
WHERE variable_name IN ('INNODB_ROWS_DELETED', 'INNODB_ROWS_INSERTED', 'INNODB_ROWS_UPDATED')

-- name: commits
-- MySQL shows counts of statements only in this way.
SHOW GLOBAL STATUS WHERE Variable_name = 'Com_commit'

-- name: userstat_visits
-- Rows that came through the test tables' index.
SELECT 'visits', CONCAT(table_name, '.', index_name), rows_read FROM information_schema.index_statistics
WHERE table_schema = %(database)s AND table_name REGEXP '^cf1_[1-9][0-9]*$'

-- name: userstat_changes
SELECT 'changes', table_name, rows_changed FROM information_schema.table_statistics
WHERE table_schema = %(database)s AND table_name REGEXP '^cf1_[1-9][0-9]*$'

-- name: no_changes
-- A server that takes no writes has none of the test's: what it changes comes from its primary.
SELECT 'changes', 'none', 0

-- name: userstat_sharing
-- Rows of others' tables that were read; rows of the test tables, however they were found; those of all rows changed that
-- are ours or the server's. Rows of tables that this user may not read are left out, so that a part of what others did is
-- missing.
SELECT 'others', 'rows_read', COALESCE(SUM(rows_read), 0) FROM information_schema.table_statistics
WHERE table_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
  AND NOT (table_schema = %(database)s AND table_name REGEXP %(tables)s)
UNION ALL
SELECT 'sharing', 'rows_read', COALESCE(SUM(rows_read), 0) FROM information_schema.table_statistics
WHERE table_schema = %(database)s AND table_name REGEXP '^cf1_[1-9][0-9]*$'
UNION ALL
SELECT 'sharing', 'rows_changed', COALESCE(SUM(rows_changed), 0) FROM information_schema.table_statistics
WHERE table_schema IN ('mysql', 'performance_schema', 'sys')
   OR table_schema = %(database)s AND table_name REGEXP %(tables)s

-- name: table_io_visits
-- The same by performance_schema, where it instruments tables.
SELECT 'visits', CONCAT(object_name, '.', index_name), count_fetch
FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE object_schema = %(database)s AND object_name REGEXP '^cf1_[1-9][0-9]*$' AND index_name = 'custid'
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')

-- name: table_io_changes
-- Changes that come from another server find their rows in another way and are counted under no index.
SELECT 'changes', object_name, count_update FROM performance_schema.table_io_waits_summary_by_index_usage
WHERE object_schema = %(database)s AND object_name REGEXP '^cf1_[1-9][0-9]*$' AND index_name = 'custid'
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')

-- name: table_io_sharing
SELECT 'others', 'rows_read', COALESCE(SUM(count_fetch), 0) FROM performance_schema.table_io_waits_summary_by_table
WHERE object_schema NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
  AND NOT (object_schema = %(database)s AND object_name REGEXP %(tables)s)
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')
UNION ALL
SELECT 'sharing', 'rows_read', COALESCE(SUM(count_fetch), 0) FROM performance_schema.table_io_waits_summary_by_table
WHERE object_schema = %(database)s AND object_name REGEXP '^cf1_[1-9][0-9]*$'
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')

-- name: table_io_changed_mariadb
-- Those of all rows changed that are ours or the server's.
SELECT 'sharing', 'rows_changed', COALESCE(SUM(count_insert + count_update + count_delete), 0)
FROM performance_schema.table_io_waits_summary_by_table
WHERE (object_schema IN ('mysql', 'performance_schema', 'sys')
       OR object_schema = %(database)s AND object_name REGEXP %(tables)s)
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')

-- name: table_io_changed_mysql
-- The same; those that are not InnoDB's are not among all rows changed.
SELECT 'sharing', 'rows_changed', COALESCE(SUM(count_insert + count_update + count_delete), 0)
FROM performance_schema.table_io_waits_summary_by_table
WHERE object_schema = %(database)s AND object_name REGEXP %(tables)s AND object_name NOT IN ('roster', 'borrowed')
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')

-- name: churn_userstat
-- This and the next ones are read with MODE=churn only. Visited rows of the test tables that were inserted or deleted: each
-- goes with the others of its page. Parameters: rows_per_page.
SELECT 'churn', 'rows', COALESCE(SUM(rows_changed), 0) / %(rows_per_page)s FROM information_schema.table_statistics
WHERE table_schema = %(database)s AND table_name REGEXP '^cf1_[1-9][0-9]*$'

-- name: churn_table_io
SELECT 'churn', 'rows', SUM(count_insert + count_delete) / %(rows_per_page)s
FROM performance_schema.table_io_waits_summary_by_table
WHERE object_schema = %(database)s AND object_name REGEXP '^cf1_[1-9][0-9]*$'
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments
              WHERE name = 'wait/io/table/sql/handler' AND enabled = 'YES')
HAVING COUNT(*) > 0

-- name: churn_sizes_mariadb
SELECT 'churn', 'table_bytes', SUM(file_size) FROM information_schema.innodb_sys_tablespaces
WHERE SUBSTRING_INDEX(name, '/', 1) IN (%(folder)s, %(database)s)
  AND SUBSTRING_INDEX(name, '/', -1) REGEXP '^cf1_[1-9][0-9]*$'
HAVING COUNT(*) > 0

-- name: churn_sizes_mysql
SELECT 'churn', 'table_bytes', SUM(file_size) FROM information_schema.innodb_tablespaces
WHERE SUBSTRING_INDEX(name, '/', 1) IN (%(folder)s, %(database)s)
  AND SUBSTRING_INDEX(name, '/', -1) REGEXP '^cf1_[1-9][0-9]*$'
HAVING COUNT(*) > 0

-- name: churn_purge_mariadb
-- The length of the history list.
SELECT 'churn', 'purge_lag', CAST(variable_value AS DECIMAL(30)) FROM information_schema.global_status
WHERE variable_name = 'INNODB_HISTORY_LIST_LENGTH'

-- name: churn_purge_mysql
SELECT 'churn', 'purge_lag', count FROM information_schema.innodb_metrics
WHERE name = 'trx_rseg_history_len' AND status = 'enabled'

-- name: files_watched
-- A row if performance_schema counts and times requests of files.
SELECT 1 AS watched FROM performance_schema.setup_instruments
WHERE name = 'wait/io/file/innodb/innodb_data_file' AND enabled = 'YES' AND timed = 'YES' AND @@performance_schema = 1

-- name: file_io
-- Requests of all of the engine's files by kind (others are syncs, but for the few that open and close files); those of
-- the test tables' files and of others' tables; times in ps. The files of mysql and sys, of old row versions and of
-- temporary tables serve everybody.
SELECT 'file', CONCAT(event_name, '.', kinds.name),
       CASE kinds.name WHEN 'reads' THEN count_read WHEN 'read_bytes' THEN sum_number_of_bytes_read
                       WHEN 'read_ps' THEN sum_timer_read WHEN 'writes' THEN count_write
                       WHEN 'write_bytes' THEN sum_number_of_bytes_write ELSE count_misc END
FROM performance_schema.file_summary_by_event_name
JOIN (SELECT 'reads' AS name UNION ALL SELECT 'read_bytes' UNION ALL SELECT 'read_ps' UNION ALL SELECT 'writes'
      UNION ALL SELECT 'write_bytes' UNION ALL SELECT 'others') AS kinds
WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT files.whose, kinds.name,
       CASE kinds.name WHEN 'reads' THEN files.requests WHEN 'read_bytes' THEN files.bytes
                       WHEN 'read_ps' THEN files.ps ELSE files.writes END
FROM (SELECT CASE WHEN SUBSTRING_INDEX(SUBSTRING_INDEX(file_name, '/', -2), '/', 1) <> %(folder)s THEN 'others'
                  WHEN file_name REGEXP '/cf[12]_[0-9]+[.]ibd$' THEN 'tables' ELSE 'ours' END AS whose,
             SUM(count_read) AS requests, SUM(sum_number_of_bytes_read) AS bytes, SUM(sum_timer_read) AS ps,
             SUM(count_write) AS writes
      FROM performance_schema.file_summary_by_instance
      WHERE file_name LIKE '%%.ibd' AND file_name NOT REGEXP '/(mysql|sys)(/[^/]*|[.]ibd)$'
      GROUP BY whose) AS files
JOIN (SELECT 'reads' AS name UNION ALL SELECT 'read_bytes' UNION ALL SELECT 'read_ps' UNION ALL SELECT 'writes') AS kinds

-- name: folder
-- Result: folder, the name of the database as part of a file's name.
SELECT CONVERT(CAST(CONVERT(%(database)s USING filename) AS BINARY) USING utf8mb4) AS folder

-- name: rocksdb_status
-- RocksDB's tickers, and how often and for how long writes were held back; times in µs.
SELECT 'rocksdb', SUBSTR(UPPER(variable_name), 9), CAST(variable_value AS DECIMAL(30)) FROM information_schema.global_status
WHERE variable_name IN (
    'ROCKSDB_BLOCK_CACHE_HIT', 'ROCKSDB_BLOCK_CACHE_MISS', 'ROCKSDB_BYTES_READ', 'ROCKSDB_BYTES_WRITTEN',
    'ROCKSDB_COMPACT_READ_BYTES', 'ROCKSDB_COMPACT_WRITE_BYTES', 'ROCKSDB_FLUSH_WRITE_BYTES', 'ROCKSDB_STALL_MICROS',
    'ROCKSDB_ROWS_READ', 'ROCKSDB_STALL_TOTAL_SLOWDOWNS', 'ROCKSDB_STALL_TOTAL_STOPS', 'ROCKSDB_WAL_BYTES',
    'ROCKSDB_WAL_SYNCED')

-- name: rocksdb_rows
-- Rows of our tables that userstat saw being read: not the first of a range, which the storage engine reads past the server.
SELECT 'rocksdb', 'ROWS_SEEN', COALESCE(SUM(rows_read), 0) FROM information_schema.table_statistics
WHERE table_schema = %(database)s AND table_name REGEXP '^cf[12]_[1-9][0-9]*$'

-- name: rocksdb_reads
-- Reads of blocks by RocksDB's sessions, where they count them (rocksdb_perf_context_level); times in ns. Requires PROCESS.
SELECT 'rocksdb', stat_type, value FROM information_schema.rocksdb_perf_context_global
WHERE stat_type IN ('BLOCK_READ_BYTE', 'BLOCK_READ_COUNT', 'BLOCK_READ_TIME')

-- name: metrics_mariadb
-- Counters that are off by default: the ones that this server has turned on.
SELECT 'metric', name, count FROM information_schema.innodb_metrics
WHERE name IN ('log_checkpoints', 'index_page_splits') AND enabled = 1

-- name: metrics_mysql
SELECT 'metric', name, count FROM information_schema.innodb_metrics
WHERE name IN ('log_checkpoints', 'index_page_splits') AND status = 'enabled'

-- name: transactions_mariadb
-- Those that the storage engine ended, rolled back ones included, and a statement's alone where it is a transaction.
SELECT 'innodb', name, count FROM information_schema.innodb_metrics
WHERE name IN ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits') AND enabled = 1

-- name: transactions_mysql
SELECT 'innodb', name, count FROM information_schema.innodb_metrics
WHERE name IN ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits') AND status = 'enabled'

-- name: transactions_observed
-- The same by performance_schema; on by default in MySQL.
SELECT 'observed', 'transactions', count_star FROM performance_schema.events_transactions_summary_global_by_event_name
WHERE event_name = 'transaction'
  AND EXISTS (SELECT 1 FROM performance_schema.setup_instruments WHERE name = 'transaction' AND enabled = 'YES')

-- name: every_file
-- Requests of all files that hold data, logs or temporary results, by event; times in ps.
SELECT 'file', CONCAT(event_name, '.', kinds.name),
       CASE kinds.name WHEN 'reads' THEN count_read WHEN 'read_bytes' THEN sum_number_of_bytes_read
                       WHEN 'read_ps' THEN sum_timer_read WHEN 'writes' THEN count_write
                       WHEN 'write_bytes' THEN sum_number_of_bytes_write WHEN 'others' THEN count_misc
                       WHEN 'requests' THEN count_star ELSE sum_timer_wait END
FROM performance_schema.file_summary_by_event_name
JOIN (SELECT 'reads' AS name UNION ALL SELECT 'read_bytes' UNION ALL SELECT 'read_ps' UNION ALL SELECT 'writes'
      UNION ALL SELECT 'write_bytes' UNION ALL SELECT 'others' UNION ALL SELECT 'requests' UNION ALL SELECT 'ps') AS kinds
WHERE count_star > 0
  AND (event_name NOT LIKE 'wait/io/file/sql/%%' OR event_name IN (
       'wait/io/file/sql/binlog', 'wait/io/file/sql/relaylog', 'wait/io/file/sql/io_cache'))

-- name: latches_watched
-- A row if performance_schema counts and times more than requests of files; it does not by default.
SELECT 1 AS watched FROM performance_schema.setup_instruments
WHERE (name LIKE 'wait/synch/%%' OR name LIKE 'wait/lock/metadata/%%') AND enabled = 'YES' AND timed = 'YES'
  AND @@performance_schema = 1

-- name: latches
-- Their waits by clients' sessions, in ps. Threads of the server's own, which wait for work, have no account. Waits for time
-- to pass are left out.
SELECT 'wait', CONCAT(event_name, '.', kinds.name), SUM(CASE kinds.name WHEN 'count' THEN count_star ELSE sum_timer_wait END)
FROM performance_schema.events_waits_summary_by_account_by_event_name
JOIN (SELECT 'count' AS name UNION ALL SELECT 'ps') AS kinds
WHERE user IS NOT NULL AND sum_timer_wait > 0
  AND (event_name LIKE 'wait/synch/%%' OR event_name LIKE 'wait/lock/metadata/%%')
  AND event_name NOT LIKE '%%/Item_func_sleep::cond'
GROUP BY event_name, kinds.name
