"""Limits of control groups and the pressure on them, from trees of both versions of the kernel's interface."""

from __future__ import annotations

from pathlib import Path

import pytest

from factories.tables import table
from openslob.host.limits import (
    CGROUP,
    GROUP_NAMES,
    PRESSURE,
    PRESSURE_NAMES,
    Pressure,
    ServerGroup,
    group_folders,
    parse_hierarchies,
    parse_limits,
    parse_pressure,
)

PSI = "some avg10=0.35 avg60=0.48 avg300=1.72 total=2500000\nfull avg10=0.34 avg60=0.45 avg300=0.52 total=1000000\n"
V2_MOUNT = "25 20 0:22 {root} {sys} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNT = "3{n} 20 0:3{n} {root} {sys}/{names} rw - cgroup cgroup rw,{names}\n"
V2_STAT = "usage_usec 9\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {us}\n"
V1_BLKIO = V1_MOUNT.format(n=1, root="/docker/ab", sys="/s", names="blkio")
V1_CPU = V1_MOUNT.format(n=1, root="/", sys="/s", names="cpu")
V1_STAT = "nr_periods 100\nnr_throttled 41\nthrottled_time 3500000000\nnr_bursts 0\n"
NO_LIMIT_V1 = "9223372036854771712\n"


def written(folder: Path, **files: str) -> Path:
    """Write files whose names have ``__`` for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def proc_of(tmp_path: Path, groups: str, mounts: str) -> Path:
    written(tmp_path / "proc/self", mountinfo=mounts)
    written(tmp_path / "proc/7", cgroup=groups)
    written(tmp_path / "proc/pressure", cpu=PSI, io=PSI.replace("2500000", "9000000"), memory=PSI)
    return tmp_path / "proc"


def read(proc: Path, device: str | None = "254:0"):
    group = ServerGroup(7, device, "the data are on several devices", proc)
    try:
        return group.read()
    finally:
        group.close()
        group.close()


@pytest.fixture
def version2(tmp_path):
    """A container's group, whose pod above it has the tighter CPU quota and I/O limit."""
    top = written(tmp_path / "sys", cpu__stat="usage_usec 1\n")
    written(
        top / "pod", cpu__max="150000 100000\n", cpu__stat=V2_STAT.format(periods=10, throttled=4, us=250000),
        io__max="8:0 rbps=1 wbps=1 riops=1 wiops=1\n254:0 rbps=max wbps=1048576 riops=50 wiops=max\n",
        memory__max="max\n", memory__current="7000\n", memory__events="oom 9\noom_kill 9\n",
    )  # fmt: skip
    written(
        top / "pod/c 1", cpu__max="200000 100000\n", cpu__stat=V2_STAT.format(periods=20, throttled=1, us=500000),
        io__max="254:0 rbps=max wbps=max riops=100 wiops=200\n", memory__max="4096\n", memory__current="3000\n",
        memory__events="oom 0\noom_kill 2\n", cpu__pressure=PSI, io__pressure=PSI, memory__pressure=PSI,
    )  # fmt: skip
    return proc_of(tmp_path, "0::/pod/c 1\n", V2_MOUNT.format(root="/", sys=top))


def test_version_2_has_the_tightest_limit_on_the_way_up(version2):
    found = read(version2)
    assert dict(found[CGROUP].values) == {
        "cpu_quota": 1.5, "cpu_throttled_s": 0.75, "cpu_periods": 30, "cpu_periods_throttled": 5,
        "read_limit": 50, "write_limit": 200, "write_bytes_limit": 1048576,
        "memory_limit_bytes": 4096, "memory_bytes": 3000, "oom_kills": 2,
    }  # fmt: skip
    assert found[CGROUP].unknown == {"read_bytes_limit": "there is no such limit"}
    assert found[CGROUP].epoch == "control group /pod/c 1"
    assert found[PRESSURE].values["io_s"] == 2.5  # the group's own, not the host's 9
    assert "pod/c 1" in found[PRESSURE].epoch


def test_version_1_applies_limits_on_io_to_their_own_group_only(tmp_path):
    sys = tmp_path / "sys"
    cpu = written(sys / "cpu,cpuacct", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n", cpu__stat=V1_STAT)
    written(cpu / "db", cpu__cfs_quota_us="200000\n", cpu__cfs_period_us="100000\n", cpu__stat=V1_STAT)
    blkio = written(sys / "blkio", **{"blkio.throttle.read_iops_device": "254:0 7\n"})
    written(
        blkio / "db",
        **{"blkio.throttle.read_iops_device": "8:0 1\n254:0 120\n", "blkio.throttle.write_bps_device": "254:0 5000\n"},
    )
    memory = written(sys / "memory", memory__limit_in_bytes=NO_LIMIT_V1, memory__usage_in_bytes="99\n")
    written(memory / "a/db", memory__limit_in_bytes=NO_LIMIT_V1, memory__usage_in_bytes="50\n",
            memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")  # fmt: skip
    written(memory / "a", memory__limit_in_bytes="80\n", memory__usage_in_bytes="60\n")
    mounts = "".join(
        V1_MOUNT.format(n=n, root="/", sys=sys, names=names)
        for n, names in enumerate(("cpu,cpuacct", "blkio", "memory"))
    )
    proc = proc_of(tmp_path, "3:cpu,cpuacct:/db\n2:blkio:/db\n1:memory:/a/db\n4:name=systemd:/x\n", mounts)
    values = dict(read(proc)[CGROUP].values)
    assert (values["cpu_quota"], values["cpu_throttled_s"], values["cpu_periods_throttled"]) == (2.0, 7.0, 82)
    assert (values["read_limit"], values["write_bytes_limit"]) == (120, 5000)
    assert (values["memory_limit_bytes"], values["memory_bytes"], values["oom_kills"]) == (80, 60, 3)
    assert "write_limit" not in values


def test_a_process_that_changes_its_group_is_followed(version2, tmp_path):
    group = ServerGroup(7, None, "the data are on several devices", version2)
    assert group.read()[CGROUP].values["cpu_quota"] == 1.5
    written(tmp_path / "sys/free", cpu__stat="usage_usec 1\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n")
    written(version2 / "7", cgroup="0::/free\n")
    sample = group.read()[CGROUP]
    assert (sample.epoch, dict(sample.values)) == (
        "control group /free",
        {"cpu_throttled_s": 0, "cpu_periods": 0, "cpu_periods_throttled": 0},
    )
    assert sample.unknown["read_limit"] == "the data are on several devices"
    assert sample.unknown["oom_kills"] == "the kernel does not report it"
    group.close()


@table(
    ("groups", "mounts", "folders"),
    [
        # Docker shows a container its own group as the mount's root.
        ("2:blkio:/docker/ab\n", V1_BLKIO, {"blkio": "/s/blkio"}),
        ("2:blkio:/docker/ab/x\n", V1_BLKIO,
         {"blkio": "/s/blkio/x"}),
        ("2:blkio:/docker/abc\n", V1_BLKIO, {}),
        ("0::/../other\n", V2_MOUNT.format(root="/", sys="/s"), {}),
        ("1:cpu:/a\n0::/u\n", V1_CPU + V2_MOUNT.format(root="/", sys="/u"), {"cpu": "/s/cpu/a", "": "/u/u"}),
        ("0::/\n", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n", {}),
    ],
)  # fmt: skip
def test_where_groups_are(groups, mounts, folders):
    assert group_folders(groups, parse_hierarchies(mounts)) == {name: Path(path) for name, path in folders.items()}


def test_a_group_that_can_not_be_seen_is_unknown_and_the_pressure_is_the_host_s(tmp_path):
    found = read(proc_of(tmp_path, "0::/../other\n", V2_MOUNT.format(root="/", sys=tmp_path)))
    assert found[CGROUP].values == {}
    assert dict(found[CGROUP].unknown) == dict.fromkeys(
        GROUP_NAMES, "the server's control group can't be seen from here"
    )
    assert found[PRESSURE].values["io_s"] == 9.0
    assert found[PRESSURE].epoch == "pressure on the host"


def test_limits_without_a_number_are_none():
    assert parse_limits("254:0 rbps=max wbps=2 riops=max wiops=max\n", "254:0") == {"write_bytes_limit": 2}
    assert parse_limits("8:0 rbps=1\n", "254:0") == {}


def test_pressure_is_in_seconds_and_unknown_where_the_kernel_has_none(tmp_path):
    assert parse_pressure(PSI, "io") == {"io_s": 2.5, "io_full_s": 1.0}
    assert parse_pressure(PSI, "cpu") == {"cpu_s": 2.5}  # no task at all can wait for CPU
    sample = Pressure(None, tmp_path).read()[PRESSURE]
    assert set(sample.unknown) == set(PRESSURE_NAMES)
    assert "(PSI)" in sample.unknown["io_s"]
