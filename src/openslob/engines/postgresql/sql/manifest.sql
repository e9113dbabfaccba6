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
    placement_key bigint NOT NULL,       -- key of the permutation that placed the rows
    tool_version  text NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    verified_at   timestamptz,
    blocks        jsonb                  -- table name to blocks, when it was verified
);

-- name: begin
INSERT INTO {manifest} (fingerprint, schemas, scale_blocks, scan_blocks, obfuscate, placement_key, tool_version)
VALUES (%(fingerprint)s, %(schemas)s, %(scale_blocks)s, %(scan_blocks)s, %(obfuscate)s, %(placement_key)s,
        %(tool_version)s);

-- name: verified
UPDATE {manifest} SET verified_at = clock_timestamp(), blocks = %(blocks)s;

-- name: exists
-- Result: exists.
SELECT to_regclass(%(manifest)s) IS NOT NULL AS exists;

-- name: read
-- Result: the specification; verified; loaded_at, UTC; blocks when verified.
SELECT schemas, scale_blocks, scan_blocks, obfuscate, verified_at IS NOT NULL AS verified,
       to_char(coalesce(verified_at, started_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS loaded_at,
       coalesce(blocks, '{{}}') AS blocks
FROM {manifest};

-- name: blocks_now
-- Result: name, blocks of each of our tables as they are now.
SELECT relname AS name, pg_relation_size(oid) / current_setting('block_size')::int AS blocks
FROM pg_class
WHERE relnamespace = to_regnamespace(quote_ident(%(schema)s)) AND relkind = 'r'
  AND relname ~ '^cf[12]_[1-9][0-9]*$';
