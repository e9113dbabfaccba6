"""Ready-made sweeps and what they add to a sweep: two values compared, further figures."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from factories import sweeps
from factories.paths import ROOT
from factories.tables import table
from openslob.analyze.compare import ComparedValues, compare_values
from openslob.analyze.curves.points import Run
from openslob.cli import app
from openslob.config.grid import Grid, SweepFile, read_sweep_file, resolve_grid
from openslob.config.server_parameters import server_grid
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.core.workload import BlockPath, Workload
from openslob.engines.facts import InstanceFacts, place_sessions
from openslob.kinds.runs import Runs
from openslob.kinds.sweep.create import new_sweep, ready_names, ready_sweep
from openslob.kinds.sweep.plan import disk_bytes, private_bytes, run_seconds, workload_of
from openslob.kinds.sweep.ready_settings import ready_settings
from openslob.kinds.sweep.record import SweepFolder
from openslob.kinds.sweep.report import sweep_document
from openslob.metrics import METRICS
from openslob.record.model import Figure
from openslob.report.comparison import show_side_by_side
from openslob.report.html.page import page_of
from openslob.report.several_runs import runs_document
from openslob.report.terminal import render_blocks, render_text

# Reads per second of three repeats on each path, and the CPU they took: known means, known differences.
SHARED, LOCAL = (19_900.0, 20_000.0, 20_100.0), (23_900.0, 24_000.0, 24_100.0)


def records():
    """A run for each rate, on its path."""
    (base,) = sweeps.sweep(counts=(4,), update_pcts=(0,), repeats=1)
    for path, rates in (("shared", SHARED), ("local", LOCAL)):
        for repeat, rate in enumerate(rates):
            summary = {
                **base.summary,
                "pio_read_per_s": Figure(value=rate, unit="1/s"),
                "iops_per_db_cpu": Figure(value=rate / 2, unit="1/s"),
            }
            spec = {**base.spec, "block_path": path, "seed": repeat}
            yield base.model_copy(update={"id": f"{path}-{repeat}", "spec": spec, "summary": summary})


def runs():
    return [Run.of(record) for record in records()]


def asked(against=None, figures=(), **grid):
    grid = grid or {"block_path": ("shared", "local")}
    return new_sweep("s", "embedded", Grid(Workload(schemas=1), grid, ()), {}, against=against, figures=figures)


# --- the files


def test_the_issues_sweeps_are_there():
    names = ["block-size", "local-path", "loop", "petals", "read-outliers", "readers-writers", "redo"]
    assert ready_names() == names


@table("name", ready_names())
def test_a_ready_made_sweep_can_be_asked_for_as_it_is(name):
    file = ready_sweep(name)
    grid = resolve_grid(file.grid, None, {})
    servers = server_grid(file.server)
    for parameter in grid.values:
        assert len(grid.values[parameter]) == len(file.grid[parameter])
    if file.against:
        assert len(grid.values[file.against]) == 2
    assert set(file.figures) <= set(METRICS)
    assert file.about
    assert f"`{name}`" in (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8")
    assert servers == {} or name == "block-size"


def test_writers_beside_readers_come_to_no_standby_and_readers_to_all_instances():
    instances = [InstanceFacts("main", False), InstanceFacts("copy", True)]
    for classes in resolve_grid(ready_sweep("readers-writers").grid, None, {}).values["classes"]:
        load = Workload(classes=classes)
        names = [part.name for part in load.parts for _ in part.numbers]
        placed = zip(names, place_sessions(load, instances), strict=True)
        assert {*placed} <= {("writers", 0), ("readers", 0), ("readers", 1)}


def test_what_each_is_about():
    petals, redo, sizes, local = (
        resolve_grid(ready_sweep(name).grid, None, {}) for name in ("petals", "redo", "block-size", "local-path")
    )
    assert petals.values == {"sessions": (1, 2, 4, 8, 16, 32, 64), "update_pct": (0, 10, 20, 30)}
    assert redo.values["commit_mode"] == ("wait", "nowait")
    assert (redo.workload.update_pct, redo.workload.redo_stress) == (100, "HEAVY")
    # A schema for each session, and all of them within the default cache of 128 MB.
    assert max(redo.values["sessions"]) == redo.workload.schemas
    assert redo.workload.schemas * redo.workload.scale.amount <= 0.5 * 128 * MIB
    assert server_grid(ready_sweep("block-size").server) == {"block_size": (4096, 8192, 16384, 32768)}
    assert sizes.values["update_pct"] == (0, 10, 20, 30)
    assert local.values == {"block_path": ("shared", "local")}
    assert local.workload.schemas == local.workload.total_sessions
    outliers = resolve_grid(ready_sweep("read-outliers").grid, None, {}).workload
    assert (outliers.work_unit, outliers.update_pct, outliers.scan_pct, outliers.mode) == (1, 0, 0, "pio")


def test_no_other_name_is_taken():
    with pytest.raises(UsageError, match="there is no ready-made sweep 'petal'; choose one of block-size, checksums"):
        ready_sweep("petal")


def test_a_sweep_file_may_say_how_the_sweep_is_run(tmp_path):
    text = '[sweep]\nrepeats = 3\nagainst = "update_pct"\nfigures = ["redo_mb_per_s"]\n[grid]\nupdate_pct = [0, 5]\n'
    (tmp_path / "s.toml").write_text(text)
    wanted = SweepFile({"update_pct": ["0", "5"]}, {}, "", 3, "update_pct", ("redo_mb_per_s",))
    assert read_sweep_file(tmp_path / "s.toml") == wanted


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("colour = 'red'", "colour in .sweep. is unknown"),
        ("repeats = 'many'", "repeats in .sweep. is unknown or has the wrong type"),
        ("repeats = 0", "is below 1"),
        ("figures = ['beauty']", "beauty is not a figure"),
    ],
)
def test_what_a_file_must_not_say_of_its_sweep(tmp_path, line, why):
    (tmp_path / "s.toml").write_text(f"[sweep]\n{line}\n")
    with pytest.raises(UsageError, match=why):
        read_sweep_file(tmp_path / "s.toml")


# --- the command


def invoke(tmp_path, *arguments):
    return CliRunner().invoke(app, ["sweep", "--results", str(tmp_path), *arguments])


def test_they_are_listed(tmp_path):
    plain = invoke(tmp_path, "--ready", "list").stdout
    every = {*ready_names(), *ready_settings()}
    assert all(f"  {name}" in plain for name in every)
    assert set(json.loads(invoke(tmp_path, "--ready", "list", "--json").stdout)) == every


def test_flags_are_stronger_than_the_file(tmp_path):
    plan = invoke(tmp_path, "--ready", "local-path", "--repeats", "2", "--dry-run").stdout
    assert ["repeats", "2"] in [line.split() for line in plain_lines(plan)]
    assert ["points", "4"] in [line.split() for line in plain_lines(plan)]
    narrowed = invoke(tmp_path, "--ready", "local-path", "--block-path", "local", "--dry-run")
    assert narrowed.exit_code == 0
    assert ["points", "5"] in [line.split() for line in plain_lines(narrowed.stdout)]


def plain_lines(text):
    return [line.strip() for line in text.splitlines()]


def test_what_can_not_be_compared_is_a_usage_error(tmp_path):
    three = invoke(tmp_path, "--update-pct", "0,1,2", "--against", "update-pct", "--dry-run")
    assert isinstance(three.exception, UsageError)
    assert re.findall(r"update_pct|has \w+", str(three.exception)) == ["update_pct", "has 3"]
    one = invoke(tmp_path, "--sessions", "1,2", "--against", "update-pct", "--dry-run")
    assert isinstance(one.exception, UsageError)
    assert "has one" in str(one.exception)
    both = invoke(tmp_path, "--ready", "redo", "--grid", "x.toml", "--dry-run")
    assert isinstance(both.exception, UsageError)
    assert re.findall(r"--\w+", str(both.exception)) == ["--grid", "--ready"]


# --- two values against each other


def test_the_difference_is_that_of_the_second_value_to_the_first():
    found = compare_values(runs(), ComparedValues("block_path", "shared", "local"))
    assert (found.name_a, found.name_b) == ("block path shared", "block path local")
    reads = found.answer("pio_read_per_s")
    assert reads.pct == pytest.approx(20)
    # Of the logarithm: relative spreads of 100 / 20,000 and 100 / 24,000, three runs each; t of 3.87 degrees is 2.81.
    half = 2.81 * math.hypot(1 / 200, 1 / 240) / 3**0.5
    assert reads.change_high - reads.change == pytest.approx(24_000 * math.expm1(half), rel=2e-3)
    assert found.mismatches == ()


def test_what_else_is_not_the_same_is_told():
    mixed = [run if run.parameters["block_path"] == "shared" else other_version(run) for run in runs()]
    found = compare_values(mixed, ComparedValues("block_path", "shared", "local"))
    assert [each.name for each in found.mismatches] == ["openslob_version"]
    assert any("openslob_version" in line for line in side_by_side(found))


def side_by_side(found):
    return render_blocks(show_side_by_side(found)).splitlines()


def other_version(run):
    return replace(run, record=run.record.model_copy(update={"openslob_version": "0"}))


def test_a_value_without_runs_is_told():
    with pytest.raises(UsageError, match="there is no run with block path local"):
        compare_values(runs()[:3], ComparedValues("block_path", "shared", "local"))


def test_the_tape_shows_both_sides_and_the_difference_with_its_interval():
    lines = side_by_side(compare_values(runs(), ComparedValues("block_path", "shared", "local")))
    assert lines[0].startswith("Block path local against block path shared")
    (reads,) = [line.split() for line in lines if "hysical read requests" in line]
    assert reads[3:] == ["20,000/s", "24,000/s", "+20.0", "±", "1.3", "%", "better"]
    assert max(map(len, lines)) <= 105


def test_a_sweep_s_text_has_its_figures_and_its_comparison():
    text = render_text(sweep_document(asked("block_path", ("redo_mb_per_s",)), runs()))
    assert "Redo, MB/s" in text
    assert "ock path local against" in text
    assert "+20.0 ± 1.3 %  better" in text
    without = render_text(sweep_document(asked(), runs()))
    assert "against" not in without
    assert "Redo" not in without


def test_the_screen_of_a_sweep_has_the_answer_of_its_comparison():
    answer = " ".join(sweep_document(asked("block_path"), runs()).screen.answer)
    assert "Block path local: 20.0 % more reads/s than block path shared" in answer
    assert "Shown at 95 %: 18.7 to 21.3 % more, 3 runs each." in answer
    assert "less: " not in answer
    assert " than " not in " ".join(sweep_document(asked(), runs()).screen.answer)


def test_a_sweep_that_has_only_one_side_yet_says_so():
    document = sweep_document(asked("block_path"), runs()[:3])
    why = "The two values are not compared: there is no run with block path local"
    assert f"! {why}" in render_text(document)
    assert document.screen.answer[-1].startswith(why)


def test_the_report_of_such_a_sweep_holds_them_against_each_other(tmp_path):
    with SweepFolder.begin(tmp_path, asked("block_path")) as folder:
        pass
    assert folder.record.values_against == ("shared", "local")
    found = Runs("s", tuple(runs()), (folder.path,) * 6, against=ComparedValues("block_path", "shared", "local"))
    page = page_of(runs_document([("s", found.runs)], found.runs, found.folders, (), found.against))
    assert page.answers[0].startswith("B against A: better in")
    assert page.pictures[0].name == "changes"
    (both,) = [section for section in page.sections if section.title == "Both sides"]
    assert both.table.head[2:4] == ("block path shared", "block path local")
    assert any(row[2:5] == ("20,000/s", "24,000/s", "+20.0 ± 1.3 %") for row in both.table.rows)
    assert page_of(runs_document([("s", found.runs)], found.runs, found.folders, ())).pictures[0].name != "changes"


def test_old_records_of_sweeps_are_still_read():
    document = asked().model_dump(mode="json")
    del document["against"], document["figures"]
    assert replace_model(document).values_against == ()


def replace_model(document):
    return asked().__class__.model_validate(document)


# --- what the sessions' own tables take


def test_the_plan_counts_the_tables_that_sessions_load_for_themselves():
    record = asked(block_path=("shared", "local"), sessions=(2, 3))
    by_path = {
        (point.values["block_path"], point.values["sessions"]): workload_of(record, point) for point in record.points
    }
    own = private_bytes(by_path["local", 3])
    assert own == 3 * 256 * MIB
    assert private_bytes(by_path["shared", 3]) == 0
    more_s = run_seconds(record, by_path["local", 3]) - run_seconds(record, by_path["shared", 3])
    assert more_s == pytest.approx(own / (60 * MIB))
    shared, local = (disk_bytes(record, [by_path[path, 3]]) for path in ("shared", "local"))
    assert local - shared >= own


def test_own_tables_are_active_data_whatever_the_schemas():
    local = Workload(schemas=2, sessions=8, scale="100", scan_pct=10, scan_table_sz="7", block_path="local")
    assert (local.active_tables, local.private_blocks(8192)) == (8, 8 * 107)
    shared = local.model_copy(update={"block_path": BlockPath.SHARED})
    assert (shared.active_tables, shared.private_blocks(8192)) == (2, 0)
    with pytest.raises(ValueError, match="use only one of them"):
        Workload(block_path="local", hot_schema_frequency=3)
