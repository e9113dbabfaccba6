"""A followed record shows what its report says, while it grows and afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories import record_files
from openslob.errors import SlobError
from openslob.live.follow import follow
from openslob.live.view import Progress
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder


def _finished(results: Path) -> tuple[Path, RunRecord]:
    record = record_files.record()
    with RunFolder.begin(results, record) as folder:
        record_files.write(folder.path)
        folder.finish(record)
    return folder.path, record


def test_a_finished_run_shows_its_result_and_what_it_did_over_time(tmp_path: Path) -> None:
    folder, record = _finished(tmp_path)
    view = follow(folder).view()
    assert (view.head.progress, view.head.phase, view.head.kind) == (Progress.COMPLETE, "", "run")
    assert view.now == record.summary
    assert view.verdicts == record.verdicts
    reads = view.series("pio_read_per_s")
    assert reads.mean[record_files.STALL] == record_files.ops_in(record_files.STALL) * 60.0


def test_a_folder_without_a_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SlobError, match="has no record"):
        follow(tmp_path)
