"""Steps after a window or a failure, when the server may be gone or blocked. An error in one does not stop others."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from openslob.analyze.build_record import HOST_CPU
from openslob.analyze.stillness import say_stillness
from openslob.core.errors import SlobError
from openslob.core.host import FigureUnknownError
from openslob.core.measurement import EVERY_FIGURE, DriverUse, EngineDelta, HostDelta, Instance
from openslob.core.units import format_bytes
from openslob.engines.base import Engine
from openslob.engines.copies import LogPlaces
from openslob.engines.facts import InstanceFacts
from openslob.host.extents import find_extents
from openslob.host.sampler import WHY_UNATTRIBUTED
from openslob.kinds.run.record_builder import RecordBuilder
from openslob.kinds.run.recorder import SeenLimits, sum_of
from openslob.kinds.run.samplers import Samplers, split_cpu

# The server ends a session soon after its connection was closed, not at once.
GOODBYE_S = 2.0
# Data that cover less of their device than this stand for a part of it.
LEAST_COVER_PCT = 5.0


def data_after(engine: Engine, notes: list[str], may_grow: bool = False) -> tuple[int | None, int | None, str]:
    """Return the blocks of the test tables after the window, those that were loaded, and what is wrong with them.

    Tables that ``may_grow`` are not wrong because they have grown. None when they can't be counted, because of
    somebody's lock for example; a note has the reason.
    """
    try:
        blocks, state = engine.data.table_blocks(), engine.data.state()
    except SlobError as error:
        notes.append(f"the tables could not be measured after the window: {error}")
        return None, None, ""
    if state is None:
        return blocks, None, "the data are no longer there"
    return blocks, state.spec.blocks, "" if may_grow and state.has_grown else state.fault


def note_unfinished(notes: list[str], seconds: Collection[float]) -> None:
    """Note the operations that were cancelled at the end, and how long they had run at least."""
    if seconds:
        ran = f"{len(seconds)} operations were still running after at least {max(seconds):.1f} s"
        notes.append(f"{ran}: they were cancelled within a slice, which is not counted")


def set_host_facts(builder: RecordBuilder, samplers: Samplers, limits: SeenLimits, host: HostDelta) -> HostDelta:
    """Record the CPU seconds of the window, the host's and the server's by kind of process, and the server's limits.

    Return what the host counted with the parts of the server's CPU.
    """
    by_kind = None
    host = samplers.bound_cpu(host)
    try:
        by_kind = samplers.cpu_by_kind(host.server_cpu_s)
    except SlobError as error:
        builder.notes.append(str(error))
    builder.environment[HOST_CPU] = dict(host.cpu or {})
    why = host.unknown.get("server_cpu_s") or host.unknown.get(EVERY_FIGURE) or WHY_UNATTRIBUTED
    builder.set_fact("server_cpu_s", by_kind, why)
    builder.set_fact("server_limits", None if limits.why_unknown else dict(limits.first), limits.why_unknown)
    for at_s, what in limits.changes:
        builder.notes.append(f"the limits of the server's control group changed {at_s:.0f} s after the start: {what}")
    return split_cpu(host, by_kind, why)


def set_extents(builder: RecordBuilder, engine: Engine, directory: Path | None) -> None:
    """Record where the loaded data lie on their device, with a caution if that is a small part of it.

    ``directory`` is the server's data directory, if that is known.
    """
    found, why = None, "the data directory is not on this host, or not known"
    try:
        if directory and engine.host is None:
            found = find_extents(engine.data.files(directory))
    except (SlobError, FigureUnknownError) as error:
        why = str(error)
    if found is None:
        builder.set_fact("data_extents", None, why)
        return
    first, last = found.span_pct
    builder.environment["data_extents"] = {
        "count": len(found.found), "bytes": sum(each.bytes for each in found.found), "device": found.device,
        "device_bytes": found.device_bytes, "cover_pct": found.cover_pct, "first_pct": first, "last_pct": last,
    }  # fmt: skip
    if found.cover_pct < LEAST_COVER_PCT:
        builder.notes.append(
            f"caution: the loaded data cover {found.cover_pct:.2g} % of {found.device} "
            f"({format_bytes(found.device_bytes)}); other parts of it may be slower, and caches of the storage hold "
            "more of small data"
        )


def note_drivers(builder: RecordBuilder, drivers: Sequence[DriverUse], errors: list[str]) -> None:
    """Record what each of many drivers did; what is wrong with one, and was not said yet, is an error of the run."""
    if not drivers:
        return
    builder.environment["drivers"] = [asdict(each) for each in drivers]
    for each in drivers:
        known = any(error.startswith(each.name) or f": {each.name}" in error for error in errors)
        if each.lost and not known:
            errors.append(f"{each.name} {each.lost}")
        if said := say_stillness(each):
            builder.notes.append(f"{each.name} {said}")
        if each.left:
            builder.notes.append(f"{each.name} has files that could not be fetched, on its host: {each.files}")
        beyond = (each.ops_written or 0) - (each.ops or 0)
        if each.lost and beyond > 0:
            what = f"{beyond:,} operations in its files, {each.files}, which were not reported and do not count"
            builder.notes.append(f"{each.name} has {what}")


def with_drivers(host: HostDelta, drivers: Sequence[DriverUse]) -> HostDelta:
    """Return the CPU and memory of this host with those of the drivers on it in the driver's."""
    here = [each for each in drivers if each.here]
    if not here:
        return host
    why = next((each.why_unknown for each in here if each.cpu_s is None), "")
    cpu_s, peaks = [each.cpu_s for each in here], [each.peak_rss_bytes for each in here]
    changed = replace(
        host,
        driver_cpu_s=sum_of([host.driver_cpu_s, *cpu_s]),
        driver_peak_rss_bytes=sum_of([host.driver_peak_rss_bytes, *peaks]),
    )
    if why:
        unknown = {name: f"that of one of the drivers: {why}" for name in ("driver_cpu_s", "driver_peak_rss_bytes")}
        changed = replace(changed, unknown={**unknown, **host.unknown})
    return changed


def instances(
    every: Sequence[InstanceFacts],
    counted: EngineDelta,
    landed: Mapping[int, str],
    lost: Collection[int],
    places: LogPlaces,
) -> list[Instance]:
    """Return the instances of a cluster, with the sessions that landed on each and its part of what was counted.

    ``places`` are theirs in the log: instances that take reads only are copies of the first that takes writes.
    """
    own = [[number for number, target in sorted(landed.items()) if target == facts.target] for facts in every]
    deltas = counted.by_instance or [EngineDelta(unknown=counted.unknown)] * len(every)
    primary = next((number for number, facts in enumerate(every) if not facts.read_only), 0)
    behind = [places.behind(primary, number) if facts.read_only else None for number, facts in enumerate(every)]
    return [
        Instance(facts.target, facts.read_only, numbers, len(set(lost).intersection(numbers)), delta, late)
        for facts, numbers, delta, late in zip(every, own, deltas, behind, strict=True)
    ]


def end_sessions(engine: Engine, notes: list[str]) -> None:
    """End all sessions that are still in the server; a server that is gone has none."""
    try:
        deadline = time.monotonic() + GOODBYE_S
        while engine.sessions_left() and time.monotonic() < deadline:
            time.sleep(GOODBYE_S / 20)
        left = engine.release_sessions()
    except SlobError:
        return
    if left:
        notes.append(f"{left} sessions did not end by themselves and were ended")
