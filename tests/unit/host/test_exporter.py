"""A host behind a node_exporter: here a page that a server of this test prints."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.host import FigureUnknownError
from openslob.engines.peer_process import locate_elsewhere
from openslob.host import exporter
from openslob.host.environment import environment
from openslob.host.exporter import NO_PROCESSES, ExporterHost, Page, parse_address
from openslob.host.remote import find_host
from openslob.host.sampler import OsReader, difference

COLLECTORS = ("cpu", "diskstats", "meminfo", "time", "filesystem", "uname")
DISK = ("reads_completed", "reads_merged", "read_bytes", "read_time_seconds", "writes_completed", "writes_merged",
        "written_bytes", "write_time_seconds")  # fmt: skip
FACTS = """
# HELP node_uname_info Labeled system information.
node_uname_info{machine="riscv64",nodename="db1",release="6.1.0",sysname="Linux"} 1
node_os_info{pretty_name="Some Linux 12"} 1
node_disk_info{device="sda",major="8",minor="0",model="Fast one"} 1
node_disk_device_mapper_info{device="dm-3",name="vg-data"} 1
node_filesystem_readonly{device="/dev/sda1",fstype="ext4",mountpoint="/"} 0
node_filesystem_readonly{device="/dev/mapper/vg-data",fstype="xfs",mountpoint="/data"} 0
node_filesystem_readonly{device="/dev/nvme0n1p2",fstype="xfs",mountpoint="/my data"} 0
node_filesystem_readonly{device="/dev/sdb",fstype="btrfs",mountpoint="/many"} 0
node_filesystem_readonly{device="nfs:/x",fstype="nfs4",mountpoint="/far"} 1
node_memory_MemTotal_bytes 4.096e+09
"""


def page(step=0, at_s=None, collectors=COLLECTORS, own=True):
    """A page in the exporter's format; counters grow with ``step``."""
    lines = [f'node_scrape_collector_success{{collector="{name}"}} 1' for name in collectors]
    for cpu in ("0", "1"):
        for number, mode in enumerate(("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")):
            lines.append(f'node_cpu_seconds_total{{cpu="{cpu}",mode="{mode}"}} {100 + number + step}.5')
        lines.append(f'node_cpu_guest_seconds_total{{cpu="{cpu}",mode="user"}} 7')
    for device, factor in (("sda", 1), ("dm-3", 2), ("nvme0n1", 3)):
        for number, name in enumerate(DISK):
            value = (number + 1) * 512 * factor * (step + 1)
            lines.append(f'node_disk_{name}_total{{device="{device}"}} {value}')
        lines.append(f'node_disk_io_now{{device="{device}"}} 0')
        lines.append(f'node_disk_io_time_seconds_total{{device="{device}"}} {step}.25')
        lines.append(f'node_disk_io_time_weighted_seconds_total{{device="{device}"}} 0')
    lines += ["node_memory_Cached_bytes 1.048576e+06", "node_memory_HugePages_Total 3"]
    lines += ["node_pressure_io_waiting_seconds_total 2.5", "node_pressure_io_stalled_seconds_total 1.25"]
    if at_s is not None:
        lines.append(f"node_time_seconds {at_s!r}")
    if own:
        lines.append(f"process_cpu_seconds_total {step / 10}")
    return "\n".join(lines) + FACTS


class Exporter(ThreadingHTTPServer):
    """Prints ``text()``; keeps what it was asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked, self.logins, self.text, self.status = [], [], page, lambda query: 200
        self.silent = threading.Event()
        self.end_each = False

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/metrics"


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    server: Exporter

    def do_GET(self):
        parts = urlsplit(self.path)
        self.server.asked.append((parts.path, parse_qs(parts.query).get("collect[]", [])))
        self.server.logins.append(self.headers.get("Authorization"))
        if self.server.silent.is_set():
            time.sleep(3)
            return
        text = self.server.text().encode()
        self.send_response(self.server.status(parts.query))
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        # Without a word: as a server does that ends a connection which rests.
        self.close_connection = self.server.end_each

    def log_message(self, *_):
        pass


@contextmanager
def serving():
    server = Exporter()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server():
    with serving() as found:
        yield found


@pytest.fixture
def host(server):
    found = ExporterHost(server.address)
    yield found
    found.close()


@table(
    "address",
    ["db1:9100", "http://", "ftp://db1/metrics", "http://db1:99999/metrics", "http://db1/metrics#x", "http://me:pw@:1"],
)
def test_what_is_no_address_is_refused_without_its_password(address):
    with pytest.raises(UsageError, match="not a node_exporter's address") as error:
        parse_address(address)
    assert "pw" not in str(error.value)


def test_counters_are_those_of_the_page(server, host):
    steps = iter((5, 9))
    server.text = lambda: page(next(steps))
    reader = OsReader([], [Path("/base")], list, NO_PROCESSES, host=host)
    changed = difference(reader.read(), reader.read())
    assert changed.cpu == dict.fromkeys(("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"), 8.0)
    assert changed.cores == 2
    device = changed.device
    assert (device.name, device.reads, device.read_bytes) == ("sda", 4 * 512, 4 * 3 * 512)
    assert (device.writes, device.write_bytes, device.busy_ms) == (4 * 5 * 512, 4 * 7 * 512, 4000)
    assert changed.page_cache_bytes_after == 2**20
    assert (changed.server_cpu_s, changed.unknown["server_cpu_s"]) == (None, NO_PROCESSES)
    assert changed.unknown["group"] == NO_PROCESSES
    assert "db1" not in changed.unknown["package_energy_j"]
    assert "is not read" in changed.unknown["package_energy_j"]


def test_pressure_is_of_the_whole_host_and_unknown_where_none_is_published(host):
    pressure = OsReader([], [], list, NO_PROCESSES, host=host).read().sources["pressure"]
    assert dict(pressure.values) == {"io_s": 2.5, "io_full_s": 1.25}
    assert set(pressure.unknown) == {"cpu_s", "memory_s", "memory_full_s"}


@table(
    ("directory", "device"),
    [("/var/lib/pg", "sda"), ("/data/pg", "dm-3"), ("/my data/x", "nvme0n1"), ("/many/x", "does not report how many"),
     ("/far", "counts no I/O of nfs:/x")],
)  # fmt: skip
def test_the_device_is_that_of_the_mount_or_the_disk_of_the_partition(server, directory, device):
    host = ExporterHost(server.address)
    try:
        found = host.find_device(Path(directory)).name
    except FigureUnknownError as error:
        found = str(error)
    assert device in found
    host.close()


def test_a_device_that_is_gone_has_no_counters(server, host):
    reader = OsReader([], [Path("/base")], list, NO_PROCESSES, host=host)
    assert reader.read().sources["device"].values
    server.text = lambda: page().replace('device="sda"', 'device="sdz"')
    assert not reader.read().sources["device"].values


def test_it_is_described_as_it_publishes(host):
    facts = environment(Path("/var/lib/pg"), host)
    assert (facts["host"], facts["kernel"], facts["machine"]) == ("db1", "6.1.0", "riscv64")
    assert (facts["os"], facts["cpu"]["online"], facts["memory"]["total_bytes"]) == ("Some Linux 12", 2, 4096000000)
    data = facts["data"]
    assert (data["file_system"], data["source"], data["device"]["name"]) == ("ext4", "/dev/sda1", "sda")
    assert data["device"]["model"] == "Fast one"
    assert facts["virtualization"]["container"] is None


def test_only_collectors_that_it_has_and_that_change_are_asked(server, host):
    host.refresh()
    assert server.asked[0] == ("/metrics", [])
    assert server.asked[-1] == ("/metrics", ["cpu", "diskstats", "meminfo", "time"])


def test_what_refuses_to_be_asked_for_less_is_asked_for_all(server):
    server.status = lambda query: 400 if query else 200
    host = ExporterHost(server.address)
    host.refresh()
    assert server.asked[-1] == ("/metrics", [])
    host.close()


def test_the_moment_is_by_its_own_clock_within_the_round_trip(server):
    ahead_s = 1000.0

    def late():
        made_s = time.time() + ahead_s
        return page(at_s=made_s)

    server.text = late
    host = ExporterHost(server.address)
    begun_ns = time.monotonic_ns()
    moment_ns = host.refresh()
    assert begun_ns <= moment_ns <= time.monotonic_ns()
    found = host.describe_reading()
    assert abs(found["clock_offset_s"] - ahead_s) <= found["clock_error_s"] + 0.002
    assert found["clock_error_s"] <= host.round_trip_s
    host.close()


def test_a_clock_that_is_set_moves_no_reading_out_of_its_round_trip(server, host):
    for at_s in (time.time(), time.time() + 3600, time.time() - 3600):
        server.text = lambda at_s=at_s: page(at_s=at_s)
        begun_ns = time.monotonic_ns()
        assert begun_ns <= host.refresh() <= time.monotonic_ns()


def test_what_it_costs_is_its_own_cpu_or_the_time_that_pages_took(server, host):
    reader = OsReader([], [], list, NO_PROCESSES, host=host)
    steps = iter(range(1, 100))
    server.text = lambda: page(next(steps))
    host.refresh()
    assert reader.price()[1] == pytest.approx(0.1 / 0.008)
    server.text = lambda: page(own=False)
    before_s = host.cpu_s()
    host.refresh()
    assert host.cpu_s() - before_s == pytest.approx(host.round_trip_s)


def test_a_page_that_does_not_come_is_one_reading_less(server, host):
    reader = OsReader([], [], list, NO_PROCESSES, host=host)
    server.status = lambda _: 503
    assert "answers 503" in reader.read().sources["host"].unknown["cores"]
    server.status = lambda _: 200
    assert reader.read().sources["host"].values["cores"] == 2


def test_a_page_that_was_made_before_is_none_of_now(server, host):
    made_s = time.time()
    server.text = lambda: page(at_s=made_s)
    host.refresh()
    with pytest.raises(FigureUnknownError, match="gave the same page twice"):
        host.refresh()


def test_a_connection_that_was_ended_while_it_rested_is_opened_again(server, host):
    server.end_each = True
    for _ in range(3):
        host.refresh()


def test_one_that_is_silent_is_asked_no_more_until_it_is_opened_again(server, monkeypatch):
    monkeypatch.setattr(exporter, "SILENCE_S", 0.2)
    host = ExporterHost(server.address)
    reader = OsReader([], [], list, NO_PROCESSES, host=host)
    server.silent.set()
    asked = len(server.asked)
    for _ in range(2):
        assert "was silent" in reader.read().sources["memory"].unknown["page_cache_bytes"]
    assert len(server.asked) == asked + 1
    with pytest.raises(FigureUnknownError, match="was silent"):
        host.reopen()
    server.silent.clear()
    host.reopen()
    assert OsReader([], [], list, NO_PROCESSES, host=host).read().sources["host"].values
    host.close()
    assert not host.root.exists()


def test_a_password_is_sent_and_never_shown(server):
    host = ExporterHost(server.address.replace("//", "//me:s%40cret@"))
    assert server.logins[-1] == "Basic bWU6c0BjcmV0"
    assert "cret" not in host.where + str(host.describe_reading())
    host.close()


@table(
    ("text", "why"),
    [("<html>", "is not a page of metrics"), ("go_goroutines 1\n", "which a node_exporter does"),
     (page().replace('sysname="Linux"', 'sysname="FreeBSD"'), "runs FreeBSD")],
)  # fmt: skip
def test_what_is_no_node_exporter_of_linux_is_an_error_before_anything_is_measured(text, why):
    with serving() as server:
        server.text = lambda: text
        with pytest.raises(SlobError, match=why):
            find_host(server.address)


def test_nobody_who_answers_is_an_error_with_what_must_answer():
    with serving() as server:
        address = server.address
    with pytest.raises(SlobError, match="can't be read") as error:
        find_host(address)
    assert "node_exporter" in error.value.remedy


def test_the_server_is_where_the_user_says_and_its_directory_what_it_says_itself(host):
    def unasked():
        raise AssertionError

    found = locate_elsewhere(host, unasked, None, lambda: "/var/lib/pg")
    assert (found.host, found.processes, found.data_directories) == (host.where, None, (Path("/var/lib/pg"),))
    assert found.is_known
    hidden = locate_elsewhere(host, unasked, None, str)
    assert (hidden.why_unknown, hidden.data_directory) == (NO_PROCESSES, None)
    assert "does not report" in hidden.why_no_device
    with pytest.raises(UsageError, match="--server-pid 7"):
        locate_elsewhere(host, unasked, 7, str)


def test_signs_in_labels_are_read_and_written_as_the_kernel_does():
    found = Page('node_filesystem_readonly{device="/dev/sda",fstype="ext4",mountpoint="/a b\\\\c"} 1\n')
    assert found.mounts() == "0 0 0:0 / /a\\040b\\134c ro - ext4 /dev/sda ro\n"
