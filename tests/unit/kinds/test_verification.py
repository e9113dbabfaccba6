"""What `slob verify` finds in records whose documents and raw files do not agree, or are not all there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from factories.labs import PAGES_OFF, lab_record
from factories.paths import FIXTURES
from factories.records import Made, physical
from factories.tables import table
from openslob.kinds.lab.figures import RATE, figures_of, with_results
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.repeated import figures as repeats
from openslob.kinds.repeated import record as repeated
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepPoint, SweepRecord
from openslob.kinds.verification import Verification, state_outcome, verify
from openslob.record import finding
from openslob.record.model import DocumentModel, Figure, RunRecord

MEASURED = FIXTURES / "records" / "v4" / "measured"


def checked(folder: Path) -> Verification:
    found = finding.at(folder)
    assert found is not None
    return verify(found)


def written(folder: Path, name: str, document: DocumentModel | RunRecord) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(document.model_dump_json())
    return folder


def differing(found: Verification) -> set[str]:
    """Return the numbers of the document itself that are not those of its runs."""
    return {each.name for each in found.numbers if each.value is not None and not each.same}


@dataclass(frozen=True)
class Lab:
    """A lab whose runs are on disk."""

    folder: Path
    record: LabRecord


@pytest.fixture
def a_lab(tmp_path: Path) -> Lab:
    made, folder, runs = lab_record((PAGES_OFF, 1.0), rounds=6), tmp_path / "lab", []
    folder.mkdir()
    for each in made.runs:
        record = physical(record_id=each.run or "")
        rate = {"commits_per_s": Figure(value=each.figures[RATE], unit="1/s")}
        record = record.model_copy(update={"summary": {**record.summary, **rate}})
        written(folder / record.id, "run.json", record)
        runs.append(each.model_copy(update={"figures": figures_of(record, "commits_per_s")}))
    return Lab(folder, with_results(made.model_copy(update={"runs": tuple(runs)})))


def test_ratios_of_a_lab_follow_from_its_runs_and_not_only_from_what_it_notes_of_them(a_lab: Lab) -> None:
    written(a_lab.folder, "lab.json", a_lab.record)
    found = checked(a_lab.folder)
    assert differing(found) == set()
    assert all(each.value is not None for each in found.numbers)
    better = tuple(
        each.model_copy(update={"figures": {**each.figures, RATE: (each.figures[RATE] or 0.0) * 1.1}})
        if each.value is not None
        else each
        for each in a_lab.record.runs
    )
    # The forged ratios are those of the forged figures beside them.
    forged = with_results(a_lab.record.model_copy(update={"runs": better}))
    found = checked(written(a_lab.folder, "lab.json", forged))
    of_runs = {f"runs.{number}.rate" for number in range(1, 12, 2)}
    assert differing(found) == of_runs | {
        f"results.0.figures.rate.{name}" for name in ("ratio", "low", "high", "joint_low", "joint_high")
    }
    shutil.rmtree(a_lab.folder / str(a_lab.record.runs[0].run))
    assert all(each.value is None for each in checked(a_lab.folder).numbers if each.name.startswith("results"))


def test_what_a_repeated_run_notes_of_its_runs_is_what_they_have(tmp_path: Path) -> None:
    run = physical(record_id="r1")
    record = repeated.load(FIXTURES / "records" / "repeated-v1" / "measured")
    noted = {**repeats.figures_of(run), "p99_us": 1.0}
    first = record.done[0].model_copy(update={"run": "r1", "figures": noted})
    folder = written(
        tmp_path / "it", "repeated.json", repeats.with_findings(record.model_copy(update={"times": (first,)}))
    )
    written(folder / "r1", "run.json", run)
    of_summary = {f"summary.{name}.value" for name in ("p99_us", "p99_us_low", "p99_us_high")}
    assert differing(checked(folder)) == {f"times.{first.number}.p99_us"} | of_summary


def test_the_answer_of_a_search_is_the_mean_of_its_runs(tmp_path: Path) -> None:
    runs = [physical(Made(visits=visits), record_id=f"r{visits}") for visits in (54_000, 55_000)]
    best = sum(each.summary["pio_read_per_s"].value or 0.0 for each in runs) / 2
    search = SearchRecord(
        limit_us=20_000, at="p99", most_sessions=8, throughput="pio_read_per_s", sessions=8, best=best * 1.02,
        latency_us=sum(float(str(each.latency["select"]["p99_us"])) for each in runs) / 2, why="",
    )  # fmt: skip
    made = tuple(
        SweepPoint(number=number, values={"sessions": 8}, repeat=number, state=PointState.DONE, run=each.id)
        for number, each in enumerate(runs, 1)
    )
    record = SweepRecord(
        id="s", name="s", started_at="2026-03-01T00:00:00Z", openslob_version="0", target="embedded", workload={},
        grid={}, seed=1, search=search, points=made,
    )  # fmt: skip
    folder = written(tmp_path / "s", "sweep.json", record)
    for each in runs:
        written(folder / each.id, "run.json", each)
    assert differing(checked(folder)) == {"search.best"}


@pytest.mark.parametrize("name", ["slices.csv", "engine.csv", "os.csv", "waits.csv", "latency.csv"])
def test_a_run_without_one_of_its_raw_files_is_not_verified(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    (folder / name).unlink()
    (fault,) = checked(folder).faults
    assert fault.endswith(f" without {name}")


def one_cell_changed(path: Path, line: str, column: int, change: Callable[[str], str]) -> None:
    """Change one cell of the first row that contains a text."""
    rows = path.read_text().splitlines()
    at = next(number for number, row in enumerate(rows) if number and line in row)
    cells = rows[at].split(",")
    cells[column] = change(cells[column])
    rows[at] = ",".join(cells)
    path.write_text("\n".join([*rows, ""]))


def more(cell: str) -> str:
    return str(float(cell) * 1.01 + 7) if "." in cell else str(int(cell) + max(1, int(cell) // 1000))


@table(
    ("name", "line", "column", "figures"),
    [
        ("slices.csv", "", 5, {"ops_total", "ops_per_s"}),
        ("slices.csv", "", 12, {"latency.select+update.mean_us", "db_time_per_s"}),
        ("engine.csv", ",read_requests,", 3, {"pio_read_per_s"}),
        ("waits.csv", ",IO:DataFileRead,", 2, {"waits.IO:DataFileRead.samples"}),
        ("latency.csv", ",select,", 3, {"latency.select.count"}),
    ],
)
def test_one_number_that_was_changed_in_a_raw_file_is_found(
    tmp_path_factory: pytest.TempPathFactory, name: str, line: str, column: int, figures: set[str]
) -> None:
    folder = tmp_path_factory.mktemp("verify") / "measured"
    shutil.copytree(MEASURED, folder)
    one_cell_changed(folder / name, line, column, more)
    assert figures <= {each.name for _, each in checked(folder).differing}


@pytest.mark.parametrize("name", ["slices.csv", "engine.csv", "os.csv", "waits.csv"])
def test_a_run_without_figures_has_raw_files_that_can_be_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "window": None, "summary": {}, "latency": {}}))
    assert checked(folder).faults == []
    one_cell_changed(folder / name, "", 0, lambda _: "x")
    (fault,) = checked(folder).faults
    assert f"{name} is damaged" in fault


def with_event(folder: Path, text: str) -> Path:
    """Copy the record, with a total among its events."""
    shutil.copytree(MEASURED, folder)
    with (folder / "events.csv").open("a") as file:
        file.write(f"1795365151518000000,total,{text}\n")
    return folder


def test_what_the_engine_counted_of_the_whole_window_takes_precedence_over_its_intervals(tmp_path: Path) -> None:
    found = checked(with_event(tmp_path / "more", "engine.read_requests 1.5"))
    (reads,) = (each.value for _, each in found.every if each.name == "pio_read_per_s")
    assert 0 < (reads or 0) < 1
    assert "pio_read_per_s" in {each.name for _, each in found.differing}
    (fault,) = checked(with_event(tmp_path / "none", "engine.read_requests x")).faults
    assert "events.csv is damaged" in fault


def test_a_latency_without_a_mean_has_none_to_compare(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    document = json.loads((folder / "run.json").read_text())
    for each in document["latency"].values():
        each["mean_us"] = None
    (folder / "run.json").write_text(json.dumps(document))
    assert checked(folder).faults == []


def test_the_last_line_says_how_many_figures_follow() -> None:
    assert state_outcome(checked(MEASURED)) == "verified: the figures follow from the raw files"
    paced = checked(FIXTURES / "records" / "v2" / "paced")
    known, every = sum(each.value is not None for _, each in paced.every), len(list(paced.every))
    assert known < every
    assert f" {known} of {every} figures " in state_outcome(paced)
    for kind in ("lab-v1", "crash-v1"):
        assert state_outcome(checked(FIXTURES / "records" / kind / "measured")) == "nothing could be compared"


def test_energy_follows_from_the_readings_of_the_host(tmp_path: Path) -> None:
    folder = tmp_path / "measured"
    shutil.copytree(MEASURED, folder)
    head, *rows = (folder / "os.csv").read_text().splitlines()
    moments = sorted({row.partition(",")[0] for row in rows})
    joules = {at: 10 + 90 * number for number, at in enumerate(moments)}
    with_energy = [head]
    for row in rows:
        with_energy.append(row)
        at, counter, _ = row.split(",")
        if counter == "host.cores":
            with_energy.append(f"{at},energy.package_energy_j,{joules[at]}")
    (folder / "os.csv").write_text("\n".join([*with_energy, ""]))
    document = json.loads((folder / "run.json").read_text())
    power = (max(joules.values()) - 10) / document["window"]["load_seconds"]
    document["summary"]["package_power_w"] = {"value": power, "unit": "W", "why": None}
    (folder / "run.json").write_text(json.dumps(document))
    found = checked(folder)
    assert [each.value for _, each in found.every if each.name == "package_power_w"] == [pytest.approx(power)]
    assert found.faults == []
