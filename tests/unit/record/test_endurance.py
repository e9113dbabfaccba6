"""Records of endurance runs: gaps, the time that is left, and segments whose driver was killed."""

from __future__ import annotations

import pytest

from factories.records import physical
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import KILLED, EnduranceFolder, EnduranceRecord, Segment, SegmentState
from openslob.record.raw_csv import Event
from openslob.record.store import RunFolder

SECOND = 10**9
BEGAN = 1_700_000_000


def a_record(*segments, planned_s=100.0):
    return EnduranceRecord(
        id="20260301-120000-endure", name="endure", started_at="2026-03-01T12:00:00Z", openslob_version="1",
        target="t", workload=Workload().to_record(), planned_s=planned_s, segments=segments,
    )  # fmt: skip


def measured(number, begin_s, seconds, why=""):
    return Segment(
        number=number, state=SegmentState.COMPLETE, run=f"run-{number}", begin_s=begin_s, seconds=seconds, why=why
    )


def test_a_gap_is_between_two_segments_that_were_measured():
    never = Segment(number=2, state=SegmentState.FAILED)
    record = a_record(measured(1, 1000.0, 30.0, KILLED), never, measured(3, 1050.0, 20.0))
    (gap,) = record.gaps
    assert (gap.begin_s, gap.seconds, gap.why) == (1030, 20, KILLED)
    assert (record.measured_s, record.left_s) == (50, 50)


def test_more_than_was_planned_leaves_nothing():
    assert a_record(measured(1, 0.0, 101.0)).left_s == 0


def killed_run(folder, segment, server_ahead_s=5):
    """The run of a driver that was killed: a window, and a row of a slice that was not written to its end."""
    began = {"id": f"20260301-120001-{segment.run_name}", "name": segment.run_name}
    with RunFolder.begin(folder, physical().model_copy(update={**began, "window": None})) as run:
        begin_ns = (BEGAN + server_ahead_s) * SECOND
        run.raw.event(Event.BEGIN_NS, str(begin_ns))
        run.raw.event(Event.CLOCK_OFFSET_NS, str(server_ahead_s * SECOND))
    slices = run.path / "slices.csv"
    rows = [f"{session},0,{begin_ns},{begin_ns + end * SECOND},{begin_ns}" for session, end in ((0, 7), (1, 8))]
    slices.write_text("\n".join([slices.read_text().strip(), *rows, f"0,1,{begin_ns},99"]))
    return run.path


def test_a_segment_whose_driver_was_killed_has_the_time_of_its_raw_files(tmp_path):
    segment = Segment(number=1)
    with EnduranceFolder.begin(tmp_path, a_record(segment)) as folder:
        run = killed_run(folder.path, segment)
        # While the driver lives, the segment is running.
        assert endurance.load(folder.path).segments == (segment,)
    (found,) = endurance.load(folder.path).segments
    assert (found.state, found.run, found.why) == (SegmentState.KILLED, run.name, KILLED)
    # By the server's clock, which is ahead; until then the slices of both sessions are known.
    assert (found.begin_s, found.seconds) == (BEGAN, 7)
    assert endurance.load(folder.path).has_news


def test_a_segment_that_was_killed_before_its_load_has_no_time(tmp_path):
    with EnduranceFolder.begin(tmp_path, a_record(Segment(number=1))) as folder:
        pass
    (found,) = endurance.load(folder.path).segments
    assert (found.state, found.run, found.seconds) == (SegmentState.KILLED, None, None)


def test_a_record_that_is_written_can_not_be_resumed(tmp_path):
    with EnduranceFolder.begin(tmp_path, a_record()) as folder, pytest.raises(SlobError, match="running in process"):
        EnduranceFolder.resume(folder.path)
    with EnduranceFolder.resume(folder.path) as again:
        assert again.record.planned_s == 100
