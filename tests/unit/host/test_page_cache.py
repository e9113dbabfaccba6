"""The memory that can hold the files of a process: the host's, or the least limit of its control groups."""

import psutil

from openslob.host.counters import page_cache_limit


def test_the_least_limit_of_the_control_groups_counts(tmp_path):
    group = tmp_path / "sys/fs/cgroup/system.slice/db.service"
    group.mkdir(parents=True)
    process = tmp_path / "proc/7"
    process.mkdir(parents=True)
    (process / "cgroup").write_text("0::/system.slice/db.service\n")
    (group / "memory.max").write_text("max\n")
    assert page_cache_limit(7, tmp_path) == psutil.virtual_memory().total
    (group.parent / "memory.max").write_text("4096\n")
    assert page_cache_limit(7, tmp_path) == 4096
    assert page_cache_limit(8, tmp_path) == page_cache_limit(None, tmp_path) == psutil.virtual_memory().total
