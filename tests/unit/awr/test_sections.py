"""Wait classes, efficiency, log switches, files and the global cache: the same from text and HTML."""

from __future__ import annotations

import pytest

from factories.awr_reports import FIXTURES, SAMPLES, needs_samples
from factories.awr_sections import page_with_sections, text_with_sections
from factories.tables import table
from openslob.awr import Report, Scope, read, read_bytes


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
    found = read(FIXTURES / name)
    for number in (1, 2):
        figures = {name: value(figure) for name, figure in found.per_instance[number].items()}
        assert (figures["DB time"], figures["DB CPU"], figures["cpus"], figures["host_busy_pct"]) == (3000, 540, 16, 13)
        assert (figures["logical_reads"], figures["redo_size"]) == (11_000, pytest.approx(0.98 * 1024))
    first, second = (found.instance_events[number][0] for number in (1, 2))
    assert (value(first.time_s), value(second.time_s)) == (1800, 3000)


@needs_samples
@table(
    ("name", "classes", "buffer_hit", "switches", "gc_us"),
    [
        ("awr_html_11.2.0.4_rac_xydb1_overload.html", ("Application", 23_733, 2_198_816), 99.24, 1, 122_100),
        ("awr_html_19c_rac_cdb19pdbs_xydb1.html", ("Application", 18_036, 6_734), 100, 217, 1609.4),
        ("awr_text_11.2.0.4_rac_orcl1_idle.txt", ("Other", 642, 1), 99.68, 0, 800),
        ("awr_text_11.2.0.2_orals1_aix.txt", ("Application", 26_172, 319), 100, 1, None),
        ("sp_text_11.2.0.4_igt_crlf.txt", None, 98.68, 48, None),
    ],
)
def test_real_reports(name, classes, buffer_hit, switches, gc_us):
    found = read(SAMPLES / name)
    listed = [one for one in found.wait_classes if one.scope is Scope.FOREGROUND and one.name != "DB CPU"]
    assert (listed[0].name, value(listed[0].waits), value(listed[0].time_s)) == classes if classes else listed == []
    assert value(found.efficiency_pct["buffer hit %"]) == buffer_hit
    assert value(found.thread_activity["log switches (derived)"].total) == switches
    assert value(found.global_cache.get("cr block receive time")) == gc_us


@needs_samples
@table(
    ("name", "tablespaces", "files", "tablespace", "file"),
    [
        (
            "awr_html_11.2.0.4_rac_xydb1_overload.html",
            11,
            11,
            ("TS_UNIAUTH", None, 24_509, 25_590, None, 551_800),
            ("NTJW", "+DATA/xydb/datafile/ntjw.dbf", 167_322, 0, 512, 172_730),
        ),
        (
            "awr_text_11.2.0.2_orals1_aix.txt",
            28,
            150,
            ("UNDO1", None, 0, 0, 3445, 200),
            ("D_000", "/dev/rls1vg01lv027", 1, 0, 1, 0),
        ),
        (
            "sp_text_12.1.0.2_clinprd1_wrapped.txt",
            5,
            16,
            ("UNDOTBS1", None, 0, 0, 1733, 0),
            ("CN_TBS", "/images/db/oradata/CLINPRD1/datafile/o1_mf_cn_tbs_g3", 10_872, 200, 327, None),
        ),
    ],
)
def test_files_of_real_reports(name, tablespaces, files, tablespace, file):
    found = read(SAMPLES / name)
    assert (len(found.tablespaces), len(found.files)) == (tablespaces, files)
    assert places(found.tablespaces)[2] == tablespace
    assert places(found.files)[0] == file


@needs_samples
def test_each_instance_of_real_clusters():
    found = read(SAMPLES / "awrg_html_12.1.0.2_rac_slob_2inst.html")
    figures = {name: value(figure) for name, figure in found.per_instance[2].items()}
    assert (figures["DB CPU"], figures["logical_reads"], figures["gc_cr_us"], figures["gc_current_us"]) == (
        *(73.41, 237_492.72),
        *(pytest.approx(280), pytest.approx(300)),
    )
    assert (figures["read_requests_per_s"], figures["read_mb_per_s"]) == (7430.80, 1853.65)
    assert [(one.name, value(one.read_requests_per_s)) for one in found.iostat_functions[:2]] == [
        ("Total", 17_494.38),
        ("Buffer Cache", 1.83),
    ]
    found = read(SAMPLES / "awrg_html_19c_rac_exadata_dbx.html")
    assert value(found.per_instance[1]["read_requests_per_s"]) == 471.86
    assert value(found.per_instance[1]["gc_cr_us"]) == 216
