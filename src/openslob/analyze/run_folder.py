"""The raw files of a record's folder, read whole into the tables of `analyze`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf, isnan
from pathlib import Path
from threading import Lock

from openslob.analyze.load_kinds import load_kind
from openslob.analyze.run_tables import FILES, RunTables, engine_rows, steps_of, unit_for
from openslob.analyze.timeline import EngineRow, Span, Timeline, in_steps, of_engine
from openslob.core.disk import file_identity
from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.record.arrays import read_whole
from openslob.record.cells import Cells
from openslob.record.model import RunRecord
from openslob.record.raw_csv import RESTORE, Event, event_rows

# Longer loads may have more intervals than are looked at one by one, and rows that are about several slices.
_MOST_LEAN_S = 3600


class _Kept:
    """The tables of the record that was read last: a report reads the same one several times."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.identity: tuple[object, ...] = ()
        self.tables = RunTables(0)
        self.read: set[str] = set()


_kept = _Kept()


def read_tables(
    folder: Path, begin_ns: int, offset_ns: int, seconds: float, files: Collection[str] = FILES
) -> RunTables:
    """Read the tables of a load that began at ``begin_ns`` of the server's clock and took so many seconds.

    ``offset_ns`` is the server's clock minus the driver's. Only these ``files`` are sure to be read. SlobError for a
    damaged file.
    """
    identity = (
        folder,
        begin_ns,
        offset_ns,
        seconds,
        *map(file_identity, (folder / name for name in (*FILES, "events.csv"))),
    )
    with _kept.lock:
        if _kept.identity != identity:
            _kept.tables, _kept.read = _empty(folder, begin_ns, offset_ns, seconds), set()
            _kept.identity = identity
        try:
            for name in (name for name in files if name not in _kept.read):
                read_whole(folder / name, partial(_kept.tables.take, name))
                _kept.read.add(name)
        except SlobError:
            _kept.identity = ()
            raise
        return _kept.tables


def _empty(folder: Path, begin_ns: int, offset_ns: int, seconds: float) -> RunTables:
    thinned_ns = [each.wall_ns + offset_ns - begin_ns for each in event_rows(folder) if each.kind == Event.STEP_S]
    return RunTables(begin_ns, offset_ns, unit_of(folder, seconds), min(thinned_ns, default=inf) / NANOS)


def unit_of(folder: Path, seconds: float) -> int:
    """Return the unit, in seconds, in which the load of so many seconds that is recorded in ``folder`` is kept."""
    try:
        return unit_for(seconds, steps_of(event_rows(folder)))
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error


def read_latencies(folder: Path, unit_s: int, give: Callable[[int, str, Sequence[int], Sequence[int]], None]) -> None:
    """Read the service times and, of a run at a given rate, the response times as kind ``…-response``, part by part.

    ``give`` gets the first second of a unit, the kind, and buckets and counts: of a unit several times if it is in
    several parts. Those of a week would fill the memory.
    """

    def take(ending: str, file: str, columns: Sequence[str], cells: Cells) -> None:
        part = RunTables(0, unit_s=unit_s)
        part.take(file, columns, cells)
        for kind, each in (part.latency or part.response).items():
            for unit, buckets, counts in each.by_unit():
                give(unit * unit_s, f"{kind}{ending}", buckets.tolist(), counts.tolist())

    for file, ending in (("latency.csv", ""), ("response.csv", "-response")):
        read_whole(folder / file, partial(take, ending, file))


def tables_of(folder: Path, record: RunRecord, files: Collection[str] = FILES) -> RunTables:
    """Read the tables of the record in ``folder``, of these files at least; without anything if it has no window."""
    if record.window is None:
        return RunTables(0)
    offset_ns = round(float(record.environment.get("server_clock_offset_s") or 0) * NANOS)
    return read_tables(folder, record.window.load_start_ns, offset_ns, record.window.load_seconds, files)


def engine_course(folder: Path, record: RunRecord) -> Timeline:
    """Return the figures of the engine's counters over time (`timeline.of_engine`), without tables of anything else.

    That takes a third of the time of the tables, which counts where there are a thousand short runs.
    """
    window = record.window
    if window is None:
        return {}
    even: Span | None
    if window.load_seconds > _MOST_LEAN_S:
        rows, even = take_engine_counts(tables_of(folder, record, ("slices.csv", "engine.csv")), record)
    elif load_kind(record).publishes_late:
        rows, even = in_steps(_counts_in(folder)), (window.load_start_ns, window.load_end_ns)
    else:
        rows, even = _counts_in(folder), _even_in(folder)
    return of_engine(rows, window.load_start_ns, window.load_end_ns, even)


def _counts_in(folder: Path) -> list[EngineRow]:
    rows: list[EngineRow] = []

    def take(_: Sequence[str], cells: Cells) -> None:
        names, code = cells.names(2)
        columns = (cells.integers(0), cells.integers(1), code, cells.numbers(3))
        found = zip(*(each.tolist() for each in columns), strict=True)
        rows.extend((begin, end, names[name], value) for begin, end, name, value in found if not isnan(value))

    read_whole(folder / "engine.csv", take)
    return rows


def _even_in(folder: Path) -> Span | None:
    """Return `RunTables.even_ns`: what `RunTables` says of all slices."""
    first_ends: dict[int, int] = {}
    last_begins: dict[int, int] = {}

    def take(columns: Sequence[str], cells: Cells) -> None:
        found = (cells.integers(columns.index(name)).tolist() for name in ("session", "start_ns", "end_ns"))
        for session, begin, end in zip(*found, strict=True):
            first_ends.setdefault(session, end)
            last_begins[session] = begin

    read_whole(folder / "slices.csv", take)
    return (max(first_ends.values()), max(last_begins.values())) if first_ends else None


def take_engine_counts(tables: RunTables, record: RunRecord) -> tuple[list[EngineRow], Span | None]:
    """Return what the engine counted, and the span in ns in which its counts keep pace with the work, if known."""
    if record.window is not None and load_kind(record).publishes_late:
        return in_steps(engine_rows(tables)), (record.window.load_start_ns, record.window.load_end_ns)
    return engine_rows(tables), tables.even_ns
