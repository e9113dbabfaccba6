-- Purpose:  the manifest: one row that says what was loaded, and the blocks of each table when that was verified. Without
--           verified_at the load is not complete.
-- Versions: Oracle Database 11.2 to 26ai.
-- Placeholders: manifest, tables (the two tables).

-- name: create
CREATE TABLE {manifest} (
    fingerprint   VARCHAR2(64) NOT NULL,
    spec          VARCHAR2(4000) NOT NULL, -- JSON
    placement_key NUMBER NOT NULL,         -- key of the permutation that placed the rows
    tool_version  VARCHAR2(64) NOT NULL,
    started_at    VARCHAR2(32) NOT NULL,
    verified_at   VARCHAR2(32)
)

-- name: create_tables
CREATE TABLE {tables} (table_name VARCHAR2(64) NOT NULL, blocks NUMBER NOT NULL)

-- name: begin
INSERT INTO {manifest} (fingerprint, spec, placement_key, tool_version, started_at)
VALUES (:fingerprint, :spec, :placement_key, :tool_version, :started_at)

-- name: enter
INSERT INTO {tables} (table_name, blocks) VALUES (:1, :2)

-- name: verified
UPDATE {manifest} SET verified_at = :verified_at

-- name: read
SELECT m.spec, m.started_at, m.verified_at FROM {manifest} m

-- name: blocks
-- Result: blocks when verified.
SELECT t.table_name, t.blocks FROM {tables} t

-- name: blocks_now
-- Result: blocks of the extents of each table, which need no statistics. A table without a row may have none.
SELECT t.table_name, NVL(s.blocks, 0) AS blocks
  FROM user_tables t LEFT JOIN user_segments s ON s.segment_name = t.table_name AND s.segment_type = 'TABLE'
 WHERE t.table_name LIKE 'CF1\_%' ESCAPE '\' OR t.table_name LIKE 'CF2\_%' ESCAPE '\'

-- name: columns
-- Result: the columns that the load made, of each table.
SELECT c.table_name, COUNT(*) AS columns_there FROM user_tab_columns c
 WHERE (c.table_name LIKE 'CF1\_%' ESCAPE '\' OR c.table_name LIKE 'CF2\_%' ESCAPE '\')
   AND (c.column_name = 'CUSTID' OR c.column_name IN ('C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8', 'C9', 'C10', 'C11', 'C12', 'C13',
                                                      'C14', 'C15', 'C16', 'C17', 'C18', 'C19', 'C20'))
 GROUP BY c.table_name

-- name: indexed
-- Result: tables with a valid unique index on custid.
SELECT i.table_name FROM user_indexes i JOIN user_ind_columns k ON k.index_name = i.index_name
 WHERE i.table_name LIKE 'CF1\_%' ESCAPE '\' AND i.uniqueness = 'UNIQUE' AND i.status = 'VALID'
   AND k.column_position = 1 AND k.column_name = 'CUSTID'
