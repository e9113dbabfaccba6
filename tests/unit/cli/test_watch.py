"""What `slob watch` prints for programs: the same values as JSON lines and as rows of CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from openslob.cli import watch
from openslob.core.measurement import ObjectIo, WaitClass
from openslob.record.model import Figure
from openslob.watch.interval import EventRate, Selection, WatchedInterval

PART = WatchedInterval(
    end_ns=1_800_000_000_123_456_789,
    seconds=2.0,
    figures={
        "pio_read_per_s": Figure(value=123456.789, unit="1/s"),
        "log_sync_latency_us": Figure(value=None, unit="µs", why="nobody counts it"),
    },
    waits=(
        EventRate("IO:DataFileRead", WaitClass.DATA_IO, 1.5, 100, 15000, timed=True),
        EventRate("LWLock:WALWrite", WaitClass.LOG, 2.25),
        EventRate("Lock:tuple", WaitClass.LOCK, 0.25),
    ),
    io={"data": ObjectIo(None, 200, 2_097_152, None, 4000)},
    cpu={"user": 60.0},
    samples=20,
    hidden=True,
)
ENGINE = SimpleNamespace(target="db1/app")


@pytest.fixture
def printed(capsys):
    def lines(make, interval, top=None):
        make(ENGINE, Selection(("*wal*", "IO:*")), top)(interval)
        return capsys.readouterr().out.splitlines()

    return lines


def test_rows_of_csv(printed):
    head, *rows = csv.reader(printed(watch.make_csv_printer, PART))
    assert head == ["time", "instance", "kind", "name", "value", "unit"]
    assert {(row[0], row[1]) for row in rows} == {("2027-01-15T08:00:00.123Z", "db1/app")}
    assert [row[2:] for row in rows] == [
        ["interval", "seconds", "2", "s"],
        ["interval", "missed", "0", ""],
        ["interval", "wait_samples", "20", ""],
        ["figure", "pio_read_per_s", "123456.8", "1/s"],
        ["figure", "log_sync_latency_us", "", "µs"],
        ["partly sampled wait", "LWLock:WALWrite", "2.25", "sessions"],
        ["timed wait", "IO:DataFileRead", "1.5", "sessions"],
        ["timed wait", "IO:DataFileRead", "100", "1/s"],
        ["timed wait", "IO:DataFileRead", "15000", "µs"],
        ["io", "data: reads_per_s", "100", "1/s"],
        ["io", "data: read_mb_per_s", "1", "MB/s"],
        ["io", "data: read_latency_us", "20", "µs"],
        ["io", "data: writes_per_s", "", "1/s"],
        ["cpu", "user", "60", "%"],
    ]


def test_lines_of_json(printed):
    (line,) = printed(watch.make_json_printer, PART, top=1)
    found = json.loads(line)
    assert (found["at"], found["target"], found["seconds"], found["missed"]) == (
        "2027-01-15T08:00:00.123Z",
        "db1/app",
        2,
        0,
    )
    assert found["figures"]["log_sync_latency_us"] == {"value": None, "unit": "µs", "why": "nobody counts it"}
    assert [wait["event"] for wait in found["waits"]] == ["LWLock:WALWrite"]
    assert (found["wait_samples"], found["hidden_sessions"]) == (20, True)
    assert "instances" not in found


def test_instances_and_their_sum(printed):
    whole = replace(PART, by_instance={"a": PART, "b": PART})
    rows = list(csv.DictReader(io.StringIO("\n".join(printed(watch.make_csv_printer, whole)))))
    assert list(dict.fromkeys(row["instance"] for row in rows)) == ["all", "a", "b"]
    (line,) = printed(watch.make_json_printer, whole)
    assert json.loads(line)["instances"]["b"]["figures"]["pio_read_per_s"]["value"] == 123456.789
