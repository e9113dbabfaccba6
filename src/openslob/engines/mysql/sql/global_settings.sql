-- Purpose:  settings of the whole server that a run changes, recorded before they are changed: a driver that was killed
--           could not restore them, and the next command can. The table is kept in memory: after a restart it is empty,
--           and the settings are those of the server's configuration.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Placeholders (quoted by names.py): borrowed. setting, a name from our code.

-- name: create
CREATE TABLE IF NOT EXISTS {borrowed} (
    server  VARCHAR(200) NOT NULL,    -- where it was recorded: other servers of a cluster may get the row, too
    setting VARCHAR(64) NOT NULL,
    own     DOUBLE NOT NULL,          -- the server's own value
    ours    DOUBLE NOT NULL,          -- what we changed it to
    PRIMARY KEY (server, setting)
) ENGINE = MEMORY CHARACTER SET utf8mb4 COLLATE utf8mb4_bin

-- name: record
-- The first value recorded stays: it is the server's own.
INSERT INTO {borrowed} (server, setting, own, ours)
VALUES (LEFT(CONCAT_WS(' ', @@hostname, @@port, @@datadir), 200), %(setting)s, %(own)s, %(ours)s)
ON DUPLICATE KEY UPDATE ours = %(ours)s

-- name: recorded
-- Result: setting, own, ours, of this server.
SELECT setting, own, ours FROM {borrowed} WHERE server = LEFT(CONCAT_WS(' ', @@hostname, @@port, @@datadir), 200)

-- name: forget
DELETE FROM {borrowed}
WHERE server = LEFT(CONCAT_WS(' ', @@hostname, @@port, @@datadir), 200) AND setting = %(setting)s

-- name: value
SELECT @@GLOBAL.{setting} AS value

-- name: change
SET GLOBAL {setting} = %(value)s

-- name: holder
-- Result: connection that holds the lock, or null.
SELECT IS_USED_LOCK(%(lock)s) AS holder
