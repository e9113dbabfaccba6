"""The check of one run: its record made again of raw files and facts, or of an older one its figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from openslob.analyze.derive import OF_SCHEDULE, Derived, derive_numbers, of_all_kinds
from openslob.analyze.measure import totals_in
from openslob.analyze.only_stated import FILES, ROWS, Stated, only_stated
from openslob.analyze.operation_order import OperationOrder
from openslob.analyze.rebuild import ROUNDING, Part, Rebuilt, changed_judgements, compare, rebuild
from openslob.analyze.run_folder import tables_of
from openslob.analyze.verdict_registry import RULES_FACT, RULES_VERSION
from openslob.core.errors import SlobError
from openslob.core.histogram import bucket_of, lower_edge_us
from openslob.core.measurement import EngineDelta
from openslob.engines import registry
from openslob.kinds.recounting import Recount, recount
from openslob.metrics.run_metrics import CONNECTING, PACED
from openslob.record import store
from openslob.record.arrays import read_whole
from openslob.record.cells import Cells
from openslob.record.facts import FACTS_FILE, FactsRecord, same
from openslob.record.facts import Path as PartPath
from openslob.record.model import RecordKind, RunRecord
from openslob.record.raw_csv import RESTORE, TEXTS, Event, event_rows

# What figures follow from: every run and every observation writes these files, if only with their heads.
_RAW, _PACED = ("slices.csv", "engine.csv", "os.csv", "waits.csv", "latency.csv"), "response.csv"
# What is read of a record that has no figures, too: it can be damaged.
_READ = ("slices.csv", "engine.csv", "os.csv", "waits.csv")
NOTHING = "nothing"
_OF_LATENCY = frozenset({"latency", "response"})
# What arithmetic says of facts that are of the right type and can't be: nobody has checked what a forger writes.
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Rows that have a name, and the field that has it.
_NAMED = {"waits": "event", "verdicts": "name", "instances": "target", "classes": "name"}


@dataclass(frozen=True)
class RunCheck:
    """A run's numbers, each recorded and derived, and what is wrong with its files.

    ``out_of_order`` is how many of the ``faults`` are sessions that did other operations than the seed says.
    ``statements`` are all other parts of its record in the same way; an old one has none that can be derived. ``rules``
    says why its verdicts are not compared, and ``once`` how many parts of each group are stated only once. ``problem``
    says why nothing can be derived. Either is empty if there is nothing to say.
    """

    id: str
    seed: int | None
    numbers: tuple[Derived, ...] = ()
    faults: tuple[str, ...] = ()
    slices: int = 0
    out_of_order: int = 0
    problem: str = ""
    statements: tuple[Derived, ...] = ()
    rules: str = ""
    once: Mapping[Stated, int] = field(default_factory=dict)


def check(folder: Path, path: Path) -> RunCheck:
    """Check the run or the observation in a folder, whose record is at ``path``."""
    try:
        return _check_run(folder, store.load_as_written(path), path)
    except SlobError as error:
        return RunCheck(folder.name, None, problem=str(error))
    except _UNFIT as error:
        return RunCheck(folder.name, None, problem=f"its record can't be made again: {error!r}")


def _check_run(folder: Path, record: RunRecord, path: Path) -> RunCheck:
    seed = record.spec.get("seed")
    needed = (*_RAW, *([_PACED] if record.response else []))
    missing = [name for name in needed if not (folder / name).is_file()]
    facts = store.load_facts(folder)
    if record.window is not None and facts is None and RULES_FACT in record.environment:
        missing.append(FACTS_FILE)
    if record.window is not None and missing:
        problem = f"its figures can't be derived again without {', '.join(missing)}"
        return RunCheck(record.id, seed, problem=problem)
    if facts is not None:
        found = _check_all(folder, record, path, facts)
    else:
        found = RunCheck(record.id, seed, _figures(folder, record), rules=_rules(None, record, None))
    order = order_of(folder, record) if record.kind is RecordKind.RUN else None
    if order is None:
        return found
    others = tuple(order.faults())
    return replace(found, faults=(*found.faults, *others), slices=order.sessions.slices, out_of_order=len(others))


def _figures(folder: Path, record: RunRecord) -> tuple[Derived, ...]:
    """Derive the figures of an older record, of which no more can be."""
    if record.window is None:
        for name in _READ:
            read_whole(folder / name, _read_through)
    tables, events = tables_of(folder, record), event_rows(folder)
    try:
        totals = totals_in(events)
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error
    return tuple(derive_numbers(record, tables, totals, any(each.kind == Event.STEP_S for each in events)))


def _read_through(columns: Sequence[str], cells: Cells) -> None:
    """Read the numbers of lines from which nothing is derived. ValueError if one is none."""
    for place, name in enumerate(columns):
        if name not in TEXTS:
            cells.numbers(place)


def _check_all(folder: Path, record: RunRecord, path: Path, facts: FactsRecord) -> RunCheck:
    """Make the record again, and compare every part of it."""
    thinned = any(each.kind == Event.STEP_S for each in event_rows(folder))
    counting = registry.counting(str(record.engine.get("name")), facts.counting) if facts.counting else None
    recounted = recount(folder, counting, thinned) if counting else Recount()
    seconds = record.window.load_seconds if record.window else 0.0
    again = rebuild(folder, seconds, facts, recounted.counted)
    document = store.read_document(path / store.RECORD_FILE if path.is_dir() else path)
    version = document.get("record_version") if isinstance(document, dict) else None
    parts = list(compare(record, version, again.record, facts))
    return RunCheck(
        record.id,
        record.spec.get("seed"),
        (*_numbers(record, parts), *of_all_kinds(record, again.measured, again.tables.sessions)),
        (*recounted.faults, *_of_whole_load(again, recounted.counted), *_no_edges(folder)),
        statements=tuple(_derived(record, part) for part in parts if not _is_number(part[0])),
        rules=_rules(facts.rules_version, record, again.record),
        once=_count_stated(folder, facts, recounted.counted is not None),
    )


def _numbers(record: RunRecord, parts: Sequence[Part]) -> Iterator[Derived]:
    for part in parts:
        if _is_number(part[0]) and part[1:] != (None, None):
            number = _derived(record, part)
            is_stated = number.name in PACED | CONNECTING and number.same
            yield replace(number, value=None, why=OF_SCHEDULE) if is_stated else number


def _is_number(path: PartPath) -> bool:
    """Return whether a part of a record is a figure; all others are what is said of figures, or beside them."""
    if path[0] in _OF_LATENCY:
        return len(path) == len(("latency", "kind", "figure"))
    if path[0] == "classes":
        return path[2:3] not in ((), ("name",)) and len(path) in (3, len(("classes", 0, "latency", "kind", "figure")))
    if path[0] == "stages":
        return len(path) == len(("stages", 0, "figure")) and path[-1] != "why"
    return (path[0] in ("window", "waits") and path[-1] != "event") or (path[0] == "summary" and path[-1] == "value")


def _derived(record: RunRecord, part: Part) -> Derived:
    path, written, made = part
    same_part = same(written, made, ROUNDING)
    return Derived(_name(record, path), written, written if same_part else NOTHING if made is None else made)


def _name(record: RunRecord, path: PartPath) -> str:
    """Return what a part of a record is called: a figure by its name alone, a wait and a verdict by theirs."""
    if path[0] == "summary" and path[-1] == "value":
        return str(path[1])
    if path[0] in _NAMED and len(path) > 1 and isinstance(path[1], int):
        rows = getattr(record, str(path[0]))
        name = getattr(rows[path[1]], _NAMED[str(path[0])]) if path[1] < len(rows) else path[1]
        path = (path[0], name, *path[2:])
    return ".".join(map(str, path))


def _of_whole_load(again: Rebuilt, counted: EngineDelta | None) -> Iterator[str]:
    """Yield what intervals and totals say of the whole load, and the readings of the engine's counters do not."""
    if counted is None or not again.measured.window.counter_seconds:
        return
    rows = again.derived.engine.amounts()
    for name, value in counted.amounts().items():
        if value is not None and not same(rows[name], value, ROUNDING):
            yield f"{name} of the whole load is {rows[name]!r} by intervals and totals, and {value!r} by all readings"


def _no_edges(folder: Path) -> Iterator[str]:
    """Yield each edge in the files of latencies that no bucket has: what was counted in it is still of its bucket."""
    for name in ("latency.csv", _PACED):
        for edge in sorted(each for each in _edges_in(folder / name) if lower_edge_us(bucket_of(each)) != each):
            yield f"{name} has a bucket from {edge} µs on, and there is none"


def _edges_in(path: Path) -> set[int]:
    found: set[int] = set()
    read_whole(path, lambda columns, cells: found.update(cells.integers(columns.index("lower_edge_us")).tolist()))
    return found


def _rules(version: int | None, record: RunRecord, again: RunRecord | None) -> str:
    """Return why the verdicts of a record are not compared; empty if they are."""
    if version == RULES_VERSION or record.window is None:
        return ""
    which = "rules whose version it does not state" if version is None else f"rules of version {version}"
    changed = changed_judgements(record, again) if again else {}
    now = f"; by those of today {', '.join(f'{name} {outcome}' for name, outcome in changed.items())}"
    older = "later" if version and version > RULES_VERSION else "older"
    why = f"judged by {older} {which}; this program has version {RULES_VERSION}"
    return f"{why}: verdicts are not compared{now if changed else ''}"


def _count_stated(folder: Path, facts: FactsRecord, counted: bool) -> Mapping[Stated, int]:
    """Return how many parts of each group nothing else shows."""
    texts = [folder / store.REPORT_FILE, *(folder / store.ATTACHMENTS).glob("*")]
    found = Counter(group for group, _ in only_stated(facts, counted))
    return {**found, ROWS: 0, **({FILES: len(texts)} if any(each.is_file() for each in texts) else {})}


def order_of(folder: Path, record: RunRecord) -> OperationOrder:
    """Read what operations the sessions of a run did, and in what order."""
    order = OperationOrder(record)
    read_whole(folder / "slices.csv", order.take)
    return order
