-- Purpose:  the tables that prove what the server keeps: which operations a client's sessions committed.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): sessions, rows, heartbeat; bytes, repeats, session, key, number, numbers.
--
-- The text of a row is made of the operation's number, so that a page of which only a part was written shows. Two rows
-- share a page.

-- name: drop
DROP TABLE IF EXISTS {sessions}, {rows}, {heartbeat}

-- name: create_sessions
CREATE TABLE {sessions} (
    session INT PRIMARY KEY, number BIGINT NOT NULL, times BIGINT NOT NULL, server_ns BIGINT NOT NULL
) ENGINE = InnoDB

-- name: create_rows
CREATE TABLE {rows} (
    session INT, row_key INT, number BIGINT NOT NULL, times BIGINT NOT NULL, server_ns BIGINT NOT NULL,
    filler VARCHAR({bytes}) NOT NULL,
    PRIMARY KEY (session, row_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET ascii COLLATE ascii_bin

-- name: create_heartbeat
CREATE TABLE {heartbeat} (
    id INT PRIMARY KEY, number BIGINT NOT NULL, times BIGINT NOT NULL, server_ns BIGINT NOT NULL
) ENGINE = InnoDB

-- name: fill_sessions
INSERT INTO {sessions} VALUES {values}

-- name: fill_rows
INSERT INTO {rows} VALUES {values}

-- name: clock_is_utc
SET time_zone = '+00:00'

-- name: commit
-- In one message, so that its answer comes after one round trip. Result: ns that was written, the clock after the commit.
SET @slob_ns = CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) * 1000;
BEGIN;
UPDATE {rows} SET number = {number}, times = times + 1, server_ns = @slob_ns, filler = REPEAT(LPAD({number}, 16, '0'), {repeats})
 WHERE session = {session} AND row_key = {key};
UPDATE {sessions} SET number = {number}, times = times + 1, server_ns = @slob_ns WHERE session = {session};
COMMIT;
SELECT @slob_ns AS ns, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) * 1000 AS done_ns

-- name: await_cluster
-- The next read waits until this node of a cluster has applied what the others have acknowledged.
SET SESSION wsrep_sync_wait = 1

-- name: do_not_await
SET SESSION wsrep_sync_wait = DEFAULT

-- name: read_session
-- Result: whether the server is read-only; number, times, server_ns of one session.
SELECT @@read_only AS read_only, number, times, server_ns FROM {sessions} WHERE session = {session}

-- name: clock
-- Result: ns since the epoch.
SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) * 1000 AS ns

-- name: block_size
-- Result: bytes.
SELECT @@innodb_page_size AS bytes

-- name: read_sessions
-- Result: session, number, times, server_ns.
SELECT session, number, times, server_ns FROM {sessions}

-- name: read_rows
-- Result: session, row_key, number, times, server_ns.
SELECT session, row_key, number, times, server_ns FROM {rows}

-- name: torn
-- Result: session, row_key, number and the begin of the text, of rows whose text is not that of their number.
SELECT session, row_key, number, LEFT(filler, 16) AS begins FROM {rows}
 WHERE filler <> REPEAT(LPAD(number, 16, '0'), {repeats}) ORDER BY session, row_key

-- name: checkpoint
SET GLOBAL innodb_log_checkpoint_now = ON

-- name: relations
-- Result: quoted name of every InnoDB table that this user may see.
SELECT CONCAT('`', REPLACE(table_schema, '`', '``'), '`.`', REPLACE(table_name, '`', '``'), '`') AS relation
  FROM information_schema.tables
 WHERE engine = 'InnoDB' AND table_type = 'BASE TABLE' ORDER BY 1

-- name: check
-- Result: Table, Op, Msg_type, Msg_text, several rows.
CHECK TABLE {relation} EXTENDED

-- name: settings
-- Result: Variable_name, Value.
SHOW GLOBAL VARIABLES WHERE Variable_name IN (
    'innodb_checksum_algorithm', 'innodb_doublewrite', 'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'log_bin',
    'sync_binlog')

-- name: guards
-- Result: how pages are checked.
SELECT @@innodb_checksum_algorithm AS checksums

-- name: write_heartbeat
INSERT INTO {heartbeat} VALUES (1, %(number)s, 1, CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) * 1000)
ON DUPLICATE KEY UPDATE number = VALUES(number), times = times + 1, server_ns = VALUES(server_ns)

-- name: read_heartbeat
-- Result: number, times, server_ns.
SELECT number, times, server_ns FROM {heartbeat}
