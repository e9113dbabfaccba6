"""What is drawn of a run over time are its raw measurements, taken together in steps."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest

from factories import record_files
from factories.tables import table
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, bucket_of
from openslob.metrics.model import TimelinePanel
from openslob.metrics.waits import CPU_ROW
from openslob.report import run_series
from openslob.report.charts import over_time
from openslob.report.charts.heat import heat_map
from openslob.report.charts.run import timeline
from openslob.report.run_series import HostReading, WaitSamples


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> run_series.RunSeries:
    folder = tmp_path_factory.mktemp("raw")
    record_files.write(folder)
    return run_series.read(folder, record_files.record())


def test_raw_files_are_read_on_the_load_s_own_time(raw: run_series.RunSeries) -> None:
    assert [round(interval.begin_s, 3) for interval in raw.engine] == [0, 1, 2, 3, 4, 5]
    assert raw.engine[-1].end_s == pytest.approx(6.05)
    assert raw.engine[0].amounts["read_requests"] == 72_000
    assert raw.waits[0].at_s == pytest.approx(0)
    assert raw.host[6].at_s == pytest.approx(6)
    assert raw.latency["select"][3].count == 12


def test_rates_over_time_are_the_engine_s_amounts_per_second(raw: run_series.RunSeries) -> None:
    rows = over_time.engine_rates(raw.engine, TimelinePanel.REQUESTS)
    reads = [row["value"] for row in rows if row["figure"] == "pio_read_per_s"]
    assert reads[:5] == pytest.approx([72_000, 72_000, 72_000, 720, 72_000])
    assert reads[5] == pytest.approx(72_000 / 1.05)
    assert not any(row["figure"] == "pio_write_per_s" for row in rows)  # not known, so not drawn as 0
    redo = over_time.engine_rates(raw.engine, TimelinePanel.SIZES)
    assert next(row["value"] for row in redo if row["figure"] == "redo_mb_per_s") == pytest.approx(3)


def test_a_long_run_is_merged_and_not_sampled() -> None:
    intervals = [run_series.EngineInterval(at, at + 1.0, {"read_requests": float(at)}) for at in range(1000)]
    rows = over_time.engine_rates(intervals, TimelinePanel.REQUESTS)
    assert len(rows) <= over_time.MOST_STEPS
    assert sum(row["value"] * (row["to_s"] - row["from_s"]) for row in rows) == pytest.approx(sum(range(1000)))


def test_steps_of_several_intervals_have_their_lowest_and_highest_rate() -> None:
    intervals = [
        run_series.EngineInterval(at, at + 1.0, {"read_requests": 500.0 if at == 7 else 100.0}) for at in range(600)
    ]
    first, second, *_ = over_time.engine_rates(intervals, TimelinePanel.REQUESTS)
    assert (second["value"], second["low"], second["high"]) == pytest.approx((180, 100, 500))
    assert (first["low"], first["high"]) == (100, 100)
    readings = [
        run_series.HostReading(at, {"device.dev_reads": 100.0 * at + (400 if at > 7 else 0)}) for at in range(601)
    ]
    rows = over_time.device_rates(readings, TimelinePanel.REQUESTS)
    spread = [(row["low"], row["high"]) for row in rows if row["figure"] == "dev_read_per_s"]
    assert sum(high == pytest.approx(500) for _, high in spread) == 1


def test_only_intervals_in_which_counting_kept_pace_are_drawn() -> None:
    # Five sessions' slices of five seconds: in the first and the last of them the engine counts less than was done.
    intervals = [run_series.EngineInterval(at, at + 1.0, {"read_requests": 1.0}) for at in range(20)]
    assert [each.begin_s for each in over_time.evenly_counted(intervals, (5.5, 18.5))] == list(range(6, 18))
    assert [each.begin_s for each in over_time.evenly_counted(intervals, None)] == list(range(1, 19))


def test_counts_that_never_kept_pace_are_not_drawn_but_were_recorded(raw: run_series.RunSeries) -> None:
    drawn = timeline(record_files.record(), dataclasses.replace(raw, even_s=(5.0, 0.0), host=()))
    assert drawn.description.startswith("Over 6 s of load: latency of selects")
    assert [note for note in drawn.notes if note.startswith("Not")] == [
        "Not drawn: the engine's counters at both ends, because a slice is counted when it ends.",
        "Not recorded over time: CPU.",
    ]


@table(("slice_s", "told"), [(0.0, False), (1.3, False), (5.0, True)])
def test_latencies_of_long_slices_are_said_to_be_drawn_late(
    raw: run_series.RunSeries, slice_s: float, told: bool
) -> None:
    of_long = dataclasses.replace(raw, slice_s=slice_s)
    drawn = [timeline(record_files.record(), of_long), heat_map(record_files.record(), of_long)]
    assert [any("took up to 5 s" in note for note in each.notes) for each in drawn if each] == [told, told]


def test_a_device_counter_that_fell_is_a_reset_and_not_drawn(raw: run_series.RunSeries) -> None:
    reads = [
        row for row in over_time.device_rates(raw.host, TimelinePanel.REQUESTS) if row["figure"] == "dev_read_per_s"
    ]
    assert [row["value"] for row in reads] == pytest.approx([70_000] * 4 + [0])
    assert [row["from_s"] for row in reads] == [0, 1, 2, 3, 5]


def test_cpu_is_stacked_by_kind_and_the_server_is_a_part_of_it(raw: run_series.RunSeries) -> None:
    rows = [row for row in over_time.cpu_shares(raw.host) if row["from_s"] == 2]
    shares = {row["kind"]: (round(row["low"], 6), round(row["high"], 6)) for row in rows}
    assert shares == {"user": (0, 25), "system": (25, 40), "interrupts": (40, 45), over_time.SERVER: (0, 35)}


def test_waits_add_up_to_the_sessions_and_the_cpu_has_its_name(raw: run_series.RunSeries) -> None:
    rows = over_time.wait_rows(raw.waits, 6.0)
    assert {row["event"] for row in rows} == {"IO:DataFileRead", CPU_ROW, "Lock:tuple"}
    for second in range(6):
        assert max(row["high"] for row in rows if row["from_s"] == second) == pytest.approx(8)
    assert [row["value"] for row in rows if row["from_s"] == record_files.STALL] == [8]


def test_rare_events_are_taken_together() -> None:
    samples = [WaitSamples(0.1 * at, {f"E{number}": 20 - number for number in range(12)}) for at in range(10)]
    rows = over_time.wait_rows(samples, 1.0)
    assert len(rows) == over_time.MOST_EVENTS + 1
    assert next(row["value"] for row in rows if row["event"] == over_time.OTHERS) == sum(20 - at for at in range(7, 12))


def test_a_percentile_is_drawn_only_where_operations_support_it(raw: run_series.RunSeries) -> None:
    rows = {row["from_s"]: row for row in over_time.latency_bands(raw.latency["select"], 6.0)}
    assert rows[0]["p99_us"] == pytest.approx(8_000 + 37 * 98, rel=0.02)
    assert rows[record_files.STALL] | {"p50_us": None, "p90_us": None, "p99_us": None} == rows[record_files.STALL]


def test_a_sliver_at_the_end_belongs_to_the_last_step() -> None:
    histogram = Histogram({bucket_of(100): 50}, 0.0, math.inf)
    rows = over_time.latency_bands(dict.fromkeys(range(9), histogram), 8.01)
    assert (rows[-1]["from_s"], rows[-1]["to_s"], rows[-1]["count"]) == (7, 8.01, 100)
    readings = [HostReading(at, {"host.cpu_user_s": at, "host.cpu_idle_s": at}) for at in (0.0, 1.0, 2.0, 2.1)]
    assert [row["from_s"] for row in over_time.cpu_shares(readings)] == [0, 1]


def test_the_map_and_the_histogram_hold_every_operation_once(raw: run_series.RunSeries) -> None:
    cells = over_time.heat_cells(raw.latency["select"], 6.0)
    assert sum(cell["count"] for cell in cells) == sum(map(record_files.ops_in, range(6)))
    assert sum(cell["share_pct"] for cell in cells if cell["from_s"] == 0) == pytest.approx(100)
    assert all(cell["from_us"] < cell["to_us"] for cell in cells)
    figures = record_files.record().latency["select"]
    bars = over_time.histogram_bars({bucket_of(edge): count for edge, count in figures["buckets"]})
    assert sum(bar["count"] for bar in bars) == figures["count"]
    assert sum(bar["share_pct"] for bar in bars) == pytest.approx(100)


def test_latencies_below_a_microsecond_have_a_place_on_a_logarithmic_axis() -> None:
    (bar,) = over_time.histogram_bars({0: 7})
    assert 0 < bar["from_us"] < bar["to_us"]


def test_tails_begin_at_all_and_fall() -> None:
    rows = over_time.exceeding({bucket_of(10): 90, bucket_of(500): 9, bucket_of(9000): 1})
    assert [row["share_pct"] for row in rows] == pytest.approx([100, 10, 1])


def test_a_line_that_a_crash_cut_is_left_out_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    record_files.write(tmp_path)
    with (tmp_path / "engine.csv").open("a") as file:
        file.write("17723664")
    assert len(run_series.read(tmp_path, record_files.record()).engine) == 6
    with (tmp_path / "engine.csv").open("a") as file:
        file.write(",x,y,z\n")
    with pytest.raises(SlobError, match="damaged"):
        run_series.read(tmp_path, record_files.record())
