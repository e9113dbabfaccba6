-- Purpose:  the manifest: one row that says what was loaded. Without verified_at the load is not complete.
-- Versions: PostgreSQL 13 and later.
-- Placeholders (quoted by the driver): manifest.

-- name: create
CREATE TABLE {manifest} (
    fingerprint   text NOT NULL,         -- digest of the four columns below
    schemas       int NOT NULL,
    scale_blocks  bigint NOT NULL,
    scan_blocks   bigint NOT NULL,
    obfuscate     boolean NOT NULL,
    compressible  int,                   -- share of the text that is constant all the same; none in manifests of before
    placement_key bigint NOT NULL,       -- key of the permutation that placed the rows
    tool_version  text NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    verified_at   timestamptz,
    blocks        jsonb                  -- table name to blocks, when it was verified
);

-- name: begin
INSERT INTO {manifest} (fingerprint, schemas, scale_blocks, scan_blocks, obfuscate, compressible, placement_key,
                        tool_version)
VALUES (%(fingerprint)s, %(schemas)s, %(scale_blocks)s, %(scan_blocks)s, %(obfuscate)s, %(compressible)s,
        %(placement_key)s, %(tool_version)s);

-- name: verified
UPDATE {manifest} SET verified_at = clock_timestamp(), blocks = %(blocks)s;

-- name: exists
-- Result: exists.
SELECT to_regclass(%(manifest)s) IS NOT NULL AS exists;

-- name: read
-- Result: the specification; verified; loaded_at, UTC; blocks when verified.
SELECT schemas, scale_blocks, scan_blocks, obfuscate, (to_jsonb(m) ->> 'compressible')::int AS compressible,
       verified_at IS NOT NULL AS verified,
       to_char(coalesce(verified_at, started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS loaded_at,
       coalesce(blocks, '{{}}') AS blocks
FROM {manifest} m;

-- name: blocks_now
-- Result: name, blocks of each of our tables as they are now.
SELECT relname AS name, pg_relation_size(oid) / current_setting('block_size')::int AS blocks
FROM pg_class
WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r'
  AND relname ~ '^cf[12]_[1-9][0-9]*$';

-- name: altered
-- Result: name, what is missing of each of our tables that is not as the load made it.
SELECT name, CASE WHEN columns < 20 THEN 'columns are missing or of another type'
                  ELSE 'its unique index on custid is missing or not valid' END AS missing
FROM (SELECT c.relname AS name,
             (SELECT count(*) FROM pg_attribute a
               WHERE a.attrelid = c.oid AND NOT a.attisdropped
                 AND (a.attname = 'custid' AND a.atttypid = 'bigint'::regtype
                      OR a.attname ~ '^c([2-9]|1[0-9]|20)$' AND a.atttypid = 'varchar'::regtype)) AS columns,
             EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'custid'
                      WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indisready
                        AND i.indnatts = 1 AND i.indkey[0] = a.attnum AND i.indpred IS NULL) AS indexed
        FROM pg_class c
       WHERE c.relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND c.relkind = 'r'
         AND c.relname ~ '^cf[12]_[1-9][0-9]*$') tables
WHERE columns < 20 OR NOT indexed AND name LIKE 'cf1%%';
