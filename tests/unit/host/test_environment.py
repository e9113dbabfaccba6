"""The record's environment, from an emulated root folder and from this host."""

from __future__ import annotations

import json
import os

from openslob.host.environment import environment
from openslob.host.this_host import ThisHost


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def emulated(root, data):
    """A virtual machine with the data on a partition of an NVMe disk, whatever this host has under ``data``."""
    number = data.stat().st_dev
    disk = root / "sys/devices/pci/nvme0/block/nvme0n1"
    write(
        root,
        {
            "etc/os-release": 'NAME="X"\nPRETTY_NAME="Example Linux 9"\n',
            "proc/cpuinfo": "processor : 0\nmodel name : CPU of 3 GHz: fast\nflags : fpu hypervisor\n\n"
            "processor : 1\nmodel name : other\nflags : fpu\n",
            "proc/meminfo": "MemTotal: 9 kB\nHugePages_Total: 12\nHugePages_Free: 3\nHugepagesize: 2048 kB\n",
            "proc/1/cgroup": "0::/kubepods/pod1\n",
            "proc/self/mountinfo": f"20 1 259:1 / / rw - xfs /dev/root rw\n"
            f"21 20 259:2 / {data} rw,noatime - ext4 /dev/nvme0n1p1 rw,data=ordered\n",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "sys/class/dmi/id/sys_vendor": "Example Corp\n",
            "sys/class/dmi/id/product_name": "Machine\n",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock\n",
        },
    )
    queue = {"rotational": "0\n", "scheduler": "[none] mq-deadline\n", "nr_requests": "1023\n", "write_cache": "x\n"}
    write(disk, {f"queue/{name}": text for name, text in queue.items()})
    write(disk, {"device/model": "Fast 9000   \n", "nvme0n1p1/partition": "1\n", "nvme0n1p1/size": "2048\n"})
    link = root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    link.parent.mkdir(parents=True)
    link.symlink_to(disk / "nvme0n1p1")
    return os.major(number) != 0


def test_emulated_host(tmp_path):
    root, data = tmp_path / "root", tmp_path / "data"
    data.mkdir()
    has_device = emulated(root, data)
    facts = environment(data, ThisHost(root))
    assert facts["os"] == "Example Linux 9"
    assert facts["cpu"]["model"] == "CPU of 3 GHz: fast"
    assert facts["cpu"]["governor"] is None
    assert "cpu.governor" in facts["unknown"]
    assert facts["memory"]["huge_pages"] == 12
    assert facts["memory"]["huge_page_bytes"] == 2048 * 1024
    assert facts["memory"]["transparent_huge_pages"] == "madvise"
    assert facts["virtualization"] == {"guest": True, "platform": "Example Corp Machine", "container": "kubepods"}
    assert facts["clock_source"] == "kvm-clock"
    assert facts["data"]["file_system"] == "ext4"
    assert facts["data"]["mount_options"] == "rw,noatime,data=ordered"
    device = facts["data"]["device"]
    if has_device:
        assert (device["name"], device["disk"], device["model"]) == ("nvme0n1p1", "nvme0n1", "Fast 9000")
        assert (device["rotational"], device["scheduler"], device["queue_depth"]) == (False, "none", 1023)
        assert device["bytes"] == 2048 * 512
        assert device["logical_block_bytes"] is None
        assert "data.device.logical_block_bytes" in facts["unknown"]


def test_nothing_told_is_none_with_a_reason(tmp_path):
    root, data = tmp_path / "root", tmp_path / "data"
    data.mkdir()
    root.mkdir()
    facts = environment(data, ThisHost(root))
    assert facts["clock_source"] is None
    assert facts["virtualization"]["guest"] is None
    assert facts["data"]["device"] is None
    assert "why_no_device" not in facts["data"]
    assert {"clock_source", "virtualization.guest", "data.device", "data.file_system"} <= set(facts["unknown"])
    assert "block device" in facts["unknown"]["data.device"]


def test_data_elsewhere():
    facts = environment(None)
    assert facts["data"] is None
    assert "not known" in facts["unknown"]["data"]


def test_this_host_is_plain_and_every_none_has_a_reason(tmp_path):
    facts = environment(tmp_path)
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpu"]["online"] >= 1
    assert facts["memory"]["total_bytes"] > 1 << 20

    def nones(part, prefix=""):
        for name, value in part.items():
            if isinstance(value, dict):
                yield from nones(value, f"{prefix}{name}.")
            elif value is None:
                yield prefix + name

    assert set(nones(facts)) == set(facts["unknown"])
