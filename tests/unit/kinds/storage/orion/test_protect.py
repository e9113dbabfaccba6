"""What is never written to: every refusal, on kernels made of files, and on this host's own disks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from openslob.core.errors import SlobError, UsageError
from openslob.host.device import parse_mounts
from openslob.kinds.storage.orion import protect
from openslob.kinds.storage.orion.protect import claim_devices, device_contents, in_use, require_harmless
from openslob.kinds.storage.target import TestFile

OURS = TestFile(Path("/nowhere"), "a file of its own", 1024**3, ours=True)
ROOT_MOUNT = "20 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """sda with partitions 1 and 2, of which 2 is mounted; sdb blank; sdc with LVM on its partition."""
    for disk, number, parts in (("sda", "8:0", 2), ("sdb", "8:16", 0), ("sdc", "8:32", 1)):
        folder = tmp_path / "sys/devices" / disk
        (folder / "holders").mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        major, minor = number.split(":")
        for part in range(1, parts + 1):
            inside = folder / f"{disk}{part}"
            (inside / "holders").mkdir(parents=True)
            (inside / "partition").write_text(f"{part}\n")
            (inside / "dev").write_text(f"{major}:{int(minor) + part}\n")
    (tmp_path / "sys/devices/sdc/sdc1/holders/dm-0").mkdir()
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(ROOT_MOUNT)
    (tmp_path / "proc/swaps").write_text("Filename Type Size Used Priority\n")
    return tmp_path


def who(root: Path, number: str, device: str) -> str:
    return in_use(number, root / "sys/devices" / device, root)


def test_a_blank_device_is_used_by_nobody(root):
    assert who(root, "8:16", "sdb") == ""


def test_a_mounted_partition_is_in_use_and_so_is_its_disk_but_not_the_partition_beside_it(root):
    assert who(root, "8:2", "sda/sda2") == "/dev/sda2 is mounted at /"
    assert who(root, "8:0", "sda") == "/dev/sda2 is mounted at /"
    assert who(root, "8:1", "sda/sda1") == ""


def test_a_partition_of_a_disk_that_is_mounted_as_a_whole_is_in_use(root):
    (root / "proc/self/mountinfo").write_text("20 1 8:32 / /data rw - xfs /dev/sdc rw\n")
    assert who(root, "8:33", "sdc/sdc1") == "/dev/sdc is mounted at /data"


def test_a_file_system_with_numbers_of_its_own_is_known_by_its_source(root):
    (root / "proc/self/mountinfo").write_text("20 1 0:40 /sub /data rw - btrfs /dev/sdb rw\n")
    assert who(root, "8:16", "sdb") == "/dev/sdb is mounted at /data"


def test_what_lvm_or_md_is_built_on_is_in_use_and_so_is_its_disk(root):
    reason = "dm-0 (device mapper, LVM or md) is built on sdc1"
    assert who(root, "8:33", "sdc/sdc1") == reason
    assert who(root, "8:32", "sdc") == reason
    (root / "sys/devices/sdc/holders/md0").mkdir()
    assert who(root, "8:33", "sdc/sdc1").startswith(("dm-0", "md0"))


def test_md_on_a_whole_disk_holds_its_partitions(root):
    (root / "sys/devices/sda/holders/md0").mkdir()
    first, *_, last = who(root, "8:1", "sda/sda1").split()
    assert (first, last) == ("md0", "sda")


def test_swap_is_in_use(root):
    (root / "proc/swaps").write_text("Filename Type Size Used Priority\n/dev/sdb partition 1048572 0 -2\n")
    assert who(root, "8:16", "sdb") == "/dev/sdb is swap space"


def test_a_device_that_the_kernel_does_not_show_is_taken_for_used(root):
    assert "not visible" in who(root, "9:9", "missing")


def test_a_file_that_slob_did_not_make_is_never_written_to(tmp_path):
    path = tmp_path / "data.dbf"
    path.write_bytes(b"x" * 8192)
    lun = TestFile(path, str(path), 8192, ours=False)
    with pytest.raises(UsageError, match=r"data\.dbf is a file that"):
        require_harmless([OURS, lun], allowed=True)
    assert path.read_bytes() == b"x" * 8192


def test_without_permission_nothing_is_written_and_what_would_be_is_told():
    with pytest.raises(UsageError, match=rf" {OURS.label} \(1 GB\); --allow-destructive"):
        require_harmless([OURS], allowed=False)
    assert require_harmless([OURS], allowed=True) == f"{OURS.label} (1 GB)"


def _as_device(monkeypatch: pytest.MonkeyPatch, path: Path, number: tuple[int, int]) -> TestFile:
    """``path`` as if it were the block device with this number."""
    facts = os.stat_result((stat.S_IFBLK | 0o660, *[0] * 9), {"st_rdev": os.makedev(*number)})
    true_stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda self, **kw: facts if self == path else true_stat(self, **kw))
    return TestFile(path, str(path), 1024**2, ours=False)


def test_a_device_that_carries_something_is_refused_and_a_blank_one_is_not(root, tmp_path, monkeypatch):
    lun = _as_device(monkeypatch, tmp_path / "disk", (8, 16))
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:16").symlink_to(root / "sys/devices/sdb")
    with pytest.raises(UsageError, match="it contains ext4; if the data are not needed, erase them with `wipefs"):
        require_harmless([lun], allowed=True, root=root, signature=lambda _: "ext4")
    assert require_harmless([lun], allowed=True, root=root, signature=lambda _: "") == f"{lun.label} (1 MB)"


def test_a_device_in_use_is_refused_whatever_it_carries(root, tmp_path, monkeypatch):
    lun = _as_device(monkeypatch, tmp_path / "disk", (8, 2))
    (root / "sys/dev/block").mkdir(parents=True)
    (root / "sys/dev/block/8:2").symlink_to(root / "sys/devices/sda/sda2")
    with pytest.raises(UsageError, match="can't be written to: /dev/sda2 is mounted at /"):
        require_harmless([lun], allowed=True, root=root, signature=lambda _: "")


@pytest.mark.skipif(shutil.which("mkswap", path="/usr/sbin:/sbin:/usr/bin") is None, reason="needs mkswap")
def test_blkid_tells_what_a_device_carries(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(bytes(1024**2))
    assert device_contents(image) == ""
    mkswap = shutil.which("mkswap", path="/usr/sbin:/sbin:/usr/bin")
    subprocess.run([mkswap, image], check=True, capture_output=True)
    assert device_contents(image) == "swap"
    with pytest.raises(SlobError, match="can't be checked"):
        device_contents(tmp_path / "missing")


def test_without_blkid_nothing_is_taken_for_blank(tmp_path, monkeypatch):
    monkeypatch.setattr(protect.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SlobError, match="without blkid; install util-linux"):
        device_contents(tmp_path)


def _mounted_here() -> Path | None:
    """A block device that carries a mounted file system of this host."""
    for mount in parse_mounts(Path("/proc/self/mountinfo").read_text()):
        source = Path(mount.source)
        if mount.source.startswith("/dev/") and source.exists() and stat.S_ISBLK(source.stat().st_mode):
            return source
    return None


@pytest.mark.skipif(_mounted_here() is None, reason="no block device is mounted here")
def test_the_disk_this_host_runs_on_is_refused():
    path = _mounted_here()
    lun = TestFile(path, str(path), 1024**2, ours=False)
    with pytest.raises(UsageError, match=r"can't be written to: .* is mounted at /"):
        require_harmless([lun], allowed=True)
    with pytest.raises(UsageError, match="can't be written to"), claim_devices([lun]):
        pytest.fail("the disk of this host was claimed")
