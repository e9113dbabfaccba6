"""Consistency checks: figures that a report prints twice, in two forms, are compared with each other.

A report that was cut off, edited or damaged in transit has rates that are not total / elapsed, or averages that are
not time / waits. The tolerance of each check is the rounding of the printed figures.
"""

from __future__ import annotations

from collections.abc import Iterator

from openslob.awr import rates
from openslob.awr.model import Report, ReportKind, Scope, Statistic, WaitEvent, seconds_between
from openslob.awr.numbers import Number

# Row of the load profile -> activity statistic that counts the same thing.
TWINS: dict[str, str] = {
    "redo_size": "redo size",
    "logical_reads": "session logical reads",
    "block_changes": "db block changes",
    "physical_reads": "physical reads",
    "physical_writes": "physical writes",
    "read_io_requests": "physical read IO requests",
    "write_io_requests": "physical write IO requests",
    "user_calls": "user calls",
    "parses": "parse count (total)",
    "hard_parses": "parse count (hard)",
    "logons": "logons cumulative",
    "executes": "execute count",
    "rollbacks": "user rollbacks",
}
RatesOff = list[tuple[str, Statistic]]  # by name
_ELAPSED_SLACK_S = 1.0  # snapshots take time: Oracle may divide by a slightly different interval
_CLOCK_SLACK_S = 2.0  # the header prints snapshot times in whole seconds
_MANY = 0.3  # if more than this share of the rates is off, the elapsed time is wrong


def inconsistencies(report: Report, off: RatesOff) -> tuple[str, ...]:
    """Return a message for each pair of figures that contradict each other, and one if the end is missing.

    ``off`` is what `find_rates_that_are_off` returns.
    """
    return (
        *_cut_off(report),
        *_clock(report),
        *_rates(report, off),
        *_twins(report),
        *_times(report),
        *_waits(report),
    )


def spread(number: Number) -> float:
    """Return the largest error of the printed figure: one step, because the report may truncate rather than round."""
    return number.step


def _cut_off(report: Report) -> Iterator[str]:
    if not report.complete:
        last = report.sections[-1] if report.sections else "nothing"
        yield f"cut off: there is no 'End of Report'; the last section read is {last!r}"


def _clock(report: Report) -> Iterator[str]:
    """Compare the elapsed time with the times of the snapshots, and that of a cluster with those of its instances."""
    header = report.header
    elapsed, clock = header.elapsed_min, seconds_between(header.begin_time, header.end_time)
    if elapsed is None:
        return
    printed = elapsed.scaled(60.0)
    if clock is not None and abs(clock.value - printed.value) > _CLOCK_SLACK_S + spread(printed):
        yield f"Elapsed: {printed.value:.0f} s, but the snapshots are {clock.value:.0f} s apart"
    if not rates.is_whole(report):
        own = sorted({f"{seconds.value:.0f}" for seconds in rates.find_own_seconds(report).values()}, key=int)
        yield (
            f"Elapsed: {printed.value:.0f} s from the first snapshot of any instance to the last one, but the instances"
            f" ran for {' and '.join(own)} s: rates are sums over the instances, and those of IO Profile and IOStat are"
            " too low"
        )


def find_wrong_elapsed(report: Report, off: RatesOff) -> str:
    """Return why no total is divided by the elapsed time: the rates that the report prints contradict it."""
    both = sum(1 for stat in report.activity.values() if stat.per_second)
    if report.elapsed_s is None or len(off) <= max(3, _MANY * both):
        return ""
    return f"Elapsed: {report.elapsed_s.value:.0f} s does not fit total / per second of {len(off)} statistics"


def find_rates_that_are_off(report: Report) -> RatesOff:
    """Return the statistics whose rate is not total / elapsed."""
    own = sorted(rates.find_own_seconds(report).values(), key=lambda seconds: seconds.value)
    elapsed = [own[0], own[-1]] if own else [report.elapsed_s] if report.elapsed_s else []
    return [item for item in report.activity.items() if elapsed and not _is_between(item[1], elapsed)]


def _is_between(stat: Statistic, elapsed: list[Number]) -> bool:
    """Return whether the rate is total / elapsed for a time within ``elapsed``: instances may have different ones."""
    shortest, longest = elapsed[0].value, elapsed[-1].value
    total, rate = stat.total, stat.per_second
    if total and rate and rate.value and shortest <= total.value / rate.value <= longest:
        return True
    return any(rate_agrees(stat, seconds) for seconds in elapsed)


def _rates(report: Report, off: RatesOff) -> Iterator[str]:
    """Compare each statistic's rate with total / elapsed."""
    if rates.ELAPSED in report.missing:
        yield report.missing[rates.ELAPSED]
        return
    for name, stat in off:
        if stat.total and stat.per_second and report.elapsed_s:
            yield (
                f"Instance Activity: {name}: {stat.per_second.value:g} per second, but total / elapsed is "
                f"{stat.total.value / report.elapsed_s.value:.6g}"
            )


def rate_agrees(stat: Statistic, elapsed: Number) -> bool:
    """Return whether the rate per second equals total / elapsed within rounding."""
    if stat.total is None or stat.per_second is None:
        return True
    slack = (spread(elapsed) + _ELAPSED_SLACK_S) / elapsed.value
    rate = stat.total.value / elapsed.value
    allowed = spread(stat.per_second) + spread(stat.total) / elapsed.value + abs(rate) * slack
    return abs(rate - stat.per_second.value) <= allowed


def _twins(report: Report) -> Iterator[str]:
    """Compare the load profile with the instance activity statistics."""
    for name, twin in TWINS.items():
        rate, stat = report.load_profile.get(name), report.activity.get(twin)
        if rate and stat and not _agree(rate.per_second, stat.per_second):
            printed, counted = _show(rate.per_second), _show(stat.per_second)
            yield f"{rate.origin}: {name}: {printed} per second, but {twin!r} is {counted}"


def _times(report: Report) -> Iterator[str]:
    """Compare DB time and DB CPU of header and load profile with the time model."""
    elapsed, header = report.elapsed_s, report.header
    db_time, db_cpu = (report.time_model_s.get(name) for name in ("DB time", "DB CPU"))
    minutes = header.db_time_min.scaled(60.0) if header.db_time_min else None
    if report.kind is not ReportKind.STATSPACK and not _agree(minutes, db_time, 0.01):
        yield f"DB Time: {_show(minutes)} s in the header, but {_show(db_time)} s in the time model"
    if elapsed is None:
        return
    for name, total in (("db_time", db_time or minutes), ("db_cpu", db_cpu)):
        rate = report.load_profile.get(name)
        expected = total.scaled(1 / elapsed.value) if total else None
        if rate and report.kind is not ReportKind.STATSPACK and not _agree(rate.per_second, expected, 0.01):
            printed, counted = _show(rate.per_second), _show(expected)
            yield f"{rate.origin}: {name}: {printed} per second, but total / elapsed is {counted}"


def _waits(report: Report) -> Iterator[str]:
    """Compare each event's time with waits x average, and the top table with the full one."""
    for event in report.events:
        if not average_agrees(event):
            yield (
                f"{event.scope}: {event.name}: average {_show(event.avg_us)} us does not fit "
                f"{_show(event.time_s)} s / {_show(event.waits)} waits"
            )
    for top in report.list_events(Scope.TOP):
        full = report.event(top.name, Scope.FOREGROUND)
        if full and not (_agree(top.waits, full.waits) and _agree(top.time_s, full.time_s)):
            yield f"{top.scope}: {top.name}: figures differ from those in {full.scope}"


def average_agrees(event: WaitEvent) -> bool:
    """Return whether the printed time equals waits x average within rounding."""
    if event.waits is None or event.avg_us is None or event.time_s is None:
        return True
    waits, seconds = event.waits.value, event.avg_us.scaled(1e-6)
    allowed = waits * spread(seconds) + spread(event.time_s) + spread(event.waits) * seconds.value
    return abs(waits * seconds.value - event.time_s.value) <= allowed * (1 + 1e-9)


def _agree(one: Number | None, other: Number | None, slack: float = 0.0) -> bool:
    if one is None or other is None:
        return True
    allowed = spread(one) + spread(other) + slack * max(abs(one.value), abs(other.value))
    return abs(one.value - other.value) <= allowed * (1 + 1e-9)


def _show(number: Number | None) -> str:
    return "not printed" if number is None else f"{number.value:.10g}"
