"""Rates per second: what a total over the report is divided by.

The instances of a cluster may have been up for different times, or have made their snapshots one after another. Oracle
then adds the rates of the instances, each over its own elapsed time, as the printed reports show: total / per second of
``System Statistics (Global)`` is the instances' elapsed time. The elapsed time of ``Database Summary`` goes from the
first snapshot of any instance to the last one of any; ``IO Profile`` and ``IOStat`` divide by that.
"""

from __future__ import annotations

from collections.abc import Iterable

from openslob.awr.model import Report, ReportKind
from openslob.awr.numbers import Number

ELAPSED = "header: Elapsed"  # in `Report.missing`: why no total is divided by the elapsed time
IO_SECONDS = "io_seconds"  # of an instance: what the rates of its I/O are divided by
_ROUNDED_S = 1.0  # difference of two times that are each rounded to a second
NO_ELAPSED = "Elapsed is not in the report"


def contradicts(computed: Number, printed: Number) -> bool:
    """Return whether a computed figure is more than half a last digit away from the one that the report prints."""
    return abs(computed.value - printed.value) > printed.step / 2 * (1 + 1e-9)


def find_own_seconds(report: Report) -> dict[int, Number]:
    """Return the elapsed time of each instance by its number; empty unless a global report prints all of them.

    One that is that of the whole report is taken from there: an instance's comes from times without their fractions of
    a second.
    """
    listed, whole = report.header.instances if report.kind is ReportKind.AWR_GLOBAL else (), report.elapsed_s
    own = {
        one.number: one.elapsed_min.scaled(60.0)
        for one in listed
        if one.number is not None and one.elapsed_min is not None and one.elapsed_min.value > 0
    }
    if len(own) < len(listed):
        return {}
    return {number: whole if whole and _is_same(seconds, whole) else seconds for number, seconds in own.items()}


def _is_same(one: Number, other: Number) -> bool:
    return abs(one.value - other.value) <= one.step + other.step + _ROUNDED_S


def is_whole(report: Report) -> bool:
    """Return whether all instances ran for the time of the whole report."""
    whole = report.elapsed_s
    return whole is None or all(_is_same(seconds, whole) for seconds in find_own_seconds(report).values())


def find_seconds(report: Report) -> Number | str:
    """Return the time that all of a total took, or why there is no such time."""
    if ELAPSED in report.missing:
        return report.missing[ELAPSED]
    own = sorted(find_own_seconds(report).values(), key=lambda seconds: seconds.value)
    if not own:
        return report.elapsed_s or NO_ELAPSED
    if not _is_same(own[-1], own[0]):
        return f"the instances ran for {own[0].value:.0f} to {own[-1].value:.0f} s: their sum has no time of its own"
    return Number(sum(seconds.value for seconds in own) / len(own), own[0].step)


def divide(report: Report, total: Number | None) -> Number | str:
    """Return a total per second, or why there is no such rate."""
    seconds = find_seconds(report)
    if total is None or isinstance(seconds, str):
        return "the total is not in the report" if total is None else seconds
    return total.scaled(1 / seconds.value)


def find_time_rate(report: Report, statistic: str) -> Number | str:
    """Return a statistic of the time model per second, or why there is none: of a cluster the sum of its instances."""
    own = find_own_seconds(report)
    spent = {number: report.per_instance.get(number, {}).get(statistic) for number in own}
    if ELAPSED in report.missing or not own or None in spent.values():
        return divide(report, report.time_model_s.get(statistic))
    return _add(seconds.scaled(1 / own[number].value) for number, seconds in spent.items() if seconds is not None)


def find_io_rate(report: Report, number: int, name: str) -> Number | str:
    """Return the rate ``name`` of an instance's I/O over its own elapsed time, or why there is none.

    IOStat by Filetype divides by the time of the whole report, as its totals show where it prints them.
    """
    figures = report.per_instance.get(number, {})
    printed, own, whole = figures.get(name), find_own_seconds(report).get(number), report.elapsed_s
    divisor = figures.get(IO_SECONDS)
    if printed is None or own is None or whole is None or _is_same(own, whole):
        return printed or f"{name}: not printed for each instance"
    if divisor is None:
        return f"{name}: the report does not say whether it is over the {own.value:.0f} s of this instance"
    return printed.scaled(divisor.value / own.value)


def find_active_sessions(report: Report) -> Number | None:
    """Return DB time per second of a cluster, as the sum of what the report prints for each instance."""
    printed = [one.active_sessions for one in report.header.instances]
    known = [number for number in printed if number is not None]
    return _add(known) if known and len(known) == len(printed) else None


def find_printed_rate(report: Report, name: str) -> tuple[Number | None, str]:
    """Return the row ``name`` of the load profile per second, and the section that prints it."""
    rate = report.load_profile.get(name)
    if rate is not None and rate.per_second is not None:
        return rate.per_second, rate.origin
    active = find_active_sessions(report) if name == "db_time" else None
    return active, "Database Instances: Avg Active Sessions" if active else ""


def find_rate(report: Report, name: str, statistic: str) -> tuple[Number | str, str]:
    """Return a rate as exactly as the report allows, or why there is none, and its source.

    It is the time model over the elapsed time, unless that contradicts the rate that the report prints.
    """
    printed, origin = find_printed_rate(report, name)
    computed = find_time_rate(report, statistic)
    if printed is not None and (isinstance(computed, str) or contradicts(computed, printed)):
        return printed, origin
    return computed, "time model / elapsed"


def _add(numbers: Iterable[Number]) -> Number:
    known = list(numbers)
    return Number(sum(number.value for number in known), sum(number.step for number in known))
