"""The verdict on the server's own report: whether its totals and ours are of the same load."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from openslob.analyze.other_sessions import IN_WORDS, has_worked
from openslob.analyze.outcome import Shown, fails, holds, unknown
from openslob.core.measurement import Measurement, ServerReport
from openslob.core.units import is_above, is_below
from openslob.record.model import Verdict

_NAME = "awr_agrees"
# Of less than this the snapshots' own work, and that of the server's background, is a large share.
_LEAST: Mapping[str, float] = {
    "logical_reads": 1_000_000,
    "read_requests": 20_000,
    "read_bytes": 200e6,
    "write_requests": 20_000,
    "write_bytes": 200e6,
    "log_bytes": 50e6,
    "log_syncs": 1_000,
    "commits": 1_000,
}
# The report has everything that the window has. Sessions post some counters a moment late.
_LEAST_PCT = 99.5
# What snapshots and background do beside the load, above what the report's longer interval explains.
_MORE = 1.05


def awr_agrees(measurement: Measurement) -> Verdict | None:
    """Judge whether the server's report has our counts, and no more than its longer interval explains.

    The load goes on at no higher rate outside of the window. Other sessions' work is in the report's totals only.
    """
    report = measurement.server_report
    if report is None:
        return None
    window_s = measurement.window.counter_seconds
    figures: dict[str, Shown] = {"report_seconds": report.seconds, "counter_seconds": window_s}
    if not window_s:
        return unknown(_NAME, "Can't be determined: the counters do not span the load.", **figures)
    spans = f"{report.name} spans {report.seconds:.1f} s, the window {window_s:.1f} s"
    if report.seconds + report.step_s < window_s:
        return fails(_NAME, f"{spans}: it is not a report on this run.", **figures)
    shares = _shares_pct(measurement, report)
    if not shares:
        return unknown(_NAME, f"Can't be determined: {spans}, and it has no counter that moved enough.", **figures)
    figures |= {f"{name}_pct": share for name, share in shares.items()}
    return _judge(shares, _most_pct(measurement, report), spans, figures)


def _judge(shares: Mapping[str, float], most_pct: float | None, spans: str, figures: dict[str, Shown]) -> Verdict:
    most = round(most_pct) if most_pct else inf
    wrong = {name: pct for name, pct in shares.items() if is_below(pct, _LEAST_PCT, 1) or is_above(pct, most, 1)}
    allowed = f"{_LEAST_PCT:g} to {most_pct:.0f} % is allowed" if most_pct else f"{_LEAST_PCT:g} % at least is allowed"
    if wrong:
        parts = ", ".join(f"{pct:.1f} % of the run's {IN_WORDS[name]}" for name, pct in wrong.items())
        return fails(_NAME, f"{spans}; it has {parts} ({allowed}).", **figures)
    words = ", ".join(IN_WORDS[name] for name in shares)
    low, high = min(shares.values()), max(shares.values())
    return holds(_NAME, f"{spans}; it has {low:.1f} to {high:.1f} % of the run's {words} ({allowed}).", **figures)


def _shares_pct(measurement: Measurement, report: ServerReport) -> dict[str, float]:
    """Return the report's totals in % of ours, of each counter that moved enough."""
    ours = {name: measurement.engine.of_all_sessions(name) for name in report.totals}
    return {name: 100 * report.totals[name] / value for name, value in ours.items() if value and value >= _LEAST[name]}


def _most_pct(measurement: Measurement, report: ServerReport) -> float | None:
    """Return how much of ours the report may have; None where others' work is in it."""
    if has_worked(measurement.others):
        return None
    return 100 * _MORE * max(1.0, (report.seconds + report.step_s) / measurement.window.counter_seconds)
