"""The mapping of statistics to figures, held against AWR and Statspack reports.

A report states each amount twice: as the total of a statistic, and as a rate in its Load Profile. From the former the
engine makes its figures; the latter is the server's own word for what they mean.
"""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from functools import cache

import pytest

from factories import measurements
from factories.awr.making import example
from factories.awr.report import LAYOUTS, write
from factories.awr.sheet import Layout
from factories.awr_mutations import whole
from factories.awr_reports import SAMPLES, needs_samples, read_fixture
from openslob.awr.cells import Subject
from openslob.awr.columns import COLUMNS
from openslob.awr.model import Report, Scope, WaitEvent
from openslob.awr.parse import read_bytes
from openslob.core.cpu_figures import FOREGROUND_CPU, IOPS_PER_FOREGROUND_CPU
from openslob.core.measurement import Window
from openslob.engines.oracle.delta import to_delta
from openslob.metrics import summary
from openslob.record.model import Figure

REAL = (
    "awr_html_11.2.0.2_orals1_aix.html",
    "awr_html_11.2.0.4_rac_xydb1_overload.html",
    "awr_html_12.1.0.2_aix_receipt.html",
    "awr_html_12.1.0.2_rac_exadata_cdb1.html",
    "awr_html_12.2.0.1_rac_slob_db1tp1.html",
    "awr_html_12.2.0.1_slob2.html",
    "awr_html_19c_rac_cdb19pdbs_xydb1.html",
    "awr_text_11.2.0.2_orals1_aix.txt",
    "awr_text_11.2.0.4_rac_orcl1_idle.txt",
    "awr_text_12.2.0.1_aix_bpsc.txt",
    "sp_text_11.2.0.4_igt_crlf.txt",
    "sp_text_12.1.0.2_clinprd1_wrapped.txt",
)
PDB = "odd_awr_html_redacted_pdb_ejd1pod.html"
# Rows of its load profile of which the report has no statistic.
NO_STATISTIC = {
    *("background_cpu", "im_scan_rows", "session_logical_read_im", "gc_blocks_received", "gc_blocks_served"),
    *("work_area_mb", "logons"),
}


def changes(report: Report) -> dict[str, float]:
    """What counters.sql would have read over the report's time."""
    found = {f"sysstat.{name}": each.total.value for name, each in report.activity.items() if each.total}
    found |= {f"time_model.{name}": each.value * 1e6 for name, each in report.time_model_s.items()}
    for event in report.events:
        if event.scope is Scope.FOREGROUND and event.waits and event.time_s is not None and not event.cut:
            name = f"{_class_of(event)}:{event.name}"
            found |= {f"event.waits.{name}": event.waits.value, f"event.us.{name}": event.time_s.value * 1e6}
    return found


def _class_of(event: WaitEvent) -> str:
    """The class of an event in a table of reports, which have none there."""
    return event.wait_class or ("Scheduler" if event.name.startswith("resmgr:") else "User I/O")


def agrees(report: Report, least: int) -> None:
    """Assert that each rate of the Load Profile that the engine has a figure for is the same, within 2 %."""
    change = changes(report)
    delta, seconds = to_delta(change), report.elapsed_s.value
    profile = {name: rate.per_second for name, rate in report.load_profile.items() if rate.per_second}
    foreground_us = None if delta.db_cpu_us is None else delta.db_cpu_us - delta.background_cpu_us
    figures = {
        "redo_size": delta.log_bytes,
        "logical_reads": delta.logical_reads,
        "transactions": delta.commits + change.get("sysstat.user rollbacks", 0),
        "read_io_requests": delta.read_requests,
        "write_io_requests": delta.write_requests,
        "db_cpu": foreground_us and foreground_us / 1e6,
        "db_time": delta.db_time_us and delta.db_time_us / 1e6,
    }
    compared = [name for name, amount in figures.items() if amount and name in profile]
    for name in compared:
        shown = profile[name]
        assert figures[name] / seconds == pytest.approx(shown.value, rel=0.02, abs=shown.step), name
    assert len(compared) >= least, (compared, sorted(profile))
    switches = report.thread_activity.get("log switches (derived)")
    if switches and switches.total:
        assert delta.log_switches == pytest.approx(switches.total.value, abs=1)


@cache
def written(layout: Layout) -> Report:
    return read_bytes(write(example(7), layout).data)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_rates_are_those_of_reports_of_every_version(layout):
    agrees(written(layout), 3)


@needs_samples
@pytest.mark.parametrize("name", REAL)
def test_rates_are_those_of_real_load_profiles(name):
    agrees(whole(SAMPLES / name), 3)


@pytest.mark.parametrize("name", ["awr_11.2.txt", "awr_12.1.txt", "awr_19c.txt", "awr_23ai.html"])
def test_rates_are_those_of_small_reports(name):
    agrees(read_fixture(name), 3)


def figures_of(report: Report, pluggable: bool = False) -> Mapping[str, Figure]:
    """The figures of a load with the report's counters, over the report's time."""
    begin_ns, seconds = 10**18, report.elapsed_s.value
    load = Window(begin_ns, begin_ns + round(seconds * 1e9), seconds, 0.0, seconds, 0.0)
    engine = to_delta(changes(report), pluggable=pluggable)
    return summary(measurements.measurement(window=load, engine=engine, local=False))


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_cpu_of_sessions_is_the_same_figure_of_a_run_and_of_a_report(layout):
    agree_on_cpu(written(layout))


@needs_samples
@pytest.mark.parametrize("name", [*REAL, PDB])
def test_the_cpu_of_sessions_is_the_same_figure_of_a_run_and_of_a_real_report(name):
    agree_on_cpu(whole(SAMPLES / name))


def agree_on_cpu(report: Report) -> None:
    run = figures_of(report)
    cpu, reads = run[FOREGROUND_CPU.name].value, report.activity.get("physical read IO requests")
    # Rates are printed with few digits.
    steps = {FOREGROUND_CPU: 0.06, IOPS_PER_FOREGROUND_CPU: reads.per_second.step / cpu if reads and cpu else 0}
    for figure, column in ((FOREGROUND_CPU, "db_cpu"), (IOPS_PER_FOREGROUND_CPU, IOPS_PER_FOREGROUND_CPU.name)):
        shown, value = COLUMNS[column].read(Subject(report)), run[figure.name].value
        assert (shown.number is None) == (value is None), figure
        assert value is None or shown.number == pytest.approx(value, rel=1e-3, abs=steps[figure])


def as_printed(value: float) -> float:
    """A rate with one digit as the report rounds it, in two steps: DB time per transaction, 29.7495, is 29.8 there."""
    return float(Decimal(value).quantize(Decimal("0.01"), ROUND_HALF_UP).quantize(Decimal("0.1"), ROUND_HALF_UP))


@needs_samples
def test_a_pluggable_database_s_load_profile_is_that_of_its_own_time_model_and_statistics():
    """To the last printed digit, of each row that has a statistic."""
    report = whole(SAMPLES / PDB)
    change, profile = changes(report), report.load_profile
    reads = report.activity["session logical reads"]
    # The header has the time in hundredths of a minute; this quotient has eleven digits.
    seconds = reads.total.value / reads.per_second.value
    assert seconds == pytest.approx(report.elapsed_s.value, abs=report.elapsed_s.step)
    delta = to_delta(change, pluggable=True)
    mib = 2**20
    figures = {
        "db_time": delta.db_time_us / 1e6,
        "db_cpu": delta.foreground_cpu_us / 1e6,
        "redo_size": delta.log_bytes,
        "logical_reads": delta.logical_reads,
        "block_changes": delta.block_changes,
        "physical_reads": change["sysstat.physical reads"],
        "physical_writes": change["sysstat.physical writes"],
        "read_io_requests": delta.read_requests,
        "write_io_requests": change["sysstat.physical write IO requests"],
        "read_io_mb": delta.read_bytes / mib,
        "write_io_mb": change["sysstat.physical write bytes"] / mib,
        "user_calls": change["sysstat.user calls"],
        "parses": change["sysstat.parse count (total)"],
        "hard_parses": change["sysstat.parse count (hard)"],
        "user_logons": change["sysstat.user logons cumulative"],
        "executes": change["sysstat.execute count"],
        "rollbacks": change["sysstat.user rollbacks"],
        "transactions": delta.commits + change["sysstat.user rollbacks"],
    }
    ended = figures["transactions"]
    for name, amount in figures.items():
        printed = profile[name]
        for what, per in ((printed.per_second, seconds), (printed.per_transaction, ended)):
            if what is not None:
                assert as_printed(amount / per) == what.value, (name, amount / per)
    assert set(profile) - set(figures) == NO_STATISTIC


@needs_samples
def test_a_pluggable_database_s_report_has_nothing_of_background_processes():
    report = whole(SAMPLES / PDB)
    delta = to_delta(changes(report), pluggable=True)
    missing = ("write_requests", "write_bytes", "log_write_requests", "checkpoints", "log_switches", "db_cpu_us")
    assert {delta.unknown[name] for name in missing} == {delta.unknown["background_cpu_us"]}
    assert "CDB$ROOT" in delta.unknown["db_cpu_us"]
    assert delta.read_requests > 2e6
    assert delta.throttled_us > 1e9
    figures = figures_of(report, pluggable=True)
    assert figures["foreground_cpu_per_s"].value == pytest.approx(29136.5 / 3604.2)
    assert figures["iops_per_foreground_cpu"].value == pytest.approx(2104239 / 29136.5)
    assert "CDB$ROOT" in figures["iops_per_db_cpu"].why


@needs_samples
def test_slob_s_own_run_prefetched_nearly_half_of_its_blocks():
    delta = to_delta(changes(whole(SAMPLES / "awr_html_12.2.0.1_rac_slob_db1tp1.html")))
    assert delta.cache_blocks_prefetched / delta.cache_blocks_read == pytest.approx(0.459, abs=0.001)
    assert delta.commits == pytest.approx(530_264, rel=0.01)
    assert delta.commit_waits == 29
    assert delta.background_cpu_us / 1e6 == pytest.approx(262, abs=1)
