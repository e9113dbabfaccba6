-- Purpose:  settings of a session of the work loop. A statement must have one plan for the whole run: an index scan that
--           reads one block at a time, planned once.
-- Versions: PostgreSQL 13 and later.
-- Result:   none.
SET plan_cache_mode = force_generic_plan;
SET enable_indexscan = on;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
-- A session whose driver was killed stops in mid-slice instead of running the slice to its end.
SELECT set_config(name, '1s', false)
  FROM pg_settings  -- which has it since 14
 WHERE name = 'client_connection_check_interval';
