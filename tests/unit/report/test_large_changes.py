"""Changes of which a percentage says nothing, because one side has practically nothing of the figure."""

from __future__ import annotations

from dataclasses import replace

from factories.records import Made, physical
from factories.tables import table
from openslob.analyze.compare import Comparison, Mismatch, compare
from openslob.analyze.curves.points import Run
from openslob.analyze.differences import difference
from openslob.analyze.statistics import Basis, Estimate
from openslob.metrics import Better
from openslob.record.model import RunRecord
from openslob.report.charts.comparing import changes
from openslob.report.charts.picture import page_specs
from openslob.report.ci_formats import markdown
from openslob.report.comparison import change_cells, comparison_document
from openslob.report.html.page import page_of
from openslob.report.several_runs import runs_document
from openslob.report.terminal import render_text

WRITES = "pio_write_per_s"


def side(day: int, writes: float, count: int = 3, speed: float = 1.0) -> list[Run]:
    """Repeats with so many physical writes/s."""
    return [Run.of(_run(f"202603{day:02}-12000{at}-pio", writes, speed * (1 + at / 500))) for at in range(count)]


def _run(record_id: str, writes: float, speed: float) -> RunRecord:
    record = physical(Made(sessions=8, visits=57_960 * speed), record_id=record_id)
    figure = record.summary[WRITES].model_copy(update={"value": writes, "why": None})
    return record.model_copy(update={"summary": {**record.summary, WRITES: figure}})


def compared(count: int = 3) -> Comparison:
    return compare(side(1, 1 / 30, count), side(2, 6_776.0, count, 0.9))


def test_a_large_change_is_a_multiple_in_every_format() -> None:
    a, b = side(1, 1 / 30, 1), side(2, 6_776.0, 1)
    found = compare(a, b)
    assert "× 203,280" in render_text(comparison_document(found))
    assert "| 0.0333/s | 6,776/s | × 203,280 | no data |" in markdown(found)
    page = page_of(runs_document([("a", a), ("b", b)], [*a, *b], [], ()))
    assert not any("%" in cell and "20,3" in cell for section in page.sections for row in rows(section) for cell in row)


def rows(section):  # type: ignore[no-untyped-def]
    return section.table.rows if section.table else ()


@table(
    ("b", "half", "text"),
    [
        (110.0, None, "+10.0 %"),
        (110.0, 3.0, "+10.0 ± 3.0 %"),
        (1_090.0, None, "+990.0 %"),
        (1_100.0, None, "+1,000.0 %"),
        (1_110.0, 3.0, "× 11.1"),
        (1e7, None, "× 100,000"),
    ],
)
def test_a_change_is_in_percent_up_to_ten_times_as_much(b: float, half: float | None, text: str) -> None:
    basis = Basis.NONE if half is None else Basis.WITHIN_RUN
    a = Estimate(100.0, None if half is None else 0.0, 1, None, basis)
    assert change_cells(difference("x", "1/s", Better.MORE, a, Estimate(b, half, 1, None, basis)))[0] == text


def test_the_picture_names_a_large_change_instead_of_drawing_it() -> None:
    picture = changes(compared())
    assert picture is not None
    assert any(
        note.startswith("Not drawn, because B is many times A: ") and "× 203,280" in note for note in picture.notes
    )
    domain = page_specs(picture)[0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert max(map(abs, domain)) <= 200


def test_there_is_no_picture_of_changes_that_can_not_be_judged() -> None:
    assert changes(compared(count=1)) is None


def test_a_side_without_a_kind_of_statement_has_no_plan_of_it_and_one_without_plans_has_unknown_ones() -> None:
    def mismatches(plans: dict[str, str]) -> tuple[Mismatch, ...]:
        both = {"select": "Index Scan", "update": "Update"}
        a, b = ([_with(run, known) for run in side(day, 1.0)] for day, known in ((1, plans), (2, both)))
        return compare(a, b).mismatches

    assert mismatches({"select": "Index Scan"}) == (Mismatch("engine.plans.update", ("none",), ("Update",)),)
    assert [each.a for each in mismatches({})] == [(None,), (None,)]


def _with(run: Run, plans: dict[str, str]) -> Run:
    record = run.record
    return replace(run, record=record.model_copy(update={"engine": {**record.engine, "plans": plans}}))
