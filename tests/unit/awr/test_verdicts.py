"""Verdicts: each of them holds, fails and is unknown where it should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factories.awr_reports import FIXTURES, read_fixture, report
from factories.tables import table
from openslob.awr import Bucket, InitParameter, Number, Report, Scope, Statistic, WaitEvent, WaitHistogram, read_bytes
from openslob.awr.verdicts import AwrVerdict, verdicts

EVENT = "db file sequential read"
TIME = "time_is_accounted"


@pytest.fixture
def whole() -> Report:
    return read_fixture("awr_23ai.html")


def verdict(report: Report, name: str, sessions: int | None = None) -> AwrVerdict:
    (found,) = [one for one in verdicts(report, sessions) if one.name == name]
    return found


def counted(report: Report, **totals: float) -> Report:
    stats = {
        key.replace("_", " "): Statistic(Number(total, 1), Number(total / 600, 0.01)) for key, total in totals.items()
    }
    return replace(report, activity={**report.activity, **stats})


def histogram(report: Report, *shares: float) -> Report:
    edges = [0.0, *(2.0**power for power in range(6, 6 + len(shares)))]
    buckets = [Bucket(low, high, share) for low, high, share in zip(edges, edges[1:], shares, strict=False)]
    return replace(report, histograms=(WaitHistogram(EVENT, None, tuple(buckets)),))


def test_a_window_longer_than_the_load(whole):
    assert verdict(whole, "window_is_load", 5).verdict == "holds"
    idle = verdict(whole, "window_is_load", 10)
    assert (idle.verdict, idle.figures["idle_s"]) == ("fails", pytest.approx(300))
    assert verdict(whole, "window_is_load").verdict == "unknown"


def test_30_idle_seconds_of_300_are_seen():
    busy = read_bytes(report(1_000_000, 400, 270, sessions=16))
    idle = replace(busy, header=replace(busy.header, elapsed_min=Number(5.0, 0.01)))
    assert verdict(busy, "window_is_load", 16).verdict == "holds"
    found = verdict(idle, "window_is_load", 16)
    assert (found.verdict, found.figures["idle_s"]) == ("fails", pytest.approx(30))


def test_an_average_over_two_modes(whole):
    assert verdict(histogram(whole, 1, 80, 15, 3, 0.5, 0.5), "average_is_typical").verdict == "holds"
    two = verdict(histogram(whole, 0, 70, 10, 0, 0, 20), "average_is_typical")
    assert (two.verdict, two.figures["second_pct"]) == ("fails", 20)
    assert "64 us to 128 us" in two.why
    assert verdict(replace(whole, histograms=()), "average_is_typical").verdict == "unknown"


def test_commits_that_nobody_waited_for(whole):
    optimised = verdict(counted(whole, user_commits=6400, redo_synch_writes=97), "commits_are_waited_for")
    assert (optimised.verdict, optimised.why[:39]) == ("fails", "97 redo synch writes for 6400 commits: ")
    assert (
        verdict(counted(whole, user_commits=12811, redo_synch_writes=12900), "commits_are_waited_for").verdict
        == "holds"
    )
    assert verdict(counted(whole, user_commits=7, redo_synch_writes=0), "commits_are_waited_for").verdict == "unknown"
    assert verdict(replace(whole, activity={}), "commits_are_waited_for").verdict == "unknown"


@table(
    ("waits", "seconds", "expected"),
    [(1_000_000, 425, "holds"), (1_000_000, 20, "fails"), (10_000_000, 0, "fails"), (9, 0, "unknown")],
)
def test_reads_too_fast_for_a_device(waits, seconds, expected):
    found = read_bytes(report(waits, seconds, 600))
    assert verdict(found, "reads_reach_a_device").verdict == expected


def test_more_reads_than_storage_can_do(whole):
    beyond = counted(whole, physical_read_total_IO_requests=6e9)
    assert verdict(beyond, "reads_reach_a_device").verdict == "fails"


def test_a_saturated_cpu(whole):
    name = "cpu_is_not_saturated"
    assert verdict(whole, name).verdict == "holds"
    assert verdict(replace(whole, header=replace(whole.header, cpus=1)), name).verdict == "fails"
    limited = verdict(replace(whole, parameters={"cpu_count": InitParameter("1")}), name)
    assert limited.verdict == "fails"
    assert "cpu_count allows 1" in limited.why
    assert verdict(replace(whole, header=replace(whole.header, cpus=None)), name).verdict == "unknown"


def test_blocks_taken_for_requests(whole):
    assert verdict(whole, "blocks_are_requests").verdict == "holds"
    scans = verdict(counted(whole, physical_reads=96e6), "blocks_are_requests")
    assert (scans.verdict, scans.figures["blocks_per_request"]) == ("fails", 16)
    assert scans.figures["single_block_pct"] == pytest.approx(100)
    assert verdict(read_fixture("sp_9.2.txt"), "blocks_are_requests").verdict == "unknown"


@table(("idle", "expected"), [("87.0", "holds"), (" 5.0", "fails"), ("    ", "holds")])
def test_a_host_without_idle_cpu_is_saturated_whoever_uses_it(idle, expected):
    """Other programs may use the CPU: DB CPU is 0.9 of 16."""
    text = (FIXTURES / "awr_11.2.txt").read_text()
    assert text.count("87.0") == 1
    found = verdict(replace(read_bytes(text.replace("87.0", idle).encode()), parameters={}), "cpu_is_not_saturated")
    assert found.verdict == expected
    assert ("idle" in found.why) == bool(idle.strip())


def test_db_cpu_of_the_load_profile_is_cpu_too(whole):
    without = replace(whole, time_model_s={}, host_cpu=None, parameters={})
    assert verdict(without, "cpu_is_not_saturated").why == "0.9 of 16 CPUs used by the database"
    nothing = replace(without, load_profile={})
    assert verdict(nothing, "cpu_is_not_saturated").verdict == "unknown"


def with_classes(report, **seconds):
    """Return the report with these foreground wait classes, of so many seconds each, printed in whole seconds."""
    rows = (
        WaitEvent(name=name, scope=Scope.FOREGROUND, time_s=Number(float(time), 1.0)) for name, time in seconds.items()
    )
    return replace(report, wait_classes=tuple(rows))


@pytest.mark.parametrize(
    ("seconds", "holds", "unaccounted"),
    [
        (2160, "holds", 10.0),
        (2159, "fails", 10.03),
        (2760, "holds", -10.0),
        (2761, "fails", -10.03),
        (0, "fails", 82.0),
    ],
)
def test_db_time_is_cpu_and_waits_within_a_tenth(seconds, holds, unaccounted):
    """DB time is 3,000 s, and DB CPU 540 s."""
    found = verdict(with_classes(read_fixture("awr_12.1.txt"), **{"DB CPU": 540, "User I/O": seconds}), TIME)
    assert found.verdict == holds
    assert found.figures["unaccounted_pct"] == pytest.approx(unaccounted, abs=0.01)
    assert found.figures["cpu_pct"] == 18.0


def test_cpus_at_rest_prove_nothing_if_a_part_of_db_time_is_not_accounted_for():
    whole = read_fixture("awr_12.1.txt")
    saturation = "cpu_is_not_saturated"
    assert verdict(with_classes(whole, commit=2460), saturation).verdict == "holds"
    found = verdict(with_classes(whole, commit=1000), saturation)
    assert found.verdict == "unknown"
    assert "48.7 % of DB time is neither CPU nor a wait" in found.why
    assert verdict(with_classes(whole, commit=2900), saturation).verdict == "holds"


def test_without_wait_classes_all_events_that_are_not_idle_are_the_waits():
    found = verdict(read_fixture("awr_11.2.txt"), TIME)
    assert found.verdict == "holds"
    assert found.figures["waits_pct"] == pytest.approx(80.1, abs=0.1)


def test_time_that_cannot_be_told_is_unknown():
    whole = with_classes(read_fixture("awr_12.1.txt"), commit=2460)
    assert verdict(whole, TIME).verdict == "holds"
    assert verdict(replace(whole, time_model_s={}), TIME).verdict == "unknown"
    assert verdict(replace(whole, wait_classes=(), events=()), TIME).verdict == "unknown"
    # Two seconds of DB time, and wait classes in whole seconds: half a second of each may be missing.
    few = {"DB time": Number(2.0, 0.01), "DB CPU": Number(1.0, 0.01)}
    assert verdict(replace(with_classes(whole, commit=0), time_model_s=few), TIME).verdict == "unknown"
