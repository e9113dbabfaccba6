-- Purpose:  settings of a session of the work loop; each statement is executed on its own.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.

-- name: clock
-- The work loop computes with µs since the epoch, which must not jump when summer time begins or ends.
SET time_zone = '+00:00'

-- name: isolation
-- No gaps between rows are locked, and no statement reads an old version of the data.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED

-- name: plan
-- Rows are visited one by one in the order of the index, and the index condition ends a range at its last key.
SET SESSION optimizer_switch = 'mrr=off,index_condition_pushdown=on'

-- name: own
-- What the statements of every connection rely on, whatever the server, init_connect or a proxy set for applications; MySQL
-- has no such setting for users. No time limit would end a connection that is idle for the whole run, such as that of the
-- lock, or a long statement: all in s, and MySQL's limit of statements, in ms, is for SELECTs outside procedures. A wait
-- for a lock is given up by the driver before the server does. Strict, so that nothing is truncated silently; backslashes
-- escape, as the statements of the loop expect. All rows of a result, and updates without a key. A COMMIT ends neither the
-- connection nor in a new transaction. Tables are built as they are defined.
SET SESSION wait_timeout = 31536000, SESSION net_read_timeout = 3600, SESSION net_write_timeout = 3600,
    SESSION lock_wait_timeout = 3600,
    SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_select_limit = 18446744073709551615,
    SESSION sql_safe_updates = 0, SESSION sql_big_selects = 1, SESSION completion_type = 0, SESSION sql_auto_is_null = 0,
    SESSION unique_checks = 1, SESSION div_precision_increment = 4
    /*M!100301 , SESSION max_statement_time = 0, SESSION idle_transaction_timeout = 0,
    SESSION idle_readonly_transaction_timeout = 0, SESSION idle_write_transaction_timeout = 0,
    SESSION max_session_mem_used = 9223372036854775807, SESSION tmp_disk_table_size = 18446744073709551615,
    SESSION innodb_compression_default = 0, SESSION alter_algorithm = 'DEFAULT', SESSION sql_if_exists = 0 */
    /*!80000 , SESSION max_execution_time = 0 */

-- name: memory
-- Enough to sort, and for our tables in memory; the settings of a run may say otherwise for its sessions.
SET SESSION sort_buffer_size = 2097152, SESSION max_heap_table_size = 16777216

-- name: patience
-- A session that waits for somebody's row for so long, in s, ends with an error.
SET SESSION innodb_lock_wait_timeout = 50

-- name: once
-- Galera runs a CALL again as a whole when a transaction in it is refused. Its results are then half sent (the client gets
-- a malformed packet) and its work is done twice. MySQL has no such variable.
SET SESSION wsrep_retry_autocommit = 0

-- name: seed
-- The state of the session's random generator (RAND) is two numbers of 30 bits.
SET SESSION rand_seed1 = %(first)s, SESSION rand_seed2 = %(second)s
