-- Purpose:  the server's settings, as its own catalogue has them.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.

-- name: settings
-- MariaDB. Result: name, scope, whether it is read only, type, values of an enumeration (NULL for others), value, whether
-- it can be given at the start (NULL: not). Those of replication are left out: a server without clients crashes as it
-- reads them.
SELECT VARIABLE_NAME AS name, VARIABLE_SCOPE AS scope, READ_ONLY AS read_only, VARIABLE_TYPE AS type,
       ENUM_VALUE_LIST AS choices, GLOBAL_VALUE AS value, COMMAND_LINE_ARGUMENT AS argument
  FROM information_schema.SYSTEM_VARIABLES
 WHERE VARIABLE_NAME NOT LIKE '%slave%' AND VARIABLE_NAME NOT LIKE 'replicate%'

-- name: to_file
-- Writes them as they are at the end of a start; the file is made in the data directory.
INTO OUTFILE 'settings.tsv'

-- name: of_sessions
-- MySQL, whose catalogue does not say which a session has for itself. Result: Variable_name, Value.
SHOW SESSION VARIABLES

-- name: own
-- Fails for a setting of the whole server.
SELECT @@SESSION.{setting} AS value

-- name: set
-- Parameter: value.
SET SESSION {setting} = %(value)s

-- name: of_session
-- Parameter: setting. Result: Variable_name, Value, as this session has it.
SHOW SESSION VARIABLES WHERE Variable_name = %(setting)s

-- name: of_server
-- Parameter: setting. Result: Variable_name, Value, as the server has it.
SHOW GLOBAL VARIABLES WHERE Variable_name = %(setting)s
