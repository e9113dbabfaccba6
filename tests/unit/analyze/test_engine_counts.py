"""What only the engine counts: the CPU of a host that can't be seen, how long its waits took; the record says so."""

import pytest

from factories import measurements as made
from openslob.analyze.verdicts import judge
from openslob.core.measurement import TimedWait, WaitClass
from openslob.record.model import RunRecord
from openslob.report.context import host, server, unknown
from openslob.report.figures import timed_events
from openslob.report.terminal import block_lines

COUNTED = made.engine(
    db_cpu_us=60e6, foreground_cpu_us=45e6, background_cpu_us=15e6, host_busy_us=120e6, host_idle_us=120e6
)


def record(local=False, engine=COUNTED) -> RunRecord:
    why = "the server is not known to be on this host"
    environment = {"host": "driver", "local": local, "unknown": {"server_cpu_s": why}}
    measurement = made.measurement(local=local, engine=engine)
    return made.record(measurement, environment)


def test_the_record_names_the_source():
    environment = record().environment
    assert environment["server_cpu_s"] == {"sessions": 45.0, "background": 15.0}
    assert environment["server_host_cpu_s"] == {"busy": 120.0, "idle": 120.0}
    assert environment["cpu_source"] == {"server_cpu_s": "engine", "server_host_cpu_s": "engine"}
    assert environment["unknown"] == {}
    assert "cpu_source" not in record(local=True).environment
    assert "cpu_source" not in record(engine=made.engine()).environment


def test_the_report_says_whose_count_it_is():
    text = " ".join(" ".join(block_lines(host(record()))).split())
    assert "server's host not this one, as far as slob can tell; its CPU, by the engine's own count, busy 50" in text
    assert "sessions 75 %, background 25 %, by the engine's own count" in text
    assert "its CPU, memory and devices are unknown" in " ".join(
        " ".join(block_lines(host(record(engine=made.engine())))).split()
    )
    assert not any("server cpu" in line for line in block_lines(unknown(record())))


def limit(**counts):
    """The verdict on a remote server whose engine counts the host's CPU, which was busy for 97 %."""
    engine = made.engine(**{"host_busy_us": 232e6, "host_idle_us": 8e6, **counts})
    return next(each for each in judge(made.measurement(local=False, engine=engine)) if each.name == "limit_found")


def test_the_limit_of_a_remote_server_may_be_its_cpu():
    assert "The limit was the server's CPU, not storage: CPU 97 % (by the server 90 %)" in limit(db_cpu_us=216e6).why
    assert "whether the server waited for it is not known: CPU 97 %" in limit(db_cpu_us=60e6).why
    assert "Storage was the limit" in limit(db_cpu_us=60e6, host_idle_us=400e6).why


def test_of_a_pluggable_database_the_cpu_of_its_sessions_is_judged_and_named():
    found = limit(foreground_cpu_us=216e6)
    assert "the server's CPU, not storage: CPU 97 % (by the server's sessions 90 %)" in found.why
    assert (found.figures["server_cpu_pct"], found.figures["foreground_cpu_pct"]) == (None, pytest.approx(90))
    assert "what its other processes used is not known: CPU 97 %" in limit(foreground_cpu_us=60e6).why
    assert "(by the server 90 %)" in limit(foreground_cpu_us=60e6, db_cpu_us=216e6).why
    assert "foreground_cpu_pct" not in limit(foreground_cpu_us=60e6, db_cpu_us=216e6).figures


def test_durations_of_waits_are_in_the_record_and_the_report():
    reads, other = "IO:DataFileRead", "IO:NeverSampled"
    waits = [TimedWait(event, WaitClass.DATA_IO, 100, 30_000.0, {(256, 513): 100}) for event in (reads, other)]
    found = record(engine=made.engine(timed_waits=waits))
    assert set(found.engine["wait_latency"]) == {reads}
    assert found.engine["wait_latency"][reads]["p99_us"] == pytest.approx(512, rel=0.01)
    text = block_lines(timed_events(found))
    assert text[1].split()[-3:] == ["p99", "up", "to"]
    assert text[2].split()[-2:] == ["512", "µs"]
    assert "p99" not in block_lines(timed_events(record()))[1]
    assert "wait latency" not in " ".join(block_lines(server(found)))


def test_why_durations_of_waits_can_not_be_read_is_shown():
    found = record(engine=made.engine(unknown={"wait_latency": "this user may not read V$X"}))
    assert "this user may not read V$X: wait latency" in " ".join(" ".join(block_lines(unknown(found))).split())
