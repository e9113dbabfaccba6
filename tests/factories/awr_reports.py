"""Small reports for tests: the fixtures by name, and one report with the figures that a test asks for."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from factories.paths import ROOT
from openslob.awr import Report, read

FIXTURES = ROOT / "tests" / "fixtures" / "awr"
SAMPLES = Path(os.environ.get("OPENSLOB_AWR_SAMPLES") or ROOT.parent / "shared" / "awr")
READABLE = sorted(
    path
    for path in FIXTURES.iterdir()
    if path.name not in {"not_a_report_ora.txt", "awrdiff.txt", "empty.txt"} and path.suffix in {".txt", ".html"}
)
needs_samples = pytest.mark.skipif(
    not (SAMPLES / "truth.json").exists(), reason=f"no sample reports in {SAMPLES} (set OPENSLOB_AWR_SAMPLES)"
)


@cache
def read_fixture(name: str) -> Report:
    """Return the report of a fixture, which is read once for all tests of a process."""
    return read(FIXTURES / name)


_REPORT = """
WORKLOAD REPOSITORY report for

DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC
------------ ----------- ------------ -------- --------------- ----------- ---
FIX           1234567890 fix1                1 01-Mar-15 08:00 11.2.0.3.0  NO

              Snap Id      Snap Time      Sessions Curs/Sess
            --------- ------------------- -------- ---------
   Elapsed:          {elapsed:>14.2f} (mins)
   DB Time:          {db_time:>14.2f} (mins)

Foreground Wait Events                   DB/Inst: FIX/fix1  Snaps: 41-42

                                                             Avg
                                        %Time Total Wait    wait    Waits   % DB
Event                             Waits -outs   Time (s)    (ms)     /txn   time
-------------------------- ------------ ----- ---------- ------- -------- ------
db file sequential read    {waits:>12,}     0 {time:>10,} {avg:>7}      1.0   80.0
          -------------------------------------------------------------

Instance Activity Stats                  DB/Inst: FIX/fix1  Snaps: 41-42

Statistic                                     Total     per Second     per Trans
-------------------------------- ------------------ -------------- -------------
physical read total IO requests  {waits:>18,} {rate:>14,.1f}           1.0
physical read total bytes        {size:>18,} {size_rate:>14}           1.0
physical write total IO requests                  0            0.0           0.0
physical write total bytes                        0            0.0           0.0
          -------------------------------------------------------------

End of Report
"""


def report(waits: int, time_s: int, elapsed_s: float, sessions: int = 1, block: int = 8192) -> bytes:
    """A report in which the only load are ``waits`` single-block reads that took ``time_s`` seconds in all."""
    minutes = round(elapsed_s / 60, 2)
    seconds = minutes * 60
    text = _REPORT.format(
        elapsed=minutes,
        db_time=sessions * minutes,
        waits=waits,
        time=time_s,
        avg=round(time_s / waits * 1e3),
        rate=waits / seconds,
        size=waits * block,
        size_rate=_fitted(f"{waits * block / seconds:,.1f}", 14),
    )
    return text.encode()


def _fitted(figure: str, width: int) -> str:
    """As the reports do it: a figure that is too wide for its column is a row of signs."""
    return figure if len(figure) <= width else "#" * width
