"""What `slob check` says of a server, from answers that a server would give."""

from __future__ import annotations

from unittest.mock import MagicMock

from factories.tables import table
from openslob.engines.postgresql.checks import orphaned_files


@table(
    "may_look, row, text",
    [
        (True, (0, 0, None), ""),
        (True, (1, 8192, "/data/base/5"), "1 file (8 KB) in /data/base/5"),
        (True, (1200, 2**30, "/data/base/5"), "1,200 files (1 GB) in /data/base/5"),
        (False, (1, 8192, "/data/base/5"), ""),
    ],
)
def test_files_that_a_crash_left_are_told_with_number_size_and_place(may_look, row, text):
    connection = MagicMock()
    connection.execute.return_value.fetchall.side_effect = [[(may_look,)], [row]]
    assert orphaned_files(connection) == text
