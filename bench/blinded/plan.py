"""Which fault each run has: random, and yet every kind as often as it can be."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """What is done to a run."""

    READ_IOPS = "cap on reads a second"
    READ_BYTES = "cap on MB read a second"
    WRITE = "cap on writes"
    LOG = "cap on log writes"
    READ_LATENCY = "reads take longer"
    SYNC_LATENCY = "log syncs take longer"
    QUOTA = "CPU quota, visible"
    HIDDEN_QUOTA = "CPU quota, hidden"
    NICED = "niced neighbours"
    PLAIN = "neighbours on the CPU"
    ON_DISK = "neighbours on the disk"
    NOTHING = "nothing"


class Shape(StrEnum):
    """How a cap goes on after it came into force."""

    LEVEL = "one level"
    STAIRS = "stairs"
    BUCKET = "bucket"
    FALL = "slow fall"
    OSCILLATION = "oscillation"


class Place(StrEnum):
    """Where a limit lies: on the device that the server's host shows, or on the disk below it, which it does not."""

    DEVICE = "device"
    BELOW = "below"


CAPS = (Kind.READ_IOPS, Kind.READ_BYTES, Kind.WRITE, Kind.LOG)
LATENCIES = (Kind.READ_LATENCY, Kind.SYNC_LATENCY)
QUOTAS = (Kind.QUOTA, Kind.HIDDEN_QUOTA)
NEIGHBOURS = (Kind.NICED, Kind.PLAIN, Kind.ON_DISK)
# With whether a latency is spread: one that is even counts as another kind.
UNCAPPED = (
    *((kind, spread) for kind in LATENCIES for spread in (False, True)),
    *((kind, False) for kind in (*QUOTAS, *NEIGHBOURS, Kind.NOTHING)),
)
LEAST_MS, MOST_MS = 1.0, 20.0
# Of what the load did before, or of a CPU: so little that it is held back on a busy host as well.
LOW = (0.15, 0.4)


@dataclass(frozen=True)
class Planned:
    """The fault of a run. ``at`` is its moment, as a share of the time in which one may begin.

    ``low`` is the (lowest) level of a cap as a share of what the load did before, and of a quota in CPUs. ``lifted`` is
    the share of the time that is left then, after which it ends; None: it stays. ``pace`` is how fast a cap's levels
    follow each other, from 0 to 1. ``unit`` is ``iops`` or ``bytes``. ``delay_ms`` is what each read, or sync, takes
    longer, all by as much or, if ``spread``, on average.
    """

    number: int
    kind: Kind
    at: float
    shape: Shape = Shape.LEVEL
    place: Place = Place.BELOW
    unit: str = "iops"
    low: float = 0.5
    pace: float = 0.5
    lifted: float | None = None
    delay_ms: float = 0.0
    spread: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Planned:
        made = {"kind": Kind(values["kind"]), "shape": Shape(values["shape"]), "place": Place(values["place"])}
        return cls(**{**values, **made})


@dataclass(frozen=True)
class Load:
    """What the measuring side knows of a run: the load, and whether `slob` may see control groups and may probe.

    ``flags`` are those of the load with their values; True is a flag without one.
    """

    number: int
    flags: Mapping[str, int] = field(default_factory=dict)
    groups_visible: bool = True
    probe: bool = False

    @property
    def writes(self) -> bool:
        """Whether it changes the data, so that they are loaded again some time."""
        return bool(self.flags["update-pct"])


def plan(runs: int, rng: random.Random) -> list[tuple[Planned, Load]]:
    """Return the faults and loads of so many runs, half of them with caps, in random order."""
    capped, uncapped = runs // 2, runs - runs // 2
    places = _repeat([Place.DEVICE, Place.BELOW], capped, rng)
    # Of the limits that are on the device itself, every second one is hidden.
    on_device = iter(_repeat([True, False], places.count(Place.DEVICE), rng))
    combinations = _repeat([(kind, shape) for kind in CAPS for shape in Shape], capped, rng)
    units = iter(_repeat(["iops", "bytes"], capped, rng))
    faults: list[tuple[dict[str, Any], bool | None]] = [
        (
            {"kind": kind, "shape": shape, "place": place, "unit": _unit_of(kind, next(units))},
            next(on_device) if place is Place.DEVICE else None,
        )
        for (kind, shape), place in zip(combinations, places, strict=True)
    ]
    faults += [
        ({"kind": kind, "spread": spread}, _visibility(kind)) for kind, spread in _repeat(UNCAPPED, uncapped, rng)
    ]
    rng.shuffle(faults)
    probes = _repeat([True, False], runs, rng)
    return [
        (_drawn(number, fault, rng), _load(number, fault["kind"], visible, probe, rng))
        for number, ((fault, visible), probe) in enumerate(zip(faults, probes, strict=True), 1)
    ]


def each_once(rng: random.Random) -> list[tuple[Planned, Load]]:
    """Return a plan with one run of each kind, of each shape and of each place of a limit."""
    faults: list[dict[str, Any]] = [
        {"kind": Kind.READ_IOPS, "shape": Shape.LEVEL, "place": Place.DEVICE},
        {"kind": Kind.READ_IOPS, "shape": Shape.FALL},
        {"kind": Kind.READ_BYTES, "shape": Shape.STAIRS, "unit": "bytes"},
        {"kind": Kind.READ_BYTES, "shape": Shape.OSCILLATION, "unit": "bytes"},
        {"kind": Kind.WRITE, "shape": Shape.LEVEL, "unit": "bytes"},
        {"kind": Kind.LOG, "shape": Shape.BUCKET},
        *({"kind": kind, "spread": spread} for kind, spread in UNCAPPED),
    ]
    return [
        (_drawn(number, fault, rng), _load(number, fault["kind"], _visibility(fault["kind"]), False, rng))
        for number, fault in enumerate(faults, 1)
    ]


def _repeat(values: Sequence[Any], count: int, rng: random.Random) -> list[Any]:
    """Return so many values in random order, each as often as the others or once more."""
    whole, rest = divmod(count, len(values))
    found = [*list(values) * whole, *rng.sample(list(values), rest)]
    rng.shuffle(found)
    return found


def _unit_of(kind: Kind, drawn: str) -> str:
    return {Kind.READ_IOPS: "iops", Kind.READ_BYTES: "bytes"}.get(kind, drawn)


def _visibility(kind: Kind) -> bool | None:
    """Return whether `slob` must see control groups, or must not; None: that is drawn."""
    return {Kind.QUOTA: True, Kind.HIDDEN_QUOTA: False}.get(kind)


def _drawn(number: int, fault: Mapping[str, Any], rng: random.Random) -> Planned:
    kind = fault["kind"]
    lasts = kind in CAPS and fault["shape"] is not Shape.LEVEL
    return Planned(
        number=number,
        at=rng.random(),
        low=rng.uniform(*LOW),
        pace=rng.random(),
        lifted=rng.uniform(0.5, 0.8) if not lasts and rng.random() < 0.4 else None,
        delay_ms=LEAST_MS * (MOST_MS / LEAST_MS) ** rng.random() if kind in LATENCIES else 0.0,
        **fault,
    )


def _load(number: int, kind: Kind, visible: bool | None, probe: bool, rng: random.Random) -> Load:
    """Return a load on which the fault matters. Updates in a hot spot that is cached wait for the log alone."""
    cached = {"do-hotspot": True, "hotspot-mb": 8, "hotspot-frequency": 1}
    of_reads = {"update-pct": rng.choice([0, 0, 10]), "work-unit": rng.choice([8, 16, 32])}
    of_log = {"update-pct": 100, "work-unit": 1, **cached}
    of_writes = {"update-pct": rng.choice([60, 100]), "work-unit": rng.choice([2, 4])}
    of_cpu = {"update-pct": 0, "work-unit": 16, **cached}
    choices = {
        Kind.WRITE: [of_writes],
        Kind.LOG: [of_log],
        Kind.SYNC_LATENCY: [of_log],
        **{each: [of_cpu, of_reads] for each in (*QUOTAS, Kind.NICED)},
        # The kernel's threads between the server and the disk wait for the CPU as well: that is no wait of the server.
        Kind.PLAIN: [of_cpu],
        Kind.NOTHING: [of_reads, of_log, of_writes, of_cpu],
    }
    flags = {**rng.choice(choices.get(kind, [of_reads])), "sessions": rng.choice([4, 8, 16])}
    return Load(number, flags, rng.random() < 0.5 if visible is None else visible, probe)
