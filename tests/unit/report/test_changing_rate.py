"""A run whose rate changes in the report, the picture, tables and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from factories.records import histogram, physical
from factories.tables import table
from openslob.analyze.compare import Comparison, better_of, compare, is_figure, unit_of
from openslob.analyze.curves.points import Run
from openslob.export.tidy import stage_rows
from openslob.metrics import Better
from openslob.metrics.run_metrics import figure_of
from openslob.record.model import Figure, RunRecord, StageRow
from openslob.report.charts.picture import png
from openslob.report.charts.run import changing_rate
from openslob.report.compare_screen import comparison_screen
from openslob.report.comparison import comparison_document, figure_label
from openslob.report.run_series import RunSeries
from openslob.report.several_runs import set_document
from openslob.report.terminal import render_screen, render_text
from openslob.report.text import render, run_document

BEHIND = "it did not recover: at the end half of the operations were 5.1 s late"
RAW = RunSeries(
    response={
        "select": {second: histogram(100 + second, 2000.0, 0.4) for second in range(15)},
        "update": {second: histogram(10, 3000.0, 0.4) for second in range(0, 15, 2)},
    }
)


def changing(recovery_s: float | None = 3.0, why: str = "") -> RunRecord:
    record = physical()
    rows = ((0.0, 5.0, 100.0, None, ""), (5.0, 10.0, 5000.0, None, BEHIND), (10.0, 15.0, 100.0, recovery_s, why))
    stages = tuple(
        StageRow(
            begin_s=begin_s, end_s=end_s, first_per_s=rate, last_per_s=rate, ops_per_s=rate / 2,
            response_p50_us=2000.0, response_p99_us=9000.0, recovery_s=after, why=unrecovered,
        )
        for begin_s, end_s, rate, after, unrecovered in rows
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


def sides(*recovery_s: Sequence[float | None]) -> Comparison:
    """Each side's runs recover from the last change in so many seconds, or not at all."""
    found = []
    for side, times in enumerate(recovery_s):
        records = [changing(each, why="" if each is not None else BEHIND) for each in times]
        found.append(
            [
                Run.of(record.model_copy(update={"id": f"20260301-12{side:02}{number:02}-x"}))
                for number, record in enumerate(records)
            ]
        )
    return compare(found[0], found[1], "before", "after")


def run_in(recovery_s: float | None) -> Run:
    """A run with its longest time to recover as a figure."""
    record = changing(recovery_s)
    figure = Figure.of(recovery_s, "s", f"from second 5 on: {BEHIND}")
    return Run.of(record.model_copy(update={"summary": {**record.summary, "recovery_s": figure}}))


def test_repeats_have_no_mean_time_to_recover_if_one_of_them_did_not() -> None:
    (pair,) = compare([run_in(3.0), run_in(5.0)], [run_in(2.0), run_in(None)], "before", "after").pairs
    found = pair.differences["recovery_s"]
    assert (found.a.mean, found.b.mean) == (4, None)
    assert found.b.why == f"in 1 of 2 runs from second 5 on: {BEHIND}"


def test_a_figure_of_a_stage_is_one_of_its_run() -> None:
    found = [figure_of(changing(), f"stage-{name}") for name in ("2/ops_per_s", "3/recovery_s", "9/ops_per_s")]
    assert found == [2500, 3, None]


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.lstrip().startswith("from ")]


def screen_of(comparison: Comparison) -> str:
    return render_screen(replace(comparison_document(comparison), screen=comparison_screen(comparison)), 100)


def test_a_comparison_has_a_row_for_each_stage_with_both_sides() -> None:
    shown = screen_of(sides([3.0], [6.0]))
    assert lines_of(shown) == [
        ["from", "0", "s:", "100/s", "9", "ms", "9", "ms", "+0.0", "%", "–", "–"],
        ["from", "5", "s:", "5,000/s", "9", "ms", "9", "ms", "+0.0", "%", "–", "–"],
        ["from", "10", "s:", "100/s", "9", "ms", "9", "ms", "+0.0", "%", "3", "s", "6", "s", "+100.0", "%"],
    ]
    assert f"after, from 5 s: 5,000/s: {BEHIND}" in " ".join(shown.split())
    assert "stage-3" not in shown


def test_the_whole_comparison_has_a_table_for_each_figure_of_stages() -> None:
    text = render_text(comparison_document(sides([3.0], [6.0])))
    headings = [line.partition(", by stage")[0].strip() for line in text.splitlines() if ", by stage" in line]
    assert headings == ["Operations", "Response p50", "Response p99", "Recovery"]
    assert [row[4:8] for row in lines_of(text)][-1] == ["3", "s", "6", "s"]
    assert "stage-" not in text
    assert f"B, from 5 s: 5,000/s: {BEHIND}" in " ".join(text.split())


def test_the_page_of_two_sides_has_the_stages() -> None:
    a, b = ([Run.of(changing(each))] for each in (3.0, 6.0))
    document = set_document("both", [*a, *b], (), compare(a, b))
    (section,) = [block for block in document.blocks if getattr(block, "title", "") == "The stages of both sides"]
    assert len(section.parts) == 6


def test_a_time_to_recover_of_repeats_is_unknown_if_one_did_not_recover() -> None:
    """The mean of the others would be too short."""
    (pair,) = sides([3.0, 4.0, None], [3.0, 4.0, 5.0]).pairs
    found = pair.differences["stage-3/recovery_s"]
    assert (found.a.mean, found.b.mean) == (None, 4.0)
    assert pair.stages[2].why_unrecovered == (f"in 1 of 3 runs {BEHIND}", "")
    assert pair.stages[0].why_unrecovered == ("", "")


def test_stages_of_other_times_or_rates_are_matched_by_number() -> None:
    other = changing(6.0)
    spec = {**other.spec, "rate_schedule": "0s:100,6s:5000-7000,10s:100,12s:50"}
    (pair,) = compare([Run.of(changing(3.0))], [Run.of(other.model_copy(update={"spec": spec}))]).pairs
    assert [stage.label for stage in pair.stages] == [
        "from 0 s: 100/s", "stage 2", "from 10 s: 100/s", "from 12 s: 50/s",
    ]  # fmt: skip
    (pair,) = compare([Run.of(changing(3.0))], [Run.of(physical())]).pairs
    assert (pair.stages, pair.of_stages) == ((), frozenset())


def test_a_figure_of_a_stage_has_a_unit_a_direction_and_a_label() -> None:
    names = ("stage-2/recovery_s", "stage-2/ops_per_s", "stage-2/response_p99_us")
    assert [is_figure(name) for name in (*names, "stage-2/elapsed_s")] == [True, True, True, False]
    assert [unit_of(name) for name in names] == ["s", "1/s", "µs"]
    assert [better_of(name) for name in names] == [Better.LESS, Better.MORE, Better.LESS]
    assert [figure_label(name, False) for name in names] == [
        "stage-2: recovery", "stage-2: operations", "stage-2: response p99",
    ]  # fmt: skip
