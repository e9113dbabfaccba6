-- Purpose:  settings of a session of the work loop. A statement must have one plan for the whole run: an index scan that
--           reads one block at a time, planned once.
-- Versions: PostgreSQL 13 and later.
-- Result:   none.
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
-- A session whose driver was killed stops in mid-slice instead of running the slice to its end.
SELECT set_config(name, CASE name WHEN 'client_connection_check_interval' THEN '1s' ELSE '0' END, false)
  FROM pg_settings  -- which has those that the server's version has
 WHERE name IN ('client_connection_check_interval', 'idle_session_timeout', 'transaction_timeout');
