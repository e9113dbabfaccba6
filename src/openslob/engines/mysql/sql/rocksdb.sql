-- Purpose:  what RocksDB does before and after a load and a run.
-- Versions: MariaDB 10.6 and later with the plugin ha_rocksdb.

-- name: compact
-- Merges all files of the column family that tables are in unless they name another one. Requires SUPER.
SET GLOBAL rocksdb_compact_cf = 'default'

-- name: flush
-- Requires SUPER. The like of it that merges the new files, too (…_and_lzero_now), compresses them whatever the tables' options say.
SET GLOBAL rocksdb_force_flush_memtable_now = 1

-- name: pending
-- Result: pending, flushes and compactions that are due.
SELECT CAST(COALESCE(SUM(value), 0) AS SIGNED) AS pending FROM information_schema.rocksdb_cfstats
WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')
