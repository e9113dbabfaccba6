"""What depends on the server's version: since which one it has what. docs/oracle.md has the same as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# The oldest servers that Oracle's client libraries and the driver alone (thin mode) connect to.
OLDEST, OLDEST_THIN = (11, 2), (12, 1)
# The hint that fetches each row when its index entry is read.
SINGLE_ROWID_HINT = (12, 1)
# OPTIMIZER_ADAPTIVE_PLANS.
ADAPTIVE_PLANS = (12, 2)
# OPTIMIZER_IGNORE_HINTS.
IGNORE_HINTS = (18,)
# V$EVENT_HISTOGRAM_MICRO.
EVENT_HISTOGRAM = (12, 1, 0, 2)
# Views of counters of which a pluggable database has its own, V$CON_SYSSTAT beside V$SYSSTAT and so on. The reference
# of 12.1 has the first three (docs.oracle.com/database/121/REFRN), that of 18 the last:
# docs.oracle.com/en/database/oracle/oracle-database/18/refrn/V-CON_EVENT_HISTOGRAM_MICRO.html.
CONTAINER_VIEWS: Mapping[str, tuple[int, ...]] = {
    "V_$SYSSTAT": (12, 1),
    "V_$SYS_TIME_MODEL": (12, 1),
    "V_$SYSTEM_EVENT": (12, 1),
    "V_$EVENT_HISTOGRAM_MICRO": (18,),
}
# AWR snapshots of a pluggable database's own.
PDB_SNAPSHOTS = (12, 2)
# DBMS_SESSION.SLEEP, which every user may execute.
SLEEP_FOR_ALL = (18,)


def own_view(view: str, pluggable: bool, version: Sequence[int]) -> str:
    """Return the view that is read in the place of ``view``: in a pluggable database its own one, if there is one."""
    since = CONTAINER_VIEWS.get(view)
    return view.replace("V_$", "V_$CON_") if pluggable and since and tuple(version) >= since else view


def sleep_procedure(version: Sequence[int]) -> str:
    """Return the procedure that sleeps for a number of seconds."""
    return "DBMS_SESSION.SLEEP" if tuple(version) >= SLEEP_FOR_ALL else "DBMS_LOCK.SLEEP"
