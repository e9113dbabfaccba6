-- Purpose:  the server's cumulative counters, one row a source, each as JSON so that a column that a version lacks is
--           absent rather than 0. `counters.py` reads the sources whose view the server has.
-- Versions: PostgreSQL 13 and later; pg_stat_io from 16, pg_stat_checkpointer from 17.
-- Parameters: $1, the schema of the test tables, of the sources that are of the test.
-- Result:   of each source: source text, key text, counters jsonb; of `together`, which combines the sources: one json
--           object of all counters by source and key.

-- name: together
-- One value: each further row of a result would cost the driver as much again.
SELECT json_object_agg(concat_ws('.', source, nullif(key, '')), counters) FROM ({sources}) AS every (source, key, counters)

-- name: together_and_flush
-- Since 15 a session's own counts show within a second, unless it asks for it: then at the end of this statement.
SELECT json_object_agg(concat_ws('.', source, nullif(key, '')), counters), pg_stat_force_next_flush()
  FROM ({sources}) AS every (source, key, counters)

-- name: io
SELECT 'io' AS source, concat_ws('/', backend_type, object, context) AS key, jsonb_strip_nulls(to_jsonb(s)) AS counters
  FROM pg_stat_io AS s
 WHERE reads > 0 OR writes > 0 OR extends > 0 OR hits > 0 OR fsyncs > 0  -- most rows never count, and would be half of the driver's cost
       OR (backend_type, object, context) = ('client backend', 'relation', 'normal')  -- after a reset no row counts: one tells its time

-- name: session_io
-- By session since 18: the work loop's sessions apart from our samplers, the lock and the stop signal. A session that
-- ended is gone from here. Of the log's rows only the syncs are used.
SELECT 'session_io', concat_ws('/', CASE WHEN a.application_name LIKE 'slob/run/%' THEN 'run' ELSE 'own' END,
                               CASE WHEN s.object = 'wal' THEN 'wal' ELSE 'data' END),
       jsonb_strip_nulls(jsonb_build_object(
           'hits', sum(s.hits), 'reads', sum(s.reads), 'read_bytes', sum(s.read_bytes), 'read_time', sum(s.read_time),
           'fsyncs', sum(s.fsyncs), 'stats_reset', max(s.stats_reset)))
  FROM pg_stat_get_activity(NULL) AS a, pg_stat_get_backend_io(a.pid) AS s
 WHERE a.application_name LIKE 'slob/%' AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
 GROUP BY a.application_name LIKE 'slob/run/%', s.object = 'wal'

-- name: session_wal
-- What the work loop's sessions wrote to the log, and how many of them there are.
SELECT 'session_wal', '', jsonb_build_object(
           'sessions', count(*), 'wal_bytes', coalesce(sum(s.wal_bytes), 0), 'wal_fpi', coalesce(sum(s.wal_fpi), 0))
  FROM pg_stat_get_activity(NULL) AS a, pg_stat_get_backend_wal(a.pid) AS s
 WHERE a.application_name LIKE 'slob/run/%' AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())

-- name: database
SELECT 'database', '', jsonb_strip_nulls(to_jsonb(s)) FROM pg_stat_database AS s WHERE datname = current_database()

-- name: other_databases
-- What sessions of other databases did. Somebody may reset one of them: that takes nothing from the test's counters.
SELECT 'databases', '', jsonb_strip_nulls(to_jsonb(s)) FROM (
    SELECT sum(xact_commit) AS xact_commit, sum(tup_returned) AS tup_returned
      FROM pg_stat_database WHERE datname <> current_database()) AS s

-- name: each_database
-- Apart, since a database that is dropped takes its counts along; of the number 0, what all databases share. Sessions
-- are counted since 14, parallel workers of queries since 18.
SELECT 'database', s.datid::text, jsonb_strip_nulls(jsonb_build_object(
           'xact_commit', s.xact_commit, 'xact_rollback', s.xact_rollback, 'sessions', to_jsonb(s) -> 'sessions',
           'workers', to_jsonb(s) -> 'parallel_workers_launched',
           'blks_read', s.blks_read, 'blks_hit', s.blks_hit, 'blk_read_time', s.blk_read_time,
           'reset_s', coalesce(date_part('epoch', s.stats_reset), 0)))
  FROM pg_stat_database AS s

-- name: wal
SELECT 'wal', '', jsonb_strip_nulls(to_jsonb(s)) FROM pg_stat_wal AS s

-- name: checkpointer
SELECT 'checkpointer', '', jsonb_strip_nulls(to_jsonb(s)) FROM pg_stat_checkpointer AS s

-- name: bgwriter
SELECT 'bgwriter', '', jsonb_strip_nulls(to_jsonb(s)) FROM pg_stat_bgwriter AS s

-- name: log_position
-- Before 15: the log's bytes now, with page headers, where pg_stat_wal is late or missing. A standby writes no log.
SELECT 'log', '', jsonb_strip_nulls(jsonb_build_object('position', CASE WHEN NOT pg_is_in_recovery()
       THEN pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END))

-- name: tables
-- Before a load there are no tables: they count 0. Counts that are missing are unknown.
SELECT 'tables', '', to_jsonb(s) FROM (
    SELECT coalesce(sum(pg_stat_get_tuples_updated(c.oid)), 0)       AS n_tup_upd,
           coalesce(sum(pg_stat_get_tuples_hot_updated(c.oid)), 0)   AS n_tup_hot_upd,
           coalesce(sum(pg_stat_get_numscans(c.oid)), 0)             AS seq_scan,
           coalesce(sum(pg_stat_get_tuples_returned(c.oid)), 0)      AS seq_tup_read,
           coalesce(sum(pg_stat_get_blocks_fetched(c.oid)), 0)       AS heap_blks_fetched,
           coalesce(sum(pg_stat_get_blocks_hit(c.oid)), 0)           AS heap_blks_hit,
           coalesce(sum(pg_stat_get_autovacuum_count(c.oid) + pg_stat_get_autoanalyze_count(c.oid)), 0) AS maintenance
      FROM pg_class AS c
     WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind = 'r') AS s

-- name: indexes
SELECT 'indexes', '', to_jsonb(s) FROM (
    SELECT coalesce(sum(pg_stat_get_numscans(c.oid)), 0)             AS idx_scan,
           coalesce(sum(pg_stat_get_tuples_fetched(c.oid)), 0)       AS idx_tup_fetch,
           coalesce(sum(pg_stat_get_blocks_fetched(c.oid)), 0)       AS idx_blks_fetched,
           coalesce(sum(pg_stat_get_blocks_hit(c.oid)), 0)           AS idx_blks_hit
      FROM pg_class AS c
     WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind = 'i') AS s

-- name: churn
-- Read with MODE=churn only: sizes in bytes of the tables with an index, and of those; rows inserted and deleted; dead rows
-- that no vacuum has removed; vacuums that have ended.
SELECT 'churn', '', to_jsonb(s) FROM (
    SELECT sum(pg_relation_size(c.oid)) FILTER (WHERE c.relkind = 'r')                   AS table_bytes,
           sum(pg_relation_size(c.oid)) FILTER (WHERE c.relkind = 'i')                   AS index_bytes,
           sum(pg_stat_get_tuples_inserted(c.oid) + pg_stat_get_tuples_deleted(c.oid))
               FILTER (WHERE c.relkind = 'r')                                            AS rows,
           sum(pg_stat_get_dead_tuples(c.oid)) FILTER (WHERE c.relkind = 'r')            AS dead_rows,
           sum(pg_stat_get_autovacuum_count(c.oid) + pg_stat_get_vacuum_count(c.oid))
               FILTER (WHERE c.relkind = 'r')                                            AS vacuums
      FROM pg_class AS c
     WHERE c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relname ~ '^cf1_[1-9][0-9]*(_custid_idx)?$') AS s

-- name: private_tables
-- Tables of sessions on the local path: temporary tables with the names of the shared ones.
SELECT 'private_tables', '', to_jsonb(s) FROM (
    SELECT sum(pg_stat_get_tuples_updated(c.oid))       AS n_tup_upd,
           sum(pg_stat_get_tuples_hot_updated(c.oid))   AS n_tup_hot_upd,
           sum(pg_stat_get_numscans(c.oid))             AS seq_scan,
           sum(pg_stat_get_blocks_fetched(c.oid))       AS heap_blks_fetched,
           sum(pg_stat_get_blocks_hit(c.oid))           AS heap_blks_hit
      FROM pg_class AS c
     WHERE c.relpersistence = 't' AND c.relkind = 'r' AND c.relname ~ '^cf[12]_[1-9][0-9]*$') AS s

-- name: private_indexes
SELECT 'private_indexes', '', to_jsonb(s) FROM (
    SELECT sum(pg_stat_get_tuples_fetched(c.oid))       AS idx_tup_fetch,
           sum(pg_stat_get_blocks_fetched(c.oid))       AS idx_blks_fetched,
           sum(pg_stat_get_blocks_hit(c.oid))           AS idx_blks_hit
      FROM pg_class AS c
     WHERE c.relpersistence = 't' AND c.relkind = 'i' AND c.relname ~ '^cf1_[1-9][0-9]*_custid_idx$') AS s

-- name: timing
-- Whether I/O is timed, which may change at any moment. Versions without a setting do not have what it turns on, either.
SELECT 'timing', '', jsonb_build_object(
           'data', (coalesce(current_setting('track_io_timing', true), 'on') = 'on')::int,
           'log', (coalesce(current_setting('track_wal_io_timing', true), 'on') = 'on')::int)

-- name: clock
SELECT 'clock', '', jsonb_build_object('us', (date_part('epoch', clock_timestamp()) * 1e6)::bigint)
