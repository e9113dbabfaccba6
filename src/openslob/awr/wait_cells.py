"""Readers of columns with wait events, their histograms and wait classes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from openslob.awr.cells import ColumnValue, Subject, absent, near
from openslob.awr.latency import latency_of
from openslob.awr.model import Report, ReportKind, Scope, WaitEvent
from openslob.awr.numbers import US_PER, Number
from openslob.awr.verdicts import single_block_read
from openslob.awr.waits import is_cpu, is_idle

_EDGE = re.compile(r"<?(\d+) ?(us|ms|s|min)")
_SAME_EDGE = 0.03  # 1024 us and 1 ms are the same edge
_NO_READ = "no single-block read event is listed"


def find_wait_class(report: Report, name: str) -> WaitEvent | None:
    """Return the wait class ``name`` of the foreground, or else that of all processes."""
    known = {(found.name.lower(), found.scope): found for found in reversed(report.wait_classes)}
    return known.get((name.lower(), Scope.FOREGROUND)) or known.get((name.lower(), Scope.ALL))


# Whose waits they are -> how they are found.
FOREGROUND, BACKGROUND, EITHER, CLASS = "foreground", "background", "either", "class"
_FIND: dict[str, Callable[[Report, str], WaitEvent | None]] = {
    FOREGROUND: Report.foreground,
    BACKGROUND: Report.background,
    EITHER: lambda report, name: report.foreground(name) or report.background(name),
    CLASS: find_wait_class,
}
# Figure of a wait: field and heading. A share is one of DB time, of background events one of background time.
_PRINTED = {"waits": ("waits", "Waits"), "s": ("time_s", "Time"), "pct": ("share_pct", "% of DB time")}


def read_wait(subject: Subject, name: str, whose: str, figure: str) -> ColumnValue:
    """Return a figure of an event or a class: ``waits``, ``s``, ``us``, ``pct``, or where the ``us`` come ``from``."""
    event = _FIND[whose](subject.report, name)
    if event is None:
        return absent(_why_none(subject.report, name, whose))
    if figure in ("us", "from"):
        return _latency_or_source(read_latency(subject.report, event), figure)
    attribute, heading = _PRINTED[figure]
    number: Number | None = getattr(event, attribute)
    return ColumnValue(number.value, source=event.scope) if number else absent(f"{name}: {heading} is blank")


def _latency_or_source(mean: ColumnValue, figure: str) -> ColumnValue:
    return ColumnValue(mean.source) if figure == "from" and mean.value is not None else mean


def read_single_block_read(subject: Subject, figure: str) -> ColumnValue:
    """Return the ``name`` of the single-block read event, its mean latency in ``us``, or where that comes ``from``."""
    event = single_block_read(subject.report)
    if event is None:
        return absent(_NO_READ)
    if figure == "name":
        return ColumnValue(event.name, source=event.scope)
    return _latency_or_source(read_latency(subject.report, event), figure)


def read_latency(report: Report, event: WaitEvent) -> ColumnValue:
    """Return the latency of ``event`` with its source."""
    mean = latency_of(report, event)
    if mean is None:
        return absent(f"{event.name}: neither waits nor an average is printed")
    if mean.us is None:
        return absent(f"{event.name}: below {mean.high_us:.3g} us, which the report prints as 0")
    return ColumnValue(mean.us, source=mean.origin)


def read_class_share(subject: Subject, name: str) -> ColumnValue:
    """Return a wait class's share of DB time; a global report prints only the times."""
    printed = read_wait(subject, name, CLASS, "pct")
    spent, in_all = read_wait(subject, name, CLASS, "s").number, subject.report.time_model_s.get("DB time")
    if printed.value is not None or spent is None or in_all is None or in_all.value <= 0:
        return printed
    return ColumnValue(100.0 * spent / in_all.value, source="time / DB time")


def read_share_below(subject: Subject, name: str, edge: str) -> ColumnValue:
    """Return the share of waits that were shorter than ``edge``, such as ``1ms``, in percent."""
    histogram, match = subject.report.histogram(name), _EDGE.fullmatch(edge)
    if histogram is None:
        return absent(f"{name}: no histogram{near(name, (one.name for one in subject.report.histograms))}")
    edges = [bucket.high_us for bucket in histogram.buckets if bucket.high_us is not None]
    wanted = float(match[1]) * US_PER[match[2]] if match else 0.0
    bound = next((high for high in edges if abs(high / wanted - 1.0) < _SAME_EDGE), None) if wanted else None
    if bound is None:
        return absent(f"{name}: the histogram has no edge at {edge}; it has {_list_edges(edges)}")
    shares = (one.share_pct for one in histogram.buckets if one.high_us is not None and one.high_us <= bound)
    total = f"the printed shares add up to {histogram.total_pct:.1f} %"
    return ColumnValue(sum(shares), source="" if total.endswith(" 100.0 %") else total)


def _list_edges(edges: Iterable[float]) -> str:
    return ", ".join(f"{edge / 1e3:g}ms" if edge >= 1e3 else f"{edge:g}us" for edge in edges)


def is_edge(text: str) -> bool:
    """Return whether ``text`` is a time such as ``512us`` or ``1ms``."""
    return _EDGE.fullmatch(text) is not None


def why_no_event(report: Report, name: str) -> str:
    """Return why the report has no row for the event ``name`` in the expected table."""
    elsewhere = next((scope for scope in Scope if report.event(name, scope)), None)
    if elsewhere is not None:
        return f"{name}: listed under {elsewhere} only"
    cut = [event.name for event in report.events if event.cut and name.startswith(event.name)]
    if cut:
        return f"{name}: several names are cut to {cut[0]!r}"
    names = (event.name for event in report.events)
    return f"{name}: not listed{near(name, names)}" if report.events else "the report has no wait events"


def _why_none(report: Report, name: str, whose: str) -> str:
    if whose != CLASS:
        return why_no_event(report, name)
    if not report.wait_classes:
        return "the report has no wait classes"
    return f"{name}: no such wait class{near(name, (one.name for one in report.wait_classes))}"


def find_top_events(report: Report, most: int | None = None) -> list[WaitEvent]:
    """Return the longest waits, at most so many, without CPU and idle events, from the most exact table for each."""
    named = report.kind is ReportKind.STATSPACK  # it has no classes, and new idle events are not idle to it
    return [event for event in list_top(report) if is_wait(event) and not (named and is_idle(event.name))][:most]


def list_top(report: Report) -> list[WaitEvent]:
    """Return the top list as it is printed, with CPU time, and then the other waits of the table that continues it.

    A top list in thousands of seconds is coarser than the table of all foreground events: its figures are used then.
    Of the two lists of a cluster the foreground's is taken.
    """
    printed = report.list_events(Scope.TOP) or report.list_events(Scope.TOP_ALL)
    is_foreground = not printed or printed[0].scope is Scope.TOP
    others = list(report.list_events(Scope.FOREGROUND)) if is_foreground else []
    others = others or list(report.list_events(Scope.ALL))
    return [*[_join(event, others) for event in printed], *filter(is_wait, others)]


def _join(top: WaitEvent, others: list[WaitEvent]) -> WaitEvent:
    """Return a row of the top list with what another table prints more exactly, and take the row of that table out."""
    same = next((event for event in others if event.is_same(top)), None)
    if same is None:
        return top
    others.remove(same)
    finest = min((top, same), key=lambda event: event.time_s.step if event.time_s else float("inf"))
    name = max((top.name, same.name), key=len)
    return replace(finest, name=name, wait_class=top.wait_class or same.wait_class, cut=top.cut and same.cut)


def is_wait(event: WaitEvent) -> bool:
    """Return whether a row of a list is a wait that counts: neither CPU time nor idle."""
    return not is_cpu(event.name) and not event.idle


def read_top_wait(subject: Subject) -> ColumnValue:
    """Return the longest wait: its name, waits, seconds, mean latency and share."""
    longest = find_top_events(subject.report, 1)
    if not longest:
        return absent("no waits are listed")
    return ColumnValue(describe(subject.report, longest[0]), source=longest[0].scope)


def read_top(subject: Subject, rank: int, figure: str) -> ColumnValue:
    """Return a figure of the wait with this rank among the longest ones: a field of the event, or its latency."""
    listed = find_top_events(subject.report, rank)
    if len(listed) < rank:
        return absent(f"only {len(listed)} waits are listed" if listed else "no waits are listed")
    event = listed[rank - 1]
    if figure == "us":
        return read_latency(subject.report, event)
    value: Number | str | None = getattr(event, figure)
    if value is None:
        return absent(f"{event.name}: blank in {event.scope}")
    return ColumnValue(value.value if isinstance(value, Number) else value, source=event.scope)


def describe(report: Report, event: WaitEvent) -> str:
    """Return a row of a top list in words: its name, waits, seconds, mean latency and share."""
    parts = [event.name]
    if event.waits:
        parts.append(f"{event.waits.value:,.0f} waits")
    if event.time_s:
        parts.append(f"{event.time_s.value:,.10g} s")
    mean = read_latency(report, event).value
    if isinstance(mean, float):
        parts.append(f"{mean:,.0f} us")
    if event.share_pct:
        parts.append(f"{event.share_pct.value:g} %")
    return ", ".join(parts)
