"""Carries out a search over session counts: each try is an ordinary point of the sweep with an ordinary record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openslob.analyze.curves.latency_limit import latency_figure
from openslob.analyze.curves.points import Point, Run, points
from openslob.analyze.curves.series import axes_for
from openslob.errors import SlobError
from openslob.record.store import load
from openslob.record.sweep import PointState, SearchRecord, SweepFolder, SweepPoint
from openslob.sweep.plan import run_seconds, workload_of
from openslob.sweep.search import Answer, Probe, search


def run_search(folder: SweepFolder, run: Callable[[SweepPoint], None], stopped: Callable[[], bool]) -> None:
    """Run what the strategy asks for, until it has its answer, which goes into the record, or until stopped.

    What was run before a stop is answered from the records: the strategy asks the same questions again.
    """
    asked = folder.record.search
    if asked is None or asked.why is not None:
        return
    strategy = search(asked.limit_us, asked.most_sessions)
    sessions = next(strategy)
    while not stopped():
        tried = _tried(folder, sessions, run, stopped)
        if stopped():
            return
        try:
            sessions = strategy.send(_probe(folder, tried, asked))
        except StopIteration as end:
            _save_answer(folder, asked, end.value)
            return


def _tried(
    folder: SweepFolder, sessions: int, run: Callable[[SweepPoint], None], stopped: Callable[[], bool]
) -> list[SweepPoint]:
    """The points with so many sessions, one a repeat; run now unless they were before."""
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


def _probe(folder: SweepFolder, tried: Sequence[SweepPoint], asked: SearchRecord) -> Probe:
    found = _mean(folder, tried)
    if found is None:
        return Probe(None, None)
    # Counts that find more or less in the cache are about other reads, but all are about operations.
    return Probe(found.mean("ops_per_s"), found.mean(latency_figure(asked.at)))


def _mean(folder: SweepFolder, tried: Sequence[SweepPoint]) -> Point | None:
    """The repeats taken together; None unless all of them were run to their end."""
    if any(point.state is not PointState.DONE or point.run is None for point in tried):
        return None
    found = points([Run.of(load(folder.path / str(point.run))) for point in tried])
    if len(found) > 1:
        names = ", ".join(str(point.run) for point in tried)
        raise SlobError(f"server or host changed between {names}: they are no repeats", "search anew with --new")
    return found[0]


def _save_answer(folder: SweepFolder, asked: SearchRecord, answer: Answer) -> None:
    best = None if answer.sessions is None else _mean(folder, _points(folder, answer.sessions))
    figures = {} if best is None else _figures(best, asked)
    found = asked.model_copy(update={"sessions": answer.sessions, "why": answer.why, **figures})
    folder.save(folder.record.model_copy(update={"search": found}).judged())


def _figures(best: Point, asked: SearchRecord) -> dict[str, str | float | None]:
    throughput = axes_for([best]).throughput
    latency = best.mean(latency_figure(asked.at))
    return {"throughput": throughput, "best": best.mean(throughput), "latency_us": latency}
