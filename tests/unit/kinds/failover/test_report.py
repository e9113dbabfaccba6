"""The text report of a test of failover, from the record of one."""

from __future__ import annotations

from factories.paths import FIXTURES
from openslob.kinds.failover.pictures import commit_rows
from openslob.kinds.failover.record import FailoverRecord
from openslob.kinds.failover.report import failover_document
from openslob.report.terminal import render_text

RECORD = FIXTURES / "records" / "failover-v1" / "measured" / "failover.json"
WHY = "the servers do not report their position in bytes"


def lag_of(*reasons: str) -> str:
    """Return the report of a record whose cycles have a copy for each of these reasons why its lag is unknown."""
    record = FailoverRecord.model_validate_json(RECORD.read_text())
    copies = [{"copy": f"server-{at}", "bytes_behind_max": None, "why": why} for at, why in enumerate(reasons)]
    cycles = [cycle.model_copy(update={"copies": copies}) for cycle in record.cycles]
    return render_text(failover_document(record.model_copy(update={"cycles": cycles}))).partition("LAG OF COPIES")[2]


def test_the_reason_that_all_copies_have_in_common_is_said_once():
    text = lag_of(WHY, WHY)
    assert text.count(WHY) == 1
    assert "why unknown" not in text


def test_different_reasons_stand_beside_their_copies():
    text = lag_of(WHY, "")
    assert "why unknown" in text
    assert text.count(WHY) == text.count("server-0")


def test_a_copy_whose_lag_is_known_needs_no_reason():
    assert "why unknown" not in lag_of("", "")


def test_two_rows_of_the_same_moment_are_no_step_of_the_time_line():
    rows = [{"cycle": "1", "from_s": at, "acknowledged": "5"} for at in ("0", "0", "0.5")]
    assert [row["value"] for row in commit_rows(rows, {"1": "cycle 1"})] == [10, 10, 10]
