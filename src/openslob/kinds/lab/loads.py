"""The loads of a lab. All of them run on the same data, so that a server is loaded once and never between two runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from openslob.core.errors import UsageError
from openslob.core.units import MIB, Price
from openslob.core.workload import CommitMode, Workload
from openslob.kinds.lab.record import LabLoad

DEFAULT_CACHE = 64 * MIB
SCHEMAS = 4
# Data are so many times the cache that few visits find their block there.
_DATA_PER_CACHE = 8
# The part of the cache that holds what the cached load visits, and the size of a scanned table: larger than what
# engines keep of a scan in their cache.
_HOT_SHARE, _SCAN_SHARE = 1 / 4, 5 / 16


@dataclass(frozen=True)
class LoadSize:
    """What the loads have in common: the cache of the server, the sessions, and the seconds of a run."""

    cache_bytes: int
    sessions: int
    run_s: float
    warmup_s: float


@dataclass(frozen=True)
class _Load:
    about: str
    rate: str
    unit: str
    parameters: Mapping[str, Any]


_ALL_HOT = {"do_hotspot": True, "hotspot_frequency": 1, "hotspot_offset_mb": 0}
_LOADS = {
    "cached": _Load("index reads of single blocks from the cache", "block_visits_per_s", "reads/s", _ALL_HOT),
    "physical": _Load("index reads of single blocks from storage", "pio_read_per_s", "reads/s", {}),
    "scan": _Load(
        "scans of whole tables from storage", "pio_read_mb_per_s", "MB/s", {"scan_pct": 100, "sessions": SCHEMAS}
    ),
    "commit": _Load(
        "updates of one row each", "commits_per_s", "commits/s", {"update_pct": 100, "update_work_unit": 1}
    ),
    "update": _Load(
        "updates of 32 rows each", "commits_per_s", "commits/s", {"update_pct": 100, "update_work_unit": 32}
    ),
}  # fmt: skip
# In the order in which they run: what writes comes last, as the server goes on writing afterwards.
NAMES = tuple(_LOADS)
_WRITING = frozenset(name for name, load in _LOADS.items() if load.parameters.get("update_pct"))
# What is run for a setting of which it is not known what it can matter to.
ANY = ("cached", "physical", "commit", "update")


def require_known(names: tuple[str, ...]) -> None:
    """Raise UsageError for the name of a load that does not exist."""
    for name in names:
        if name not in _LOADS:
            raise UsageError(f"--loads: there is no load {name!r}", f"there are {', '.join(NAMES)}")


def reading_and_writing(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the loads that only read, and those that write: a group each, unless it is empty, in their order."""
    wanted = [name for name in NAMES if name in set(names)]
    groups = (tuple(name for name in wanted if (name in _WRITING) is writes) for writes in (False, True))
    return [group for group in groups if group]


def writes(names: Iterable[str]) -> bool:
    """Return whether one of the loads writes."""
    return not _WRITING.isdisjoint(names)


def lab_load(name: str, size: LoadSize, price: Price | None = None) -> LabLoad:
    """Return a load, on servers that have this price."""
    load = _LOADS[name]
    workload = Workload.model_validate(
        {
            "schemas": SCHEMAS,
            "sessions": size.sessions,
            "scale": _blocks(size.cache_bytes * _DATA_PER_CACHE / SCHEMAS),
            "scan_table_sz": _blocks(size.cache_bytes * _SCAN_SHARE),
            "hotspot_mb": size.cache_bytes * _HOT_SHARE / SCHEMAS / MIB,
            "run_time": size.run_s,
            "warmup": size.warmup_s,
            "price": price,
            # Whether a commit waits is a setting of the server here, and none of the load.
            "commit_mode": CommitMode.ENGINE,
            **load.parameters,
        }
    )
    return LabLoad(name=name, about=load.about, workload=workload.to_record(), rate=load.rate, unit=load.unit)


def _blocks(size: float) -> str:
    return f"{max(1, round(size / MIB))}M"
