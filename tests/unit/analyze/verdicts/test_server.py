"""Verdicts on what a server does by itself: judged only if the engine counts it."""

from dataclasses import replace

import pytest

from factories import measurements as made
from factories.tables import table
from openslob.analyze.verdict_registry import Severity, severity_of
from openslob.analyze.verdicts import VERDICTS, judge, server
from openslob.core.measurement import RefusedSetting
from openslob.engines.cluster.instances import add_deltas
from openslob.record.model import Holds
from openslob.report.record_view import caveats

HOLDS, FAILS, UNKNOWN = Holds.HOLDS, Holds.FAILS, Holds.UNKNOWN
NAMES = {verdict.__name__ for verdict in VERDICTS if verdict.__module__ == server.__name__}
SCANS = [made.session(scans=1), *(made.session(number) for number in range(1, 8))]


def counted(**overrides):
    return {"engine": made.engine(**overrides)}


def read(blocks, ahead):
    return counted(cache_blocks_read=float(blocks), cache_blocks_prefetched=float(ahead))


def switched(times, waits=0.0):
    return counted(log_switches=float(times), log_switch_waits=waits)


def scanned(direct):
    return {**counted(direct_scans=float(direct)), "sessions": [made.session(at, scans=25) for at in range(8)]}


def refused(**reasons):
    return counted(unknown=reasons)


CASES = [
    ("single_block", HOLDS, read(100_000, 1000), "99.0 % of 100,000 blocks were read one by one"),
    ("single_block", FAILS, read(100_000, 1001), "those of several blocks. Remedy: switch read-ahead off."),
    ("single_block", FAILS, read(6_044_591, 2_774_804), "54.1 % of 6,044,591"),
    ("single_block", FAILS, read(1000, 2000), "0.0 % of 1,000"),
    ("single_block", UNKNOWN, read(999, 0), "it takes 1,000 to judge"),
    ("single_block", UNKNOWN, {**read(100_000, 50_000), "sessions": SCANS}, "short scans read several"),
    ("single_block", UNKNOWN, refused(cache_blocks_prefetched="no right"), "no right"),
    ("scan_path", HOLDS, scanned(0), "100.0 % of 200 scans read through the cache."),
    ("scan_path", HOLDS, scanned(2), "99.0 % of 200 scans read through the cache."),
    ("scan_path", FAILS, scanned(3), "1.5 % of 200 scans read past the cache (direct path), the others through it"),
    ("scan_path", FAILS, scanned(197), "98.5 % of 200 scans read past the cache (direct path), the others"),
    ("scan_path", HOLDS, scanned(198), "99.0 % of 200 scans read past the cache (direct path)."),
    ("scan_path", HOLDS, scanned(240), "100.0 % of 200 scans read past the cache"),
    ("scan_path", UNKNOWN, {**scanned(0), **refused(direct_scans="no right")}, "no right"),
    ("clock_cheap", HOLDS, {"clock_us": 180.0}, "takes 180.0 µs of an operation, 5.0 % of its mean time; 5 %"),
    ("clock_cheap", FAILS, {"clock_us": 190.0}, "5.3 % of its mean time; 5 % is allowed, which rates and latencies"),
    ("cache_size_kept", HOLDS, counted(cache_resizes=0.0), "did not resize"),
    ("cache_size_kept", FAILS, counted(cache_resizes=2.0), "resized its cache 2 times"),
    ("cache_size_kept", FAILS, counted(cache_resizes=1.0), "1 time, so the share"),
    ("cache_size_kept", UNKNOWN, refused(cache_resizes="no right"), "no right"),
    ("not_throttled", HOLDS, counted(throttled_us=0.0), "for 0.0 % of DB time; 1 % is allowed."),
    ("not_throttled", HOLDS, counted(throttled_us=0.0104 * 432e6), "for 1.0 % of DB time; 1 % is allowed."),
    ("not_throttled", FAILS, counted(throttled_us=0.0106 * 432e6), "for 1.1 % of DB time"),
    ("not_throttled", HOLDS, counted(throttled_us=0.0099 * 432e6), "for 1.0 %"),
    ("not_throttled", FAILS, counted(throttled_us=0.03 * 432e6), "for 3.0 % of DB time"),
    ("not_throttled", UNKNOWN, refused(throttled_us="no right"), "no right"),
    ("log_switches", HOLDS, switched(0), "The log was switched 0 times."),
    ("log_switches", HOLDS, switched(3), "The log was switched 3 times."),
    ("log_switches", FAILS, switched(4), "4 times, every 15 s; 20 s or more are required"),
    ("log_switches", FAILS, switched(1, 7.0), "1 time; sessions waited 7 times for a file that was still needed."),
    ("log_switches", HOLDS, {**switched(1), "window": made.window(5.0)}, "1 time."),
    ("log_switches", UNKNOWN, refused(log_switches="connect to the root"), "connect to the root"),
    ("log_switches", UNKNOWN, counted(log_switches=0.0, unknown={"log_switch_waits": "no right"}), "no right"),
]


@table("name, outcome, overrides, says", CASES)
def test_verdict(name, outcome, overrides, says):
    told = replace(overrides.get("engine", made.engine()), remedies={"single_block": "switch read-ahead off"})
    measured = made.measurement(**{**overrides, "engine": told})
    found = next(each for each in judge(measured) if each.name == name)
    assert found.verdict is outcome, found.why
    assert says in found.why
    assert found.why.endswith(".")


def test_each_outcome_of_each_is_tested():
    # These are judged only where they fail: the first in tests/unit/report/test_reservations.py.
    names = NAMES - {"real_server", "settings_taken"}
    judged = {(name, each) for name in names for each in Holds} - {("clock_cheap", UNKNOWN)}
    assert {(name, outcome) for name, outcome, _, _ in CASES} == judged


SLOWER = RefusedSetting("plsql_code_type", "the work loop is interpreted", spoils=True)
SAME = RefusedSetting("commit_wait", "the loop says the same", spoils=False)


@table(
    "settings, severity, says",
    [
        (
            [SLOWER],
            Severity.CAUTION,
            "refuses 1 setting of the sessions: plsql_code_type. The work loop is",
        ),
        (
            [SAME, SLOWER],
            Severity.CAUTION,
            "2 settings of the sessions: commit_wait, plsql_code_type. The work",
        ),
        ([SAME], Severity.NOTE, "1 setting of the sessions, without which the figures are the same: "),
    ],
)
def test_refused_settings_are_worth_a_caution_only_where_figures_may_differ(settings, severity, says):
    (found,) = (each for each in judge(made.measurement(refused_settings=settings)) if each.name == "settings_taken")
    assert found.verdict is FAILS
    assert says in found.why
    assert severity_of(found.name, found.figures) is severity


def test_an_engine_that_does_not_count_it_gets_no_verdict():
    assert not NAMES & {found.name for found in judge(made.measurement())}
    assert not NAMES & {found.name for found in judge(made.idle())}


def test_switches_are_not_judged_in_a_run_that_only_reads():
    reads = made.measurement(workload=made.workload(update_pct=0), **switched(9))
    assert "log_switches" not in {found.name for found in judge(reads)}


def test_each_instance_of_a_cluster_has_a_log_of_its_own():
    each = made.engine(log_switches=3.0, log_switch_waits=0.0, remedies={"log_switches": "larger files"})
    found = server.log_switches(made.measurement(engine=add_deltas([each] * 4, list("abcd"))))
    assert found.verdict is HOLDS
    more = made.engine(log_switches=4.0, log_switch_waits=0.0, remedies={"log_switches": "larger files"})
    found = server.log_switches(made.measurement(engine=add_deltas([each, more], list("ab"))))
    assert found.verdict is FAILS
    assert found.figures["seconds"] == pytest.approx(15)
    assert found.why.endswith("Remedy: larger files.")


def test_a_result_says_what_the_server_did_by_itself():
    said = caveats(["single_block", "not_throttled"])
    assert said == "with blocks read ahead of the work loop, with sessions held back by the server's resource manager"
