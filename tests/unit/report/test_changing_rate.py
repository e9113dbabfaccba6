"""A run whose rate changes in the report, the picture, tables and comparisons."""

from __future__ import annotations

from factories.records import Made, histogram, physical
from factories.tables import table
from openslob.analyze.compare import better_of, compare, is_figure, unit_of
from openslob.analyze.curves.points import Run
from openslob.export.tidy import stage_rows
from openslob.metrics import Better
from openslob.record.model import RunRecord, StageRow
from openslob.report.charts.picture import png
from openslob.report.charts.run import changing_rate
from openslob.report.comparison import figure_label
from openslob.report.run_series import RunSeries
from openslob.report.terminal import render_screen
from openslob.report.text import render, run_document

BEHIND = "it did not recover: at the end half of the operations were 5.1 s late"
RAW = RunSeries(
    response={
        "select": {second: histogram(100 + second, 2000.0, 0.4) for second in range(15)},
        "update": {second: histogram(10, 3000.0, 0.4) for second in range(0, 15, 2)},
    }
)


def changing(recovery_s: float | None = 3.0, **made: float) -> RunRecord:
    record = physical(Made(**made))
    rows = ((0.0, 5.0, 100.0, None, ""), (5.0, 10.0, 5000.0, None, BEHIND), (10.0, 15.0, 100.0, recovery_s, ""))
    stages = tuple(
        StageRow(
            begin_s=begin_s, end_s=end_s, first_per_s=rate, last_per_s=rate, ops_per_s=rate / 2,
            response_p50_us=2000.0, response_p99_us=9000.0, recovery_s=after, why=why,
        )
        for begin_s, end_s, rate, after, why in rows
    )  # fmt: skip
    schedule = "0s:100,5s:5000,10s:100"
    return record.model_copy(update={"spec": {**record.spec, "rate_schedule": schedule}, "stages": stages})


@table(("recovery_s", "said"), [(3.0, " 3 s"), (0.0, "at once")])
def test_the_report_has_a_row_for_each_stage(recovery_s: float, said: str) -> None:
    text = render(changing(recovery_s))
    rows = [line.split() for line in text.splitlines() if " to " in line and line.split()[0].isdecimal()]
    assert [row[:6] for row in rows] == [
        ["0", "to", "5", "s", "100", "50"],
        ["5", "to", "10", "s", "5,000", "2,500"],
        ["10", "to", "15", "s", "100", "50"],
    ]
    assert " ".join(rows[-1]).endswith(said)
    assert f"from second 5 on: {BEHIND}" in " ".join(text.split())
    assert BEHIND in " ".join(render_screen(run_document(changing(recovery_s)), 80).split())
    assert "STAGES OF THE RATE" not in render(physical())


def test_the_picture_has_what_was_asked_and_done_and_until_when_it_recovered() -> None:
    record = changing()
    picture = changing_rate(record, RAW)
    assert picture is not None
    assert len(picture.panels) == 2
    layers = [str(panel) for panel in picture.panels]
    assert all("recovered in" in panel and BEHIND in panel for panel in layers)
    assert all("'at_s': 5.0" in panel and "'at_s': 10.0" in panel for panel in layers)
    assert "'series': 'done', 'middle_s': 0.5, 'value': 110.0" in layers[0]
    assert "'series': 'asked', 'middle_s': 10.0, 'value': 5000.0" in layers[0]
    assert png(picture).startswith(b"\x89PNG")
    assert changing_rate(physical(), RAW) is None


def test_a_table_has_a_row_for_each_stage_of_each_run() -> None:
    rows = stage_rows([Run.of(changing()), Run.of(physical())])
    assert [(row["stage"], row["begin_s"], row["recovery_s"]) for row in rows] == [
        (1, 0, None),
        (2, 5, None),
        (3, 10, 3),
    ]


def test_stages_are_compared_by_their_numbers() -> None:
    (pair,) = compare([Run.of(changing(3.0))], [Run.of(changing(6.0))], "before", "after").pairs
    found = pair.differences["stage-3/recovery_s"]
    assert (found.a.mean, found.b.mean, found.unit) == (3, 6, "s")
    assert pair.differences["stage-2/ops_per_s"].a.mean == 2500
    assert "stage-2/recovery_s" not in {name for name, each in pair.differences.items() if each.a.mean is not None}
    shorter = changing().model_copy(update={"stages": changing().stages[:1]})
    (pair,) = compare([Run.of(changing(3.0))], [Run.of(shorter)], "before", "after").pairs
    assert (pair.differences["stage-3/ops_per_s"].a.mean, pair.differences["stage-3/ops_per_s"].b.mean) == (50, None)


def test_a_figure_of_a_stage_has_a_unit_a_direction_and_a_label() -> None:
    names = ("stage-2/recovery_s", "stage-2/ops_per_s", "stage-2/response_p99_us")
    assert [is_figure(name) for name in (*names, "stage-2/elapsed_s")] == [True, True, True, False]
    assert [unit_of(name) for name in names] == ["s", "1/s", "µs"]
    assert [better_of(name) for name in names] == [Better.LESS, Better.MORE, Better.LESS]
    assert [figure_label(name, False) for name in names] == [
        "stage-2: recovery", "stage-2: operations", "stage-2: response p99",
    ]  # fmt: skip
