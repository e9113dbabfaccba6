"""A sweep in text, and its command: plan, lines, what failed, exit codes."""

from __future__ import annotations

from typer.testing import CliRunner

from factories import sweeps
from openslob.analyze.curves.points import Run
from openslob.cli import app
from openslob.config.grid import Grid
from openslob.core.workload import Workload
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepPoint
from openslob.kinds.sweep.report import sweep_document
from openslob.report.html.page import page_of
from openslob.report.several_runs import set_document
from openslob.report.terminal import render_text


def record(**overrides):
    grid = Grid(Workload(schemas=1), {"sessions": (1, 2, 4), "update_pct": (0, 20)}, ())
    asked = new_sweep("petals", "embedded", grid, {})
    done = [point.model_copy(update={"state": PointState.DONE}) for point in asked.points]
    return asked.with_points(done).model_copy(update=overrides)


def test_each_line_is_headed_by_its_knee_and_has_a_row_a_point():
    runs = [Run.of(each) for each in sweeps.sweep(update_pcts=(0, 20))]
    text = render_text(sweep_document(record(), runs))
    lines = text.splitlines()
    heads = [line for line in lines if "knee at" in line]
    assert [head.split(", physical read requests: ")[0] for head in heads] == ["0 % updates", "20 % updates"]
    assert all("sessions, " in head and "/s at " in head for head in heads)
    for sessions in sweeps.COUNTS:
        assert sum(line.startswith(f"  {sessions:<{len('sessions')}}  ") for line in lines) == 2
    assert "points: 6 done" in text
    assert max(map(len, lines)) <= 105


def test_a_line_whose_runs_were_not_alike_says_so():
    records = sweeps.sweep(update_pcts=(0, 20))
    changed = {**records[0].engine, "settings": {**records[0].engine["settings"], "fsync": "off"}}
    runs = [Run.of(records[0].model_copy(update={"engine": changed})), *map(Run.of, records[1:])]
    told = " ".join(render_text(sweep_document(record(), runs)).split())
    assert "! The runs with 0 % updates were not all made under the same conditions: engine.settings.fsync is" in told
    assert "! The runs with 20 % updates were" not in told
    assert any("engine.settings.fsync" in banner for banner in page_of(set_document("petals", runs, ())).banners)
    assert "same conditions" not in render_text(sweep_document(record(), [Run.of(each) for each in records]))


def test_what_failed_is_listed_with_its_reason():
    asked = record()
    bad = asked.points[2].model_copy(update={"state": PointState.FAILED, "error": "a session was lost"})
    text = render_text(sweep_document(asked.with_points([bad]), []))
    assert text == f"points: 5 done, 1 failed\n! failed {bad.label}: a session was lost\n"


def test_points_are_called_as_flags_call_them():
    point = SweepPoint(number=1, values={"update_pct": 20}, server={"cache_bytes": 16 << 20}, repeat=2)
    assert (point.label, point.run_name) == ("cache 16M, 20 % updates, repeat 2", "cache-16M-update_pct-20-r2")
    assert SweepPoint(number=1, values={}).label == "the only point"


def test_the_answer_of_a_search_comes_first():
    found = SearchRecord(
        limit_us=500, at="p99", most_sessions=64, throughput="pio_read_per_s", sessions=12, best=54321.0,
        latency_us=480.0, why="with more sessions the latency is above the limit",
    )  # fmt: skip
    text = " ".join(render_text(sweep_document(record(search=found), [])).split())
    assert text.startswith(
        "The most under 500 µs at p99: 54,321 physical read requests/s with 12 sessions, at 480 µs; with more"
    )
    assert "/s with 1 session, at" in render_text(
        sweep_document(record(search=found.model_copy(update={"sessions": 1})), [])
    )
    none = found.model_copy(update={"sessions": None, "throughput": None})
    assert render_text(sweep_document(record(search=none), [])).startswith(
        "No session count stays under 500 µs at p99: "
    )


def call(*args):
    return CliRunner().invoke(app, ["sweep", *args])


def test_a_plan_is_printed_and_nothing_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("--sessions", "1,2", "--scale", "64M,128M", "--cache", "16M,32M", "--repeats", "2", "--dry-run")
    assert result.exit_code == 0
    rows = [line for line in result.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) == 16
    # Each repeat of a setting has a start of the server of its own.
    assert sum("restart" in row for row in rows) == 8
    assert sum("load" in row for row in rows) == 3
    assert "about" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_wrong_questions_are_refused_before_anything_begins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wrong = {
        ("--sessions", "1,many"): "SESSIONS=many",
        ("--cache", "big"): "--cache: 'big' is not a size",
        ("--target", "postgresql://h/d", "--cache", "16M"): "only a managed server",
        ("--find-max-iops-under", "fast"): "not a latency",
        ("--find-max-iops-under", "1ms", "--at", "p42"): "not a latency figure",
        ("--find-max-iops-under", "1ms", "--update-pct", "0,10"): "a search varies the sessions only",
        ("--resume", "nosuch"): "there are no records",
        ("--resume", "x", "--sessions", "1"): "not --sessions",
    }
    for arguments, why in wrong.items():
        result = call(*arguments)
        assert result.exception.exit_code == 2
        assert why in str(result.exception)
    assert list(tmp_path.iterdir()) == []
