"""The history of a server: change points, what changed with them, gaps, and what belongs to one history."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from factories.labs import lab_record
from factories.records import physical
from openslob.analyze.history import History, histories
from openslob.cli import app
from openslob.core.errors import UndecidedError, UsageError
from openslob.core.units import Price
from openslob.metrics import add_costs
from openslob.record.model import Figure, RunRecord, Status
from openslob.report.charts.history import history_picture
from openslob.report.history import history_document, history_json, history_rows
from openslob.report.terminal import render_screen, render_text

BEGAN = datetime.fromisoformat("2026-03-01T12:00:00+00:00")


def run_at(number: int, rate: float, *, after_s: float = 0.0, **engine: Any) -> RunRecord:
    made = physical()
    at = BEGAN + timedelta(hours=number, seconds=after_s)
    return made.model_copy(
        update={
            "id": f"run-{number:03}",
            "started_at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "status": Status.COMPLETE,
            "summary": {**made.summary, "ops_per_s": Figure(value=rate, unit="1/s")},
            "engine": {**made.engine, "target": "big", **engine},
        }
    )


def series(before: float, after: float, step: int = 20, runs: int = 30, **engine: Any) -> list[RunRecord]:
    random = np.random.default_rng(4)
    rates = [float(random.normal(before if n < step else after, before / 100)) for n in range(runs)]
    return [run_at(n, rate, **(engine if n >= step else {})) for n, rate in enumerate(rates)]


def the_only(records: list[RunRecord], **options: Any) -> History:
    (found,) = histories(records, **options)
    return found


def text_of(found: list[History], columns: int, whole: bool = False) -> str:
    return render_text(history_document(found, whole), columns)


def test_a_step_is_placed_with_what_changed_then() -> None:
    found = the_only(series(10_000, 9_000, version="99.4"), figures=["ops_per_s"])
    (change,) = found.changes
    assert abs(change.at - 20) <= 1
    assert change.worse
    assert change.change_pct == pytest.approx(-10, abs=1)
    assert any("99.4" in each for each in change.changed)
    assert found.worse_within(11)
    assert not found.worse_within(5)


def test_many_short_histories_have_a_line_each_beside_a_long_one() -> None:
    where = "/home/u/.local/share/openslob/servers/{}/run:5432/slob"
    long = [run_at(n, 100, target=where.format("big")) for n in range(6)]
    few = [run_at(n, 100, target=where.format(f"lab-{n}")) for n in range(25)]
    found = histories([*long, *few])
    text = text_of(found, 120)
    assert text.startswith("big on ")
    assert "/servers/" not in text
    assert text.count("lab-") == 20
    assert "5 more are not shown" in text
    assert text_of(found, 120, whole=True).count("RUNS\n") == 26
    assert len(history_picture(found).panels) == 2
    short = histories(few[:2])
    assert text_of(short, 120).count("RUNS\n") == 2
    assert {each.server for each in short} == {"lab-0", "lab-1"}
    assert history_json(short[0])["target"] == where.format("lab-0")


def test_a_step_upwards_is_no_failure() -> None:
    found = the_only(series(9_000, 10_000), figures=["ops_per_s"])
    assert found.changes[0].worse is False
    assert found.worse_within(30) == []


def test_the_same_rate_all_the_time_has_no_change() -> None:
    assert the_only(series(10_000, 10_000), figures=["ops_per_s"]).changes == ()


def test_a_changed_setting_is_named_where_it_changed_and_a_new_parameter_is_another_history() -> None:
    runs = series(10_000, 10_000, settings={"shared_buffers": "2GB"})
    found = the_only(runs)
    marked = [run for run in found.runs if run.changed]
    assert [run.id for run in marked] == ["run-020"]
    assert any("shared_buffers" in each and "-> 2GB" in each for each in marked[0].changed)
    other = runs[-1].model_copy(update={"id": "other", "spec": {**runs[-1].spec, "work_unit": 77}})
    both = histories([*runs, other])
    assert [len(each.runs) for each in both] == [30, 1]
    assert [set(each.parameters) for each in both] == [{"work_unit"}, {"work_unit"}]


def test_a_time_without_runs_is_a_gap_and_failed_runs_are_left_out() -> None:
    runs = [run_at(n, 100.0, after_s=0 if n < 5 else 86_400 * 9) for n in range(10)]
    failed = run_at(3, 1.0).model_copy(update={"id": "bad", "status": Status.FAILED})
    found = the_only([*runs, failed])
    assert [(run.id, round(run.gap_s or 0)) for run in found.runs if run.gap_s] == [("run-005", 86_400 * 9 + 3600)]
    assert found.left_out == 1


def test_a_step_in_the_last_runs_is_seen_however_long_the_history_is() -> None:
    runs = [run_at(n, rate) for n, rate in enumerate(np.random.default_rng(7).normal(10_000, 100, 230))]
    runs = [*runs[:226], *(run_at(n, 9_000.0 + n) for n in range(226, 230))]
    found = the_only(runs, figures=["ops_per_s"])
    assert [each.at for each in found.changes] == [226]
    assert found.worse_within(5)


def test_a_step_amid_a_long_history_is_one_change() -> None:
    (change,) = the_only(series(10_000, 9_000, step=120, runs=300), figures=["ops_per_s"]).changes
    assert abs(change.at - 120) <= 2


@pytest.mark.parametrize("runs", [1, 2])
def test_a_gate_that_no_run_could_fail_is_refused(runs: int) -> None:
    done = CliRunner().invoke(app, ["history", "--fail-if-worse-within", str(runs)])
    assert done.exit_code == 2


@pytest.mark.parametrize(("runs", "can"), [(5, False), (6, True)])
def test_a_gate_needs_runs_enough(runs: int, can: bool) -> None:
    undecided = the_only(series(10_000, 10_000, runs=runs), figures=["ops_per_s"]).find_undecided(3)
    assert bool(undecided) is not can


def test_a_gate_needs_a_figure_in_the_last_runs() -> None:
    runs = [add_costs(run_at(n, 100.0), Price.parse("1 EUR/month")) for n in range(8)]
    found = the_only([*runs, *(run_at(n, 100.0) for n in range(8, 11))], figures=["cost_per_million_reads"])
    assert [bool(found.find_undecided(last)) for last in (3, 4)] == [True, False]


@pytest.mark.parametrize(("runs", "code"), [(5, 4), (6, 0)])
def test_a_gate_with_too_few_runs_does_not_pass(tmp_path: Path, runs: int, code: int) -> None:
    for record in series(10_000, 10_000, runs=runs):
        (tmp_path / record.id).mkdir()
        (tmp_path / record.id / "run.json").write_text(record.model_dump_json())
    done = CliRunner().invoke(app, ["history", "--fail-if-worse-within", "3", "--results", str(tmp_path)])
    assert (done.exit_code if code == 0 else getattr(done.exception, "exit_code", None)) == code, done.output


def test_a_cost_has_its_currency_and_no_other() -> None:
    prices = ["100 USD/month"] * 4 + ["100 EUR/month"] * 8 + ["150 EUR/month"] * 8
    runs = [add_costs(run_at(n, 100.0), Price.parse(price)) for n, price in enumerate(prices)]
    found = the_only(runs, figures=["cost_per_million_reads"])
    assert found.unit_of("cost_per_million_reads") == "EUR"
    assert [run.figures["cost_per_million_reads"] is None for run in found.runs] == [True] * 4 + [False] * 16
    (change,) = found.changes
    assert change.id == "run-012"
    assert change.worse
    assert change.change_pct == pytest.approx(50)
    assert any("price 100 EUR/month -> 150 EUR/month" in each for each in change.changed)
    assert "EUR" in text_of([found], 120)
    assert "currency" not in text_of([found], 120)


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a figure"):
        histories([], ["speed"])


def test_the_text_fits_80_columns_and_tables_have_a_row_for_each_run() -> None:
    found = the_only(series(10_000, 9_000, version="99.4"), figures=["ops_per_s"])
    text = text_of([found], 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "CHANGE POINTS" in text
    columns, rows = history_rows([found])
    assert len(rows) == 30
    assert sum(row[columns.index("ops_per_s_change_pct")] is not None for row in rows) == 1
    assert len(json.loads(json.dumps(history_json(found)))["runs"]) == 30


def test_a_history_is_one_picture(tmp_path: Path) -> None:
    from openslob.report.charts.history import history_picture  # noqa: PLC0415
    from openslob.report.charts.picture import save_all  # noqa: PLC0415

    picture = history_picture([the_only(series(10_000, 9_000, version="99.4"))])
    (file,) = save_all([picture], tmp_path, "svg")
    assert "ops_per_s" in file.read_text()


def test_the_page_of_a_history_does_not_speak_of_verdicts_which_it_can_not_have() -> None:
    from openslob.report.picture_files import draw_history  # noqa: PLC0415

    page = draw_history([the_only(series(10_000, 9_000, version="99.4"))], ".html").decode()
    assert "ops_per_s -" in page
    assert 'id="verdicts"' not in page
    assert "There are no verdicts" not in page


def drifting(runs: int = 40) -> list[RunRecord]:
    rates = 10_000 + 100 * np.cumsum(np.random.default_rng(1).standard_normal(runs))
    return [run_at(n, float(rate)) for n, rate in enumerate(rates)]


def late(runs: int = 30) -> list[RunRecord]:
    rates = np.random.default_rng(3).normal(10_000, 200, runs) - np.repeat([0, 500], [runs - 4, 4])
    return [run_at(n, float(rate)) for n, rate in enumerate(rates)]


def test_a_figure_that_drifts_has_no_change_that_could_fail() -> None:
    found = the_only(drifting(), figures=["ops_per_s"])
    assert found.changes == ()
    (drift,) = found.drifts
    assert (drift.figure, drift.begin, drift.end) == ("ops_per_s", 0, 40)
    assert found.find_undecided(5)
    assert "a change can't be distinguished from slow drift" in " ".join(text_of([found], 200).split())
    assert json.loads(json.dumps(history_json(found)))["drifts"][0]["correlation"] == drift.correlation


def test_a_step_among_the_last_runs_is_said_to_be_too_early() -> None:
    found = the_only(late(), figures=["ops_per_s"])
    assert found.changes == ()
    (step,) = found.early
    assert abs(step.at - 26) <= 1
    assert step.worse
    assert step.id == f"run-{step.at:03}"
    assert step.change_pct == pytest.approx(-5, abs=2)
    assert found.worse_within(30) == []
    assert not found.find_undecided(5)
    runs = "run" if step.more == 1 else "runs"
    said = f"too early to say; it takes {step.more} more {runs} like those since (run {step.id})"
    assert said in " ".join(text_of([found], 200).split())
    assert json.loads(json.dumps(history_json(found)))["early"][0]["more"] == step.more


@pytest.mark.parametrize(
    ("records", "code", "said"),
    [(drifting(), 4, "whether ops_per_s became worse is unknown: it drifts"), (late(), 0, "too early to say")],
)
def test_a_gate_says_what_it_does_not_know(tmp_path: Path, records: list[RunRecord], code: int, said: str) -> None:
    for record in records:
        (tmp_path / record.id).mkdir()
        (tmp_path / record.id / "run.json").write_text(record.model_dump_json())
    gate = ["history", "--fail-if-worse-within", "5", "--figure", "ops_per_s", "--results", str(tmp_path)]
    done = CliRunner().invoke(app, gate)
    assert (done.exit_code if code == 0 else getattr(done.exception, "exit_code", None)) == code, done.output
    assert said in f"{done.stderr}{done.exception}"


def test_a_gate_does_not_pass_for_one_figure_while_another_is_known_in_too_few_runs(tmp_path: Path) -> None:
    records = series(10_000, 10_000, runs=8)
    for number, record in enumerate(records):
        (tmp_path / record.id).mkdir()
        priced = add_costs(record, Price.parse("1 EUR/month")) if number > 5 else record
        (tmp_path / record.id / "run.json").write_text(priced.model_dump_json())
    gate = ["history", "--fail-if-worse-within", "5", "--results", str(tmp_path), "--figure", "ops_per_s"]
    assert CliRunner().invoke(app, gate).exit_code == 0
    error = CliRunner().invoke(app, [*gate, "--figure", "cost_per_million_reads"]).exception
    assert isinstance(error, UndecidedError)
    assert "cost_per_million_reads became worse is unknown: 2 of 8 runs have it, and 6 are needed" in str(error)


def test_what_a_program_prints_of_a_history_is_a_line() -> None:
    found = the_only(series(10_000, 9_000), figures=["ops_per_s"])
    assert repr(found) == "<History: 8 sessions, 0 % updates on big, 30 runs, 1 change>"


def screen_of(found: list[History], columns: int = 80) -> str:
    return render_screen(history_document(found, again="slob history big"), columns)


def test_the_answer_is_one_screen_with_what_changed_then() -> None:
    text = screen_of(histories(series(10_000, 9_000, version="99.4"), figures=["ops_per_s", "op_p99_us"]))
    what = r"Operations fell by 1\d\.\d % \(\S+/s to \S+/s\) from 2026-03-02 0[789]:00 on: worse\."
    also = r"With it changed: server PostgreSQL 18\.4 -> PostgreSQL 99\.4\."
    assert re.search(f"{what} {also}", " ".join(text.split())), text
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[-1].split()[:3] == ["slob", "history", "big"]
    assert " 1/s" not in text


def test_without_a_change_the_range_is_the_answer() -> None:
    text = " ".join(screen_of(histories(series(100, 100, runs=12), figures=["ops_per_s"])).split())
    assert re.search(r"No change in 12 runs: operations 9\d\.\d/s to 10\d/s\.", text), text


def test_no_change_is_not_said_of_a_figure_that_too_few_runs_know() -> None:
    runs = series(100, 100, runs=8)
    blind = [
        each.model_copy(update={"summary": {**each.summary, "ops_per_s": Figure(value=None, unit="1/s", why="")}})
        for each in runs[:5]
    ]
    text = " ".join(screen_of(histories([*blind, *runs[5:]], figures=["ops_per_s", "op_p99_us"])).split())
    assert "No change in 8 runs: p99 of operations " in text
    assert "Operations are known of 3 runs: too few to see a change." in text
    text = " ".join(screen_of(histories([*blind, *runs[5:]], figures=["ops_per_s"])).split())
    assert "No change" not in text


def test_loads_with_long_names_fit_beside_their_figures() -> None:
    runs = [run_at(n, 100_000) for n in range(14)]
    runs = [
        each.model_copy(update={"spec": {**each.spec, "mode": "pio", "scale": f"{n % 7 + 1}024M", "hotspot": n % 7}})
        for n, each in enumerate(runs)
    ]
    text = screen_of(histories(runs))
    assert "load on big" in text
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80
    assert len(re.findall(r"100,000/s$", text, re.M)) == 7


def test_many_settings_that_changed_take_one_line_each() -> None:
    runs = [run_at(n, 100, settings={f"setting_{at}": str(n) for at in range(9)}) for n in range(12)]
    text = screen_of(histories(runs))
    assert len(text.splitlines()) <= 24
    assert max(map(len, text.splitlines())) <= 80


def test_loads_with_too_few_runs_have_one_line() -> None:
    long = series(10_000, 9_000)
    few = [run_at(n, 100, target="small") for n in range(4)]
    fewer = [run_at(n, 100, target="tiny") for n in range(2)]
    text = " ".join(screen_of(histories([*long, *few, *fewer])).split())
    assert "2 loads have fewer than 6 runs, too few to see a change:" in text
    assert "on small needs 2 more runs." in text
    text = " ".join(screen_of(histories([*few, *fewer])).split())
    assert "No change can be seen yet: no load has 6 runs." in text
    assert "To see a change takes 6 runs: 4 more runs." in " ".join(screen_of(histories(fewer)).split())


def test_of_many_loads_the_changed_ones_come_first_and_what_is_left_is_counted() -> None:
    changed = series(10_000, 9_000)
    others = [run_at(200 + n, 100, target=f"s{number:02}") for number in range(12) for n in range(6)]
    text = screen_of(histories([*changed, *others]))
    rows = [line for line in text.splitlines() if re.search(r"^  (big|s\d\d): ", line)]
    assert rows[0].startswith("  big: ")
    assert len(rows) == 8
    assert "5 more: --all" in text
    said = " ".join(text.split())
    assert "1 of 13 loads changed, 1 for the worse. big, 8 sessions, 0 % updates: operations fell by 10." in said
    assert len(text.splitlines()) <= 24


def test_a_parameter_that_one_of_two_loads_lacks_is_named_without_a_value() -> None:
    runs = [run_at(n, 100) for n in range(12)]
    plain, stated = (
        [each.model_copy(update={"spec": {**each.spec, "mode": mode}}) for each in half]
        for mode, half in ((None, runs[:6]), ("pio", runs[6:]))
    )
    words = [each.words for each in histories([*plain, *stated])]
    assert [each.rpartition(" (")[2] for each in words] == ["without mode)", "mode pio)"]


def test_runs_of_labs_are_no_histories_unless_all_are_asked_for(tmp_path: Path) -> None:
    for record in series(10_000, 10_000, runs=6):
        (tmp_path / record.id).mkdir()
        (tmp_path / record.id / "run.json").write_text(record.model_dump_json())
    folder = tmp_path / "20260301-120000-lab"
    folder.mkdir()
    (folder / "lab.json").write_text(lab_record().model_dump_json())
    (folder / "run-1").mkdir()
    of_lab = run_at(3, 5.0, target="lab-server")
    (folder / "run-1" / "run.json").write_text(of_lab.model_dump_json())

    def targets(*options: str) -> set[str]:
        done = CliRunner().invoke(app, ["history", "--json", "--results", str(tmp_path), *options])
        return {each["target"] for each in json.loads(done.stdout)}

    assert targets() == {"big"}
    assert targets("--all") == {"big", "lab-server"}
