"""The counters of a server's host, read over ssh: what the reader here gives, and unknown once nobody answers."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from pathlib import Path

import psycopg
import pytest

from factories.far_hosts import clients, node_exporter, sshd
from factories.foreign_postgresql import ForeignServer, started
from factories.running import eventually, ignore, judged, measured, slob
from openslob.core.errors import SlobError, UsageError
from openslob.core.host import FigureUnknownError
from openslob.core.workload import Workload
from openslob.engines.registry import engine_for
from openslob.host.environment import environment
from openslob.host.remote import find_host
from openslob.host.sampler import OsReader, difference
from openslob.record import store

SMALL = {"schemas": 2, "scale": "1500", "scan_table_sz": "10", "work_unit": 8}
pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def foreign(slob_home):
    with started(ForeignServer()) as server:
        engine = engine_for(server.url("app", "bench"))
        with engine.exclusive("load"):
            engine.data.load(Workload(**SMALL).data(8192), 2, ignore, lambda: False)
        yield server


@pytest.fixture
def address(tmp_path, monkeypatch):
    with sshd(tmp_path, monkeypatch) as found:
        yield found
        find_host(found).close()


@pytest.fixture
def host(address):
    found = find_host(address)
    yield found
    found.close()


@pytest.fixture
def engine(foreign, host):
    found = engine_for(foreign.url("app", "bench"))
    found.host = host
    return found


def test_the_server_is_found_by_what_its_process_says_of_the_connection(engine, foreign, host):
    here, there = engine_for(foreign.url("app", "bench")).location(), engine.location()
    assert (there.processes, there.data_directories) == (here.processes, here.data_directories)
    assert (here.host, there.host) == ("", host.where)
    engine.server_pid = 2**22 + 1
    with pytest.raises(UsageError, match="has no such process"):
        engine.location()


def test_every_counter_lies_between_two_readings_here(engine, foreign, host):
    location = engine.location()

    def reader(**more):
        return OsReader([location.processes], location.data_directories, list, **more)

    here, there = reader(), reader(host=host)
    edges = []
    with psycopg.connect(foreign.url("app", "bench"), autocommit=True) as connection:
        for _ in range(2):
            edges.append((here.read(), there.read(), here.read()))
            connection.execute("SELECT count(*) FROM generate_series(1, 500000)")
    (first, begun, second), (third, ended, fourth) = edges
    for source in ("host", "server", "device", "pressure", "cpus"):
        assert begun.sources[source].epoch == first.sources[source].epoch
        assert set(begun.sources[source].values) == set(first.sources[source].values)
        for name in begun.sources[source].values.keys() - {"cores", "server_cores"}:
            low, high = (third.sources[source].values[name] - second.sources[source].values[name],
                         fourth.sources[source].values[name] - first.sources[source].values[name])  # fmt: skip
            grown = ended.sources[source].values[name] - begun.sources[source].values[name]
            assert low - 1e-6 <= grown <= high + 1e-6, (source, name)
    # Between two readings a process may come or go.
    assert eventually(lambda: here.read() and there.read() and there.tasks().keys() == here.tasks().keys())
    here.close()
    there.close()


def test_the_host_is_described_as_here(engine, host):
    place = engine.location().data_directory
    assert environment(place, host) == environment(place)


def test_a_run_has_the_figures_of_that_host_and_says_how_they_were_read(engine, host, tmp_path):
    record = measured(engine, tmp_path, **SMALL).record
    assert record.environment["local"] is True
    assert record.environment["reader"]["address"] == host.where
    assert sum(record.environment["server_cpu_s"].values()) > 0
    assert record.environment["data"] == environment(engine.location().data_directory)["data"]


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSTOP])
def test_a_reader_that_falls_silent_makes_figures_unknown_and_the_run_goes_on(engine, host, tmp_path, by):
    (client,) = clients(tmp_path)

    def end():
        if eventually(lambda: host.round_trip_s and any(tmp_path.glob("*/slices.csv"))):
            os.kill(client, by)

    killer = threading.Thread(target=end)
    killer.start()
    # Long enough to read the server's counters beside a reader that does not answer.
    record = measured(engine, tmp_path, **SMALL | {"run_time": 10}).record
    killer.join()
    assert record.window is not None
    assert not record.errors
    assert record.environment["server_cpu_s"] is None
    assert host.where in record.environment["unknown"]["server_cpu_s"]
    judged(record, "counts_agree")
    assert record.window.counter_seconds > 0


def test_nobody_who_answers_is_an_error_before_anything_is_measured(address):
    with pytest.raises(SlobError, match="can't be read") as error:
        find_host(address.rpartition(":")[0] + ":1")
    assert "without a password" in str(error.value.remedy if hasattr(error.value, "remedy") else error.value)
    with pytest.raises(UsageError, match="not the address"):
        find_host("127.0.0.1")


def test_a_connection_that_was_lost_is_opened_again_for_the_next_run(engine, host, tmp_path):
    (client,) = clients(tmp_path)
    os.kill(client, signal.SIGKILL)
    with pytest.raises(FigureUnknownError):
        host.refresh()
    host.reopen()
    record = measured(engine, tmp_path, **SMALL).record
    assert sum(record.environment["server_cpu_s"].values()) > 0


def test_a_sweep_that_goes_on_reads_the_host_of_its_points(foreign, address, tmp_path):
    """Given once, and stopped by a fault of the first point; the second one was never begun."""
    results = tmp_path / "results"
    target = ("--target", foreign.url("app", "bench"), "--results", results, "--quiet")
    load = [word for name, value in SMALL.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = slob("sweep", *target, "--host", address, *load, "--sessions", "1,2", "--run-time", "2", "--warmup", "0")
    assert done.returncode == 0, done.stderr
    (folder,) = results.glob("*/sweep.json")
    document = json.loads(folder.read_text())
    document["points"][1] |= {"state": "pending", "run": None}
    folder.write_text(json.dumps(document | {"status": "interrupted"}))
    done = slob("sweep", "--target", foreign.url("app", "bench"), "--results", results, "--resume", folder.parent.name)
    assert done.returncode == 0, done.stderr
    assert f"the counters of {address} are read again" in done.stderr
    runs = [store.load(entry.path) for entry in store.find(folder.parent)]
    assert len(runs) > len(document["points"])
    assert {run.environment["reader"]["address"] for run in runs} == {address}


def test_any_load_is_observed_and_a_server_watched_there(foreign, address, tmp_path):
    target = ("--target", foreign.url("app", "bench"), "--host", address)
    done = slob("observe", *target, "--results", tmp_path / "results", "--quiet", "--for", "2s")
    assert done.returncode == 0, done.stderr
    (entry,) = store.find(tmp_path / "results")
    facts = store.load(entry.path).environment
    assert (facts["local"], facts["reader"]["address"]) == (True, address)
    done = slob("watch", *target, "--count", "2", "--json")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        figures = json.loads(line)["figures"]
        assert figures["db_cpu_per_s"]["value"] is not None
        assert figures["memory_available_bytes"]["value"] > 0


@pytest.fixture
def exported():
    """A host behind a node_exporter of this host, and the exporter's process."""
    with node_exporter() as (address, process):
        found = find_host(address)
        yield found, process
        found.close()


def test_a_node_exporter_says_what_lies_between_two_readings_here(exported):
    host, _ = exported
    # Where this file is: a folder for temporary files may be on no device.
    place = [Path(__file__).parent]
    here, there = OsReader([], place, list), OsReader([], place, list, host=host)
    edges = []
    for _ in range(2):
        edges.append((here.read(), there.read(), here.read()))
        sum(range(10**7))
    (first, begun, second), (third, ended, fourth) = edges
    kinds = ("cpu_user_s", "cpu_nice_s", "cpu_system_s", "cpu_softirq_s")
    known = {"host": kinds, **{name: tuple(first.sources[name].values) for name in ("device", "pressure")}}
    if not known["device"]:
        pytest.skip("this file is on no block device whose I/O is counted")
    for source, names in known.items():
        assert set(names) <= set(begun.sources[source].values), source
        for name in names:
            low, high = (third.sources[source].values[name] - second.sources[source].values[name],
                         fourth.sources[source].values[name] - first.sources[source].values[name])  # fmt: skip
            grown = ended.sources[source].values[name] - begun.sources[source].values[name]
            # The exporter adds up whole clock ticks of each CPU; here the kernel does so, with what is left of them.
            ticks = 1e-6 + (os.cpu_count() or 1) / os.sysconf("SC_CLK_TCK") * (source == "host")
            assert low - ticks <= grown <= high + ticks, (source, name)
    assert difference(begun, ended).cores == difference(first, third).cores
    for reader in (here, there):
        reader.close()


def test_a_run_beside_a_node_exporter_knows_the_host_and_bounds_the_servers_cpu(foreign, exported, tmp_path):
    engine = engine_for(foreign.url("app", "bench"))
    engine.host, _ = exported
    address = engine.host.where
    finished = measured(engine, tmp_path, **SMALL)
    record, facts = finished.record, finished.record.environment
    assert (facts["local"], facts["reader"]["address"]) == (True, address)
    assert sum(facts["host_cpu_s"].values()) > 0
    assert facts["server_cpu_s"] is None
    assert "s per s at most" in facts["unknown"]["server_cpu_s"]
    # Or, on a busy host, that nothing gives a rate.
    assert re.search("s per s at most|span", record.why_unknown("db_cpu_per_s"))
    assert facts["memory"]["total_bytes"] == environment(None)["memory"]["total_bytes"]
    judged(record, "counts_agree")
    done = slob("check", "--target", foreign.url("app", "bench"), "--host", address)
    assert "your word" in " ".join(done.stdout.split())
    assert "publishes nothing of processes" in " ".join(done.stdout.split())
    verified = slob("verify", finished.folder)
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGSTOP])
def test_a_node_exporter_that_falls_silent_makes_figures_unknown_and_the_run_goes_on(foreign, exported, tmp_path, by):
    engine = engine_for(foreign.url("app", "bench"))
    engine.host, process = exported

    def end():
        # The window has begun: of a silence before it the run would say that it began late.
        if eventually(lambda: any(path.stat().st_size > 200 for path in tmp_path.glob("*/slices.csv"))):
            os.kill(process.pid, by)

    killer = threading.Thread(target=end)
    killer.start()
    record = measured(engine, tmp_path, **SMALL).record
    killer.join()
    assert not record.errors
    assert not record.environment["host_cpu_s"]
    assert record.value("host_cpu_left_pct") is None
    judged(record, "counts_agree")
    assert record.window.counter_seconds > 0
