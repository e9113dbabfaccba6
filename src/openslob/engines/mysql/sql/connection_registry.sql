-- Purpose:  which connections are ours. The server shows only user and host of a connection to others, so each of our
--           connections records its purpose. The table is kept in memory: a restart empties it, as it ends connections.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): roster.

-- name: create
CREATE TABLE IF NOT EXISTS {roster} (
    connection BIGINT NOT NULL PRIMARY KEY,
    purpose    VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = MEMORY

-- name: not_logged
SET SESSION sql_log_bin = OFF

-- name: logged
SET SESSION sql_log_bin = ON

-- name: enter
REPLACE INTO {roster} (connection, purpose) VALUES (CONNECTION_ID(), %(purpose)s)

-- name: forget
-- Deletes the rows of connections that have ended.
DELETE FROM {roster} WHERE connection NOT IN (SELECT id FROM information_schema.processlist)

-- name: sessions
-- Result: connection, purpose of the work loop's sessions.
SELECT r.connection, r.purpose FROM {roster} r JOIN information_schema.processlist p ON p.id = r.connection
WHERE r.purpose LIKE %(purpose)s

-- name: impatient
SET SESSION lock_wait_timeout = 1

-- name: purpose
SELECT purpose FROM {roster} WHERE connection = %(connection)s
