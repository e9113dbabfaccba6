-- Purpose:  the tablespace that the test tables go to: its block size, the room in it, and whether it forces redo.
-- Versions: Oracle Database 11.2 to 26ai.

-- name: tablespace
-- By name, in whatever case it is written, or the user's default one for NULL.
-- Result: block_size is the tablespace's, which need not be the database's; owner is this user.
SELECT t.tablespace_name, t.block_size, t.force_logging, t.bigfile, USER AS owner
  FROM user_tablespaces t
 WHERE UPPER(t.tablespace_name) = UPPER(NVL(:name, (SELECT u.default_tablespace FROM user_users u)))

-- name: quota
-- Result: no row without a quota; max_bytes is -1 for one without limit.
SELECT q.bytes, q.max_bytes FROM user_ts_quotas q WHERE q.tablespace_name = :name

-- name: unlimited
-- A right that makes quotas irrelevant: such a user has none in USER_TS_QUOTAS.
SELECT p.privilege FROM session_privs p WHERE p.privilege = 'UNLIMITED TABLESPACE'

-- name: held
-- Result: bytes of our tables and indexes in it now, which the next load removes.
SELECT NVL(SUM(s.bytes), 0) AS held_bytes FROM user_segments s
 WHERE s.tablespace_name = :name AND (s.segment_name LIKE 'CF1\_%' ESCAPE '\' OR s.segment_name LIKE 'CF2\_%' ESCAPE '\')

-- name: free
SELECT NVL(SUM(f.bytes), 0) AS free_bytes FROM user_free_space f WHERE f.tablespace_name = :name

-- name: growth
-- Needs SELECT on DBA_DATA_FILES.
SELECT NVL(SUM(GREATEST(d.maxbytes - d.bytes, 0)), 0) AS growth_bytes FROM dba_data_files d
 WHERE d.tablespace_name = :name AND d.autoextensible = 'YES'

-- name: force_logging
-- Needs SELECT on V_$DATABASE.
SELECT d.force_logging FROM v$database d
