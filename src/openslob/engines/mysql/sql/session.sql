-- Purpose:  what a session of the work loop sets for itself; each statement is executed on its own.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.

-- name: clock
-- The work loop reckons in µs since the epoch; nothing may be added or lost when summer time ends.
SET time_zone = '+00:00'

-- name: isolation
-- No gaps between rows are locked, and no statement sees an old state of the data.
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED

-- name: plan
-- Rows are visited one by one as the index has them, and the index condition ends a range at its last key.
SET SESSION optimizer_switch = 'mrr=off,index_condition_pushdown=on'

-- name: mode
-- Strict, so that nothing is cut off in silence; backslashes escape, as the statements of the loop expect.
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'

-- name: patience
-- The server gives up a connection that is silent for so long, in s; sessions wait for their turn.
SET SESSION wait_timeout = 86400, SESSION net_write_timeout = 3600, SESSION innodb_lock_wait_timeout = 50

-- name: once
-- For Galera a CALL is a statement to be run again as a whole when a transaction in it is refused, with results half sent
-- (the client gets a malformed packet) and work done twice. MySQL has no such variable.
SET SESSION wsrep_retry_autocommit = 0

-- name: seed
-- The random generator of the session (RAND) has two numbers of 30 bits as its state.
SET SESSION rand_seed1 = %(first)s, SESSION rand_seed2 = %(second)s
