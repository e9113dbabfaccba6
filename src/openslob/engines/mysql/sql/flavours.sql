-- Purpose:  what tells which product a server is, whatever speaks MySQL's protocol.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later; of others as much as they answer.
-- Placeholder: names, as literals.

-- name: signs
-- Result: Variable_name, Value, of those that the server has.
SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})

-- name: text
-- Result: version; what the server's maker adds to it.
SELECT VERSION() AS version, @@version_comment AS comment
