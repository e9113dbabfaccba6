"""What is known before a run: what would stop or spoil it, and which of its figures will be unknown.

Nothing is guessed or listed a second time: findings are those that the run itself heeds, and the figures that will be
unknown, with their reasons, come from readings and arithmetic that are the run's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from openslob.analyze.figures import summary
from openslob.counts import SliceCounts
from openslob.engines.base import Engine
from openslob.engines.facts import DATA, Finding, ServerFacts, ServerLocation
from openslob.host.sampler import difference
from openslob.measurement import DeviceIo, EngineDelta, HostDelta, Measurement, SessionTotals, Window
from openslob.metrics import METRICS, PACED
from openslob.run.samplers import Reading, Samplers
from openslob.units import NANOS, format_bytes
from openslob.workload import BlockPath, Mode, Workload

# Data of up to this share of the cache stay in it when read once.
CACHEABLE = 0.8
# The proof of PIO asks for nine visits of ten to be engine reads; hits of a uniform choice are cache over data.
_PIO_FACTOR = 10
# What stands for every figure that is known: any number above 0, so that no quotient of two is unknown.
_KNOWN = 1.0
# What the engine counts for figures of the registry; the rest is evidence for verdicts.
_IN_FIGURES = (
    *("logical_reads", "read_requests", "read_bytes", "read_time_us"),
    *("write_requests", "write_bytes", "log_bytes", "log_syncs", "log_sync_time_us", "log_write_requests"),
    *("full_page_images", "full_page_image_bytes", "db_cpu_us", "db_time_us"),
)
# A run by WORK_LOOP alone has no length beforehand; this one is as good as any.
_ANY_LENGTH_S = 60.0


@dataclass(frozen=True)
class Purpose:
    """Whether a kind of test is possible with this much data and cache, and why (not)."""

    mode: Mode
    possible: bool
    why: str


@dataclass(frozen=True)
class Preflight:
    """All that is known before a run.

    ``findings`` has the gravest first; ``purposes`` one entry each for physical and logical reads. ``unknown`` gives
    the reason for each figure of the registry that a run's summary will lack, ``unproved`` for each other count of the
    engine that verdicts rest on.
    """

    facts: ServerFacts
    location: ServerLocation
    findings: Sequence[Finding]
    purposes: Sequence[Purpose]
    data_bytes: int
    unknown: Mapping[str, str]
    unproved: Mapping[str, str]

    @property
    def blocked(self) -> bool:
        """Whether something that no load puts right keeps a run from working."""
        return any(finding.blocking and finding.name != DATA for finding in self.findings)


def active_bytes(workload: Workload, block_size: int) -> int:
    """Size of the tables that sessions of this workload visit."""
    return workload.scale.blocks(block_size) * block_size * workload.active_tables


def findings(engine: Engine, workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """Everything that would stop or spoil the run, as the engine sees it and by the sizes of data and cache."""
    yield from engine.findings(workload)
    yield from purpose_findings(workload, facts)


def purpose_findings(workload: Workload, facts: ServerFacts) -> Iterator[Finding]:
    """What keeps the run from being what its MODE says; nothing without one.

    On the local path the server's cache is passed by, and what sessions keep for themselves is made small.
    """
    if workload.block_path is BlockPath.LOCAL:
        return
    data, cache = active_bytes(workload, facts.block_size), facts.cache_bytes
    remedies = {Mode.PIO: "load more, or use a smaller cache", Mode.LIO: "load less, or use a larger cache"}
    for purpose in purposes(data, cache):
        if purpose.mode is workload.mode and not purpose.possible:
            # Data that fit the cache are read from it: the run would measure memory and call it storage.
            blocking = purpose.mode is Mode.PIO and data <= cache
            yield Finding("mode", purpose.why, remedies[purpose.mode], blocking, spoils=True)
    if workload.mode is Mode.PIO and not facts.direct_io:
        why = "the server does buffered I/O: the operating system's page cache may serve what the engine reads"
        yield Finding("page cache", why, "use direct I/O, or data much larger than the host's memory", False, True)


def purposes(data_bytes: int, cache_bytes: int) -> Sequence[Purpose]:
    """Whether a test of physical and one of logical reads are possible with so much active data and cache."""
    sizes = f"{format_bytes(data_bytes)} of active data, {format_bytes(cache_bytes)} of cache"
    hits = min(1.0, cache_bytes / data_bytes) if data_bytes else 1.0
    if data_bytes <= cache_bytes:
        physical = f"{sizes}: all of it can be cached, so reads would be hits"
    else:
        physical = f"{sizes}: about {100 * hits:.0f} % of the visits would be hits"
    fits = data_bytes <= CACHEABLE * cache_bytes
    logical = f"{sizes}: {'all of it stays cached' if fits else 'it will not all stay cached'}"
    return (
        Purpose(Mode.PIO, data_bytes >= _PIO_FACTOR * cache_bytes, physical),
        Purpose(Mode.LIO, fits, logical),
    )


def preflight(engine: Engine, workload: Workload) -> Preflight:
    """Ask the server, the host and the data. SlobError when the server can't be reached."""
    facts = engine.facts()
    found = sorted(findings(engine, workload, facts), key=_gravity)
    counted, host, local = _probe(engine, workload)
    data_bytes = active_bytes(workload, facts.block_size)
    figures = summary(_as_if_run(workload, facts, counted, host, local))
    return Preflight(
        facts=facts,
        location=engine.location(),
        findings=found,
        purposes=purposes(data_bytes, facts.cache_bytes),
        data_bytes=data_bytes,
        unknown={name: figures[name].why or "" for name in _asked(workload) if figures[name].value is None},
        unproved={name: why for name, why in counted.unknown.items() if name not in _IN_FIGURES},
    )


def _asked(workload: Workload) -> list[str]:
    """The figures that a run of this workload has, known or not."""
    return [name for name in METRICS if name not in PACED or workload.is_paced]


def _gravity(finding: Finding) -> tuple[bool, bool]:
    return not finding.blocking, not finding.spoils


def _probe(engine: Engine, workload: Workload) -> tuple[EngineDelta, HostDelta, bool]:
    """What the run's own samplers say of a moment, taken for a window as long as the run's."""
    samplers = Samplers(engine, 1, _ignore)
    try:
        before, after = samplers.opening_edge(), samplers.closing_edge()
        length_ns = int((workload.run_time or _ANY_LENGTH_S) * NANOS)
        late = replace(after.counters, server_ns=before.counters.server_ns + length_ns)
        counted = samplers.engine_delta(before, Reading(late, after.os))
        return counted, difference(before.os, after.os), samplers.local
    finally:
        samplers.close()


def _ignore(_reading: Reading) -> None:
    """Nothing is sampled between the two edges."""


def _as_if_run(
    workload: Workload, facts: ServerFacts, counted: EngineDelta, host: HostDelta, local: bool
) -> Measurement:
    """A measurement that knows what a run would know: whatever is known is `_KNOWN`."""
    device = host.device and replace(host.device, **_known(host.device))
    cpu = host.cpu and dict.fromkeys(host.cpu, _KNOWN)
    amounts: dict[str, Any] = {name: _KNOWN for name, value in counted.amounts().items() if value is not None}
    session = SessionTotals(0, 1, SliceCounts(ops=1, selects=1, rows_read=1), busy_us=_KNOWN, idle_us=0, slices=1)
    return Measurement(
        workload=workload,
        block_size=facts.block_size,
        cache_bytes=facts.cache_bytes,
        data_bytes=0,
        window=Window(0, NANOS, 1.0, 0.0, 1.0, 0.0),
        sessions=[session],
        latency={},
        engine=replace(counted, **amounts),
        host=replace(host, **{**_known(host), "seconds": 1.0, "cpu": cpu, "device": device}),
        waits={},
        wait_samples=0,
        timeline=[],
        direct_io=facts.direct_io,
        local=local,
    )


def _known(delta: HostDelta | DeviceIo) -> dict[str, Any]:
    """Every plain number of ``delta`` that is known, as `_KNOWN`."""
    return {each.name: _KNOWN for each in fields(delta) if isinstance(getattr(delta, each.name), (int, float))}
