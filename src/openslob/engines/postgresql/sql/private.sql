-- Purpose:  the local path: temporary tables, which a session reads through local buffers that no other session sees.
-- Versions: PostgreSQL 15 and later.
-- Placeholders (quoted by the driver): table.

-- name: buffers
-- As much memory for all sessions together as the shared cache has, so that both paths can cache the same share of data.
-- Parameters: sessions. Result: blocks of temp_buffers for each; the server's minimum is 100.
SELECT greatest(100, pg_size_bytes(current_setting('shared_buffers'))
                     / current_setting('block_size')::int / %(sessions)s)::int AS blocks;

-- name: set_buffers
-- Only before the session's first temporary table. Parameters: blocks.
SELECT set_config('temp_buffers', %(blocks)s::text, false);

-- name: pass
-- Reads the whole table: blocks that the load left dirty in the local buffers are written before the window, and a table
-- that fits into the buffers is in them.
SELECT count(c2) FROM {table};

-- name: storage
-- Result: may_create, whether this role may make temporary tables; directory of such tables, null when this role
-- may not see it or temp_tablespaces names several.
SELECT has_database_privilege(current_database(), 'TEMPORARY') AS may_create,
       current_database() AS database,
       current_user AS role,
       (SELECT coalesce(nullif(pg_tablespace_location(t.oid), ''), s.setting)
        FROM pg_database d
        JOIN pg_tablespace t ON CASE current_setting('temp_tablespaces') WHEN '' THEN t.oid = d.dattablespace
                                     ELSE t.spcname = current_setting('temp_tablespaces') END
        LEFT JOIN pg_settings s ON s.name = 'data_directory'
        WHERE d.datname = current_database()) AS directory;
