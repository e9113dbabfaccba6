-- Purpose:  the manifest: one row that says what was loaded. Without verified_at the load is not complete.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): manifest.

-- name: create
CREATE TABLE {manifest} (
    fingerprint   VARCHAR(64) NOT NULL PRIMARY KEY,    -- digest of the four columns below
    schema_count  INT NOT NULL,
    scale_blocks  BIGINT NOT NULL,
    scan_blocks   BIGINT NOT NULL,
    obfuscate     BOOLEAN NOT NULL,
    compressible  INT,                     -- share of the text that is constant all the same
    placement_key BIGINT NOT NULL,         -- key of the permutation that placed the rows
    tool_version  VARCHAR(64) NOT NULL,
    made_database BOOLEAN NOT NULL,        -- whether this load created it: only then it is dropped with the data
    started_at    DATETIME NOT NULL,
    verified_at   DATETIME,
    verified_on   VARCHAR(512),            -- server that has these blocks; a replica may have other numbers
    blocks        LONGTEXT                 -- JSON: how they were counted, to table name, to blocks, when verified
) ENGINE = InnoDB

-- name: begin
INSERT INTO {manifest} (fingerprint, schema_count, scale_blocks, scan_blocks, obfuscate, compressible, placement_key,
                        tool_version, made_database, started_at)
VALUES (%(fingerprint)s, %(schemas)s, %(scale_blocks)s, %(scan_blocks)s, %(obfuscate)s, %(compressible)s,
        %(placement_key)s, %(tool_version)s, %(made_database)s, UTC_TIMESTAMP())

-- name: verified
UPDATE {manifest} SET verified_at = UTC_TIMESTAMP(), blocks = %(blocks)s,
                      verified_on = CONCAT_WS(' ', @@hostname, @@port, @@datadir)

-- name: read
-- Result: the specification; verified; loaded_at, UTC; blocks when verified; made_database; copied, whether the tables
-- were verified on another server.
SELECT schema_count, scale_blocks, scan_blocks, obfuscate, verified_at IS NOT NULL AS verified,
       CONCAT(REPLACE(COALESCE(verified_at, started_at), ' ', 'T'), 'Z') AS loaded_at, COALESCE(blocks, '{{}}') AS blocks,
       made_database, verified_on <> CONCAT_WS(' ', @@hostname, @@port, @@datadir) AS copied
FROM {manifest}

-- name: compressible
-- Result: compressible. Manifests of earlier versions have no such column.
SELECT compressible FROM {manifest}

-- name: leaf_pages
-- Pages of the tree's lowest level, where the rows are, as last analysed. Overflow pages would be counted too.
-- MariaDB 10.11 reports 1 for a tree of fewer pages than it samples (20). The pages of such a small tree are allocated one
-- by one, so all but the root are of the lowest level.
-- Result: name, blocks of each of our tables.
SELECT l.table_name AS name,
       CAST(IF(l.stat_value = 1 AND s.stat_value > 1, s.stat_value - 1, l.stat_value) AS SIGNED) AS blocks
FROM mysql.innodb_index_stats l JOIN mysql.innodb_index_stats s USING (database_name, table_name, index_name)
WHERE l.database_name = %(database)s AND l.table_name REGEXP '^cf[12]_[1-9][0-9]*$'
  AND l.index_name = 'PRIMARY' AND l.stat_name = 'n_leaf_pages' AND s.stat_name = 'size'

-- name: table_pages
-- For a user who may not read the statistics: all pages of the tree, with reserved empty ones; of another storage engine the
-- size of what it stores. Placeholder: block_size, a variable.
-- Result: as above.
SELECT table_name AS name, CAST(data_length DIV @@{block_size} AS SIGNED) AS blocks FROM information_schema.tables
WHERE table_schema = %(database)s AND table_name REGEXP '^cf[12]_[1-9][0-9]*$'

-- name: altered
-- Result: name, what is missing of each of our tables that is not as the load made it.
SELECT name, IF(columns < 22, 'columns are missing', 'its unique index on custid is missing') AS missing
FROM (SELECT t.table_name AS name,
             (SELECT COUNT(*) FROM information_schema.columns c
               WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
                 AND c.column_name REGEXP '^(id|custid|pad|c([2-9]|1[0-9]|20))$') AS columns,
             (SELECT COUNT(*) FROM information_schema.statistics s
               WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name
                 AND s.index_name = 'custid' AND s.column_name = 'custid' AND s.non_unique = 0) AS indexed
        FROM information_schema.tables t
       WHERE t.table_schema = %(database)s AND t.table_name REGEXP '^cf[12]_[1-9][0-9]*$') tables
WHERE columns < 22 OR indexed = 0 AND name LIKE 'cf1%%'
