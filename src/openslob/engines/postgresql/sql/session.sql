-- Purpose:  what a session of the work loop sets for itself. A server-side plan must be one plan for the whole run: an
--           index scan that reads one block at a time, planned once.
-- Versions: PostgreSQL 14 and later (client_connection_check_interval).
-- Result:   none.
SET plan_cache_mode = force_generic_plan;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
-- A session whose driver has died stops in mid-slice instead of running it to its end.
SET client_connection_check_interval = '1s';
