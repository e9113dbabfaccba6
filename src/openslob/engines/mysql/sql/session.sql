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

-- name: patience
-- The server closes a connection that is idle for so long, in s; sessions wait for the common start.
SET SESSION wait_timeout = 86400, SESSION net_write_timeout = 3600, SESSION innodb_lock_wait_timeout = 50

-- name: once
-- Galera runs a CALL again as a whole when a transaction in it is refused. Its results are then half sent (the client gets
-- a malformed packet) and its work is done twice. MySQL has no such variable.
SET SESSION wsrep_retry_autocommit = 0

-- name: seed
-- The state of the session's random generator (RAND) is two numbers of 30 bits.
SET SESSION rand_seed1 = %(first)s, SESSION rand_seed2 = %(second)s
