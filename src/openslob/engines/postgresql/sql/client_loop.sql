-- Purpose:  what sessions of the client loop ask beside their operations, whose statements are those of slice.sql.
-- Versions: PostgreSQL 13 and later.

-- name: look
-- In a transaction of its own, which releases the lock, so that any process of the server can answer it.
-- Parameters: $1, the advisory lock that is held exclusively when the run must stop.
-- Result: the clock, in µs since the epoch; whether the lock was free.
SELECT (date_part('epoch', clock_timestamp()) * 1e6)::bigint, pg_try_advisory_xact_lock_shared($1::bigint)

-- name: publish
-- Since 15: without this the last counts of a slice may reach the shared statistics only with the next one.
SELECT pg_stat_force_next_flush()

-- name: explain
-- Placeholders: name of a prepared statement; values, of its parameters.
EXPLAIN (COSTS OFF) EXECUTE {name} {values}
