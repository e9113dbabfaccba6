-- Purpose:  the tables that prove what the server keeps: which operations a client's sessions committed.
-- Versions: PostgreSQL 13 and later.
-- Placeholders (quoted by the driver): sessions, rows, heartbeat, identifiers; repeats, session, key, number, literals.
--
-- The text of a row is made of the operation's number, so that a page of which only a part was written shows. Two versions
-- of a row fit into a block, and no second row does.

-- name: create
CREATE TABLE {sessions} (session int PRIMARY KEY, number bigint NOT NULL, times bigint NOT NULL, server_ns bigint NOT NULL);
CREATE TABLE {rows} (
    session int, key int, number bigint NOT NULL, times bigint NOT NULL, server_ns bigint NOT NULL, filler text NOT NULL,
    PRIMARY KEY (session, key)
) WITH (fillfactor = 10);
ALTER TABLE {rows} ALTER filler SET STORAGE PLAIN;
CREATE TABLE {heartbeat} (id int PRIMARY KEY, number bigint NOT NULL, times bigint NOT NULL, server_ns bigint NOT NULL)

-- name: fill_sessions
INSERT INTO {sessions} SELECT session, 0, 0, 0 FROM generate_series(0, %(sessions)s - 1) AS session

-- name: fill_rows
INSERT INTO {rows}
SELECT session, key, 0, 0, 0, repeat(lpad('0', 16, '0'), {repeats})
  FROM generate_series(0, %(sessions)s - 1) AS session, generate_series(0, %(rows)s - 1) AS key

-- name: drop
DROP TABLE IF EXISTS {sessions}, {rows}, {heartbeat}

-- name: commit
-- In one message, so that its answer comes after one round trip. now() is the same in the whole transaction.
-- Results: of the second UPDATE, server_ns; of the SELECT, the clock after the commit.
BEGIN;
UPDATE {rows} SET number = {number}, times = times + 1, server_ns = (extract(epoch FROM now()) * 1000000)::bigint * 1000,
       filler = repeat(lpad({number}::text, 16, '0'), {repeats})
 WHERE session = {session} AND key = {key};
UPDATE {sessions} SET number = {number}, times = times + 1, server_ns = (extract(epoch FROM now()) * 1000000)::bigint * 1000
 WHERE session = {session} RETURNING server_ns;
COMMIT;
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000

-- name: read_session
-- Result: whether the server is a standby; number, times, server_ns of one session.
SELECT pg_is_in_recovery(), number, times, server_ns FROM {sessions} WHERE session = {session}

-- name: clock
-- Result: ns since the epoch.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000

-- name: block_size
-- Result: bytes.
SELECT current_setting('block_size')::int

-- name: scan
-- The table itself is read, not its index.
SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off

-- name: read_sessions
-- Result: session, number, times, server_ns.
SELECT session, number, times, server_ns FROM {sessions}

-- name: read_rows
-- Result: session, key, number, times, server_ns.
SELECT session, key, number, times, server_ns FROM {rows}

-- name: torn
-- Result: session, key, number and the begin of the text, of rows whose text is not that of their number.
SELECT session, key, number, left(filler, 16) FROM {rows}
 WHERE filler <> repeat(lpad(number::text, 16, '0'), {repeats}) ORDER BY session, key

-- name: doubled
-- Result: session, key (NULL: the session's own row) and versions, of rows that are there more than once.
SELECT session, key, count(*) FROM {rows} GROUP BY session, key HAVING count(*) > 1
 UNION ALL
SELECT session, NULL, count(*) FROM {sessions} GROUP BY session HAVING count(*) > 1
 ORDER BY 1, 2

-- name: checkpoint
CHECKPOINT

-- name: relations
-- Result: quoted name of every table of this database that this role may read. Long values are read with their rows.
SELECT oid::regclass::text FROM pg_class
 WHERE relkind IN ('r', 'm') AND relpersistence = 'p' AND has_table_privilege(oid, 'SELECT') ORDER BY oid

-- name: read_all
-- Every row is taken apart, so that every page is read and its checksum verified.
SELECT sum(length(each::text)) FROM {relation} AS each

-- name: count_in_table
-- Result: rows by the pages of the table.
SELECT count(*) FROM {relation}

-- name: count_by_index
-- Result: rows by the index; after enable_seqscan = off.
SELECT count(*) FROM {relation} WHERE session >= 0

-- name: no_seqscan
SET enable_seqscan = off; SET enable_indexscan = on; SET enable_indexonlyscan = off; SET enable_bitmapscan = off

-- name: settings
-- Result: name, value.
SELECT name, setting FROM pg_settings
 WHERE name IN ('fsync', 'synchronous_commit', 'wal_sync_method', 'full_page_writes', 'data_checksums',
                'synchronous_standby_names')
   AND setting <> ''
 ORDER BY name

-- name: guards
-- Result: whether pages have checksums; whether this role can use the module that compares tables
-- and indexes, which since version 14 checks tables, too.
SELECT current_setting('data_checksums') = 'on',
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'amcheck')
       AND current_setting('server_version_num')::int >= 140000
       AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AND NOT pg_is_in_recovery()

-- name: use_amcheck
-- In a transaction that is rolled back.
CREATE EXTENSION IF NOT EXISTS amcheck

-- name: amcheck_tables
-- Result: what is wrong, with the table's name.
SELECT c.oid::regclass || ': ' || v.msg
  FROM pg_class AS c, LATERAL verify_heapam(c.oid) AS v
 WHERE c.relkind IN ('r', 't', 'm') AND c.relpersistence = 'p'

-- name: amcheck_indexes
-- Raises an error for the first index that is damaged.
SELECT bt_index_check(i.indexrelid, true)
  FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS a ON a.oid = c.relam
 WHERE a.amname = 'btree' AND c.relpersistence = 'p' AND i.indisready AND i.indisvalid

-- name: write_heartbeat
INSERT INTO {heartbeat} VALUES
    (1, %(number)s, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000)
ON CONFLICT (id) DO UPDATE SET number = excluded.number, times = {heartbeat}.times + 1, server_ns = excluded.server_ns

-- name: read_heartbeat
-- Result: number, times, server_ns.
SELECT number, times, server_ns FROM {heartbeat}
