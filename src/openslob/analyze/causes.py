"""Why a load was slow for a while: stretches that fall out of the rest, each with its cause and the evidence.

A cause is named only if the data show it, and if it explains clearly more of the time that the stretch lost than the
next one. Otherwise it is one or the other, and both are named. What a cause looks like is compared with what is usual
in the steps around it that are not slow.

Causes of one family explain the same time, such as that of requests to storage. Of these, stronger evidence comes
first: a limit that was read tells why reads took longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

import numpy as np

from openslob.analyze import evidence as shows
from openslob.analyze.evidence import Evidence, Strength
from openslob.analyze.level import ask_probe, probe_after
from openslob.analyze.level_course import low_steps, split_in_two
from openslob.analyze.plateaus import LEAST_KEPT_PCT
from openslob.analyze.slow_steps import BRIDGED, LEAST_STEPS, Steps, parts_of, slow_steps
from openslob.analyze.steps import stretches
from openslob.analyze.tables import Array
from openslob.analyze.trace import Trace
from openslob.analyze.trace_stretch import TraceStretch, with_means
from openslob.core.measurement import Cap, CapSearch

# Steps before and after a stretch that show what is usual.
_BESIDE = 60
# So many steps after the begin of a long stretch it may be that it really began: if the throughput fell by half there.
_NEAR_BEGIN, _DIP = 8, 0.5
# The last steps of a stretch, whose level a probe after it has if nothing has changed, however it fell before.
_AT_END = 3
# The kind of the marks of slow stretches.
SLOW = "slow stretch"
# A cause is stated if it explains this part of a loss at least, and so many times what the next one does.
LEAST_STATED = 0.5
CLEARLY = 1.5
# What explains less than this is not named.
LEAST_NAMED = 0.2


class Cause(StrEnum):
    """What made a load slow for a while."""

    STOPPED = "server stopped"
    DRIVER = "driver"
    QUOTA = "CPU quota"
    IO_CAP = "I/O cap"
    STALL = "device stall"
    LOCK = "lock"
    MEMORY = "memory"
    CHECKPOINT = "checkpoint"
    LOG_SYNC = "log sync"
    READS = "slow reads"
    WRITES = "slow writes"
    OTHERS_IO = "I/O of others"
    OTHERS_CPU = "CPU taken by others"
    MAINTENANCE = "maintenance"
    UNKNOWN = "unknown"


class _Family(StrEnum):
    """The time that causes explain; nothing else can have happened while all stood still."""

    STANDSTILL = "standstill"
    CPU = "CPU"
    IO = "I/O"
    LOCK = "lock"
    MEMORY = "memory"


@dataclass(frozen=True)
class Candidate:
    """A cause that the data show, with its evidence, and the share of the lost time that it explains, from 0 to 1.

    The share is None where it is not known what sessions spent their time on.
    """

    cause: Cause
    evidence: str
    share: float | None


@dataclass(frozen=True)
class _Found:
    """A candidate with its family and the strength of its evidence; an unknown share is 0."""

    candidate: Candidate
    family: _Family
    strength: Strength

    @property
    def cause(self) -> Cause:
        return self.candidate.cause

    @property
    def share(self) -> float:
        return self.candidate.share or 0.0


@dataclass(frozen=True)
class Episode:
    """A stretch in which the load was slow, in seconds after it began, and why.

    ``cause`` is one of `Cause`, or "either A or B" where A does not explain clearly more than B. ``lost_ops`` is how
    many operations less were done than usual. ``also`` are further causes that the data show. ``rate`` and
    ``usual_rate`` are operations per second in it, and usually. ``candidates`` are all causes that the data show, with
    how much each explains, the most likely first.
    """

    begin_s: float
    end_s: float
    cause: str
    evidence: str
    lost_ops: float
    rate: float
    usual_rate: float
    also: tuple[Cause, ...] = ()
    candidates: tuple[Candidate, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


CAUSES: tuple[tuple[Cause, _Family, Callable[[TraceStretch], Evidence | None]], ...] = (
    (Cause.STOPPED, _Family.STANDSTILL, shows.find_stop),
    (Cause.DRIVER, _Family.STANDSTILL, shows.find_stopped_driver),
    (Cause.QUOTA, _Family.CPU, shows.find_quota),
    (Cause.IO_CAP, _Family.IO, shows.find_io_cap),
    (Cause.LOCK, _Family.LOCK, shows.find_lock),
    (Cause.STALL, _Family.IO, shows.find_stall),
    (Cause.CHECKPOINT, _Family.IO, shows.find_checkpoint),
    (Cause.MEMORY, _Family.MEMORY, shows.find_lack_of_memory),
    (Cause.OTHERS_IO, _Family.IO, shows.find_io_of_others),
    (Cause.READS, _Family.IO, shows.find_slow_reads),
    (Cause.LOG_SYNC, _Family.IO, shows.find_slow_log_sync),
    (Cause.WRITES, _Family.IO, shows.find_slow_writes),
    (Cause.OTHERS_CPU, _Family.CPU, shows.find_others_on_cpu),
    (Cause.DRIVER, _Family.STANDSTILL, shows.find_busy_driver),
    (Cause.MAINTENANCE, _Family.IO, shows.find_maintenance),
)


def _rank(look: TraceStretch) -> list[_Found]:
    """Return the causes that the data show, the one that explains most first.

    In a family, those of less strength than another that explains about as much are left out: they are what it did.
    Nothing else happened while all stood still.
    """
    found: dict[Cause, _Found] = {}
    for cause, family, says in CAUSES:
        said = says(look)
        if said is None or said.share < LEAST_NAMED or cause in found:
            continue
        share = float(said.share) if np.isfinite(said.share) else None
        found[cause] = _Found(Candidate(cause, said.text, share), family, said.strength)
    every = list(found.values())
    still = [each for each in every if each.family is _Family.STANDSTILL and each.share >= LEAST_STATED]
    kept = still or [each for each in every if not any(_makes(other, each) for other in every)]
    return sorted(kept, key=lambda each: -each.share)


def _makes(cause: _Found, effect: _Found) -> bool:
    """Return whether a cause with more strength makes what another one says."""
    same = cause.family is effect.family and cause.strength > effect.strength
    return same and cause.strength >= Strength.SHOWN and cause.share * CLEARLY >= effect.share


def _judge(look: TraceStretch) -> tuple[str, str, list[Cause], list[Candidate]]:
    """Return the cause of a stretch, its evidence, further causes, and all candidates."""
    found = _rank(look)
    rivals = _find_rivals(found)
    # What is only possible counts where nothing stronger is known.
    found = [each for each in found if each.strength > Strength.POSSIBLE or each in (found[0], *rivals)]
    candidates = [each.candidate for each in found]
    if not found or found[0].share < LEAST_STATED or (found[0].strength is Strength.POSSIBLE and not rivals):
        partly = [f"{each.cause} explains {_pct(each.candidate)}: {each.candidate.evidence}" for each in found]
        said = "; ".join([shows.describe_change(look), *partly])
        return Cause.UNKNOWN, said, [each.cause for each in found], candidates
    stated = [found[0], *rivals]
    # What the server leaves of the CPU while it is held up, others take: that is no cause then.
    also: list[Cause] = [each.cause for each in found if each not in stated]
    also = [cause for cause in also if cause is not Cause.OTHERS_CPU]
    said = "; or ".join(_say(each.candidate) for each in stated)
    causes = " or ".join(each.cause for each in stated)
    return (f"either {causes}" if rivals else found[0].cause), said, also, candidates


def _find_rivals(found: Sequence[_Found]) -> list[_Found]:
    """Return the causes that may as well be it as the first one.

    What a cap does to requests is no evidence against it: where nothing stronger is known, the rivals are the cap, or
    what it looks like, and the likeliest cause of another kind.
    """
    close = [each for each in found[1:] if found[0].share < CLEARLY * each.share]
    if not found or found[0].strength > Strength.SYMPTOM:
        return sorted(close, key=lambda each: -each.strength)[:1]
    # A cap leaves the time of one kind of requests longer, and may hold others back as well.
    alike = [each for each in found[1:] if each.family is found[0].family]
    others = [each for each in close if each.family is not found[0].family]
    return [*sorted(alike, key=lambda each: each.cause is not Cause.IO_CAP)[:1], *others[:1]]


def _say(candidate: Candidate) -> str:
    return f"{candidate.evidence} ({_pct(candidate)} of the time lost)"


def _pct(candidate: Candidate) -> str:
    return "an unknown part" if candidate.share is None else f"{100 * candidate.share:.0f} %"


def episodes(trace: Trace, found: CapSearch | None = None) -> list[Episode]:
    """Return the slow stretches of a load, in the order of time.

    ``found`` is what the course of the whole load shows. Where it did not keep its level, what is far below that is
    slow, however long it lasts, and however much it varies from step to step.
    """
    slow, usual = slow_steps(trace)
    if found and found.course and found.course.kept_pct < LEAST_KEPT_PCT:
        slow |= low_steps(trace)
        usual = np.maximum(usual, found.course.level)
    if not slow.any():
        return []
    whole = replace(trace, series=with_means(trace))

    def judge(begin: int, end: int) -> Episode:
        return _episode(whole, slow, usual, begin, end, found or CapSearch(trace.seconds))

    spans = [(_begin_of(trace, begin, end), end) for begin, end in stretches(slow, BRIDGED)]
    return [each for span in spans for each in _by_cause(parts_of(trace, *span), judge)]


def _begin_of(trace: Trace, begin: int, end: int) -> int:
    """Return where the throughput fell the most near the begin of a long stretch: a small dip before is none of it.

    There two levels fit it best (least squares).
    """
    ops = trace.get("ops")[begin : begin + _NEAR_BEGIN]
    if end - begin < 2 * _NEAR_BEGIN or not np.isfinite(ops).all():
        return begin
    fell, explained = split_in_two(ops)
    at = int(np.argmax(explained * (fell > 0)))
    is_dip = fell[at] > (1 - _DIP) * ops[: at + 1].mean()
    return begin + at + 1 if is_dip else begin


def _by_cause(parts: Sequence[tuple[int, int]], found: Callable[[int, int], Episode]) -> Iterator[Episode]:
    """Yield the episodes of the parts of a stretch: those with one cause one after the other are one."""
    for _, same in groupby(parts, lambda part: found(*part).cause):
        of_cause = list(same)
        yield found(of_cause[0][0], of_cause[-1][1])


def _episode(trace: Trace, slow: Steps, usual: Array, begin: int, end: int, found: CapSearch) -> Episode:
    """Return the episode of the steps from ``begin`` to before ``end``, with the cause that the data show."""
    ops, before = trace.get("ops")[begin:end], usual[begin:end]
    rate, usual_rate = float(np.nanmean(ops)), float(np.nanmean(before))
    first, last = max(0, begin - _BESIDE), end + _BESIDE
    if (~slow[first:last]).sum() < LEAST_STEPS:
        first, last = 0, len(slow)
    near = {name: values[first:last] for name, values in trace.series.items()}
    part = np.zeros(len(slow[first:last]), bool)
    part[begin - first : end - first] = True
    beside = Trace(trace.begin_ns, trace.step_s, near, trace.marks)
    missing = max(0.0, 1 - rate / usual_rate) if usual_rate > 0 else 0.0
    span = begin * trace.step_s, end * trace.step_s
    held = next((each for each in found.every_proven if _is_under(each, *span)), None)
    known = ops[np.isfinite(ops)][-_AT_END:]
    probe = probe_after(trace, *span, float(np.mean(known))) if len(known) else None
    answer = ask_probe(probe, trace, usual_rate) if probe else None
    said = probe.in_words if probe else ""
    look = TraceStretch(beside, part, ~slow[first:last], missing, first * trace.step_s, held, answer, said)
    cause, said, also, candidates = _judge(look)
    lost = max(0.0, float(np.nansum(before - ops)) * trace.step_s)
    return Episode(*span, cause, said, lost, rate, usual_rate, tuple(also), tuple(candidates))


def _is_under(cap: Cap, begin_s: float, end_s: float) -> bool:
    """Return whether a cap that was not always in force was so for most of a time."""
    under_s = sum(max(0.0, min(end_s, last) - max(begin_s, first)) for first, last in cap.held)
    return not cap.always and under_s > (end_s - begin_s) / 2
