"""The figures of real reports, where they are at hand, against what was read from them by eye.

The same is tested everywhere on reports that the tests write. OPENSLOB_AWR_MUTATIONS=4000 makes so many changes.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from factories.awr_mutations import HARMFUL, HARMLESS, check, whole
from factories.awr_reports import SAMPLES
from factories.tables import table
from openslob.awr import Report, ReportError, Scope
from openslob.awr.cells import Subject
from openslob.awr.columns import column_of
from openslob.awr.latency import PRINTED, TIME_BY_WAITS, latency_of

TRUTH = json.loads((SAMPLES / "truth.json").read_text()) if (SAMPLES / "truth.json").exists() else {}
NO_REPORT = {"not_a_report", "awr_compare_periods"}
REPORTS = [name for name, truth in TRUTH.items() if truth["report_type"] not in NO_REPORT]
SAMPLE_MUTATIONS = int(os.environ.get("OPENSLOB_AWR_MUTATIONS") or 8)
EVENTS = ("db file sequential read", "log file sync", "cell single block physical read")
if not TRUTH:
    pytest.skip(f"no sample reports in {SAMPLES} (set OPENSLOB_AWR_SAMPLES)", allow_module_level=True)


def sample(name: str) -> Report:
    return whole(SAMPLES / name)


def value(number):
    return None if number is None else number.value


@pytest.mark.parametrize("name", REPORTS)
def test_header(name):
    truth, report = TRUTH[name], sample(name)
    header = report.header
    assert report.kind.value == truth["report_type"]
    assert (header.db_name, header.release, header.rac) == (truth["db_name"], truth["release"], truth["rac"])
    instances = truth["instance"] if isinstance(truth["instance"], list) else [truth["instance"]]
    assert [one.name for one in header.instances] == instances
    assert (value(header.elapsed_min), value(header.db_time_min)) == (truth["elapsed_min"], truth["db_time_min"])


@pytest.mark.parametrize("name", REPORTS)
def test_rates(name):
    truth, report = TRUTH[name], sample(name)
    for key, rate in truth["load_profile_per_s"].items():
        found = report.load_profile.get(key)
        assert value(found.per_second if found else None) == pytest.approx(rate), key
    for key, rate in truth["instance_activity_per_s"].items():
        assert value(report.activity[key].per_second) == pytest.approx(rate), key
    for key, seconds in truth.get("time_model_s", {}).items():
        assert value(report.time_model_s[key.replace("_", " ").replace("db", "DB").replace("cpu", "CPU")]) == seconds


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("event", EVENTS)
def test_events(name, event):
    expected, report = TRUTH[name].get(event.replace(" ", "_")), sample(name)
    found = report.event(event)
    if expected is None:
        assert found is None
        return
    assert (value(found.waits), value(found.time_s)) == (expected["waits"], expected["time_s"])
    assert value(found.avg_us) == pytest.approx(expected["avg_us_printed"])
    top = report.event(event, Scope.TOP)
    if "top_events" in expected:
        assert (value(top.waits), value(top.time_s)) == (
            expected["top_events"]["waits"],
            expected["top_events"]["time_s"],
        )
    best = latency_of(report, found)
    finer = expected.get("top_events", {}).get("avg_us", expected["avg_us"])  # the top list prints tenths of seconds
    by_source = {TIME_BY_WAITS: [expected["avg_us"], finer], PRINTED: [expected["avg_us_printed"]]}
    assert any(best.us == pytest.approx(mean, abs=0.006) for mean in by_source[best.source])


def test_events_of_the_top_lists_only():
    for name, truth in TRUTH.items():
        for event, expected in truth.get("top_timed_events_fg_and_bg", {}).items():
            found = sample(name).event(event, Scope.TOP_ALL)
            assert (value(found.waits), value(found.time_s)) == (expected["waits"], expected["time_s"])
        if only := truth.get("log_file_sync_top_events_only"):
            found = sample(name).event("log file sync", Scope.TOP)
            assert (value(found.waits), value(found.avg_us)) == (only["waits"], only["avg_us_printed"])


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if truth["report_type"] in NO_REPORT])
def test_what_is_no_report_of_one_period(name):
    with pytest.raises(ReportError, match=r"ORA-01013|compare-periods"):
        sample(name)


@pytest.mark.parametrize("name", REPORTS)
def test_real_reports_agree_with_themselves(name):
    """No false alarm: what the checks doubt in a real report would be doubted in every one."""
    assert [warning for warning in sample(name).warnings if "do not fit" not in warning] == []


def places(listed) -> list[tuple[object, ...]]:
    return [
        (place.tablespace, place.file, *map(value, (place.reads, place.read_us, place.writes, place.buffer_wait_us)))
        for place in listed
    ]


@table(
    ("name", "expected"),
    [
        (
            "awr_html_19c_rac_cdb19pdbs_xydb1.html",
            {
                "application_waits": 18_036,
                "application_s": 6734,
                "concurrency_pct": 15.92,
                "db_cpu": pytest.approx(13_956 / 3595.8, rel=1e-3),
                "log_switches": 217,
                "buffer_hit_pct": 100,
                "gc_cr_us": 1609.4,
                "gc_received": 223.4,
                "os:BUSY_TIME": 2_551_153,
                "os_busy_s": 25_511.53,
                "function:LGWR:write_mb": 3.869,
                "filetype:Log File:small_read_us": 8770,
            },
        ),
        (
            "awr_html_11.2.0.4_rac_xydb1_overload.html",
            {
                "top1_event": "enq: TX - row lock contention",
                "user_io_s": 10_991,
                "cluster_waits": 174_071,
                "tablespace:TS_UNIAUTH": 25_590,
                "datafile:ntjw.dbf:writes": 512,
                "function:Buffer Cache Reads:us": 54_000,
                "host_user_pct": 25.0,
                "host_iowait_pct": 18.8,
                "log_switches_per_h": 1.62,
            },
        ),
        (
            "awr_text_11.2.0.4_rac_orcl1_idle.txt",
            {
                "db_cpu": pytest.approx(1.1 / 3613, rel=0.01),
                "gc_current_us": 1400,
                "os_idle_s": 2925.49,
                "commit_waits": 2,
                "tablespace:SYSTEM": 5200,
                "datafile:sysaux.257.852362089:writes": 348,
            },
        ),
        (
            "awrg_html_12.1.0.2_rac_slob_2inst.html",
            {
                "user_io_s": 526.69,
                "user_io_pct": pytest.approx(77.98, abs=0.01),
                "top1_event": "direct path read",
                "top1_s": 526.63,
                "function:Direct Reads:reads": 17_475.51,
                "gc_cr_us": None,
            },
        ),
        (
            "sp_text_11.2.0.4_igt_crlf.txt",
            {"log_switches": 48, "buffer_hit_pct": 98.68, "tablespace:IGT_INDEX": 200, "user_io_s": None},
        ),
    ],
)
def test_figures_of_real_reports(name, expected):
    report = sample(name)
    assert {column: column_of(column).read(Subject(report)).value for column in expected} == expected


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
def test_wait_classes_and_the_global_cache_of_real_reports(name, classes, buffer_hit, switches, gc_us):
    found = sample(name)
    listed = [one for one in found.wait_classes if one.scope is Scope.FOREGROUND and one.name != "DB CPU"]
    assert (listed[0].name, value(listed[0].waits), value(listed[0].time_s)) == classes if classes else listed == []
    assert value(found.efficiency_pct["buffer hit %"]) == buffer_hit
    assert value(found.thread_activity["log switches (derived)"].total) == switches
    assert value(found.global_cache.get("cr block receive time")) == gc_us


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
    found = sample(name)
    assert (len(found.tablespaces), len(found.files)) == (tablespaces, files)
    assert places(found.tablespaces)[2] == tablespace
    assert places(found.files)[0] == file


def test_each_instance_of_real_clusters():
    found = sample("awrg_html_12.1.0.2_rac_slob_2inst.html")
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
    found = sample("awrg_html_19c_rac_exadata_dbx.html")
    assert value(found.per_instance[1]["read_requests_per_s"]) == 471.86
    assert value(found.per_instance[1]["gc_cr_us"]) == 216


def test_changes_of_real_reports():
    chance = random.Random(11)
    paths = [path for path in sorted(SAMPLES.iterdir()) if path.name.startswith(("awr", "sp_"))]
    hows = chance.sample((*HARMLESS, *HARMFUL), len(HARMLESS) + len(HARMFUL))
    for number in range(SAMPLE_MUTATIONS):
        path, how = chance.choice(paths), hows[number % len(hows)]
        check(path, how, random.Random(number))
