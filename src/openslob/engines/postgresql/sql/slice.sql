-- Purpose:  the work loop, and the statements that it runs.
-- Versions: PostgreSQL 13 and later. 13 has no OUT parameters of procedures: results are INOUT, given as NULL.
-- Notes:    * Everything that must survive a slice is derived from the operation number, except for the random
--             generator, which lives in the session, `resume_us`, the end of a sleep that the end of a slice cut short,
--             and `due_ns`, when the next operation is due.
--           * A procedure with a SET clause may not COMMIT: the settings for plans are the session's (session.sql).
--           * Two clock readings measure the latency of an operation.

-- name: select
-- These three statements are put into the loop and, for the recorded plan, into `prepare`: the plan is that of the loop.
-- Placeholders: table; key, rows, the first key and the number of keys; into, an INTO clause in the loop; assignments, the
-- SET list of an update.
-- OFFSET 0 makes the scan return c2 alone. Without it the server describes all 20 columns and copies the first row whole,
-- twice, for each SELECT.
SELECT count(c2) {into}
  FROM (SELECT c2 FROM {table} WHERE custid >= {key} AND custid < {key} + {rows} OFFSET 0) AS visited

-- name: update
UPDATE {table} SET {assignments} WHERE custid >= {key} AND custid < {key} + {rows}

-- name: scan
SELECT count(c2) {into} FROM {table}

-- name: churn
-- With MODE=churn this and churn_in_loop are in place of the update: a row is deleted, and one is inserted.
DELETE FROM {table} WHERE custid = {key}

-- name: churn_in_loop
-- Placeholders: delete, the statement above; values, those of all columns but the key.
{delete};
                GET DIAGNOSTICS deleted_rows = ROW_COUNT;
                INSERT INTO {table} VALUES ({key}, {values})

-- name: count_update
rows_updated := rows_updated + found_rows;

-- name: count_churn
rows_inserted := rows_inserted + found_rows; rows_deleted := rows_deleted + deleted_rows;

-- name: key_churn
-- The next key of the session's ring (core/access.py).
ring_key + (updates - 1 + ring_keys) % ring_keys * ring_step % ring_keys

-- name: key_uniform
-- One of these three draws an operation's first key. Placeholder: rows, its number of keys.
base + floor(random() * (span - {rows} + 1))::bigint

-- name: key_zipf
-- A rank, and its key (core/access.py). A rounding error at the last rank would be one too many.
1 + least(floor(power(zipf_low + random() * zipf_width, zipf_power) - 0.5)::bigint, zipf_keys - 1) * zipf_step % zipf_keys

-- name: key_zipf_of_one
-- The same for an exponent of 1.
1 + least(floor(exp(zipf_low + random() * zipf_width) - 0.5)::bigint, zipf_keys - 1) * zipf_step % zipf_keys

-- name: prepare
-- Parameters of the prepared statement: first key, number of keys, the values that an update writes.
PREPARE slob_plan (bigint, bigint, text[]) AS {statement}

-- name: explain
EXPLAIN (COSTS OFF) EXECUTE slob_plan (1, 64, NULL)

-- name: deallocate
DEALLOCATE slob_plan

-- name: common_start
-- Together with step_aside in the loop where many sessions begin together, and only then. Each of hundreds of sessions
-- that wake up at once keeps a CPU from the others until it pauses. So everything that can be done before is done before
-- the wait, also what a transaction does when it comes to an expression for the first time, and everything else after the
-- pause.
            IF waits THEN
                waits := false;
                waited := true;
                PERFORM pg_sleep(date_part('epoch', began_at - clock_timestamp()));
            END IF;

-- name: step_aside
-- With more sessions than CPUs the first to run would keep the others waiting for its whole time slice.
        IF waited THEN
            PERFORM pg_sleep(step_aside);
            waited := false;
            began_at := t0;
            look_at := t0 + look_every;
        END IF;

-- name: procedure
-- One call is one slice: it runs operations until its end time or operation limit, with a COMMIT after every update, and
-- returns what it did. The procedure is made once per schema and class of sessions.
-- Placeholders: procedure, nap (nap.sql), identifiers; select, update, scan, the statements above on the session's own
-- tables; select_hot, update_hot, scan_hot, the same on schema 1's tables; select_key, update_key, how their first key is
-- drawn; count_update, which counts what an update changed; common_start, step_aside, the parts above, empty unless many sessions begin together; paced_wait, paced_respond
-- (paced.sql), empty when the workload has no rate; histograms, their number; bucket, the bucket number of `us`
-- (histogram.py), and last_bucket; buckets_a_kind.
-- Parameters: see the comments beside them. Times are µs since the epoch by the server's clock.
-- Result:   one row of the INOUT parameters.
CREATE OR REPLACE PROCEDURE {procedure}(
    first_op         bigint,       -- number of the first operation of this slice
    max_ops          bigint,       -- end after this many operations
    not_before_us    bigint,       -- do not begin earlier
    until_us         bigint,       -- begin no operation later
    scale            bigint,       -- keys are 1 to scale
    work_unit        bigint,       -- rows a SELECT visits
    update_work_unit bigint,       -- rows an UPDATE changes
    update_pct       bigint,       -- share of operations that update
    update_phase     bigint,
    scan_pct         bigint,       -- share of SELECTs that scan cf2
    scan_phase       bigint,
    hotspot_every    bigint,       -- every how many operations one goes to the hot spot; 0: never
    hotspot_phase    bigint,
    hotspot_key      bigint,       -- first key of the hot spot
    hotspot_keys     bigint,       -- its number of keys
    zipf_keys        bigint,       -- keys that ranks stand for, and the constants of their law (core/access.py)
    zipf_step        bigint,
    zipf_low         float8,
    zipf_width       float8,
    zipf_power       float8,
    ring_key         bigint,       -- first key of the session's ring, its number of keys, and from one to the next
    ring_keys        bigint,
    ring_step        bigint,
    hot_schema_every bigint,       -- every how many operations one goes to schema 1; 0: never
    hot_schema_phase bigint,
    think_every      bigint,       -- every how many operations the session sleeps; 0: never
    think_phase      bigint,
    think_min        float8,       -- seconds
    think_max        float8,
    tag              text,         -- unique to session and run: makes every written value new
    random_pct       int,          -- share of each value that is random
    written_columns  int,          -- columns an UPDATE sets
    value_bytes      int,          -- length of what it writes in each
    stop_key         bigint,       -- advisory lock that is held exclusively when the run must stop
    step_aside       float8,       -- seconds to pause after the first operation of a common start; 0: none
    interval_us      float8,       -- mean time between due times
    due_for_us       float8,       -- end before the first operation that is due so long after due_ns
    poisson          boolean,      -- due times are those of a Poisson process, not at even intervals
    INOUT resume_us  bigint,       -- end of a sleep that the end of the slice before cut short
    INOUT due_ns     bigint,       -- when the next operation is due, in ns since the epoch
    INOUT began_us   bigint,       -- when the first operation could begin
    INOUT ended_us   bigint,
    INOUT ops        bigint,
    INOUT rows_read  bigint,       -- rows the SELECTs returned
    INOUT rows_updated bigint,
    INOUT rows_scanned bigint,
    INOUT rows_inserted bigint,
    INOUT rows_deleted bigint,
    INOUT bytes_inserted bigint,
    INOUT sum_us     float8[],     -- by histogram: service time of select, update, scan; of a paced session then paced.sql's
    INOUT max_us     float8[],
    INOUT bucket     int[],        -- non-empty buckets, histogram * buckets_a_kind + bucket number
    INOUT bucket_count int[]       -- their counts
)
LANGUAGE plpgsql AS $slice$
#variable_conflict use_variable
DECLARE
    buckets_a_kind CONSTANT int := {buckets_a_kind};
    last_bucket    CONSTANT int := {last_bucket};
    special        CONSTANT boolean := hotspot_every > 0 OR hot_schema_every > 0 OR think_every > 0;
    op_limit       CONSTANT bigint := first_op + max_ops;
    op             bigint := first_op;
    updates        bigint := (update_phase + first_op) * update_pct / 100 - update_phase * update_pct / 100;
    histograms     CONSTANT int := {histograms};
    counts         int[] := array_fill(0, ARRAY[histograms * buckets_a_kind], ARRAY[0]);
    kind           int;
    place          int;
    base           bigint := 1;
    span           bigint := scale;
    hot            boolean := false;
    key            bigint;
    found_rows     bigint;
    deleted_rows   bigint;
    fresh          text[];
    look_every     CONSTANT interval := '20 ms';
    until          CONSTANT timestamptz := to_timestamp(until_us / 1e6::float8);
    resume_at      timestamptz := to_timestamp(resume_us / 1e6::float8);
    began_at       timestamptz := greatest(to_timestamp(not_before_us / 1e6::float8), resume_at);
    ended_at       timestamptz;
    look_at        timestamptz;
    waits          boolean := false;
    waited         boolean := false;
    stopping       boolean := false;
    first_due      CONSTANT timestamptz := to_timestamp(due_ns / 1e9::float8);
    since_first    float8 := 0;    -- µs
    due_at         timestamptz;
    t0             timestamptz;
    us             float8;         -- 0 if the clock was set back within the operation
    select_us      float8 := 0;    -- sums and maxima: a variable of its own costs less than an element of an array
    update_us      float8 := 0;
    scan_us        float8 := 0;
    slowest_select float8 := 0;
    slowest_update float8 := 0;
    slowest_scan   float8 := 0;
BEGIN
    ops := 0; rows_read := 0; rows_updated := 0; rows_scanned := 0; rows_inserted := 0; rows_deleted := 0;
    sum_us := array_fill(0, ARRAY[histograms]); max_us := sum_us;
    IF began_at > clock_timestamp() THEN
        -- Of a common start, the loop waits for the begin. A sleep that the slice before cut short is none.
        waits := step_aside > 0 AND resume_us < not_before_us AND began_at < until;
        IF NOT waits THEN
            PERFORM pg_sleep(date_part('epoch', least(began_at, until) - clock_timestamp()));
        END IF;
    END IF;
    IF NOT waits THEN
        began_at := clock_timestamp();
    END IF;
    ended_at := began_at;
    look_at := began_at + look_every;
    WHILE ended_at < until AND op < op_limit LOOP
{paced_wait}
        IF special THEN
            hot := hot_schema_every > 0 AND (op + hot_schema_phase) % hot_schema_every = 0;
            IF hotspot_every > 0 AND (op + hotspot_phase) % hotspot_every = 0 THEN
                base := hotspot_key; span := hotspot_keys;
            ELSE
                base := 1; span := scale;
            END IF;
        END IF;

        IF (update_phase + op + 1) * update_pct % 100 < update_pct THEN
            updates := updates + 1;
            kind := 1;
            key := {update_key};
            IF random_pct > 0 THEN
                fresh := ARRAY(SELECT rpad(left(translate(encode(
                                                sha512(convert_to(concat_ws('/', tag, op, c, 'a'), 'UTF8'))
                                                || sha512(convert_to(concat_ws('/', tag, op, c, 'b'), 'UTF8')),
                                                'base64'), E'\n', ''), value_bytes * random_pct / 100), value_bytes, 'X')
                               FROM generate_series(1, written_columns) AS c);
            ELSE
                fresh := array_fill(rpad(concat(op, tag), value_bytes, 'x'), ARRAY[written_columns]);
            END IF;
{common_start}
            t0 := clock_timestamp();
            IF hot THEN
                {update_hot};
            ELSE
                {update};
            END IF;
            GET DIAGNOSTICS found_rows = ROW_COUNT;
            COMMIT;
            ended_at := clock_timestamp();
{step_aside}
            {count_update}
            us := greatest(round(date_part('epoch', ended_at - t0) * 1e6::float8), 0);
            update_us := update_us + us;
            IF us > slowest_update THEN
                slowest_update := us;
            END IF;
        ELSE
            IF (scan_phase + op + 1 - updates) * scan_pct % 100 >= scan_pct THEN
                kind := 0;
                key := {select_key};
{common_start}
                t0 := clock_timestamp();
                IF hot THEN
                    {select_hot};
                ELSE
                    {select};
                END IF;
                ended_at := clock_timestamp();
{step_aside}
                rows_read := rows_read + found_rows;
                us := greatest(round(date_part('epoch', ended_at - t0) * 1e6::float8), 0);
                select_us := select_us + us;
                IF us > slowest_select THEN
                    slowest_select := us;
                END IF;
            ELSE
                kind := 2;
{common_start}
                t0 := clock_timestamp();
                IF hot THEN
                    {scan_hot};
                ELSE
                    {scan};
                END IF;
                ended_at := clock_timestamp();
{step_aside}
                rows_scanned := rows_scanned + found_rows;
                us := greatest(round(date_part('epoch', ended_at - t0) * 1e6::float8), 0);
                scan_us := scan_us + us;
                IF us > slowest_scan THEN
                    slowest_scan := us;
                END IF;
            END IF;
        END IF;

        place := kind * buckets_a_kind + least({bucket}::int, last_bucket);
        counts[place] := counts[place] + 1;
{paced_respond}
        op := op + 1;

        IF ended_at > look_at THEN
            -- The SELECTs since the last COMMIT share a snapshot, and while it is held no row version that others made
            -- dead can be pruned: updates would no longer stay in their block.
            COMMIT;
            EXIT WHEN NOT pg_try_advisory_lock_shared(stop_key);
            PERFORM pg_advisory_unlock_shared(stop_key);
            look_at := ended_at + look_every;
        END IF;
        IF think_every > 0 AND (op - 1 + think_phase) % think_every = 0 THEN
            resume_at := ended_at + (think_min + random() * (think_max - think_min)) * interval '1 second';
            CALL {nap}(least(resume_at, until), stop_key, stopping);
            ended_at := clock_timestamp();
            EXIT WHEN stopping;
        END IF;
    END LOOP;
    ops := op - first_op;
    bytes_inserted := rows_inserted * (8 + written_columns * value_bytes);
    -- PL/pgSQL assigns to slices of arrays since 14 only.
    sum_us := ARRAY[select_us, update_us, scan_us] || sum_us[4:];
    max_us := ARRAY[slowest_select, slowest_update, slowest_scan] || max_us[4:];
    began_us := date_part('epoch', began_at) * 1e6::float8;
    ended_us := date_part('epoch', ended_at) * 1e6::float8;
    resume_us := date_part('epoch', resume_at) * 1e6::float8;
    due_ns := due_ns + round(since_first * 1000)::bigint;
    SELECT array_agg(n - 1), array_agg(c) INTO bucket, bucket_count
      FROM unnest(counts) WITH ORDINALITY AS filled(c, n) WHERE c > 0;
    -- Without this the counters of a slice may reach the shared statistics only with the next one.
    IF current_setting('server_version_num')::int >= 150000 THEN
        PERFORM pg_stat_force_next_flush();
    END IF;
END
$slice$
