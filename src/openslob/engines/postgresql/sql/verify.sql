-- Purpose:  figures of a loaded table, for the checks that follow every load.
-- Versions: PostgreSQL 13 and later.
-- Placeholders (quoted by the driver): table. Parameter relation: its quoted name.

-- name: relation
-- Result: blocks; all_visible, blocks the visibility map calls so; estimated_rows, by the statistics; analyzed,
-- columns that have statistics; unique_indexes, valid unique indexes on custid alone.
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int AS blocks,
       c.relallvisible AS all_visible,
       c.reltuples AS estimated_rows,
       (SELECT count(*) FROM pg_stats s
        WHERE s.schemaname = n.nspname AND s.tablename = c.relname) AS analyzed,
       (SELECT count(*) FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'custid'
        WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indisready
          AND i.indnatts = 1 AND i.indkey[0] = a.attnum AND i.indpred IS NULL) AS unique_indexes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass(%(relation)s);

-- name: keys
-- An index-only scan where there is an index, as every block is all-visible.
-- Result: rows; lowest; highest.
SELECT count(*) AS rows, coalesce(min(custid), 0) AS lowest, coalesce(max(custid), 0) AS highest FROM {table};

-- name: placement
-- Parameters: first, beyond: the stretch of blocks to check, as tids.
-- Result: rows; most_in_block, rows of the fullest block; pairs, rows with one before them; adjacent, those of them
-- whose key is next to the key of the block before.
WITH placed AS (
    SELECT (ctid::text::point)[0]::bigint AS block, custid
    FROM {table} WHERE ctid >= %(first)s::tid AND ctid < %(beyond)s::tid
), stepped AS (
    SELECT block - lag(block) OVER w AS block_step, custid - lag(custid) OVER w AS key_step,
           count(*) OVER (PARTITION BY block) AS in_block
    FROM placed WINDOW w AS (ORDER BY block, custid)
)
SELECT count(*) AS rows, coalesce(max(in_block), 0) AS most_in_block, count(block_step) AS pairs,
       count(*) FILTER (WHERE block_step <= 1 AND abs(key_step) = 1) AS adjacent
FROM stepped;
