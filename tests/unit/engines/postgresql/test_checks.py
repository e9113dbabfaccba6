"""What `slob check` says of a server, from answers that a server would give."""

from __future__ import annotations

from unittest.mock import MagicMock

from factories.tables import table
from openslob.engines.facts import ServerFacts
from openslob.engines.postgresql.checks import capabilities, direct_io_remedy, find_orphaned_files


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
    assert find_orphaned_files(connection) == text


def test_the_remedy_of_a_setting_reaches_the_sessions_that_need_it():
    settings = dict.fromkeys(("track_io_timing", "track_counts", "track_wal_io_timing"), "off")
    facts = ServerFacts("PostgreSQL", "15.1", 8192, 2**27, 90, settings, direct_io=False)
    found = {each.name: each for each in capabilities(facts, "app", "bench")}
    assert not any(each.present for each in found.values())
    assert found["track_io_timing"].remedy == "ALTER ROLE app SET track_io_timing = on"
    # Of two statements that psql gets as one command, PostgreSQL refuses ALTER SYSTEM.
    assert found["track_wal_io_timing"].remedy.splitlines() == [
        "ALTER SYSTEM SET track_wal_io_timing = on;",
        "SELECT pg_reload_conf();",
    ]
    superuser = "as a superuser in database bench"
    apart = found.pop("track_wal_io_timing").by
    assert apart == f"{superuser}, one statement after the other"
    assert {each.by for each in found.values()} == {superuser}


def test_direct_io_is_advised_where_the_server_has_it():
    assert direct_io_remedy(150004) == "PostgreSQL 16 or later has direct I/O"
    assert "debug_io_direct" in direct_io_remedy(160000)
