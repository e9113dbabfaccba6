"""A followed record shows what its report says, while it grows and afterwards."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from factories import record_files
from factories.live import MadeRun, run_folder
from factories.paths import FIXTURES
from factories.records import START_NS
from openslob.core.errors import SlobError
from openslob.core.units import NANOS
from openslob.kinds.contract import follow
from openslob.kinds.run.live.follow import FollowedRun
from openslob.kinds.view import RecordState
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder, lock_marker


def _finished(results: Path) -> tuple[Path, RunRecord]:
    record = record_files.record()
    with RunFolder.begin(results, record) as folder:
        record_files.write(folder.path)
        folder.finish(record)
    return folder.path, record


def test_a_finished_run_shows_its_result_and_what_it_did_over_time(tmp_path: Path) -> None:
    folder, record = _finished(tmp_path)
    view = follow(folder).view()
    assert (view.head.progress, view.head.phase, view.head.kind) == (RecordState.COMPLETE, "", "run")
    assert view.now == record.summary
    assert view.verdicts == record.verdicts
    reads = view.series("pio_read_per_s")
    assert reads.mean[record_files.STALL] == record_files.ops_in(record_files.STALL) * 60.0


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SlobError, match="has no record"):
        follow(tmp_path)


def test_intervals_in_which_counters_did_not_keep_pace_are_not_drawn(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "made", sessions=1, planned_s=6)
    run.grow(6)
    header = (run.folder / "slices.csv").read_text().splitlines()[0]
    slices = [(0, 0.0, 1.5), (0, 1.5, 4.5), (0, 4.5, 6.0)]
    # A slice begins and ends between readings: what it did is counted in the interval of its end.
    rows = [
        ",".join([str(session), str(number), *(str(START_NS + round(at * NANOS)) for at in (begin, end))])
        + ",0" * (header.count(",") - 3)
        for number, (session, begin, end) in enumerate(slices)
    ]
    (run.folder / "slices.csv").write_text("\n".join([header, *rows]) + "\n")
    in_progress = follow(run.folder).view().series("pio_read_per_s").mean
    run.finish()
    ended = follow(run.folder).view().series("pio_read_per_s").mean
    assert [value is not None for value in in_progress] == [False, False, True, True, True, True]
    assert [value is not None for value in ended] == [False, False, True, True, False, False]


def test_a_look_that_has_no_time_reads_something_of_each_file(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "made")
    run.grow(3)
    follower = follow(run.folder)
    run.grow(1)
    assert isinstance(follower, FollowedRun)
    follower.poll(budget_s=0.0)
    view = follower.view()
    for name in ("pio_read_per_s", "ops_per_s", "host.busy_pct", "latency.select.p50_us"):
        assert view.series(name).mean[3] is not None, name


def test_a_record_that_makes_runs_is_followed_from_run_to_run(tmp_path: Path) -> None:
    folder = tmp_path / "20260301-100000-lab"
    shutil.copytree(FIXTURES / "records" / "lab-v2" / "measured", folder)
    with pytest.raises(SlobError, match="has no run that can be shown"):
        follow(folder)
    first = run_folder(folder / "20260301-100001-first", 4)
    source = follow(folder)
    assert source.view().head.id == first.folder.name
    second = MadeRun(folder / "20260301-100010-second", connects=True)
    with lock_marker(second.folder):
        source.poll()
        assert source.view().head.id == first.folder.name
        second.grow(3)
        source.poll()
        assert source.view().head.id == second.folder.name
