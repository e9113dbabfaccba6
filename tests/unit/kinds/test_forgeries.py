"""`slob verify` and whoever changes a record: with the digests left as they are, and with digests computed anew."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from factories import effort
from factories.forgeries import SEALED, Digit, Forger, Leaf, checked, digits_of, judged_today, leaves, with_leaf
from factories.paths import FIXTURES
from openslob.analyze import build_record, rebuild
from openslob.analyze.only_stated import GROUPS, ROWS, group_of
from openslob.analyze.verdict_registry import RULES_VERSION
from openslob.engines import registry
from openslob.kinds import checked_runs
from openslob.kinds.recounting import readings
from openslob.kinds.verification import render_verification, verification_json
from openslob.record import digests, labels, store
from openslob.record.model import Holds

pytestmark = pytest.mark.any_python

RAW = ("slices.csv", "engine.csv", "os.csv", "waits.csv", "latency.csv", "events.csv", "samples.csv")
# What no figure needs, by file and column: the group `ROWS` of what is only stated.
MOMENTS = {
    "slices.csv": {"start_ns", "end_ns", "first_op_ns", "max_us", "due_ns", "slice"},
    "os.csv": {"wall_ns"},
    "waits.csv": {"wall_ns"},
    "latency.csv": {"second"},
    "events.csv": {"wall_ns", "text"},
}
# Counters of the operating system of which figures need the first and the last reading, and levels: the last alone.
COUNTERS = (
    "host.cpu_", "server.server_cpu_s", "server.server_read_bytes", "sampler.", "device.", "driver.driver_cpu_s",
)  # fmt: skip
LEVELS = ("host.cores", "server.server_cores")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_today(tmp_path_factory.mktemp("forged") / SEALED.name)


@pytest.fixture(scope="module")
def document(sealed: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((sealed / "run.json").read_text())
    return found


def some(every: list[Leaf], quick: int) -> list[Leaf]:
    """All of them in a thorough run, and otherwise so many, the same ones each time."""
    return random.Random(30).sample(every, effort.number(min(quick, len(every)), len(every)))


def test_an_interval_that_is_gone_says_nothing_of_the_operations(sealed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sealed, tmp_path / "cut")
    rows = (folder / "engine.csv").read_text().splitlines(keepends=True)
    last = rows[-1].split(",")[:2]
    (folder / "engine.csv").write_text("".join(row for row in rows if row.split(",")[:2] != last))
    found = checked(folder)
    assert found.faults
    assert [run.out_of_order for run in found.runs] == [0]
    assert "in every session as the seed says" in render_verification(found)


def test_a_record_that_nobody_changed_is_what_it_says(sealed: Path) -> None:
    found = checked(sealed)
    assert found.faults == []
    assert found.rules == []
    assert len(found.once) <= 10
    assert {ROWS} < set(found.once) <= set(GROUPS)
    assert ROWS.name in render_verification(found)
    assert ROWS.name in [each["what"] for each in verification_json(found)["stated_once"]]


def test_every_changed_part_of_the_document_is_found(sealed: Path, document: dict[str, object]) -> None:
    forger = Forger(sealed)
    for path in some([path for path, _ in leaves(document)], 15):
        forged = with_leaf(document, path)
        assert forger.finds("run.json", forged, anew=False), path
        assert forger.finds("run.json", forged, anew=True), path


def test_every_verdict_that_was_turned_is_found(sealed: Path, document: dict[str, object]) -> None:
    forger = Forger(sealed)
    verdicts = document["verdicts"]
    assert isinstance(verdicts, list)
    outcomes = {each["verdict"] for each in verdicts}
    assert {"holds", "fails"} <= outcomes
    for turn in range(1, len(Holds)):
        turned = [turned_by(turn, each["verdict"]) for each in verdicts]
        changed = [{**each, "verdict": outcome} for each, outcome in zip(verdicts, turned, strict=True)]
        forged = json.dumps({**document, "verdicts": changed}).encode()
        assert forger.finds("run.json", forged, anew=False)
        # All of them at once, and each is named.
        said = "\n".join(forger.finds("run.json", forged, anew=True))
        for verdict, outcome in zip(verdicts, turned, strict=True):
            was = verdict["verdict"]
            assert f"verdicts.{verdict['name']}.verdict is {outcome!r}, and the raw files say {was!r}" in said


def turned_by(turn: int, outcome: str) -> str:
    """Another outcome of a verdict, the first or the second of them."""
    every = [str(each) for each in Holds]
    return every[(every.index(outcome) + turn) % len(every)]


def test_a_verdict_or_a_figure_that_was_left_out_is_found(sealed: Path, document: dict[str, object]) -> None:
    verdicts, summary = document["verdicts"], document["summary"]
    assert isinstance(verdicts, list)
    assert isinstance(summary, dict)
    fewer = (
        {**document, "verdicts": verdicts[:-1]},
        {**document, "summary": {name: each for name, each in summary.items() if name != "ops_per_s"}},
        {**document, "episodes": None},
        {**document, "environment": {}},
    )
    for forged in fewer:
        assert Forger(sealed).finds("run.json", json.dumps(forged).encode(), anew=True)


def is_row_between(sealed: Path, file: str, digit: Digit) -> bool:
    """Whether no figure needs a cell."""
    if digit.column in MOMENTS.get(file, ()) and (digit.column, digit.row[1]) != ("text", "total"):
        return True
    if file == "samples.csv":
        return digit.column == "value" and (stood_still(sealed, digit.row[2]) or not is_counted(sealed, digit))
    if file != "os.csv":
        return False
    first, *_, last = (line.partition(",")[0] for line in (sealed / file).read_text().splitlines()[1:])
    needed = {first: COUNTERS, last: (*COUNTERS, *LEVELS)}.get(digit.row[0], ())
    return not digit.row[1].startswith(needed)


def stood_still(sealed: Path, counter: str) -> bool:
    """Whether all readings have the same of a counter: whatever that is, nothing was counted."""
    return len({each.values.get(counter) for each in readings(sealed)}) == 1


def is_counted(sealed: Path, digit: Digit) -> bool:
    """Whether another count is another difference: of the whole load, or of an interval, which has no I/O by object."""
    facts = json.loads((sealed / "facts.json").read_text())
    counting = registry.counting("postgresql", facts["counting"])
    assert counting is not None
    first, *between, last = readings(sealed)
    moved = replace(last, values={**last.values, digit.row[2]: last.values[digit.row[2]] + 1000})
    one, other = (counting.difference(first, each) for each in (last, moved))
    if any(int(digit.row[0]) == each.server_ns for each in between):
        return (one.amounts(), one.storage_waits) != (other.amounts(), other.storage_waits)
    return one != other


@pytest.mark.parametrize("file", RAW)
def test_every_changed_digit_of_a_raw_file_is_found_or_its_group_is_listed(sealed: Path, file: str) -> None:
    forger, chance, seen = Forger(sealed), random.Random(effort.number(30, 31)), 0
    for digit in digits_of(sealed / file, effort.number(1, 40), chance):
        assert forger.finds(file, digit.content, anew=False), digit.row
        if forger.finds(file, digit.content, anew=True):
            seen += 1
        else:
            assert digit.is_rounding or is_row_between(sealed, file, digit), (digit.column, digit.row)
    assert seen


@pytest.mark.parametrize(
    ("counter", "is_found"),
    [("io.client backend/wal/normal.fsyncs", True), ("io.standalone backend/wal/normal.fsyncs", False)],
    ids=["moved", "stood still"],
)
def test_where_a_counter_stood_is_found_if_it_moved_and_listed_if_it_did_not(
    sealed: Path, counter: str, is_found: bool
) -> None:
    raw = (sealed / "samples.csv").read_bytes()
    begin = raw.index(f",{counter},".encode()) + len(counter) + 2
    higher = raw[:begin] + b"1" + raw[begin:]
    assert stood_still(sealed, counter) is not is_found
    assert bool(Forger(sealed).finds("samples.csv", higher, anew=True)) is is_found
    assert "not of where a counter stood that never moved" in render_verification(checked(sealed))


def test_every_changed_fact_is_found_or_its_group_is_listed(sealed: Path) -> None:
    forger, facts = Forger(sealed), json.loads((sealed / "facts.json").read_text())
    listed = {group.name for group in checked(sealed).once}
    for path in some([path for path, _ in leaves(facts)], 10):
        forged = with_leaf(facts, path)
        assert forger.finds("facts.json", forged, anew=False), path
        if not forger.finds("facts.json", forged, anew=True):
            # Nothing of the record follows from it.
            about = facts["measured"][path[1]][0] if path[0] == "measured" else path
            assert group_of(tuple(about)).name in listed, path


def test_under_other_rules_figures_are_derived_and_verdicts_are_not_compared(
    sealed: Path, document: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (rebuild, checked_runs):
        monkeypatch.setattr(module, "RULES_VERSION", RULES_VERSION + 1)
    monkeypatch.setattr(build_record, "RULES_VERSION", RULES_VERSION + 1)
    found = checked(sealed)
    assert found.faults == []
    older = f"judged by older rules of version {RULES_VERSION}; this program has version {RULES_VERSION + 1}"
    assert found.rules == [f"{older}: verdicts are not compared"]
    assert found.rules[0] in render_verification(found)
    forger = Forger(sealed)
    assert forger.finds("run.json", with_leaf(document, ("summary", "ops_per_s", "value")), anew=True)
    assert forger.finds("run.json", with_leaf(document, ("environment", "rules_version")), anew=True)
    assert not forger.finds("run.json", with_leaf(document, ("verdicts", 0, "why")), anew=True)
    # What comes out otherwise by the rules of today is named.
    turned = with_leaf(document, ("verdicts", 0, "verdict"), lambda was: "fails" if was == "holds" else "holds")
    before = (sealed / "run.json").read_bytes()
    (sealed / "run.json").write_bytes(turned)
    now = json.loads(before)["verdicts"][0]
    assert f"by those of today {now['name']} {now['verdict']}" in checked(sealed).rules[0]
    (sealed / "run.json").write_bytes(before)


@pytest.mark.parametrize("name", ["v2/measured", "v3/observed", "v4/measured"])
def test_of_an_old_record_it_is_said_that_it_has_no_digests_and_states_no_rules(name: str) -> None:
    found = checked(FIXTURES / "records" / name)
    assert found.faults == []
    (said,) = found.rules
    assert said.startswith("judged by older rules whose version it does not state")
    text = render_verification(found)
    assert said in text
    assert "digests     none: the record is older" in text
    assert verification_json(found)["digest"] is None


def test_a_record_that_lost_its_facts_is_not_verified(sealed: Path) -> None:
    kept = (sealed / "facts.json").read_bytes()
    (sealed / "facts.json").unlink()
    (digest, problem) = checked(sealed).faults
    (sealed / "facts.json").write_bytes(kept)
    assert digest == "changed since the record was finished: facts.json: missing"
    assert problem.endswith("can't be derived again without facts.json")


def test_facts_and_a_document_that_were_forged_alike_are_of_a_group_that_is_listed(sealed: Path) -> None:
    facts, document = (json.loads((sealed / name).read_text()) for name in ("facts.json", "run.json"))
    before = [(sealed / name).read_bytes() for name in ("facts.json", "run.json", "digests.json")]
    for given in (facts["given"], document):
        given["engine"]["settings"]["fsync"] = "off"
    (sealed / "facts.json").write_text(json.dumps(facts))
    (sealed / "run.json").write_text(json.dumps(document))
    digests.write(sealed)
    found = checked(sealed)
    for name, content in zip(("facts.json", "run.json", "digests.json"), before, strict=True):
        (sealed / name).write_bytes(content)
    assert found.faults == []
    assert group_of(("given", "engine", "settings", "fsync")) in found.once


def test_a_name_and_tags_that_a_user_gives_afterwards_change_nothing(sealed: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sealed, tmp_path / sealed.name)
    before = render_verification(checked(folder))
    labels.update(folder, name="called otherwise", tags=("nvme",))
    assert store.load(folder).name == "called otherwise"
    assert render_verification(checked(folder)) == before
