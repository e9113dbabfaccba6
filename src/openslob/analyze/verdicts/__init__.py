"""The verdicts on a run: one small function each, those about the truth of the figures first."""

from __future__ import annotations

from collections.abc import Callable

from openslob.analyze.verdicts.conditions import (
    data_in_place,
    driver_quiet,
    percentiles_supported,
    quiet_machine,
    steady,
)
from openslob.analyze.verdicts.limit import limit_found
from openslob.analyze.verdicts.purpose import mode
from openslob.analyze.verdicts.storage import within_ceiling
from openslob.analyze.verdicts.truth import counts_agree, errors, exact_mix, reads_reached_device, window
from openslob.record.measurement import Measurement
from openslob.record.model import Verdict

VERDICTS: tuple[Callable[[Measurement], Verdict], ...] = (
    errors,
    window,
    counts_agree,
    exact_mix,
    reads_reached_device,
    mode,
    data_in_place,
    driver_quiet,
    quiet_machine,
    steady,
    percentiles_supported,
    limit_found,
)
# Those that need something besides the run itself, and are not given without it.
ON_DEMAND: tuple[Callable[[Measurement], Verdict], ...] = (within_ceiling,)


def judge(measurement: Measurement) -> tuple[Verdict, ...]:
    """Every verdict on the run, in order."""
    demanded = ON_DEMAND if measurement.ceiling else ()
    return tuple(verdict(measurement) for verdict in (*VERDICTS, *demanded))
