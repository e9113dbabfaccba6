"""Verdicts on the validity of the figures: errors, window, counts, mix, and whether reads and commits were real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from openslob.analyze.curves.ceiling import rate_at
from openslob.analyze.other_sessions import has_worked
from openslob.analyze.outcome import (
    Shown,
    count,
    count_noun,
    fails,
    holds,
    holds_or_fails,
    unknown,
    unknown_because,
)
from openslob.core.counts import SliceCounts
from openslob.core.measurement import Measurement, Observed, SessionTotals
from openslob.core.units import format_bytes
from openslob.core.workload import BlockPath, CommitMode, LoadPart
from openslob.metrics.quantity import (
    NO_LOAD,
    WINDOW_TOLERANCE_PCT,
    Quantity,
    block_visits,
    device,
    engine,
    host,
    is_another_window,
    rate,
    total,
    why_no_span,
    window_differences_pct,
)
from openslob.record.model import Verdict

# A share of n operations is rounded to a whole number, and a window may begin anywhere in the cycle of 100: with exact
# interleaving the deviation is less than one operation.
MIX_TOLERANCE_OPS = 1.0
# With fewer requests, the few reads of a checkpoint or of the catalogue count as much as the test's own.
MIN_READ_REQUESTS = 1000
# The window's ends cut off some reads, and other processes read a little; an OS cache would serve a far larger share.
DEVICE_TOLERANCE = 0.02
# Only the test reads its shared tables; the occasional access of monitoring does not affect the figures.
MAX_SHARED_PCT = 0.1
# File systems in memory: there is no device, and direct I/O is not possible.
MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})

# Two measurements of good storage differ by a few %. More reads than this above the ceiling came from other storage, or
# from a cache.
MAX_ABOVE_PCT = 10.0
# A commit that waits needs one sync at most; background processes sync the log, too, at times before they write data.
MAX_MORE_SYNCS = 0.1
BACKGROUND_SYNCS_PER_S = 50.0
# Commits that wait are counted one by one, but the log may have been written by then for another commit.
LEAST_WAITED = 0.9
# The few writes of a checkpoint or of the log cost less than the difference between two measurements.
MAX_WRITES_PCT = 5.0


def errors(measurement: Measurement) -> Verdict:
    """Judge whether all sessions ran to the end without an error."""
    asked, ran, lost = measurement.workload.total_sessions, len(measurement.sessions), len(measurement.errors)
    figures: dict[str, Shown] = {"sessions_asked": asked, "sessions": ran, "errors": lost}
    if lost:
        return fails("errors", f"{count_noun(lost, 'error')}, the first: {measurement.errors[0]}.", **figures)
    if ran < asked:
        return fails("errors", f"Only {ran} of {count_noun(asked, 'session')} ran.", **figures)
    cut = ", until the run was interrupted" if measurement.interrupted else ""
    return holds("errors", f"{count_noun(ran, 'session')} ran without an error{cut}.", **figures)


def window(measurement: Observed) -> Verdict:
    """Judge whether the counters span the same seconds as the load; otherwise no rate is published."""
    load = measurement.window.load_seconds
    if load <= 0:
        return unknown("window", f"Can't be determined: {NO_LOAD}.")
    spans: dict[str, Shown] = {
        "load_seconds": load,
        "counter_seconds": measurement.window.counter_seconds,
        "host_seconds": measurement.host.seconds if measurement.local else None,
    }
    if why := why_no_span(measurement):
        return fails("window", f"No rate can be given: {why}.", **spans)
    differences = window_differences_pct(measurement)
    name, worst = max(differences.items(), key=lambda item: abs(item[1]))
    more = "more" if worst > 0 else "less"
    return holds_or_fails(
        "window",
        not is_another_window(worst),
        f"The {name} span {abs(worst):.2f} % {more} time than the load of {load:.2f} s; "
        f"{WINDOW_TOLERANCE_PCT:g} % is allowed.",
        **spans,
        difference_pct=worst,
    )


def counts_agree(measurement: Measurement) -> Verdict:
    """Judge whether the work loop and the engine counted exactly the same rows.

    It fails if one count that is known differs, and holds only if both are known.

    The engine's rows read include the look-ups of updates, but not the rows of short scans, which use no index. With
    MODE=churn rows are deleted, which takes a look-up, and inserted, which takes none, instead of updated. The engine
    also counts what a refused attempt of an update did before it was rolled back: none to all of its rows.
    """
    read, updated = engine(measurement, "rows_read"), engine(measurement, "rows_updated")
    loop_updated = total(measurement, "rows_updated")
    loop_read = total(measurement, "rows_read") + loop_updated + total(measurement, "rows_deleted")
    refused = total(measurement, "conflicts")
    undone = refused * measurement.workload.rows_per_update
    changed = "updated"
    if measurement.workload.churns:
        changed, updated = "inserted or deleted", engine(measurement, "rows_inserted_or_deleted")
        loop_updated = total(measurement, "rows_inserted") + total(measurement, "rows_deleted")
    named = changed.replace(" ", "_")
    figures: dict[str, Shown] = {
        "engine_rows_read": read.value,
        "loop_rows_read": loop_read,
        f"engine_rows_{named}": updated.value,
        f"loop_rows_{named}": loop_updated,
        "refused_attempts": refused,
    }
    compared = {"read": (read.value, loop_read), changed: (updated.value, loop_updated)}
    known = [(what, found, loop) for what, (found, loop) in compared.items() if found is not None]
    so = all(0 <= found - loop <= undone for _, found, loop in known)
    if so and len(known) < len(compared):
        return unknown_because("counts_agree", read, updated, **figures)
    by_engine = " and ".join(f"{count(found)} {what}" for what, found, _ in known).replace(" ", " rows ", 1)
    by_loop = " and ".join(count(loop) for _, _, loop in known)
    rolled_back = f"; {count_noun(refused, 'refused attempt')} may have touched {count(undone)} more" if refused else ""
    why = f"The engine counted {by_engine}, the work loop {by_loop}{rolled_back}."
    return holds_or_fails("counts_agree", so, why, **figures)


def exact_mix(measurement: Measurement) -> Verdict:
    """Judge whether in every session the shares of updates, and of scans among the rest, are exact to one operation.

    With classes of sessions the shares are those of its class.
    """
    shares = [(part, each) for part, sessions in measurement.parts if (each := mix_of(part, sessions)).ops]
    if not shares:
        return unknown("exact_mix", f"Can't be determined: {NO_LOAD}.")
    worst = max(each.off_ops for _, each in shares)
    said = [
        f"{f'{part.name}: ' if part.name else ''}{count(each.updates)} of {count(each.ops)} operations updated, "
        f"{100 * each.updates / each.ops:.2f} % where {part.workload.update_pct} % was requested"
        for part, each in shares
    ]
    return holds_or_fails(
        "exact_mix",
        worst <= MIX_TOLERANCE_OPS,
        f"{'; '.join(said)}; the session furthest off is {worst:.2f} operations off its share.",
        updates=total(measurement, "updates"),
        ops=total(measurement, "ops"),
        worst_session_ops=worst,
        **{f"{part.name}_worst_session_ops": each.off_ops for part, each in shares if part.name},
    )


class Mix(NamedTuple):
    """The operations of some sessions, and by how many operations the one furthest off is off its shares."""

    ops: int
    updates: int
    off_ops: float


def mix_of(part: LoadPart, sessions: Sequence[SessionTotals]) -> Mix:
    """Return the mix of the sessions of a part of the load."""
    worked = [session.counts for session in sessions if session.counts.ops > 0]
    off = (_off_share(counts, part.workload.update_pct, part.workload.scan_pct) for counts in worked)
    return Mix(sum(each.ops for each in worked), sum(each.updates for each in worked), max(off, default=0.0))


def _off_share(counts: SliceCounts, update_pct: int, scan_pct: int) -> float:
    others = counts.ops - counts.updates
    return max(
        abs(counts.updates - counts.ops * update_pct / 100),
        abs(counts.scans - others * scan_pct / 100),
    )


def reads_reached_device(measurement: Observed) -> Verdict:
    """Judge whether the bytes that the engine read came from storage and not from the operating system's page cache.

    They are compared with what the server's processes read from storage, or if that is not known with the reads of the
    device, which include those of other processes. On a buffered server a larger number proves nothing: read-ahead or
    other processes may hide what the page cache served.
    """
    name = "reads_reached_device"
    asked, requests = engine(measurement, "read_bytes"), engine(measurement, "read_requests")
    if asked.value is None or requests.value is None:
        return unknown_because(name, asked, requests)
    if requests.value < MIN_READ_REQUESTS or asked.value < requests.value:
        return unknown(
            name,
            f"The run read almost nothing physically: {count_noun(requests.value, 'request')}, "
            f"and it takes {count(MIN_READ_REQUESTS)} to judge where they were read.",
            engine_read_requests=requests.value,
        )
    if measurement.no_device:
        return unknown(name, f"Can't be determined: {measurement.no_device}.", engine_read_bytes=asked.value)
    if measurement.file_system in MEMORY_FILE_SYSTEMS:
        why = f"There is no device: the data are on {measurement.file_system}, memory-speed storage."
        return fails(name, why, engine_read_bytes=asked.value, file_system=measurement.file_system)
    return _came_from_storage(name, asked.value, measurement)


def _came_from_storage(name: str, asked_bytes: float, measurement: Observed) -> Verdict:
    got, whose = _storage_bytes(measurement)
    if got.value is None:
        return unknown_because(name, got, engine_read_bytes=asked_bytes)
    ratio = got.value / asked_bytes
    figures: dict[str, Shown] = {
        "storage_to_engine_pct": 100 * ratio,
        "engine_read_bytes": asked_bytes,
        "storage_read_bytes": got.value,
        "evidence": whose,
    }
    if ratio < 1 - DEVICE_TOLERANCE:
        cached = 100 * (1 - ratio)
        return fails(name, f"{cached:.1f} % of what the engine read came from the OS page cache.", **figures)
    more = ratio > 1 + DEVICE_TOLERANCE
    if (more or has_worked(measurement.others)) and not measurement.direct_io:
        return unknown(
            name,
            f"{whose} read {100 * ratio:.1f} % of what the test's sessions did: read-ahead or others' reads "
            "could hide what the page cache served.",
            **figures,
        )
    beside = "; with direct I/O the excess is reads that the engine does not count for them" if more else ""
    return holds(name, f"{whose} read {100 * ratio:.1f} % of what the engine did{beside}.", **figures)


def commits_waited(measurement: Measurement) -> Verdict | None:
    """Judge, with COMMIT_MODE=wait, whether no log sync served more commits than there were sessions waiting for it.

    A session that waits until its commit is durable has at most one commit in a sync. One sync is added for the one in
    progress when the window ends. A verdict that fails proves that commits did not wait; one that holds does not prove
    that every commit did. An engine that counts each commit that waited (`EngineDelta.commit_waits`) proves it.
    """
    load = measurement.workload
    if load.commit_mode is not CommitMode.WAIT or not load.writes:
        return None
    name, commits, syncs = "commits_waited", total(measurement, "updates"), engine(measurement, "log_syncs")
    if not commits:
        return unknown(name, "Can't be determined: nothing was committed.")
    if measurement.engine.commit_waits is not None:
        return _each_commit_waited(measurement, commits, measurement.engine.commit_waits)
    return unknown_because(name, syncs) if syncs.value is None else _shared_syncs(measurement, commits, syncs.value)


def _shared_syncs(measurement: Measurement, commits: float, syncs: float) -> Verdict:
    name = "commits_waited"
    if not syncs:
        return unknown(
            name,
            "Can't be determined: no log sync was counted. Either none was made, or the log is written synchronously.",
        )
    # Of several classes, those that update nothing wait for no commit.
    writing = [sessions for part, sessions in measurement.parts if part.workload.update_pct or not part.name]
    sessions = sum(len(each) for each in writing)
    if syncs > _most_syncs(measurement, commits):
        return unknown(
            name,
            f"Can't be determined: {count_noun(syncs, 'log sync')} are more than {count(commits)} commits need, so "
            f"syncs that no commit waited for are among them: {_whose_syncs(measurement)}.",
            updates=commits,
            log_syncs=syncs,
            sessions=sessions,
        )
    return holds_or_fails(
        name,
        commits <= (syncs + 1) * sessions,
        f"{count(commits)} updates were committed with {count_noun(syncs, 'log sync')}, "
        f"{commits / syncs:.1f} per sync; {count_noun(sessions, 'session')} that wait can share one.",
        updates=commits,
        log_syncs=syncs,
        sessions=sessions,
    )


def _whose_syncs(measurement: Measurement) -> str:
    """Return whose they are: a server syncs its log for its own purposes, too."""
    own = "the server's own, such as those before it writes changed blocks"
    return own if has_worked(measurement.others) is False else f"others', or {own}"


def _each_commit_waited(measurement: Measurement, commits: float, waits: float) -> Verdict:
    name, figures = "commits_waited", {"updates": commits, "commit_waits": waits}
    waited = f"{count(commits)} updates were committed, and {count_noun(waits, 'commit')} waited for the log"
    if waits > _most_syncs(measurement, commits) and "commit_waits" in measurement.engine.server_wide:
        return unknown(name, f"Can't be determined: {waited}, others' among them.", **figures)
    return holds_or_fails(name, waits >= LEAST_WAITED * commits, f"{waited}.", **figures)


def _most_syncs(measurement: Measurement, commits: float) -> float:
    """Return the highest number of syncs that the test's commits and the server's background processes make."""
    return commits * (1 + MAX_MORE_SYNCS) + BACKGROUND_SYNCS_PER_S * measurement.window.counter_seconds


def block_path(measurement: Measurement) -> Verdict | None:
    """Judge, with BLOCK_PATH=local, whether blocks went through the sessions' private memory, not the shared cache."""
    if measurement.workload.block_path is not BlockPath.LOCAL:
        return None
    name, private, shared = "block_path", engine(measurement, "private_visits"), engine(measurement, "shared_visits")
    if private.value is None or shared.value is None:
        return unknown_because(name, private, shared)
    visits = block_visits(measurement)
    return holds_or_fails(
        name,
        private.value >= visits and 100 * shared.value <= MAX_SHARED_PCT * visits,
        f"Of {count(visits)} block visits {count(private.value)} went through the sessions' private memory and "
        f"{count(shared.value)} through the shared cache, by the engine's count.",
        private_visits=private.value,
        shared_visits=shared.value,
        block_visits=visits,
    )


def _storage_bytes(measurement: Observed) -> tuple[Quantity, str]:
    processes = host(measurement, "server_read_bytes")
    if processes.value is not None:
        return processes, "From storage, the server's processes"
    return device(measurement, "read_bytes"), "The device, for all processes,"


def within_ceiling(measurement: Measurement) -> Verdict | None:
    """Judge whether the engine's reads are within the storage ceiling of a raw measurement; ``why`` gives their share.

    None without a raw measurement. It applies only to runs that hardly write: the ceiling is one of reads alone.
    """
    name = "within_ceiling"
    if measurement.ceiling is None:
        return None
    reads, writes = engine(measurement, "read_requests"), engine(measurement, "write_requests")
    if reads.value is not None and writes.value is not None and writes.value > reads.value * MAX_WRITES_PCT / 100:
        return unknown(name, "The run wrote, and the raw measurement only read: they can't be compared.")
    if other := measurement.other_storage or measurement.no_device:
        return unknown(name, f"Can't be determined: {other}.")
    mean = engine(measurement, "read_bytes").per(reads, "").value
    if mean is not None and mean > measurement.block_size * (1 + MAX_ABOVE_PCT / 100):
        return unknown(
            name, f"The run's reads were of {format_bytes(mean)} on average, the ceiling is of single blocks."
        )
    in_flight = measurement.workload.total_sessions
    ceiling = measurement.ceiling
    most, achieved = rate_at(ceiling, in_flight), rate(measurement, reads)
    if most.value is None or achieved.value is None:
        return unknown_because(name, most, achieved)
    share = 100 * achieved.value / most.value
    figures: dict[str, Shown] = {
        "share_pct": share,
        "ceiling_per_s": most.value,
        "in_flight": float(in_flight),
        "record": ceiling.id,
    }
    why = f"{count(achieved.value)} reads/s are {share:.0f} % of the {count(most.value)} that storage gives alone"
    beside = f"with {in_flight} in flight ({ceiling.id})"
    so = share <= 100 + MAX_ABOVE_PCT
    doubt = "" if so else "; more than 100 % means other storage, a disturbed measurement, or a cache"
    return holds_or_fails(name, so, f"{why}, {beside}{doubt}.", **figures)
