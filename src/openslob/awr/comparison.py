"""Differences between two reports: load, time, statistics, events, statements, and what differs in their settings.

Rates are per second of each report's elapsed time, and per transaction: its commits and rollbacks. A ratio is B / A. It
is left out where the printed figures have too few digits for it, and for what one of the reports does not list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from openslob.awr import rates
from openslob.awr.consistency import TWINS
from openslob.awr.latency import latency_of
from openslob.awr.model import ListedRow, Report, Scope, WaitEvent
from openslob.awr.numbers import Number

COARSE = 0.25  # a ratio whose ends are further than this from it, as a share of it, is not stated
_NONE = 0.05  # of A: what B prints as 0 is less
_CUT_NAME = 28  # characters or more to which a text cuts the name of a statistic
_SQL_ID = 13  # characters of an SQL id, which some texts cut
SHOWN = 8  # events and statements on a screen
HEADINGS = ("Kind", "Name", "Figure", "Unit", "A", "B", "B/A", "A/txn", "B/txn", "B/A per txn", "Note")
LOAD, TIME, STATISTIC, EVENT, STATEMENT, SETTING = "load", "time", "statistic", "event", "SQL", "setting"
_PER_S, _SHARE = "1/s", "s/s"
# Set of statements -> its figures: heading, name here, and unit of the total per second; None: of one execution.
_STATEMENTS: Mapping[str, tuple[tuple[str, str, str | None], ...]] = {
    "sql_elapsed": (("Elapsed(s)", "elapsed", _SHARE), ("Elapsed/exec(s)", "elapsed/exec", None)),
    "sql_cpu": (("CPU(s)", "CPU", _SHARE), ("CPU/exec(s)", "CPU/exec", None)),
    "sql_gets": (("Gets", "gets", _PER_S), ("Gets/exec", "gets/exec", None)),
    "sql_reads": (("Reads", "reads", _PER_S), ("Reads/exec", "reads/exec", None)),
    "sql_executions": (("Executions", "executions", _PER_S),),
}
_HEADER = ("release", "platform", "host", "cpus", "cores", "sockets", "memory_gb", "block_size", "rac", "cdb", "role")


class Pair(NamedTuple):
    """A figure of both reports; None where one does not have it."""

    a: Number | None
    b: Number | None

    @property
    def ratio(self) -> float | None:
        """B / A; None if one is missing, or its digits are too few."""
        a, b = self
        if a is None or b is None or a.value <= 0 or b.value < 0:
            return None
        if b.value == 0:
            return 0.0 if b.step / 2 <= _NONE * a.value else None
        return b.value / a.value if (a.step / a.value + b.step / b.value) / 2 <= COARSE else None

    @property
    def change(self) -> float:
        """B - A, with 0 for what is missing: how much it matters."""
        return (self.b.value if self.b else 0.0) - (self.a.value if self.a else 0.0)


NOTHING = Pair(None, None)


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of two reports: ``each`` per second or as ``unit`` says, and ``per_txn`` for each transaction.

    ``texts`` are the values of a setting. ``is_idle``: of an event that waits for work.
    """

    kind: str
    name: str
    figure: str
    unit: str
    each: Pair = NOTHING
    per_txn: Pair = NOTHING
    texts: tuple[str, str] | None = None
    is_idle: bool = False

    def cells(self) -> tuple[str | float | None, ...]:
        """Return the cells below `HEADINGS`."""
        both: tuple[str | float | None, ...] = self.texts or tuple(one.value if one else None for one in self.each)
        of_txn = (one.value if one else None for one in self.per_txn)
        return (self.kind, self.name, self.figure, self.unit, *both, self.each.ratio, *of_txn, self.per_txn.ratio,
                self.note())  # fmt: skip

    def note(self) -> str:
        """Return why there is no ratio; empty if there is one."""
        if self.texts is not None or self.each.ratio is not None:
            return ""
        missing = [name for name, figure in zip("AB", self.each, strict=True) if figure is None]
        if missing:
            return f"no figure in {' and '.join(missing)}"
        return "printed as 0 in A" if self.each.a and self.each.a.value == 0 else "too few digits for a ratio"


def compare(a: Report, b: Report) -> list[Difference]:
    """Return all differences between two reports, in the order of `HEADINGS` for each kind."""
    sides = _Side(a), _Side(b)
    return [*_settings(a, b), *_load(*sides), *_times(*sides), *_statistics(*sides), *_events(*sides), *_sql(*sides)]


def choose(found: Sequence[Difference]) -> dict[str, list[Difference]]:
    """Return what a screen shows, by kind: load, time, settings, and the events and statements that changed most."""
    seen = [one for one in found if one.texts is not None or any(side and side.value for side in one.each)]
    chosen = {kind: [one for one in seen if one.kind == kind] for kind in (SETTING, LOAD, TIME)}
    for kind, figures in ((EVENT, ("time", "waits", "latency")), (STATEMENT, ("elapsed", "elapsed/exec"))):
        ranked = [one for one in seen if one.kind == kind and one.figure == figures[0] and not one.is_idle]
        names = [one.name for one in sorted(ranked, key=lambda one: -abs(one.each.change))[:SHOWN]]
        of_name = {(one.name, one.figure): one for one in seen if one.kind == kind}
        chosen[kind] = [of_name[name, figure] for name in names for figure in figures if (name, figure) in of_name]
    return {kind: rows for kind, rows in chosen.items() if rows}


class _Side:
    """One of the reports, with its transactions per second."""

    def __init__(self, report: Report) -> None:
        self.report = report
        ended = [report.activity.get(name) for name in ("user commits", "user rollbacks")]
        known = [self.rate(stat.total, stat.per_second) for stat in ended if stat is not None]
        printed = report.load_profile.get("transactions")
        exact = _sum(known) if known and report.activity.get("user commits") else None
        self.transactions = _finer(exact, printed.per_second if printed else None)

    def rate(self, total: Number | None, printed: Number | None = None) -> Number | None:
        """Return a total per second; the printed rate if that contradicts it, or has more digits."""
        computed = rates.divide(self.report, total) if total else None
        return _finer(None if isinstance(computed, str) else computed, printed)

    def per_txn(self, rate: Number | None, printed: Number | None = None) -> Number | None:
        """Return a rate for each transaction; the printed figure if that contradicts it, or has more digits."""
        return _finer(_quotient(rate, self.transactions), printed)


def _finer(computed: Number | None, printed: Number | None) -> Number | None:
    if computed is None or printed is None:
        return computed or printed
    return printed if computed.step >= printed.step or rates.contradicts(computed, printed) else computed


def _quotient(one: Number | None, by: Number | None) -> Number | None:
    if one is None or by is None or by.value <= 0:
        return None
    return Number(one.value / by.value, one.step / by.value + one.value * by.step / by.value**2)


def _sum(numbers: Iterable[Number | None]) -> Number | None:
    known = [number for number in numbers if number is not None]
    return Number(sum(one.value for one in known), max(one.step for one in known)) if known else None


def _rates(
    a: _Side, b: _Side, kind: str, name: str, figure: str, unit: str, both: Sequence[Number | None]
) -> Difference:
    """Return the difference of a rate, with that for each transaction."""
    each = Pair(*both)
    return Difference(kind, name, figure, unit, each, Pair(a.per_txn(each.a), b.per_txn(each.b)))


def _settings(a: Report, b: Report) -> Iterator[Difference]:
    heads = [{name: _shown(getattr(one.header, name)) for name in _HEADER} for one in (a, b)]
    parameters = [{name: one.begin for name, one in report.parameters.items()} for report in (a, b)]
    for kind, (first, second) in (("database", heads), ("parameter", parameters)):
        for name in dict.fromkeys((*first, *second)) if first and second else ():
            texts = first.get(name, ""), second.get(name, "")
            if texts[0] != texts[1] and not _is_cut(*texts):
                yield Difference(SETTING, name, kind, "", texts=texts)


def _is_cut(one: str, other: str) -> bool:
    """Return whether a value is the beginning of the other: a text prints two lines of a long one."""
    return min(len(one), len(other)) >= _CUT_NAME and (one.startswith(other) or other.startswith(one))


def _shown(value: object) -> str:
    if isinstance(value, Number):
        return f"{value.value:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def _load(a: _Side, b: _Side) -> Iterator[Difference]:
    for name in dict.fromkeys((*a.report.load_profile, *b.report.load_profile)):
        both = [_load_rate(side, name) for side in (a, b)]
        printed = [side.report.load_profile.get(name) for side in (a, b)]
        per_txn = (side.per_txn(rate, row.per_transaction if row else None)
                   for side, rate, row in zip((a, b), both, printed, strict=True))  # fmt: skip
        unit = _SHARE if name in ("db_time", "db_cpu", "background_cpu") else _PER_S
        yield Difference(LOAD, name.replace("_", " "), "rate", unit, Pair(*both), Pair(*per_txn))


def _load_rate(side: _Side, name: str) -> Number | None:
    """Return a row of the load profile per second, by the statistic that counts the same if it has more digits."""
    row, twin = side.report.load_profile.get(name), side.report.activity.get(TWINS.get(name, ""))
    times = {"db_time": "DB time", "db_cpu": "DB CPU", "background_cpu": "background cpu time"}
    printed = row.per_second if row else None
    if name in times:
        return side.rate(side.report.time_model_s.get(times[name]), printed)
    if name == "transactions":
        return side.transactions
    return side.rate(twin.total if twin else None, printed)


def _match(a: Iterable[str], b: Iterable[str], cut: Collection[str]) -> Iterator[tuple[str | None, str | None]]:
    """Yield the names of both reports in pairs. One of ``cut`` is also the beginning of the only name it can be."""
    first, second = list(dict.fromkeys(a)), list(dict.fromkeys(b))
    rest = [name for name in second if name not in set(first)]
    for name in first:
        begun = [one for one in rest if (one in cut and name.startswith(one)) or (name in cut and one.startswith(name))]
        found = name if name in set(second) else begun[0] if len(begun) == 1 else None
        if found in rest:
            rest.remove(found)
        yield name, found
    yield from ((None, name) for name in rest)


def _may_be_cut(names: Callable[[Report], Iterable[str]], *sides: _Side) -> set[str]:
    """Return the names that fill their columns in a text."""
    texts = (side.report for side in sides if side.report.format == "text")
    return {name for report in texts for name in names(report) if len(name) >= _CUT_NAME}


def _longer(*names: str | None) -> str:
    return max((name or "" for name in names), key=len)


def _times(a: _Side, b: _Side) -> Iterator[Difference]:
    cut = _may_be_cut(lambda report: report.time_model_s, a, b)
    for names in _match(a.report.time_model_s, b.report.time_model_s, cut):
        seconds = (rates.find_time_rate(side.report, name or "") for side, name in zip((a, b), names, strict=True))
        both = [one if isinstance(one, Number) else None for one in seconds]
        yield _rates(a, b, TIME, _longer(*names), "time", _SHARE, both)


def _statistics(a: _Side, b: _Side) -> Iterator[Difference]:
    cut = _may_be_cut(lambda report: report.activity, a, b)
    for names in _match(a.report.activity, b.report.activity, cut):
        rows = [side.report.activity.get(name or "") for side, name in zip((a, b), names, strict=True)]
        both = [side.rate(row.total, row.per_second) if row else None for side, row in zip((a, b), rows, strict=True)]
        per_txn = (side.per_txn(rate, row.per_transaction if row else None)
                   for side, rate, row in zip((a, b), both, rows, strict=True))  # fmt: skip
        yield Difference(STATISTIC, _longer(*names), "rate", _PER_S, Pair(*both), Pair(*per_txn))


def _events(a: _Side, b: _Side) -> Iterator[Difference]:
    """Yield the events of the most complete table that both reports have."""
    scopes = (Scope.FOREGROUND, Scope.ALL, Scope.TOP, Scope.TOP_ALL)
    shared = (one for one in scopes if a.report.list_events(one) and b.report.list_events(one))
    scope = next(shared, None)
    if scope is None:
        return
    known = [{event.name: event for event in side.report.list_events(scope)} for side in (a, b)]
    cut = [event.name for some in known for event in some.values() if event.cut]
    for names in _match(known[0], known[1], cut):
        first, second = known[0].get(names[0] or ""), known[1].get(names[1] or "")
        name = _longer(*names)
        both = ((a, first), (b, second))
        time = _rates(a, b, EVENT, name, "time", _SHARE, [side.rate(one.time_s) if one else None for side, one in both])
        yield replace(time, is_idle=any(one.idle for one in (first, second) if one is not None))
        yield _rates(a, b, EVENT, name, "waits", _PER_S,
                     [side.rate(one.waits, one.waits_per_s) if one else None for side, one in both])  # fmt: skip
        yield Difference(EVENT, name, "latency", "us", Pair(*(_latency(side, one) for side, one in both)))


def _latency(side: _Side, event: WaitEvent | None) -> Number | None:
    found = latency_of(side.report, event) if event is not None else None
    return Number(found.us, found.high_us - found.low_us) if found is not None and found.us is not None else None


def _sql(a: _Side, b: _Side) -> Iterator[Difference]:
    """Yield the statements of each list by their ids, which some texts cut."""
    for name, figures in _STATEMENTS.items():
        lists = [{str(row.cells["SQL Id"]): row for row in side.report.listed.get(name, ()) if "SQL Id" in row.cells}
                 for side in (a, b)]  # fmt: skip
        for first, second in _match(lists[0], lists[1], [one for some in lists for one in some if len(one) < _SQL_ID]):
            rows = lists[0].get(first or ""), lists[1].get(second or "")
            yield from _statement(a, b, _longer(first, second), rows, figures)


def _statement(
    a: _Side,
    b: _Side,
    name: str,
    rows: tuple[ListedRow | None, ListedRow | None],
    figures: Iterable[tuple[str, str, str | None]],
) -> Iterator[Difference]:
    for heading, figure, unit in figures:
        if unit is None:
            found = [row.cells.get(heading) if row else None for row in rows]
            unit_of_one = "s" if heading.endswith("(s)") else ""
            each = Pair(*(one if isinstance(one, Number) else None for one in found))
            yield Difference(STATEMENT, name, figure, unit_of_one, each)
        else:
            both = [_total(side, row, heading) if row else None for side, row in ((a, rows[0]), (b, rows[1]))]
            yield _rates(a, b, STATEMENT, name, figure, unit, both)


def _total(side: _Side, row: ListedRow, heading: str) -> Number | None:
    """Return a total of a statement per second. A compare-period report has only its share of DB time or DB CPU."""
    total = row.cells.get(heading)
    if isinstance(total, Number):
        return side.rate(total)
    of_all: dict[str, tuple[str, Callable[[], Number | None]]] = {
        "Elapsed(s)": ("% of DB time", lambda: _load_rate(side, "db_time")),
        "CPU(s)": ("% of DB CPU", lambda: _load_rate(side, "db_cpu")),
        "Gets": ("% of gets", lambda: _load_rate(side, "logical_reads")),
        "Reads": ("% of reads", lambda: _load_rate(side, "physical_reads")),
    }
    if heading not in of_all:
        return None
    share, whole = row.cells.get(of_all[heading][0]), of_all[heading][1]()
    if not isinstance(share, Number) or whole is None:
        return None
    return Number(share.value * whole.value / 100, (share.step * whole.value + share.value * whole.step) / 100)
