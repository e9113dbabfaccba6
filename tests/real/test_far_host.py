"""The counters of a server's host, read over ssh: what the reader here gives, and unknown once nobody answers."""

from __future__ import annotations

import os
import signal
import threading

import psycopg
import pytest

from factories.far_hosts import clients, sshd
from factories.foreign_postgresql import ForeignServer, started
from factories.running import eventually, ignore, judged, measured
from openslob.core.errors import SlobError, UsageError
from openslob.core.workload import Workload
from openslob.engines.registry import engine_for
from openslob.host.environment import environment
from openslob.host.remote import find_host
from openslob.host.sampler import OsReader

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
    assert there.tasks().keys() == here.tasks().keys()
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
    record = measured(engine, tmp_path, **SMALL).record
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
