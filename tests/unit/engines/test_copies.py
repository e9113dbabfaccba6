"""How far a copy is behind: in one log, across files, and where it is not known."""

from __future__ import annotations

import pytest

from openslob.core.measurement import Behind
from openslob.core.units import NANOS
from openslob.engines.copies import CopyReading, LogPlaces, LogPosition, LogScale, bytes_behind
from openslob.engines.mysql.replication import copy_reading, count_transactions

FILES = {6: 900, 7: 1000, 8: 300}
STATUS = {
    "Relay_Master_Log_File": "bin.000007", "Exec_Master_Log_Pos": 400, "Master_Log_File": "bin.000008",
    "Read_Master_Log_Pos": 250, "Seconds_Behind_Master": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("primary", "copy", "behind"),
    [
        (LogPosition(5000), LogPosition(3500), 1500),
        (LogPosition(5000), LogPosition(5000), 0),
        (LogPosition(5000), LogPosition(5200), 0),  # read a moment later
        (LogPosition(300, 8, FILES), LogPosition(100, 8), 200),
        (LogPosition(300, 8, FILES), LogPosition(400, 6), 500 + 1000 + 300),
        (LogPosition(300, 8, FILES), LogPosition(400, 5), None),  # the primary has removed that file
        (None, LogPosition(1), None),
        (LogPosition(1), None, None),
    ],
)
def test_bytes_behind(primary, copy, behind):
    assert bytes_behind(primary, copy) == behind


def test_a_replica_s_status():
    assert copy_reading(STATUS) == CopyReading(LogPosition(400, 7), LogPosition(250, 8), None)
    assert copy_reading({**STATUS, "Seconds_Behind_Master": 3, "Master_Log_File": ""}) == CopyReading(
        LogPosition(400, 7), None, 3.0
    )


def places(*readings):
    """The places of a primary and a copy, a reading each second."""
    seen = LogPlaces()
    for second, of_instances in enumerate(readings):
        seen.see(second * NANOS, {f"{number}.log_place": place for number, place in enumerate(of_instances)})
    return seen


@pytest.mark.parametrize(
    ("readings", "behind"),
    [
        ([(100, 100), (200, 200)], Behind(0, 0, 0)),
        # Ahead of a primary that was read a moment earlier.
        ([(100, 100), (200, 260)], Behind(0, 0, 0)),
        # What is lacking at last came after the second reading.
        ([(100, 100), (200, 100), (300, 250)], Behind(50, 100, 1)),
        # A copy that stands still.
        ([(100, 100), (200, 100), (300, 100), (400, 100)], Behind(150, 300, 3)),
        # Since when it lacks what the log had before the first reading, nobody knows.
        ([(100, 50), (200, 200)], Behind(25, 50, 0)),
        ([], None),
        ([(100,), (200,)], None),
    ],
)
def test_how_far_and_for_how_long_a_copy_was_behind(readings, behind):
    assert places(*readings).behind(0, 1) == behind


def test_a_single_server_has_no_place_beside_others():
    seen = LogPlaces()
    seen.see(0, {"log_place": 5.0, "0.x": 1.0})
    assert seen.behind(0, 1) is None


def at(offset, file=0, sizes=None):
    return CopyReading(LogPosition(offset, file, sizes or {}))


def test_places_in_files_are_one_number_for_primary_and_copies():
    scale = LogScale()
    assert scale.places([at(300, 8, FILES), at(100, 7), at(300, 8)]) == [2200, 1000, 2200]
    # Two files were removed, and another one begun.
    assert scale.places([at(50, 9, {8: 400, 9: 50}), at(100, 7), at(10, 9)]) == [2350, 1000, 2310]


def test_a_place_in_a_file_of_unknown_size_is_unknown():
    assert LogScale().places([at(10, 9), at(10, 8)]) == [None, None]
    assert LogScale().places([at(300, 8, FILES), at(1, 5), CopyReading(None)]) == [2200, None, None]
    assert LogScale().places([at(300, 8, {6: 900, 8: 300}), at(1, 6)]) == [None, 1]


def test_a_log_that_is_one_file_has_its_own_places():
    assert LogScale().places([at(5000), at(3500)]) == [5000, 3500]


@pytest.mark.parametrize(("position", "count"), [("", None), ("0-1-17", 17), ("0-1-17,3-250-4", 21)])
def test_transactions_are_counted_over_all_domains(position, count):
    assert count_transactions(position) == count
