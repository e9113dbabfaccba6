"""Made-up endurance runs: two segments with a gap between them, of which the second's driver was killed."""

from __future__ import annotations

from pathlib import Path

from factories.live import OFFSET_NS, START_NS, run_folder
from openslob.core.workload import Workload
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import EnduranceFolder, EnduranceRecord, Segment, SegmentState, measure_segment

FIRST_S, GAP_S, SECOND_S = 40, 60, 30
BEGAN_S = (START_NS - OFFSET_NS) / 10**9


def endured(results: Path, planned_s: float = 100.0) -> Path:
    """Return the folder of an endurance run that is not finished: interrupted, gone on with, killed."""
    record = EnduranceRecord(
        id="20260301-120000-endure", name="endure", started_at="2026-03-01T12:00:00Z", openslob_version="1",
        target="embedded", workload=Workload(sessions=8, update_pct=20).to_record(), planned_s=planned_s,
    )  # fmt: skip
    with EnduranceFolder.begin(results, record) as folder:
        run_folder(folder.path / "20260301-120000-segment-1", FIRST_S)
        run_folder(folder.path / "20260301-120140-segment-2", SECOND_S, finished=False)
        first = measure_segment(folder.path, Segment(number=1), SegmentState.INTERRUPTED, "it was stopped")
        second = measure_segment(folder.path, Segment(number=2), SegmentState.KILLED, endurance.KILLED)
        # All made-up runs begin at the same moment.
        later = second.model_copy(update={"begin_s": BEGAN_S + FIRST_S + GAP_S})
        folder.save(folder.record.with_segment(first).with_segment(later))
    return folder.path
