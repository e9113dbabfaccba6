"""The answer on one screen: what it must have, what it must leave out, and that it fits."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from factories import records
from factories.reports import OLD, made_up, stored
from openslob.analyze.verdict_registry import NAMES, Severity, severity_of
from openslob.cli.output import RED, add_colour
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.report import sweep_document
from openslob.record.model import DISCARDED, Holds, RunRecord, Verdict
from openslob.report.document import Document
from openslob.report.terminal import LINES, render_answer, render_checks, render_screen
from openslob.report.text import run_document

MADE = made_up()


@pytest.fixture(scope="module")
def document_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Document]:
    @cache
    def document(name: str) -> Document:
        folder = tmp_path_factory.mktemp("record")
        made = MADE[name](folder) if name in MADE else stored(name, folder)
        return sweep_document(made.record, made.runs) if made.kind is SWEEP else made.kind.document(made.record, None)

    return document


def verdict(name: str, outcome: Holds = Holds.FAILS, why: str = "It is so.", **figures: float | str | None) -> Verdict:
    return Verdict(name=name, verdict=outcome, why=why, figures=figures)


def run_with(*verdicts: Verdict) -> RunRecord:
    return records.physical().model_copy(update={"verdicts": verdicts})


def screen_with(*verdicts: Verdict) -> str:
    return render_screen(run_document(run_with(*verdicts)), 80)


@pytest.mark.parametrize("columns", [80, 160])
@pytest.mark.parametrize("name", [*OLD, *MADE])
def test_it_fits_the_smallest_terminal(document_of: Callable[[str], Document], name: str, columns: int) -> None:
    document = document_of(name)
    if document.screen is None:
        pytest.skip("its kind has no screen")
    lines = render_screen(document, columns).splitlines()
    assert len(lines) < LINES
    assert max(map(len, lines)) <= columns


@pytest.mark.parametrize("failing", range(1, len(NAMES)))
def test_it_fits_however_many_checks_fail(failing: int) -> None:
    cautions = [name for name in NAMES if severity_of(name, {}) is not Severity.INVALID][:failing]
    text = screen_with(*(verdict(name, why="A reason of two lines, " * 5) for name in cautions))
    assert len(text.splitlines()) < LINES
    shown = text.count("  caution  ") + text.count("  note     ")
    said = [name for name in cautions if name in {"limit_found", "level_sustained"}]
    left = next((int(line.split()[0]) for line in text.splitlines() if line.endswith(("fail", "fails"))), 0)
    assert shown + left == len(cautions) - len(said)


def test_what_must_not_be_used_comes_before_the_answer_and_alone_is_red() -> None:
    cached = verdict("reads_reached_device", storage_to_engine_pct=17.0)
    text = screen_with(verdict("steady"), cached)
    assert "INVALID  83 % of the reads came from the operating system's page cache" in text
    assert text.index("INVALID") < text.index("engine reads/s") < text.index("caution")
    assert RED not in add_colour(screen_with(verdict("steady"), verdict("percentiles_supported")))
    assert f"{RED}INVALID" in add_colour(text)


def test_a_figure_says_how_grave_a_verdict_is() -> None:
    assert "note     The driver used 2.1 %" in screen_with(verdict("driver_quiet", driver_cpu_pct_of_db=2.1))
    assert "caution  The driver used 10 %" in screen_with(verdict("driver_quiet", driver_cpu_pct_of_db=10.0))
    assert "caution  Disturbed: others used 76 %" in screen_with(verdict("quiet_machine", others_cpu_pct=76.0))
    # One of several drivers may be the reason.
    several = verdict("driver_quiet", driver_cpu_pct_of_db=2.1, driver_1_cpu_pct=99.0)
    assert severity_of("driver_quiet", several.figures) is Severity.CAUTION


def test_no_stated_mode_is_no_verdict() -> None:
    held = verdict("errors", Holds.HOLDS)
    unstated = verdict("mode", Holds.UNKNOWN, "No mode was stated; the run looks like pio.", looks_like="pio")
    assert "  1 check holds: slob show" in screen_with(held, unstated)
    stated = verdict("mode", Holds.UNKNOWN, "Whether it was pio can't be determined: no.", stated="pio")
    assert "  1 check holds, 1 can't tell: slob show" in screen_with(held, stated)
    assert "No mode was stated" in render_checks(run_document(run_with(held, unstated)))


def test_a_run_that_is_too_short_says_so_once() -> None:
    text = screen_with(
        verdict("steady", Holds.UNKNOWN, "Not enough data: there are fewer than 10 points in time."),
        verdict("level_sustained", Holds.UNKNOWN, "Can't be determined: it lasted 4 s, and a cap shows from 12 s on."),
        verdict("errors", Holds.HOLDS),
    )  # fmt: skip
    assert text.count("oo short") == 1
    assert "can't tell" not in text


def test_the_limit_is_in_the_sentence_of_the_answer() -> None:
    figures = {"limit": "storage", "data_io_pct": 98.0, "log_pct": 0.0, "device_busy_pct": 60.0, "cpu_wait_pct": 1.0}
    why = "Storage was the limit: CPU 3 %; its latency set the pace, and more sessions may do more."
    text = " ".join(screen_with(verdict("limit_found", Holds.HOLDS, why, **figures)).split())
    assert "at 131 µs, limited by the latency of storage. Sessions waited 98 % of the time for data" in text
    assert "slob sweep --target embedded --sessions 8,16,32,64" in text


def test_cpu_that_others_use_is_no_limit_unless_the_server_waited_for_it() -> None:
    figures = {"limit": "CPU that others used", "cpu_pct": 100.0, "server_cpu_pct": 9.0}
    found = verdict("limit_found", Holds.HOLDS, "The limit was the CPU that others used: CPU 100 %.", **figures)
    assert "what limits it is not known" in " ".join(screen_with(found).split())
    waited = found.model_copy(update={"figures": {**figures, "cpu_wait_pct": 60.0}})
    assert "limited by the CPU that other programs used" in " ".join(screen_with(waited).split())


def test_every_verdict_is_among_the_checks_with_its_question(document_of: Callable[[str], Document]) -> None:
    document = document_of("v4/measured")
    text = render_checks(document, 120)
    shown = re.findall(r"^  [✓✗?] (?:holds|can't tell|\w+) +(\w+)  ", text, re.MULTILINE)
    assert sorted(shown) == sorted(each.name for each in document.verdicts)
    assert text.index("VALID:") < text.index("READ:") < text.index("UNDISTURBED:") < text.index("LIMIT:")


def test_the_answer_alone_has_what_fails_and_nothing_else() -> None:
    document = run_document(run_with(verdict("steady"), verdict("errors", Holds.HOLDS)))
    assert render_answer(document).splitlines() == [
        "54,309 engine reads/s of 8 KB (whether from a device is unknown) at 131 µs.", "", "  caution  It is so.",
    ]  # fmt: skip


def test_runs_that_were_discarded_before_it_are_counted_with_the_reason() -> None:
    late = "the server's counters were first read 12.3 ms after the load had begun: this host was too busy"
    notes = [f"{DISCARDED}20260301-12000{number}-run: {late}" for number in (1, 2)]
    one, two = (
        render_screen(run_document(records.physical().model_copy(update={"notes": tuple(notes[:count])})), 160)
        for count in (1, 2)
    )
    why = "the server's counters were first read 12.3 ms after the load had begun."
    assert f"A run before this one was discarded: {why}" in one
    assert f"2 runs before this one were discarded: {why}" in two
    assert "discarded" not in render_screen(run_document(records.physical()), 160)
