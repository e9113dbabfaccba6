-- Purpose:  what tells which product a server is, whatever speaks PostgreSQL's protocol.
-- Versions: PostgreSQL 13 and later; of others as much as they answer.
-- Placeholders (names as literals): setting, function, extension, language, method.

-- name: signs
-- Result: kind, name and value of each sign that the server has; of the texts, version is the server's own function, and
-- shown that of the role's search_path.
SELECT 'text' AS kind, 'version' AS name, pg_catalog.version() AS value
UNION ALL
SELECT 'text', 'shown', version()
UNION ALL
SELECT 'setting', name, setting FROM pg_catalog.pg_settings WHERE name IN ({setting})
UNION ALL
SELECT DISTINCT 'function', proname::pg_catalog.text, '' FROM pg_catalog.pg_proc
 WHERE proname IN ({function}) AND pronamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
UNION ALL
SELECT 'extension', extname::pg_catalog.text, extversion FROM pg_catalog.pg_extension WHERE extname IN ({extension})
UNION ALL
SELECT 'language', lanname::pg_catalog.text, '' FROM pg_catalog.pg_language WHERE lanname IN ({language})
UNION ALL
SELECT 'access method', amname::pg_catalog.text, '' FROM pg_catalog.pg_am WHERE amname IN ({method})

-- name: text
-- Result: version text.
SELECT version() AS version
