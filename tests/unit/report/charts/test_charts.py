"""Pictures: what is drawn are the figures of the record, by the reviewed marks, axes and colours.

One definition, `WHOLE`, is kept in full; of all of them the data and the encoding are compared. After a wanted change:
UPDATE_GOLDEN=1 pytest tests/unit/report/charts, then read the difference and look at the picture:
slob report RECORD --png-dir DIR.
"""

from __future__ import annotations

import json
import math
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from factories import record_files
from factories.paths import GOLDEN
from factories.records import Made, cached, failed, physical, remote, without_whole_cpu
from factories.sweeps import failing, points_of, sweep
from factories.tables import table
from factories.vega_lite import validate
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.core.errors import SlobError
from openslob.metrics import METRICS
from openslob.record.model import Holds, Status, Verdict
from openslob.report import run_series
from openslob.report.charts.comparing import changes, tails
from openslob.report.charts.heat import heat_map
from openslob.report.charts.over_sessions import cpu, latency_percentiles, session_rows
from openslob.report.charts.petals import DOUBTED, SOUND, UNTRUE, arrow_rows, petal_rows, petals, verdict_sign
from openslob.report.charts.picture import Picture, page_specs, png, save_all, svg, whole_spec
from openslob.report.charts.run import latency_histogram, timeline
from openslob.report.charts.theme import LOG_RATIO, count_axis, from_zero, is_log
from openslob.report.record_view import FigureNames

pytestmark = pytest.mark.any_python

GOLDEN = GOLDEN / "charts"
RUNS = sweep(counts=(2, 8, 32), update_pcts=(0, 20), repeats=3)
FAILING = [failing(record, "quiet_machine") if record.spec["sessions"] == 32 else record for record in RUNS]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> run_series.RunSeries:
    folder = tmp_path_factory.mktemp("raw")
    record_files.write(folder)
    return run_series.read(folder, record_files.record())


@pytest.fixture(scope="module")
def pictures(raw: run_series.RunSeries) -> dict[str, Picture]:
    points = points_of(FAILING)
    blocks = points_of(sweep(counts=(2, 8, 32), update_pcts=(0, 20), block_sizes=(4096, 16384), repeats=1))
    before, after = ([Run.of(record) for record in sweep(counts=(8,), update_pcts=(0,), seed=seed)] for seed in (1, 2))
    run = record_files.record()
    found = {
        "petals": petals(points, "pio_read_per_s"),
        "petals-mb": petals(points, "pio_read_mb_per_s"),
        "petals-blocks": petals(blocks, "pio_read_per_s"),
        "latency-percentiles": latency_percentiles(points),
        "cpu": cpu(points),
        "timeline": timeline(run, raw),
        "latency": latency_histogram(run),
        "latency-over-time": heat_map(run, raw),
        "changes": changes(compare(before, after, "before", "after")),
        "tails": tails([("before", RUNS[0]), ("after", RUNS[1])]),
    }
    return {name: picture for name, picture in found.items() if picture is not None}


NAMES = (
    "petals", "petals-mb", "petals-blocks", "latency-percentiles", "cpu", "timeline", "latency", "latency-over-time",
    "changes", "tails",
)  # fmt: skip


WHOLE = "petals"


def test_cpu_is_that_of_sessions_where_only_that_is_known() -> None:
    whole, alone = (cpu(points_of([of(record) for record in RUNS])) for of in (lambda each: each, without_whole_cpu))
    assert whole.title == "CPU, and IOPS per DB CPU, over sessions"
    assert alone.title == "CPU, and IOPS per foreground CPU, over sessions"
    assert len(alone.panels) == len(whole.panels) == 2


def test_data_and_encoding_are_the_reviewed_ones(pictures: dict[str, Picture]) -> None:
    specs = {name: page_specs(pictures[name]) for name in NAMES}
    for spec in (spec for panels in specs.values() for spec in panels):
        validate(_known_to_vega_lite(spec))  # raises for what is no Vega-Lite
    outlines = {name: [outline(spec) for spec in panels] for name, panels in specs.items()}
    assert _rounded(outlines) == reviewed("outlines", outlines)


def test_a_whole_definition_is_the_reviewed_one(pictures: dict[str, Picture]) -> None:
    specs = page_specs(pictures[WHOLE])
    assert _rounded(specs) == reviewed(WHOLE, specs)


def reviewed(name: str, found: object) -> Any:
    file = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(json.dumps(_rounded(found), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def outline(spec: dict[str, Any]) -> dict[str, Any]:
    """Return what a panel shows: its data summed up, and of each layer the mark and what each channel stands for."""
    sources = {name: summary(rows) for name, rows in spec.get("datasets", {}).items()}
    named = {name: f"data {number}" for number, name in enumerate(sources, 1)}
    return {
        "description": spec["description"],
        "data": {named[name]: columns for name, columns in sources.items()},
        "layers": [_layer(layer, spec, named) for layer in spec.get("layer", [spec])],
    }


def _layer(layer: dict[str, Any], spec: dict[str, Any], named: dict[str, str]) -> dict[str, Any]:
    data = layer.get("data", spec.get("data", {}))
    return {
        "mark": layer["mark"]["type"],
        "data": named.get(data.get("name", "")),
        **{channel: _channel(encoding) for channel, encoding in layer["encoding"].items() if channel != "tooltip"},
        "tooltip": [each["field"] for each in layer["encoding"].get("tooltip", ())],
    }


def _channel(encoding: Any) -> Any:
    if isinstance(encoding, list):  # of `detail`
        return [each["field"] for each in encoding]
    scale = encoding.get("scale") or {}
    shown = {
        "field": encoding.get("field"),
        "type": encoding.get("type"),
        "title": encoding.get("title") or (encoding.get("axis") or {}).get("title"),
        "scale": scale.get("type"),
        "domain": scale.get("domain"),
    }
    return {name: value for name, value in shown.items() if value is not None} or encoding


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return each column of a data set: the sum of its numbers, or its different texts."""
    columns: dict[str, list[Any]] = {}
    for row in rows:
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return {"rows": len(rows), **{name: _summed(values) for name, values in columns.items()}}


def _summed(values: list[Any]) -> Any:
    numbers = [value for value in values if isinstance(value, int | float)]
    texts = sorted({str(value) for value in values if not isinstance(value, int | float)})
    return (
        {"sum": math.fsum(numbers)} if numbers and not texts else texts if not numbers else [math.fsum(numbers), *texts]
    )


@pytest.mark.parametrize("name", NAMES)
def test_svg_is_drawn_with_marks_and_says_what_it_shows(name: str, pictures: dict[str, Picture]) -> None:
    drawn = svg(pictures[name])
    root = ET.fromstring(drawn)
    assert len(root.findall(".//{http://www.w3.org/2000/svg}path")) > 20
    assert "NaN" not in drawn
    assert whole_spec(pictures[name])["description"] == pictures[name].description


def test_png_is_one(pictures: dict[str, Picture], tmp_path: Path) -> None:
    assert png(pictures["petals"]).startswith(b"\x89PNG")
    (path,) = save_all([pictures["cpu"]], tmp_path / "new", "svg")
    assert path.name == "cpu.svg"
    assert path.read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(SlobError, match="can't be written"):
        save_all([pictures["cpu"]], path / "below-a-file", "svg")


def test_petals_draw_the_means_and_intervals_of_the_record() -> None:
    points = points_of(RUNS)
    rows = petal_rows(points, "pio_read_per_s")
    assert len(rows) == 6
    first = next(row for row in rows if row["line"] == "0 % updates" and row["sessions"] == 8)
    values = [
        record.summary["pio_read_per_s"].value or 0.0
        for record in RUNS
        if record.spec["sessions"] == 8 and record.spec["update_pct"] == 0
    ]
    assert first["x"] == pytest.approx(sum(values) / 3)
    assert first["x_low"] < first["x"] < first["x_high"]
    assert first["y_low"] < first["y"] < first["y_high"]
    assert first["runs"] == 3


def test_the_points_of_a_line_are_drawn_in_the_order_of_their_sessions() -> None:
    rows = petal_rows(points_of(list(reversed(RUNS))), "pio_read_per_s")
    assert [row["sessions"] for row in rows if row["line"] == "20 % updates"] == [2, 8, 32]
    assert [row["order"] for row in rows if row["line"] == "20 % updates"] == [0, 1, 2]


def test_a_point_without_the_figure_is_left_out() -> None:
    assert petal_rows(points_of([remote()]), "pio_read_per_s") == []
    assert petals(points_of([remote()]), "pio_read_per_s").panels == ()


def test_a_line_is_broken_where_a_point_is_missing_and_the_picture_says_so() -> None:
    records = [
        each.model_copy(update={"status": Status.FAILED})
        if each.spec["sessions"] == 8 and each.spec["update_pct"] == 0
        else each
        for each in RUNS
    ]
    points = points_of(records)
    rows = petal_rows(points, "pio_read_per_s")
    assert [(row["sessions"], row["stretch"]) for row in rows if row["line"] == "0 % updates"] == [(2, 0), (32, 1)]
    arrows = arrow_rows(rows, {"x": False, "y": False})
    assert [arrow["line"] for arrow in arrows] == ["20 % updates"] * 2
    assert petals(points, "pio_read_per_s").notes[1:] == ("No result: 0 % updates with 8 sessions.",)
    assert [row["stretch"] for row in session_rows(points, "ops_per_s")][:2] == [0, 1]


def test_arrows_lie_between_neighbours_of_one_line_only() -> None:
    rows = petal_rows(points_of(RUNS), "pio_read_per_s")
    arrows = arrow_rows(rows, {"x": False, "y": True})
    assert len(arrows) == 4
    assert arrows[0]["x_mid"] == pytest.approx((rows[0]["x"] + rows[1]["x"]) / 2)
    assert arrows[0]["y_mid"] == pytest.approx(math.sqrt(rows[0]["y"] * rows[1]["y"]))
    assert (arrows[0]["x_from"], arrows[0]["x_to"]) == (rows[0]["x"], rows[1]["x"])


@table(
    ("failed", "sign"),
    [
        ({}, SOUND),
        ({"limit_found": {}}, SOUND),
        ({"driver_quiet": {"driver_cpu_pct_of_db": 2.1}}, SOUND),
        ({"driver_quiet": {"driver_cpu_pct_of_db": 10.0}}, DOUBTED.name),
        ({"quiet_machine": {}}, DOUBTED.name),
        ({"quiet_machine": {}, "reads_reached_device": {}}, UNTRUE.name),
    ],
)
def test_a_verdict_that_fails_is_in_the_picture(failed: dict[str, dict[str, float]], sign: str) -> None:
    verdicts = tuple(Verdict(name=name, verdict=Holds.FAILS, why="x", figures=failed[name]) for name in failed)
    points = points_of([RUNS[0].model_copy(update={"verdicts": verdicts})])
    assert verdict_sign(points.points[0].severity) == sign
    assert petal_rows(points, "pio_read_per_s")[0]["doubt"] == sign


def test_only_signs_that_some_point_bears_are_in_the_legend() -> None:
    sound, doubted = (json.dumps(page_specs(petals(points_of(some), "pio_read_per_s"))) for some in (RUNS, FAILING))
    # The legend has it as a value of its own; conditions have it within an expression.
    assert f'"{DOUBTED.name}"' not in sound
    assert f'"{DOUBTED.name}"' in doubted


def test_block_sizes_have_colours_and_update_shares_dashes() -> None:
    points = points_of(sweep(counts=(2, 8, 32), update_pcts=(0, 20), block_sizes=(4096, 16384), repeats=1))
    rows = petal_rows(points, "pio_read_per_s")
    assert {row["colour"] for row in rows} == {"4 KB blocks", "16 KB blocks"}
    assert {row["dash"] for row in rows} == {"0 % updates", "20 % updates"}
    only = petal_rows(
        points_of(sweep(counts=(2,), update_pcts=(0,), block_sizes=(4096, 16384), repeats=1)), "ops_per_s"
    )
    assert {(row["colour"], row["dash"]) for row in only} == {("4 KB blocks",) * 2, ("16 KB blocks",) * 2}


def test_sixteen_lines_are_told_apart_without_colour() -> None:
    points = points_of(sweep(counts=(2, 8), update_pcts=range(0, 80, 5), repeats=1))
    (spec,) = page_specs(petals(points, "pio_read_per_s"))
    scales = {
        channel: each["encoding"][channel]["scale"]
        for each in spec["layer"]
        for channel in ("color", "shape", "strokeDash")
        if channel in each["encoding"] and "scale" in each["encoding"][channel]
    }
    samples = [
        (scales["shape"]["range"][at], tuple(scales["strokeDash"]["range"][at]), scales["color"]["range"][at])
        for at in range(16)
    ]
    assert len(set(samples)) == 16
    assert len({(shape, dash) for shape, dash, _ in samples}) >= 14


def test_axis_titles_have_the_units_of_the_registry_and_physical_is_said_only_where_it_is_so() -> None:
    assert FigureNames().axis("pio_read_mb_per_s") == "Physical reads (MB/s)"
    assert FigureNames(physical=False).axis("pio_read_mb_per_s") == "Engine reads (MB/s)"
    assert FigureNames(physical=False).axis("iops_per_db_cpu") == "Engine reads per DB CPU (1/s)"
    assert FigureNames().axis("update_p99_us") == "Update: p99 latency (µs)"
    assert all(METRICS[name].unit in FigureNames().axis(name) for name in METRICS)


def test_a_logarithmic_axis_only_where_the_values_lie_far_apart() -> None:
    assert not is_log(from_zero([10.0, 10.0 * LOG_RATIO]))
    assert is_log(from_zero([10.0, 10.1 * LOG_RATIO]))
    assert from_zero([10.0, 20.0]).to_dict()["domain"][0] == 0
    assert not is_log(from_zero([]))


def test_every_session_count_has_its_tick() -> None:
    assert count_axis([8, 1, 8, 3]).to_dict()["axis"]["values"] == [1, 3, 8]


def test_figures_over_sessions_are_those_of_the_record() -> None:
    rows = session_rows(points_of(RUNS), "host_cpu_busy_pct")
    assert len(rows) == 6
    want = [r.summary["host_cpu_busy_pct"].value or 0 for r in RUNS[:3]]
    assert rows[0]["value"] == pytest.approx(sum(want) / 3)
    assert session_rows(points_of([remote()]), "host_cpu_busy_pct") == []


def test_a_run_without_measurements_has_no_pictures() -> None:
    empty = run_series.read(Path("/nonexistent"), failed())
    assert timeline(failed(), empty).panels == ()
    assert latency_histogram(failed()) is None
    assert heat_map(failed(), empty) is None
    assert heat_map(physical(), run_series.read(Path("/nonexistent"), physical())) is None


def test_cached_runs_are_drawn_by_logical_reads() -> None:
    points = points_of([cached()])
    assert points.axes.throughput == "lio_per_s"
    assert petal_rows(points, points.axes.throughput)[0]["x"] == cached().summary["lio_per_s"].value
    assert Made().sessions == 8


def _known_to_vega_lite(spec: dict[str, Any]) -> dict[str, Any]:
    """Without the layout of legends, which Vega-Lite hands on to Vega but does not have in its schema."""
    config = dict(spec["config"])
    config["legend"] = {name: value for name, value in config["legend"].items() if name != "layout"}
    return {**spec, "config": config}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value
