"""What a proof of durability looks like: text, list, page, exit code."""

from __future__ import annotations

import json

import pytest

from factories.crashes import CLEAN, DOWN, LOST, record
from factories.running import slob
from openslob.cli import crash as crash_command
from openslob.kinds.crash import figures as analysis
from openslob.kinds.crash.record import CrashControl, CrashCycle, CrashFolder, CrashMethod
from openslob.kinds.crash.report import crash_document, cycle_line
from openslob.record.model import Status
from openslob.report.terminal import render_text


def test_a_clean_proof_says_how_much_it_proves():
    text = " ".join(render_text(crash_document(record(CLEAN))).split())
    assert "Database 1: 1,200 commits were acknowledged before 1 crash, and all of them are there." in text
    assert "So at most 95 % of such crashes lose one (with 95 % confidence" in text
    assert "settings sync = on" in text
    assert "NOT CLEAN" not in text


def with_torn(*pages):
    return [
        CLEAN.model_copy(update={"kind": CrashMethod.CUT, "torn_pages": each, "in_checkpoint": True}) for each in pages
    ]


@pytest.mark.parametrize(
    ("cycles", "said"),
    [
        ([CLEAN], "Torn pages were not tested: the operating system kept what the server had written (--kind cut"),
        (with_torn(0, 0), "Torn pages were not tested: no cut left one (--survive random does)"),
        (with_torn(0, 7, 9), "2 of 3 cuts left torn pages, 8 in the median. So at most 78 % of such cuts leave damage"),
    ],
)
def test_whether_torn_pages_were_tested_is_told(cycles, said):
    whole = analysis.verdicts(cycles, None)[1]
    assert said in whole.why
    assert ("torn_ruled_out_pct" in whole.figures) == ("left torn pages" in said)


def test_what_the_crashes_hit_is_a_table_where_it_is_known():
    hit = with_torn(0, 7, 9)[1:]
    text = render_text(crash_document(record(*hit, CLEAN)))
    row = text.partition("WHAT THE CRASHES HIT")[2].splitlines()[2].split()
    assert row == ["storage", "cut", "off,", "too", "2", "2", "0", "2", "8", "9"]
    assert "WHAT THE CRASHES HIT" not in render_text(crash_document(record(CLEAN)))


@pytest.mark.parametrize(
    ("caught", "of", "verdict"),
    [(0, 10, "fails"), (0, 2, "fails"), (2, 2, "unknown"), (4, 4, "holds"), (4, 10, "fails"), (5, 10, "holds")],
)
def test_a_control_is_caught_if_the_next_run_would_catch_it_too(caught, of, verdict):
    cycles = [(CLEAN, LOST)[n < caught].model_copy(update={"kind": CrashMethod.CUT}) for n in range(of)]
    found = analysis.verdicts(cycles, CrashControl(name="unsafe"))[2]
    assert found.verdict.value == verdict
    assert (found.figures["run_power_pct"] >= 80) == (verdict == "holds")


IDLE = CLEAN.model_copy(update={"acked": 0})


@pytest.mark.parametrize(
    ("cycles", "control", "code"),
    [
        ([CLEAN], None, 0),
        ([CLEAN, LOST], None, 3),
        ([IDLE], None, 4),
        ([LOST] * 2, CrashControl(name="unsafe"), 0),
        ([CLEAN.model_copy(update={"kind": CrashMethod.CUT})] * 10, CrashControl(name="unsafe"), 3),
    ],
)
def test_the_exit_code_says_whether_a_loss_was_found_or_none_could_be(monkeypatch, tmp_path, cycles, control, code):
    monkeypatch.setattr(crash_command, "execute", lambda *_: (record(*cycles, control=control), tmp_path))
    assert slob("crash").returncode == code


def test_a_loss_is_named_with_the_operation_and_its_age():
    text = " ".join(render_text(crash_document(record(CLEAN, LOST))).split())
    assert "and 2 of them are not there" in text
    first = "cycle 2 (cut): 2 of 1,200 acknowledged commits are not there; the first, operation 77 of session 3, was "
    assert first + "acknowledged 42 ms before the crash" in text
    assert "ledger: ledgers/cycle-2.csv" in text


def test_a_server_that_is_down_is_not_called_safe():
    text = " ".join(render_text(crash_document(record(CLEAN, DOWN))).split())
    assert "all of them are there as far as the server's data can be read, which is not so after 1 crash" in text
    assert "cycle 3 (kill): the server did not recover: it did not start; its log is /x" in text
    assert cycle_line(DOWN) == "the server did not recover: it did not start; its log is /x"


def test_without_a_cycle_nothing_is_proved():
    text = render_text(crash_document(record(status=Status.FAILED)))
    assert "No crash was completed." in text
    assert "no cycle was completed" in text


def test_each_kind_of_crash_is_ruled_out_by_its_own_number_and_empty_cycles_are_none():
    kinds = (CrashMethod.KILL, CrashMethod.CUT)
    cycles = [
        CrashCycle(number=n, kind=kinds[n % 2], load_s=1, acked=9, recovery_s=1, compared=True) for n in range(20)
    ]
    keeps = analysis.verdicts(cycles, None)[0]
    assert keeps.figures["ruled_out_pct"] == pytest.approx(analysis.ruled_out_pct(10))
    assert "of the crashes of each kind lose one" in keeps.why
    assert "power failure" not in keeps.why
    killed = [cycle.model_copy(update={"kind": CrashMethod.KILL, "acked": 9 * (cycle.number < 5)}) for cycle in cycles]
    keeps = analysis.verdicts(killed, None)[0]
    assert keeps.figures["ruled_out_pct"] == pytest.approx(analysis.ruled_out_pct(5))
    assert "what a power failure leaves was not tested" in keeps.why


@pytest.mark.parametrize(("cycles", "share"), [(1, 95.0), (100, 2.95), (1000, 0.299)])
def test_what_is_ruled_out_follows_from_the_number_of_crashes(cycles, share):
    assert analysis.ruled_out_pct(cycles) == pytest.approx(share, rel=0.01)


@pytest.fixture
def results(tmp_path):
    """A folder with two proofs."""
    control = CrashControl(name="lying-disk", may_lose_nothing={"kill": "it keeps its power"})
    for each in (record(CLEAN), record(CLEAN, LOST, control=control).model_copy(update={"name": "caught"})):
        with CrashFolder.begin(tmp_path, each) as folder:
            folder.save(each.model_copy(update={"id": folder.path.name}))
    return tmp_path


def test_records_are_listed_shown_and_drawn(results, tmp_path):
    listed = slob("list", "--results", results).stdout
    assert "1 of 3 crashes" in listed
    assert "2 of 3 crashes with lying-disk" in listed
    shown = slob("show", "caught", "--results", results)
    assert shown.returncode == 0
    assert "made unsafe on purpose (lying-disk)" in " ".join(shown.stdout.split())
    page = slob("report", "caught", "--results", results, "-o", tmp_path / "page.html", "--json")
    assert page.returncode == 0, page.stderr
    assert "2 of them are not there" in json.loads(page.stdout)["answers"][0]
    assert "proof of durability" in (tmp_path / "page.html").read_text()


def test_proofs_are_not_mixed_with_others_on_a_page(results):
    refused = slob("report", "caught", "proof", "--results", results)
    assert refused.returncode == 2
    assert "is a proof of durability: a report shows one alone" in refused.stderr


def test_proofs_are_not_compared(results):
    refused = slob("compare", "caught", "proof", "--results", results)
    assert refused.returncode == 2
    assert "is a proof of durability, not a record of runs" in refused.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "postgresql://h/d"), "is not a managed server, and slob crashes only servers that it made"),
        (("--server", "x", "--kind", "cut"), "the data of x are on an ordinary file system, which can't be cut off"),
        (("--server", "x", "--control", "fsync-off"), "--control is for a server that is made for the proof"),
        (("--control", "flush-log-2"), "--control flush-log-2 is not known for postgresql; choose one of fsync-off"),
        (("--control", "lying-disk"), "--control lying-disk loses nothing by --kind kill"),
        (
            ("--require", "control_caught"),
            "there is no such verdict; there are valid, read, undisturbed, and no_acked_commit_lost, nothing_damaged",
        ),
        (("--engine", "sybase"), "no server of 'sybase' can be managed"),
        (("--server", "nosuch"), "there is no server 'nosuch'"),
    ],
)
def test_what_can_not_be_proved_is_refused_before_anything_is_made(tmp_path, words, said):
    refused = slob("crash", *words, "--results", tmp_path / "results")
    assert refused.returncode == 2, refused.stderr
    assert said in " ".join(refused.stderr.split())
    assert not (tmp_path / "results").exists()
