"""Records of sweeps: which is meant, what is none, and what is never written into one."""

from __future__ import annotations

import json

import pytest

from openslob.config.grid import Grid
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import SweepFolder, find_sweeps, load_sweep
from openslob.record import finding


def asked():
    return new_sweep("petals", "embedded", Grid(Workload(schemas=1), {"sessions": (1, 2)}, ()), {}, 1)


def test_records_of_sweeps_are_found_by_path_name_and_beginning(tmp_path):
    with SweepFolder.begin(tmp_path, asked()) as one, SweepFolder.begin(tmp_path, asked()) as two:
        assert [each.path for each in find_sweeps(tmp_path)] == sorted([one.path, two.path])
        for wanted, path in {str(one.path): one.path, two.path.name: two.path, "latest": two.path}.items():
            assert finding.one(wanted, tmp_path, kinds={SWEEP}).path == path
        with pytest.raises(SlobError, match="2 records begin with '2026'"):
            finding.one("2026", tmp_path, kinds={SWEEP})
        with pytest.raises(SlobError, match="no sweep"):
            finding.one("x", tmp_path, kinds={SWEEP})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "damaged"),
        ("{}", "not the record of a sweep"),
        ('{"sweep_version": 99}', "reads up to 2"),
        ('{"sweep_version": 1}', "damaged at 'id'"),
    ],
)
def test_what_is_no_sweep_is_said(tmp_path, text, why):
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(SlobError, match=why):
        load_sweep(tmp_path)


def test_no_password_is_written(tmp_path):
    record = asked().model_copy(update={"notes": ("postgresql://me:secret@host/db",)})
    with SweepFolder.begin(tmp_path, record) as folder:
        assert "secret" not in (folder.path / "sweep.json").read_text()
        assert json.loads((folder.path / "sweep.json").read_text())["status"] == "interrupted"
