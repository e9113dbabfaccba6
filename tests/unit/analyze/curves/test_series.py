"""Knee, peak, trend, scaling and latency limits on synthetic curves with known answers, with and without noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.records import Made, physical
from factories.tables import table
from openslob.analyze.curves import points as module_of_points
from openslob.analyze.curves.points import Run, points
from openslob.analyze.curves.series import (
    CACHED,
    PHYSICAL,
    CurvePoint,
    TailTrend,
    find_knee,
    label,
    latency_figure,
    parse_latency_us,
    point_set,
)
from openslob.analyze.curves.usl import NoFit, Scaling, fit
from openslob.analyze.statistics import Estimate, of_repeats
from openslob.core.errors import UsageError
from openslob.metrics.run_metrics import latency_of
from openslob.record.model import Figure, Holds, InstanceRow, RunRecord, Status, Verdict
from openslob.report.set_summary import mismatch_text

COUNTS = (1, 2, 4, 8, 16, 32, 64)


def curve(throughput: list[float], latency: list[float]) -> list[CurvePoint]:
    return [CurvePoint(n, x, y) for n, x, y in zip(COUNTS, throughput, latency, strict=False)]


def closed(capacity_sessions: float, service_us: float = 100.0) -> list[CurvePoint]:
    """Ideal device: throughput grows with sessions up to ``capacity_sessions``, then only latency does."""
    return [
        CurvePoint(n, min(n, capacity_sessions) / service_us * 1e6, service_us * max(1, n / capacity_sessions))
        for n in COUNTS
    ]


@table("capacity", [4, 8, 16, 32])
def test_knee_of_an_ideal_device_is_where_it_is_full(capacity: int) -> None:
    found = find_knee(closed(capacity))
    assert (found.knee, found.tail_trend) == (capacity, TailTrend.FLAT)


@table("capacity", [4, 8, 16])
def test_knee_stays_under_noise_of_two_percent(capacity: int) -> None:
    rng = np.random.default_rng(3)
    knees = []
    for _ in range(200):
        noisy = [
            CurvePoint(p.sessions, p.throughput * (1 + 0.02 * rng.normal()), p.latency_us * (1 + 0.02 * rng.normal()))
            for p in closed(capacity)
        ]
        knees.append(find_knee(noisy).knee)
    assert np.mean([knee == capacity for knee in knees]) >= 0.95


def test_a_line_that_comes_back_has_knee_peak_and_turn() -> None:
    found = find_knee(curve([10, 19, 35, 52, 56, 48, 40], [100, 104, 115, 155, 290, 680, 1600]))
    assert (found.knee, found.peak, found.tail_trend) == (8, 16, TailTrend.FALLING)
    assert found.fall_pct == pytest.approx(100 * (1 - 40 / 56))


def test_a_petal_whose_latency_falls_on_the_way_back() -> None:
    """The server's CPU is exhausted: fewer reads reach the storage, which answers faster again."""
    found = find_knee(curve([10, 19, 36, 60, 70, 60, 50], [200, 205, 215, 240, 270, 235, 215]))
    assert (found.peak, found.tail_trend) == (16, TailTrend.FALLING)
    assert found.knee == 16


def test_a_line_still_rising_has_no_knee_and_says_so() -> None:
    found = find_knee(curve([10, 20, 40, 80, 160], [100, 100, 101, 101, 102]))
    assert (found.knee, found.peak, found.tail_trend) == (None, 16, TailTrend.RISING)
    assert "points beyond it may show the knee" in found.why


def test_driving_a_line_further_does_not_move_its_knee() -> None:
    points_ = [CurvePoint(n, min(n, 8) * 1e4, 100 * max(1, n / 8)) for n in (*COUNTS, 128, 256, 512, 1024)]
    assert find_knee(points_).knee == find_knee(points_[:5]).knee == 8


def test_a_line_that_flattens_slowly_has_its_knee_where_doubling_sessions_brings_less_than_a_quarter() -> None:
    gains = [1.9, 1.7, 1.5, 1.3, 1.2, 1.1]
    throughput = [100.0]
    for gain in gains:
        throughput.append(throughput[-1] * gain)
    latency = [n / x for n, x in zip(COUNTS, throughput, strict=True)]
    assert find_knee(curve(throughput, latency)).knee == 16


def test_two_points_are_not_enough() -> None:
    found = find_knee(curve([10, 20], [100, 120]))
    assert (found.knee, found.peak) == (None, 2)
    assert "not enough data" in found.why
    assert find_knee([]).peak is None


def test_throughput_that_never_grows_has_its_knee_at_once() -> None:
    assert find_knee(curve([50, 50, 50, 50], [20, 40, 80, 160])).knee == 1


@given(st.permutations(range(7)), st.floats(0.001, 1000), st.floats(0.001, 1000))
def test_shape_depends_neither_on_units_nor_on_order(order: list[int], scale_x: float, scale_y: float) -> None:
    plain = curve([10, 19, 35, 52, 56, 48, 40], [100, 104, 115, 155, 290, 680, 1600])
    scaled = [CurvePoint(p.sessions, p.throughput * scale_x, p.latency_us * scale_y) for p in plain]
    found = find_knee([scaled[at] for at in order])
    assert (found.knee, found.peak, found.tail_trend) == (8, 16, TailTrend.FALLING)


def usl(n: float, lam: float, sigma: float, kappa: float) -> float:
    return lam * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


@given(st.floats(1, 1e5), st.floats(0, 0.5), st.floats(0, 0.01))
def test_fit_finds_the_law_that_made_the_points(lam: float, sigma: float, kappa: float) -> None:
    found = fit(COUNTS, [usl(n, lam, sigma, kappa) for n in COUNTS])
    assert isinstance(found, Scaling)
    assert found.lambda_per_s == pytest.approx(lam, rel=1e-3)
    assert found.sigma == pytest.approx(sigma, abs=1e-3)
    assert found.kappa == pytest.approx(kappa, abs=1e-5)
    assert found.r2 > 0.999


def test_fit_under_noise_comes_near_and_says_how_good_it_is() -> None:
    rng = np.random.default_rng(5)
    fits = [fit(COUNTS, [usl(n, 1e4, 0.05, 0.002) * (1 + 0.02 * rng.normal()) for n in COUNTS]) for _ in range(50)]
    good = [found for found in fits if isinstance(found, Scaling)]
    assert len(good) == 50
    assert np.median([found.sigma for found in good]) == pytest.approx(0.05, abs=0.01)
    assert np.median([found.kappa for found in good]) == pytest.approx(0.002, rel=0.1)
    assert all(found.r2 >= 0.95 for found in good)


def test_amdahl_is_the_law_without_coherence() -> None:
    found = fit(COUNTS, [usl(n, 1000, 0.1, 0) for n in COUNTS])
    assert isinstance(found, Scaling)
    assert found.kappa == pytest.approx(0, abs=1e-9)
    assert found.lambda_per_s / found.sigma == pytest.approx(10_000, rel=1e-3)


def test_fit_of_a_line_that_does_not_follow_the_law_is_not_called_good() -> None:
    found = fit(COUNTS, [10, 5, 40, 8, 60, 5, 50])
    assert isinstance(found, NoFit) or found.r2 < 0.95


@table("rates", [[10, 20, 30], [5, 5, 5, 5]])
def test_no_fit_where_there_is_nothing_to_fit(rates: list[float]) -> None:
    found = fit(COUNTS[: len(rates)], rates)
    assert isinstance(found, NoFit)
    assert found.why


def run(sessions: int, reads: float, read_us: float, *, limit: str | None = None, **spec: object) -> Run:
    made = Made(sessions=sessions, visits=reads / 0.937, read_us=read_us)
    record = physical(made, record_id=f"20260301-{sessions:02}{int(reads) % 100:02}00-{reads:.0f}-{spec}")
    figures: dict[str, float | str | None] = {"limit": limit, "cpu_pct": 97.0, "device_busy_pct": 60.0}
    verdict = Verdict(name="limit_found", verdict=Holds.HOLDS if limit else Holds.FAILS, why="made up", figures=figures)
    verdicts = (*(each for each in record.verdicts if each.name != "limit_found"), verdict)
    return Run.of(record.model_copy(update={"verdicts": verdicts, "spec": {**record.spec, **spec}}))


CPU, STORAGE = "server's CPU", "storage"


def bending(limits: tuple[str, ...] = (STORAGE, STORAGE, STORAGE, CPU, CPU, CPU), **spec: object) -> list[Run]:
    rates, latency = [10e3, 19e3, 35e3, 52e3, 56e3, 48e3], [100, 104, 115, 155, 290, 680]
    return [run(n, x, y, limit=limit, **spec) for n, x, y, limit in zip(COUNTS, rates, latency, limits, strict=False)]


def test_lines_are_told_apart_by_what_varies_and_ordered_by_it() -> None:
    runs = [*bending(update_pct=30), *bending(update_pct=0), *bending(update_pct=10)]
    found = point_set(list(reversed(runs)))
    assert [series.label for series in found.series] == ["0 % updates", "10 % updates", "30 % updates"]
    assert found.varying == ("update_pct",)
    assert found.common["block_size"] == 8192
    for series in found.series:
        assert [point.sessions for point in series.points] == list(COUNTS[:6])


def test_the_exhausted_resource_and_from_where() -> None:
    (series,) = point_set(bending()).series
    assert series.exhausted is not None
    assert (series.exhausted.limit.resource, series.exhausted.sessions) == ("server's CPU", 8)
    assert series.exhausted.limit.figures == {"cpu_pct": 97.0, "device_busy_pct": 60.0}
    assert (series.knee and series.knee.sessions, series.peak and series.peak.sessions) == (8, 16)


def test_a_resource_is_exhausted_from_where_no_other_one_is_the_limit_up_to_the_peak() -> None:
    (series,) = point_set(bending((STORAGE, STORAGE, STORAGE, STORAGE, CPU, CPU))).series
    assert series.exhausted is not None
    assert (series.exhausted.limit.resource, series.exhausted.sessions) == (CPU, 16)


def test_a_knee_far_below_the_peak_is_not_yet_at_the_limit_of_the_peak() -> None:
    """Latency alone makes it the knee: twice the rate is still to be had."""
    rates = {1: 12_400.0, 2: 22_000.0, 4: 26_400.0, 8: 31_000.0, 16: 36_800.0, 32: 39_100.0}
    runs = [run(n, rate, 1e6 * n / rate, limit=STORAGE) for n, rate in rates.items()]
    (series,) = point_set(runs).series
    assert series.knee is not None
    assert series.exhausted is not None
    assert (series.knee.sessions, series.exhausted.sessions) == (2, 16)


def test_nothing_is_exhausted_on_a_line_that_still_rises() -> None:
    runs = [run(n, n * 1e4, 100, limit="storage") for n in COUNTS[:4]]
    assert point_set(runs).series[0].exhausted is None


def test_axes_follow_what_the_runs_are_about() -> None:
    assert point_set(bending()).axes == PHYSICAL
    cached = [Run.of(physical(Made(sessions=n, reads_per_visit=0.0001))) for n in (1, 2)]
    assert point_set(cached).axes == CACHED
    assert point_set(cached).points[0].mean("op_mean_us")
    one, two = ([Run.of(physical(Made(sessions=n)))] for n in (4, 8))
    assert (point_set([*cached, *one]).axes, point_set([*cached, *one, *two]).axes) == (CACHED, PHYSICAL)


def test_runs_on_two_products_or_versions_are_no_repeats_of_each_other() -> None:
    one = physical()
    for name in ("product", "version", "block_size", "cache_bytes", "direct_io"):
        other = one.model_copy(update={"id": "other", "engine": {**one.engine, name: "another"}})
        assert len(points([Run.of(one), Run.of(other)])) == 2, name


def repeats() -> list[RunRecord]:
    return [physical(Made(visits=visits), record_id=f"20260301-120{at}00-pio") for at, visits in enumerate((9e4, 1e5))]


def test_repeats_are_one_point_whatever_their_seed() -> None:
    first, second = repeats()
    second = second.model_copy(update={"spec": {**second.spec, "seed": 2}})
    (point,) = points([Run.of(first), Run.of(second)])
    assert point.record_ids == (first.id, second.id)
    assert point.metrics["block_visits_per_s"].mean == pytest.approx(95_000)
    assert point.metrics["block_visits_per_s"].half_width == pytest.approx(12.706 * 5e3, rel=1e-3)


def test_a_figure_of_a_point_is_computed_once_and_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[float | None] = []

    def estimated(values: list[float | None], starts: list[str]) -> Estimate:
        computed.extend(values)
        return of_repeats([value for value in values if value is not None], starts)

    monkeypatch.setattr(module_of_points, "of_repeats", estimated)
    (point,) = points([Run.of(record) for record in repeats()])
    assert (computed, {"block_visits_per_s", "pio_read_per_s"} <= set(point.metrics)) == ([], True)
    for _ in range(2):
        assert point.mean("block_visits_per_s") == pytest.approx(95_000)
    assert computed == pytest.approx([9e4, 1e5])


def test_a_cluster_is_no_repeat_of_one_of_its_instances() -> None:
    alone = physical()
    instance = InstanceRow(
        target="a", role="read-write", sessions=4, ops=1, rows_read=1, rows_updated=0, conflicts=0, errors=0,
        read_requests=1.0, log_bytes=None,
    )  # fmt: skip
    cluster = alone.model_copy(update={"id": "cluster", "instances": (instance, instance)})
    both = point_set([Run.of(alone), Run.of(cluster)]).series
    assert [(each.label, len(each.points[0].record_ids)) for each in both] == [
        ("1 instances", 1),
        ("2 instances", 1),
    ]


def test_a_setting_changed_between_runs_of_one_line_is_told() -> None:
    made = [physical(Made(sessions=sessions)) for sessions in (1, 2, 2, 4)]
    records = [each.model_copy(update={"id": f"run-{at}"}) for at, each in enumerate(made)]
    alike = point_set([Run.of(record) for record in records])
    assert [series.mismatches for series in alike.series] == [()]
    for at in (2, 3):  # as a sweep that went on after somebody had changed the server
        engine = {**records[at].engine, "settings": {**records[at].engine["settings"], "fsync": "off"}}
        records[at] = records[at].model_copy(update={"engine": engine})
    (series,) = point_set([Run.of(record) for record in records]).series
    before = made[0].engine["settings"].get("fsync")
    assert [(each.name, set(each.values)) for each in series.mismatches] == [("engine.settings.fsync", {before, "off"})]
    assert " engine.settings.fsync is " in mismatch_text(series)


def test_failed_and_interrupted_runs_count_in_no_mean_but_are_named() -> None:
    good, bad = repeats()
    bad = bad.model_copy(update={"status": Status.FAILED, "errors": ("server gone",)})
    (point,) = points([Run.of(good), Run.of(bad)])
    assert point.metrics["block_visits_per_s"].mean == pytest.approx(90_000)
    assert point.left_out == {bad.id: "failed: server gone"}


def test_a_point_without_any_good_run_has_no_figures_but_reasons() -> None:
    bad = repeats()[0].model_copy(update={"status": Status.FAILED})
    found = point_set([Run.of(bad)])
    assert found.points[0].mean("ops_per_s") is None
    assert found.points[0].metrics["ops_per_s"].why
    assert found.series[0].peak is None


def test_a_missing_figure_keeps_its_reason() -> None:
    record = physical(Made(device_share=None))
    estimate = points([Run.of(record)])[0].metrics["dev_read_per_s"]
    assert (estimate.mean, estimate.why) == (None, "the device under the data is not known")
    unnamed = record.model_copy(update={"summary": {"ops_per_s": Figure(value=1, unit="1/s")}})
    assert points([Run.of(unnamed)])[0].metrics["lio_per_s"].mean is None


def test_what_a_sweep_set_tells_points_apart_where_the_record_does_not() -> None:
    runs = [Run.of(physical(), {"cpus": cpus, "block_size": 1}) for cpus in (1, 2)]
    found = point_set(runs)
    assert [series.label for series in found.series] == ["1 CPUs", "2 CPUs"]
    assert found.common["block_size"] == 8192


def test_labels() -> None:
    assert (
        label({"update_pct": 20, "block_size": 16384, "direct_io": False}) == "20 % updates, 16 KB blocks, buffered I/O"
    )
    assert label({}) == "all runs"
    assert label({"do_hotspot": True, "scale": "1G", "cpus": None}) == "do hotspot on, scale 1G, cpus unknown"


@table(("text", "us"), [("500us", 500), ("1.5ms", 1500), ("2 s", 2e6), ("80µs", 80)])
def test_latencies_are_read(text: str, us: float) -> None:
    assert parse_latency_us(text) == us


@table("text", ["500", "us", "0ms", "-1ms", "5m"])
def test_other_texts_are_no_latency(text: str) -> None:
    with pytest.raises(UsageError):
        parse_latency_us(text)


def test_unknown_percentile_is_a_usage_error() -> None:
    assert latency_figure("mean") == "engine_read_latency_us"
    with pytest.raises(UsageError):
        latency_figure("p95")


def test_a_response_time_is_not_the_service_time_of_the_same_operations() -> None:
    record = physical()
    paced = record.model_copy(update={"response": {"select": {**record.latency["select"], "p99_us": 77_000.0}}})
    assert latency_of(paced, "select", "response_p99_us") == 77_000
    assert latency_of(paced, "select", "p99_us") == record.latency["select"]["p99_us"] != 77_000
    assert latency_of(record, "select", "response_p99_us") is None
