-- Purpose:  figures of a loaded table, for the checks that follow every load.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): table. Parameters database, name: the table's.

-- name: relation
-- Result: estimated_rows, by the statistics; unique_indexes, unique indexes on custid alone.
SELECT t.table_rows AS estimated_rows,
       (SELECT COUNT(*) FROM information_schema.statistics s
        WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.index_name = 'custid'
          AND s.non_unique = 0 AND s.seq_in_index = 1 AND s.column_name = 'custid') AS unique_indexes
FROM information_schema.tables t WHERE t.table_schema = %(database)s AND t.table_name = %(name)s

-- name: keys
-- Result: visited, rows with a key; fillers; lowest and highest key; misplaced, rows of either kind at a wrong position in a page.
SELECT COUNT(custid) AS visited, COUNT(*) - COUNT(custid) AS fillers, COALESCE(MIN(custid), 0) AS lowest,
       COALESCE(MAX(custid), 0) AS highest,
       CAST(COALESCE(SUM((id %% %(rows_per_page)s = 0) <> (custid IS NOT NULL)), 0) AS SIGNED) AS misplaced
FROM {table}

-- name: placement
-- Parameters: first, beyond: the stretch of pages to check, by the surrogate key.
-- Result: pairs, visited rows with one before them; adjacent, those whose key is next to that of the page before.
SELECT COUNT(key_step) AS pairs, CAST(COALESCE(SUM(ABS(key_step) = 1), 0) AS SIGNED) AS adjacent
FROM (SELECT custid - LAG(custid) OVER (ORDER BY id) AS key_step FROM {table}
      WHERE custid IS NOT NULL AND id >= %(first)s AND id < %(beyond)s) AS stepped
