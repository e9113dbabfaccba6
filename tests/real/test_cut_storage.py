"""A mount of the storage that loses what was not synced: what programs see of it, and that nothing of it stays."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from factories.running import eventually
from openslob.core.errors import SlobError
from openslob.durability.cut import CutStorage, require_fuse

NOBODY = 65534


@pytest.fixture(autouse=True, scope="module")
def fuse():
    try:
        require_fuse()
    except SlobError as error:
        pytest.skip(str(error))


@pytest.fixture
def places(tmp_path):
    return tmp_path / "backing", tmp_path / "mount point"


def written(path, data, flags=0, sync=False, at=0):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o600)
    os.pwrite(descriptor, data, at)
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)


def mounted(place):
    return os.path.ismount(place)


def test_a_cut_loses_what_was_not_synced_and_nothing_else(places):
    backing, mount = places
    with CutStorage(*places) as storage:
        written(mount / "synced", b"kept", sync=True)
        written(mount / "synced", b"LOST", at=2)
        written(mount / "flagged", b"kept", os.O_DSYNC)
        (mount / "folder").mkdir()
        (mount / "synced").rename(mount / "folder" / "renamed")
        folder = os.open(mount / "folder", os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        (mount / "lost").write_bytes(b"lost" * 5000)
        assert (mount / "folder" / "renamed").read_bytes() == b"keLOST"
        storage.cut()
        with pytest.raises(OSError, match="Input/output error"):
            (mount / "new").write_bytes(b"x")
        storage.restore()
        seen = {path.name: path.read_bytes() for path in mount.rglob("*") if path.is_file()}
        assert seen == {"renamed": b"kept", "flagged": b"kept"}
        statistics = storage.statistics()
        assert (statistics.written_bytes, statistics.dropped_bytes) == (20012, 20004 + 2)
        assert statistics.syncs >= 3  # newer kernels ask for the one of O_DSYNC by themselves too
        (mount / "last").write_bytes(b"by an orderly end")
    assert not mounted(mount)
    assert (backing / "last").read_bytes() == b"by an orderly end"


def test_files_behave_as_on_other_file_systems(places):
    _, mount = places
    with CutStorage(*places) as storage:
        written(mount / "a", bytes(range(256)) * 100)
        os.truncate(mount / "a", 5000)
        (mount / "link").symlink_to("a")
        (mount / "hard").hardlink_to(mount / "a")
        assert (mount / "link").read_bytes() == (bytes(range(256)) * 100)[:5000]
        assert (mount / "a").stat().st_nlink == 2
        descriptor = os.open(mount / "a", os.O_RDWR | os.O_TRUNC)
        os.posix_fallocate(descriptor, 0, 9000)
        os.ftruncate(descriptor, 8000)
        os.fchmod(descriptor, 0o640)
        assert os.fstat(descriptor).st_mode & 0o777 == 0o640
        (mount / "a").unlink()
        (mount / "hard").unlink()
        os.pwrite(descriptor, b"still there", 7000)
        os.fsync(descriptor)
        assert os.pread(descriptor, 2000, 7000) == b"still there".ljust(1000, b"\0")
        assert os.lseek(descriptor, 0, os.SEEK_END) == 8000
        os.close(descriptor)
        assert storage.statistics().dropped_bytes == 0


def test_a_file_that_is_open_does_not_keep_it_from_ending(places):
    backing, mount = places
    with CutStorage(*places):
        user = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
        os.write(user, b"x")
    assert not mounted(mount)
    assert (backing / "f").read_bytes() == b"x"
    with pytest.raises(OSError, match="not connected"):
        os.write(user, b"y")
    with suppress(OSError):  # close() fails too, and releases it
        os.close(user)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_has_files_of_its_own(places):
    backing, mount = places
    with CutStorage(*places):
        mount.chmod(0o777)
        written(mount / "secret", b"root's")
        # The shell enters the folder as root, whose own folders above it are closed to others.
        shell = {"cwd": mount, "user": NOBODY, "group": NOBODY, "extra_groups": [], "stderr": subprocess.DEVNULL}
        subprocess.run(["sh", "-c", "mkdir d && echo x > d/f && sync d/f"], check=True, **shell)
        assert subprocess.run(["cat", "secret"], check=False, **shell).returncode == 1
        assert (backing / "d" / "f").stat().st_uid == NOBODY


def test_a_file_that_is_open_keeps_it_from_being_switched_on_again(places, monkeypatch):
    monkeypatch.setattr("openslob.durability.cut.storage.UNMOUNT_S", 0)
    _, mount = places
    with CutStorage(*places) as storage:
        (mount / "f").write_bytes(b"x")
        with (mount / "f").open("rb"):
            storage.cut()
            with pytest.raises(SlobError, match="end the processes that use it first"):
                storage.restore()
        storage.restore()
        assert list(mount.iterdir()) == []


def test_nothing_stays_when_the_process_that_mounted_it_is_killed(places):
    backing, mount = places
    script = f"""
import sys, time
from pathlib import Path
from openslob.durability.cut import CutStorage
with CutStorage(Path({str(backing)!r}), Path({str(mount)!r})) as storage:
    print(storage.pid, flush=True)
    time.sleep(1000)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as driver:
        server = int(driver.stdout.readline())
        assert mounted(mount)
        driver.kill()
    assert eventually(lambda: not mounted(mount) and not Path(f"/proc/{server}").exists())


def test_a_mount_whose_process_was_killed_is_told_and_removed(places):
    _, mount = places
    storage = CutStorage(*places)
    with storage:
        os.kill(storage.pid, signal.SIGKILL)
        with pytest.raises(SlobError, match="the storage that can be cut off failed"):
            storage.cut()
    assert not mounted(mount)
    with storage:  # what was left is no obstacle
        assert list(mount.iterdir()) == []


def test_folders_that_can_not_be_used_are_refused(places, tmp_path):
    backing, _ = places
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "file").touch()
    for folders, why in (
        ((backing, tmp_path / "full"), "is not empty"),
        ((backing, backing / "below"), "one is inside the other"),
        ((backing, tmp_path / "file"), "can't be made"),
    ):
        with pytest.raises(SlobError, match=why):
            CutStorage(*folders).__enter__()
