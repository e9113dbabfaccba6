"""What a comparison in pairs comes to: the intervals of its looks, the decision, and how far it is to be trusted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

from openslob.analyze.compare import better_of, step_of_figure
from openslob.analyze.intervals import Interval
from openslob.analyze.outcome import count_noun, fails, holds, unknown
from openslob.analyze.sequential import LEAST_PAIRS, Boundary, Decision, decide, ratio_at
from openslob.analyze.verdict_registry import REGISTRY, VerdictGroup, invalidates
from openslob.core.errors import SlobError
from openslob.kinds.ab.record import A, AbLook, AbRatio, AbRecord, AbRun, B
from openslob.kinds.run.again import why_lost
from openslob.metrics.run_metrics import figure_of
from openslob.record.model import Holds, RunRecord, Status, Verdict

# Figures that are compared beside the one that decides.
SHOWN = ("ops_per_s", "pio_read_per_s", "engine_read_latency_us", "op_p99_us", "lio_per_db_cpu")
DECIDED, VALID, RESTARTED = "decided", "pairs_valid", "each_restarted"
_READS = ("pio_", "engine_read_", "iops_", "read_", "dev_read")
_MOST_NAMED = 3
_WINDOW = "window"

Pair = tuple[AbRun, AbRun]


def figures_of(record: RunRecord, figure: str) -> dict[str, float | None]:
    """Return the figures of a run that are compared; what is not known is None, and of a lost window nothing is."""
    names = dict.fromkeys((figure, *SHOWN))
    return dict.fromkeys(names) if why_lost(record) else {name: figure_of(record, name) for name in names}


def complete_pairs(runs: Sequence[AbRun], figure: str) -> list[Pair]:
    """Return the pairs of which both sides have a figure above 0, in the order in which they were made."""
    known = [each for each in runs if (each.figures.get(figure) or 0) > 0]
    of = {side: {each.pair: each for each in known if each.side == side} for side in (A, B)}
    return [(of[A][number], of[B][number]) for number in sorted(of[A].keys() & of[B].keys())]


def list_compared(record: AbRecord) -> list[AbRun]:
    """Return the runs of the complete pairs."""
    return [run for pair in complete_pairs(record.runs, record.figure) for run in pair]


def values(record: AbRecord, figure: str) -> list[tuple[float, float]]:
    """Return a figure of both sides of each complete pair."""
    return [(a.figures[figure] or 0.0, b.figures[figure] or 0.0) for a, b in complete_pairs(record.runs, figure)]


def look_at(record: AbRecord, boundary: Boundary, share: float, first: int | None = None) -> AbLook:
    """Return a look at the pairs that are complete, or the ``first`` so many, after this share of the time."""
    pairs = values(record, record.figure)[:first]
    distance = boundary.look(len(pairs), share)
    found = _ratio_at(record.figure, pairs, distance)
    known = None if math.isinf(distance) else distance
    return AbLook(
        pairs=len(pairs), share=share, distance=known, ratio=found.value, low=found.low, high=found.high
    )  # fmt: skip


def _ratio_at(figure: str, pairs: Sequence[tuple[float, float]], distance: float) -> Interval:
    return ratio_at(pairs, distance, step_of_figure(figure, *(value for pair in pairs for value in pair)))


def renew_looks(record: AbRecord) -> AbRecord:
    """Return the record with its looks made again from what it notes of its runs."""
    boundary = Boundary()
    looks = tuple(look_at(record, boundary, each.share, each.pairs) for each in record.looks)
    return record.model_copy(update={"looks": looks})


def interval_of(each: AbLook | AbRatio) -> Interval:
    """Return the interval of a look, or of a figure."""
    return Interval(each.ratio, each.low, each.high, each.pairs, each.pairs)


def decision_of(record: AbRecord) -> Decision:
    """Return what the last look decides."""
    look = record.last_look
    if look is None:
        return Decision.UNDECIDED
    return decide(interval_of(look), record.within_pct, better_of(record.figure))


def with_results(record: AbRecord) -> AbRecord:
    """Return the record with what its runs and looks come to. Runs that are not what they claim decide nothing."""
    valid = _valid(record)
    decision = Decision.UNDECIDED if valid.verdict is Holds.FAILS else decision_of(record)
    ratios = {name: _ratio(record, name) for name in dict.fromkeys((record.figure, *SHOWN))}
    judged = record.model_copy(update={"decision": decision.value, "ratios": ratios})
    return judged.model_copy(update={"verdicts": (_judge_decision(judged), valid, _judge_restarts(judged))})


def _ratio(record: AbRecord, name: str) -> AbRatio:
    pairs, look = values(record, name), record.last_look
    if not pairs:
        reasons = [each.why for each in record.runs if each.why]
        return AbRatio(why=next(iter(reasons), "no pair of runs has it"))
    found = _ratio_at(name, pairs, math.inf if look is None or look.distance is None else look.distance)
    return AbRatio(
        pairs=len(pairs), a=median(a for a, _ in pairs), b=median(b for _, b in pairs), ratio=found.value,
        low=found.low, high=found.high, why=found.why,
    )  # fmt: skip


def invalidating(figure: str) -> frozenset[str]:
    """Return the verdicts on runs without which the figure that decides is not what it claims to be.

    What was read, and from where, matters to figures of reads only. A window that was lost is none of them: it leaves
    the figures without a value that it concerns.
    """
    groups = {VerdictGroup.VALID, *([VerdictGroup.READ] if figure.startswith(_READS) else [])}
    found = (row.name for row in REGISTRY if invalidates(row.name) and row.group in groups)
    return frozenset(found) - {_WINDOW}


def _judge_decision(record: AbRecord) -> Verdict:
    pairs = len(values(record, record.figure))
    counted = count_noun(pairs, "pair")
    if record.decision != Decision.UNDECIDED:
        return holds(DECIDED, f"{counted} decided it.", pairs=pairs)
    few = f": {LEAST_PAIRS} are needed at least" if pairs < LEAST_PAIRS else " did not decide it"
    return unknown(DECIDED, f"{counted}{few}.", pairs=pairs)


def _valid(record: AbRecord) -> Verdict:
    """Judge the runs that are compared; what failed or was discarded is not."""
    compared = list_compared(record)
    decisive = invalidating(record.figure)
    bad = Counter(name for each in compared for name in each.failed_verdicts if name in decisive)
    if not compared:
        return unknown(VALID, "No pair of runs was made yet.")
    if not bad:
        return holds(VALID, f"Each of {count_noun(len(compared), 'run')} measured what it says.")
    named = ", ".join(f"{name.replace('_', ' ')} in {number}" for name, number in bad.most_common(_MOST_NAMED))
    return fails(VALID, f"Of {count_noun(len(compared), 'run')}, verdicts fail: {named}.", runs=sum(bad.values()))


def _judge_restarts(record: AbRecord) -> Verdict:
    compared = list_compared(record)
    starts = [each.server_started_at for each in compared]
    if not compared or None in starts:
        return unknown(RESTARTED, "When the server of each run was started is not known.")
    shared = len(starts) - len(set(starts))
    counted = count_noun(len(starts), "run")
    if not shared:
        return holds(RESTARTED, f"Each of {counted} was made after a start of its server.", shared=0)
    return fails(
        RESTARTED,
        f"Of {counted}, {shared} had no start of their server: how much starts differ is not part of the interval.",
        shared=shared,
    )


def require_end(record: AbRecord, remedy: str = "") -> None:
    """Raise SlobError with this remedy if a comparison failed, or was stopped before its end."""
    if record.status is Status.FAILED:
        raise SlobError(next(iter(record.errors), "the comparison failed"), remedy)
    if record.status is Status.INTERRUPTED:
        raise SlobError("the comparison was stopped before its end", remedy)


def is_invalid(record: AbRecord) -> bool:
    """Return whether runs that were compared did not measure what they say."""
    return any(each.name == VALID and each.verdict is Holds.FAILS for each in record.verdicts)
