-- Purpose:  who keeps our connections waiting.
-- Versions: Oracle Database 11.2 to 26ai.

-- name: waiting
-- Needs SELECT on V_$SESSION. A session that waits for a log write or for a block has a blocker, too: only locks count here,
-- and only those of other drivers' sessions. A driver is a process of a host.
-- Result: connections of ours that wait for somebody's lock, or for the server to go on; what is known of who holds it.
SELECT s.sid, s.serial# AS serial, s.action, s.event, b.sid AS b_sid, b.serial# AS b_serial, b.username AS b_user,
       b.module AS b_module, b.action AS b_action, b.program AS b_program, b.process AS b_process, b.machine AS b_machine,
       b.status AS b_status, b.last_call_et AS b_seconds, s.blocking_session
  FROM v$session me JOIN v$session s ON s.machine = me.machine AND s.process = me.process
       LEFT JOIN v$session b ON b.sid = s.blocking_session AND s.blocking_instance = SYS_CONTEXT('USERENV', 'INSTANCE')
 WHERE me.sid = SYS_CONTEXT('USERENV', 'SID') AND s.module = 'slob' AND s.state = 'WAITING'
   AND (s.event IN ('log file switch (archiving needed)', 'statement suspended, wait error to be cleared')
        OR s.blocking_session IS NOT NULL
           AND (s.event LIKE 'enq: %' OR s.event IN ('library cache lock', 'library cache pin', 'row cache lock'))
           AND NVL(b.type, 'USER') = 'USER'
           AND (NVL(b.machine, '-') <> me.machine OR NVL(b.process, '-') <> me.process))
