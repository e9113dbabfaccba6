-- Purpose:  filling the tables.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): table; rows, a list of VALUES.

-- name: insert
INSERT INTO {table} (id, custid, {columns}, pad) VALUES {rows}

-- name: constants
-- The constant fill is a variable of the session, so that it is not sent with every row.
SET @value = REPEAT('X', %(value_bytes)s), @pad = NULLIF(REPEAT('X', %(pad_bytes)s), ''),
    @filler = REPEAT('X', %(filler_pad_bytes)s)

-- name: analyze
ANALYZE TABLE {table}

-- name: server
-- Placeholder: block_size, a variable. Result: block_size; packet_bytes, the longest statement that the server takes.
SELECT @@{block_size} AS block_size, @@max_allowed_packet AS packet_bytes

-- name: held
-- Result: bytes that our tables and their indexes take now.
SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS SIGNED) AS held_bytes FROM information_schema.tables
WHERE table_schema = %(database)s AND table_name REGEXP '^cf[12]_[1-9][0-9]*$'
