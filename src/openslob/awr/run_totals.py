"""A report's totals under the names of a run's own counters, so that the two can be held against each other."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.awr.model import Report

# Counter of a run -> statistic of the report.
_STATISTICS: Mapping[str, str] = {
    "logical_reads": "session logical reads",
    "read_requests": "physical read IO requests",
    "read_bytes": "physical read bytes",
    "write_requests": "physical write IO requests",
    "write_bytes": "physical write bytes",
    "log_bytes": "redo size",
    "log_syncs": "redo synch writes",
    "commits": "user commits",
}


def run_totals(report: Report) -> dict[str, float]:
    """Return the report's totals by the name of the run's counter; those that it does not print are left out."""
    found = {name: report.activity.get(statistic) for name, statistic in _STATISTICS.items()}
    return {name: row.total.value for name, row in found.items() if row is not None and row.total is not None}
