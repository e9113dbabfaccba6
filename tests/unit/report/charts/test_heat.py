"""Maps of latency over time show what is rare and slow, which the mean hides."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest

from factories import record_files
from factories.records import START_NS
from openslob.analyze.heat import cells, cells_of_durations
from openslob.core.histogram import Histogram, bucket_of, middle_us
from openslob.core.units import NANOS
from openslob.record.raw_csv import RawCsv
from openslob.report import run_series
from openslob.report.charts import over_time
from openslob.report.charts.heat import FREQUENCY, INTENSITY, engine_map, heat_map
from openslob.report.charts.picture import Picture, page_specs

FAST_US, SLOW_US = 100, 10_000
SECONDS, SLOW_SECOND = 6, 3


def latencies(*counted: tuple[int, int]) -> Histogram:
    made = Histogram()
    for us, count in counted:
        made.add({bucket_of(us): count}, us * count, us)
    return made


def with_second_mode() -> dict[int, Histogram]:
    """2,000 operations a second of 0.1 ms; in one second, 20 of them take 10 ms."""
    return {
        second: latencies((FAST_US, 1_980), (SLOW_US, 20)) if second == SLOW_SECOND else latencies((FAST_US, 2_000))
        for second in range(SECONDS)
    }


def test_a_second_mode_that_the_mean_hides_is_seen() -> None:
    rows = over_time.heat_cells(with_second_mode(), SECONDS)
    (slow,) = (row for row in rows if row["from_us"] > 1_000)
    assert (slow["from_s"], slow["to_s"], slow["count"]) == (SLOW_SECOND, SLOW_SECOND + 1, 20)
    assert slow["from_us"] <= SLOW_US < slow["to_us"]
    assert slow["share_pct"] == pytest.approx(1)
    assert slow["time_pct"] == pytest.approx(100 * 20 * 10 / (20 * 10 + 1_980 * 0.1), rel=0.02)
    # The mean of that second is 0.2 ms, where no operation is; nor does p90 tell of it.
    mean = sum(row["time_us"] for row in rows if row["from_s"] == SLOW_SECOND) / 2_000
    assert mean == pytest.approx(199, rel=0.02)
    assert not any(row["from_us"] <= mean < row["to_us"] for row in rows)
    assert over_time.latency_bands(with_second_mode(), SECONDS)[SLOW_SECOND]["p90_us"] == pytest.approx(100, rel=0.02)


def test_shares_are_those_of_the_step() -> None:
    rows = over_time.heat_cells(with_second_mode(), SECONDS)
    for second in range(SECONDS):
        of_second = [row for row in rows if row["from_s"] == second]
        assert sum(row["share_pct"] for row in of_second) == pytest.approx(100, rel=1e-3)
        assert sum(row["time_pct"] for row in of_second) == pytest.approx(100, rel=1e-3)


def test_cells_hold_every_operation_once_and_its_time() -> None:
    counts = {bucket_of(us): us for us in (1, 7, 50, 99, 400, 9_000, 2_000_000, 200_000_000)}
    found = cells(counts)
    assert sum(cell.count for cell in found) == sum(counts.values())
    assert sum(cell.time_us for cell in found) == sum(middle_us(bucket) * count for bucket, count in counts.items())
    assert all(before.to_us <= after.from_us for before, after in itertools.pairwise(found))
    (below,) = cells({0: 4})
    assert (below.count, below.time_us) == (4, 2.0)


def test_the_picture_has_both_maps_of_each_kind(tmp_path: Path) -> None:
    record_files.write(tmp_path)
    raw = run_series.read(tmp_path, record_files.record())
    drawn = heat_map(record_files.record(), raw)
    assert legends(drawn) == [FREQUENCY.of.format("operations"), INTENSITY.of] * 2


def legends(picture: Picture | None) -> list[str]:
    assert picture
    return [spec["layer"][0]["encoding"]["color"]["legend"]["title"] for spec in page_specs(picture)]


def test_waits_that_the_engine_counts_by_duration_are_drawn(tmp_path: Path) -> None:
    record, event = record_files.record(), "User I/O:db file sequential read"
    with RawCsv(tmp_path) as raw:
        for second in range(SECONDS):
            begin = START_NS + second * NANOS
            raw.engine_latency(begin, begin + NANOS, {event: {(64, 128): 990, (8_192, 16_384): 10}})
        # The closing reading came at once: it replaces the last interval.
        raw.engine_latency(begin, begin + NANOS, {event: {(64, 128): 990, (8_192, 16_384): 10}})
        raw.engine_latency(begin, begin + NANOS + 1, {event: {(64, 128): 500}})
    series = run_series.read(tmp_path, record)
    rows = over_time.engine_heat_cells(series.engine_latency[event], SECONDS)
    assert [row["count"] for row in rows] == [990, 10] * (SECONDS - 1) + [500]
    assert rows[1]["share_pct"] == 1
    assert rows[1]["time_pct"] == pytest.approx(100 * 12_287.5 / (12_287.5 + 99 * 95.5), rel=1e-3)
    drawn = engine_map(record, series)
    assert legends(drawn) == ["% of the step's waits", "% of their time"]
    assert any("wide buckets" in note for note in drawn.notes)
    assert engine_map(record, dataclasses.replace(series, engine_latency={})) is None


def test_a_bucket_of_the_engine_counts_by_its_middle() -> None:
    assert [cell.time_us for cell in cells_of_durations({(0, 1): 2, (4, 8): 10})] == [0, 55]
