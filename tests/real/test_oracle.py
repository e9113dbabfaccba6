"""Whole commands on the stand-in for Oracle: loads, runs, a sweep, trouble. Figures follow from its arithmetic."""

import re

import pytest

from factories.oracle.process import StandInProcess
from factories.oracle.standin_world import BYTES_OF_REDO_PER_OPERATION, BYTES_OF_REDO_PER_ROW, INDEX_VISITS, Pace
from factories.running import (
    DATA,
    FULL_SPEED,
    SCHEMAS,
    Target,
    eventually,
    ignore,
    judged,
    measured,
    rows_of,
    slob,
    too_busy,
    total,
    verdicts_of,
)
from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines import registry
from openslob.kinds.run import loading
from openslob.record.model import Holds, Status
from openslob.report.headline import headline

UNIT, SESSIONS = 8, 4
# What an UPDATE writes without REDO_STRESS=HEAVY.
COLUMNS = 2
MIX = {"sessions": SESSIONS, "work_unit": UNIT, "update_pct": 25, "scan_pct": 0, **FULL_SPEED}
# A quarter of the blocks are in the cache.
WORLD = {"cache_bytes": SCHEMAS * 8192 * 1000, "block_size": 8192}
STAND_IN = "stand-in"


def loaded(url):
    engine = registry.engine_for(url)
    loading.load(engine, None, Workload(**DATA), ignore, lambda: False, ignore)
    return engine


@pytest.fixture(scope="module")
def standin():
    with StandInProcess(**WORLD) as process:
        loaded(process.url)
        yield process


@pytest.fixture
def target(standin, tmp_path):
    return Target(standin.url, tmp_path)


@pytest.fixture(scope="module")
def finished(standin, tmp_path_factory):
    return measured(registry.engine_for(standin.url), tmp_path_factory.mktemp("results"), **MIX)


@pytest.fixture(scope="module")
def counted(finished):
    """What the engine counted from before the first operation to after the last, by figure."""
    return counts_of(finished)


def counts_of(run):
    # A reading that was made again replaces the one from the same begin.
    rows = {(row["begin_ns"], row["figure"]): float(row["value"]) for row in rows_of(run.folder, "engine.csv")}
    return {name: sum(value for (_, each), value in rows.items() if each == name) for _, name in rows}


def done(*words):
    """What a command prints that succeeds."""
    ended = slob(*words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_counts_are_exactly_those_of_the_arithmetic(finished, counted):
    done_ = {name: int(finished.record.summary[f"{name}_total"].value) for name in ("ops", "selects", "updates")}
    ops, updates = done_["ops"], done_["updates"]
    assert ops == done_["selects"] + updates
    assert total(rows_of(finished.folder, "slices.csv"), "rows_updated") == updates * UNIT
    expected = {
        "logical_reads": ops * (UNIT + INDEX_VISITS) + updates * UNIT,
        "commits": updates,
        "commit_waits": updates,
        "log_bytes": updates * (BYTES_OF_REDO_PER_OPERATION + UNIT * COLUMNS * BYTES_OF_REDO_PER_ROW / 2),
        "rows_updated": updates * UNIT,
        "cache_blocks_prefetched": 0,
        "read_bytes": counted["read_requests"] * 8192,
        "single_reads": counted["read_requests"],
    }
    if too_busy(finished.record):  # the first reading came when operations had been counted already
        assert all(counted[name] <= most for name, most in expected.items())
        return
    assert {name: counted[name] for name in expected} == expected


def test_latencies_and_cpu_are_those_that_the_stand_in_draws(finished, counted):
    pace, ops = Pace(), finished.record.summary["ops_total"].value
    read_us = pace.read_least_us + pace.read_more_us
    assert counted["read_requests"] / ops == pytest.approx(UNIT * 0.75, rel=0.05)
    assert counted["single_read_time_us"] / counted["single_reads"] == pytest.approx(read_us, rel=0.05)
    of_sessions = pace.visit_us * (UNIT + INDEX_VISITS) + pace.op_us
    # The log's writer takes its CPU for each commit.
    cpu_us = of_sessions + pace.io_cpu_us * MIX["update_pct"] / 100
    assert counted["db_cpu_us"] / ops == pytest.approx(cpu_us, rel=0.05)
    mean = finished.record.latency["select"]["mean_us"]
    assert mean == pytest.approx(of_sessions + counted["read_requests"] / ops * read_us, rel=0.05)


def test_the_verdicts_of_a_run(finished):
    for name in ("errors", "exact_mix"):
        judged(finished.record, name)
    if not too_busy(finished.record):
        for name in ("single_block", "commits_waited", "cache_size_kept", "data_in_place", "clock_cheap"):
            judged(finished.record, name)
    assert verdicts_of(finished.record)["real_server"].verdict is Holds.FAILS


def test_scans_have_a_path(standin, tmp_path):
    run = measured(registry.engine_for(standin.url), tmp_path, **{**MIX, "scan_pct": 50, "run_time": 1})
    if not too_busy(run.record):
        judged(run.record, "scan_path")


def test_nothing_takes_it_for_a_database(standin, finished):
    assert finished.record.engine["stand_in"] is True
    assert STAND_IN in finished.record.engine["product"].lower()
    assert STAND_IN in (finished.folder / "report.txt").read_text().lower()
    shown = done("check", "--target", standin.url)
    assert "Experimental: no Oracle database" in " ".join(shown.split())
    assert "SPOILS A TEST\n  ! stand-in" in shown
    listed = done("list", "--results", str(finished.folder.parent))
    assert "fails: real server" in " ".join(listed.split())


# What Autonomous Database is said to refuse, and whether the figures may differ without it.
REFUSED = {
    "PLSQL_CODE_TYPE": True,
    "OPTIMIZER_DYNAMIC_SAMPLING": False,
    "OPTIMIZER_ADAPTIVE_PLANS": False,
    "COMMIT_WAIT": False,
}


def test_a_run_is_made_without_settings_that_the_service_refuses(tmp_path):
    with StandInProcess(**WORLD, cloud="lakehouse") as standin:
        run = measured(loaded(standin.url), tmp_path, **MIX, run_time=1)
    assert run.record.status is Status.COMPLETE
    recorded = run.record.engine["refused_settings"]
    assert {each["name"]: each["spoils"] for each in recorded} == REFUSED
    assert all("(ORA-01031)" in each["why"] for each in recorded)
    assert verdicts_of(run.record)["settings_taken"].figures == {"refused": 4, "spoiling": 1}
    # By hints, which a lakehouse ignores unless a session says otherwise.
    assert set(run.record.engine["plans"]) == {"select", "update"}
    assert run.record.engine["connection"]["service"] == "Autonomous Database"
    shown = " ".join(done("show", str(run.folder), "--all").split())
    assert all(f"{name} = " in shown.partition(" NOTES ")[2] for name in REFUSED)
    done("verify", str(run.folder))


def test_a_run_ends_where_hints_are_ignored_for_good(tmp_path):
    with StandInProcess(**WORLD, cloud="lakehouse", refused=("optimizer_ignore_hints",)) as standin:
        engine = loaded(standin.url)
        with pytest.raises(SlobError, match="BY INDEX ROWID BATCHED") as ended:
            measured(engine, tmp_path, **MIX, run_time=1)
    assert "OPTIMIZER_IGNORE_HINTS" in str(ended.value)


def test_the_master_user_of_rds_runs_a_checkpoint_before_the_window(tmp_path):
    with StandInProcess(**WORLD, cloud="rds", packages=("RDSADMIN_UTIL",)) as standin:
        run = measured(loaded(standin.url), tmp_path, **MIX, run_time=1)
    assert run.record.engine["settled"] == ["checkpoint"]
    assert run.record.engine["connection"]["service"] == "Amazon RDS"


def test_another_driver_is_refused_and_a_killed_one_leaves_nothing(target):
    with target.running(**MIX) as run:
        run.wait_until_measured(1)
        refused = target.run(**MIX, run_time=1)
        assert refused.returncode == 1
        assert "is in use: run by pid" in refused.stderr
        run.process.kill()
    assert eventually(target.is_free)


def test_an_interrupted_run_ends_within_a_slice(target):
    with target.running(**MIX) as run:
        run.wait_until_measured(1)
        run.interrupt()
        code, _, said = run.end()
    assert code == 1
    assert "its record says interrupted" in said
    assert target.record().status is Status.INTERRUPTED
    assert target.is_free()


def test_a_server_that_dies_in_the_window(tmp_path):
    with StandInProcess(**WORLD) as process:
        loaded(process.url)
        target = Target(process.url, tmp_path)
        with target.running(**MIX) as run:
            run.wait_until_measured(1)
            process.kill()
            code, _, said = run.end()
    assert code == 1
    (line,) = [line for line in said.splitlines() if line.startswith("slob: ")][-1:]
    # What notices it first: a session, or the reading of the counters.
    assert re.search("was lost|the counters can't be read", line), line
    assert target.record().status is Status.FAILED
    assert target.record().summary["ops_total"].value > 0


def test_a_user_without_rights_runs_with_less_known(tmp_path):
    views = ("V$SYSSTAT", "V$SYSTEM_EVENT", "V$SESSION", "V$SQL", "GV$SESSION", "V$PARAMETER", "V$BUFFER_POOL")
    with StandInProcess(**WORLD, missing=views) as process:
        engine = loaded(process.url)
        shown = done("check", "--target", process.url)
        for view in views[:4]:
            assert f"GRANT SELECT ON SYS.{view.replace('$', '_$')} TO SLOB;" in shown
        record = measured(engine, tmp_path, **MIX, run_time=1).record
    assert record.status is Status.COMPLETE
    assert record.summary["ops_total"].value > 0
    assert record.summary["pio_read_per_s"].value is None
    assert "this user may not read V$SYSSTAT" in " ".join(shown.split())


def test_a_sweep_and_a_drop(tmp_path):
    with StandInProcess(**WORLD) as process:
        given = [f"--{name.replace('_', '-')}={value}" for name, value in DATA.items()]
        where = ["--target", process.url, "--results", str(tmp_path)]
        done("load", *where[:2], *given)
        shown = done("sweep", *where, *given, "--run-time=1", "--warmup=0", "--work-unit=8", "--threads-per-schema=1,2")
        assert "No database: the server says that it is a stand-in" in " ".join(shown.split())
        assert "CF1_1" in done("drop", "--target", process.url)
        engine = registry.engine_for(process.url)
        assert engine.data.state() is None


@pytest.mark.parametrize("version", ["12.1.0.2.0", "23.4.0.0.0"])
def test_an_old_and_a_new_version_in_a_pluggable_database(version):
    with StandInProcess(**WORLD, version=version, pluggable=True) as process:
        done("load", "--target", process.url, "--schemas=1", "--scale=1MB")
        shown = done("check", "--target", process.url, "--schemas=1", "--scale=1MB")
    assert shown.startswith(f"Stand-in for tests, no database {version}")
    assert "A run would work" in shown
    assert "a pluggable database does not count what background processes do" in " ".join(shown.split())


def test_what_a_pluggable_database_counts_is_not_what_the_root_does(tmp_path):
    """The stand-in's other views have three times as much, and what other databases do besides."""
    with StandInProcess(**WORLD, pluggable=True) as process:
        run = measured(loaded(process.url), tmp_path, **MIX)
    if too_busy(run.record):
        return
    found, pace = counts_of(run), Pace()
    figures = {name: figure.value for name, figure in run.record.summary.items()}
    cpu_us = pace.visit_us * (UNIT + INDEX_VISITS) + pace.op_us
    assert found["foreground_cpu_us"] / figures["ops_total"] == pytest.approx(cpu_us, rel=0.05)
    took_us = sum(kind["count"] * kind["mean_us"] for kind in run.record.latency.values() if kind["count"])
    assert found["db_time_us"] == pytest.approx(took_us, rel=0.05)
    assert found["single_reads"] == found["read_requests"]
    assert run.record.engine["wait_latency"]["User I/O:db file sequential read"]["count"] == found["single_reads"]
    assert figures["db_cpu_per_s"] is None
    if figures["pio_read_per_s"] is not None:
        assert "CDB$ROOT" in run.record.summary["background_cpu_per_s"].why
        assert f"{figures['iops_per_foreground_cpu']:,.0f} per foreground CPU second" in headline(run.record)
