"""How many runs show a small change, in sentences: of a comparison, and of runs that are kept as a baseline."""

from __future__ import annotations

from openslob.analyze.ci_gate import ENOUGH_RUNS
from openslob.analyze.compare import Comparison
from openslob.analyze.curves.points import Point
from openslob.analyze.differences import Difference, Shows
from openslob.analyze.intervals import MOST_RUNS, spread, starts_needed

_THROUGHPUT = "ops_per_s"
_LEFT_OPEN = {
    Shows.ONE_RUN: (
        "There is one run per side: how much runs differ from each other is not known, nor how much starts of the "
        "server do."
    ),
    Shows.ONE_START: (
        "The runs of a side are all of one start of the server: how much starts differ is not known. ± is that within "
        "these starts."
    ),
}
_WAYS_OUT = (
    f"Make {ENOUGH_RUNS} runs per side, each after a restart of the server, or name equal runs of several starts that "
    "show it, such as a baseline (--spread)."
)


def runs_needed(comparison: Comparison) -> list[str]:
    """Return how many runs on each side show a small change, or why that is not known."""
    borrowed = f"How much starts of the server differ is that of {comparison.name_like}."
    if shows := _left_open(comparison):
        return [_LEFT_OPEN[shows], _WAYS_OUT]
    every = [difference for pair in comparison.pairs if (difference := pair.differences.get(_THROUGHPUT))]
    most = max(every, key=lambda each: each.repeats_needed or 0, default=None)
    lines = [borrowed] if comparison.name_like else []
    if most is not None and most.repeats_needed:
        at = " at every point" if len(comparison.pairs) > 1 else ""
        see = f"a change of {comparison.see_pct:g} % in operations/s{at}"
        lines.append(f"To see {see} takes {_runs(most.repeats_needed)} per side{_made(most)}.")
    return lines


def footnote(comparison: Comparison) -> str:
    """Return what the column of runs means."""
    return f"* Runs per side that would show a change of {comparison.see_pct:g} % in nine of ten cases."


def way_out(comparison: Comparison) -> str:
    """Return in short what to do about a comparison that shows nothing."""
    if _left_open(comparison) is Shows.ONE_START:
        return "each side is of one start of the server; restart it between the runs of a side"
    return "repeat the runs at least three times on each side"


def plan(point: Point, see_pct: float) -> str:
    """Return how many runs show a change from the runs of a point, or why that is not known."""
    throughput = point.figure(_THROUGHPUT)
    known = spread(throughput.runs)
    if known is None:
        why = "one run" if throughput.n == 1 else "all runs are of one start of the server"
        return (
            f"{point.at}: how many runs show a change of {see_pct:g} % is not known ({why}): make {ENOUGH_RUNS}, each "
            "after a restart of the server"
        )
    needed = starts_needed(known, see_pct)
    restart = "" if needed == MOST_RUNS else ", each after a restart of the server"
    return (
        f"{point.at}: equal runs differ by {known.pct:.1f} % in operations/s; to see a change of {see_pct:g} % takes "
        f"{_runs(needed)} per side{restart}"
    )


def _left_open(comparison: Comparison) -> Shows | None:
    """Return what the sides do not show of how equal runs differ; None if they show it."""
    several = len(comparison.pairs) > 1
    differences = comparison.overall if several else comparison.pairs[0].differences
    found = differences.get(_THROUGHPUT) or next(iter(differences.values()), None)
    return found.shows if found is not None and found.shows in _LEFT_OPEN else None


def _runs(count: int | None) -> str:
    return f"more than {MOST_RUNS} runs" if count == MOST_RUNS else f"{count} runs"


def _made(difference: Difference) -> str:
    """Return how the runs of a plan are made: as those were that it relies on."""
    if difference.shows is Shows.SAME_START:
        return ", in the same start of the server"
    if not difference.a.starts:
        return ""
    per_start = difference.runs_per_start
    return f", {'each' if per_start == 1 else f'{per_start} at a time'} after a restart of the server"
