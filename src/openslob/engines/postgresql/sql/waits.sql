-- Purpose:  what the server's sessions are doing at this moment: the test's by wait event, others by who they are.
-- Versions: PostgreSQL 13 and later.
-- Parameters: $1, a LIKE pattern of the application names of the test's sessions.
-- Result:   kind: test, other, or hidden; what, text: of the test's sessions `Class:Event`, or `CPU` where the session
--           does not wait; of others user, database and application. sessions, bigint.
-- Notes:    a session of the test that sleeps (before the start, or its think time) is outside operations and left out.
--           Samplers, the lock and the stop signal are left out, too: whatever has our name in this database.
--           Another client's session is at work when it runs a statement and waits neither for a timer or a lock, nor
--           for its client or an extension. Of background processes only a base backup counts: it reads all files.
--           Hidden is what sessions of other roles do, unless this role may see it, and where nothing is tracked.
--           Several samples in one call would save the driver waking up for each, but a statement that sleeps between
--           them holds a snapshot, and old row versions stay meanwhile: updates then leave their block.
SELECT kind,
       CASE kind
           WHEN 'test' THEN coalesce(wait_event_type || ':' || wait_event, 'CPU')
           WHEN 'other' THEN concat(pg_get_userbyid(usesysid), ' in ' || (SELECT datname FROM pg_database WHERE oid = datid),
                                    ' (' || nullif(regexp_replace(application_name, '^(slob/[a-z]+).*', '\1'), '') || ')')
           ELSE ''
       END AS what,
       count(*) AS sessions
  FROM (SELECT CASE
                   WHEN application_name LIKE 'slob/%'
                        AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
                   THEN CASE WHEN application_name LIKE $1 AND state = 'active' AND wait_event IS DISTINCT FROM 'PgSleep'
                             THEN 'test' END
                   WHEN (backend_type IS NULL OR state = 'disabled') AND datid IS NOT NULL AND usesysid IS NOT NULL
                   THEN 'hidden'
                   WHEN state = 'active' AND (backend_type = 'client backend' OR query LIKE 'BASE_BACKUP%')
                        AND coalesce(wait_event_type NOT IN ('Timeout', 'Lock', 'Client', 'Extension'), true)
                   THEN 'other'
               END AS kind, *
          FROM pg_stat_get_activity(NULL)) AS every
 WHERE kind IS NOT NULL
 GROUP BY 1, 2
