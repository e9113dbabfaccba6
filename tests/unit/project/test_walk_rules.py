"""What the walk through README and the documentation takes for a failure."""

from __future__ import annotations

from pathlib import Path

from factories.records import buffered, physical
from factories.tables import table
from factories.walk import Step, untrue
from openslob.record.model import Holds, RunRecord, Verdict
from openslob.record.store import RunFolder
from openslob.report.terminal import render_screen
from openslob.report.text import run_document

FAILING = {"verdict": Holds.FAILS, "why": "Made to."}


def step(command: str = "slob run", code: int = 0, output: str = "") -> Step:
    return Step("README.md:1", command, code, output, 0)


@table(
    "code, command",
    [
        (0, "slob run"),
        (3, "slob run --mode pio"),
        (4, "slob compare a b --fail-if 'ops_per_s < -10%'"),
        (3, "slob compare a b   # exit code 3"),
    ],
)
def test_a_judgement_is_no_failure_where_one_is_asked_for(code: int, command: str) -> None:
    assert not step(command, code).failed


@table("code, command", [(3, "slob run"), (4, "slob compare a b"), (1, "slob run --mode pio"), (2, "slob lsit")])
def test_an_exit_code_that_the_page_does_not_say_is_a_failure(code: int, command: str) -> None:
    assert step(command, code).failed


def printed(record: RunRecord, results: Path, mode: str | None = None) -> Step:
    made = record.model_copy(update={"spec": {**record.spec, "mode": mode}})
    with RunFolder.begin(results, made) as folder:
        folder.finish(made)
    return step(output=render_screen(run_document(made, results / made.id), 80))


def judged(record: RunRecord, *names: str) -> RunRecord:
    others = (each for each in record.verdicts if each.name not in names)
    return record.model_copy(
        update={"verdicts": (*others, *(Verdict(name=name, **FAILING) for name in names))}  # type: ignore[arg-type]
    )


def test_the_answer_of_a_sound_run_is_true(tmp_path: Path) -> None:
    assert untrue(printed(physical(), tmp_path, "pio"), tmp_path) == []


def test_a_run_through_the_page_cache_must_state_no_mode_and_say_so(tmp_path: Path) -> None:
    assert untrue(printed(buffered(), tmp_path), tmp_path) == []
    assert any(
        "reads_reached_device" in text for text in untrue(printed(buffered(), tmp_path / "pio", "pio"), tmp_path)
    )


def test_a_mode_that_the_server_can_not_give_is_a_failure_however_busy_the_host_is(tmp_path: Path) -> None:
    (found,) = untrue(printed(judged(buffered(), "window"), tmp_path, "pio"), tmp_path)
    assert "reads through the page cache" in found


def test_reads_of_the_page_cache_that_are_called_physical_are_a_failure(tmp_path: Path) -> None:
    said = printed(buffered(), tmp_path).output
    lie = step(output=f"1 physical 8 KB reads/s\n{said}")
    assert any("is called physical" in text for text in untrue(lie, tmp_path))


def test_invalid_figures_are_a_failure_unless_the_host_was_too_busy_to_count(tmp_path: Path) -> None:
    wrong = judged(physical(), "counts_agree")
    assert [text.split(": ")[1] for text in untrue(printed(wrong, tmp_path), tmp_path)] == ["counts_agree"]
    lost = judged(physical(), "counts_agree", "window")
    assert untrue(printed(lost, tmp_path / "lost"), tmp_path) == []


def test_disturbance_is_no_failure(tmp_path: Path) -> None:
    assert untrue(printed(judged(physical(), "quiet_machine", "driver_quiet", "steady"), tmp_path), tmp_path) == []
