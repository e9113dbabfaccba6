"""What depends on the server's version: since which one it has what. docs/oracle.md has the same as a table."""

from __future__ import annotations

from collections.abc import Sequence

# The oldest servers that Oracle's client libraries and the driver alone (thin mode) connect to.
OLDEST, OLDEST_THIN = (11, 2), (12, 1)
# The hint that fetches each row when its index entry is read.
SINGLE_ROWID_HINT = (12, 1)
# OPTIMIZER_ADAPTIVE_PLANS.
ADAPTIVE_PLANS = (12, 2)
# V$EVENT_HISTOGRAM_MICRO.
EVENT_HISTOGRAM = (12, 1, 0, 2)
# AWR snapshots of a pluggable database's own.
PDB_SNAPSHOTS = (12, 2)
# DBMS_SESSION.SLEEP, which every user may execute.
SLEEP_FOR_ALL = (18,)


def sleep_procedure(version: Sequence[int]) -> str:
    """Return the procedure that sleeps for a number of seconds."""
    return "DBMS_SESSION.SLEEP" if tuple(version) >= SLEEP_FOR_ALL else "DBMS_LOCK.SLEEP"
