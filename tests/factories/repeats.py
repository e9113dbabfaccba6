"""Made-up records of repeated runs."""

from __future__ import annotations

import numpy as np

from openslob.core.workload import Workload
from openslob.kinds.repeated.figures import with_findings
from openslob.kinds.repeated.record import RepeatedRecord, RepeatedTime, TimeState
from openslob.record.model import Status

BEGAN_S, EVERY_S = 1_772_366_400.0, 900.0


def repeated_record(*levels: tuple[float, int], missed: tuple[int, ...] = ()) -> RepeatedRecord:
    """Return a record whose runs have rates around these levels; ``missed`` are numbers of times without a run."""
    random = np.random.default_rng(2)
    rates = [float(rate) for level, count in levels for rate in random.normal(level, level / 50, count)]
    times = tuple(
        RepeatedTime(number=number, due_s=BEGAN_S + (number - 1) * EVERY_S, state=TimeState.MISSED, why="nobody")
        if number in missed
        else RepeatedTime(
            number=number, due_s=BEGAN_S + (number - 1) * EVERY_S, state=TimeState.DONE, run=f"run-{number:04}",
            figures={"ops_per_s": rate, "p99_us": 2e6 / rate},
        )
        for number, rate in enumerate(rates, 1)
    )  # fmt: skip
    return with_findings(
        RepeatedRecord(
            id="20260301-120000-often", name="often", status=Status.COMPLETE, started_at="2026-03-01T12:00:00Z",
            openslob_version="1", target="embedded", workload=Workload(sessions=2).to_record(), every_s=EVERY_S,
            first_s=BEGAN_S, planned=len(times), times=times,
        )
    )  # fmt: skip
