"""Reports of described databases, in the layouts of 11.2 to 19c: what was written is what is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factories.awr.compare import differences, read_from
from factories.awr.described import Database
from factories.awr.making import database, example
from factories.awr.report import LAYOUTS, STATEMENTS, WrittenReport, write, write_global
from factories.awr.sheet import VERSIONS, Layout, Place, Written
from openslob.awr import Number, Report, ReportKind, read_bytes
from openslob.awr.figures import GLOBAL_CLASSES, GLOBAL_RATES, GLOBAL_TIMES, LOAD_PROFILE
from openslob.awr.parse import SUMMARIES, TITLES
from openslob.awr.tables import plain

KINDS: dict[str, tuple[Callable[[Database, Layout], WrittenReport], int]] = {
    "one instance": (write, 1),
    "one of a cluster": (write, 2),
    "whole cluster": (write_global, 3),
    "cluster of one": (write_global, 1),
}
IDS = [f"{layout.version}-{'html' if layout.is_html else 'text'}" for layout in LAYOUTS]
SEED = 7
DISTINCT = [layout for layout in LAYOUTS if layout.version != "18c"]  # which looks like 12.2


@cache
def written(kind: str, layout: Layout) -> tuple[WrittenReport, Report]:
    make, instances = KINDS[kind]
    report = make(example(SEED, instances), layout)
    return report, read_bytes(report.data)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_what_was_written_is_what_is_read(layout, kind):
    report, found = written(kind, layout)
    assert differences(report.written, found) == []
    assert found.warnings == ()
    assert found.complete
    assert found.kind is (ReportKind.AWR_GLOBAL if KINDS[kind][0] is write_global else ReportKind.AWR)
    assert found.format == ("html" if layout.is_html else "text")
    assert set(report.ignored) <= set(found.unparsed)
    assert not set(found.sections) & set(found.unparsed)


@pytest.mark.parametrize("layout", LAYOUTS, ids=IDS)
def test_statements_are_read_whatever_their_texts_hold(layout):
    _, found = written("one instance", layout)
    texts = [text if layout.is_html else f"{text}------------" for text in STATEMENTS]
    figures = [(row.cells["SQL Id"], row.cells["Elapsed(s)"].value, row.cells["Executions"].value, row.cells["SQL"])
               for row in found.listed["sql_elapsed"]]  # fmt: skip
    assert figures == [("0123456789abc", 1234.5, 60, texts[0]), ("abcdefghijklm", 2, 1, texts[1])]
    assert {name: len(rows) for name, rows in found.listed.items()} == {
        **({"addm": 2} if layout.since("11.2.0.4") else {}),
        "instance_cpu": 1,
        "sql_elapsed": 2,
    }


@pytest.mark.parametrize(
    ("draw", "kind"), [(min, "one of a cluster"), (max, "one of a cluster"), (max, "whole cluster")]
)
def test_the_least_and_the_greatest_figures_are_read(draw, kind):
    make, instances = KINDS[kind]
    described = database(draw, instances)
    for layout in DISTINCT:
        report = make(described, layout)
        found = read_bytes(report.data)
        assert (layout, differences(report.written, found), found.warnings) == (layout, [], ())


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(sorted(KINDS)), st.sampled_from(LAYOUTS))
def test_figures_of_any_magnitude_are_read_to_the_printed_precision(seed, kind, layout):
    make, instances = KINDS[kind]
    report = make(example(seed, instances), layout)
    found = read_bytes(report.data)
    assert differences(report.written, found) == []
    assert found.warnings == ()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_text_and_page_of_a_database_say_the_same(version, kind):
    """Twins: each figure that both can print is read from both, and the two differ by no more than they round."""
    (text, from_text), (page, from_page) = (written(kind, Layout(version, is_html)) for is_html in (False, True))
    one, other = read_from(from_text), read_from(from_page)
    both = text.written.keys() & page.written.keys()
    assert both <= one.keys() & other.keys()
    assert len(both) > 0.8 * len(page.written)
    for place in both:
        left, right = one[place], other[place]
        if isinstance(left, Number) and isinstance(right, Number):
            cut = 1.0 if place[-1] == "time_s" else 0.5  # the list of the longest waits is cut, not rounded
            assert abs(left.value - right.value) <= cut * (left.step + right.step) * (1 + 1e-9), place
        elif isinstance(left, float):
            assert left == pytest.approx(right, abs=1.0), place
        elif place[-1] not in ("name", "cut", "host", "platform", "file"):
            assert str(right).startswith(str(left)), place


@cache
def everything() -> dict[Place, Written]:
    """What is written of a database whose figures are all there."""
    found: dict[Place, Written] = {}
    for make, instances in ((write, 2), (write_global, 2)):
        described = database(max, instances, containers=1)
        for layout in DISTINCT:
            found |= make(described, layout).written
    return found


# Of other kinds of reports, which have fixtures of their own: Statspack, 10g, a pluggable database.
_ELSEWHERE = {"wait events( \\(fg and bg\\))?", "database resource limits", "database", "host( name)?", "snapshot"}


def test_every_section_that_is_read_is_written_in_some_layout():
    titles = {plain(title) for kind in KINDS for layout in LAYOUTS for title in written(kind, layout)[1].sections}
    patterns = [pattern for pattern, _ in TITLES if pattern not in _ELSEWHERE]
    assert [pattern for pattern in patterns if not any(re.fullmatch(pattern, title) for title in titles)] == []


def test_every_summary_that_names_a_section_is_written_in_some_layout():
    pages = [written(kind, layout)[0].data.decode() for kind in KINDS for layout in LAYOUTS if layout.is_html]
    summaries = {plain(found) for page in pages for found in re.findall(r'summary="([^"]*)"', page)}
    for pattern, _ in SUMMARIES:
        assert any(re.fullmatch(pattern, summary) for summary in summaries), pattern


def test_every_figure_of_the_model_is_written_in_some_layout():
    places = everything().keys()
    ends = {(str(place[0]), str(place[-1])) for place in places}
    model = {
        "header": ("db_name db_id unique_name role edition release rac cdb host platform cpus cores sockets memory_gb "
                   "pdb_name begin_snap end_snap begin_time end_time sessions_begin sessions_end elapsed_min "
                   "db_time_min block_size name number startup"),
        "events": "name waits time_s avg_us timeouts_pct share_pct wait_class cut",
        "instance_events": "name waits time_s avg_us timeouts_pct share_pct wait_class cut",
        "wait_classes": "name waits time_s avg_us share_pct",
        "activity": "total per_second per_transaction",
        "load_profile": "per_second per_transaction",
        "io_profile": "total read write",
        "iostat_functions": ("name read_requests_per_s write_requests_per_s read_mb_per_s write_mb_per_s waits avg_us"),
        "iostat_filetypes": ("name read_requests_per_s write_requests_per_s read_mb_per_s write_mb_per_s small_read_us "
                             "large_read_us"),
        "tablespaces": "tablespace reads reads_per_s read_us blocks_per_read writes writes_per_s buffer_waits "
                       "buffer_wait_us",
        "files": "tablespace file reads reads_per_s read_us blocks_per_read writes writes_per_s buffer_waits "
                 "buffer_wait_us",
        "os_stats": "value end",
        "host_cpu": "load_begin load_end user_pct system_pct wio_pct idle_pct",
        "parameters": "begin end instance",
        "thread_activity": "total per_hour",
        "per_instance": ("cpus host_busy_pct host_user_pct host_system_pct host_iowait_pct host_idle_pct load_begin "
                         "load_end gc_cr_us gc_current_us read_mb_per_s write_mb_per_s read_requests_per_s "
                         "write_requests_per_s"),
        "histograms": "waits cut 1000.0 32000.0",
    }  # fmt: skip
    for attribute, names in model.items():
        assert [name for name in names.split() if (attribute, name) not in ends] == [], attribute


def test_every_row_that_has_a_name_is_written_in_some_layout():
    places = everything().keys()
    rates = {place[1] for place in places if place[0] == "load_profile"}
    assert {name for _, name in LOAD_PROFILE} - rates == {"sorts"}, "which 10g printed last"
    assert {name for _, name, _ in GLOBAL_RATES} <= {place[2] for place in places if place[0] == "per_instance"}
    assert {name for _, name in GLOBAL_TIMES} <= {place[1] for place in places if place[0] == "time_model_s"}
    classes = {name for place, name in everything().items() if place[0] == "wait_classes" and place[-1] == "name"}
    assert {name for _, name in GLOBAL_CLASSES} <= classes
