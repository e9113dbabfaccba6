-- Purpose:  the server's settings, as its own catalogue has them.
-- Versions: PostgreSQL 13 and later.

-- name: settings
-- Result: name, context, type, values of an enumeration (null for others), value as text. Placeholders of names with a
-- dot, which no library has defined, are no settings.
SELECT name, context, vartype, array_to_string(enumvals, ',') AS choices, current_setting(name, true) AS value
  FROM pg_settings
 WHERE NOT (category = 'Customized Options' AND name LIKE '%.%' AND short_desc = 'GUC placeholder variable')
 ORDER BY name

-- name: set
-- Parameters: name, value. Result: the value as the server writes it.
SELECT set_config(%(name)s, %(value)s, false)

-- name: shown
-- Parameter: names. Result: name, value in this session, where it is from, file that it is from (null for others, and to
-- roles that may not know).
SELECT name, current_setting(name) AS value, source, sourcefile FROM pg_settings WHERE name = ANY(%(names)s)
