-- Purpose:  who keeps our connections waiting.
-- Versions: Oracle Database 11.2 to 26ai.

-- name: waiting
-- Needs SELECT on V_$SESSION.
-- Result: our connections that wait for another session, or for the server itself to go on (events); what is known of the
-- session that blocks them.
SELECT s.sid, s.serial# AS serial, s.action, s.event, s.seconds_in_wait AS seconds,
       b.sid AS b_sid, b.serial# AS b_serial, b.username AS b_user, b.module AS b_module, b.program AS b_program,
       b.status AS b_status, b.last_call_et AS b_seconds, b.type AS b_type, s.blocking_session
  FROM v$session s LEFT JOIN v$session b ON b.sid = s.blocking_session AND s.blocking_instance = SYS_CONTEXT('USERENV', 'INSTANCE')
 WHERE s.username = USER AND s.module = 'slob' AND s.sid <> SYS_CONTEXT('USERENV', 'SID')
   AND (s.blocking_session IS NOT NULL OR s.event IN ('log file switch (archiving needed)',
                                                      'log file switch (checkpoint incomplete)',
                                                      'statement suspended, wait error to be cleared'))
   AND (NVL(b.username, '-') <> USER OR NVL(b.module, '-') <> 'slob')
