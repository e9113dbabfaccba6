"""What a comparison in pairs says on one screen: the decision first, what must not be used in red, what to do next."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

import openslob
from factories.pairs import Host, ab_record
from factories.tables import table
from openslob.kinds.ab.pictures import ab_picture
from openslob.kinds.ab.report import ab_document, name_figure, subject_of
from openslob.record.model import Status
from openslob.report.terminal import render_answer, render_screen


@pytest.fixture
def screen(tmp_path):
    """Return the screen of a comparison on a host, as lines."""

    def screen(host, **changes):
        return render_screen(ab_document(ab_record(tmp_path, host, **changes)), 80).splitlines()

    return screen


@table(
    ("host", "changes", "answer"),
    [
        (
            {"ratio": 0.8},
            {},
            r"Worse: operations/s [12]\d\.\d % lower with B than with A \(1.* to 2.* %\), by \d pairs",
        ),
        ({"ratio": 1.25}, {}, r"Better: operations/s 2\d\.\d % higher with B than with A \("),
        ({"ratio": 0.2}, {}, r"Worse: operations/s 0\.20\d times as high with B as with A \("),
        ({}, {}, r"The same within 5 %: operations/s between \d"),
        ({}, {"within_pct": 10.0}, "The same within 10 %: "),
        ({"ratio": 1.25}, {"figure": "engine_read_latency_us"}, r"Better: engine read latency 2\d\.\d % lower with B"),
        ({"noise": 0.3}, {"limit_s": 120.0}, "Undecided: operations/s between "),
        ({"stop_at": 5}, {}, "Undecided: 2 pairs of runs, and 6 are needed at least."),
    ],
)
def test_the_decision_comes_first(screen, host, changes, answer):
    lines = screen(Host(**host), **changes)
    assert re.search(answer, " ".join(lines)), "\n".join(lines)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("P 1 on q1: A as-is, B jit=off;")


def test_what_can_not_be_used_is_said_above_all_and_gives_no_figure_as_the_answer(screen):
    lines = screen(Host(ratio=0.8, fails=("exact_mix",), restarts=False))
    assert lines[2] == "INVALID  Of 12 runs, verdicts fail: exact mix in 12."
    assert "Nothing is decided: runs did not measure what they say" in "\n".join(lines)
    assert any(line.startswith("  caution  Of 12 runs, 11 had no start of their server") for line in lines)
    assert not [line for line in lines if "19." in line or "801" in line]
    assert len(lines) <= 24


def test_what_is_not_counted_is_counted_aloud(screen):
    lines = screen(Host(ratio=0.8, lost={3}, failing={6}))
    assert "1 run discarded and made again and 1 run failed: not counted." in lines


def test_what_is_undecided_says_how_long_would_tell(screen):
    lines = screen(Host(noise=0.05, ratio=0.96), limit_s=120.0)
    assert "pairs would tell ± 5 %" in " ".join(lines)
    assert any(line.startswith("  slob ab … --for ") for line in lines)
    assert not [line for line in screen(Host()) if "--for" in line]


def test_the_short_answer_has_the_decision(tmp_path):
    document = ab_document(ab_record(tmp_path, Host(ratio=0.8)))
    assert render_answer(document).startswith("Worse: ")


def test_the_picture_has_a_dot_for_each_pair_and_the_interval_after_each_look(tmp_path):
    record = ab_record(tmp_path, Host(ratio=0.8))
    (panel,) = ab_picture(record).panels
    drawn = [panel["datasets"][layer["data"]["name"]] for layer in panel["layer"]]
    dots, bars = drawn[2], drawn[3]
    assert [row["pair"] for row in dots] == list(range(1, record.last_look.pairs + 1))
    assert all(0 < row["value"] < 1 for row in dots)
    known = [each for each in record.looks if each.low is not None]
    assert [(row["pair"], row["low"], row["high"]) for row in bars] == [(at.pairs, at.low, at.high) for at in known]
    assert ab_picture(record.model_copy(update={"runs": ()})) is None


def test_python_reads_what_it_decided(tmp_path):
    ab_record(tmp_path, Host(ratio=0.8))
    found = openslob.read_ab(results=tmp_path)
    assert found.decision == "worse"
    assert found.answers[0].startswith("Worse: operations/s ")
    assert repr(found).startswith("<Ab ")
    assert found.table.column("figure")[0] == "ops_per_s"
    assert all(ratio < 1 for ratio in found.table.column("ratio")[:1])
    assert found.verdicts["decided"].verdict == "holds"
    assert found.plots == ["ab"]


@table(("status", "why"), [(Status.FAILED, "no more pairs"), (Status.INTERRUPTED, "stopped before its end")])
def test_python_raises_what_a_comparison_did_not_come_to(tmp_path, monkeypatch, status, why):
    record = ab_record(tmp_path, Host()).model_copy(update={"status": status, "errors": ("no more pairs",)})
    monkeypatch.setattr("openslob.kinds.ab.execute.plan", lambda *_: None)
    folder = SimpleNamespace(record=record, path=tmp_path)
    monkeypatch.setattr("openslob.kinds.ab.execute.execute", lambda *_: folder)
    with pytest.raises(openslob.SlobError, match=f"{why}.*; its record is "):
        openslob.ab("as-is", "jit=off", target="postgresql://u@db1/test")
    folder.record = record.model_copy(update={"status": Status.COMPLETE})
    assert openslob.ab("as-is", "jit=off", target="postgresql://u@db1/test").record.sides == record.sides


def test_latencies_of_batches_are_called_so(tmp_path):
    plain = ab_record(tmp_path)
    batches = plain.model_copy(
        update={"workload": {**plain.workload, "loop": "client", "pipeline": 16}, "figure": "op_p99_us"}
    )
    assert name_figure(batches, "op_p99_us") == "Batch of 16 operations p99"
    assert name_figure(plain, "op_p99_us") == "Op p99"
    assert "client loop in batches of 16" in subject_of(batches)
