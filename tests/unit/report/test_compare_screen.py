"""A comparison on one screen: its size first, whether it is proved, five figures, and of how many runs each is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from factories.records import Made, buffered, cached, physical
from factories.running import slob
from factories.tables import table
from openslob.analyze.ci_gate import check, parse_condition
from openslob.analyze.compare import Comparison, compare
from openslob.analyze.curves.points import Run
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder
from openslob.report.compare_screen import comparison_screen
from openslob.report.comparison import comparison_document
from openslob.report.terminal import render_answer, render_screen

CONDITIONS = (
    "ops_per_s < -5%",
    "select_p99_us > 10%",
    "lio_per_s < -1%",
    "iops_per_db_cpu < -5%",
    "redo_mb_per_s > 1%",
)


def runs(rates: Sequence[float], day: int = 1, starts: Sequence[str] = (), **made: int) -> list[RunRecord]:
    """Runs whose operations per second are these; without ``starts``, each of a start of its own."""
    records = []
    for at, rate in enumerate(rates):
        what = Made(visits=64 * rate, read_us=131 * 905 / rate, **made)
        record = physical(what, record_id=f"202603{day:02}-1200{at:02}-x")
        start = {"server_started_at": starts[at]} if starts else {}
        records.append(record.model_copy(update={"engine": {**record.engine, **start}}))
    return records


def sides(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> Comparison:
    return compare([Run.of(each) for each in a], [Run.of(each) for each in b], "before", "after")


def shown(comparison: Comparison, conditions: Sequence[str] = (), columns: int = 80) -> str:
    checks = [check(parse_condition(text), comparison) for text in conditions]
    screen = comparison_screen(comparison, checks, "slob compare before after")
    return render_screen(replace(comparison_document(comparison, checks), screen=screen), columns)


def in_one_line(comparison: Comparison) -> str:
    return " ".join(shown(comparison).split())


BEFORE = [900.0, 910, 905, 903, 907]
SIDES = {
    "worse": (runs(BEFORE), runs([812, 820, 815], 2)),
    "better": (runs(BEFORE), runs([2200, 2190, 2210], 2)),
    "half": (runs(BEFORE), runs([400, 395, 405], 2)),
    "equal": (runs(BEFORE), runs([902, 909, 906], 2)),
    "undecided": (runs([500, 300, 424]), runs([400, 240, 329], 2)),
    "one": (runs([905]), runs([2172], 2)),
    "few": (runs([905, 905.1]), runs([300], 2)),
    "wild": (runs([900, 100]), runs([300, 500], 2)),
    "start": (runs([900, 901], starts=["s"] * 2), runs([800, 801], 2, starts=["t"] * 2)),
    "updates": (runs(BEFORE, update_pct=20), runs([812, 820, 815], 2, update_pct=20)),
    "cached": ([cached()], [cached().model_copy(update={"id": "20260302-120000-x"})]),
    "invalid": (runs(BEFORE), [buffered()]),
}
ANSWERS = {
    "worse": "after does 9.9 % fewer operations/s than before: 816 against 905. Shown at 95 %: ",
    "better": "after does 2.4 × the operations/s of before: 2,200 against 905. Shown at 95 %: 2.",
    "equal": "after does 0.1 % more operations/s than before: 906 against 905. The same within ",
    "undecided": "after does 20.8 % fewer operations/s than before: 323 against 408. Can't tell: between 5",
    "half": "after does 0.44 × the operations/s of before: 400 against 905. Shown at 95 %: 0.4",
    "one": "after does 2.4 × the operations/s of before: 2,172 against 905. Not proved: one run each. 5 runs each,",
    "few": "after does 0.33 × the operations/s of before: 300 against 905. Not proved: two runs against one. 5 runs",
    "wild": "after does 20.0 % fewer operations/s than before: 400 against 500. Unknown: equal runs differ too much, 2",
    "start": "Not proved: each side is of one start of the server. 5 runs each, each after a restart of the server,",
}


@table("name", SIDES)
@pytest.mark.parametrize("conditions", [(), CONDITIONS])
def test_it_is_one_screen(name: str, conditions: Sequence[str]) -> None:
    found = sides(*SIDES[name])
    text = shown(found, conditions)
    assert len(text.splitlines()) <= 24, text
    assert max(map(len, text.splitlines())) <= 80
    assert max(map(len, shown(found, conditions, 160).splitlines())) <= 160
    commands = [line.strip() for line in text.splitlines() if line.startswith("  slob ")]
    assert commands[0].startswith("slob compare before after --all")
    is_open = name in ("undecided", "one", "few", "wild", "start", "cached")
    assert [each.split("  ")[0] for each in commands[1:]] == (["slob ab --help"] if is_open else [])
    assert "None" not in text


@table("name", ANSWERS)
def test_the_first_sentence_has_the_size_and_the_second_whether_it_is_proved(name: str) -> None:
    text = in_one_line(sides(*SIDES[name]))
    assert ANSWERS[name] in text
    words = set(re.findall(r"\b(better|worse|same|not proved|can't tell)\b", text))
    assert words == {
        "worse": {"worse"}, "half": {"worse"}, "better": {"better"}, "equal": {"same"}, "undecided": {"can't tell"},
    }.get(name, {"not proved"} if name != "wild" else set())  # fmt: skip


def test_five_figures_and_of_how_many_runs_they_are() -> None:
    def rows(text: str) -> list[str]:
        lines = text.splitlines()
        (head,) = (at for at, line in enumerate(lines) if line.split()[:2] == ["before", "after"])
        return lines[head : head + 7]

    head, *figures, counts = rows(shown(sides(*SIDES["worse"])))
    assert [re.split(r" {2,}", line.strip())[0] for line in figures] == [
        "operations/s", "physical reads/s", "read latency", "select p99", "reads per CPU second",
    ]  # fmt: skip
    assert (head.split()[-1], counts.split()) == ("change", ["runs", "5", "3"])
    a, b = SIDES["worse"]
    summary = {name: figure for name, figure in b[0].summary.items() if name != "engine_read_latency_us"}
    head, *figures, _ = rows(shown(sides(a, [b[0].model_copy(update={"summary": summary}), *b[1:]])))
    assert head.split()[-1] == "runs"
    assert [line.split("  ")[-1].strip() for line in figures] == ["5, 3", "5, 3", "5, 2", "5, 3", "5, 3"]


def test_a_cached_load_is_compared_by_cached_reads() -> None:
    text = shown(sides(*SIDES["cached"]))
    assert "cached reads per CPU second" in text
    assert "read latency" not in text
    assert "physical" not in text


def test_a_side_that_must_not_be_used_comes_first_and_nothing_is_better_then() -> None:
    text = shown(sides(*SIDES["invalid"]))
    second = text.split("\n\n")[1]
    assert second.startswith("INVALID  after: ")
    several = [buffered(), buffered().model_copy(update={"id": "20260303-120000-x"})]
    assert "\n\nINVALID  a run of after: " in shown(sides(SIDES["invalid"][0], several))
    assert "page cache" in second
    assert not re.search(r"\b(better|worse|same)\b", text)
    assert "different" in text


def test_what_differs_is_in_one_line_without_plans_in_full() -> None:
    b = [
        each.model_copy(update={"engine": {**each.engine, "version": "18.5", "cache_bytes": 2**30}})
        for each in SIDES["worse"][1]
    ]
    text = in_one_line(sides(SIDES["worse"][0], b))
    assert "different cache_bytes (67108864 → 1073741824), version (18.4 → 18.5)" in text


def test_long_names_are_letters_of_which_the_first_line_says_what_they_are() -> None:
    comparison = replace(
        sides(*SIDES["worse"]), name_a="a/much-too-long-name-of-a-side", name_b="b/much-too-long-name-of-a-side"
    )
    text = in_one_line(comparison)
    of = "much-too-long-name-of-a-side"
    assert text.startswith(
        f"B, {of} (3 runs) against A, {of} (5 runs): PostgreSQL 18.4 on db1, 8 sessions B does 9.9 %"
    )
    assert " A B change " in text


def test_points_of_sweeps_have_a_row_each() -> None:
    a, b = (
        [each for n in (1, 2, 4) for each in runs([at * n for at in rates], day + n, sessions=n)]
        for day, rates in ((1, BEFORE), (9, [812, 820, 815]))
    )
    text = shown(sides(a, b))
    assert "in the mean of 3 points" in " ".join(text.split())
    assert "9 runs against 15" in " ".join(text.split())
    assert re.search(r"^ +4 sessions +\S+ +\S+ +-9\.\d ± \S+ % +\S+ µs +\S+ µs +\+1\d\.\d ± \S+ %$", text, re.M), text
    assert len(text.splitlines()) <= 24


def test_quiet_is_the_answer_alone() -> None:
    comparison = sides(*SIDES["invalid"])
    document = replace(comparison_document(comparison), screen=comparison_screen(comparison))
    text = render_answer(document)
    assert text.startswith("INVALID  after: ")
    assert "after does" in text
    assert "read latency" not in text


def test_the_command_prints_a_screen_and_the_whole_report_by_its_last_line(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("SLOB_RESULTS", str(tmp_path))
    for name, records in (("before", SIDES["worse"][0]), ("after it", SIDES["worse"][1])):
        for each in records:
            record = each.model_copy(update={"name": name})
            with RunFolder.begin(tmp_path, record) as folder:
                folder.finish(record)
    text = slob("compare", "before", "after it").stdout
    assert len(text.splitlines()) <= 24
    again = text.splitlines()[-1].strip().removesuffix("every figure").strip()
    assert again == "slob compare before 'after it' --all"
    whole = slob("compare", "before", "after it", "--all").stdout
    assert "To see a change of 5 % in operations/s takes" in whole
    assert "Physical read requests" in whole
    assert slob("compare", "before", "after it", "-q").stdout.startswith("after it does 9.9 % fewer")
