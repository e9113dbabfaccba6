"""The screen of a lab: one word for each value, which claims no more than the interval does."""

from __future__ import annotations

import pytest

from factories.labs import METHOD, PAGES_OFF, SUMS_OFF, lab_record
from openslob.kinds.lab.record import LabRecord
from openslob.kinds.lab.report import lab_document
from openslob.kinds.lab.screen import effects, lab_screen, settling_s
from openslob.report.document import TextTable
from openslob.report.terminal import render_screen


def words(record: LabRecord) -> list[tuple[str, str]]:
    return [(each.arm.setting, each.word) for each in effects(record)]


def test_effects_are_sorted_by_word_and_size() -> None:
    quick = METHOD.model_copy(update={"value": "io_uring"})
    record = lab_record((SUMS_OFF, 1.0), (METHOD, 0.3), (PAGES_OFF, 1.12), (quick, 1.5))
    found = effects(record)
    assert [(each.arm.label, each.word) for each in found] == [
        ("io_method=io_uring", "faster"), ("full_page_writes=off", "faster"), ("io_method=sync", "slower"),
        ("data_checksums=off", "no effect"),
    ]  # fmt: skip
    assert found[2].by.startswith("× 0.")
    assert found[3].by == ""
    assert found[3].details.startswith("any is below ")


def test_nothing_is_called_an_effect_or_none_before_it_is_known() -> None:
    assert words(lab_record((PAGES_OFF, 1.12), rounds=1)) == [("full_page_writes", "unknown")]
    assert words(lab_record((PAGES_OFF, 1.0), noise=0.2)) == [("full_page_writes", "unknown")]
    few = lab_record((PAGES_OFF, 1.3), rounds=4)
    assert words(few) == [("full_page_writes", "unknown")]
    assert "4 pairs at most, and 6 are needed" in lab_screen(few, None).answer[0]


def test_the_time_that_may_settle_the_rest_grows_with_the_square_of_the_width() -> None:
    record = lab_record((PAGES_OFF, 1.0), noise=0.1, precision_pct=3.0)
    finer = record.model_copy(update={"precision_pct": 1.5})
    open_ = [each for each in effects(record) if each.word == "unknown"]
    half = open_[0].result.rate.half_pct  # type: ignore[union-attr]
    assert half and half > 3
    pairs = 8 * ((half / 3) ** 2 - 1)
    wanted = 8 * ((half / 1.5) ** 2 - 1)
    assert settling_s(finer, open_) / settling_s(record, open_) == pytest.approx(wanted / pairs)
    assert settling_s(record, []) == 0


def test_a_lab_of_many_values_fits_and_says_how_many_it_leaves_out() -> None:
    many = [(SUMS_OFF.model_copy(update={"setting": f"setting_{at}"}), 1.0) for at in range(30)]
    record = lab_record(*many)
    screen = lab_screen(record, None)
    table = next(part for part in screen.parts if isinstance(part, TextTable))
    assert len(table.rows) + 20 == 30
    text = render_screen(lab_document(record), 80)
    assert "and 20 more: slob show 20260301-120000-lab --all" in text
