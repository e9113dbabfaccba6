-- Purpose:  filling the tables.
-- Versions: PostgreSQL 13 and later.
-- Placeholders (quoted by the driver): table; text, a literal.

-- name: session
-- A backend must notice when its client was killed. A small sample is enough for keys that are all different, where the
-- default would read 30,000 blocks. The kernel writes blocks while the load goes on, so that the sync of the commit has
-- little left to write (a quarter of the time of a single load). VACUUM does not rest. Rows have places in blocks, which
-- the checks read: other access methods have none.
SET lock_timeout = '60s';
SELECT set_config(name, '1s', false)
  FROM pg_settings  -- which has it since 14
 WHERE name = 'client_connection_check_interval';
SET vacuum_cost_delay = 0;
SET default_table_access_method = heap;
SET default_statistics_target = 10;
SET backend_flush_after = 256;

-- name: enter
-- Each loading session holds this lock, so that a removal or the next load can wait until all of them have ended.
SELECT pg_advisory_lock_shared(%(lock)s);

-- name: wait_for_loaders
-- Waits for sessions of a killed load that still work: their tables are invisible until they commit or roll back.
SELECT pg_advisory_lock(%(lock)s), pg_advisory_unlock(%(lock)s);

-- name: copy_rows
-- Frozen rows leave nothing for the first reader to write: no hint bits, no visibility map.
COPY {table} FROM STDIN (FORMAT binary, FREEZE);

-- name: copy_keys
COPY {table} (custid) FROM STDIN (FORMAT binary, FREEZE);

-- name: set_text
-- The values of columns that are not sent; `unset_text` follows in the same transaction.
ALTER TABLE {table}
    ALTER c2 SET DEFAULT {text}, ALTER c3 SET DEFAULT {text}, ALTER c4 SET DEFAULT {text},
    ALTER c5 SET DEFAULT {text}, ALTER c6 SET DEFAULT {text}, ALTER c7 SET DEFAULT {text},
    ALTER c8 SET DEFAULT {text}, ALTER c9 SET DEFAULT {text}, ALTER c10 SET DEFAULT {text},
    ALTER c11 SET DEFAULT {text}, ALTER c12 SET DEFAULT {text}, ALTER c13 SET DEFAULT {text},
    ALTER c14 SET DEFAULT {text}, ALTER c15 SET DEFAULT {text}, ALTER c16 SET DEFAULT {text},
    ALTER c17 SET DEFAULT {text}, ALTER c18 SET DEFAULT {text}, ALTER c19 SET DEFAULT {text},
    ALTER c20 SET DEFAULT {text};

-- name: unset_text
ALTER TABLE {table}
    ALTER c2 DROP DEFAULT, ALTER c3 DROP DEFAULT, ALTER c4 DROP DEFAULT, ALTER c5 DROP DEFAULT, ALTER c6 DROP DEFAULT,
    ALTER c7 DROP DEFAULT, ALTER c8 DROP DEFAULT, ALTER c9 DROP DEFAULT, ALTER c10 DROP DEFAULT,
    ALTER c11 DROP DEFAULT, ALTER c12 DROP DEFAULT, ALTER c13 DROP DEFAULT, ALTER c14 DROP DEFAULT,
    ALTER c15 DROP DEFAULT, ALTER c16 DROP DEFAULT, ALTER c17 DROP DEFAULT, ALTER c18 DROP DEFAULT,
    ALTER c19 DROP DEFAULT, ALTER c20 DROP DEFAULT;

-- name: vacuum
VACUUM (ANALYZE) {table};

-- name: server
-- Result: block_size; log_bytes, the most log that a load leaves, 0 if it is not logged; directory of new tables, null when
-- this role may not see it; held_bytes, what our tables and their indexes take now.
SELECT current_setting('block_size')::int AS block_size,
       CASE current_setting('wal_level') WHEN 'minimal' THEN 0
            ELSE pg_size_bytes(current_setting('max_wal_size')) END AS log_bytes,
       (SELECT coalesce(nullif(pg_tablespace_location(t.oid), ''), s.setting)
        FROM pg_database d
        JOIN pg_tablespace t ON CASE current_setting('default_tablespace') WHEN '' THEN t.oid = d.dattablespace
                                     ELSE t.spcname = current_setting('default_tablespace') END
        LEFT JOIN pg_settings s ON s.name = 'data_directory'
        WHERE d.datname = current_database()) AS directory,
       (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r'
          AND relname ~ '^cf[12]_[1-9][0-9]*$') AS held_bytes;
