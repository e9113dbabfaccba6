"""Session counts from file names."""

from __future__ import annotations

import pytest

from factories.tables import table
from openslob.awr.inputs import FileName, compile_pattern, parse_name
from openslob.core.errors import UsageError


@table(
    ("name", "expected"),
    [
        ("awr_0_16.txt", FileName(16, 0, 16, "awr")),
        ("runs/8k.awr_4_12.html", FileName(16, 4, 12, "8k.awr")),
        ("awr.064.txt", FileName(64, group="awr")),
        ("awr.txt.128", FileName(128, group="awr")),
        ("8k-awr_032.lst", FileName(32, group="8k-awr")),
        ("awr_rac.16.html", FileName(16, group="awr_rac")),
    ],
)
def test_names_that_users_of_slob_give(name, expected):
    assert parse_name(name) == expected


@table(
    "name",
    ["awrrpt_1_155_156.html", "awrgrpt_155_156.txt", "sp_41_42.lst", "awr.txt", "awr_0_16_32.txt", "awr_2015.pdf"],
)
def test_other_numbers_are_not_taken_for_sessions(name):
    assert parse_name(name).sessions is None


def test_a_pattern_of_ones_own_replaces_all_others():
    pattern = compile_pattern(r"(?P<group>\d+k)/n(?P<sessions>\d+)_")
    assert parse_name("8k/n24_awr_0_16.txt", pattern) == FileName(24, group="8k")
    assert parse_name("awr_0_16.txt", pattern).sessions is None
    assert parse_name("w2r6.txt", compile_pattern(r"w(?P<writers>\d+)r(?P<readers>\d+)")).sessions == 8


@table(("pattern", "words"), [("(", "not a regular expression"), (r"\d+", "none of the named")])
def test_a_wrong_pattern_is_a_usage_error(pattern, words):
    with pytest.raises(UsageError, match=words):
        compile_pattern(pattern)
