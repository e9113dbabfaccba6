"""What must be known of a server before its figures: every report of a run says it, and a stand-in is no database."""

from __future__ import annotations

import pytest

from factories import record_files
from factories.measurements import measurement
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.verdicts import judge
from openslob.kinds.run import KIND as RUN
from openslob.record.model import Holds, Verdict
from openslob.report.ci_formats import github, markdown
from openslob.report.comparison import comparison_document, comparison_json
from openslob.report.headline import headline
from openslob.report.html.page import page_of
from openslob.report.pictures import pictures_of_run, pictures_of_runs
from openslob.report.several_runs import runs_document
from openslob.report.terminal import render_text
from openslob.report.text import render, run_document

EXPERIMENTAL = "no such database has passed the tests of this engine yet"
STAND_IN = "stand-in"
FLAVOUR = {"family": "PostgreSQL", "number": "16.4", "by": "function aurora_version", "says": "PostgreSQL 16.4 on x86"}
CAUTION = "Aurora: its blocks are in a storage service of its own"


def record(**facts):
    made = record_files.record()
    return made.model_copy(update={"engine": {**made.engine, **facts}})


def test_a_report_names_the_product_that_answered_and_whose_protocol_it_speaks():
    text = render(record(product="Aurora", version="16.4.2", flavour=FLAVOUR))
    assert text.splitlines()[0].count("Aurora 16.4.2") or "Aurora 16.4.2" in text.partition("\n\n")[0]
    assert "Aurora 16.4.2, which speaks as PostgreSQL 16.4; known by: function aurora_version" in " ".join(text.split())
    aurora = record(product="Aurora", version="16.4.2", flavour=FLAVOUR)
    assert "sessions on Aurora 16.4.2, " in headline(aurora)
    assert RUN.contents(aurora) == "Aurora 16.4.2"
    original = record(product="PostgreSQL", version="16.4", flavour=FLAVOUR)
    assert "which speaks as" not in render(original)
    assert (RUN.contents(original), RUN.contents(record())) == ("", "")
    assert "on PostgreSQL" not in headline(original)


def test_two_flavours_are_not_the_same_product():
    runs = [Run.of(record(product=product, version="16.4")) for product in ("PostgreSQL", "Amazon RDS for PostgreSQL")]
    compared = compare(runs[:1], runs[1:], "a", "b")
    assert [(each.name, each.a, each.b) for each in compared.mismatches] == [
        ("product", ("PostgreSQL",), ("Amazon RDS for PostgreSQL",))
    ]


def test_a_database_needs_no_word_and_no_verdict():
    assert record().reservations == ()
    assert "!" not in render(record()).partition("\n\n")[0]
    assert "real_server" not in {verdict.name for verdict in judge(measurement())}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"experimental": EXPERIMENTAL}, EXPERIMENTAL),
        ({"stand_in": True}, STAND_IN),
        ({"flavour": {**FLAVOUR, "caution": CAUTION}}, f"{CAUTION}."),
    ],
)
def test_every_report_says_it_before_the_figures(tmp_path, facts, said):
    reserved = record(**facts)
    record_files.write(tmp_path)
    assert said in " ".join(render(reserved).partition("\n\n")[0].split())
    assert said in page_of(run_document(reserved, tmp_path)).banners[0]
    drawn, _ = pictures_of_run(reserved, tmp_path)
    assert drawn
    assert all(said in picture.notes[0] for picture in drawn)
    runs = [Run.of(reserved), Run.of(reserved.model_copy(update={"id": "other"}))]
    assert all(said in picture.notes[0] for picture in pictures_of_runs(runs))
    assert said in page_of(runs_document([("a", runs[:1]), ("b", runs[1:])], runs, [tmp_path] * 2, ())).banners[0]
    head = render_text(comparison_document(compare(runs[:1], runs[1:], "a", "b")))
    assert said in " ".join(head.split())
    assert "! A:" not in head
    compared = compare(runs[:1], runs[1:], "a", "b")
    assert said in comparison_json(compared)["reservations"][0]
    assert said in markdown(compared).splitlines()[2]
    assert github(compared).startswith("::warning") and said in github(compared).splitlines()[0]
    only_b = compare([Run.of(record())], runs[1:], "a", "b")
    assert f"! B: {reserved.reservations[0][:12]}" in render_text(comparison_document(only_b))


def test_nothing_of_a_stand_in_can_be_taken_for_a_measurement():
    (verdict,) = [each for each in judge(measurement(stand_in=True)) if each.name == "real_server"]
    assert verdict.verdict is Holds.FAILS
    told = Verdict(name=verdict.name, verdict=verdict.verdict, why=verdict.why)
    assert headline(record(stand_in=True).model_copy(update={"verdicts": (told,)})).endswith(
        "; computed by a stand-in and not measured."
    )
