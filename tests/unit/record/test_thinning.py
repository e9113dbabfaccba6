"""Figures from the thinned files of a long run are those from all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openslob.analyze import run_tables
from openslob.analyze.run_folder import read_tables
from openslob.analyze.run_tables import RunTables, TablesInMemory
from openslob.analyze.trace import trace_of
from openslob.core.counts import COUNTERS, SliceCounts
from openslob.core.histogram import Histogram
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.record import thinning
from openslob.record.raw_csv import Event, RawCsv, event_rows, last_slice_end_ns, raw_table
from openslob.record.thinning import ThinnedCsv

BEGIN_NS, OFFSET_NS = 1_700_000_000 * NANOS, 7_000_000
SECONDS, SESSIONS, STEP = 90, 3, 10
STEPS = ((0, 1), (20, 5), (50, STEP))


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "STEPS", STEPS)


def histogram(count: int, us: float) -> Histogram:
    made = Histogram()
    made.add({int(us) % 300 + 20: count}, count * us, us)
    return made


def write(raw: RawCsv, seed: int = 1, reset_at: int = 0) -> None:
    """Write a load as the recorder does: second by second, each message once."""
    random = np.random.default_rng(seed)
    raw.event(Event.CLOCK_OFFSET_NS, str(OFFSET_NS))
    raw.event(Event.BEGIN_NS, str(BEGIN_NS))
    ends = [BEGIN_NS] * SESSIONS
    counted = 0.0
    jitter = [0, *random.integers(-20_000_000, 20_000_000, SECONDS).tolist()]
    moments = [BEGIN_NS + second * NANOS + off for second, off in enumerate(jitter)]
    for second in range(SECONDS):
        begin, end = moments[second], moments[second + 1]
        for session in range(SESSIONS):
            long = int(random.integers(700, 1100)) * 1_000_000
            start, ends[session] = ends[session], min(ends[session] + long, BEGIN_NS + (second + 1) * NANOS)
            ops = int(random.integers(1, 50))
            raw.slice(session, second, start_ns=start, end_ns=ends[session], first_op_ns=start,
                      counts=SliceCounts(ops=ops, selects=ops, rows_read=3 * ops),
                      latency={OpKind.SELECT: histogram(ops, 1000 + 37 * second % 101)}, due_ns=end + 5)  # fmt: skip
        for look in range(10):
            waiting = {"CPU": look % 3, "IO:Read": 2} if look else {}
            raw.waits(begin - OFFSET_NS + look * NANOS // 10 + 50_000_000, waiting)
        raw.latency(second, OpKind.SELECT, histogram(7 + second, 500 + 3 * second))
        raw.latency(second, OpKind.UPDATE, histogram(3, 900))
        counted = 0.0 if reset_at and second == reset_at else counted + float(random.integers(1, 100))
        raw.sample(end, "a", {"x": counted})
        raw.os(end - OFFSET_NS, {"host.cpu_user_s": counted, "host.cores": 4.0 - second % 2})
        if second == SECONDS - 2:
            # A reading that comes so soon after the one before that the interval is replaced.
            raw.engine(begin, begin + 1000, {"commits": 1.0})
        raw.engine(begin, end, {"commits": float(second), "log_syncs": None if second == 70 else 2.0})
        raw.engine_latency(begin, end, {"write": {(1, 2): second, (2, 4): 1}})
    raw.finish()


def tables(folder: Path, kind: Callable[[Path], RawCsv], **given: int) -> RunTables:
    folder.mkdir()
    with kind(folder) as raw:
        write(raw, **given)
    return read_tables(folder, BEGIN_NS, OFFSET_NS, SECONDS)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 2**32))
def test_figures_are_those_of_all_rows(tmp_path_factory: pytest.TempPathFactory, seed: int):
    path = tmp_path_factory.mktemp("records")
    full, thin = tables(path / "full", RawCsv, seed=seed), tables(path / "thin", ThinnedCsv, seed=seed)
    assert (full.unit_s, thin.unit_s) == (1, STEP)
    for name in COUNTERS:
        assert (thin.work.value(name)).sum() == pytest.approx(full.work.value(name).sum())
    assert thin.engine.value("commits").sum() == full.engine.value("commits").sum()
    assert longest(path / "thin") == longest(path / "full")
    # What is not known of one interval is not known of its step.
    assert np.isnan(thin.engine.value("log_syncs")).sum() == 1
    assert np.nansum(thin.engine.value("log_syncs")) == np.nansum(full.engine.value("log_syncs")) - 2 * (STEP - 1)
    assert thin.durations.value("1 2 write").sum() == full.durations.value("1 2 write").sum()
    assert (thin.engine.begin_s[0], thin.engine.end_s[-1]) == (full.engine.begin_s[0], full.engine.end_s[-1])
    assert np.all(thin.engine.begin_s[1:] == thin.engine.end_s[:-1])
    # Cumulative counters are those that were read at the same moment, up to the last one.
    at = np.searchsorted(full.host.end_s, thin.host.end_s)
    assert thin.host.end_s.tolist() == full.host.end_s[at].tolist()
    assert thin.host.value("host.cpu_user_s").tolist() == full.host.value("host.cpu_user_s")[at].tolist()
    assert thin.host.end_s[-1] == full.host.end_s[-1]
    assert thin.even_s == full.even_s
    assert thin.ends_s.tolist() == full.ends_s.tolist()
    for number, whole in full.sessions.by_number().items():
        kept = thin.sessions.by_number()[number]
        assert kept.busy_us == pytest.approx(whole.busy_us)
        assert replace(kept, busy_us=0.0, slices=0) == replace(whole, busy_us=0.0, slices=0)
    assert thin.slice_s == pytest.approx(full.slice_s, abs=0.4)
    for kind in ("select", "update"):
        of_thin, of_full = (each.latency[kind].entries for each in (thin, full))
        assert by_unit(of_thin, 1) == by_unit(of_full, STEP)
    for event in ("CPU", "IO:Read"):
        assert means(thin, event)[5:] == pytest.approx(means(full, event).reshape(-1, STEP).mean(axis=1)[5:], abs=1e-3)


def test_the_tables_that_a_driver_keeps_are_those_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_tables, "PART_BYTES", 2000)
    with ThinnedCsv(tmp_path) as raw:
        kept = TablesInMemory(raw)
        write(raw)
        made = kept.read()
    read = read_tables(tmp_path, BEGIN_NS, OFFSET_NS, SECONDS)
    assert kept.problem == ""
    assert (made.unit_s, made.thinned_from_s) == (read.unit_s, read.thinned_from_s) == (STEP, 20)
    for name in (*COUNTERS, "busy_us"):
        assert made.work.value(name) == pytest.approx(read.work.value(name))
    for event in read.waits.names:
        assert made.waits.value(event) == pytest.approx(read.waits.value(event))
    for kind, of_kind in read.latency.items():
        assert np.array_equal(made.latency[kind].entries, of_kind.entries)
        for name in ("p50_us", "max_us"):
            assert np.array_equal(made.latency[kind].percentile(name), of_kind.percentile(name), equal_nan=True)
    for table in ("engine", "host", "durations"):
        one, other = getattr(made, table), getattr(read, table)
        assert one.end_s.tolist() == other.end_s.tolist()
        for name in other.names:
            assert np.array_equal(one.value(name), other.value(name), equal_nan=True)
    assert made.sessions.by_number() == read.sessions.by_number()
    assert made.slice_s == read.slice_s


def test_fewer_rows_are_no_sign_that_the_server_hung(tmp_path: Path):
    thin = tables(tmp_path / "thin", ThinnedCsv)
    samples = trace_of(thin, SECONDS, event_rows(tmp_path / "thin")).get("samples")
    assert np.isfinite(samples).tolist() == [True] * 2 + [False] * 7


def by_unit(entries: tuple[np.ndarray, ...], seconds: int) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for unit, bucket, count in np.array(entries).T.tolist():
        key = unit // seconds, bucket
        found[key] = found.get(key, 0) + count
    return found


def longest(folder: Path) -> dict[tuple[int, int], float]:
    """Return the longest operation of each session in each step."""
    columns, rows = raw_table(folder, "slices.csv")
    found: dict[tuple[int, int], float] = {}
    for row in rows:
        each = dict(zip(columns, row, strict=True))
        begin_s = (each["start_ns"] - BEGIN_NS) / NANOS
        step = next(step for since, step in reversed(STEPS) if begin_s >= since)
        key = each["session"], int(begin_s // step) * step
        found[key] = max(found.get(key, 0.0), each["max_us"])
    return found


def means(made: RunTables, event: str) -> np.ndarray:
    return made.waits.value(event) / made.waits.value("samples")


def test_the_first_rows_are_as_they_came(tmp_path: Path):
    tables(tmp_path / "full", RawCsv)
    tables(tmp_path / "thin", ThinnedCsv)
    rows = {"slices.csv": SESSIONS, "latency.csv": 2, "engine_latency.csv": 2, "samples.csv": 1}
    for name, per_second in rows.items():
        full, thin = (raw_table(tmp_path / each, name)[1] for each in ("full", "thin"))
        first = 19 * per_second
        assert thin[:first] == full[:first]
        assert len(thin) < len(full) * 0.7
    assert [(each.wall_ns, each.text) for each in event_rows(tmp_path / "thin") if each.kind == "step_s"] == [
        (BEGIN_NS - OFFSET_NS + 20 * NANOS, "5"),
        (BEGIN_NS - OFFSET_NS + 50 * NANOS, "10"),
    ]


def test_a_reset_within_a_step_is_seen(tmp_path: Path):
    full, thin = tables(tmp_path / "full", RawCsv, reset_at=74), tables(tmp_path / "thin", ThinnedCsv, reset_at=74)
    of_full, of_thin = (np.diff(each.host.value("host.cpu_user_s")) for each in (full, thin))
    assert of_thin[of_thin > 0].sum() == of_full[of_full > 0].sum()
    assert (of_thin < 0).sum() == 1


def test_a_driver_that_dies_leaves_whole_rows(tmp_path: Path):
    raw = ThinnedCsv(tmp_path)
    raw.event(Event.BEGIN_NS, str(BEGIN_NS))
    for second in range(70):
        raw.latency(second, OpKind.SELECT, histogram(5, 100))
    raw.flush()
    seconds = [row[0] for row in raw_table(tmp_path, "latency.csv")[1]]
    assert seconds == [*range(20), *range(20, 50, 5), 50]
    raw.close()
    assert [row[0] for row in raw_table(tmp_path, "latency.csv")[1]] == [*seconds, 60]


def test_without_a_window_nothing_is_thinned(tmp_path: Path):
    with ThinnedCsv(tmp_path) as raw:
        for second in range(100):
            raw.os(BEGIN_NS + second * NANOS, {"host.cpu_user_s": second})
    assert len(raw_table(tmp_path, "os.csv")[1]) == 100


def test_a_killed_driver_s_load_ends_where_slices_of_some_sessions_are_missing(tmp_path: Path):
    rows = [(0, 0, 10), (1, 0, 1), (2, 0, 10), (2, 10, 20), (0, 10, 19), (3, 10, 20), (0, 19, 29)]
    lines = [f"{session},1,{start},{end},\n" for session, start, end in rows]
    (tmp_path / "slices.csv").write_text("".join(["session,slice,start_ns,end_ns,first_op_ns\n", *lines, "2,2,20,2"]))
    # Session 1 ended long before the others.
    assert last_slice_end_ns(tmp_path) == 20
