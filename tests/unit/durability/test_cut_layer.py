"""The storage that can be cut off against a model of it: the folder always has what the model says is kept."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openslob.core.errors import SlobError
from openslob.core.extras import install_command
from openslob.durability.cut import require_fuse
from openslob.durability.cut.contents import PAGE_BYTES, SECTOR_BYTES
from openslob.durability.cut.layer import VolatileLayer

FILE, FOLDER = stat.S_IFREG | 0o600, stat.S_IFDIR | 0o700
OPEN_FILES = Path("/proc/self/fd")


def made(folder, names="journal", lying=False):
    return VolatileLayer(folder, names, lying)


def make(layer, path, mode=FILE, target=""):
    return layer.make(path, mode, os.geteuid(), os.getegid(), target)


def contents(layer, node):
    return layer.read(node, 0, node.size + 1)


def kept(folder):
    """All that is kept, by path: the bytes of files, None for folders."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def seen(layer, node=None, above=""):
    """All that users see, likewise."""
    found = {}
    for name, each in (node or layer.root).entries.items():
        path = f"{above}{name}"
        found |= {path: None, **seen(layer, each, f"{path}/")} if each.is_folder else {path: contents(layer, each)}
    return found


class Item:
    """A file or folder of the model: what it has now and what is kept; ``last``: its last change of names or size."""

    def __init__(self, folder):
        self.folder = folder
        self.data = self.kept = b""
        self.last = 0


class Model:
    """The journal's rules in their plainest form: all changes since the begin, made again for what is kept."""

    def __init__(self):
        self.now = {}
        self.changes = []
        self.sizes = {}
        self.kept_changes = 0
        self.top = Item(True)

    def above(self, path):
        return self.now[path.rpartition("/")[0]] if "/" in path else self.top

    def change(self, do, *touched):
        self.changes.append(do)
        do(self.now)
        for item in touched:
            item.last = len(self.changes)

    def resize(self, item, size):
        item.data = item.data[:size].ljust(size, b"\0")
        self.sizes[len(self.changes)] = (item, size)
        self.change(lambda names: None, item)

    def sync(self, item):
        for number in range(self.kept_changes, item.last):
            if number in self.sizes:
                each, size = self.sizes[number]
                each.kept = each.kept[:size].ljust(size, b"\0")
        self.kept_changes = max(self.kept_changes, item.last)
        item.kept = item.data

    def kept(self):
        names = {}
        for do in self.changes[: self.kept_changes]:
            do(names)
        return {path: None if item.folder else item.kept for path, item in names.items()}


def moved(old, new):
    """The change of all paths below ``old``."""

    def do(names):
        for path in [path for path in names if path == new or path.startswith(f"{new}/")]:
            del names[path]
        for path in [path for path in names if path == old or path.startswith(f"{old}/")]:
            names[new + path[len(old) :]] = names.pop(path)

    return do


class Both:
    """The layer and the model, with the same requests; what one refuses is not asked of the other."""

    def __init__(self, folder, names="journal"):
        self.layer, self.model = made(folder, names), Model()
        for path in ("a", "d", "d/a"):
            self.make(path, "", 0, 0)
            self.write(path, "", 1, 3 * PAGE_BYTES // 2) if path != "d" else None

    def step(self, what, path, other, number, size):
        with suppress(OSError):  # no such file, a folder that is not empty, …: nothing was changed
            getattr(self, what)(path, other, number, size)
        expected = {path: None if item.folder else item.data for path, item in self.model.now.items()}
        assert seen(self.layer) == expected

    def make(self, path, other, number, size):
        folder = path == "d"
        make(self.layer, path, FOLDER if folder else FILE)
        item = Item(folder)
        self.model.change(lambda names: names.__setitem__(path, item), item, self.model.above(path))

    def write(self, path, other, number, size):
        node, item = self.layer.find(path), self.model.now.get(path)
        data = bytes([number % 255 + 1]) * size
        self.layer.write(node, data, number)
        item.data = item.data.ljust(number, b"\0")[:number] + data + item.data[number + size :]

    def resize(self, path, other, number, size):
        node = self.layer.find(path)
        before = node.size
        self.layer.resize(node, number)
        if before != number:
            self.model.resize(self.model.now[path], number)

    def sync(self, path, other, number, size):
        self.layer.sync(self.layer.find(path))
        self.model.sync(self.model.now[path])

    def remove(self, path, other, number, size):
        self.layer.remove(path)
        item, above = self.model.now[path], self.model.above(path)
        self.model.change(lambda names: names.pop(path), item, above)

    def rename(self, path, other, number, size):
        if other.startswith(f"{path}/"):
            return  # the kernel refuses it
        self.layer.rename(path, other)
        if path != other:
            now = self.model.now
            touched = [
                now[path],
                self.model.above(path),
                self.model.above(other),
                *([now[other]] if other in now else []),
            ]
            self.model.change(moved(path, other), *touched)


# Changes of one file meet each other only if there are few files and few places in them.
PLACES = st.sampled_from((0, 1, 700, PAGE_BYTES - 1, PAGE_BYTES, PAGE_BYTES + 1, 2 * PAGE_BYTES, 3 * PAGE_BYTES))
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("write", "write", "resize", "sync", "sync", "make", "remove", "rename")),
        st.sampled_from(("a", "a", "d/a", "b", "d")),
        st.sampled_from(("a", "d/a", "b", "d")),
        PLACES,
        PLACES.filter(bool),
    ),
    min_size=10,
    max_size=30,
)
MANY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@MANY
@given(STEPS)
def test_at_any_moment_what_is_kept_is_what_a_journal_keeps(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("kept")
    both = Both(folder)
    for step in steps:
        both.step(*step)
        assert kept(folder) == both.model.kept()
    both.layer.cut("nothing", "")
    assert kept(folder) == both.model.kept()
    assert seen(made(folder)) == kept(folder)


@MANY
@given(STEPS, st.sampled_from(("journal", "strict")))
def test_an_orderly_end_keeps_everything(tmp_path_factory, steps, names):
    folder = tmp_path_factory.mktemp("kept")
    both = Both(folder, names)
    for step in steps:
        both.step(*step)
    both.layer.sync_all()
    assert kept(folder) == seen(both.layer)


@MANY
@given(STEPS, st.integers())
def test_a_random_part_has_sectors_that_were_written_or_kept(tmp_path_factory, steps, seed):
    """A file that is kept has its old bytes, the new ones, or zeros where it grew, in whole sectors."""
    folder = tmp_path_factory.mktemp("kept")
    layer = made(folder)
    node = make(layer, "a")
    layer.write(node, b"o" * PAGE_BYTES * 2, 0)
    layer.sync(node)
    for _, _, _, offset, size in steps:
        layer.write(node, b"n" * size, offset)
    new = contents(layer, node)
    layer.cut("random", str(seed))
    data = (folder / "a").read_bytes()
    old = (b"o" * PAGE_BYTES * 2).ljust(len(new), b"\0")
    assert 2 * PAGE_BYTES <= len(data) <= len(new)
    for at in range(0, len(data), SECTOR_BYTES):
        sector = data[at : at + SECTOR_BYTES]
        assert sector in (old[at : at + len(sector)], new[at : at + len(sector)])


def test_the_same_seed_keeps_the_same_part(tmp_path):
    parts = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        layer = made(tmp_path / name)
        node = make(layer, "a")
        layer.sync(node)
        layer.write(node, Random(1).randbytes(50 * PAGE_BYTES), 0)
        make(layer, "b")
        layer.cut("random", "5")
        parts.append(kept(tmp_path / name))
        assert layer.statistics.survived_bytes + layer.statistics.dropped_bytes == 50 * PAGE_BYTES
    assert parts[0] == parts[1]
    assert 0 < len(parts[0]["a"].replace(b"\0", b"")) < 50 * PAGE_BYTES


@pytest.mark.parametrize("block_bytes", [PAGE_BYTES, 2 * PAGE_BYTES, 4 * PAGE_BYTES])
def test_torn_blocks_are_those_that_are_neither_as_they_were_nor_as_they_were_written(tmp_path, block_bytes):
    old, new = (Random(seed).randbytes(64 * PAGE_BYTES) for seed in (1, 2))
    counted = set()
    for seed in range(5):
        folder = tmp_path / str(seed)
        (folder / "d").mkdir(parents=True)
        for name in ("a", "b"):
            (folder / "d" / name).write_bytes(old)
        layer = made(folder)
        layer.write(layer.find("d/a"), new, 0)
        layer.cut("random", str(seed), block_bytes)
        found = (folder / "d" / "a").read_bytes()
        blocks = [slice(at, at + block_bytes) for at in range(0, len(old), block_bytes)]
        torn = sum(found[block] not in (old[block], new[block]) for block in blocks)
        assert layer.torn == ({"d/a": torn} if torn else {})
        counted.add(torn)
    assert counted != {0}


def test_a_cut_that_keeps_nothing_tears_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"o" * 64 * PAGE_BYTES)
    layer = made(tmp_path)
    layer.write(layer.find("a"), b"n" * 64 * PAGE_BYTES, 0)
    layer.cut("nothing", "1", 4 * PAGE_BYTES)
    assert layer.torn == {}


def test_strict_names_are_kept_by_the_sync_of_their_folder_alone(tmp_path):
    layer = made(tmp_path, "strict")
    make(layer, "d", FOLDER)
    file = make(layer, "d/a")
    layer.write(file, b"x", 0)
    layer.sync(file)
    assert kept(tmp_path) == {}
    layer.sync(layer.find("d"))
    assert kept(tmp_path) == {"d": None, "d/a": b"x"}
    layer.rename("d/a", "b")
    layer.sync(file)
    assert kept(tmp_path) == {"d": None, "d/a": b"x"}
    layer.sync(layer.root)
    assert kept(tmp_path) == {"d": None, "b": b"x"}
    make(layer, "d/c")
    layer.sync(layer.find("d"))
    layer.remove("d/c")
    layer.remove("d")
    layer.sync(layer.root)  # a folder that is gone is empty
    assert kept(tmp_path) == {"b": b"x"}


def test_a_lying_disk_keeps_nothing_and_says_how_often_it_lied(tmp_path):
    layer = made(tmp_path, lying=True)
    node = make(layer, "a")
    layer.write(node, b"x", 0)
    layer.sync(node)
    assert kept(tmp_path) == {}
    assert (layer.statistics.syncs, layer.statistics.lied) == (1, 1)
    layer.lying = False
    layer.sync(node)
    assert kept(tmp_path) == {"a": b"x"}


def test_after_a_cut_every_request_fails(tmp_path):
    layer = made(tmp_path)
    node = layer.open(make(layer, "a"))
    layer.cut("nothing", "")
    requests = (
        lambda: layer.find("a"),
        lambda: layer.read(node, 0, 1),
        lambda: layer.write(node, b"x", 0),
        lambda: layer.sync(node),
        lambda: layer.resize(node, 5),
        lambda: make(layer, "b"),
        lambda: layer.rename("a", "b"),
        lambda: layer.remove("a"),
        lambda: layer.set_attributes(node, mode=0o644),
        layer.sync_all,
    )
    for request in requests:
        with pytest.raises(OSError, match="Input/output error"):
            request()
    layer.release(node)
    assert kept(tmp_path) == {}


def test_a_removed_file_in_use_stays_readable_and_leaves_nothing(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    layer = made(tmp_path)
    node = layer.open(layer.find("a"))
    layer.remove("a")
    layer.sync(layer.root)
    assert kept(tmp_path) == {}
    assert contents(layer, node) == b"old"
    before = len(list(OPEN_FILES.iterdir()))
    layer.release(node)
    assert len(list(OPEN_FILES.iterdir())) < before


def test_a_replaced_file_in_use_keeps_its_content_and_its_other_name(tmp_path):
    layer = made(tmp_path)
    old, new = make(layer, "a"), make(layer, "new")
    for node, data in ((old, b"old"), (new, b"new")):
        layer.write(node, data, 0)
        layer.sync(node)
    layer.link("a", "b")
    layer.rename("new", "a")
    layer.sync(new)
    assert kept(tmp_path) == {"a": b"new", "b": b"old"}
    for data in (b"OLD", b"Old"):
        layer.write(old, data, 0)
        layer.sync(old)
        assert kept(tmp_path) == {"a": b"new", "b": data}
    layer.open(old)
    make(layer, "c")
    layer.rename("c", "b")
    layer.sync(old)  # which it changed too: it has a name less
    assert contents(layer, old) == b"Old"
    assert kept(tmp_path) == {"a": b"new", "b": b""}


def test_a_removed_file_is_not_among_what_a_cut_dropped(tmp_path):
    layer = made(tmp_path)
    node = layer.open(make(layer, "a"))
    layer.write(node, b"x", 0)
    layer.remove("a")
    layer.release(node)
    layer.cut("nothing", "")
    assert (layer.statistics.dropped_bytes, layer.statistics.dropped_changes) == (0, 2)


def test_what_was_written_behind_a_cut_off_end_does_not_survive_without_it(tmp_path):
    """The blocks behind the end were freed, and the new ones are not the file's before its new size is kept."""
    for seed in range(20):
        (tmp_path / "a").write_bytes(b"o" * PAGE_BYTES * 2)
        layer = made(tmp_path)
        node = layer.find("a")
        layer.resize(node, 0)
        layer.write(node, b"n" * PAGE_BYTES * 2, 0)
        layer.cut("random", str(seed))
        data = (tmp_path / "a").read_bytes()
        assert data == b"o" * PAGE_BYTES * 2 or b"o" not in data


def test_links_of_both_kinds_are_kept(tmp_path):
    layer = made(tmp_path)
    make(layer, "a")
    layer.link("a", "b")
    link = make(layer, "c", stat.S_IFLNK | 0o777, target="a")
    layer.sync(link)
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert str((tmp_path / "c").readlink()) == "a"
    again = made(tmp_path)
    assert again.find("c").target == "a"


def test_modes_are_kept_at_once(tmp_path):
    layer = made(tmp_path)
    node = make(layer, "a")
    layer.set_attributes(node, mode=0o640)
    layer.sync(node)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    layer.set_attributes(node, mode=0o400)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o400


def test_what_is_missing_for_a_mount_is_told_with_what_to_do(monkeypatch):
    install = install_command("openslob[cut]")
    for name, why in (
        ("core.extras.find_spec", f"needs the Python package mfusepy, which is not installed; {install}"),
        ("durability.cut.storage.find_library", "needs FUSE 3; install the operating system's package fuse3"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr("openslob.core.extras.find_spec", lambda _: True)
            patched.setattr("shutil.which", lambda _: "/usr/bin/fusermount3")
            patched.setattr(f"openslob.{name}", lambda _: None)
            with pytest.raises(SlobError) as refused:
                require_fuse()
            assert str(refused.value) == f"storage that can be cut off {why}"
