-- Purpose:  the objects that hold a load, and their removal.
-- Versions: PostgreSQL 13 and later.
-- Placeholders (quoted by the driver): schema, table, manifest identifiers; mark, a literal.

-- name: schema_exists
-- Result: exists.
SELECT to_regnamespace(quote_ident(%(schema)s)) IS NOT NULL AS exists;

-- name: create_schema
-- The comment marks a schema that a load created: only such a schema is dropped.
CREATE SCHEMA {schema};
COMMENT ON SCHEMA {schema} IS {mark};

-- name: create_table
-- One row to a block: with fillfactor 10 no second row fits under the fill limit, and updates find room beside the
-- row. Storage is plain, so that no value is compressed or moved out of the row. The load alone runs VACUUM.
CREATE TABLE {table} (
    custid bigint,
    c2 varchar(128), c3 varchar(128), c4 varchar(128), c5 varchar(128), c6 varchar(128), c7 varchar(128),
    c8 varchar(128), c9 varchar(128), c10 varchar(128), c11 varchar(128), c12 varchar(128), c13 varchar(128),
    c14 varchar(128), c15 varchar(128), c16 varchar(128), c17 varchar(128), c18 varchar(128), c19 varchar(128),
    c20 varchar(128)
) WITH (fillfactor = 10, autovacuum_enabled = false, toast.autovacuum_enabled = false);
ALTER TABLE {table}
    ALTER c2 SET STORAGE PLAIN, ALTER c3 SET STORAGE PLAIN, ALTER c4 SET STORAGE PLAIN, ALTER c5 SET STORAGE PLAIN,
    ALTER c6 SET STORAGE PLAIN, ALTER c7 SET STORAGE PLAIN, ALTER c8 SET STORAGE PLAIN, ALTER c9 SET STORAGE PLAIN,
    ALTER c10 SET STORAGE PLAIN, ALTER c11 SET STORAGE PLAIN, ALTER c12 SET STORAGE PLAIN,
    ALTER c13 SET STORAGE PLAIN, ALTER c14 SET STORAGE PLAIN, ALTER c15 SET STORAGE PLAIN,
    ALTER c16 SET STORAGE PLAIN, ALTER c17 SET STORAGE PLAIN, ALTER c18 SET STORAGE PLAIN,
    ALTER c19 SET STORAGE PLAIN, ALTER c20 SET STORAGE PLAIN;

-- name: autovacuum_on
-- As the server is set.
ALTER TABLE {table} RESET (autovacuum_enabled);

-- name: autovacuum_off
ALTER TABLE {table} SET (autovacuum_enabled = false);

-- name: create_index
CREATE UNIQUE INDEX ON {table} (custid);

-- name: objects
-- What loads and runs created, the manifest first: without it nothing counts as loaded.
-- Result: name; the statement that removes it, with identifiers quoted by the server.
SELECT name, statement FROM (
    SELECT relname AS name, format('DROP TABLE %%I.%%I', %(schema)s::text, relname) AS statement
    FROM pg_class
    WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r'
      AND (relname = 'manifest' OR relname ~ '^(cf[12]_[1-9][0-9]*|ledger_(sessions|rows|heartbeat))$')
    UNION ALL
    SELECT proname, format('DROP ROUTINE %%s', oid::regprocedure)
    FROM pg_proc
    WHERE pronamespace = to_regnamespace(quote_ident(%(schema)s)) AND proname ~ '^(slice_[0-9]+(_[0-9]+)?|nap)$'
) objects
ORDER BY name <> 'manifest', name;

-- name: empty_schema_of_ours
-- Result: a row if the schema has our comment and nothing is in it.
SELECT nspname
FROM pg_namespace n
WHERE nspname = %(schema)s AND obj_description(oid, 'pg_namespace') = %(mark)s
  AND NOT EXISTS (SELECT FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = n.oid);

-- name: drop_schema
DROP SCHEMA {schema};
