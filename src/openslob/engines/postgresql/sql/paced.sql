-- Purpose:  the pieces that slice.sql has in its loop when the workload has a rate, and only then: a work loop without a
--           rate has the same text, and costs the same, as if these pieces did not exist.
-- Versions: PostgreSQL 15 and later.
-- Placeholders: nap (nap.sql); bucket, the bucket number of `us` (histogram.py).
-- Notes:    * Histograms 3 to 5 are the response times of the kinds 0 to 2, from the due time; 6 is how late the session
--             woke up for operations that it had been waiting for, which is within their response time.
--           * The server sleeps in whole milliseconds and wakes up late by up to one. Spinning for the rest would cost up
--             to a millisecond of CPU an operation, and CPU is what is measured.
--           * The due time is kept as a distance in µs with fractions, so that rounding errors do not change the rate.

-- name: wait
        -- From then on another rate is asked for.
        EXIT WHEN since_first >= due_for_us;
        due_at := first_due + since_first * interval '1 microsecond';
        IF due_at > ended_at THEN
            CALL {nap}(least(due_at, until), stop_key, stopping);
            ended_at := clock_timestamp();
            EXIT WHEN stopping OR ended_at >= until;
            us := greatest(round(date_part('epoch', ended_at - due_at) * 1e6::float8), 0);
            place := 6 * buckets_a_kind + least({bucket}::int, last_bucket);
            counts[place] := counts[place] + 1;
            sum_us[7] := sum_us[7] + us;
            max_us[7] := greatest(max_us[7], us);
        END IF;

-- name: respond
        us := greatest(round(date_part('epoch', ended_at - due_at) * 1e6::float8), us);
        place := (kind + 3) * buckets_a_kind + least({bucket}::int, last_bucket);
        counts[place] := counts[place] + 1;
        sum_us[kind + 4] := sum_us[kind + 4] + us;
        max_us[kind + 4] := greatest(max_us[kind + 4], us);
        since_first := since_first + interval_us * CASE WHEN poisson THEN -ln(1 - random()) ELSE 1 END;
