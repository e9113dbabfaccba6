"""A record's folder as arrays and in equal steps: what is known of a made-up load is found, however long it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from factories.live import OPS, READS, MadeRun, run_folder
from factories.paths import FIXTURES
from factories.traces import read_trace
from openslob.analyze import run_folder as module_of_tables
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.run_folder import engine_course, tables_of, take_engine_counts
from openslob.analyze.run_tables import MOST_UNITS, unit_for
from openslob.analyze.timeline import of_engine
from openslob.analyze.trace import Mark, Trace
from openslob.core.errors import SlobError
from openslob.record import arrays
from openslob.record.store import load

SESSIONS, SECONDS = 4, 40


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeRun:
    return run_folder(tmp_path_factory.mktemp("made") / "run", SECONDS, SESSIONS)


@pytest.fixture(scope="module")
def trace(made: MadeRun) -> Trace:
    return read_trace(made.folder, made.record)


def test_rates_are_those_of_the_load(trace: Trace):
    assert (trace.steps, trace.step_s) == (SECONDS, 1.0)
    assert trace.get("ops") == pytest.approx(SESSIONS * OPS)
    assert trace.get("device.reads") == pytest.approx(4800)
    assert trace.get("server.cpu") == pytest.approx(1.0)
    assert trace.get("server.read_bytes") == pytest.approx(39321600)
    assert trace.get("host.busy") == pytest.approx(0.8 + 0.4 + 0.1)
    assert trace.get("host.cores") == pytest.approx(4)
    # What sessions count when their slices end is not known of the first and the last of these.
    reads = trace.get("engine.read_requests")
    assert np.flatnonzero(np.isnan(reads)).tolist() == [0, SECONDS - 1]
    assert reads[1:-1] == pytest.approx(SESSIONS * OPS * READS)


def test_all_kinds_of_operations_have_one_latency(trace: Trace, made: MadeRun):
    tables = tables_of(made.folder, made.record)
    selects, updates = (tables.latency[kind].percentile("p50_us")[1] for kind in ("select", "update"))
    found = trace.get("latency.p50_us")
    assert np.all((selects <= found) & (found <= updates))
    assert np.all(found < trace.get("latency.max_us"))
    # Too few of 400 operations lie beyond the 99th percentile.
    assert np.isnan(trace.get("latency.p99_us")).all()


def test_waits_add_up_to_the_sessions(trace: Trace):
    waiting = sum(trace.get(f"waits.{name}") for name in ("data_io", "log", "cpu"))
    assert np.all((waiting > 0.75 * SESSIONS) & (waiting <= SESSIONS))
    assert "waits.lock" not in trace.series


def test_what_was_not_recorded_is_unknown(tmp_path: Path):
    made = run_folder(tmp_path / "run", 30, SESSIONS)
    path = made.folder / "os.csv"
    first, *rows = path.read_text().splitlines(keepends=True)
    per_reading = len(rows) // 31
    # Ten seconds without a reading of the host, then a counter that begins again.
    kept = [*rows[: 10 * per_reading], *rows[20 * per_reading :]]
    path.write_text(first + "".join(row for row in kept if "dev_reads," not in row))
    lost = read_trace(made.folder, made.record)
    assert lost.step_s == 1.0
    assert "device.reads" not in lost.series
    assert np.isnan(lost.get("device.reads")).all()
    assert lost.get("server.cpu") == pytest.approx(1.0)


def test_a_counter_that_fell_is_unknown_in_its_steps(tmp_path: Path):
    made = run_folder(tmp_path / "run", 30, SESSIONS)
    path = made.folder / "os.csv"
    rows = path.read_text().splitlines(keepends=True)
    ended = 0
    for number, row in enumerate(rows):
        at, name, value = row.strip().split(",") if number else ("", "", "")
        ended += name == "device.dev_reads"
        if name == "device.dev_reads" and ended > 16:
            rows[number] = f"{at},{name},{int(value) - 16 * 4800}\n"
    path.write_text("".join(rows))
    reads = read_trace(made.folder, made.record).get("device.reads")
    assert np.isnan(reads).sum() in (1, 2)
    assert reads[~np.isnan(reads)] == pytest.approx(4800)


def test_marks_are_in_seconds_of_the_load(tmp_path: Path):
    made = MadeRun(tmp_path / "run", SESSIONS, 20)
    made.grow(12)
    made.say("note", "a note")
    made.grow(8)
    record = made.finish()
    path = made.folder / "engine.csv"
    rows = path.read_text().splitlines(keepends=True)
    zero = [row for row in rows if ",checkpoints," not in row and ",maintenance," not in row]
    begin = record.window.load_start_ns if record.window else 0
    zero += [f"{begin + 7 * 10**9},{begin + 8 * 10**9},checkpoints,2\n"]
    path.write_text("".join(zero))
    found = read_trace(made.folder, record)
    assert [mark for mark in found.marks if mark.kind != "maintenance"] == [
        Mark(7.0, 8.0, "checkpoint", "2", 2),
        Mark(12.0, 12.0, "note", "a note"),
    ]


def test_files_in_parts_are_the_same(made: MadeRun, trace: Trace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(arrays, "PART_BYTES", 5000)
    again = read_trace(made.folder, made.record)
    assert again.series.keys() == trace.series.keys()
    for name, values in trace.series.items():
        assert again.get(name) == pytest.approx(values, nan_ok=True), name


def test_long_loads_have_longer_steps(tmp_path: Path):
    assert [unit_for(seconds) for seconds in (60, MOST_UNITS, MOST_UNITS + 1, 7 * 86_400)] == [1, 1, 2, 20]
    made = run_folder(tmp_path / "run", SECONDS, SESSIONS)
    window = made.record.window
    assert window is not None
    long = made.record.model_copy(update={"window": window.model_copy(update={"load_seconds": 4.0 * MOST_UNITS})})
    found = read_trace(made.folder, long)
    assert found.step_s == 5.0
    known = found.get("ops")[: SECONDS // 5]
    assert known == pytest.approx(SESSIONS * OPS)
    assert found.get("server.cpu")[: SECONDS // 5] == pytest.approx(1.0)
    assert np.isnan(found.get("server.cpu")[SECONDS // 5 :]).all()


def test_steps_are_as_long_as_what_was_thinned(tmp_path: Path):
    made = MadeRun(tmp_path / "run", SESSIONS, 20)
    made.say("step_s", "5")
    made.grow(20)
    assert read_trace(made.folder, made.finish()).step_s == 5.0


def test_a_damaged_line_is_named(tmp_path: Path):
    made = run_folder(tmp_path / "run", 5, SESSIONS)
    path = made.folder / "slices.csv"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*rows[:7], rows[7].replace(",", ";", 1), *rows[8:]]))
    with pytest.raises(SlobError, match=r"slices\.csv is damaged at line 8: 18 of 19 columns"):
        tables_of(made.folder, made.record)


def test_an_incomplete_last_line_is_left_out(tmp_path: Path):
    made = run_folder(tmp_path / "run", 5, SESSIONS)
    with (made.folder / "engine.csv").open("a") as file:
        file.write("17")
    assert len(tables_of(made.folder, made.record).engine) == 5


def test_a_record_without_files_has_no_steps(tmp_path: Path):
    made = run_folder(tmp_path / "run", 5, SESSIONS)
    for path in made.folder.glob("*.csv"):
        path.unlink()
    found = read_trace(made.folder, made.record)
    assert (dict(found.series), found.marks) == ({}, ())


RECORDS = FIXTURES / "records"
WITH_COUNTS = sorted(path.parent for path in RECORDS.rglob("engine.csv"))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("folder", WITH_COUNTS, ids=lambda folder: str(folder.relative_to(RECORDS)))
def test_the_course_of_the_engine_is_that_of_the_tables(folder: Path, late: bool, monkeypatch: pytest.MonkeyPatch):
    record = load(folder)
    kind = replace(load_kind(record), publishes_late=late)
    monkeypatch.setattr(module_of_tables, "load_kind", lambda _: kind)
    rows, even = take_engine_counts(tables_of(folder, record), record)
    assert record.window
    assert engine_course(folder, record) == of_engine(
        rows, record.window.load_start_ns, record.window.load_end_ns, even
    )
