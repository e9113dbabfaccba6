-- Purpose:  what the server says of itself, for the checks before a run and for the record.
-- Versions: PostgreSQL 13 and later.

-- name: identity
-- Result: product version text, numeric version int, block size int, cache bytes bigint.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS number,
       current_setting('block_size')::int AS block_size,
       pg_size_bytes(current_setting('shared_buffers')) AS cache_bytes

-- name: copies
-- Result: whether the server is a standby; the identifier that a primary and its standbys share.
SELECT pg_is_in_recovery() AS standby, (SELECT system_identifier::text FROM pg_control_system()) AS cluster

-- name: log_position
-- Result: bytes of log that are durable on a primary, replayed on a standby.
SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END,
                       '0/0')::bigint AS position

-- name: settings
-- Result: name, value, of every setting that bears on what a run measures; one that the server lacks is absent.
SELECT name, current_setting(name, true) AS value
  FROM pg_settings
 WHERE name IN (
    'autovacuum', 'bgwriter_delay', 'bgwriter_lru_maxpages', 'block_size',
    'checkpoint_completion_target', 'checkpoint_timeout', 'commit_delay', 'data_checksums',
    'debug_io_direct', 'effective_io_concurrency', 'fsync', 'full_page_writes', 'huge_pages',
    'huge_pages_status', 'io_combine_limit', 'io_max_combine_limit', 'io_method', 'io_workers', 'jit',
    'maintenance_work_mem', 'max_connections', 'max_wal_size', 'min_wal_size', 'shared_buffers',
    'synchronous_commit', 'track_counts', 'track_io_timing', 'track_wal_io_timing', 'wal_block_size',
    'wal_buffers', 'wal_compression', 'wal_level', 'wal_sync_method', 'wal_writer_delay',
    'wal_writer_flush_after')
 ORDER BY name

-- name: connections
-- Result: connections still free to this role.
SELECT CASE WHEN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
            THEN current_setting('max_connections')::int
            ELSE current_setting('max_connections')::int
                 - current_setting('superuser_reserved_connections')::int
                 - coalesce(current_setting('reserved_connections', true)::int, 0)
       END - (SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender'))::int AS free

-- name: role
-- Result: whether this role may use the schema, make objects in it, run a checkpoint, see other sessions.
SELECT current_user AS name,
       rolsuper AS superuser,
       rolconnlimit AS connection_limit,
       to_regnamespace(%(schema)s) IS NOT NULL AS has_schema,
       coalesce(has_schema_privilege(to_regnamespace(%(schema)s)::oid, 'USAGE'), false) AS may_use,
       coalesce(has_schema_privilege(to_regnamespace(%(schema)s)::oid, 'CREATE'), false) AS may_create,
       coalesce(pg_has_role((SELECT oid FROM pg_roles WHERE rolname = 'pg_checkpoint'), 'USAGE'), false) AS may_checkpoint,
       pg_has_role('pg_read_all_stats', 'USAGE') AS may_see_all,
       pg_is_in_recovery() AS standby
  FROM pg_roles WHERE rolname = current_user

-- name: table_sizes
-- Parameters: schema. Result: table name, blocks.
SELECT relname AS table, pg_relation_size(oid) / current_setting('block_size')::int AS blocks
  FROM pg_class WHERE relnamespace = to_regnamespace(%(schema)s) AND relkind = 'r' AND relname LIKE 'cf%%'

-- name: sessions
-- Parameters: application LIKE pattern. Result: pid, application name.
SELECT pid, application_name FROM pg_stat_activity WHERE application_name LIKE %(application)s AND pid <> pg_backend_pid()

-- name: lock
-- Parameters: key. Result: whether the lock was free and is now held by this connection.
SELECT pg_try_advisory_lock(%(key)s::bigint) AS held

-- name: lock_holder
-- Parameters: key. Result: application name and pid of the holder.
SELECT a.application_name, a.pid, a.backend_start::text AS since
  FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
 WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.classid = (%(key)s::bigint >> 32)::int::oid AND l.objid = (%(key)s::bigint & 4294967295)::bigint::oid
