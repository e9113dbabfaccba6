"""Records of every kind, with what their reports are made from: old ones from files, and made-up ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from shutil import copytree
from tempfile import mkdtemp
from typing import Any

from factories import contenders, crashes, labs, orion, records, storages
from factories.endured import endured
from factories.pairs import Host, ab_record
from factories.paths import FIXTURES
from factories.repeats import repeated_record
from factories.sweeps import sweep
from openslob.analyze.curves.points import Run
from openslob.kinds.ab import KIND as AB
from openslob.kinds.contract import Kind, kind_of
from openslob.kinds.crash import KIND as CRASH
from openslob.kinds.crash.record import CrashControl, CrashRecord
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.segments import with_figures
from openslob.kinds.failover import KIND as FAILOVER
from openslob.kinds.failover.record import FailoverRecord, FollowStep
from openslob.kinds.lab import KIND as LAB
from openslob.kinds.lab.plan import with_nothing_changed
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.run import KIND as RUN
from openslob.kinds.runs import load as load_runs
from openslob.kinds.storage import KIND as STORAGE
from openslob.kinds.storage.record import StorageRecord
from openslob.kinds.sweep import KIND as SWEEP
from openslob.record.finding import at
from openslob.record.model import RunRecord, Status


@dataclass(frozen=True)
class Made:
    """A record in its folder, and of a sweep its runs."""

    kind: Kind[Any]
    record: Any
    folder: Path
    runs: tuple[Run, ...] = ()


def stored(name: str, folder: Path) -> Made:
    """Return the record of a folder of the fixtures, from a copy in ``folder``."""
    found = at(Path(copytree(FIXTURES / "records" / name, folder / name)))
    assert found
    kind = kind_of(found)
    record = kind.read(found.path)
    runs = tuple(load_runs(found.path).runs) if found.kind is SWEEP else ()
    return Made(kind, record, found.path, runs)


OLD = tuple(
    str(path.parent.relative_to(FIXTURES / "records"))
    for path in sorted((FIXTURES / "records").glob("*/*/*.json"))
    if path.stem in ("run", "sweep", "storage", "endurance", "repeated", "failover", "crash", "lab", "ab")
)


@cache
def made_up() -> Mapping[str, Callable[[Path], Made]]:
    """Return what makes each of the made-up records in a folder, by their names."""
    return dict(_made_up())


def _made_up() -> Iterator[tuple[str, Callable[[Path], Made]]]:
    for run in ("physical", "cached", "buffered", "interrupted", "unpublished", "remote", "failed"):
        yield f"run-{run}", partial(Made, RUN, getattr(records, run)())
    for name, record in (*_crashes(), *_labs(), *_storages(), *_failovers()):
        yield name, partial(Made, _kind_of(record), record)
    often = repeated_record((5000, 60), (4000, 60), missed=(7, 8))
    yield "repeated-often", partial(Made, REPEATED, often)
    few = repeated_record((5000, 5)).model_copy(update={"status": Status.INTERRUPTED})
    yield "repeated-few", partial(Made, REPEATED, few)
    yield "endurance-killed", _once(_killed)
    worse = {"ratio": 0.8, "lost": (3,), "failing": (6,)}
    yield "ab-worse", _of_pairs(worse)
    yield "ab-undecided", _of_pairs({"noise": 0.3}, limit_s=300.0)
    yield "ab-same", _of_pairs({}, figure="engine_read_latency_us", until_decided=False, limit_s=90.0)
    yield "ab-invalid", _of_pairs({"ratio": 2.5, "fails": ("exact_mix",), "restarts": False})
    yield "ab-stopped", _of_pairs({"stop_at": 4})


def of_a_sweep() -> list[Run]:
    """Return the runs of a small sweep."""
    return [Run.of(record) for record in sweep(counts=(2, 8, 32), update_pcts=(0, 20), repeats=2)]


def _once(make: Callable[[Path], Made]) -> Callable[[Path], Made]:
    """Make a record with many parts at the first call, beside the folder of that: each gets a copy."""
    kept: list[tuple[Made, Path]] = []

    def copy(folder: Path) -> Made:
        if not kept:
            place = Path(mkdtemp(prefix="made-", dir=folder.parent))
            kept.append((make(place), place))
        made, place = kept[0]
        return replace(made, folder=copytree(made.folder, folder / made.folder.relative_to(place)))

    return copy


def _killed(folder: Path) -> Made:
    path = endured(folder)
    return Made(ENDURANCE, with_figures(path, endurance.load(path)), path)


def _of_pairs(host: dict[str, Any], **changes: Any) -> Callable[[Path], Made]:
    def make(folder: Path) -> Made:
        record = ab_record(folder, Host(**host), **changes)
        return Made(AB, record, folder / record.id)

    return _once(make)


def _kind_of(record: RunRecord | CrashRecord | LabRecord | StorageRecord | FailoverRecord) -> Kind[Any]:
    of_type: dict[type, Kind[Any]] = {
        CrashRecord: CRASH, LabRecord: LAB, StorageRecord: STORAGE, FailoverRecord: FAILOVER,
    }  # fmt: skip
    return of_type[type(record)]


def _crashes() -> Iterator[tuple[str, CrashRecord]]:
    control = CrashControl(name="lying-disk", may_lose_nothing={"kill": "it keeps its power"})
    every = (crashes.CLEAN, crashes.LOST, crashes.DOWN)
    yield "crash-lost", crashes.record(*every)
    yield "crash-control", crashes.record(*every[:2], control=control)
    yield "crash-none", crashes.record(status=Status.FAILED)


def _labs() -> Iterator[tuple[str, LabRecord]]:
    nothing = with_nothing_changed([labs.SUMS_OFF])[-1]
    arms = ((labs.PAGES_OFF, 1.12), (labs.METHOD, 0.3), (labs.SUMS_OFF, 1.0), (nothing, 1.0))
    yield "lab-whole", labs.lab_record(*arms)
    yield "lab-noisy", labs.lab_record(*arms, noise=0.1, rounds=3)
    yield "lab-begun", labs.lab_record(*arms, rounds=0).model_copy(update={"status": Status.INTERRUPTED})


def _storages() -> Iterator[tuple[str, StorageRecord]]:
    yield "storage-calibrate", storages.CALIBRATED
    yield "storage-ceiling", storages.CALIBRATED.model_copy(update={"tool": "ceiling"})
    yield "storage-dd", storages.WAYS
    yield "storage-compare", contenders.record()
    yield "storage-orion", orion.record_of(orion.whole(1))
    stopped = {"status": Status.INTERRUPTED, "errors": ("stopped", "and more"), "summary": {}, "notes": ("A note.",)}
    yield "storage-stopped", contenders.record({}).model_copy(update=stopped)


def _failovers() -> Iterator[tuple[str, FailoverRecord]]:
    text = (FIXTURES / "records" / "failover-v1" / "measured" / "failover.json").read_text()
    measured = FailoverRecord.model_validate(json.loads(text))
    lost = {"lost": ({"number": 7, "session": 2, "acked_before_s": 0.04},) * 6, "problems": ("a clock went back",)}
    accounts = {**measured.cycles[0].accounts, "acked_lost": 8}
    first = measured.cycles[0].model_copy(update={**lost, "accounts": accounts})
    yield "failover-lost", measured.model_copy(update={"cycles": (first, *measured.cycles[1:])})
    steps = (
        FollowStep(number=1, asked_per_s=None, commits_per_s=900.0, lag_s=2.5, bytes_behind=4096, follows=False),
        FollowStep(number=2, asked_per_s=300.0, commits_per_s=299.0, lag_s=0.1, follows=True, why="it is near"),
    )
    asked = {**measured.asked, "follow_limit_s": 1.0}
    yield "failover-follow", measured.model_copy(update={"cycles": (), "follow": steps, "asked": asked, "summary": {}})
