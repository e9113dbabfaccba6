"""Reports of runs with batches: each text, axis and heading that has a latency says that it is that of a batch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from factories import record_files
from factories.batches import batched
from factories.records import cached
from factories.sweeps import points_of
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.history import histories
from openslob.kinds.sweep.screen import answer_of
from openslob.report import run_series
from openslob.report.charts.comparing import tails
from openslob.report.charts.heat import heat_map
from openslob.report.charts.over_sessions import latency_percentiles
from openslob.report.charts.petals import petals
from openslob.report.charts.picture import Picture, whole_spec
from openslob.report.charts.run import latency_histogram, timeline
from openslob.report.compare_screen import comparison_screen
from openslob.report.comparison import comparison_document
from openslob.report.run_screen import key_figures
from openslob.report.several_runs import names_for
from openslob.report.terminal import render_text

SIZE = 16
ONE = f"batch of {SIZE} operations"
RUNS = [batched(cached(), size) for size in (1, SIZE)]


def axes(picture: Picture | None) -> list[str]:
    """The titles of the axes of latencies."""
    assert picture is not None
    found = re.findall(r'"title": "([^"]*\(µs\))"', json.dumps(whole_spec(picture), ensure_ascii=False))
    return [each for each in dict.fromkeys(found) if "latency" in each]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> run_series.RunSeries:
    folder = tmp_path_factory.mktemp("raw")
    record_files.write(folder)
    return run_series.read(folder, record_files.record())


def pictures_of(size: int, raw: run_series.RunSeries) -> Iterator[Picture | None]:
    run, record = batched(record_files.record(), size), batched(cached(), size)
    points = points_of([record])
    yield from (timeline(run, raw), heat_map(run, raw), latency_histogram(run), tails([("a", record)]))
    yield from (latency_percentiles(points), petals(points, "lio_per_s", names_for([record])))


def test_every_axis_of_a_latency_says_it(raw: run_series.RunSeries) -> None:
    found = [axis for picture in pictures_of(SIZE, raw) for axis in axes(picture)]
    assert found == [
        "batch of 16 with select latency (µs)", "batch of 16 with update latency (µs)",
        "batch of 16 with select latency (µs)", "batch of 16 with update latency (µs)",
        "batch of 16 with select latency (µs)", "batch of 16 with update latency (µs)",
        "latency of a batch of 16 operations (µs)", "latency of a batch of 16 operations (µs)", "batch latency (µs)",
        "Batch of 16 operations: mean latency (µs)",
    ]  # fmt: skip
    assert not [axis for picture in pictures_of(1, raw) for axis in axes(picture) if "batch" in axis]


def test_titles_of_pictures_say_it(raw: run_series.RunSeries) -> None:
    titles = [picture.title for picture in pictures_of(SIZE, raw) if picture]
    assert titles[1:5] == [
        "Latency of batches of 16 operations over time", "Latency of batches of 16 operations",
        "Latency of batches of 16 operations, side by side",
        "Latency percentiles of batches of 16 operations over sessions",
    ]  # fmt: skip
    assert not [picture.title for picture in pictures_of(1, raw) if picture and "batch" in picture.title]


def test_the_one_page_has_it() -> None:
    assert [dict(key_figures(record)).keys() & {"p99 of an operation", f"p99 of a {ONE}"} for record in RUNS] == [
        {"p99 of an operation"}, {f"p99 of a {ONE}"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "label"),
    [((1, 1), "select p99"), ((16, 16), "batch of 16 with select p99"), ((1, 16), "batch of PIPELINE with select p99")],
)
def test_a_comparison_names_both_sides(sizes: tuple[int, int], label: str) -> None:
    a, b = ([Run.of(batched(cached(), size))] for size in sizes)
    comparison = compare(a, b)
    screen = comparison_screen(comparison)
    assert label in [row[0] for part in screen.parts[:1] for row in getattr(part, "rows", ())]
    assert label[:1].upper() + label[1:] in render_text(comparison_document(comparison))


def test_a_sweep_says_it_in_its_answer() -> None:
    for record, whose in zip(RUNS, ("an operation", f"a {ONE}"), strict=True):
        assert whose in answer_of(points_of([record]), {record.id: record})[0]


def test_a_history_names_it() -> None:
    (found,) = histories([RUNS[1]])
    assert found.timed.size == SIZE
    assert "client loop in batches of 16" in found.load
