"""Records that earlier programs wrote: each can be opened, shown, reported, exported and compared.

docs/record-format.md says how a fixture is added.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from factories.paths import FIXTURES
from factories.running import slob
from openslob.kinds.sweep import record as sweep
from openslob.record import kinds, store
from openslob.record.kinds import KindOfDocument
from openslob.record.versions import RUN, Format

RECORDS = FIXTURES / "records"
RUNS = sorted(path.parent for path in RECORDS.glob("v*/*/run.json"))
SWEEPS = sorted(path.parent for path in RECORDS.glob("sweep-v*/*/sweep.json"))
STORAGE = sorted(path.parent for path in RECORDS.glob("storage-v*/*/storage.json"))
# Those of runs over hours and days are without their runs.
ALONE = sorted(path.parent for name in ("endurance", "repeated") for path in RECORDS.glob(f"{name}-v*/*/{name}.json"))
DURABILITY = sorted(path.parent for name in ("crash", "failover") for path in RECORDS.glob(f"{name}-v*/*/{name}.json"))
FORMATS: dict[str, Any] = {"v": (RUN, "run.json")} | {
    f"{each.folder.file_name.removesuffix('.json')}-v": (each.folder.form, each.folder.file_name)
    for each in kinds.every()
    if isinstance(each, KindOfDocument)
}
# Records that programs wrote; those called "constructed" were written by hand and leave out what has a default.
PRESENT = [
    (form, file)
    for prefix, (form, name) in FORMATS.items()
    for file in sorted(RECORDS.glob(f"{prefix}{form.version}/*/{name}"))
    if file.parent.name != "constructed"
]


def identity(path: Path) -> str:
    return str(path.relative_to(RECORDS))


def test_every_version_of_every_format_has_a_record() -> None:
    missing = [
        f"{prefix}{version}"
        for prefix, (form, name) in FORMATS.items()
        for version in range(1, form.version + 1)
        if not list(RECORDS.glob(f"{prefix}{version}/*/{name}"))
    ]
    assert missing == []


@pytest.mark.parametrize(("form", "file"), PRESENT, ids=[identity(file) for _, file in PRESENT])
def test_a_record_of_the_present_version_has_exactly_the_fields_of_the_model(form: Format, file: Path) -> None:
    """A field that is added, renamed or dropped needs a new version: older programs refuse keys they do not know."""
    document = json.loads(file.read_text(encoding="utf-8"))
    assert form.parse(document, str(file)).model_dump(mode="json") == document


@pytest.mark.parametrize("folder", [*RUNS, *STORAGE, *ALONE, *DURABILITY], ids=identity)
def test_a_record_is_shown(folder: Path) -> None:
    done = slob("show", folder, "--all")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) > 10


@pytest.mark.parametrize("folder", [*RUNS, *SWEEPS, *STORAGE, *DURABILITY], ids=identity)
def test_a_record_becomes_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = slob("report", folder, "--output", page)
    assert (done.returncode, done.stderr) == (0, "")
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.parametrize("form", ["csv", "json", "openmetrics"])
@pytest.mark.parametrize("folder", [*RUNS, *SWEEPS], ids=identity)
def test_a_record_is_exported(folder: Path, form: str) -> None:
    done = slob("export", folder, "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pio_read" in done.stdout


@pytest.mark.parametrize("folder", [*RUNS, *SWEEPS], ids=identity)
def test_a_record_is_compared_with_its_like(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    for run in copy.rglob("run.json"):
        document = json.loads(run.read_text())
        run.write_text(json.dumps({**document, "id": f"{document['id']}-2"}))
    done = slob("compare", folder, copy, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["mismatches"] == []


@pytest.mark.parametrize("folder", SWEEPS, ids=identity)
def test_a_sweep_finds_its_runs(folder: Path) -> None:
    record = sweep.load_sweep(folder)
    assert [store.load(folder / str(point.run)).name for point in record.points] == [
        point.run_name for point in record.points
    ]
