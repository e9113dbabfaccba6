"""Questions that only a real server can answer: how they are asked, and what a file of answers shows of its owner."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import replace

import pytest

from openslob.cli.check import answer_text, prove_assumptions
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.engines.facts import ServerFacts
from openslob.engines.proofs import Inquiry, NotAskedError, ProofAnswer, Proving
from openslob.kinds.run.proving import STOPPED, ask, document, open_proving

SETTINGS = {
    "db_cache_size": "8G", "sga_target": "12,884,901,888", "log_mode": "NOARCHIVELOG", "db_flash_cache_file": "/u9",
    "container": "SALES", "local_listener": "(ADDRESS=(HOST=db1.example.org))", "edition": "19c Enterprise Edition",
}  # fmt: skip
PLAIN = {"8G", "12,884,901,888", "NOARCHIVELOG", "19c Enterprise Edition"}
NAMES = ["db1.example.org", "SALES", "BEN", "SLOB", "slob1"]


def refuses():
    raise NotAskedError("needs SELECT on V_$MYSTAT")


def is_lost():
    raise SlobError("connection to db1.example.org was lost")


def is_odd():
    raise KeyError("redo synch writes")


QUESTIONS = [
    Inquiry(1, "compile", "Does it compile?", lambda: ProofAnswer(True, "BEN.SLOB_SLICE_9001 is valid", {"errors": 0})),
    Inquiry(2, "clock", "Has it µs?", lambda: ProofAnswer(False, "steps of 1000 µs", {"step_us": 1000.0})),
    Inquiry(3, "commits", "Do they wait?", refuses),
    Inquiry(4, "cancel", "Does it end?", is_lost),
    Inquiry(5, "rows", "Are they counted?", is_odd),
]


class Asked:
    """An engine, as far as questions need one."""

    name = "oracle"
    target = "oracle://ben@db1.example.org/SALES"

    def __init__(self, questions=QUESTIONS):
        self.events = []
        self._questions = questions

    def facts(self):
        return ServerFacts("Oracle Database", "19.3", 8192, None, None, SETTINGS, None, {"transport": "TLS"})

    def follow(self, patience):
        self.patience = patience

    @contextmanager
    def exclusive(self, purpose):
        self.events.append(purpose)
        yield
        self.events.append("released")

    def proving(self):
        if self._questions is None:
            return None

        @contextmanager
        def made():
            try:
                yield Proving(self._questions, {"driver": "thin"}, NAMES, PLAIN.__contains__, "here")
            finally:
                self.events.append("dropped")

        return made()


def test_a_question_that_fails_keeps_no_other_from_being_asked():
    answers = [ask(question, Interrupt()).answer for question in QUESTIONS]
    assert [answer.holds for answer in answers] == [True, False, None, None, None]
    assert answers[2].seen == "needs SELECT on V_$MYSTAT"
    assert answers[3].seen == "connection to db1.example.org was lost"
    assert "redo synch writes" in answers[4].seen


def test_after_a_stop_nothing_more_is_asked_and_all_is_dropped():
    engine, interrupt = Asked(), Interrupt()
    with open_proving(engine) as proving:
        first = ask(proving.questions[0], interrupt)
        interrupt.request()
        second = ask(proving.questions[1], interrupt)
    assert (first.answer.holds, second.answer.holds) == (True, None)
    assert second.answer.seen == STOPPED
    assert engine.events == ["check --prove", "dropped", "released"]


def test_an_engine_whose_tests_run_on_real_servers_has_nothing_to_prove():
    with pytest.raises(UsageError, match="nothing to prove"), open_proving(Asked(None)):
        pass


def made(with_names):
    engine = Asked()
    with open_proving(engine) as proving:
        asked = [ask(question, Interrupt()) for question in proving.questions]
        return document(engine, engine.facts(), proving, asked, with_names)


def test_the_file_names_nobody():
    found = made(with_names=False)
    text = re.sub("name-[0-9a-f]{8}", "", json.dumps(found))  # by chance these digits are a name
    for name in ("db1", "example.org", "SALES", "BEN", "/u9"):
        assert name.lower() not in text.lower()
    # The name of an object that slob makes is kept, though it begins with the user's name.
    assert ".SLOB_SLICE_9001 is valid" in text
    assert found["settings"]["db_cache_size"] == "8G"
    assert found["settings"]["edition"] == "19c Enterprise Edition"
    assert found["settings"]["log_mode"] == "NOARCHIVELOG"
    assert found["settings"]["db_flash_cache_file"].startswith("name-")
    assert found["target"].startswith("name-")
    # Nobody can find a name by trying: another file has other replacements.
    assert made(with_names=False)["target"] != found["target"]


def test_the_same_name_has_the_same_replacement_in_one_file():
    question = Inquiry(1, "a", "b", lambda: ProofAnswer(True, "ben on SALES, then Ben again, 10.1.2.3"))
    engine = Asked([question])
    with open_proving(engine) as proving:
        found = document(engine, engine.facts(), proving, [ask(question, Interrupt())], with_names=False)
    first, _, _, _, second, _, address = found["answers"][0]["seen"].replace(",", "").split()
    assert first == second
    assert address.startswith("name-")


def test_the_owner_may_leave_the_names_in():
    found = made(with_names=True)
    assert found["target"] == "oracle://ben@db1.example.org/SALES"
    assert found["settings"] == SETTINGS
    assert found["proofs_version"] == 1
    assert [each["holds"] for each in found["answers"]] == [True, False, None, None, None]
    assert found["answers"][1]["figures"] == {"step_us": 1000.0}


def test_every_answer_is_shown_and_the_file_is_written(tmp_path, capsys):
    engine, path = Asked(), tmp_path / "answers.json"
    prove_assumptions(engine, path, with_names=False, as_json=False)
    shown = capsys.readouterr().out
    assert " 1 compile: ✓ holds\n" in shown
    assert " 2 clock: ✗ does not hold\n" in shown
    assert " 3 commits: ? could not be asked\n" in shown
    assert "1 hold, 1 do not, 3 could not be asked." in shown
    assert len(json.loads(path.read_text())["answers"]) == 5
    assert max(map(len, shown.splitlines())) <= max(80, len(str(path)))


def test_what_was_answered_before_a_stop_is_kept(tmp_path, capsys):
    class Stopped(Asked):
        def proving(self):
            self.patience.interrupt.request()
            return super().proving()

    with pytest.raises(SlobError, match="stopped before every question was asked"):
        prove_assumptions(Stopped(), tmp_path / "answers.json", with_names=False, as_json=True)
    found = json.loads((tmp_path / "answers.json").read_text())
    assert {each["seen"] for each in found["answers"]} == {STOPPED}
    assert json.loads(capsys.readouterr().out) == found


def test_questions_that_a_stop_left_are_not_counted_as_ones_that_could_not_be_asked(tmp_path, capsys):
    class StoppedByTheSecond(Asked):
        def proving(self):
            def second():
                self.patience.interrupt.request()
                return ProofAnswer(False, "no")

            yes = Inquiry(1, "a", "b", lambda: ProofAnswer(True, "yes"))
            self._questions = [yes, replace(yes, number=2, ask=second), replace(yes, number=3), replace(yes, number=4)]
            return super().proving()

    with pytest.raises(SlobError, match="stopped"):
        prove_assumptions(StoppedByTheSecond(), tmp_path / "answers.json", with_names=False, as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert re.findall(r"(\d) (hold|do not|could not|more)", shown) == [
        ("1", "hold"), ("1", "do not"), ("0", "could not"), ("2", "more"),
    ]  # fmt: skip


def test_nobody_is_asked_to_send_what_a_stand_in_answered(tmp_path, capsys):
    class StandIn(Asked):
        def facts(self):
            return replace(super().facts(), stand_in=True)

    for engine, asked in ((Asked(), True), (StandIn(), False)):
        prove_assumptions(engine, tmp_path / "answers.json", with_names=False, as_json=False)
        assert ("Please send the file" in " ".join(capsys.readouterr().out.split())) is asked


def test_an_answer_is_as_wide_as_a_terminal():
    question = Inquiry(7, "single blocks", "long " * 30, lambda: ProofAnswer(True, "seen " * 60))
    assert max(map(len, answer_text(ask(question, Interrupt())).splitlines())) <= 80
