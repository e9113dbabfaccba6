-- Purpose:  what sessions of the client loop ask beside their operations, whose statements are those of slice.sql.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.

-- name: look
-- Parameters: lock, the named lock that is held when the run must stop.
-- Result: us, the clock, in µs since the epoch of a session in UTC; free, whether the lock is free.
SELECT TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6)) AS us, IS_FREE_LOCK(%(lock)s) AS free
