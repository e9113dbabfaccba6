"""Oracle's work loop as MariaDB in Oracle mode runs it (sql_mode=ORACLE), by exact substitutions that are all below.

Each pattern must occur as often as is written beside it: a change of slice.sql that the rig no longer represents fails
here instead of passing. What is substituted is not proved by a run; `UNPROVED` has the list.
"""

from __future__ import annotations

import re

UNPROVED = (
    "TIMESTAMP WITH TIME ZONE and INTERVAL arithmetic (moments are numbers here), EXTRACT, what SYSTIMESTAMP costs",
    "index-by tables (latencies are handed out one by one here); their use is held against core/histogram.py elsewhere",
    "the wrapping of SIMPLE_INTEGER (written out here), NUMBER's arithmetic, POWER and EXP of a BINARY_DOUBLE, "
    "TRANSLATE (a function of ours here)",
    "what COMMIT WRITE waits for, DBMS_SESSION.SLEEP, hints, deadlocks",
)
# The loop's tables are those of MariaDB's own engine, with one index.
DATABASE, RIG = "slob", "rig"

_NOW = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', SYSDATE(6))"
_STEP = "MOD(MOD(state * 1664525 + step + 2147483648, 4294967296) + 4294967296, 4294967296) - 2147483648"
_HINT = r"/\*\+ INDEX\(t (CF1_\d+)_CUSTID\) NO_BATCH_TABLE_ACCESS_BY_ROWID\(t\) NO_PARALLEL\(t\)"
_RANGE = "WHERE custid BETWEEN first_key AND last_key"

# (pattern, replacement, how often); None: at least once.
RULES: tuple[tuple[str, str, int | None], ...] = (
    # what PL/SQL has and MariaDB 10.11 has not
    (r"AUTHID DEFINER\n", "", 1),
    (r" CONSTANT ", " ", None),
    (r"    TYPE \w+ IS TABLE OF [^;]+;\n", "", 2),
    (r"    none_yet +counts_by_us;\n    tally +histograms;\n", "    hist MEDIUMTEXT := '';\n", 1),
    (r"    FUNCTION us_between.*?END folded;\n", "", 1),
    (r"    FOR place IN by_select \.\. by_wake_up LOOP\n.*?END LOOP;\n", "", 1),
    (r"count_in\(([\w +]+), (.*)\);", r"hist := CONCAT(hist, \1, ',', \2, ',');", 3),
    (r"(select|update|scan)_(hist|response) := folded\([^)]*\);", r"\1_\2 := NULL;", 6),
    (r"wake_hist := folded\(by_wake_up\);", "wake_hist := hist;", 1),
    (r"    deadlock +EXCEPTION;\n    PRAGMA EXCEPTION_INIT\(deadlock, -60\);\n", "", 1),
    (r"WHEN deadlock THEN", "WHEN 1213 THEN", 1),
    # moments are whole µs since the epoch
    (r"TIMESTAMP '1970-01-01 00:00:00\.000000 \+00:00'", "0", 1),
    (r"INTERVAL '0\.000001' SECOND", "1", 1),
    (r"INTERVAL '1' MINUTE", "60000000", 1),
    (r"INTERVAL '0\.02' SECOND", "20000", 1),
    (r"INTERVAL DAY TO SECOND", "BIGINT", 3),
    (r"TIMESTAMP WITH TIME ZONE", "BIGINT", 8),
    (r"SYSTIMESTAMP", _NOW, 9),
    (r"us_between\((\w+), (\w+)\)", r"GREATEST(\2 - \1, 0)", 5),
    (r"since_epoch\((\w+)\)", r"\1", 3),
    # numbers
    (r"state := state \* 1664525 \+ step;", f"state := {_STEP};", 4),
    (r"/ 4294967296", "* 2.3283064365386962890625e-10", 4),
    (r"PLS_INTEGER|SIMPLE_INTEGER", "BIGINT", None),
    (r"(due_us +IN OUT|interval_us +IN) NUMBER", r"\1 DECIMAL(22, 6)", 2),
    (r"(update_work_unit +IN) NUMBER", r"\1 BIGINT", 1),
    (r"(OUT|IN) NUMBER", r"\1 DOUBLE", None),
    (r"NUMBER(?= :=|;)", "DOUBLE", None),
    (r"BINARY_DOUBLE", "DOUBLE", 5),
    (r"IN VARCHAR2", "IN VARCHAR2(32767)", 2),
    (r"OUT VARCHAR2", "OUT MEDIUMTEXT", 7),
    # statements; an UPDATE visits one row too many without its LIMIT
    (rf"UPDATE {_HINT} \*/ \1 t SET (.*?) {_RANGE};",
     rf"UPDATE \1 t FORCE INDEX (custid) SET \2 {_RANGE} LIMIT update_work_unit;", 2),
    (rf"SELECT {_HINT} NO_RESULT_CACHE \*/ COUNT\(c2\) INTO found_rows FROM \1 t {_RANGE};",
     rf"SELECT COUNT(c2) INTO found_rows FROM \1 t FORCE INDEX (custid) {_RANGE};", 2),
    (r"SELECT /\*\+ FULL\(t\) NO_PARALLEL\(t\) NO_RESULT_CACHE \*/ COUNT\(c2\) INTO found_rows FROM (CF2_\d+) t;",
     r"SELECT COUNT(c2) INTO found_rows FROM \1 t;", 2),
    (r"\bCF([12])_(\d+)\b", rf"{DATABASE}.cf\1_\2", 6),
    (r"DBMS_SESSION\.SLEEP\(", "DO SLEEP(", 2),
    (r"COMMIT( WRITE [A-Z ]+)?;", "COMMIT;", 1),
)  # fmt: skip

# The shape of a statement whose plan is asked for, as MariaDB explains it.
_EXPLAINED = (
    (_HINT + r"( NO_RESULT_CACHE)? \*/", "", None),
    (r"\b(CF1_\d+) t", r"\1 t FORCE INDEX (custid)", None),
    (r"/\*\+ FULL\(t\) .*? \*/", "", None),
)

# Each letter's place is kept in a character of its own before any gets its new one.
TRANSLATE = """
CREATE OR REPLACE FUNCTION translate(given VARCHAR2(4000), letters VARCHAR2(64), turned VARCHAR2(64))
RETURN VARCHAR2(4000) AS
    found VARCHAR2(4000) CHARACTER SET latin1 COLLATE latin1_bin := given;
    place INT;
BEGIN
    FOR place IN 1 .. 64 LOOP
        found := REPLACE(found, SUBSTR(letters, place, 1), CHAR(160 + place USING latin1));
    END LOOP;
    FOR place IN 1 .. 64 LOOP
        found := REPLACE(found, CHAR(160 + place USING latin1), SUBSTR(turned, place, 1));
    END LOOP;
    RETURN found;
END
"""


def rendered(oracle: str) -> str:
    """Return the procedure for MariaDB; ValueError when a rule no longer fits."""
    text = re.sub(r" *--[^\n]*", "", oracle)
    for pattern, replacement, times in RULES:
        text, count = re.subn(pattern, replacement, text, flags=re.DOTALL if ".*?" in pattern else 0)
        if count != times and not (times is None and count):
            raise ValueError(f"slice.sql is no longer what this rig runs: {pattern!r} fits {count} times, not {times}")
    return text


def explainable(oracle: str) -> str:
    """Return a statement of the loop as MariaDB can explain it."""
    text = oracle
    for pattern, replacement, _ in _EXPLAINED:
        text = re.sub(pattern, replacement, text)
    return re.sub(r"\bCF([12])_(\d+)\b", rf"{DATABASE}.cf\1_\2", text)
