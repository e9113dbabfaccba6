-- Purpose:  the server's cumulative counters, in one statement so that they are of one moment (except `commits`).
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later; each part is read where the server has it (counters.py).
-- Placeholders (quoted by names.py): status, the view of global status. Parameters: database.
-- Result:   source, name, value.

-- name: clock
-- µs since the epoch.
SELECT 'clock' AS source, 'us' AS name, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6)) AS value

-- name: status
SELECT 'status', UPPER(variable_name), CAST(variable_value AS DECIMAL(30)) FROM {status}
WHERE variable_name IN (
    'COM_COMMIT', 'INNODB_BUFFER_POOL_PAGES_SPLIT', 'INNODB_BUFFER_POOL_READ_REQUESTS', 'INNODB_BUFFER_POOL_READS',
    'INNODB_DATA_FSYNCS', 'INNODB_DATA_READ', 'INNODB_DATA_READS', 'INNODB_DATA_WRITES', 'INNODB_DATA_WRITTEN',
    'INNODB_LOG_WRITES', 'INNODB_OS_LOG_FSYNCS', 'INNODB_OS_LOG_WRITTEN', 'INNODB_PAGES_WRITTEN',
    'INNODB_REDO_LOG_CURRENT_LSN', 'INNODB_ROW_LOCK_TIME', 'INNODB_ROW_LOCK_WAITS', 'UPTIME',
    'UPTIME_SINCE_FLUSH_STATUS')

-- name: writes_mysql
-- MySQL's INNODB_DATA_WRITTEN counts the log's bytes too, and those of a page once, though it is written twice.
SELECT 'pages', 'write_bytes', SUM(variable_value) * @@innodb_page_size FROM {status}
WHERE variable_name IN ('INNODB_PAGES_WRITTEN', 'INNODB_DBLWR_PAGES_WRITTEN')

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

-- name: files_watched
-- A row if performance_schema counts and times requests of files.
SELECT 1 AS watched FROM performance_schema.setup_instruments
WHERE name = 'wait/io/file/innodb/innodb_data_file' AND enabled = 'YES' AND timed = 'YES' AND @@performance_schema = 1

-- name: file_io
-- Requests of all of the engine's files by kind (others are syncs, but for the few that open and close files), and of
-- those of the test tables; times in ps.
SELECT 'file', CONCAT(event_name, '.reads'), count_read FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'file', CONCAT(event_name, '.read_bytes'), sum_number_of_bytes_read
FROM performance_schema.file_summary_by_event_name WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'file', CONCAT(event_name, '.read_ps'), sum_timer_read FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'file', CONCAT(event_name, '.writes'), count_write FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'file', CONCAT(event_name, '.write_bytes'), sum_number_of_bytes_write
FROM performance_schema.file_summary_by_event_name WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'file', CONCAT(event_name, '.others'), count_misc FROM performance_schema.file_summary_by_event_name
WHERE event_name LIKE 'wait/io/file/innodb/%%'
UNION ALL
SELECT 'tables', 'reads', SUM(count_read) FROM performance_schema.file_summary_by_instance
WHERE file_name REGEXP CONCAT('/', %(database)s, '/cf[12]_[0-9]+[.]ibd$')
HAVING SUM(count_read) IS NOT NULL
UNION ALL
SELECT 'tables', 'read_bytes', SUM(sum_number_of_bytes_read) FROM performance_schema.file_summary_by_instance
WHERE file_name REGEXP CONCAT('/', %(database)s, '/cf[12]_[0-9]+[.]ibd$')
HAVING SUM(count_read) IS NOT NULL
UNION ALL
SELECT 'tables', 'read_ps', SUM(sum_timer_read) FROM performance_schema.file_summary_by_instance
WHERE file_name REGEXP CONCAT('/', %(database)s, '/cf[12]_[0-9]+[.]ibd$')
HAVING SUM(count_read) IS NOT NULL

-- name: metrics_mariadb
-- Counters that are off by default: the ones that this server has turned on.
SELECT 'metric', name, count FROM information_schema.innodb_metrics
WHERE name IN ('log_checkpoints', 'index_page_splits') AND enabled = 1

-- name: metrics_mysql
SELECT 'metric', name, count FROM information_schema.innodb_metrics
WHERE name IN ('log_checkpoints', 'index_page_splits') AND status = 'enabled'
