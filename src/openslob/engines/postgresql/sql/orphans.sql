-- Purpose:  files that a crash of the server left: of tables and indexes whose transaction was never finished.
-- Versions: PostgreSQL 13 and later.

-- name: may_look
-- Result: whether this role may list files and see since when others work. Not on a standby, which creates the files of
-- transactions of its primary.
SELECT has_function_privilege('pg_ls_dir(text, boolean, boolean)', 'EXECUTE')
       AND has_function_privilege('pg_stat_file(text, boolean)', 'EXECUTE')
       AND pg_has_role('pg_read_all_stats', 'USAGE') AND NOT pg_is_in_recovery() AS may_look

-- name: orphans
-- Result: number of files in this database's directories that no relation has; their bytes; the directories. Such a file
-- may belong to a transaction that has not ended. So only those count that were last written before the server took
-- connections, which is when it writes postmaster.pid, also after it recovered from the crash of a backend, and before
-- the oldest transaction began; and none while there are prepared transactions. Times of files are in whole seconds.
WITH known AS (
    SELECT (CASE relfilenode WHEN 0 THEN pg_relation_filenode(oid) ELSE relfilenode END)::text AS number FROM pg_class),
directories AS (
    SELECT place || d.oid AS directory
      FROM pg_database AS d,
           (SELECT 'base/' AS place
             UNION ALL
            SELECT 'pg_tblspc/' || t.oid || '/PG_' || current_setting('server_version_num')::int / 10000 || '_'
                   || (SELECT catalog_version_no FROM pg_control_system()) || '/'
              FROM pg_tablespace AS t WHERE spcname NOT IN ('pg_default', 'pg_global')) AS places
     WHERE datname = current_database()),
unknown AS MATERIALIZED (  -- few, if any: all others are not examined one by one
    SELECT directory, directory || '/' || file AS path
      FROM directories, pg_ls_dir(directory, true, false) AS file
     WHERE file ~ '^[0-9]+(_(fsm|vm|init))?([.][0-9]+)?$'
       AND NOT EXISTS (SELECT FROM known WHERE number = substring(file FROM '^[0-9]+'))),
began AS (
    SELECT (pg_stat_file('postmaster.pid', true)).modification AS server,
           date_trunc('second', min(xact_start)) AS transactions
      FROM pg_stat_activity)
SELECT count(*) AS files, coalesce(sum(size), 0)::bigint AS bytes,
       string_agg(DISTINCT coalesce((SELECT setting || '/' FROM pg_settings WHERE name = 'data_directory'), '')
                           || directory, ', ') AS directories
  FROM unknown, pg_stat_file(path, true), began
 WHERE size > 0 AND modification <= server AND modification < transactions
   AND NOT EXISTS (SELECT FROM pg_prepared_xacts)
