"""Points from other sources become series like those of a sweep."""

from __future__ import annotations

import re
from dataclasses import replace

from factories.tables import table
from openslob.analyze.curves.external_points import ExternalPoint, external_point_set
from openslob.analyze.curves.points import ORDER
from openslob.record.model import Holds, Verdict
from openslob.report.charts.petals import petal_rows
from openslob.report.picture_files import draw_external_points
from openslob.report.set_summary import axis_text, set_summary_lines

RATES = {1: (7_000, 107), 8: (41_000, 136), 16: (80_000, 170), 64: (99_000, 602)}


def found(series="8k", **more):
    return [
        ExternalPoint(series, n, {"pio_read_per_s": rate, "engine_read_latency_us": us}, f"{series}/{n}", **more)
        for n, (rate, us) in RATES.items()
    ]


def test_a_line_for_each_series_by_name_with_knee_and_peak():
    points = external_point_set([*found("16k"), *found("8k")])
    assert [series.label for series in points.series] == ["8k", "16k"]
    assert [point.sessions for point in points.series[0].points] == [1, 8, 16, 64]
    assert (points.series[0].knee_result.knee, points.series[0].knee_result.peak) == (16, 64)


def test_reports_of_the_same_point_are_repeats():
    (series,) = external_point_set([*found(), ExternalPoint("8k", 1, {"pio_read_per_s": 9_000}, "again")]).series
    estimate = series.points[0].figure("pio_read_per_s")
    assert (estimate.mean, estimate.n, estimate.half_width is None) == (8_000, 2, False)
    assert series.points[0].figure("engine_read_latency_us").n == 1
    assert series.points[0].record_ids == ("8k/1", "again")


def test_what_is_not_given_is_unknown_with_a_reason():
    estimate = external_point_set(found()).points[0].figure("redo_mb_per_s")
    assert (estimate.mean, estimate.why) == (None, "8k/1 does not contain it")


@table("ending", [".html", ".svg"])
def test_doubts_and_what_the_latency_is_called_are_in_the_picture(ending):
    doubt = Verdict(name="average_is_typical", verdict=Holds.FAILS, why="two modes")
    text = draw_external_points(found(verdicts=[doubt]), ending, "Title", ["Mind this."], "Log file sync").decode()
    assert "Log file sync (µs)" in text
    assert "Mind this." in text
    assert "pale: may differ, a verdict fails" in text
    assert ("two modes" in text) == (ending == ".html")


def test_points_whose_session_counts_are_unknown_are_told_by_their_order_and_have_no_knee():
    rates = {"pio_read_per_s": (9_000, 30_000, 40_000, 41_000), "engine_read_latency_us": (110, 130, 200, 800)}
    given = [
        ExternalPoint("8k", place, dict(zip(rates, figures, strict=True)), f"{place}.txt", along=ORDER)
        for place, figures in enumerate(zip(*rates.values(), strict=True), start=1)
    ]
    points = external_point_set(given)
    (series,) = points.series
    assert (series.knee, series.peak.at, axis_text(points)) == (None, "report 4", "the order of the reports")
    (answer,) = set_summary_lines(points, is_physical=False)
    assert "at report 4, its peak; a knee needs" in answer
    assert "session," not in answer


def test_arrow_heads_follow_the_lines_in_a_picture_of_several_panels_too():
    points = [replace(point, figures={**point.figures, "pio_read_mb_per_s": 9.0}) for point in found()]
    drawn = draw_external_points(points, ".svg", "title", [], "latency").decode()
    heads = [float(angle) for angle in re.findall(r"rotate\((-?[0-9.]+)\)", drawn)]
    # The second panel's lines go straight up: all its points have the same rate. Axis titles are turned by 90, too.
    assert [angle for angle in heads if -89 < angle < 0], "the heads of the first panel point up and to the right"
    assert heads.count(-90) == 2 + 3


def test_reports_of_different_databases_or_without_session_counts_are_not_joined():
    points = [*found(database="ERP 1"), *found(database="CRM 2")]
    assert [series.label for series in external_point_set(points).series] == ["CRM 2, 8k", "ERP 1, 8k"]
    page = draw_external_points(points, ".html", "title", [], "latency").decode()
    assert ("This platform" in page, "ERP 1, 8k: 80,000 engine reads/s" in page) == (False, True)
    assert "This platform" in draw_external_points(found(database="ERP 1"), ".html", "title", [], "latency").decode()

    unordered = found(along=ORDER, database="ERP 1")
    rows = petal_rows(external_point_set(unordered), "pio_read_per_s")
    assert len({row["stretch"] for row in rows}) == len(rows) == len(RATES), "no line joins them"
    assert "This platform" not in draw_external_points(unordered, ".html", "title", [], "latency").decode()
