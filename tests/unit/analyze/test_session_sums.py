"""The sums of sessions are those of their slices, however the file is cut into parts and from which end it is read."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.slices import COLUMNS_OF_SLICES, lines
from openslob.analyze.session_sums import SessionSums, SessionTally, amounts_of
from openslob.core.counts import COUNTERS, SliceCounts

BASE = 1_795_365_121_515_497_123
COUNTS = st.integers(0, 10**7)
SLICE = st.fixed_dictionaries(
    {
        "session": st.integers(0, 4),
        "first_op_ns": st.one_of(st.just(""), st.integers(BASE, BASE + 10**9)),
        "max_us": st.one_of(st.just(""), st.integers(1, 10**8)),
        "busy_us": st.integers(0, 10**9),
        "length_ns": st.integers(1, 10**9),
        **dict.fromkeys(COUNTERS, COUNTS),
    }
)


def in_time(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Slices of which each begins when the one before it ends."""
    at, rows = BASE, []
    for row in drawn:
        rows.append({**row, "start_ns": at, "end_ns": at + row["length_ns"]})
        at += row["length_ns"]
    return rows


def summed(rows: list[dict[str, Any]]) -> dict[int, SessionTally]:
    """The sums, one slice after the other."""
    by_session = defaultdict(list)
    for row in rows:
        by_session[row["session"]].append(row)
    return {
        number: SessionTally(
            counts=sum((SliceCounts(**{name: row[name] for name in COUNTERS}) for row in own), SliceCounts()),
            busy_us=sum(row["busy_us"] for row in own),
            slices=len(own),
            begin_ns=own[0]["start_ns"],
            first_op_ns=next((row["first_op_ns"] for row in own if row["first_op_ns"] != ""), None),
            end_ns=max(row["end_ns"] for row in own),
            idle_us=sum(after["start_ns"] - before["end_ns"] for before, after in pairwise(own)) / 1000,
        )
        for number, own in sorted(by_session.items())
    }


def taken(sums: SessionSums, rows: list[dict[str, Any]], older: bool = False) -> None:
    cells = lines(rows)
    sums.take(COLUMNS_OF_SLICES, cells, amounts_of(COLUMNS_OF_SLICES, cells), older)


@given(st.lists(SLICE, min_size=1, max_size=40), st.integers(1, 40), st.integers(0, 40))
def test_sums_are_those_of_the_slices_in_whatever_parts_they_come(
    drawn: list[dict[str, Any]], length: int, first: int
) -> None:
    rows = in_time(drawn)
    parts = [rows[at : at + length] for at in range(0, len(rows), length)]
    # A viewer reads the end of a long file first, then what precedes it, while new lines come.
    first = min(first, len(parts) - 1)
    sums = SessionSums()
    for part in parts[first:]:
        taken(sums, part)
    for part in reversed(parts[:first]):
        taken(sums, part, older=True)
    assert sums.by_number() == summed(rows)
    assert sums.slices == len(rows)
    assert sums.max_us == max((row["max_us"] for row in rows if row["max_us"] != ""), default=None)
    ends = {row["session"]: row["end_ns"] for row in rows}
    assert sorted(sums.last_ends_ns.tolist()) == sorted(ends.values())


def test_counts_that_can_no_longer_be_added_exactly_are_damage() -> None:
    with pytest.raises(ValueError, match="too large"):
        taken(SessionSums(), [{"session": 0, "ops": 10**15}] * 10)


def test_columns_that_an_older_file_lacks_count_nothing() -> None:
    names = [name for name in COLUMNS_OF_SLICES if name not in ("conflicts", "busy_us")]
    found = amounts_of(names, lines([{"ops": 3}]))
    assert dict(zip([*COUNTERS, "busy_us"], np.ravel(found), strict=True))["ops"] == 3
