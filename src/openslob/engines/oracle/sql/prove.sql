-- Purpose:  what `slob check --prove` asks a server: each is something that the engine relies on and no test of ours shows.
-- Versions: Oracle Database 11.2 to 26ai.
-- Placeholders: sleep, as in slice.sql; draw, its `key_zipf`; own, as in counters.sql; table; single, a hint, or nothing;
--           kind, NATIVE or INTERPRETED; setting.

-- name: warnings
ALTER SESSION SET PLSQL_WARNINGS = 'ENABLE:ALL'

-- name: code_type
ALTER SESSION SET PLSQL_CODE_TYPE = '{kind}'

-- name: compiled_as
SELECT s.plsql_code_type FROM user_plsql_object_settings s WHERE s.name = :program AND s.type = 'PROCEDURE'

-- name: messages
SELECT e.attribute, e.message_number, e.line, e.text FROM user_errors e WHERE e.name = :program ORDER BY e.sequence

-- name: now
SELECT ROUND((EXTRACT(DAY FROM d) * 86400 + EXTRACT(HOUR FROM d) * 3600 + EXTRACT(MINUTE FROM d) * 60 + EXTRACT(SECOND FROM d))
             * 1000000) AS us
  FROM (SELECT SYSTIMESTAMP - TIMESTAMP '1970-01-01 00:00:00 +00:00' AS d FROM DUAL)

-- name: own_figures
-- This session's own counters. Needs SELECT on V_$MYSTAT and V_$STATNAME.
SELECT n.name, t.value FROM v$mystat t JOIN v$statname n ON n.statistic# = t.statistic#
 WHERE n.name IN ('redo synch writes', 'user commits', 'session logical reads', 'table fetch by rowid', 'physical reads',
                  'physical reads cache', 'physical reads cache prefetch', 'physical reads direct',
                  'CPU used by this session', 'table scans (direct read)')

-- name: system_reads
-- Logical reads of all sessions, of a pluggable database by its own view. Needs SELECT on V_$SYSSTAT or V_$CON_SYSSTAT.
SELECT s.value FROM v${own}sysstat s WHERE s.name = 'session logical reads'

-- name: instances_reads
-- The same of each open instance of a cluster; here parallel servers disturb nothing. Needs SELECT on GV_$INSTANCE, and on
-- GV_$SYSSTAT or GV_$CON_SYSSTAT.
SELECT i.instance_name, s.value FROM gv${own}sysstat s JOIN gv$instance i ON i.inst_id = s.inst_id
 WHERE s.name = 'session logical reads' AND i.status = 'OPEN'

-- name: cpu_time
-- CPU time of all sessions in µs. Needs SELECT on V_$SYS_TIME_MODEL or V_$CON_SYS_TIME_MODEL.
SELECT s.value FROM v${own}sys_time_model s WHERE s.stat_name = 'DB CPU'

-- name: others_reads
-- Logical reads of another session. Needs SELECT on V_$SESSTAT and V_$STATNAME.
SELECT (SELECT t.value FROM v$sesstat t JOIN v$statname n ON n.statistic# = t.statistic#
         WHERE n.name = 'session logical reads' AND t.sid = :sid) AS of_session
  FROM DUAL

-- name: is_there
-- Needs SELECT on V_$SESSION.
SELECT s.status FROM v$session s WHERE s.sid = :sid AND s.serial# = :serial

-- name: sleeps
-- How long twenty sleeps of 10 ms are, in ms.
DECLARE
    t0 TIMESTAMP WITH TIME ZONE;
    passed INTERVAL DAY TO SECOND;
    ms NUMBER;
    most NUMBER := 0;
    least_ms NUMBER := 1000000;
    total NUMBER := 0;
BEGIN
    FOR i IN 1 .. 20 LOOP
        t0 := SYSTIMESTAMP;
        {sleep}(0.01);
        passed := SYSTIMESTAMP - t0;
        ms := EXTRACT(SECOND FROM passed) * 1000;
        total := total + ms;
        most := GREATEST(most, ms);
        least_ms := LEAST(least_ms, ms);
    END LOOP;
    :mean_ms := total / 20;
    :least_ms := least_ms;
    :most_ms := most;
END;

-- name: elements
-- Whether elements of a table of tables are found, counted and left alone as slice.sql needs it.
DECLARE
    TYPE counts_by_us IS TABLE OF PLS_INTEGER INDEX BY PLS_INTEGER;
    TYPE histograms IS TABLE OF counts_by_us INDEX BY PLS_INTEGER;
    none_yet counts_by_us;
    tally histograms;
    found PLS_INTEGER := 0;
BEGIN
    tally(0) := none_yet;
    tally(1) := none_yet;
    IF NOT tally(0).EXISTS(5) THEN
        tally(0)(5) := 1;
        found := found + 1;
    END IF;
    IF tally(0).EXISTS(5) AND NOT tally(0).EXISTS(4) THEN
        tally(0)(5) := tally(0)(5) + 1;
        found := found + 10;
    END IF;
    IF tally(1).FIRST IS NULL AND tally(0).COUNT = 1 AND tally(0)(5) = 2 THEN
        found := found + 100;
    END IF;
    tally(0)(9) := 1;
    IF tally(0).FIRST = 5 AND tally(0).NEXT(5) = 9 AND tally(0).LAST = 9 AND tally(0).NEXT(9) IS NULL THEN
        found := found + 1000;
    END IF;
    :found := found;
END;

-- name: wraps
-- Whether SIMPLE_INTEGER wraps, as the generator of slice.sql needs it: 2,000,000,000 * 1,664,525 + 1 modulo 2^32, signed.
DECLARE
    state SIMPLE_INTEGER := 2000000000;
BEGIN
    state := state * 1664525 + 1;
    :found := state;
END;

-- name: moments
-- Whether µs since the epoch make a moment, and that the same µs again, as slice.sql needs it.
DECLARE
    epoch CONSTANT TIMESTAMP WITH TIME ZONE := TIMESTAMP '1970-01-01 00:00:00.000000 +00:00';
    one_us CONSTANT INTERVAL DAY TO SECOND := INTERVAL '0.000001' SECOND;
    us NUMBER := 1795344311123457;
    moment TIMESTAMP WITH TIME ZONE;
    passed INTERVAL DAY(9) TO SECOND;
BEGIN
    moment := epoch + us * one_us;
    passed := moment - epoch;
    :found := ROUND(1000000 * (EXTRACT(SECOND FROM passed) + 60 * (EXTRACT(MINUTE FROM passed)
              + 60 * (EXTRACT(HOUR FROM passed) + 24 * EXTRACT(DAY FROM passed)))));
END;

-- name: numbers
-- µs that a number of the loop's own generator takes, and one of DBMS_RANDOM: 100,000 and 20,000 of them.
DECLARE
    t0 TIMESTAMP WITH TIME ZONE;
    passed INTERVAL DAY TO SECOND;
    state SIMPLE_INTEGER := 12345;
    key NUMBER;
BEGIN
    t0 := SYSTIMESTAMP;
    FOR i IN 1 .. 100000 LOOP
        state := state * 1664525 + 1;
        key := 1 + FLOOR((state + 2147483648) / 4294967296 * 1000);
    END LOOP;
    passed := SYSTIMESTAMP - t0;
    :own_us := EXTRACT(SECOND FROM passed) * 1000000 / 100000;
    t0 := SYSTIMESTAMP;
    FOR i IN 1 .. 20000 LOOP
        key := FLOOR(DBMS_RANDOM.VALUE(1, 1001));
    END LOOP;
    passed := SYSTIMESTAMP - t0;
    :server_us := EXTRACT(SECOND FROM passed) * 1000000 / 20000;
END;

-- name: drawn_keys
-- How often each key is drawn in 20,000 draws by the work loop's own statements: `key times key times …`.
DECLARE
    TYPE counts_by_key IS TABLE OF PLS_INTEGER INDEX BY PLS_INTEGER;
    times          counts_by_key;
    state          SIMPLE_INTEGER := 12345;
    zipf_keys      CONSTANT NUMBER := :zipf_keys;
    zipf_step      CONSTANT NUMBER := :zipf_step;
    low            CONSTANT BINARY_DOUBLE := :zipf_low;
    width          CONSTANT BINARY_DOUBLE := :zipf_width;
    power_of       CONSTANT BINARY_DOUBLE := :zipf_power;
    one_half       CONSTANT BINARY_DOUBLE := 0.5;
    chance         BINARY_DOUBLE;
    drawn          NUMBER;
    first_key      PLS_INTEGER;
    listed         VARCHAR2(4000);
BEGIN
    FOR i IN 1 .. 20000 LOOP
        state := state * 1664525 + 1;
        {draw}
        IF times.EXISTS(first_key) THEN
            times(first_key) := times(first_key) + 1;
        ELSE
            times(first_key) := 1;
        END IF;
    END LOOP;
    first_key := times.FIRST;
    WHILE first_key IS NOT NULL LOOP
        listed := listed || ' ' || first_key || ' ' || times(first_key);
        first_key := times.NEXT(first_key);
    END LOOP;
    :found := listed;
END;

-- name: direct
-- Scans, also of small tables, read past the cache.
ALTER SESSION SET "_serial_direct_read" = ALWAYS

-- name: places
-- Where rows lie.
SELECT t.custid, ROWIDTOCHAR(t.ROWID) AS place FROM {table} t WHERE t.custid IN ({keys})

-- name: one_block
-- The block of one row, by its place.
SELECT /*+ ROWID(t) NO_PARALLEL(t) NO_RESULT_CACHE */ COUNT(c2) AS rows_there FROM {table} t
 WHERE t.ROWID BETWEEN CHARTOROWID(:place) AND CHARTOROWID(:place)
