"""Bundles: what is in one, any byte that changed, archives that would do harm, and records of older versions."""

import errno
import json
import re
import shutil
import stat
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest

import openslob
from factories.paths import FIXTURES
from openslob.core.errors import SlobError
from openslob.kinds.verification import Verification, render_verification, verify
from openslob.record import bundle, finding

RECORDS = FIXTURES / "records"
MEASURED = RECORDS / "v4" / "measured"


@pytest.fixture(scope="module", autouse=True)
def packages_listed_once() -> Iterator[None]:
    with patch.object(bundle, "list_packages", cache(bundle.list_packages)):
        yield


def made(tmp_path: Path, record: Path = MEASURED) -> Path:
    file = tmp_path / "it.slob.zip"
    found = finding.at(record)
    assert found is not None
    bundle.save(found, file)
    return file


def checked(file: Path, into: Path) -> Verification:
    opened = bundle.unpack(file, into)
    assert opened.record is not None
    return verify(opened.record, opened)


@pytest.mark.parametrize("version", ["v2/measured", "v2/paced", "v3/measured", "v3/observed", "v4/measured"])
def test_every_figure_of_a_bundled_record_follows_from_its_raw_files(tmp_path: Path, version: str) -> None:
    found = checked(made(tmp_path, RECORDS / version), tmp_path / "out")
    assert found.faults == []
    assert sum(each.value is not None for _, each in found.every) > 40
    # Of a load at a given rate: nothing but what only the sessions knew.
    assert {each.name for _, each in found.unknown} <= {
        "target_ops_per_s", "ops_not_begun_pct", "backlog_s", "wake_up_late_us", "client_cpu_per_s",
    }  # fmt: skip


def test_the_cost_of_an_observation_is_derived_again(tmp_path: Path) -> None:
    from openslob.metrics import add_costs  # noqa: PLC0415
    from openslob.metrics.cost import price_in  # noqa: PLC0415
    from openslob.record import store  # noqa: PLC0415

    observed = tmp_path / "observed"
    shutil.copytree(RECORDS / "v3" / "observed", observed)
    record = add_costs(store.load(observed), price_in("657 EUR/month"))
    (observed / "run.json").write_text(record.model_dump_json())
    found = finding.at(observed)
    assert found is not None
    numbers = {each.name: each for _, each in verify(found).every}
    assert numbers["cost_per_million_reads"].same
    assert not verify(found).faults


def test_a_bundle_of_a_sweep_has_its_runs(tmp_path: Path) -> None:
    found = checked(made(tmp_path, RECORDS / "sweep-v1" / "measured"), tmp_path / "out")
    assert len(found.runs) == 3
    assert found.faults == []
    assert re.search(r" 3 runs .* all the same", render_verification(found))


def test_the_packages_of_the_program_are_locked(tmp_path: Path) -> None:
    with zipfile.ZipFile(made(tmp_path)) as archive:
        packages = archive.read("requirements.txt").decode()
        assert "run.json" in " ".join(archive.namelist())
    assert "\npydantic==" in packages


def test_what_looks_like_a_password_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    (folder / "note.txt").write_text("postgresql://me:SECRET@db1/test, password=SECRET\n")
    with zipfile.ZipFile(made(tmp_path, folder)) as archive:
        assert all(b"SECRET" not in archive.read(name) for name in archive.namelist())


def test_any_changed_byte_is_noticed(tmp_path: Path) -> None:
    whole = made(tmp_path).read_bytes()
    changed = tmp_path / "changed.zip"
    for at in [*range(0, len(whole), len(whole) // 15), len(whole) - 1]:
        changed.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert is_noticed(changed, tmp_path / f"out-{at}"), at


def is_noticed(file: Path, into: Path) -> bool:
    try:
        return bool(bundle.unpack(file, into).changed)
    except SlobError:
        return True


@pytest.mark.parametrize("cut", [1, 5000])
def test_a_bundle_that_is_cut_off_is_noticed(tmp_path: Path, cut: int) -> None:
    file = made(tmp_path)
    file.write_bytes(file.read_bytes()[:-cut])
    assert is_noticed(file, tmp_path / "out")


def test_a_figure_that_was_changed_is_named_with_what_the_raw_files_say(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    document = json.loads((folder / "run.json").read_text())
    document["summary"]["ops_per_s"]["value"] *= 1.05
    (folder / "run.json").write_text(json.dumps(document))
    # Its checksums are right: whoever changed the record made the bundle afterwards.
    found = checked(made(tmp_path, folder), tmp_path / "out")
    assert found.changed == ()
    (fault,) = found.faults
    assert fault.startswith("measured: ops_per_s is ") or ": ops_per_s is " in fault
    assert "1 differ" in render_verification(found, 80)


def test_an_operation_that_the_seed_does_not_have_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    lines = (folder / "slices.csv").read_text().splitlines()
    head = lines[0].split(",")
    cells = lines[1].split(",")
    for name, change in (("selects", -40), ("updates", 40)):
        cells[head.index(name)] = str(int(cells[head.index(name)]) + change)
    (folder / "slices.csv").write_text("\n".join([lines[0], ",".join(cells), *lines[2:], ""]))
    faults = checked(made(tmp_path, folder), tmp_path / "out").faults
    assert any("did not update when its seed says" in each for each in faults)
    assert any("updates_total is" in each for each in faults)


def evil(file: Path, change: Callable[[zipfile.ZipFile], None]) -> Path:
    with zipfile.ZipFile(file, "a") as archive:
        change(archive)
    return file


def link(archive: zipfile.ZipFile) -> None:
    info = zipfile.ZipInfo("record/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(info, "/etc/passwd")


@pytest.mark.parametrize(
    "change",
    [
        lambda archive: archive.writestr("../outside", "x"),
        lambda archive: archive.writestr("/tmp/outside", "x"),
        lambda archive: archive.writestr("record/../../outside", "x"),
        lambda archive: archive.writestr("record/a\\..\\b", "x"),
        lambda archive: archive.writestr("C:outside", "x"),
        lambda archive: archive.writestr("record//twice", "x"),
        lambda archive: archive.writestr("manifest.json/below-a-file", "x"),
        lambda archive: archive.writestr("record/" + 100 * "\N{GRINNING FACE}", "x"),
        link,
    ],
)
def test_members_that_lead_elsewhere_are_refused_and_nothing_is_written(
    tmp_path: Path, change: Callable[[zipfile.ZipFile], None]
) -> None:
    file = evil(made(tmp_path), change)
    with pytest.raises(SlobError, match="not unpacked"):
        bundle.unpack(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "outside").exists()


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    def bomb(archive: zipfile.ZipFile) -> None:
        archive.writestr("record/zeros.csv", b"\0" * 80 * 1024**2, zipfile.ZIP_DEFLATED)

    with pytest.raises(SlobError, match="would be"):
        bundle.unpack(evil(made(tmp_path), bomb), tmp_path / "out")


def test_an_offset_that_no_file_has_is_damage(tmp_path: Path) -> None:
    raw = bytearray(made(tmp_path).read_bytes())
    # The first entry of the central directory gets its offset from an extra field of Zip64: beyond what can be sought.
    with zipfile.ZipFile(tmp_path / "it.slob.zip") as archive:
        start = archive.start_dir
        name = archive.infolist()[0].filename.encode()
    extra = struct.pack("<HHQ", 1, 8, 2**64 - 1)
    raw[start + 30 : start + 32] = struct.pack("<H", len(extra))
    raw[start + 42 : start + 46] = b"\xff" * 4
    raw[start + 46 + len(name) : start + 46 + len(name)] = extra
    end = raw.rindex(b"PK\x05\x06")
    raw[end + 12 : end + 16] = struct.pack("<I", struct.unpack("<I", raw[end + 12 : end + 16])[0] + len(extra))
    file = tmp_path / "evil.zip"
    file.write_bytes(raw)
    with pytest.raises(SlobError, match="is damaged, or not a bundle"):
        bundle.unpack(file, tmp_path / "out")


def test_a_bundle_that_does_not_fit_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bundle, "copy_member", full)
    with pytest.raises(SlobError, match="can't be unpacked: No space left on device; free space"):
        bundle.unpack(made(tmp_path), tmp_path / "out")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "later.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"bundle_version": 2}))
    with pytest.raises(SlobError, match="reads up to 1"):
        bundle.unpack(file, tmp_path / "out")


def test_another_archive_is_no_bundle(tmp_path: Path) -> None:
    file = tmp_path / "other.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(SlobError, match=r"no manifest\.json"):
        bundle.unpack(file, tmp_path / "out")


@pytest.mark.parametrize("name", ["b*.txt", "c\\d.txt", "x\u202e.txt", "con:.txt", 'a"b/x.txt'])
def test_a_file_that_would_not_be_unpacked_is_not_packed(tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(MEASURED, tmp_path / "record")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).touch()
    with pytest.raises(SlobError, match="can't be in a bundle: its name") as error:
        made(tmp_path, folder)
    assert str(folder) in str(error.value)
    assert not (tmp_path / "it.slob.zip").exists()


def test_a_bundle_has_the_same_limits_where_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    with pytest.raises(SlobError, match="too large for a bundle"):
        made(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(bundle, "MOST_MANIFEST_BYTES", 100)
    with pytest.raises(SlobError, match="too many files"):
        made(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_python_writes_bundles_and_checks_them(tmp_path: Path) -> None:
    file = tmp_path / "figures.slob.zip"
    sha256 = openslob.bundle(MEASURED, file)
    checked = openslob.verify(file)
    assert (checked.faults, checked.bundle and checked.bundle.sha256) == ([], sha256)
