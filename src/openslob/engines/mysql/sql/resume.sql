-- Purpose:  the pieces that slice.sql has when the server is a node of a Galera cluster, and only then: elsewhere the work
--           loop has the same text, and costs the same, as if these pieces did not exist. When another node's change
--           arrives while an update is between two of its statements, the server ends the whole CALL with error 1213,
--           bypasses every handler, and rolls the update back. Variables of the session survive that: each attempt keeps
--           the state of the slice there, and the same CALL, made again, continues with the same update.
-- Versions: MariaDB 10.6 and later.
-- Placeholders: none.
-- Notes:    * Nothing of a slice is lost: the broken attempt counts as one of `conflicts`, and its time is part of the
--             operation's latency.
--           * A resumed update keeps its key; one more number than otherwise is drawn from the random generator.
--           * A CALL that is broken off outside of an update has kept nothing and is not resumed.

-- name: restore
    IF @slob_op IS NULL THEN
        SET @slob_latencies = '', @slob_again = FALSE;
    ELSE
        SET op = @slob_op, began_us = @slob_began_us, now_us = @slob_t0, resume_us = @slob_resume_us,
            due_us = @slob_due_us, rows_read = @slob_rows_read, rows_updated = @slob_rows_updated,
            rows_scanned = @slob_rows_scanned, rows_inserted = @slob_rows_inserted,
            rows_deleted = @slob_rows_deleted, conflicts = @slob_conflicts + 1, recent = @slob_recent,
            latencies = @slob_latencies;
        SET @slob_again = TRUE;
    END IF;

-- name: again
            IF @slob_again THEN
                SET first_key = @slob_first_key, last_key = first_key + update_work_unit - 1, t0 = @slob_t0;
                SET @slob_again = FALSE;
            END IF;

-- name: keep
                SET @slob_began_us = began_us, @slob_t0 = t0, @slob_first_key = first_key, @slob_resume_us = resume_us,
                    @slob_due_us = due_us, @slob_rows_read = rows_read, @slob_rows_updated = rows_updated,
                    @slob_rows_scanned = rows_scanned, @slob_rows_inserted = rows_inserted,
                    @slob_rows_deleted = rows_deleted, @slob_conflicts = conflicts, @slob_recent = recent, @slob_op = op;

-- name: done
                    SET @slob_op = NULL;

-- name: latencies
            SET @slob_latencies = latencies;

-- name: kept
-- Result: kept, whether a CALL was broken off that can be resumed.
SELECT @slob_op IS NOT NULL AS kept
