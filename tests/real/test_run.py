"""Whole runs on real servers: figures are exact, and a run is called what it was."""

import json
import time
from collections import Counter
from contextlib import closing

import pytest

from factories.running import (
    FULL_SPEED,
    SCALE,
    SCAN_ROWS,
    SCHEMAS,
    Target,
    judged,
    load,
    measured,
    rows_of,
    slob,
    slob_apart,
    total,
    verdicts_of,
)
from openslob.core.units import MIB
from openslob.engines.base import SamplingScope
from openslob.engines.postgresql.adapter import PostgresEngine
from openslob.kinds.run.samplers import CLOCK_QUERIES
from openslob.metrics import METRICS, OBSERVED, PACED
from openslob.metrics.quantity import WINDOW_TOLERANCE_PCT
from openslob.record import store
from openslob.record.model import Holds, Status

pytestmark = pytest.mark.server

# Bytes that only the newest servers count.
IMAGES = "full_page_image_mb_per_s"
CHANGES = "block_changes_per_s"
MIX = {"sessions": 4, "update_pct": 10, "scan_pct": 2, "work_unit": 16, **FULL_SPEED}
COUNTERS = {"ops_total", "updates_total", "selects_total", "scans_total", "sessions", "elapsed_s", "start_skew_ms"}
RATES = {name for name in METRICS if name.endswith("_per_s")} - PACED - OBSERVED


@pytest.fixture(scope="module")
def small_cache(make_server):
    """Direct I/O, and a cache of a sixteenth of the data."""
    return load(make_server(name="small", cache_bytes=4 * MIB))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def physical(small_cache, results):
    return measured(small_cache, results, mode="pio", **MIX)


@pytest.fixture(scope="module")
def buffered(pg_buffered, results):
    return measured(load(pg_buffered), results, mode="pio", **MIX)


@pytest.fixture(scope="module")
def cached(pg_server, results):
    """Data of half the cache, which the product itself reads into it first."""
    half = {"scale": str(SCALE // 8), "update_pct": 1}
    return measured(load(pg_server), results, **{**MIX, **half}, mode="lio", warmup=0.5)


@pytest.fixture(params=["physical", "buffered", "cached"])
def finished(request):
    return request.getfixturevalue(request.param)


# --- exactness


def test_a_run_is_complete_and_says_so(finished):
    record = finished.record
    assert record.status is Status.COMPLETE
    assert record.errors == ()
    assert store.load(finished.folder) == record
    assert "2026" <= record.engine["server_started_at"] <= record.started_at
    assert (finished.folder / "report.txt").read_text()
    assert set(record.summary) == set(METRICS) - OBSERVED
    for name in ("errors", "counts_agree", "exact_mix"):
        judged(record, name)


def test_the_server_s_cpu_is_told_by_kind_of_process(finished):
    by_kind = finished.record.environment["server_cpu_s"]
    assert {"client backend", "checkpointer", "walwriter", "sampler"} <= set(by_kind)
    assert max(by_kind, key=by_kind.get) == "client backend"


def test_the_cpu_of_sessions_and_of_the_background_are_the_server_s(finished):
    whole, *parts = (finished.record.summary[f"{part}_cpu_per_s"] for part in ("db", "foreground", "background"))
    if whole.value is None or "of unknown kind" in (parts[0].why or ""):
        return
    assert parts[0].value > parts[1].value
    assert parts[0].value + parts[1].value == pytest.approx(whole.value, rel=0.03)


def test_operations_in_the_record_are_those_of_the_slices_and_of_the_latencies(finished):
    record, slices = finished.record, rows_of(finished.folder, "slices.csv")
    ops = total(slices, "ops")
    assert record.summary["ops_total"].value == ops > 0
    for kind in ("select", "update", "scan"):
        count = total(slices, f"{kind}s")
        assert record.summary[f"{kind}s_total"].value == count == record.latency[kind]["count"]
        assert sum(count for _, count in record.latency[kind]["buckets"]) == count
    by_kind = Counter()
    for row in rows_of(finished.folder, "latency.csv"):
        by_kind[row["kind"]] += int(row["count"])
    assert by_kind == {kind: record.latency[kind]["count"] for kind in record.latency}
    assert total(slices, "rows_read") == 16 * record.summary["selects_total"].value
    assert total(slices, "rows_updated") == 16 * record.summary["updates_total"].value
    assert total(slices, "rows_scanned") == SCAN_ROWS * record.summary["scans_total"].value


def test_updates_are_their_share_to_one_operation_in_each_session(finished):
    sessions = Counter(), Counter()
    for row in rows_of(finished.folder, "slices.csv"):
        sessions[0][row["session"]] += int(row["ops"])
        sessions[1][row["session"]] += int(row["updates"])
    ops, updates = sessions
    assert set(ops) == {"0", "1", "2", "3"}
    for session, count in ops.items():
        assert abs(updates[session] - count * finished.record.spec["update_pct"] / 100) < 1


def test_the_server_counted_the_same(finished):
    if not judged(finished.record, "counts_agree"):
        return
    figures = verdicts_of(finished.record)["counts_agree"].figures
    slices = rows_of(finished.folder, "slices.csv")
    assert figures["engine_rows_updated"] == total(slices, "rows_updated")
    assert figures["engine_rows_read"] == total(slices, "rows_read") + total(slices, "rows_updated")


def test_no_latency_is_0(finished):
    for latency in finished.record.latency.values():
        assert min(latency[name] for name in ("mean_us", "p50_us", "p90_us", "p99_us", "p999_us", "max_us")) > 0
    value = finished.record.summary["engine_read_latency_us"].value
    assert value is None or value > 0


def test_slices_lie_in_the_window_and_follow_one_another(finished):
    window, ends = finished.record.window, {}
    for row in rows_of(finished.folder, "slices.csv"):
        start, end = int(row["start_ns"]), int(row["end_ns"])
        assert window.load_start_ns <= int(row["first_op_ns"] or start)
        assert start <= end <= window.load_end_ns
        assert start >= ends.get(row["session"], 0)
        ends[row["session"]] = end
    assert window.load_seconds == pytest.approx(3, abs=1.5)


def test_rates_are_published_exactly_when_the_windows_agree(finished):
    record = finished.record
    verdict = verdicts_of(record)["window"]
    ops_per_s = record.summary["ops_per_s"]
    if "difference_pct" not in verdict.figures:  # a host so busy that the counters were read only after the load
        assert (verdict.verdict, ops_per_s.value) == (Holds.FAILS, None), verdict.why
        return
    assert (verdict.verdict is Holds.HOLDS) == (abs(verdict.figures["difference_pct"]) <= WINDOW_TOLERANCE_PCT)
    if verdict.verdict is Holds.HOLDS:
        assert ops_per_s.value == pytest.approx(record.summary["ops_total"].value / record.window.load_seconds)
    elif abs(record.window.difference_pct) > WINDOW_TOLERANCE_PCT:
        assert (ops_per_s.value, bool(ops_per_s.why)) == (None, True)


def test_every_missing_figure_has_a_reason(finished):
    for name, figure in finished.record.summary.items():
        assert (figure.value is None) == bool(figure.why), name


def test_the_plans_are_in_the_record(finished):
    plans = finished.record.engine["plans"]
    assert set(plans) == {"select", "update", "scan"}
    assert "Index Scan" in plans["select"]
    assert "Index Scan" in plans["update"]


# --- honesty


def test_with_direct_io_the_engine_s_reads_are_the_device_s(physical):
    judged(physical.record, "mode")
    if judged(physical.record, "reads_reached_device"):
        figures = verdicts_of(physical.record)["reads_reached_device"].figures
        assert figures["storage_to_engine_pct"] == pytest.approx(100, abs=2)
    engine, device = (physical.record.summary[name] for name in ("pio_read_mb_per_s", "dev_read_mb_per_s"))
    if engine.value and device.value:  # the device may be unknown, and others may read from it too
        assert device.value > 0.98 * engine.value


def test_the_same_run_on_a_buffered_server_is_told_to_be_cached(buffered):
    judged(buffered.record, "mode", Holds.FAILS)
    # How many of them did depends on what else is in the page cache.
    judged(buffered.record, "reads_reached_device", Holds.FAILS)


def test_a_cached_run_proves_that_it_was(cached):
    if judged(cached.record, "mode"):
        assert verdicts_of(cached.record)["mode"].figures["hit_pct"] >= 99.9
    assert any("into the cache" in done for done in cached.record.engine["settled"])


def test_the_window_of_counters_and_load_is_one(small_cache, results):
    """A host may be too busy; a run of another window has no rates."""
    runs = []
    while len(runs) < 4 and not (runs and verdicts_of(runs[-1])["window"].verdict is Holds.HOLDS):
        runs.append(measured(small_cache, results, sessions=2).record)
    good = runs.pop()
    assert not any(map(_publishes_reads, runs))
    if verdicts_of(good)["window"].verdict is not Holds.HOLDS:
        assert not _publishes_reads(good)
        return
    missing = {name for name in RATES if good.summary[name].value is None}
    assert missing <= {"dev_read_per_s", "dev_read_mb_per_s", "dev_write_per_s", "dev_write_mb_per_s", IMAGES, CHANGES}
    assert good.summary["pio_read_per_s"].value > 0


def _publishes_reads(record):
    """Whether the rate of reads is known although the engine's counters, not just the host's, span another window."""
    by_host = "host counters" in verdicts_of(record)["window"].why
    return record.summary["pio_read_per_s"].value is not None and not by_host


class LateCounters:
    """Counters that are slow to answer once they have answered so many times."""

    def __init__(self, counters, quick):
        self._counters = counters
        self._quick = quick

    def __getattr__(self, name):
        return getattr(self._counters, name)

    def read(self):
        self._quick -= 1
        if self._quick < 0:
            time.sleep(0.3)
        return self._counters.read()


class LateEngine(PostgresEngine):
    quick = 0

    def open_counters(self, scope=SamplingScope.TEST):
        return LateCounters(super().open_counters(scope), self.quick)


@pytest.mark.parametrize("edge", ["opening", "closing"])
def test_counters_of_another_window_publish_no_rate(small_cache, results, edge):
    engine = LateEngine(small_cache.address.reveal())
    engine.quick = CLOCK_QUERIES + (edge == "closing")
    record = measured(engine, results, sessions=2).record
    verdict = verdicts_of(record)["window"]
    assert verdict.verdict is Holds.FAILS
    assert abs(record.window.difference_pct) > WINDOW_TOLERANCE_PCT
    if edge == "opening":
        assert "after the load had begun" in verdicts_of(record)["counts_agree"].why
    for name in RATES:
        assert record.summary[name].value is None
        assert record.summary[name].why
    assert {name for name in COUNTERS if record.summary[name].value is None} == set()
    assert record.status is Status.COMPLETE


# --- how runs end


@pytest.mark.parametrize("run_time", [0, 100])
def test_work_loop_ends_each_session_after_so_many_operations(small_cache, results, run_time):
    finished = measured(small_cache, results, **MIX, run_time=run_time, work_loop=130, warmup=0.3)
    ops = Counter()
    for row in rows_of(finished.folder, "slices.csv"):
        ops[row["session"]] += int(row["ops"])
    assert ops == dict.fromkeys("0123", 130)
    assert finished.record.summary["updates_total"].value == 4 * 13
    assert finished.record.status is Status.COMPLETE


def test_warm_up_is_run_and_not_counted(small_cache, results):
    with closing(small_cache.open_counters()) as counters:
        before = counters.read()
        finished = measured(small_cache, results, sessions=2, update_pct=100, work_unit=1, warmup=1)
        all_of_it = counters.difference(before, counters.read()).rows_updated
    recorded = finished.record.summary["ops_total"].value
    if judged(finished.record, "counts_agree"):
        assert verdicts_of(finished.record)["counts_agree"].figures["engine_rows_updated"] == recorded
    # One operation prepares each session; on the slowest disk each does at least one in a second of warm-up.
    assert all_of_it > recorded + 2
    assert finished.record.window.warmup_s == 1
    assert verdicts_of(finished.record)["exact_mix"].verdict is Holds.HOLDS


def test_without_warm_up_the_server_counted_what_is_in_the_record_and_one_to_prepare_each_session(small_cache, results):
    with closing(small_cache.open_counters()) as counters:
        before = counters.read()
        finished = measured(small_cache, results, sessions=3, update_pct=100, work_unit=2, run_time=1)
        all_of_it = counters.difference(before, counters.read()).rows_updated
    assert all_of_it == 2 * (finished.record.summary["ops_total"].value + 3)


def test_updates_stay_in_their_blocks(physical):
    judged(physical.record, "data_in_place")


def test_think_time_is_no_db_time(small_cache, results):
    finished = measured(
        small_cache, results, sessions=2, work_unit=1, think_tm_frequency=1, think_tm_min=0.1, think_tm_max=0.2
    )
    ops = finished.record.summary["ops_total"].value
    assert 2 <= ops <= 2 * (2 / 0.1 + 2)
    busy_us = sum(float(row["busy_us"]) for row in rows_of(finished.folder, "slices.csv"))
    assert busy_us < 2e6


# --- the command line


@pytest.fixture
def target(small_cache, tmp_path):
    return Target(small_cache.address.reveal(), tmp_path)


def test_the_command_line_runs_shows_and_lists(target):
    ran = target.run(run_time=2, sessions=2, name="first")
    assert (ran.returncode, ran.stdout[:1] != "") == (0, True)
    folder = target.folders()[0]
    assert folder.name.endswith("-first")
    # In processes of their own, as users do: what is tested in this process elsewhere is the same.
    assert slob_apart("show", "--results", target.results).stdout.strip() == ran.stdout.strip()
    document = json.loads(slob_apart("show", folder, "--json").stdout)
    assert document == target.document()
    assert document["status"] == "complete"
    assert document["spec"]["run_time"] == 2
    assert folder.name in slob("list", "--results", target.results).stdout
    assert target.is_free()


def test_a_verdict_that_is_asked_for_decides_the_exit_code(pg_buffered, tmp_path):
    load(pg_buffered)
    target = Target(pg_buffered.status().url, tmp_path)
    ran = slob(
        "run", *target.arguments({"run_time": 2, **MIX, "update_pct": 0}), "--json",
        "--require", "errors", "--require", "reads_reached_device",
    )  # fmt: skip
    found = {verdict["name"]: verdict for verdict in json.loads(ran.stdout)["verdicts"]}["reads_reached_device"]
    assert ran.returncode == {"fails": 3, "unknown": 4}[found["verdict"]]
    assert found["verdict"] == "fails" or "too busy" in found["why"]
    assert ran.stderr.splitlines()[-1].startswith(f"slob: verdict reads_reached_device {found['verdict']}: ")
    assert json.loads(ran.stdout)["summary"]["ops_total"]["value"] > 0
    assert target.run(run_time=1, sessions=1, mode="scan").returncode == 3


def test_sessions_spread_over_schemas(physical):
    assert physical.record.summary["sessions"].value == 4
    assert physical.record.engine["data_bytes"] == SCHEMAS * SCALE * physical.record.engine["block_size"]


def test_a_run_takes_the_server_s_own_reports_with_it(pg_server, tmp_path, monkeypatch):
    """No server here makes any, so this one notes its log position before and after the window."""

    class Positions:
        def __init__(self, engine):
            self.engine, self.noted = engine, []

        def begin(self):
            self.noted.append(self.engine.replication.log_position())

        def end(self):
            self.begin()
            return {"positions.txt": f"{self.noted}"}

        def close(self):
            self.noted = None

    monkeypatch.setattr(PostgresEngine, "open_snapshots", lambda engine, *_: Positions(engine))
    ended = measured(load(pg_server), tmp_path, sessions=2, update_pct=50, run_time=1)
    assert ended.record.engine["attachments"] == ["attachments/positions.txt"]
    first, last = json.loads((ended.folder / "attachments/positions.txt").read_text())
    assert first < last
