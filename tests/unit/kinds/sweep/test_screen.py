"""The answer of a sweep on one screen."""

from __future__ import annotations

from collections.abc import Sequence

from factories.reports import of_a_sweep
from openslob.analyze.curves.points import Run
from openslob.config.grid import Grid
from openslob.core.workload import Workload
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import PointState, SweepRecord
from openslob.kinds.sweep.report import sweep_document
from openslob.record.model import Holds, Verdict
from openslob.report.terminal import LINES, render_screen


def a_sweep(state: PointState = PointState.DONE) -> SweepRecord:
    grid = Grid(Workload(schemas=1), {"sessions": (2, 8, 32), "update_pct": (0, 20)}, ())
    asked = new_sweep("petals", "embedded", grid, {})
    done = [point.model_copy(update={"state": PointState.DONE}) for point in asked.points[:-1]]
    return asked.with_points([*done, asked.points[-1].model_copy(update={"state": state, "error": "it was full"})])


def runs(*update_pct: int) -> list[Run]:
    return [run for run in of_a_sweep() if run.record.spec["update_pct"] in update_pct]


def changed(run: Run, **figures: float) -> Run:
    summary = dict(run.record.summary)
    for name, factor in figures.items():
        summary[name] = summary[name].model_copy(update={"value": (summary[name].value or 0) * factor})
    return Run.of(run.record.model_copy(update={"summary": summary}))


def with_setting(run: Run, number: int) -> Run:
    engine = {**run.record.engine, "set": {"work_mem": str(number)}}
    return Run.of(run.record.model_copy(update={"id": f"{run.record.id}-{number}", "engine": engine}))


def judged(run: Run, verdict: Verdict) -> Run:
    others = tuple(each for each in run.record.verdicts if each.name != verdict.name)
    return Run.of(run.record.model_copy(update={"verdicts": (*others, verdict)}))


def screen(made: Sequence[Run], record: SweepRecord | None = None) -> str:
    return render_screen(sweep_document(record or a_sweep(), made), 80)


def rows(text: str) -> list[list[str]]:
    table = text.split("checks\n")[1].split("\n\n", maxsplit=1)[0]
    return [line.split() for line in table.splitlines() if line.split()[0].isdecimal()]


def test_a_single_point_says_what_limits_it() -> None:
    limit = Verdict(name="limit_found", verdict=Holds.HOLDS, why="It was.", figures={"limit": "server's CPU"})
    text = " ".join(screen([judged(runs(0)[0], limit)]).split())
    assert "a read, limited by the server's CPU." in text


def test_the_only_series_with_a_rate_is_named_beside_one_without() -> None:
    lost = [changed(run, pio_read_per_s=0.0) for run in runs(20)]
    assert "with 0 % updates, " in " ".join(screen([*runs(0), *lost]).split())


def test_one_series_has_a_row_for_each_point() -> None:
    text = screen(runs(0))
    assert [row[0] for row in rows(text)] == ["2", "8", "32"]
    assert {row[-1] for row in rows(text)} == {"hold"}
    assert "limited by storage from 8 sessions on" in " ".join(text.split())


def test_two_series_stand_beside_each_other_and_the_answer_compares_their_peaks() -> None:
    made = [changed(run, pio_read_per_s=0.5) if run.record.spec["update_pct"] else run for run in runs(0, 20)]
    text = screen(made)
    assert [row[0] for row in rows(text)] == ["2", "8", "32"]
    assert "0 % updates" in text.split("checks")[0]
    assert "With 20 % updates 64 % less" in " ".join(text.split())


def test_a_point_that_must_not_be_used_is_marked_in_its_row() -> None:
    one, *rest = runs(0)
    cached = Verdict(name="reads_reached_device", verdict=Holds.FAILS, why="x", figures={"storage_to_engine_pct": 10.0})
    text = screen([judged(one, cached), *rest])
    marked = {row[0]: row[-1] for row in rows(text)}
    assert sorted(marked.values()) == ["INVALID", "hold", "hold"]
    assert "INVALID  1 of 6 runs: 90 % of the reads came from the operating" in text
    assert "Not to be used" not in text
    *others, peak = sorted(runs(0), key=lambda run: run.record.spec["sessions"])
    assert "Not to be used: " in screen([*others, judged(peak, cached)])
    # Not every point's reads are of a device: the sweep's are not called so.
    assert "engine 8 KB reads/s" in text
    assert "physical" not in text


def test_where_the_rate_still_rises_the_next_sweep_goes_on_from_there() -> None:
    rising = [changed(run, pio_read_per_s=3) if run.record.spec["sessions"] == 32 else run for run in runs(0)]
    text = screen(rising)
    assert "still rises, and the peak lies beyond 32 sessions" in " ".join(text.split())
    assert "--sessions 64,128,256" in text
    assert "--update-pct 0,20" in text


def test_points_that_failed_or_are_left_are_said_first_with_the_way_on() -> None:
    failed = " ".join(screen(runs(0), a_sweep(PointState.FAILED)).split())
    assert "!! FAILED: 1 of 6 points failed" in failed
    assert "it was full" in failed
    assert "slob sweep --resume" in failed
    assert "1 of 6 points are left" in screen(runs(0), a_sweep(PointState.PENDING))
    assert "No point gave a rate." in screen([])


def test_many_series_have_a_row_each_and_it_fits() -> None:
    made = [with_setting(run, number) for number in range(30) for run in runs(0)]
    text = screen(made)
    assert len(text.splitlines()) < LINES
    assert "of 30 rows; --all has every point" in text
