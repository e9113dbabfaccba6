"""The verdicts on a run: one small function each, beginning with those about the validity of the figures."""

from __future__ import annotations

from collections.abc import Callable

from openslob.analyze.verdicts.bottleneck import limit_found, time_is_accounted
from openslob.analyze.verdicts.churn import cleanup_keeps_up
from openslob.analyze.verdicts.course import no_stalls, planned_time, sessions_busy
from openslob.analyze.verdicts.environment import (
    alone_on_server,
    data_in_place,
    driver_quiet,
    percentiles_supported,
    quiet_machine,
    steady,
)
from openslob.analyze.verdicts.level import level_sustained
from openslob.analyze.verdicts.mode import hits_as_expected, mode, rate_reached
from openslob.analyze.verdicts.report import awr_agrees
from openslob.analyze.verdicts.server import (
    cache_size_kept,
    clock_cheap,
    log_switches,
    not_throttled,
    real_server,
    scan_path,
    settings_taken,
    single_block,
)
from openslob.analyze.verdicts.validity import (
    block_path,
    commits_waited,
    counts_agree,
    errors,
    exact_mix,
    reads_reached_device,
    window,
    within_ceiling,
)
from openslob.core.measurement import Measurement, Observed
from openslob.record.model import Verdict

VERDICTS: tuple[Callable[[Measurement], Verdict | None], ...] = (
    errors,
    real_server,
    settings_taken,
    window,
    planned_time,
    sessions_busy,
    no_stalls,
    alone_on_server,
    counts_agree,
    exact_mix,
    reads_reached_device,
    single_block,
    scan_path,
    block_path,
    commits_waited,
    mode,
    hits_as_expected,
    data_in_place,
    cleanup_keeps_up,
    cache_size_kept,
    not_throttled,
    log_switches,
    driver_quiet,
    quiet_machine,
    steady,
    level_sustained,
    percentiles_supported,
    clock_cheap,
    rate_reached,
    limit_found,
    time_is_accounted,
    within_ceiling,
    awr_agrees,
)
# Those on any load, whoever made it.
OF_ANY_LOAD: tuple[Callable[[Observed], Verdict | None], ...] = (
    real_server,
    window,
    reads_reached_device,
    cache_size_kept,
    driver_quiet,
    quiet_machine,
    steady,
    level_sustained,
)


def judge(measurement: Measurement) -> tuple[Verdict, ...]:
    """Return every verdict that applies to the run, in order."""
    return tuple(verdict for function in VERDICTS if (verdict := function(measurement)))


def judge_observed(observed: Observed) -> tuple[Verdict, ...]:
    """Return every verdict that applies to a load that is not ours, in order."""
    return tuple(verdict for function in OF_ANY_LOAD if (verdict := function(observed)))
