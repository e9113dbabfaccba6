"""Which block device is under a directory, and its counters, from texts of different kernels."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from factories.tables import table
from openslob.core.host import FigureUnknownError
from openslob.host.device import (
    DEVICE_NAMES,
    BlockDevice,
    MountInfo,
    device_folder,
    device_under,
    mount_of,
    parse_device,
    parse_mounts,
    whole_disk,
)

ELEVEN = "  100   7   1600   50   20   3   320   40   0   60   90\n"  # up to 4.17
FIFTEEN = ELEVEN.rstrip() + "  1 2 3 4\n"  # 4.18: discards
SEVENTEEN = FIFTEEN.rstrip() + "  5 6\n"  # 5.5: flushes
FOUR = "100 1600 20 320\n"  # partitions before 2.6.25

MOUNTINFO = """\
20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
21 20 0:19 / /proc rw - proc proc rw
30 20 8:17 / /data rw,noatime shared:2 master:3 - xfs /dev/sdb1 rw,attr2,noquota
31 30 0:44 /sub /data/big\\040disk rw,relatime - btrfs /dev/sdc rw,subvol=/sub
32 20 0:50 / /over rw - overlay overlay rw,lowerdir=/a,upperdir=/b
33 30 253:2 / /data rw,nodev - ext4 /dev/mapper/vg-lv rw
"""


@table(("text", "flushes"), [(ELEVEN, {}), (FIFTEEN, {}), (SEVENTEEN, {"dev_flushes": 5})])
def test_every_kernel_s_form(text, flushes):
    sample = parse_device(text, "sda")
    assert sample.epoch == "block device sda"
    assert dict(sample.values) == {
        "dev_reads": 100, "dev_read_bytes": 1600 * 512, "dev_read_ms": 50,
        "dev_writes": 20, "dev_write_bytes": 320 * 512, "dev_write_ms": 40, "dev_busy_ms": 60,
        **flushes,
    }  # fmt: skip


@table(("text", "reason"), [(FOUR, "form"), ("", "form"), ("0 " * 17, "keeps no statistics")])
def test_what_does_not_count_is_unknown_not_zero(text, reason):
    sample = parse_device(text, "nvme0n1")
    assert not sample.values
    assert set(sample.unknown) == set(DEVICE_NAMES)
    assert reason in sample.unknown["dev_reads"]


def test_mounts_optional_fields_blanks_and_options():
    mounts = parse_mounts(MOUNTINFO)
    assert [mount.file_system for mount in mounts] == ["ext4", "proc", "xfs", "btrfs", "overlay", "ext4"]
    assert mounts[3].point == Path("/data/big disk")
    assert mounts[2].options == "rw,noatime,attr2,noquota"


def test_the_deepest_mount_holds_and_of_two_the_last():
    mounts = parse_mounts(MOUNTINFO)
    for directory, source in (
        ("/srv/pg", "/dev/sda1"),
        ("/data/pg", "/dev/mapper/vg-lv"),
        ("/data/big disk/pg", "/dev/sdc"),
        ("/database", "/dev/sda1"),
    ):
        mount = mount_of(Path(directory), mounts)
        assert mount is not None
        assert mount.source == source
    assert mount_of(Path("/x"), []) is None


@pytest.fixture
def sys_folder(tmp_path):
    """A /sys with a disk sdb, its partition sdb1 and a disk sdc."""
    disk = tmp_path / "devices/pci/block/sdb"
    for folder in (disk / "sdb1", disk / "queue", tmp_path / "devices/pci/block/sdc"):
        folder.mkdir(parents=True)
        (folder / "stat").write_text(ELEVEN)
    (disk / "stat").write_text(ELEVEN.replace("100", "900"))
    (disk / "sdb1/partition").write_text("1\n")
    (disk / "queue/iostats").write_text("1\n")
    for link, target in (("dev/block/8:17", disk / "sdb1"), ("class/block/sdc", tmp_path / "devices/pci/block/sdc")):
        (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / link).symlink_to(target)
    return tmp_path


def test_by_number_the_partition_s_own(sys_folder):
    folder = device_folder(os.makedev(8, 17), None, sys_folder)
    assert folder.name == "sdb1"
    assert whole_disk(folder).name == "sdb"
    assert whole_disk(whole_disk(folder)).name == "sdb"


def test_the_counters_of_a_partition_are_not_those_of_its_disk(sys_folder):
    folder = device_folder(os.makedev(8, 17), None, sys_folder)
    reads = {}
    for each in (folder, whole_disk(folder)):
        device = BlockDevice(each)
        reads[device.name] = device.read().values["dev_reads"]
        device.close()
    assert reads == {"sdb1": 100, "sdb": 900}


def test_btrfs_by_the_device_its_mount_names(sys_folder):
    mount = MountInfo(Path("/data"), "btrfs", "rw", "/dev/sdc")
    assert device_folder(os.makedev(0, 44), mount, sys_folder).name == "sdc"
    members = sys_folder / "fs/btrfs/uuid/devices"
    for name in ("sdc", "sdd"):
        (members / name).mkdir(parents=True)
    with pytest.raises(FigureUnknownError, match="spread over 2"):
        device_folder(os.makedev(0, 44), mount, sys_folder)


@pytest.mark.parametrize(
    ("device", "mount", "reason"),
    [
        (os.makedev(8, 99), None, "8:99 is not visible"),
        (
            os.makedev(0, 50),
            MountInfo(Path("/"), "overlay", "rw", "overlay"),
            r"\(overlay\) without a block device",
        ),
        (os.makedev(0, 51), MountInfo(Path("/"), "nfs4", "rw", "server:/export"), r"\(nfs4\) without"),
        (os.makedev(0, 52), MountInfo(Path("/"), "zfs", "rw", "tank/data"), r"\(zfs\) without"),
        (os.makedev(0, 53), MountInfo(Path("/"), "btrfs", "rw", "/dev/gone"), "/dev/gone is not visible"),
        (os.makedev(0, 54), None, r"\(unknown\)"),
    ],
)
def test_no_device_has_a_reason(sys_folder, device, mount, reason):
    with pytest.raises(FigureUnknownError, match=reason):
        device_folder(device, mount, sys_folder)


def test_directory_that_is_not_there(tmp_path):
    with pytest.raises(FigureUnknownError, match="No such file"):
        device_under(tmp_path / "nothing")


def test_statistics_switched_off_on_the_disk(sys_folder):
    folder = device_folder(os.makedev(8, 17), None, sys_folder)
    BlockDevice(folder).close()
    (whole_disk(folder) / "queue/iostats").write_text("0\n")
    with pytest.raises(FigureUnknownError, match="statistics are off"):
        BlockDevice(folder)


def test_device_without_a_stat_file(sys_folder):
    (sys_folder / "devices/pci/block/sdc/stat").unlink()
    with pytest.raises(FigureUnknownError, match="sdc has no statistics"):
        BlockDevice(sys_folder / "devices/pci/block/sdc")


def test_kept_open_shows_what_is_there_now(sys_folder):
    folder = device_folder(os.makedev(8, 17), None, sys_folder)
    device = BlockDevice(folder)
    before = device.read().values["dev_reads"]
    (folder / "stat").write_text(ELEVEN.replace("100", "160"))
    assert device.read().values["dev_reads"] - before == 60
    device.close()
    device.close()
    assert "is gone" in device.read().unknown["dev_reads"]
