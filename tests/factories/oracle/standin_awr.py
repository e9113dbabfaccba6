"""The stand-in's snapshots of its counters, and reports on what moved between two of them, as AWR prints them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from factories.oracle.standin_sql import now_us
from factories.oracle.standin_views import NAMES
from factories.oracle.standin_world import World
from factories.oracle.wire import OracleError, Rows

AWR, STATSPACK = "DBMS_WORKLOAD_REPOSITORY", "STATSPACK"
OWNERS = {AWR: "SYS", STATSPACK: "PERFSTAT"}
_REPORTS = re.compile(r"AWR_(?:GLOBAL_)?REPORT_TEXT")
_HEAD = """
WORKLOAD REPOSITORY report for

DB Name         DB Id    Unique Name DB Role          Edition Release    RAC CDB
------------ ----------- ----------- ---------------- ------- ---------- --- ---
STANDIN      {dbid:>11} STANDIN     PRIMARY          none    19.0.0.0.0 NO  YES

Instance     Inst Num Startup Time
------------ -------- ---------------
standin1            1 01-Jan-26 00:00

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
Begin Snap: {first:>9} {begun:%d-%b-%y %H:%M:%S}        10       1.0
  End Snap: {last:>9} {ended:%d-%b-%y %H:%M:%S}        10       1.0
   Elapsed:               {minutes:.2f} (mins)
   DB Time:               {minutes:.2f} (mins)

Instance Activity Stats               DB/Inst: STANDIN/standin1  Snaps: {first}-{last}
-> Ordered by statistic name

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
{rows}
          -------------------------------------------------------------

End of Report
"""


@dataclass(frozen=True)
class Snapshot:
    """The counters at a moment."""

    at_us: int
    stats: Counter[str]


def is_report(text: str) -> bool:
    """Return whether a query asks for a report."""
    return _REPORTS.search(text) is not None


def taken(world: World, package: str) -> Mapping[str, Any]:
    """Take a snapshot and return its number, from 41; what moves afterwards is not in it."""
    if package not in world.packages:
        raise OracleError(6550, f"line 1, column 7:\nPLS-00201: identifier '{package}' must be declared")
    with world.lock:
        world.snapshots.append(Snapshot(now_us(), world.stats.copy()))
        return {"snap_id": 40 + len(world.snapshots)}


def report(world: World, binds: Mapping[str, Any]) -> Rows:
    """Return the lines of the report on the snapshots that the binds name."""
    numbers = int(binds["first_snap"]), int(binds["last_snap"])
    first, last = (world.snapshots[number - 41] for number in numbers)
    seconds = max(1e-6, (last.at_us - first.at_us) / 1e6)
    rows = [_row(name, round(last.stats[name] - first.stats[name]), seconds) for name in sorted(NAMES)]
    begun, ended = (datetime.fromtimestamp(each.at_us / 1e6, UTC) for each in (first, last))
    text = _HEAD.format(
        dbid=int(binds["dbid"]), first=numbers[0], last=numbers[1], begun=begun, ended=ended, minutes=seconds / 60,
        rows="\n".join(rows),
    )  # fmt: skip
    lines: Sequence[Sequence[str | None]] = [[line or None] for line in text.splitlines()]
    return Rows(["OUTPUT"], lines)


def _row(name: str, total: int, seconds: float) -> str:
    return f"{name[:32]:<32} {total:>18,} {f'{total / seconds:,.1f}'[:14]:>14} {'1.0':>13}"
