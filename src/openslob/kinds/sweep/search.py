"""The search for the session count with the highest throughput within a latency limit.

`search_sessions` is the strategy alone: it needs no server. `run_search` executes it, each probe as ordinary points of
the sweep with ordinary records. The strategy looks for a maximum of throughput, which may fall again with more
sessions; `kinds.storage.calibrate` looks for the fewest requests in flight that saturate a device, whose rate does not
fall. Both double first and halve then, but they stop, choose and report by different rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from openslob.analyze.curves.points import Point, Run, points
from openslob.analyze.curves.series import axes_for, latency_figure
from openslob.core.errors import SlobError, UndecidedError, VerdictError
from openslob.kinds.sweep.plan import run_seconds, workload_of
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepFolder, SweepPoint
from openslob.record.store import load

# Throughput this far below the best has passed its peak; repeats on a quiet machine differ by less.
FALL_SHARE = 0.05
# Verdicts that fail where operations took so long that percentiles, which count operations, do not show it.
STALL_VERDICTS = frozenset({"no_stalls", "planned_time"})
_NO_PASS = "the latency is above the limit, operations stalled, or the run gave no figure"
# With eight sessions, one session more or less changes throughput by less than FALL_SHARE.
FINEST_SHARE = 1 / 8


@dataclass(frozen=True)
class SessionProbe:
    """The result of a session count: throughput per second and latency in µs.

    Both are None when its runs failed, operations stalled, or a figure is missing.
    """

    throughput: float | None
    latency_us: float | None


@dataclass(frozen=True)
class SearchAnswer:
    """The best session count, None when even one session exceeds the limit, and what ended the search."""

    sessions: int | None
    why: str


# The throughput of each session count that was probed; -inf when it has none within the limit.
_Rates = dict[int, float]


def _within(limit_us: float, probe: SessionProbe) -> float:
    if probe.throughput is None or probe.latency_us is None or probe.latency_us > limit_us:
        return -math.inf
    return probe.throughput


def _best(rates: _Rates) -> int:
    return max(rates, key=lambda sessions: rates[sessions])


def search_sessions(limit_us: float, most: int) -> Generator[int, SessionProbe, SearchAnswer]:
    """Yield the next session count to probe, receive its `SessionProbe`, and return the answer.

    The count doubles from one until the latency exceeds the limit, the throughput falls, or ``most`` is reached. Then
    the gaps beside the best count are halved until they are no wider than `FINEST_SHARE` of it.
    """
    rates: _Rates = {}
    sessions, why = 1, ""
    while not why:
        rates[sessions] = _within(limit_us, (yield sessions))
        why = _end_of_rise(rates, sessions, most)
        sessions = min(2 * sessions, most)
    if rates[_best(rates)] == -math.inf:
        return SearchAnswer(None, f"even with one session {_NO_PASS}")
    while (following := _next(rates)) is not None:
        rates[following] = _within(limit_us, (yield following))
    return SearchAnswer(_best(rates), why)


def _end_of_rise(rates: _Rates, sessions: int, most: int) -> str:
    """Return why doubling ends after ``sessions``; empty when it goes on."""
    if rates[sessions] == -math.inf:
        return f"with more sessions {_NO_PASS}"
    if rates[sessions] < (1 - FALL_SHARE) * max(rates.values()):
        return "more sessions give less throughput"
    return "" if sessions < most else "the latency is within the limit even with the most sessions allowed"


def _next(rates: _Rates) -> int | None:
    """Return the middle of the wider gap beside the best count, which may hide a peak; None when both are narrow."""
    best = _best(rates)
    below = max((each for each in rates if each < best), default=best)
    above = min((each for each in rates if each > best), default=best)
    widest, start = max((above - best, best), (best - below, below))
    return start + widest // 2 if widest > max(1, int(best * FINEST_SHARE)) else None


def run_search(folder: SweepFolder, run: Callable[[SweepPoint], None], stopped: Callable[[], bool]) -> None:
    """Run the points that the strategy asks for, until it has an answer or ``stopped`` returns true.

    The answer is saved in the record. After a stop the strategy starts again from one session: counts that were run
    before are answered from their records.
    """
    request = folder.record.search
    if request is None or request.why is not None:
        return
    strategy = search_sessions(request.limit_us, request.most_sessions)
    sessions = next(strategy)
    while not stopped():
        repeats = _run_repeats(folder, sessions, run, stopped)
        if stopped():
            return
        try:
            sessions = strategy.send(_probe(folder, repeats, request))
        except StopIteration as end:
            _save_answer(folder, request, end.value)
            return


def _run_repeats(
    folder: SweepFolder, sessions: int, run: Callable[[SweepPoint], None], stopped: Callable[[], bool]
) -> list[SweepPoint]:
    """Run every repeat of a session count that is still pending, and return all of them."""
    for repeat in range(1, folder.record.repeats + 1):
        point = next((each for each in _points(folder, sessions) if each.repeat == repeat), None)
        if point is None:
            point = _new_point(folder, sessions, repeat)
            folder.save(folder.record.with_point(point))
        if point.state is PointState.PENDING and not stopped():
            run(point)
    return _points(folder, sessions)


def _points(folder: SweepFolder, sessions: int) -> list[SweepPoint]:
    return [point for point in folder.record.points if point.values["sessions"] == sessions]


def _new_point(folder: SweepFolder, sessions: int, repeat: int) -> SweepPoint:
    record = folder.record
    server = {name: values[0] for name, values in record.server_grid.items()}
    point = SweepPoint(number=len(record.points) + 1, values={"sessions": sessions}, server=server, repeat=repeat)
    return point.model_copy(update={"estimated_s": run_seconds(record, workload_of(record, point))})


def _probe(folder: SweepFolder, repeats: Sequence[SweepPoint], request: SearchRecord) -> SessionProbe:
    mean = _mean(folder, repeats)
    if mean is None or STALL_VERDICTS & mean.failed.keys():
        return SessionProbe(None, None)
    return SessionProbe(*_rate_and_latency(mean, request))


def _rate_and_latency(mean: Point, request: SearchRecord) -> tuple[float | None, float | None]:
    # Session counts may differ in their share of cache hits, so that only rates of operations are comparable.
    return mean.mean("ops_per_s"), mean.mean(latency_figure(request.at))


def _mean(folder: SweepFolder, repeats: Sequence[SweepPoint]) -> Point | None:
    """Return the mean point of the repeats; None unless all of them were completed."""
    if any(point.state is not PointState.DONE or point.run is None for point in repeats):
        return None
    means = points([Run.of(load(folder.path / str(point.run))) for point in repeats])
    if len(means) > 1:
        names = ", ".join(str(point.run) for point in repeats)
        why = f"server or host changed between {names}: they are not repeats"
        raise SlobError(why, "start a new search with --new")
    return means[0]


def _save_answer(folder: SweepFolder, request: SearchRecord, answer: SearchAnswer) -> None:
    best = None if answer.sessions is None else _mean(folder, _points(folder, answer.sessions))
    figures = {} if best is None else _answer_figures(best, request)
    answered = request.model_copy(update={"sessions": answer.sessions, "why": answer.why, **figures})
    folder.save(folder.record.model_copy(update={"search": answered}).with_status())


def require_answer(folder: SweepFolder) -> None:
    """Check that a search that ended has found a session count.

    Raises:
        UndecidedError: Figures of the only session are missing, so that nothing is known of the limit.
        VerdictError: No session count stays under the limit.

    """
    search = folder.record.search
    if search is None or search.sessions is not None:
        return
    alone = _mean(folder, _points(folder, 1))
    stalled = alone is not None and bool(STALL_VERDICTS & alone.failed.keys())
    if alone is None or (not stalled and None in _rate_and_latency(alone, search)):
        raise UndecidedError("whether a session count stays under the limit is unknown: one session gave no figure")
    raise VerdictError(f"no session count stays under the limit: {search.why}")


def _answer_figures(best: Point, request: SearchRecord) -> dict[str, str | float | None]:
    throughput = axes_for([best]).throughput
    latency = best.mean(latency_figure(request.at))
    return {"throughput": throughput, "best": best.mean(throughput), "latency_us": latency}
