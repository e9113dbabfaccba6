"""The operating-system samplers against this host: each figure next to one that was got another way."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from openslob.core.measurement import HostDelta
from openslob.core.process_selector import ProcessTree
from openslob.host.device import device_under
from openslob.host.processes import ProcessTreeSampler
from openslob.host.sampler import OsReader, difference

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

MIB = 1 << 20
FILE_MIB = 32
CHUNK = MIB
# The device is everybody's: of several attempts the one in which others read least is looked at.
ATTEMPTS = 12

# A server in small: it starts each child it is told to on a line of its input, and waits for it only on the line after.
SERVER = """
import subprocess, sys
for line in sys.stdin:
    child = subprocess.Popen([sys.executable, "-c", line.strip().replace(";;", chr(10))], stdin=subprocess.DEVNULL)
    print(child.pid, flush=True)
    if sys.stdin.readline().strip() == "wait":
        child.wait()
    print("done", flush=True)
"""
BURN = "import time, sys;;while time.process_time() < {seconds}: pass;;{then}"


class FakeServer:
    """A process with children of its own, as a database server has."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self._process.pid

    def spawn(self, code: str) -> int:
        """Start a child that runs ``code``; returns its number."""
        return int(self._say(code))

    def wait(self) -> None:
        """Let the server wait for its child."""
        assert self._say("wait") == "done"

    def _say(self, line: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        """End it and its children."""
        for child in psutil.Process(self.pid).children(recursive=True):
            child.kill()
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def server():
    fake = FakeServer()
    yield fake
    fake.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def cpu_of(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def measure(server: FakeServer, directory: Path, sampler: list[int], work: Callable[[], None]) -> HostDelta:
    reader = OsReader([ProcessTree(server.pid)], [directory], lambda: sampler)
    try:
        before = reader.read()
        work()
        return difference(before, reader.read())
    finally:
        reader.close()


def test_cpu_of_a_living_child_is_as_psutil_sees_it(server, tmp_path):
    pid = server.spawn(BURN.format(seconds=0.2, then="time.sleep(600)"))
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING and cpu_of(pid) >= 0.15)
    tree = ProcessTreeSampler(server.pid)
    seen = tree.read().server().values["server_cpu_s"]
    samplers = tree.read().samplers([pid]).values["sampler_cpu_s"]
    tree.close()
    assert samplers == pytest.approx(cpu_of(pid), abs=0.021)
    assert seen == pytest.approx(cpu_of(pid) + cpu_of(server.pid), abs=0.041)


def test_cpu_of_a_burning_child_over_an_interval(server, tmp_path):
    pid = server.spawn(BURN.format(seconds=600, then="pass"))
    until(lambda: cpu_of(pid) > 0)
    outside: list[float] = []

    def burn() -> None:
        outside.append(cpu_of(pid))
        until(lambda: cpu_of(pid) - outside[0] > 0.5)
        outside.append(cpu_of(pid))

    before = cpu_of(pid)
    delta = measure(server, tmp_path, [pid], burn)
    most = cpu_of(pid) - before
    expected = outside[1] - outside[0]
    assert expected > 0.5
    # The child burns on while a busy host is slow to take the readings, which lie between the inner and the outer pair.
    for counted in (delta.server_cpu_s, delta.sampler_cpu_s):
        assert counted is not None
        assert expected - 0.04 <= counted <= most + 0.04
    assert delta.server_cores == len(os.sched_getaffinity(server.pid))
    assert delta.cpu is not None
    assert sum(delta.cpu.values()) == pytest.approx(delta.seconds * delta.cores, rel=0.1)
    busy = sum(value for kind, value in delta.cpu.items() if kind not in ("idle", "iowait", "steal"))
    assert busy > 0.8 * expected
    assert delta.server_cpus_busy_s is not None
    assert delta.server_cpus_busy_s > 0.8 * expected


def test_children_that_ended_are_still_counted(server, tmp_path):
    """Each of three is born and gone between the readings; a fourth ends but is not waited for yet."""
    burned: list[float] = []

    def work() -> None:
        for _ in range(3):
            server.spawn(BURN.format(seconds=0.3, then="pass"))
            server.wait()
            burned.append(0.3)
        zombie = server.spawn(BURN.format(seconds=0.3, then="pass"))
        until(lambda: psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE)
        burned.append(0.3)

    delta = measure(server, tmp_path, [], work)
    # Above what they burned in their loops there is what Python needs to start and end, well under 0.2 s each.
    assert delta.server_cpu_s is not None
    assert sum(burned) - 0.1 <= delta.server_cpu_s <= sum(burned) + 4 * 0.2


def test_cpu_moves_to_the_parent_without_a_step(server, tmp_path):
    pid = server.spawn(BURN.format(seconds=0.4, then="pass"))
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    delta = measure(server, tmp_path, [], server.wait)
    assert delta.server_cpu_s is not None
    assert delta.server_cpu_s <= 0.05


READ = (
    "import mmap, os, sys;;fd = os.open({path!r}, os.O_RDONLY | {flag});;area = mmap.mmap(-1, {chunk});;"
    "total = sum(os.preadv(fd, [area], at) for at in range(0, {size}, {chunk}));;sys.exit(total != {size})"
)


@pytest.fixture(scope="module")
def file_on_disk(tmp_path_factory):
    """A file written to the device; skips where there is no block device or no direct I/O."""
    path = tmp_path_factory.mktemp("device") / "data"
    reader = OsReader([], [path.parent], list)
    unknown = reader.read().sources["device"].unknown
    reader.close()
    if unknown:
        pytest.skip(next(iter(unknown.values())))
    with path.open("wb") as file:
        file.write(os.urandom(FILE_MIB * MIB))
        file.flush()
        os.fsync(file.fileno())
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECT)
        os.preadv(handle, [mmap.mmap(-1, 4096)], 0)
        os.close(handle)
    except OSError as error:
        pytest.skip(f"no direct I/O on this file system: {error.strerror}")
    yield path
    path.unlink()


def read_file(server: FakeServer, path: Path, flag: int, wait: bool = True) -> HostDelta:
    code = READ.format(path=str(path), flag=flag, chunk=CHUNK, size=FILE_MIB * MIB)

    def work() -> None:
        pid = server.spawn(code)
        until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
        if wait:
            server.wait()

    delta = measure(server, path.parent, [], work)
    if not wait:
        server.wait()
    return delta


def device_read_bytes(delta: HostDelta) -> float:
    assert delta.device is not None
    return delta.device.read_bytes


def undisturbed(read: Callable[[], HostDelta], at_most: float) -> HostDelta:
    """The device is everybody's, and others only add: the first of some readings below ``at_most``, else the least."""
    deltas: list[HostDelta] = []
    for _ in range(ATTEMPTS):
        deltas.append(read())
        if device_read_bytes(deltas[-1]) <= at_most:
            break
    return min(deltas, key=device_read_bytes)


def others_read(file: Path) -> bool:
    """Whether other programs read from the device of this file right now: then its counters are not ours alone."""
    reader = OsReader([], [file.parent], list)
    before = reader.read()
    time.sleep(0.2)
    delta = difference(before, reader.read())
    reader.close()
    return device_read_bytes(delta) > 0.01 * FILE_MIB * MIB


@pytest.mark.parametrize("wait", [True, False], ids=["child waited for", "child not waited for"])
def test_direct_reads_reach_the_device(server, file_on_disk, wait):
    size = FILE_MIB * MIB
    delta = undisturbed(lambda: read_file(server, file_on_disk, os.O_DIRECT, wait), 1.02 * size)
    if "server_read_bytes" in delta.unknown:
        pytest.skip(delta.unknown["server_read_bytes"])
    assert delta.server_read_bytes == pytest.approx(size, rel=0.02)
    assert delta.device is not None
    assert delta.device.read_bytes >= 0.98 * size
    assert delta.device.read_bytes <= 1.02 * size or others_read(file_on_disk)
    assert delta.device.reads > 0
    assert delta.device.read_ms > 0
    assert Path(f"/sys/class/block/{delta.device.name}").exists()


def test_reads_from_the_page_cache_do_not(server, file_on_disk):
    file_on_disk.read_bytes()
    delta = undisturbed(lambda: read_file(server, file_on_disk, 0), 0.02 * FILE_MIB * MIB)
    if "server_read_bytes" in delta.unknown:
        pytest.skip(delta.unknown["server_read_bytes"])
    assert delta.server_read_bytes < 0.02 * FILE_MIB * MIB
    assert device_read_bytes(delta) < 0.02 * FILE_MIB * MIB or others_read(file_on_disk)
    assert delta.page_cache_bytes_after is not None
    assert delta.page_cache_bytes_after > FILE_MIB * MIB


def test_device_agrees_with_diskstats(file_on_disk):
    reader = OsReader([], [file_on_disk.parent], list)
    folder = device_under(file_on_disk.parent)
    before = psutil.disk_io_counters(perdisk=True)[folder.name]
    ours = reader.read().sources["device"].values
    after = psutil.disk_io_counters(perdisk=True)[folder.name]
    reader.close()
    assert before.read_bytes <= ours["dev_read_bytes"] <= after.read_bytes
    assert before.write_count <= ours["dev_writes"] <= after.write_count
    assert before.busy_time <= ours["dev_busy_ms"] <= after.busy_time


def test_driver_cpu_and_memory_are_this_process_s(tmp_path):
    reader = OsReader([], [], list, "no server here")
    before = reader.read()
    begun = psutil.Process().cpu_times()
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    area = bytearray(64 * MIB)
    delta = difference(before, reader.read())
    ended = psutil.Process().cpu_times()
    reader.close()
    assert len(area) == 64 * MIB
    expected = ended.user + ended.system - begun.user - begun.system
    assert delta.driver_cpu_s == pytest.approx(expected, abs=0.05)
    assert delta.driver_peak_rss_bytes is not None
    assert delta.driver_peak_rss_bytes >= psutil.Process().memory_info().rss * 0.9
    assert delta.unknown["server_cpu_s"] == delta.unknown["device"] == "no server here"


def test_all_of_300_processes_are_counted():
    forks = "import os, signal\nfor _ in range(300):\n    if os.fork() == 0: signal.pause()\n"
    parent = subprocess.Popen(
        [sys.executable, "-c", forks + "print(1, flush=True)\nsignal.pause()"], stdout=subprocess.PIPE
    )
    assert parent.stdout
    parent.stdout.readline()
    tree = ProcessTreeSampler(parent.pid)
    count = 1 + len(tree.read().workers)
    tree.close()
    for child in psutil.Process(parent.pid).children():
        child.kill()
    parent.kill()
    parent.communicate()
    assert count == 301


def test_close_releases_every_handle(tmp_path):
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    reader = OsReader([ProcessTree(os.getpid())], [tmp_path], list)
    reader.read()
    assert len(os.listdir("/proc/self/fd")) > before  # noqa: PTH208
    reader.close()
    reader.close()
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
