"""Where files lie on their device: the kernel's answer as it is read, its gaps, and filefrag's word on one file."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from openslob.core.host import FigureUnknownError
from openslob.host import extents
from openslob.host.device import MountInfo
from openslob.host.extents import Extent, Extents, find_extents, list_extents
from openslob.kinds.run.aftermath import set_extents

LAST, DELAYED = 0x1, 0x4
MIB = 2**20


def answering(monkeypatch, *answers):
    """A kernel that gives these extents, one list for each request; returns where the requests began."""
    asked = []

    def ioctl(_file, _number, buffer):
        start, _length, _flags, _mapped, room, _ = struct.unpack_from("=QQIIII", buffer)
        given = answers[len(asked)]
        asked.append(start)
        assert room >= len(given)
        struct.pack_into("=I", buffer, 20, len(given))
        for number, (logical, physical, size, flags) in enumerate(given):
            struct.pack_into("=QQQQQIIII", buffer, 32 + 56 * number, logical, physical, size, 0, 0, flags, 0, 0, 0)

    monkeypatch.setattr(extents, "ioctl", ioctl)
    return asked


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "table"
    path.write_bytes(b"x")
    return path


def test_all_extents_are_read_however_many_and_those_without_a_place_are_left_out(monkeypatch, file):
    first = [(0, 8 * MIB, MIB, 0), (MIB, 0, MIB, DELAYED)]
    asked = answering(monkeypatch, first, [(2 * MIB, 64 * MIB, 2 * MIB, LAST)])
    assert list_extents(file) == [Extent(8 * MIB, MIB), Extent(64 * MIB, 2 * MIB)]
    assert asked == [0, 2 * MIB]


def test_a_file_without_extents_has_none(monkeypatch, file):
    answering(monkeypatch, [])
    assert list_extents(file) == []


def test_cover_and_span_are_shares_of_the_device():
    found = Extents((Extent(10 * MIB, 4 * MIB), Extent(40 * MIB, MIB)), "vda", 100 * MIB)
    assert found.cover_pct == pytest.approx(5)
    assert found.span_pct == pytest.approx((10, 41))


@pytest.fixture
def device(monkeypatch, tmp_path):
    """A device of 100 MB under everything."""
    folder = tmp_path / "vdz"
    folder.mkdir()
    (folder / "size").write_text(f"{100 * MIB // 512}\n")
    mount = MountInfo(Path("/"), "ext4", "rw", "/dev/vdz")
    monkeypatch.setattr(extents, "mount_of", lambda *_: mount)
    monkeypatch.setattr(extents, "device_folder", lambda *_: folder)
    return mount


def test_the_reason_is_given_where_places_are_unknown(monkeypatch, device, file, tmp_path):
    with pytest.raises(FigureUnknownError, match="are not known"):
        find_extents([])
    with pytest.raises(FigureUnknownError, match="can't be examined: No such file"):
        find_extents([tmp_path / "gone"])
    monkeypatch.setattr(extents, "mount_of", lambda *_: MountInfo(Path("/"), "btrfs", "rw", "/dev/vdz"))
    with pytest.raises(FigureUnknownError, match=r"\(btrfs\) has no places"):
        find_extents([file])


def recorded(engine, directory):
    """What a run's record gets of where the data lie, and its notes."""
    builder = SimpleNamespace(environment={}, notes=[])
    builder.set_fact = lambda fact, value, why: builder.environment.update({fact: value, "why": why})
    set_extents(builder, engine, directory)
    return builder.environment, builder.notes


def engine(*files, host=None):
    return SimpleNamespace(host=host, data=SimpleNamespace(files=lambda _directory: files))


@pytest.mark.parametrize(("size", "caution"), [(4 * MIB, True), (6 * MIB, False)])
def test_a_small_part_of_the_device_is_a_caution(monkeypatch, device, file, size, caution):
    answering(monkeypatch, [(0, 50 * MIB, size, LAST)])
    facts, notes = recorded(engine(file), file.parent)
    place = facts["data_extents"]
    assert (place["count"], place["bytes"], place["device"], place["first_pct"]) == (1, size, "vdz", 50)
    assert place["cover_pct"] == pytest.approx(size / MIB)
    assert [note.startswith("caution: the loaded data cover 4 % of vdz") for note in notes] == [True] * caution


def test_files_of_another_host_are_not_looked_for_here(file):
    for facts, notes in (recorded(engine(file, host=object()), file.parent), recorded(engine(file), None)):
        assert facts["data_extents"] is None
        assert "not on this host" in facts["why"]
        assert notes == []


@pytest.mark.skipif(shutil.which("filefrag") is None, reason="needs filefrag")
def test_filefrag_finds_the_same_extents():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        path = Path(folder) / "table"
        with path.open("wb") as out:
            out.write(os.urandom(3 * MIB))
            os.fdatasync(out.fileno())
        done = subprocess.run(["filefrag", "-v", "-b512", path], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip("the file system of /var/tmp does not tell extents")
        # extent: logical from..to: physical from..to: length, in sectors
        rows = re.findall(r"^ *\d+: *\d+\.\. *\d+: *(\d+)\.\. *\d+: *(\d+):", done.stdout, re.MULTILINE)
        assert rows
        assert list_extents(path) == [Extent(512 * int(begin), 512 * int(count)) for begin, count in rows]
