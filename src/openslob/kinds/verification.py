"""Checks of a record: every figure derived again from its raw files, and what that comes to in words."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.analyze.derive import Derived, derive_numbers
from openslob.analyze.measure import totals_in
from openslob.analyze.operation_order import OperationOrder
from openslob.analyze.run_folder import tables_of
from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError, VerdictError
from openslob.kinds.contract import kind_of
from openslob.record import bundle as bundles
from openslob.record import finding, store
from openslob.record.arrays import read_whole
from openslob.record.bundle import Opened
from openslob.record.cells import Cells
from openslob.record.finding import Found
from openslob.record.kinds import AnyKind, of_single_runs
from openslob.record.model import RecordKind, RunRecord
from openslob.record.raw_csv import RESTORE, TEXTS, Event, event_rows
from openslob.report.format import fold_table, wrap

_MOST_NAMED = 20
# What figures follow from: every run and every observation writes these files, if only with their heads.
_RAW, _PACED = ("slices.csv", "engine.csv", "os.csv", "waits.csv", "latency.csv"), "response.csv"
# What is read of a record that has no figures, too: it can be damaged.
_READ = ("slices.csv", "engine.csv", "os.csv", "waits.csv")


@dataclass(frozen=True)
class RunCheck:
    """A run's numbers, each recorded and derived, and which sessions did other operations than its seed says.

    ``problem`` says why nothing can be derived; else it is empty.
    """

    id: str
    seed: int | None
    numbers: tuple[Derived, ...] = ()
    faults: tuple[str, ...] = ()
    slices: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Verification:
    """What the check of a record found: of its runs, of its own document, and of the bundle that it came in.

    ``raw`` says why figures of the record's own can't be derived; else it is empty.
    """

    kind: AnyKind
    id: str
    runs: tuple[RunCheck, ...]
    numbers: tuple[Derived, ...] = ()
    raw: str = ""
    bundle: Opened | None = None

    @property
    def every(self) -> Iterator[tuple[str, Derived]]:
        """All numbers, with the run that each is of; empty for the record itself."""
        yield from (("", each) for each in self.numbers)
        yield from ((run.id, each) for run in self.runs for each in run.numbers)

    @property
    def differing(self) -> list[tuple[str, Derived]]:
        """The numbers that differ from what the raw files say."""
        return [(run, each) for run, each in self.every if each.value is not None and not each.same]

    @property
    def unknown(self) -> list[tuple[str, Derived]]:
        """The numbers that the raw files do not say."""
        return [(run, each) for run, each in self.every if each.value is None]

    @property
    def changed(self) -> tuple[str, ...]:
        """What of the bundle is not as it was written."""
        return self.bundle.changed if self.bundle else ()

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words, the worst first; none if the record is what it says."""
        found = [f"changed since the bundle was made: {each}" for each in self.changed]
        found += [_in_words(run, each) for run, each in self.differing]
        found += [f"{run.id}: {each}" for run in self.runs for each in run.faults]
        return [*found, *(f"{run.id}: {run.problem}" for run in self.runs if run.problem)]


def _in_words(run: str, number: Derived) -> str:
    of = f"{run}: " if run else ""
    return f"{of}{number.name} is {number.recorded!r}, and the raw files say {number.value!r}"


@contextmanager
def open_record(
    record: str, results: Path, tell: Callable[[str], None] = store.say_nothing
) -> Iterator[tuple[Found, Opened | None]]:
    """Find what ``record`` names: a record, or a bundle, which is unpacked for the block.

    Raises:
        UsageError: There is no such record.
        VerdictError: The bundle has no record that can be read.

    """
    path = Path(finding.nameable(record))
    if not bundles.is_bundle(path):
        yield finding.one(record, results, tell), None
        return
    with scratch_folder("verify") as unpacked:
        opened = bundles.unpack(path, unpacked)
        if opened.record is None:
            why = "; ".join(opened.changed) or "its folder is empty"
            raise VerdictError(f"{path} has no record that can be read: {why}")
        yield opened.record, opened


def verify(found: Found, bundle: Opened | None = None) -> Verification:
    """Derive every figure of a record again, and of all its runs. SlobError if the record can't be read."""
    if found.kind is of_single_runs():
        return Verification(found.kind, found.folder.name, (_check(found.folder, found.path),), bundle=bundle)
    kind = kind_of(found)
    runs = tuple(_check(entry.path, entry.path) for entry in store.find(found.folder))
    return Verification(kind, found.folder.name, runs, tuple(kind.numbers(found.folder)), kind.why_not_derived, bundle)


def _check(folder: Path, path: Path) -> RunCheck:
    try:
        return _check_run(folder, store.load(path))
    except SlobError as error:
        return RunCheck(folder.name, None, problem=str(error))


def _check_run(folder: Path, record: RunRecord) -> RunCheck:
    """Derive every figure of a run or an observation from the raw files in its folder."""
    needed = (*_RAW, *([_PACED] if record.response else []))
    missing = [name for name in needed if not (folder / name).is_file()]
    if record.window is not None and missing:
        problem = f"its figures can't be derived again without {', '.join(missing)}"
        return RunCheck(record.id, record.spec.get("seed"), problem=problem)
    if record.window is None:
        for name in _READ:
            read_whole(folder / name, _read_through)
    tables = tables_of(folder, record)
    events = event_rows(folder)
    try:
        totals = totals_in(events)
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error
    numbers = tuple(derive_numbers(record, tables, totals, any(each.kind == Event.STEP_S for each in events)))
    if record.kind is not RecordKind.RUN:
        return RunCheck(record.id, record.spec.get("seed"), numbers, slices=tables.sessions.slices)
    order = order_of(folder, record)
    return RunCheck(record.id, record.spec.get("seed"), numbers, tuple(order.faults()), order.sessions.slices)


def _read_through(columns: Sequence[str], cells: Cells) -> None:
    """Read the numbers of lines from which nothing is derived. ValueError if one is none."""
    for place, name in enumerate(columns):
        if name not in TEXTS:
            cells.numbers(place)


def order_of(folder: Path, record: RunRecord) -> OperationOrder:
    """Read what operations the sessions of a run did, and in what order."""
    order = OperationOrder(record)
    read_whole(folder / "slices.csv", order.take)
    return order


def render_verification(found: Verification, columns: int | None = None) -> str:
    """Return the text: what was compared, what is the same, what differs, and what can't be derived."""
    lines = [f"{found.kind} {found.id}"]
    if found.bundle:
        made = found.bundle.manifest
        size = sum(each.bytes for each in made.files.values())
        state = f"{len(found.changed)} not as written" if found.changed else "all as written"
        lines += [f"bundle      made by openslob {made.openslob_version} with Python {made.python}"]
        lines += [f"checksums   {len(made.files)} files, {size:,} bytes: {state}", f"SHA-256     {found.bundle.sha256}"]
    lines += _fact("figures     ", _of_figures(found), columns)
    if slices := sum(run.slices for run in found.runs):
        off = sum(len(run.faults) for run in found.runs)
        state = f"{off} differ from what the seed says" if off else "in every session as the seed says"
        what = f"selects, updates and scans by the end of each of {slices:,} slices"
        lines += _fact("operations  ", f"{what}: {state}", columns)
    if found.faults:
        lines += ["", "WHAT IS WRONG"]
        for fault in found.faults[:_MOST_NAMED]:
            lines += wrap(fault, columns=columns) if columns else [fault]
        if len(found.faults) > _MOST_NAMED:
            lines.append(f"and {len(found.faults) - _MOST_NAMED} more (--json has all)")
    return "\n".join([*lines, *_not_derived(found, columns)])


def state_outcome(found: Verification) -> str:
    """Return what was verified of a record without a fault, in a line."""
    every, known = len(list(found.every)), sum(each.value is not None for _, each in found.every)
    if not known:
        return "only the checksums could be compared" if found.bundle else "nothing could be compared"
    some = "the" if known == every else f"{known:,} of {every:,}"
    return f"verified: {some} figures follow from the raw files"


def _fact(name: str, text: str, columns: int | None) -> list[str]:
    wide = textwrap.wrap(text, max(columns - len(name), 20)) if columns else [text]
    return [f"{name if number == 0 else ' ' * len(name)}{line}" for number, line in enumerate(wide)]


def _of_figures(found: Verification) -> str:
    every = list(found.every)
    if not every:
        return found.raw or "none: the record has no figures, or no raw files"
    known = len(every) - len(found.unknown)
    of_runs = f" of {len(found.runs)} runs" if len(found.runs) > 1 else ""
    state = f"{len(found.differing)} differ" if found.differing else "all the same"
    raw = f"; {found.raw}" if found.raw else ""
    return f"{known:,} of {len(every):,}{of_runs} derived again from the raw files: {state}{raw}"


def _not_derived(found: Verification, columns: int | None) -> list[str]:
    if not found.unknown:
        return []
    by_name: dict[tuple[str, str], int] = {}
    for _, each in found.unknown:
        by_name[each.name, each.why] = by_name.get((each.name, each.why), 0) + 1
    rows = [(name, str(count), why) for (name, why), count in by_name.items()][:_MOST_NAMED]
    more = [f"  and {len(by_name) - _MOST_NAMED} more"] if len(by_name) > _MOST_NAMED else []
    return ["", "NOT DERIVED", *fold_table(("figure", "runs", "why"), rows, columns, texts={0, 2}), *more]


def verification_json(found: Verification) -> dict[str, Any]:
    """Return the same as plain values."""
    bundle = found.bundle
    return {
        "kind": str(found.kind),
        "id": found.id,
        "bundle": bundle and {"sha256": bundle.sha256, **bundle.manifest.model_dump(mode="json", exclude={"files"})},
        "changed": list(found.changed),
        "compared": sum(each.value is not None for _, each in found.every),
        "differing": [
            {"run": run, "figure": each.name, "recorded": each.recorded, "derived": each.value}
            for run, each in found.differing
        ],
        "not_derived": [{"run": run, "figure": each.name, "why": each.why} for run, each in found.unknown],
        "why_not_derived": found.raw or None,
        "slices": sum(run.slices for run in found.runs),
        "faults": found.faults,
        "verified": not found.faults,
    }
