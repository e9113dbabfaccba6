-- Purpose:  the work loop, and the statements that it runs.
-- Versions: MariaDB 10.6 and later, MySQL 8.0 and later.
-- Notes:    * Everything that must survive a slice is derived from the operation number, except for the random
--             generator, which lives in the session, `resume_us`, the end of a sleep that the end of a slice cut short,
--             and `due_us`, when the next operation is due.
--           * The server has no arrays, so latencies are returned one by one and the driver puts them into buckets.
--             They are collected in two steps because a text is copied whole whenever something is added to it.
--           * SELECTs run outside transactions, so no old read view keeps the server from purging row versions.
--           * The index condition stops the SELECT at the last key of the range. An UPDATE gets no such condition and
--             would visit one row too many without its LIMIT.
--           * SYSDATE is the time now; NOW would be that of the call.
--           * Error 1213 rolls a transaction back in favour of another: because of a deadlock, or in a Galera cluster
--             because another node changed the same rows first, which shows at the UPDATE or at the COMMIT. The update
--             is run again until it succeeds. Any other error ends the slice. The handler covers updates only: a SELECT
--             that is refused is not run again. MariaDB passes the error to the handler if it occurs in a statement,
--             but not if it occurs in a SET, so there is no SET between UPDATE and COMMIT. For errors that do not reach
--             the handler see resume.sql.

-- name: select
-- These three statements are put into the loop and, for the recorded plan, into `explain`: the plan is that of the loop.
-- Placeholders: table; first_key, last_key, rows, the range and its number of keys; into, an INTO clause in the loop;
-- assignments, the SET list of an update.
SELECT count(c2) {into} FROM {table} FORCE INDEX (custid) WHERE custid BETWEEN {first_key} AND {last_key}

-- name: update
UPDATE {table} FORCE INDEX (custid) SET {assignments} WHERE custid BETWEEN {first_key} AND {last_key} LIMIT {rows}

-- name: scan
SELECT count(c2) {into} FROM {table}

-- name: churn
-- With MODE=churn churn_in_loop is in place of the update: a row is deleted with the filler rows that belong to it, and
-- another one with its own is inserted where nothing was, as of a row with a new primary key. This finds the row; without one `place` stays NULL.
SELECT id {into} FROM {table} FORCE INDEX (custid) WHERE custid = {first_key} FOR UPDATE

-- name: churn_in_loop
-- Placeholders: find, the statement above; columns, those of texts; rows, a list of VALUES; last_filler, how far from its row.
{find};
                        DELETE FROM {table} WHERE id BETWEEN place AND place + {last_filler};
                        GET DIAGNOSTICS deleted_rows = ROW_COUNT;
                        INSERT INTO {table} (id, custid, {columns}, pad) VALUES {rows}

-- name: count_update
SET rows_updated = rows_updated + found_rows;

-- name: count_churn
SET rows_inserted = rows_inserted + found_rows DIV {rows_per_page},
                rows_deleted = rows_deleted + deleted_rows DIV {rows_per_page}, next_place = next_place + {rows_per_page},
                place = NULL;

-- name: find_place
-- The session's rows are inserted behind the last one that it has inserted, in this run or an earlier one.
    SELECT COALESCE((MAX(id) DIV {rows_per_page} + 1) * {rows_per_page}, ring_place) INTO next_place
    FROM {table} WHERE id >= ring_place AND id < ring_place + {places};

-- name: key_churn
-- The next key of the session's ring (core/access.py).
ring_key + (churned - 1 + ring_keys) % ring_keys * ring_step % ring_keys

-- name: key_uniform
-- One of these three draws an operation's first key. Placeholder: rows, its number of keys.
base + FLOOR(RAND() * (span - {rows} + 1))

-- name: key_zipf
-- A rank, and its key (core/access.py). A rounding error at the last rank would be one too many. The product of rank and
-- step has more digits than a DOUBLE.
1 + LEAST(CAST(FLOOR(POW(zipf_low + RAND() * zipf_width, zipf_power) - 0.5) AS SIGNED), zipf_keys - 1) * zipf_step
    % zipf_keys

-- name: key_zipf_of_one
-- The same for an exponent of 1.
1 + LEAST(CAST(FLOOR(EXP(zipf_low + RAND() * zipf_width) - 0.5) AS SIGNED), zipf_keys - 1) * zipf_step % zipf_keys

-- name: explain
-- Result:   EXPLAIN's columns, which MySQL 9.5 and later return only with FORMAT=TRADITIONAL.
EXPLAIN FORMAT=TRADITIONAL {statement}

-- name: common_start
-- Together with step_aside in the loop where many sessions begin together, and only then. Each of hundreds of sessions
-- that wake up at once keeps a CPU from the others until it pauses. So everything that can be done before is done before
-- the wait, and everything else after the pause.
IF waits THEN
    SET waits = FALSE, waited = TRUE;
    DO SLEEP(GREATEST(begin_us - TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6)), 0) / 1e6);
END IF;

-- name: step_aside
-- With more sessions than CPUs the first to run would keep the others waiting for its whole time slice, and what is done
-- after its operation would be done hundreds of times before the last one begins.
IF waited THEN
    DO SLEEP(step_aside);
    SET waited = FALSE, began_us = t0, look_us = t0 + look_every_us;
END IF;

-- name: procedure
-- One call is one slice: it runs operations until its end time or operation limit, each update in a transaction of its
-- own, and returns what it did. The procedure is made once per schema and class of sessions.
-- Placeholders: procedure, its quoted name; select, update, scan, the statements above on the session's own tables;
-- select_hot, update_hot, scan_hot, the same on schema 1's tables; select_key, update_key, how their first key is drawn;
-- count_update, which counts what an update changed; find_place, empty unless rows come and go; common_start, step_aside, the parts above, empty where sessions do not begin together; resume_*, the pieces of
-- resume.sql, empty outside of a Galera cluster.
-- Parameters: see the comments beside them. Times are µs since the epoch by the server's clock, which is UTC for the
-- session (session.sql).
-- Result:   any number of result sets with one row and the column `latencies`: an operation's kind and service time as
-- 4 * µs + kind (0 select, 1 update, 2 scan), then its response time in µs if the session is paced, all separated by
-- commas; before an operation that a paced session waited for, how late it woke up, as kind 3, and 0. The last result set
-- is one row of counts and times.
CREATE PROCEDURE {procedure}(
    first_op         BIGINT,       -- number of the first operation of this slice
    max_ops          BIGINT,       -- end after this many operations
    not_before_us    BIGINT,       -- do not begin earlier
    until_us         BIGINT,       -- begin no operation later
    resume_us        BIGINT,       -- end of a sleep that the end of the slice before cut short
    due_us           DECIMAL(22, 6),   -- when the first operation is due, if paced; a DOUBLE is exact to 0.25 µs only
    interval_us      DOUBLE,       -- mean time between due times; 0: not paced
    due_before_us    DOUBLE,       -- end before the first operation that is due then or later
    scale            BIGINT,       -- keys are 1 to scale
    work_unit        BIGINT,       -- rows a SELECT visits
    update_work_unit BIGINT,       -- rows an UPDATE changes
    update_pct       BIGINT,       -- share of operations that update
    update_phase     BIGINT,
    scan_pct         BIGINT,       -- share of SELECTs that scan cf2
    scan_phase       BIGINT,
    hotspot_every    BIGINT,       -- every how many operations one goes to the hot spot; 0: never
    hotspot_phase    BIGINT,
    hotspot_key      BIGINT,       -- first key of the hot spot
    hotspot_keys     BIGINT,       -- its number of keys
    zipf_keys        BIGINT,       -- keys that ranks stand for, and the constants of their law (core/access.py)
    zipf_step        BIGINT,
    zipf_low         DOUBLE,
    zipf_width       DOUBLE,
    zipf_power       DOUBLE,
    ring_key         BIGINT,       -- first key of the session's ring, its number of keys, and from one to the next
    ring_keys        BIGINT,
    ring_step        BIGINT,
    hot_schema_every BIGINT,       -- every how many operations one goes to schema 1; 0: never
    hot_schema_phase BIGINT,
    think_every      BIGINT,       -- every how many operations the session sleeps; 0: never
    think_phase      BIGINT,
    think_min        DOUBLE,       -- seconds
    think_max        DOUBLE,
    poisson          BOOLEAN,      -- due times are those of a Poisson process, not at even intervals
    tag              VARCHAR(64) CHARACTER SET ascii,   -- unique to session and run: makes every written value new
    random_pct       INT,          -- share of each value that is random
    written_columns  INT,          -- columns an UPDATE sets
    step_aside       DOUBLE,       -- seconds to pause after the first operation of a common start; 0: none
    value_bytes      INT,          -- length of what an UPDATE writes in each column
    ring_place       BIGINT,       -- least primary key of the rows that this session inserts
    stop_lock        VARCHAR(64) CHARACTER SET ascii   -- named lock that is held when the run must stop
)
MODIFIES SQL DATA SQL SECURITY INVOKER
slice: BEGIN
    DECLARE epoch DATETIME(6) DEFAULT TIMESTAMP'1970-01-01 00:00:00';
    DECLARE look_every_us BIGINT DEFAULT 20000;
    -- A request to stop must be noticed during a sleep too.
    DECLARE longest_nap_us BIGINT DEFAULT 200000;
    DECLARE special BOOLEAN DEFAULT hotspot_every > 0 OR hot_schema_every > 0;
    DECLARE op_limit BIGINT DEFAULT first_op + max_ops;
    DECLARE op BIGINT DEFAULT first_op;
    DECLARE churned, update_quota, scan_quota BIGINT;
    DECLARE place, next_place, deleted_rows BIGINT;
    DECLARE base BIGINT DEFAULT 1;
    DECLARE span BIGINT DEFAULT scale;
    DECLARE hot BOOLEAN DEFAULT FALSE;
    DECLARE kind, first_key, last_key, found_rows, us BIGINT;
    DECLARE rows_read, rows_updated, rows_scanned, rows_inserted, rows_deleted, conflicts BIGINT DEFAULT 0;
    DECLARE fresh VARCHAR(2560) CHARACTER SET ascii;
    DECLARE recent VARCHAR(4000) CHARACTER SET ascii DEFAULT '';
    DECLARE latencies MEDIUMTEXT CHARACTER SET ascii DEFAULT '';
    DECLARE waits, waited BOOLEAN DEFAULT FALSE;
    DECLARE begin_us BIGINT DEFAULT GREATEST(not_before_us, resume_us);
    DECLARE now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
    DECLARE began_us, look_us, t0 BIGINT;

    IF begin_us > now_us THEN
        -- Of a common start, the loop waits for the begin. A sleep that the slice before cut short is none.
        SET waits = step_aside > 0 AND resume_us < not_before_us AND begin_us < until_us;
        IF NOT waits THEN
            -- MySQL refuses to sleep for less than no time.
            DO SLEEP(GREATEST(LEAST(begin_us, until_us) - now_us, 0) / 1e6);
        END IF;
    END IF;
    SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
    SET began_us = now_us, look_us = now_us + look_every_us;
{resume_restore}
{find_place}
    -- Updates before this slice, and then so far.
    SET churned = (update_phase + op) * update_pct DIV 100 - update_phase * update_pct DIV 100;
    SET update_quota = (update_phase + op) * update_pct % 100;
    SET scan_quota = (scan_phase + op - churned) * scan_pct % 100;
    work: WHILE now_us < until_us AND op < op_limit DO
        IF interval_us > 0 AND now_us < due_us THEN
            WHILE now_us < due_us DO
                IF NOT IS_FREE_LOCK(stop_lock) THEN
                    LEAVE work;
                END IF;
                DO SLEEP(LEAST(due_us - now_us, until_us - now_us, longest_nap_us) / 1e6);
                SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
                IF now_us >= until_us THEN
                    LEAVE work;
                END IF;
            END WHILE;
            SET recent = CONCAT(recent, 4 * (now_us - FLOOR(due_us)) + 3, ',0,');
        END IF;
        IF special THEN
            SET hot = hot_schema_every > 0 AND (op + hot_schema_phase) % hot_schema_every = 0;
            IF hotspot_every > 0 AND (op + hotspot_phase) % hotspot_every = 0 THEN
                SET base = hotspot_key, span = hotspot_keys;
            ELSE
                SET base = 1, span = scale;
            END IF;
        END IF;

        SET update_quota = update_quota + update_pct;
        IF update_quota >= 100 THEN
            SET update_quota = update_quota - 100, churned = churned + 1;
            SET kind = 1;
            SET first_key = {update_key};
            SET last_key = first_key + update_work_unit - 1;
            IF random_pct BETWEEN 1 AND 99 THEN
                SET fresh = '';
                WHILE LENGTH(fresh) < written_columns * value_bytes DO
                    SET fresh = CONCAT(fresh, RPAD(LEFT(REPLACE(CONCAT(
                        TO_BASE64(UNHEX(SHA2(CONCAT_WS('/', tag, op, LENGTH(fresh), 'a'), 512))),
                        TO_BASE64(UNHEX(SHA2(CONCAT_WS('/', tag, op, LENGTH(fresh), 'b'), 512)))), '\n', ''),
                        value_bytes * random_pct DIV 100), value_bytes, 'X'));
                END WHILE;
            ELSEIF random_pct THEN
                SET fresh = '';
                WHILE LENGTH(fresh) < written_columns * value_bytes DO
                    SET fresh = CONCAT(fresh, REPLACE(TO_BASE64(UNHEX(SHA2(CONCAT_WS('/', tag, op, LENGTH(fresh)), 512))),
                                                      '\n', ''));
                END WHILE;
            ELSE
                SET fresh = REPEAT(RPAD(CONCAT(op, tag), value_bytes, 'x'), written_columns);
            END IF;
{common_start}
            SET t0 = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
{resume_again}
            attempts: LOOP
{resume_keep}
                BEGIN
                    DECLARE EXIT HANDLER FOR 1213 SET conflicts = conflicts + 1;
                    START TRANSACTION;
                    IF hot THEN
                        {update_hot};
                    ELSE
                        {update};
                    END IF;
                    GET DIAGNOSTICS found_rows = ROW_COUNT;
                    COMMIT;
{resume_done}
                    LEAVE attempts;
                END;
            END LOOP;
            SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
{step_aside}
            {count_update}
        ELSE
            SET scan_quota = scan_quota + scan_pct;
            IF scan_quota < 100 THEN
                SET kind = 0;
                SET first_key = {select_key};
                SET last_key = first_key + work_unit - 1;
{common_start}
                SET t0 = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
                IF hot THEN
                    {select_hot};
                ELSE
                    {select};
                END IF;
                SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
{step_aside}
                SET rows_read = rows_read + found_rows;
            ELSE
                SET scan_quota = scan_quota - 100;
                SET kind = 2;
{common_start}
                SET t0 = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
                IF hot THEN
                    {scan_hot};
                ELSE
                    {scan};
                END IF;
                SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
{step_aside}
                SET rows_scanned = rows_scanned + found_rows;
            END IF;
        END IF;

        -- A clock that was set back within an operation gives 0, the bucket below its resolution.
        SET us = GREATEST(now_us - t0, 0);
        IF interval_us > 0 THEN
            SET recent = CONCAT(recent, 4 * us + kind, ',', GREATEST(now_us - FLOOR(due_us), us), ',');
            SET due_us = due_us + CAST(interval_us * IF(poisson, -LN(1 - RAND()), 1) AS DECIMAL(22, 6));
            IF due_us >= due_before_us THEN
                SET op_limit = op + 1;
            END IF;
        ELSE
            SET recent = CONCAT(recent, 4 * us + kind, ',');
        END IF;
        SET op = op + 1;
        IF LENGTH(recent) > 800 THEN
            SET latencies = CONCAT(latencies, recent), recent = '';
            IF LENGTH(latencies) > 65536 THEN
                SELECT latencies;
                SET latencies = '';
            END IF;
{resume_latencies}
        END IF;

        IF now_us > look_us THEN
            IF NOT IS_FREE_LOCK(stop_lock) THEN
                LEAVE work;
            END IF;
            SET look_us = now_us + look_every_us;
        END IF;
        IF think_every > 0 AND (op - 1 + think_phase) % think_every = 0 THEN
            SET resume_us = now_us + FLOOR(1e6 * (think_min + RAND() * (think_max - think_min)));
            DO SLEEP(GREATEST(LEAST(resume_us, until_us) - now_us, 0) / 1e6);
            SET now_us = TIMESTAMPDIFF(MICROSECOND, epoch, SYSDATE(6));
        END IF;
    END WHILE;
    SELECT CONCAT(latencies, recent) AS latencies;
    SELECT began_us, now_us AS ended_us, op - first_op AS ops, rows_read, rows_updated, rows_scanned, conflicts,
           rows_inserted, rows_deleted, rows_inserted * (8 + written_columns * value_bytes) AS bytes_inserted,
           resume_us, due_us;
END slice
