-- Purpose:  the plans of the work loop's statements, as they are planned at each execution.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): table.
-- Result:   EXPLAIN's columns, which MySQL 9.5 and later give only when asked for.

-- name: select
EXPLAIN FORMAT=TRADITIONAL SELECT count(c2) FROM {table} FORCE INDEX (custid) WHERE custid BETWEEN 1 AND 64

-- name: update
EXPLAIN FORMAT=TRADITIONAL UPDATE {table} FORCE INDEX (custid) SET c2 = c2 WHERE custid BETWEEN 1 AND 64 LIMIT 64

-- name: scan
EXPLAIN FORMAT=TRADITIONAL SELECT count(c2) FROM {table}
