"""Wait classes, efficiency, log switches, files and the global cache: the same from text and HTML."""

from __future__ import annotations

import pytest

from factories.awr_reports import read_fixture
from factories.awr_sections import page_with_sections, text_with_sections
from openslob.awr import Report, Scope, read_bytes


def value(number):
    return None if number is None else number.value


@pytest.fixture(params=[text_with_sections, page_with_sections], ids=["text", "html"])
def report(request) -> Report:
    return read_bytes(request.param())


def places(listed) -> list[tuple[object, ...]]:
    return [
        (place.tablespace, place.file, *map(value, (place.reads, place.read_us, place.writes, place.buffer_wait_us)))
        for place in listed
    ]


def test_wait_classes_of_the_foreground_and_of_all(report):
    classes = {
        (found.name, found.scope): (
            value(found.waits),
            value(found.time_s),
            value(found.avg_us),
            value(found.share_pct),
        )
        for found in report.wait_classes
    }
    assert classes["User I/O", Scope.FOREGROUND] == (6_041_300, 2403, 0, 80.1)
    assert classes["User I/O", Scope.ALL] == (6_050_000, 2410, 0, 80.3)
    assert classes["DB CPU", Scope.FOREGROUND] == (None, 540, None, 18)
    assert classes["Commit", Scope.FOREGROUND] == (9, 0, 32_000, 0)
    assert classes["System I/O", Scope.ALL] == (1200, 4, 3000, 0.1)


def test_efficiency_and_log_switches(report):
    assert value(report.efficiency_pct["buffer hit %"]) == 9.09
    assert value(report.efficiency_pct["library hit %"]) == 98
    switches = report.thread_activity["log switches (derived)"]
    assert (value(switches.total), value(switches.per_hour)) == (3, 18)
    assert "log switches (derived)" not in report.activity


def test_tablespaces_and_files_with_names_above_their_figures(report):
    assert places(report.tablespaces) == [
        ("SLOB_DATA", None, 5_999_000, 400, 29_000, 3000),
        ("UNDOTBS1", None, 1000, 2000, 1000, 0),
    ]
    assert places(report.files) == [
        ("SLOB_DATA", "/u01/app/oracle/oradata/FIX/a_long_path/slob_data_01.dbf", 4_999_000, 400, 20_000, 3000),
        ("SLOB_DATA", "/u01/oradata/FIX/slob_data_02.dbf", 1_000_000, 500, 9000, None),
        ("UNDOTBS1", "/u01/oradata/FIX/undotbs01.dbf", 1000, 2000, 1000, 0),
    ]
    assert report.warnings == ()


def test_the_global_cache_in_microseconds(report):
    assert {name: value(number) for name, number in report.global_cache.items()} == {
        "global enqueue get time": 1900,
        "cr block receive time": 800,
        "current block receive time": 1400,
        "log flushes for cr blocks served %": 3.6,
    }
    assert value(report.load_profile["gc_blocks_received"].per_second) == 12.5


def test_figures_under_wrong_headings_are_not_read():
    """With single-block reads, Oracle prints writes under "1-bk Rds/s"."""
    page = page_with_sections().replace(
        b"<th>Av Blks/Rd</th><th>Writes</th>",
        b"<th>Av Blks/Rd</th><th>1-bk Rds/s</th>",
        1,
    )
    found = read_bytes(page)
    assert [(value(place.reads), value(place.writes)) for place in found.tablespaces] == [
        (5_999_000, None),
        (1000, None),
    ]
    assert value(found.files[0].writes) == 20_000


@pytest.mark.parametrize("name", ["awrg_11.2.txt", "awrg_19c.html"])
def test_each_instance_of_a_cluster(name):
    found = read_fixture(name)
    for number in (1, 2):
        figures = {name: value(figure) for name, figure in found.per_instance[number].items()}
        assert (figures["DB time"], figures["DB CPU"], figures["cpus"], figures["host_busy_pct"]) == (3000, 540, 16, 13)
        assert (figures["logical_reads"], figures["redo_size"]) == (11_000, pytest.approx(0.98 * 1024))
    first, second = (found.instance_events[number][0] for number in (1, 2))
    assert (value(first.time_s), value(second.time_s)) == (1800, 3000)
