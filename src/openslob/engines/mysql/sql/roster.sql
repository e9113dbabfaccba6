-- Purpose:  which connections are ours. The server shows others only user and host of a connection, so each of ours
--           notes down what it is for. The table is kept in memory: it is empty after a restart, as connections are.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): roster.

-- name: create
CREATE TABLE IF NOT EXISTS {roster} (
    connection BIGINT NOT NULL PRIMARY KEY,
    purpose    VARCHAR(200) CHARACTER SET ascii COLLATE ascii_bin NOT NULL
) ENGINE = MEMORY

-- name: enter
REPLACE INTO {roster} (connection, purpose) VALUES (CONNECTION_ID(), %(purpose)s)

-- name: forget
-- Those of connections that are gone.
DELETE FROM {roster} WHERE connection NOT IN (SELECT id FROM information_schema.processlist)

-- name: sessions
-- Result: connection, purpose of the work loop's sessions.
SELECT r.connection, r.purpose FROM {roster} r JOIN information_schema.processlist p ON p.id = r.connection
WHERE r.purpose LIKE %(purpose)s

-- name: purpose
SELECT purpose FROM {roster} WHERE connection = %(connection)s
