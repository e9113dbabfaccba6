"""The verdicts on a run as they stand so far, by the rules that judge it at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from openslob.analyze.causes import episodes
from openslob.analyze.level import search
from openslob.analyze.load_kinds import is_paced, load_kind
from openslob.analyze.measure import Until, measure
from openslob.analyze.outcome import unknown
from openslob.analyze.run_tables import RunTables
from openslob.analyze.trace import trace_of
from openslob.analyze.verdicts import environment, server, validity
from openslob.analyze.verdicts.course import no_stalls
from openslob.core.measurement import Measurement
from openslob.core.workload import RATE_SCHEDULE
from openslob.record.model import RunRecord, Verdict
from openslob.record.raw_csv import Happening

AT_END = "known at the end of the run"
# These need no more than the files so far; all others need what is known at the end alone.
_JUDGED: tuple[Callable[[Measurement], Verdict | None], ...] = (
    validity.errors,
    server.real_server,
    server.settings_taken,
    validity.reads_reached_device,
    server.single_block,
    server.scan_path,
    server.clock_cheap,
    validity.commits_waited,
    server.cache_size_kept,
    server.not_throttled,
    server.log_switches,
    environment.driver_quiet,
    environment.quiet_machine,
    environment.steady,
    no_stalls,
    environment.percentiles_supported,
)
# These judge latencies, which come later than all else.
_TIMED = (no_stalls, environment.percentiles_supported)
_LATE = "Not judged yet: the latencies of operations come some seconds late."
_LATER = (
    *("window", "planned_time", "sessions_busy", "alone_on_server", "counts_agree", "exact_mix", "mode"),
    *("data_in_place", "limit_found", "time_is_accounted", "level_sustained"),
)
# Of a run at a given rate; and of some runs, but which ones is known at their end.
_OF_RATE, OF_SOME = (
    "rate_reached",
    frozenset({"block_path", "hits_as_expected", "within_ceiling", "awr_agrees", "cleanup_keeps_up"}),
)
JUDGED_OR_NOT = frozenset({*(judge.__name__ for judge in _JUDGED), *_LATER, _OF_RATE}) | OF_SOME


def verdicts_so_far(tables: RunTables, record: RunRecord, until: Until, errors: Sequence[str]) -> tuple[Verdict, ...]:
    """Return the verdicts on the run up to a moment; unknown where only the end of the run can tell."""
    names = (*_LATER, _OF_RATE) if is_paced(record) else _LATER
    later = tuple(unknown(name, f"Not judged yet: {AT_END}.") for name in names)
    if not np.any(tables.engine.end_s <= until.at_s):
        return later
    try:
        measured = measure(record, tables, until=until, errors=errors)
    except ValueError:
        # A later version may have parameters that this one does not know: it can't judge such a run.
        return later
    if not isinstance(measured, Measurement):
        return later
    early = () if measured.latency else tuple(unknown(judge.__name__, _LATE) for judge in _TIMED)
    judges = (judge for judge in _JUDGED if measured.latency or judge not in _TIMED)
    return (*(verdict for judge in judges if (verdict := judge(measured))), *early, *later)


def slow_so_far(
    tables: RunTables, record: RunRecord, end_s: float, events: Sequence[Happening]
) -> list[tuple[float, str]]:
    """Return when the load was slow up to ``end_s``, each with its end, cause and evidence.

    A rate that changes has slower stages, which are none of these.
    """
    if record.spec.get(RATE_SCHEDULE):
        return []
    trace = trace_of(tables, end_s, events, load_kind(record).publishes_late)
    found = episodes(trace, search(trace))
    return [(each.begin_s, slow_text(each.end_s, each.cause, each.evidence)) for each in found]


def slow_text(end_s: float, cause: str, evidence: str) -> str:
    """Return a stretch in which the load was slow in words."""
    return f"slow until {end_s:.0f} s: {cause}; {evidence}"
