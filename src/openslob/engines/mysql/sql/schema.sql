-- Purpose:  the objects that hold a load, and their removal.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): database, table, manifest, roster; columns; engine, with its own options.

-- name: database_exists
-- Result: a row if the database is there and this user may see it.
SELECT schema_name FROM information_schema.schemata WHERE schema_name = %(database)s

-- name: use
-- Fails where this user has no right in the database, whether or not there is one.
USE {database}

-- name: create_database
CREATE DATABASE {database}

-- name: drop_database
DROP DATABASE {database}

-- name: create_table
-- A visited row has a custid and values of fixed length; a filler row (page_layout.py) has only `pad`. No column is
-- stored outside of the page, because every row is shorter than half a page. The load alone updates the statistics.
CREATE TABLE {table} (
    id     BIGINT NOT NULL PRIMARY KEY,
    custid BIGINT,
    {columns},
    pad    BLOB
) ENGINE = {engine} CHARACTER SET ascii COLLATE ascii_bin

-- name: create_index
ALTER TABLE {table} ADD UNIQUE INDEX custid (custid)

-- name: tables
-- Our tables, the manifest first: without it nothing counts as loaded.
-- Parameter tables, a pattern of their names. Result: name.
SELECT table_name AS name FROM information_schema.tables
WHERE table_schema = %(database)s AND table_name REGEXP %(tables)s
ORDER BY table_name <> 'manifest', table_name

-- name: routines
-- Result: name.
SELECT routine_name AS name FROM information_schema.routines
WHERE routine_schema = %(database)s AND routine_name REGEXP '^slice_[0-9]+(_[0-9]+)?$'
ORDER BY routine_name

-- name: drop_table
DROP TABLE IF EXISTS {table}

-- name: drop_routine
DROP PROCEDURE IF EXISTS {routine}

-- name: others
-- Result: a row if anything is in the database.
SELECT table_name AS name FROM information_schema.tables WHERE table_schema = %(database)s
UNION ALL SELECT routine_name FROM information_schema.routines WHERE routine_schema = %(database)s
UNION ALL SELECT event_name FROM information_schema.events WHERE event_schema = %(database)s
LIMIT 1
