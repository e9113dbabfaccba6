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

-- name: mode
-- Strict, so that nothing is truncated silently; backslashes escape, as the statements of the loop expect.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'

-- name: unlimited
-- Limits that servers and users have for applications would end a connection that is idle for the whole run, such as that
-- of the lock, or a long statement. All in s; MySQL's limit of statements, in ms, is for SELECTs outside procedures. A
-- wait for a lock is given up by the driver before the server does.
SET SESSION wait_timeout = 31536000, SESSION net_read_timeout = 3600, SESSION net_write_timeout = 3600,
    SESSION lock_wait_timeout = 3600
    /*M!100301 , SESSION max_statement_time = 0, SESSION idle_transaction_timeout = 0,
    SESSION idle_readonly_transaction_timeout = 0, SESSION idle_write_transaction_timeout = 0 */
    /*!80000 , SESSION max_execution_time = 0 */

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
