-- Purpose:  facts of the server, for the checks before a run and for the record.
-- Versions: PostgreSQL 13 and later.

-- name: identity
-- Result: product version text, numeric version int, block size int, cache bytes bigint; when the server was started.
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS number,
       current_setting('block_size')::int AS block_size,
       pg_size_bytes(current_setting('shared_buffers')) AS cache_bytes,
       to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS started_at

-- name: copies
-- Result: whether the server is a standby; the identifier that a primary and its standbys share; the source of the
-- programs, which a server that slob runs says in its configuration, else null.
SELECT pg_is_in_recovery() AS standby, (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
       current_setting('slob.programs', true) AS programs

-- name: place
-- Result: what tells a server's start, and a database in it, from all others.
SELECT pg_catalog.pg_postmaster_start_time(), (SELECT system_identifier FROM pg_catalog.pg_control_system()),
       pg_catalog.current_database()

-- name: log_position
-- Result: bytes of log that are durable on a primary, replayed on a standby.
SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END,
                       '0/0')::bigint AS position

-- name: copy_position
-- Result: bytes of log that are durable on a primary, replayed on a standby; of a standby the bytes received, too, and
-- how long ago the last transaction that it replayed was committed, in s.
SELECT pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END,
                       '0/0')::bigint AS position,
       CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::bigint END AS received,
       CASE WHEN pg_is_in_recovery()
            THEN extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 END AS said_s

-- name: data_directory
-- Result: place, the data directory as the server names it. No row for a role that may not read it.
SELECT setting AS place FROM pg_settings WHERE name = 'data_directory'

-- name: tablespaces
-- Parameters: schema. Result: directory of each tablespace that holds test tables or their indexes; empty for the data
-- directory itself. No row without tables.
SELECT DISTINCT pg_tablespace_location(reltablespace) AS directory
  FROM pg_class
 WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind IN ('r', 'i') AND relname ~ '^cf[12]_[1-9]'

-- name: settings
-- Result: name, value, of every setting that influences what a run measures; a setting that the server does not have is absent.
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
-- Result: connections that are free for this role: of the server, the database and the role. Our own connections for
-- queries, checks and the lock are part of what a run needs, and do not count as taken. The backend type of other roles'
-- sessions may be hidden from this role, but not that they have a user.
WITH taken AS (
    SELECT datid, usesysid FROM pg_stat_activity
     WHERE usesysid IS NOT NULL
       AND NOT (application_name LIKE 'slob/%%' AND application_name NOT LIKE 'slob/run/%%')
       AND coalesce(backend_type, 'client backend') IN ('client backend', 'walsender'))
SELECT least(
    CASE WHEN r.rolsuper THEN current_setting('max_connections')::int
         ELSE current_setting('max_connections')::int
              - current_setting('superuser_reserved_connections')::int
              - coalesce(current_setting('reserved_connections', true)::int, 0)
    END - (SELECT count(*) FROM taken),
    CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper
         THEN d.datconnlimit - (SELECT count(*) FROM taken WHERE datid = d.oid) END,
    CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper
         THEN r.rolconnlimit - (SELECT count(*) FROM taken WHERE usesysid = r.oid) END)::int AS free
  FROM pg_roles AS r, pg_database AS d
 WHERE r.rolname = session_user AND d.datname = current_database()

-- name: transport
-- Result: protocol and cipher when this connection is encrypted as the server sees it; null when it is not.
SELECT version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl

-- name: home
-- Parameters: schema, the usual one. Result: this schema, if the role may use or create it; else the first schema of the
-- search_path, if the role may use it and it holds nothing but a load of ours; else the usual one, which will be refused.
SELECT CASE
       WHEN coalesce(has_schema_privilege(to_regnamespace(quote_ident(%(schema)s))::oid, 'USAGE')
                     AND has_schema_privilege(to_regnamespace(quote_ident(%(schema)s))::oid, 'CREATE'),
                     has_database_privilege(current_database(), 'CREATE'))
       THEN %(schema)s
       ELSE coalesce(
           (SELECT n.nspname::text FROM pg_namespace AS n
             WHERE n.nspname = current_schema() AND n.nspname <> 'public'
               AND has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege(n.oid, 'CREATE')
               AND (EXISTS (SELECT FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
                             WHERE c.relnamespace = n.oid AND c.relname = 'manifest' AND a.attname = 'placement_key')
                    OR NOT EXISTS (SELECT FROM pg_depend
                                    WHERE refclassid = 'pg_namespace'::regclass AND refobjid = n.oid))),
           %(schema)s) END AS schema

-- name: role
-- Result: whether this role may use or create the schema, create objects in it, see other sessions;
-- names quoted by the server.
SELECT quote_ident(current_user) AS name,
       quote_ident(current_database()) AS database,
       current_setting('server_version_num')::int AS version,
       rolsuper AS superuser,
       CASE WHEN NOT rolsuper THEN nullif(rolconnlimit, -1) END AS role_limit,
       CASE WHEN NOT rolsuper THEN (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
       END AS database_limit,
       to_regnamespace(quote_ident(%(schema)s)) IS NOT NULL AS has_schema,
       has_database_privilege(current_database(), 'CREATE') AS may_make_schema,
       coalesce(has_schema_privilege(to_regnamespace(quote_ident(%(schema)s))::oid, 'USAGE'), false) AS may_use,
       coalesce(has_schema_privilege(to_regnamespace(quote_ident(%(schema)s))::oid, 'CREATE'), false) AS may_create,
       pg_has_role('pg_read_all_stats', 'USAGE') AS may_see_all,
       pg_is_in_recovery() AS standby
  FROM pg_roles WHERE rolname = current_user

-- name: origin
-- Parameters: setting. Result: value; where it was set; what undoes that.
SELECT s.setting,
       CASE s.source WHEN 'database user' THEN format('for role %%I in database %%I', session_user, current_database())
                     WHEN 'user' THEN format('for role %%I', session_user)
                     WHEN 'database' THEN format('for database %%I', current_database())
                     WHEN 'global' THEN 'for all roles'
                     WHEN 'client' THEN 'by the URL, PGOPTIONS or a service file'
                     ELSE 'for the server' END AS place,
       CASE s.source WHEN 'database user'
                     THEN format('ALTER ROLE %%I IN DATABASE %%I RESET %%I', session_user, current_database(), s.name)
                     WHEN 'user' THEN format('ALTER ROLE %%I RESET %%I', session_user, s.name)
                     WHEN 'database' THEN format('ALTER DATABASE %%I RESET %%I', current_database(), s.name)
                     WHEN 'global' THEN format('ALTER ROLE ALL RESET %%I', s.name)
                     WHEN 'client' THEN 'take it out of there'
                     ELSE format(E'ALTER SYSTEM SET %%I = %%s;\nSELECT pg_reload_conf();', s.name, %(good)s::text)
       END AS remedy
  FROM pg_settings AS s WHERE s.name = %(setting)s AND s.setting <> %(good)s

-- name: may_checkpoint
-- Result: whether this role may run CHECKPOINT. To ask costs nothing; to be refused is an error in the server's log.
SELECT rolsuper OR coalesce(pg_has_role((SELECT oid FROM pg_roles WHERE rolname = 'pg_checkpoint'), 'USAGE'), false)
  FROM pg_roles WHERE rolname = current_user

-- name: table_sizes
-- Parameters: schema. Result: table name, blocks, of the shared tables and of every session's own.
SELECT relname AS table, coalesce(pg_relation_size(oid), 0) / current_setting('block_size')::int AS blocks
  FROM pg_class
 WHERE (relnamespace = to_regnamespace(quote_ident(%(schema)s)) OR relpersistence = 't') AND relkind = 'r'
   AND relname ~ '^cf[12]_[1-9][0-9]*$'

-- name: autovacuum_not
-- Parameters: schema; on, whether autovacuum is to work on the tables that have an index.
-- Result: the number of each of these tables whose storage parameter says otherwise.
SELECT substr(relname, 5)::int FROM pg_class
 WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r' AND relname ~ '^cf1_[1-9][0-9]*$'
   AND coalesce('autovacuum_enabled=false' = ANY (reloptions), false) = %(on)s

-- name: table_files
-- Parameters: schema. Result: path of the first file of each shared table, below the data directory.
SELECT pg_relation_filepath(oid) FROM pg_class
 WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r' AND relname ~ '^cf[12]_[1-9][0-9]*$'

-- name: sessions
-- Parameters: application LIKE pattern. Result: pid, application name; of our database, as the lock is the database's.
SELECT pid, application_name FROM pg_stat_activity
 WHERE application_name LIKE %(application)s AND pid <> pg_backend_pid() AND datname = current_database()

-- name: lock
-- Parameters: key. Result: whether the lock was free and is now held by this connection.
SELECT pg_try_advisory_lock(%(key)s::bigint) AS held

-- name: lock_holder
-- Parameters: key. Result: application name and pid of the holder.
SELECT a.application_name, a.pid, a.backend_start::text AS since
  FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
 WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.classid = (%(key)s::bigint >> 32)::int::oid AND l.objid = (%(key)s::bigint & 4294967295)::bigint::oid

-- name: neighbours
-- Result: database and application name of each load or run of this product in other databases of the server.
SELECT datname, application_name FROM pg_stat_activity
 WHERE application_name LIKE 'slob/%% by pid %%' AND datname <> current_database()
 ORDER BY datname

-- name: processes
-- Result: pid; kind, with our samplers apart, and the test's sessions apart from other clients.
SELECT pid, CASE WHEN datname = current_database() AND application_name IN ('slob/counters', 'slob/waits') THEN 'sampler'
                 WHEN backend_type = 'client backend'
                      AND NOT (datname = current_database() AND application_name LIKE 'slob/%%') THEN 'other client'
                 ELSE backend_type END
  FROM pg_stat_activity WHERE backend_type IS NOT NULL
