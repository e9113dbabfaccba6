"""Archives of registries: what is unpacked is what they hold, and nothing lands or leads outside of the folder."""

import io
import os
import tarfile

import pytest

from openslob.core.archives import OutsideError, unpack


def file(name, content=b"x", mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info, io.BytesIO(content)


def link(name, target, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, None


@pytest.fixture
def unpacked(tmp_path):
    """Unpacks an archive of these members into a folder, which it returns."""

    def make(*members):
        packed, place = io.BytesIO(), tmp_path / "below" / "place"
        place.mkdir(parents=True)
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for info, content in members:
                archive.addfile(info, content)
        packed.seek(0)
        with tarfile.open(fileobj=packed) as archive:
            unpack(archive, place)
        return place

    return make


def outside(tmp_path):
    """The files that lie outside of the folder."""
    return [path for path in tmp_path.rglob("*") if path.is_file() and tmp_path / "below/place" not in path.parents]


def test_files_links_and_the_right_to_be_run_are_kept(unpacked):
    place = unpacked(
        file("bin/program", b"code", 0o4755), link("lib/so", "so.1"), file("lib/so.1", b"library"),
        link("again", "bin/program", tarfile.LNKTYPE), link("bin/lib", "../lib"), file("bin/lib/more"),
    )  # fmt: skip
    assert (place / "bin/program").read_bytes() == (place / "again").read_bytes() == b"code"
    assert (place / "bin/program").stat().st_mode & 0o7777 == 0o755
    assert (place / "lib/so.1").stat().st_mode & 0o7777 == 0o644
    assert (place / "lib/so").read_bytes() == b"library"
    assert (place / "lib/more").exists()


@pytest.mark.parametrize(
    "members",
    [
        [file("../planted")],
        [file("/planted-by-a-test")],
        [file("a/../../planted")],
        [link("out", ".."), file("out/planted")],
        [link("out", "../.."), link("further", "out"), file("further/planted")],
        [link("out", "a/b/../.."), link("a/b", ".."), file("out/../planted")],
    ],
    ids=["above", "absolute", "in the middle", "by a link", "by two links", "by a link that changes"],
)
def test_a_member_outside_is_refused(unpacked, tmp_path, members):
    with pytest.raises(OutsideError):
        unpacked(*members)
    assert outside(tmp_path) == []
    assert not os.path.lexists("/planted-by-a-test")


def test_links_that_lead_outside_are_left_out(unpacked, tmp_path):
    (tmp_path / "secret").write_text("not theirs")
    place = unpacked(
        link("up", "../../secret"), link("root", "/etc/passwd"), link("late", "a/b/../../.."), link("a/b", ".."),
        link("inside", "a"),
    )  # fmt: skip
    assert sorted(path.name for path in place.rglob("*")) == ["a", "b", "inside"]


def test_devices_are_left_out(unpacked):
    info = tarfile.TarInfo("null")
    info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 3
    assert list(unpacked((info, None)).iterdir()) == []
