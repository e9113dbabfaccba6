"""Host CPU and memory from texts of different kernels, and the driver's own figures."""

from __future__ import annotations

import pytest

from factories.tables import table
from openslob.host.counters import CPU_NAMES, TICKS_PER_S, LinuxHost, PortableHost, open_host, parse_cpu, parse_memory
from openslob.host.sampler import peak_rss_bytes

# Linux 5.x on a virtual machine: guest times follow, and are part of user.
NEW = """cpu  1000 20 300 40000 50 6 7 8 900 10
cpu0 500 10 150 20000 25 3 3 4 450 5
cpu1 500 10 150 20000 25 3 4 4 450 5
intr 12345 0 9 0 0 0
ctxt 99
btime 1700000000
"""
# Linux 2.6.9: no steal, no guest.
OLD = "cpu  100 0 30 4000 5 0 1\ncpu0 100 0 30 4000 5 0 1\nintr 5 1\n"


def busy_of_all(sample):
    return sum(sample.values[name] for name in CPU_NAMES if name not in ("cpu_idle_s", "cpu_iowait_s"))


def test_kinds_are_seconds_and_guest_is_not_counted_twice():
    sample = parse_cpu(NEW)
    assert sample.values["cpu_user_s"] == 1000 / TICKS_PER_S
    assert sample.values["cpu_steal_s"] == 8 / TICKS_PER_S
    assert sample.values["cores"] == 2
    assert sample.values["cpu0_busy_s"] + sample.values["cpu1_busy_s"] == pytest.approx(busy_of_all(sample))
    total = sum(value for name, value in sample.values.items() if name.startswith("cpu_"))
    assert total == pytest.approx(41391 / TICKS_PER_S)


def test_kernel_without_steal_has_no_steal_rather_than_none_of_it():
    sample = parse_cpu(OLD)
    assert "cpu_steal_s" not in sample.values
    assert sample.values["cpu_softirq_s"] == 1 / TICKS_PER_S


@table("text", ["", "intr 5 1\n", "cpu  1 2 3 4\n"])
def test_text_without_cpus_is_unknown(text):
    sample = parse_cpu(text)
    assert not sample.values
    assert set(sample.unknown) == {*CPU_NAMES, "cores"}


def test_memory_in_bytes_and_old_kernel_without_available():
    new = parse_memory("MemTotal: 100 kB\nMemAvailable:   60 kB\nCached:  30 kB\nSwapCached: 7 kB\n")
    assert new.values == {"page_cache_bytes": 30 * 1024, "memory_available_bytes": 60 * 1024}
    old = parse_memory("MemTotal: 100 kB\nCached:  30 kB\n")
    assert old.values == {"page_cache_bytes": 30 * 1024}
    assert "MemAvailable" in old.unknown["memory_available_bytes"]


def test_kept_files_show_what_is_there_now(tmp_path):
    (tmp_path / "stat").write_text(OLD)
    (tmp_path / "meminfo").write_text("Cached: 1 kB\n")
    host = open_host(tmp_path)
    assert isinstance(host, LinuxHost)
    before = host.cpu().values["cpu_user_s"]
    (tmp_path / "stat").write_text(OLD.replace("cpu  100", "cpu  250"))
    assert host.cpu().values["cpu_user_s"] - before == 150 / TICKS_PER_S
    host.close()
    host.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        host.cpu()


def test_without_proc_psutil_tells_what_it_can(tmp_path):
    host = open_host(tmp_path)
    assert isinstance(host, PortableHost)
    assert host.cpu().values["cpu_user_s"] > 0
    assert host.cpu().values["cores"] >= 1
    assert host.memory().values["memory_available_bytes"] > 0
    assert "page_cache_bytes" in host.memory().unknown


def test_peak_rss_prefers_the_process_s_own_high_water_mark(tmp_path):
    (tmp_path / "self").mkdir()
    (tmp_path / "self/status").write_text("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  321 kB\nVmRSS:\t 100 kB\n")
    assert peak_rss_bytes(tmp_path) == 321 * 1024
    assert peak_rss_bytes(tmp_path / "nothing") > 1_000_000
