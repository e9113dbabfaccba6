"""What a follower says of a record's progress: written, ended, left by its driver, copied, replayed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from factories.live import OPS, READS, MadeRun, run_folder, unfinished
from factories.records import START_NS
from openslob.analyze.verdicts import VERDICTS
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.kinds.contract import follow
from openslob.kinds.run.live import follow as following
from openslob.kinds.run.live.so_far import JUDGED_OR_NOT
from openslob.kinds.sweep.record import PointState, SweepFolder, SweepPoint, SweepRecord
from openslob.kinds.view import RecordState
from openslob.metrics import OBSERVED, PACED
from openslob.record.model import RunRecord, Verdict
from openslob.record.store import RECORD_FILE, lock_marker

SESSIONS = 8


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock that a driver holds while it writes."""
    with lock_marker(folder):
        yield


def test_a_run_in_progress_shows_its_phase_and_its_result_once_it_ended(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "made", SESSIONS, planned_s=20)
    with _locked(made.folder):
        follower = follow(made.folder)
        head = follower.view().head
        assert (head.progress, head.phase, head.elapsed_s, head.planned_s) == (RecordState.RUNNING, "window", 0.0, 20.0)
        made.grow(5)
        made.say("note", "a checkpoint began")
        assert follower.poll()
        view = follower.view()
        assert view.head.elapsed_s == 5
        assert view.now["pio_read_per_s"].value == pytest.approx(SESSIONS * OPS * READS)
        assert view.now["db_time_per_s"].value == pytest.approx(view.series("db_time_per_s").mean[-1])
        assert not view.now.keys() & (OBSERVED | PACED), "a run without a rate will never know them"
        assert view.now["start_skew_ms"].value is None
        assert view.now["start_skew_ms"].why
        assert view.notes[-1].at_s == 5.0
        assert not follower.poll()
        made.grow(15)
        record = made.finish()
    assert follower.poll()
    view = follower.view()
    assert (view.head.progress, view.head.phase, view.head.elapsed_s) == (RecordState.COMPLETE, "", 20)
    assert view.now == record.summary
    assert view.verdicts == record.verdicts


def test_a_run_whose_driver_is_gone_is_abandoned_and_says_since_when(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", 5, SESSIONS, finished=False)
    for path in made.folder.iterdir():
        os.utime(path, (path.stat().st_mtime - 90,) * 2)
    view = follow(made.folder).view()
    assert view.head.progress is RecordState.ABANDONED
    assert "last written 9" in view.notes[-1].text
    assert view.head.phase == ""


def test_a_copy_that_grows_is_in_progress_as_long_as_it_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = run_folder(tmp_path / "made", 5, SESSIONS, finished=False)
    follower = follow(made.folder)
    for _ in range(2):
        made.grow(1)
        follower.poll()
    assert follower.view().head.progress is RecordState.RUNNING
    assert "another machine" in follower.view().notes[-1].text
    monkeypatch.setattr(following, "GROWS_S", 0.0)
    assert follower.view().head.progress is RecordState.ABANDONED


def test_a_replay_shows_no_more_than_was_known_then(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", 20, SESSIONS, finished=False)
    made.say("error", "the last second")
    made.finish()
    follower = follow(made.folder)
    view = follower.view(at_s=7.5)
    assert (view.head.progress, view.head.phase, view.head.elapsed_s) == (RecordState.RUNNING, "window", 7.5)
    assert view.series("pio_read_per_s").at_s[-1] == 7.5
    assert view.series("pio_read_per_s").mean[-1] is None
    assert view.series("latency.select.p50_us").mean[-1] is None
    assert view.now["ops_total"].value == 7 * SESSIONS * OPS
    assert all(each.kind != "error" for each in view.notes)
    assert follower.view(at_s=99).head.progress is RecordState.COMPLETE


def test_what_the_host_counted_across_a_reset_is_unknown(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", 4, SESSIONS, finished=False)
    path = made.folder / "os.csv"
    reads = f"device.dev_reads,{4 * 4800}\n"
    text = path.read_text()
    assert text.count(reads) == 1
    path.write_text(text.replace(reads, "device.dev_reads,5\n"))
    view = follow(made.folder).view()
    assert view.series("device.reads_per_s").mean == [4800, 4800, 4800, None]
    assert view.now["dev_read_per_s"].value is None


def test_every_verdict_is_judged_live_or_known_to_come_later(tmp_path: Path) -> None:
    assert {verdict.__name__ for verdict in VERDICTS} == JUDGED_OR_NOT
    made = run_folder(tmp_path / "made", 4, SESSIONS, finished=False)
    of_rate = made.record.model_copy(update={"spec": {**made.record.spec, "target_ops": 100}})
    shown = [{each.name for each in _verdicts(made.folder, record)} for record in (made.record, of_rate)]
    assert shown[1] - shown[0] == {"rate_reached"}


def _verdicts(folder: Path, record: RunRecord) -> Sequence[Verdict]:
    (folder / RECORD_FILE).write_text(unfinished(record).model_dump_json())
    return follow(folder).view().verdicts


def test_a_record_that_is_removed_is_told(tmp_path: Path) -> None:
    made = run_folder(tmp_path / "made", 2, SESSIONS)
    follower = follow(made.folder)
    (made.folder / RECORD_FILE).unlink()
    with pytest.raises(SlobError, match="moved or removed"):
        follower.poll()


def test_the_petals_of_a_sweep_grow_with_the_point_in_progress(tmp_path: Path) -> None:
    points = tuple(
        SweepPoint(number=number, values={"sessions": sessions, "update_pct": 20})
        for number, sessions in enumerate((4, 8), 1)
    )
    sweep = SweepRecord(
        id="20260301-120000-sweep",
        name="sweep",
        started_at="2026-03-01T12:00:00Z",
        openslob_version="1",
        target="embedded",
        workload=Workload().to_record(),
        grid={"sessions": (4, 8), "update_pct": (20,)},
        seed=1,
        points=points,
    )
    with SweepFolder.begin(tmp_path, sweep) as folder:
        follower = follow(folder.path)
        assert [(each.sessions, each.state) for each in follower.view().points] == [(4, "pending"), (8, "pending")]
        first = run_folder(folder.path / f"{START_NS}-1", 5, 4)
        done = {"state": PointState.DONE, "run": first.folder.name}
        folder.save(folder.record.with_point(points[0].model_copy(update=done)))
        second = MadeRun(folder.path / f"{START_NS}-2", SESSIONS, name=points[1].run_name)
        second.grow(6)
        with _locked(second.folder):
            follower.poll()
            view = follower.view()
            assert view.head.progress is RecordState.RUNNING
            assert [(each.state, each.petal) for each in view.points] == [
                ("done", "20 % updates"),
                ("running", "20 % updates"),
            ]
            summary, figures = first.record.summary, view.points[0].figures
            assert {name: figures[name] for name in summary} == summary
            assert figures["op_mean_us"].value == first.record.latency["select"]["mean_us"]
            assert view.points[1].figures["pio_read_per_s"].value == pytest.approx(SESSIONS * OPS * READS)
            assert view.current is not None
            assert view.current.head.elapsed_s == 6
    follower.poll()
    assert follower.view().head.progress is RecordState.INTERRUPTED
