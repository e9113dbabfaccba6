"""The report of a repeated run: spread, change points, times without a run; and its command line."""

from __future__ import annotations

import pytest

from factories.repeats import repeated_record
from factories.vega_lite import validate
from openslob.cli.watch import Repeats, parameter_texts
from openslob.core.errors import UsageError
from openslob.kinds.repeated.figures import with_findings
from openslob.kinds.repeated.pictures import repeated_picture
from openslob.kinds.repeated.record import RepeatedFolder
from openslob.kinds.repeated.report import repeated_document, repeated_headline
from openslob.record.model import Holds
from openslob.report.charts.picture import chart
from openslob.report.html.page import page_of, render_page
from openslob.report.terminal import render_text


def test_a_change_is_named_with_its_moment_and_in_both_figures():
    record = repeated_record((5000, 30), (4400, 30))
    assert [(each["figure"], abs(each["number"] - 31) <= 1) for each in record.changes] == [
        ("ops_per_s", True), ("p99_us", True),
    ]  # fmt: skip
    assert {each.name: each.verdict for each in record.verdicts} == {
        "every_time": Holds.HOLDS, "predictable": Holds.FAILS,
    }  # fmt: skip
    assert "changed by -1" in repeated_headline(record)


def test_runs_that_differ_by_chance_alone_are_predictable():
    record = repeated_record((5000, 40))
    assert record.changes == ()
    assert [each.why for each in record.verdicts if each.name == "predictable"] == ["No change point among 40 runs."]
    assert record.value("ops_per_s") == pytest.approx(5000, rel=0.02)
    assert record.value("ops_per_s_spread_pct") == pytest.approx(2, abs=1)


def test_few_runs_are_not_said_to_be_nine_of_ten():
    few, many = repeated_record((5000, 3)), repeated_record((5000, 40))
    rates = sorted(each.figures["ops_per_s"] for each in few.times)
    assert f"They gave {rates[0]:,.0f} to {rates[-1]:,.0f}/s" in repeated_headline(few)
    assert "9 of 10 runs gave" in repeated_headline(many)
    for record, unit in ((few, "min"), (many, "h")):
        assert f"time since the first run ({unit})" in str(chart(repeated_picture(record)).to_dict(validate=False))


def test_verdicts_on_runs_that_fail_are_told():
    record = repeated_record((5000, 3))
    times = tuple(each.model_copy(update={"failed_verdicts": ("quiet_machine",)}) for each in record.times)
    text = render_text(repeated_document(record.model_copy(update={"times": times})))
    assert "Verdicts that fail, with the number of runs: quiet machine (3)." in " ".join(text.split())
    assert text.count("fails: quiet machine") == 3


def test_rates_that_are_not_known_say_nothing_of_predictability():
    record = repeated_record((5000, 8))
    unknown = tuple(each.model_copy(update={"figures": {"p99_us": 1.0}}) for each in record.times)
    found = with_findings(record.model_copy(update={"times": unknown}))
    assert {each.name: each.verdict for each in found.verdicts}["predictable"] is Holds.UNKNOWN
    assert found.summary["ops_per_s"].why == "no run has one"
    assert "no rate is known" in repeated_headline(found)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_text_fits_the_screen_and_names_what_is_missing(width):
    text = render_text(repeated_document(repeated_record((5000, 60), missed=(7,))), width)
    assert max(map(len, text.splitlines())) <= width
    assert "missed: nobody" in text
    assert "DAYS" in render_text(repeated_document(repeated_record((5000, 120))), width)


def test_the_page_has_a_valid_picture():
    record = repeated_record((5000, 20), (4000, 20), missed=(3,))
    picture = repeated_picture(record)
    assert picture is not None
    validate(chart(picture).to_dict(validate=False))
    assert "The runs over time" in render_page(page_of(repeated_document(record)))
    assert repeated_picture(record.model_copy(update={"times": ()})) is None


def test_the_record_is_read_as_it_was_written(tmp_path):
    from openslob.kinds.repeated import record as repeated  # noqa: PLC0415

    with RepeatedFolder.begin(tmp_path, repeated_record((5000, 3))) as folder:
        assert repeated.load(folder.path) == folder.record


def test_the_parameters_of_the_run_are_one_text():
    assert parameter_texts("--sessions 8 --run-time=30s --do-hotspot --no-obfuscate-columns") == {
        "sessions": "8", "run_time": "30s", "do_hotspot": "TRUE", "obfuscate_columns": "FALSE",
    }  # fmt: skip
    assert parameter_texts("") == {}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--session 8", "did you mean --sessions"),
        ("--no-sessions", "not a parameter"),
        ("--sessions", "no value"),
        ("8", "8 is not a parameter"),
    ],
)
def test_a_wrong_parameter_of_the_run_is_named(words, why):
    with pytest.raises(UsageError, match=why):
        parameter_texts(words)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"seconds": 60.0}, "--for is for runs that are repeated"),
        ({"words": "--sessions 8"}, "--run is for runs"),
        ({"resume": "latest", "every_s": 60.0}, "not --every"),
        ({"every_s": 60.0, "seconds": 600.0, "count": 3}, "--for and --count"),
    ],
)
def test_options_that_do_not_go_together_are_refused(given, why):
    nothing = {"every_s": None, "seconds": None, "count": None, "words": "", "resume": None}
    with pytest.raises(UsageError, match=why):
        Repeats(**{**nothing, **given}).require_complete()


def test_the_number_of_runs_is_that_of_the_time():
    assert Repeats(900.0, 3 * 86_400.0, None, "", None).planned == 288
    assert Repeats(900.0, None, 7, "", None).planned == 7
    assert Repeats(900.0, None, None, "", None).planned is None


def test_latencies_of_batches_are_called_so():
    plain = repeated_record((5000, 8))
    batches = plain.model_copy(update={"workload": {**plain.workload, "loop": "client", "pipeline": 16}})
    assert "batch p99" in render_text(repeated_document(batches))
    assert "batch p99 (µs)" in str(chart(repeated_picture(batches)).to_dict(validate=False))
    assert "batch" not in render_text(repeated_document(plain))
