"""The report of a sweep on the terminal, with the figures of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openslob import api
from openslob.analyze.curves.points import Run
from openslob.analyze.curves.series import CACHED, PHYSICAL
from openslob.cli.console import columns, notify
from openslob.errors import UsageError
from openslob.record import store
from openslob.record.model import Status
from openslob.record.sweep import SweepRecord
from openslob.report.sweep_text import render_sweep, sweep_answer


def sweep_report(folder: Path, record: SweepRecord, price: str | None = None) -> tuple[str, str]:
    """Return the text of a sweep, with where its records are, and its answer; at another price if one is given."""
    with store.many_documents():
        done = [run for run in _runs(folder, record, price) if run.record.status is Status.COMPLETE]
        drawn = f"slob report {folder} draws them\n" if done else ""
        text = f"{render_sweep(record, done, columns())}records: {folder}\n{drawn}"
        return text, sweep_answer(record, done)


def _runs(folder: Path, record: SweepRecord, price: str | None) -> Sequence[Run]:
    if not any(point.run for point in record.points):
        return ()
    try:
        # The table of the points has the interval of one figure.
        throughputs = (PHYSICAL.throughput, CACHED.throughput)
        found = api.load(folder, None if record.figures or record.against else throughputs)
    except UsageError as error:  # every run is lost: what the sweep itself says is left
        notify(str(error))
        return ()
    for problem in found.problems:
        notify(problem)
    return found.at_price(price).runs if price else found.runs
