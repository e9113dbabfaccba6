"""Columns of reports whose database is described, and what their layouts make hard to read."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache

import pytest

from factories.awr.compare import differences
from factories.awr.described import Database, Wait
from factories.awr.making import example
from factories.awr.report import LAYOUTS, write, write_global
from factories.awr.sheet import VERSIONS, Layout
from factories.awr_mutations import HARMFUL, HARMLESS, differing, mutate
from factories.tables import table
from openslob.awr import Report, ReportError, Scope, read_bytes
from openslob.awr.cells import OF_EACH_INSTANCE, Subject
from openslob.awr.columns import column_of
from openslob.awr.model import run_totals
from openslob.awr.rows import ROW_SETS
from openslob.awr.verdicts import verdicts

MIB = 2**20
DATABASE = example(7, instances=2, containers=1)
ALONE = example(7)
NAMES = [f"{layout.version}-{'html' if layout.is_html else 'text'}" for layout in LAYOUTS]
of_every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=NAMES)
of_every_version = pytest.mark.parametrize("layout", LAYOUTS[::2], ids=NAMES[::2])
PAGE = Layout("19c", is_html=True)


@cache
def page_of(layout: Layout, is_global: bool = False) -> bytes:
    """Return the report of `DATABASE` in a layout: of its first instance, or of all."""
    return (write_global if is_global else write)(DATABASE, layout).data


@cache
def report_of(layout: Layout, is_global: bool = False) -> Report:
    return read_bytes(page_of(layout, is_global))


def cell(report: Report, column: str):
    return column_of(column).read(Subject(report))


def exact(database: Database) -> dict[str, object]:
    """Columns and what they are, computed from the description; the report rounds them."""
    one = database.instances[0]
    counts, per = one.statistics, database.elapsed
    reads, writes = (counts[f"physical {way} total IO requests"] / per for way in ("read", "write"))
    switches = one.log_switches
    large = max(one.foreground, key=lambda wait: wait.seconds)
    return {
        "instance": one.name,
        "host": one.host.name,
        "instance_number": str(one.number),
        "block_size": database.block_size,
        "elapsed_s": per,
        "lio": counts["session logical reads"] / per,
        "iops": reads + writes,
        "executes": counts["execute count"] / per,
        "total:user commits": counts["user commits"],
        "time:parse time elapsed": one.times["parse time elapsed"],
        "os:BUSY_TIME": one.os_stats["BUSY_TIME"][0],
        "os:LOAD:end": one.os_stats["LOAD"][1],
        "stat:user calls:per_trans": counts["user calls"] / one.transactions,
        "os_idle_s": one.os_stats["IDLE_TIME"][0] / 100,
        "host_user_pct": 100 * one.host.user,
        "host_busy_pct": 100 * (one.host.user + one.host.system),
        "host_iowait_pct": 100 * one.host.iowait,
        "load_begin": one.host.load[0],
        "efficiency:% non-parse cpu": one.efficiency["% Non-Parse CPU:"],
        "log_switches": switches,
        "log_switches_per_h": switches * 3600 / per,
        "top1_event": large.name,
        "top1_waits": large.waits,
        "function:LGWR:reads": one.functions[4].reads / per,
        "filetype:Data File:writes": one.filetypes[0].writes / per,
        "filetype:Data File:write_mb": one.filetypes[0].write_bytes / MIB / per,
        "parameter:db_block_size": "8192",
        "gc:cr block receive time": one.gc_us["cr block receive time"],
    }


@of_every_layout
def test_columns_are_what_the_database_did(layout):
    report = report_of(layout)
    for column, expected in exact(DATABASE).items():
        found = cell(report, column).value
        if isinstance(expected, str):
            assert str(found).startswith(expected) or expected.startswith(str(found)), column
        else:
            assert found == pytest.approx(expected, rel=5e-3, abs=0.11), column
    counts, totals = DATABASE.instances[0].statistics, run_totals(report)  # by the names of a run's counters
    assert (totals["commits"], totals["log_bytes"]) == (counts["user commits"], counts["redo size"])
    assert totals["read_requests"] == counts["physical read IO requests"]
    assert totals["write_bytes"] == counts["physical write bytes"]


@of_every_layout
def test_columns_of_a_cluster_are_those_of_its_instances(layout):
    report = report_of(layout, True)
    instances = [tuple(one.value for one in row) for row in ROW_SETS["instances"].rows_of(Subject(report), ())]
    for row, one in zip(instances, DATABASE.instances, strict=True):
        assert row[1:4] == (one.number, one.name, one.host.name)
        assert row[4] == pytest.approx(one.db_time, abs=0.01)
        assert row[8] == pytest.approx(one.transactions / DATABASE.elapsed, abs=0.01)
    busy = sum(one.statistics["execute count"] for one in DATABASE.instances) / DATABASE.elapsed
    assert cell(report, "executes").value == pytest.approx(busy, abs=0.01)
    spent = sum(wait.seconds for one in DATABASE.instances for wait in one.foreground if wait.wait_class == "Commit")
    assert cell(report, "commit_pct").value == pytest.approx(100 * spent / DATABASE.db_time, abs=0.01)
    assert {cell(report, name).why for name in ("host_user_pct", "gc_cr_us")} == {OF_EACH_INSTANCE}


def test_the_only_instance_of_a_cluster_is_the_whole():
    alone = read_bytes(write_global(ALONE, PAGE).data)
    assert cell(alone, "host_user_pct").value == pytest.approx(100 * ALONE.instances[0].host.user, abs=0.01)


@table("how", [*HARMLESS, *HARMFUL])
def test_changes_on_the_way_cost_figures_but_change_none(how):
    chance = random.Random(how)
    is_global, is_page = chance.choice((False, True)), how not in ("quoted", "lines twice spaced")
    layout = Layout(chance.choice(VERSIONS), is_html=is_page and chance.random() < 0.5)
    data = page_of(layout, is_global)
    try:
        changed = read_bytes(mutate(data.decode(), how, chance))
    except ReportError as error:
        assert "\n" not in str(error)
        return
    verdicts(changed, 8)
    if how in HARMLESS:
        assert differing(report_of(layout, is_global), changed)[:3] == [], layout


def with_host(**known: object) -> Database:
    one = ALONE.instances[0]
    return replace(ALONE, instances=(replace(one, host=replace(one.host, **known)),))


@of_every_version
def test_a_host_that_does_not_know_its_sockets_keeps_its_load(layout):
    """A text leaves out the cell with its width, but not the blank beside it: all that follows is shifted by 7."""
    described = with_host(sockets=None, cores=5, cpus=40, load=(2.56, 2.04), user=0.024, system=0.005)
    report = read_bytes(write(described, layout).data)
    assert (report.header.cpus, report.header.cores, report.header.sockets) == (40, 5, None)
    found = report.host_cpu
    assert (found.load_begin.value, found.load_end.value) == (2.56, 2.04)
    assert (found.user_pct.value, found.idle_pct.value) == (2.4, 97.1)
    assert report.warnings == ()


@table(("containers", "expected"), [(0, None), (1, "PDB1"), (2, None), (3, None)])
def test_one_container_is_what_a_report_covers_and_several_are_those_that_were_open(containers, expected):
    for layout in (Layout("12.2"), PAGE):
        header = read_bytes(write(example(2, containers=containers), layout).data).header
        assert header.pdb_name == expected


def with_waits(*waits: Wait) -> Database:
    return replace(ALONE, instances=(replace(ALONE.instances[0], foreground=waits),))


def test_a_count_of_waits_without_its_letter_is_not_read():
    """A text has room for five characters: 118.6K waits are printed as 118.6."""
    described = with_waits(Wait("log file sync", "Commit", {9: 118_600}))
    for layout in (Layout("11.2.0.2"), Layout("12.1"), Layout("12.2"), PAGE):
        report = read_bytes(write(described, layout).data)
        found = report.histogram("log file sync")
        is_cut = not layout.is_html and not layout.since("12.2")
        assert (found.waits is None) == is_cut
        why = report.missing.get("Wait Event Histogram: log file sync: Total Waits", "")
        assert ("cut by its column (118.6)" in why) == is_cut


@table(
    ("seconds", "is_read"),
    [(33_898, False), (2_198_816, False), (8771.8, True), (93.1, True)],
)
def test_a_time_without_its_letter_is_not_read(seconds, is_read):
    """The longest waits of 11.2.0.4 have room for four characters: 33.9K seconds are printed as 33.9."""
    described = with_waits(Wait("enq: TX - row lock contention", "Application", {24: round(seconds / 12.582912)}))
    for version in ("11.2.0.4", "12.1"):
        report = read_bytes(write(described, Layout(version)).data)
        top = report.event("enq: TX - row lock contention", Scope.TOP)
        spent = described.instances[0].foreground[0].seconds
        assert (top.time_s is not None) == is_read
        assert is_read or any("may be cut by its column" in why for why in report.missing.values())
        assert cell(report, "top1_s").value == pytest.approx(spent, abs=1)
        assert [warning for warning in report.warnings if "differ" in warning] == []


def test_events_whose_names_are_cut_alike_are_not_confused():
    alike = ("cell single block physical read: flash cache", "cell single block physical read: RDMA")
    described = with_waits(*(Wait(name, "User I/O", {at: 50_000}) for at, name in enumerate(alike, 6)))
    text, page = (read_bytes(write_global(described, Layout("19c", is_html)).data) for is_html in (False, True))
    for name, wait in zip(alike, described.instances[0].foreground, strict=True):
        assert page.event(name).time_s.value == pytest.approx(wait.seconds, abs=0.01)
        assert text.event(name) is text.event(name[:30]) is None
    assert (text.warnings, page.warnings) == ((), ())


@table(("version", "is_html"), [("11.2.0.4", False), ("12.2", False), ("19c", False), ("19c", True)])
def test_rows_of_an_instance_are_no_rows_of_the_cluster(version, is_html):
    """A text prints the number of the instance in the first of its rows only."""
    report = report_of(Layout(version, is_html), True)
    listed = report.list_events(Scope.TOP_ALL)
    assert len({event.name for event in listed}) >= len(listed) - 1
    assert {number: len(rows) for number, rows in report.instance_events.items()}.keys() == {1, 2}
    number = report.parameters["instance_number"]
    assert (number.begin, number.instance) == ("1", "1")
    if Layout(version).since("12.2"):
        assert [one.name for one in report.iostat_functions].count("Total") == 1


@table("is_html", [False, True])
def test_a_report_of_many_pages_is_read_to_its_end(is_html):
    one = ALONE.instances[0]
    more = {f"statistic number {number}": number * number for number in range(1200)}
    described = replace(ALONE, instances=(replace(one, statistics={**one.statistics, **more}),))
    report = write(described, Layout("12.1", is_html))
    found = read_bytes(report.data)
    assert differences(report.written, found) == []
    assert found.activity["statistic number 1199"].total.value == 1199**2


@table("is_html", [False, True])
def test_tablespaces_of_the_same_name_are_added(is_html):
    """Each pluggable database has a SYSAUX."""
    one = ALONE.instances[0]
    report = read_bytes(write(ALONE, Layout("11.2.0.2", is_html)).data.replace(b"UNDOTBS1", b"SYSAUX  "))
    both = [file for file in one.files if file.tablespace in ("SYSAUX", "UNDOTBS1")]
    reads, seconds = (sum(getattr(file, name) for file in both) for name in ("reads", "read_s"))
    assert cell(report, "tablespace:SYSAUX:reads").value == reads
    assert cell(report, "tablespace:SYSAUX:read_us").value == pytest.approx(1e6 * seconds / reads, abs=50)


def test_the_warning_names_the_figure_that_was_changed():
    data = write(ALONE, PAGE).data.decode()
    changed = re.sub(r"(execute count</td><td[^>]*> *[\d,]+</td><td[^>]*> *)([\d,.]+)", r"\g<1>9,999,999.99", data)
    assert changed != data
    warnings = read_bytes(changed.encode()).warnings
    assert any("execute count: 1e+07 per second" in warning for warning in warnings), warnings
