"""Runs of hours and days from Python: results as objects, what is asked for, and what a stop leaves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import openslob
from factories.endured import endured
from factories.repeats import repeated_record
from openslob.kinds.endurance import execute
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import SegmentState
from openslob.kinds.repeated import execute as repeat
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedTime, TimeState
from openslob.kinds.run.context import Context
from openslob.record.model import Status


@pytest.fixture(scope="module")
def endurance_folder(tmp_path_factory):
    return endured(tmp_path_factory.mktemp("results"))


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A target that needs no server: what is made on it is in the lists of the value."""
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    monkeypatch.setattr(Context, "connect", lambda context: SimpleNamespace(target=context.address))
    for module in (execute, repeat):
        monkeypatch.setattr(module, "take_loaded", lambda found, _engine, _tell: found)
    return openslob.target("postgresql://me@db1/test")


def ended(state):
    """A segment that is written as it ended."""

    def run_segment(folder, _engine, _context):
        record = folder.record
        number = len(record.segments) + 1
        seconds = record.left_s if state is SegmentState.COMPLETE else 2.0
        segment = endurance.Segment(number=number, state=state, run=f"segment-{number}", begin_s=0.0, seconds=seconds)
        status = Status.COMPLETE if state is SegmentState.COMPLETE else Status.INTERRUPTED
        folder.save(record.with_segment(segment).model_copy(update={"status": status}))

    return run_segment


def test_an_endurance_run_is_an_object(endurance_folder, tmp_path):
    found = openslob.read_endurance(endurance_folder)
    assert found.answer.startswith("1 min 10 s under load")
    assert found.verdicts["time_covered"].verdict == "fails"
    assert found.figures["ops_per_s"].value == pytest.approx(400)
    assert len(found.table) == 7
    assert {"gap", "checkpoint"} <= {row["kind"] for row in found.happenings}
    assert len(found.runs) == 2
    assert found.plots == ["endurance", "endurance-latency"]
    assert found.report(tmp_path / "page.html").stat().st_size > 0
    assert found.answer in repr(found)
    assert "SEGMENTS" in found.text()
    assert "ops_per_s" in found._repr_html_()


def test_a_repeated_run_is_an_object(tmp_path):
    with RepeatedFolder.begin(tmp_path, repeated_record((5000, 30), (4400, 30), missed=(7,))) as folder:
        found = openslob.read_repeated("latest", results=tmp_path)
    assert found.folder == folder.path
    assert len(found.table) == 60
    assert [row["state"] for row in found.table].count("missed") == 1
    assert {row["figure"] for row in found.changes} == {"ops_per_s", "p99_us"}
    assert found.plots == ["repeated"]
    assert "CHANGE POINTS" in found.text()


def test_an_endurance_run_that_was_stopped_is_gone_on_with(server, monkeypatch):
    monkeypatch.setattr(execute, "run_segment", ended(SegmentState.INTERRUPTED))
    with pytest.raises(openslob.SlobError, match=r"stopped with 6 s left; openslob.endure\(resume="):
        server.endure(duration="8s", sessions=2, progress=False)
    monkeypatch.setattr(execute, "run_segment", ended(SegmentState.COMPLETE))
    done = openslob.endure(target="postgresql://me@db1/test", resume="latest", progress=False)
    assert [each.state for each in done.record.segments] == [SegmentState.INTERRUPTED, SegmentState.COMPLETE]
    assert (done.record.workload["sessions"], done.record.target) == (2, "postgresql://me@db1/test")
    assert done.record.probe
    assert not server.endure(duration="8s", sessions=2, probe=False, progress=False).record.probe
    with pytest.raises(openslob.UsageError, match="not probe"):
        server.endure(resume="latest", probe=True)
    with pytest.raises(openslob.UsageError, match="is complete"):
        server.endure(resume="latest")


def test_a_repeated_run_is_made_and_gone_on_with(server, monkeypatch):
    def one_time(folder, _context, _tell_time):
        record = folder.record
        times = (*record.times, RepeatedTime(number=len(record.times) + 1, due_s=0, state=TimeState.MISSED, why="no"))
        status = Status.COMPLETE if len(times) == record.planned else Status.INTERRUPTED
        folder.save(record.model_copy(update={"times": times, "status": status}))

    monkeypatch.setattr(repeat, "repeat", one_time)
    with pytest.raises(openslob.SlobError, match=r"stopped with 1 runs left; openslob.repeat\(resume="):
        server.repeat(every="1m", duration="2m", run_time="5s", sessions=2, progress=False)
    done = server.repeat(resume="latest", progress=False)
    assert (done.record.every_s, len(done.record.times)) == (60, 2)


@pytest.mark.parametrize(
    ("call", "given", "why"),
    [
        ("endure", {}, "duration is not given"),
        ("endure", {"duration": "soon"}, "duration: "),
        ("endure", {"duration": 1}, "duration=1 is not allowed; 5 s at the least"),
        ("endure", {"duration": "8h", "sesions": 1}, "did you mean sessions"),
        ("endure", {"resume": "latest", "duration": "8h", "sessions": 2}, "not duration, sessions"),
        ("repeat", {"duration": "1h"}, "every is not given"),
        ("repeat", {"every": "1m"}, "duration and count"),
        ("repeat", {"every": "1m", "count": 0}, "count=0 is not allowed"),
        ("repeat", {"every": "10s", "count": 2, "run_time": "1m"}, "a run takes about"),
        ("repeat", {"resume": "latest", "count": 2}, "resume takes the parameters of the record"),
    ],
)
def test_what_does_not_fit_is_refused(server, call, given, why, tmp_path):
    with pytest.raises(openslob.UsageError, match=why):
        getattr(server, call)(**given)
    assert list(tmp_path.iterdir()) == []
