"""The table of exit codes in the documentation is that of the program."""

import re
import shutil

import pytest
import typer

from factories.paths import ROOT
from factories.records import Made, physical
from factories.running import slob
from factories.tables import table
from openslob import cli
from openslob.cli.common_options import require_verdicts
from openslob.cli.gate import CONDITIONS, GATE, Inconclusive
from openslob.core.errors import SlobError, UndecidedError, UsageError, VerdictError
from openslob.record.model import Holds, Verdict
from openslob.record.store import RunFolder

CHAPTER = (ROOT / "docs" / "README.md").read_text().partition("## Exit codes")[2]
# Commands that judge what nobody stated.
OWN_CONDITIONS = {"verify"}


def commands_below(command, path=()):
    below = getattr(command, "commands", None)
    if below is None:
        return {" ".join(path): command}
    return {name: each for word, child in below.items() for name, each in commands_below(child, (*path, word)).items()}


COMMANDS = commands_below(typer.main.get_command(cli.app))


def documented():
    """The cells of each command's row: what 1, 3 and 4 mean for it."""
    rows = {}
    for line in CHAPTER.splitlines():
        if line.startswith("| `slob"):
            commands, *cells = (cell.strip() for cell in line.strip("|").split(" | "))
            for name in re.findall(r"`slob ([a-z ]+)`", commands):
                assert name not in rows
                rows[name] = cells
    return rows


DOCUMENTED = documented()


def conditions_of(command):
    return [param for param in command.params if param.name in CONDITIONS]


def test_every_command_has_a_row_and_no_other():
    assert set(DOCUMENTED) == set(COMMANDS)


@table("name", COMMANDS)
def test_a_command_has_codes_of_conditions_if_it_has_options_that_state_them(name):
    _, fails, unknown = DOCUMENTED[name]
    conditions = conditions_of(COMMANDS[name])
    assert (fails != "–") is (bool(conditions) or name in OWN_CONDITIONS)
    assert (unknown != "–") is bool(conditions)
    assert all(any(f"`{word}`" in fails for word in param.opts) for param in conditions)
    assert bool(conditions) is any(param.name == "inconclusive" for param in COMMANDS[name].params)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Nine runs, nine slower ones, one more of these, and one on another version."""
    place = tmp_path_factory.mktemp("results")
    for day, (name, speed, count) in enumerate(
        [("fast", 1.0, 9), ("slow", 0.8, 9), ("one", 0.8, 1), ("new", 0.8, 1)], 1
    ):
        for at in range(count):
            factor = speed * (1 + 0.002 * (3 * at % 5))
            made = Made(visits=57_960 * factor, read_us=131 / factor)
            record = physical(made, name=name, record_id=f"202603{day:02}-1200{at:02}-{name}")
            other = {"engine": {**record.engine, "version": "99"}} if name == "new" else {}
            record = record.model_copy(update={"started_at": f"2026-03-{day:02}T12:0{at}:00.000Z", **other})
            with RunFolder.begin(place, record) as folder:
                folder.finish(record)
    return place


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("compare fast slow --fail-if lio_per_s<-90%", 0),
        ("compare fast new", 1),
        ("compare fast nobody", 2),
        ("compare fast slow --fail-if lio_per_s<-5%", 3),
        ("compare fast one --spread fast --fail-if lio_per_s<-5% --fail-if cost_per_million_reads>1%", 3),
        ("compare fast fast --fail-if lio_per_s<-5%", 2),
        ("compare one new --anyway --fail-if lio_per_s<90%", 4),
        ("compare one new --anyway --fail-if lio_per_s<90% --inconclusive fail", 3),
        ("compare one new --anyway --fail-if lio_per_s<90% --inconclusive pass", 0),
        ("history", 0),
        ("history --fail-if-worse-within 1", 2),
        ("history --fail-if-worse-within 12 --figure lio_per_s", 3),
        ("history --fail-if-worse-within 5 --figure cost_per_million_reads", 4),
        ("history --fail-if-worse-within 5 --figure cost_per_million_reads --inconclusive pass", 0),
        ("history --fail-if-worse-within 5 --figure cost_per_million_reads --inconclusive fail", 3),
        ("show one", 0), ("show nobody", 2),
        ("list", 0), ("list --kin", 2),
        ("verify nobody", 2),
        ("awr", 2),
    ],
)  # fmt: skip
def test_a_command_ends_with_a_code_of_its_row(results, words, code):
    done = slob(*words.split(), "--results", results) if not words.startswith("awr") else slob("awr")
    assert done.returncode == code, done.stderr + done.stdout
    name = next(name for name in sorted(DOCUMENTED, key=len, reverse=True) if words.startswith(name))
    stated = {1: DOCUMENTED[name][0], 3: DOCUMENTED[name][1], 4: DOCUMENTED[name][2]}
    assert stated.get(code) != "–"


def test_a_figure_that_is_not_the_record_s_is_code_3(results, tmp_path):
    shutil.copytree(ROOT / "tests" / "fixtures" / "records" / "v4" / "measured", tmp_path / "run")
    assert slob("verify", tmp_path / "run").returncode == 0
    document = tmp_path / "run" / "run.json"
    document.write_text(re.sub(r'("lio_per_s": \{\s*"value": )', r"\g<1>9", document.read_text()))
    assert slob("verify", tmp_path / "run").returncode == 3


def of(name, outcome):
    return Verdict(name=name, verdict=outcome, why=f"{name} {outcome}", figures={})


FAILS, UNKNOWN, HOLDS = of("a", Holds.FAILS), of("b", Holds.UNKNOWN), of("c", Holds.HOLDS)


def test_a_required_verdict_that_fails_comes_before_one_that_is_unknown():
    require_verdicts([FAILS, UNKNOWN, HOLDS], ["c"])
    require_verdicts([FAILS, UNKNOWN, HOLDS], [])
    with pytest.raises(UndecidedError, match="verdict b unknown"):
        require_verdicts([FAILS, UNKNOWN, HOLDS], ["b", "c"])
    for names in (["b", "a"], ["a", "b"]):
        with pytest.raises(VerdictError, match="verdict a fails") as raised:
            require_verdicts([UNKNOWN, FAILS, HOLDS], names)
        assert raised.value.exit_code == 3
    with pytest.raises(UsageError, match="there are valid, read, undisturbed, and a"):
        require_verdicts([FAILS], ["d"])


def test_a_question_requires_the_verdicts_that_answer_it():
    sound = [of("errors", Holds.HOLDS), of("exact_mix", Holds.HOLDS), of("reads_reached_device", Holds.HOLDS)]
    quiet = [of(name, Holds.HOLDS) for name in ("quiet_machine", "driver_quiet", "steady")]
    require_verdicts([*sound, *quiet], ["valid", "read", "undisturbed"])
    noisy = [*sound, *quiet[1:], of("quiet_machine", Holds.FAILS)]
    require_verdicts(noisy, ["valid", "read"])
    with pytest.raises(VerdictError, match="not undisturbed: verdict quiet_machine fails") as raised:
        require_verdicts(noisy, ["valid", "undisturbed"])
    assert raised.value.exit_code == 3
    with pytest.raises(UndecidedError, match="not known to be undisturbed: verdict steady unknown"):
        require_verdicts([*sound, *quiet[:2], of("steady", Holds.UNKNOWN)], ["undisturbed"])
    with pytest.raises(UndecidedError, match="not known to be read: no verdict"):
        require_verdicts(quiet, ["read"])


def test_of_a_question_a_note_and_what_nobody_asks_to_be_proved_do_not_count():
    slight = Verdict(name="driver_quiet", verdict=Holds.FAILS, why="x", figures={"driver_cpu_pct_of_db": 2.1})
    require_verdicts([slight], ["undisturbed"])
    with pytest.raises(VerdictError, match="driver_quiet"):
        require_verdicts([slight], ["driver_quiet"])
    # More syncs than the commits need leave it open on any server that writes.
    require_verdicts([of("errors", Holds.HOLDS), of("commits_waited", Holds.UNKNOWN)], ["valid"])
    with pytest.raises(UndecidedError, match="counts_agree"):
        require_verdicts([of("errors", Holds.HOLDS), of("counts_agree", Holds.UNKNOWN)], ["valid"])
    # Without a stated mode there is nothing to judge about it.
    require_verdicts([of("reads_reached_device", Holds.HOLDS), of("mode", Holds.UNKNOWN)], ["read"])


def test_of_several_verdicts_of_one_name_all_count():
    with pytest.raises(UndecidedError):
        require_verdicts([HOLDS, of("c", Holds.UNKNOWN), HOLDS], ["c"])
    with pytest.raises(VerdictError, match="c fails"):
        require_verdicts([of("c", Holds.UNKNOWN), HOLDS, of("c", Holds.FAILS)], ["c"])


@pytest.mark.parametrize(
    ("choice", "codes"), [(None, (4, 3, 2, 1)), (Inconclusive.PASS, (0, 3, 2, 1)), (Inconclusive.FAIL, (3, 3, 2, 1))]
)
def test_only_what_can_not_be_told_depends_on_the_choice(monkeypatch, choice, codes):
    monkeypatch.setattr(GATE, "inconclusive", choice)
    errors = [kind("x") for kind in (UndecidedError, VerdictError, UsageError, SlobError)]
    assert tuple(map(GATE.code_of, errors)) == codes


def test_the_choice_of_one_command_is_not_that_of_the_next(monkeypatch):
    monkeypatch.setattr(GATE, "inconclusive", Inconclusive.PASS)
    COMMANDS["history"].make_context("slob", ["--fail-if-worse-within", "5"])
    assert GATE.inconclusive is None
