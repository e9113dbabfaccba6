-- Purpose:  what prepares the server for the window.
-- Versions: Oracle Database 11.2 to 26ai.
-- Placeholders: table, index.

-- name: through_cache
-- Scans of large tables would go past the cache. Needs no right.
ALTER SESSION SET "_serial_direct_read" = NEVER

-- name: serial
ALTER SESSION DISABLE PARALLEL QUERY

-- name: warm
-- Visits every active row through the index, as the work loop does.
SELECT /*+ INDEX(t {index}) NO_PARALLEL(t) NO_RESULT_CACHE */ COUNT(t.c2) AS n FROM {table} t WHERE t.custid <= :scale

-- name: warm_scan
SELECT /*+ FULL(t) NO_PARALLEL(t) NO_RESULT_CACHE */ COUNT(t.c2) AS n FROM {table} t

-- name: reads
-- Needs SELECT on V_$MYSTAT and V_$STATNAME.
-- Result: blocks that this session has read from storage.
SELECT m.value AS blocks FROM v$mystat m JOIN v$statname n ON n.statistic# = m.statistic# WHERE n.name = 'physical reads'

-- name: checkpoint
-- Needs ALTER SYSTEM. Of all instances.
ALTER SYSTEM CHECKPOINT

-- name: rds_checkpoint
-- Amazon RDS gives nobody ALTER SYSTEM, and its master user this. Elsewhere there is no such package (PLS-00201).
BEGIN
    rdsadmin.rdsadmin_util.checkpoint;
END;
