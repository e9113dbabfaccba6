"""How far a copy is behind: in one log, across files, and where it is not known."""

from __future__ import annotations

import pytest

from openslob.engines.copies import CopyReading, LogPosition, bytes_behind
from openslob.engines.mysql.replication import copy_reading

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
