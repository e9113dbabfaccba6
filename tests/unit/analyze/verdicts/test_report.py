"""The verdict on the server's own report: ours and no more than the longer interval explains."""

from __future__ import annotations

import pytest

from factories.measurements import SECONDS, engine, measurement, window
from openslob.analyze.verdicts.report import awr_agrees
from openslob.core.measurement import OtherSessions, ServerReport
from openslob.record.model import Holds


def report(share=1.0, seconds=75.0, **totals):
    ours = engine()
    names = ("logical_reads", "read_requests", "commits", "log_bytes")
    return ServerReport("awrrpt_1_41_42.txt", seconds, 0.6, {n: getattr(ours, n) * share for n in names} | totals)


def judged(given, **overrides):
    return awr_agrees(measurement(server_report=given, **overrides))


def test_a_run_without_a_report_has_no_such_verdict():
    assert awr_agrees(measurement()) is None


@pytest.mark.parametrize("share", [1.0, 1.02, 1.25])
def test_it_holds_for_the_same_load_and_idle_seconds(share):
    verdict = judged(report(share))
    assert verdict.verdict is Holds.HOLDS
    assert verdict.why.startswith("awrrpt_1_41_42.txt spans 75.0 s, the window 60.0 s; it has ")
    assert "of the run's logical reads, physical reads, commits, redo (99.5 to 132 % is allowed)" in verdict.why
    assert verdict.figures["commits_pct"] == pytest.approx(100 * share)


@pytest.mark.parametrize("share", [0.98, 1.4])
def test_less_than_ours_or_more_than_the_interval_explains_fails(share):
    verdict = judged(report(commits=engine().commits * share))
    assert verdict.verdict is Holds.FAILS
    assert f"it has {100 * share:.1f} % of the run's commits (" in verdict.why


def test_a_report_on_less_time_is_on_another_run():
    verdict = judged(report(seconds=SECONDS - 1))
    assert (verdict.verdict, verdict.figures["report_seconds"]) == (Holds.FAILS, 59)
    assert "it is not a report on this run" in verdict.why


def test_work_of_others_is_in_its_totals_only():
    others = OtherSessions(seen={"batch": 100}, samples=600)
    verdict = judged(report(3.0), others=others)
    assert (verdict.verdict, "99.5 % at least is allowed" in verdict.why) == (Holds.HOLDS, True)
    assert judged(report(0.9), others=others).verdict is Holds.FAILS


def test_what_others_did_beside_counters_by_session_counts_as_well():
    ours = engine(commits=4000.0, others={"commits": 8000.0})
    assert judged(report(commits=12_000.0), engine=ours).figures["commits_pct"] == 100


def test_counters_that_hardly_moved_prove_nothing():
    verdict = judged(report(), engine=engine(logical_reads=500.0, read_requests=10.0, commits=3.0, log_bytes=None))
    assert verdict.verdict is Holds.UNKNOWN
    assert judged(report(), window=window(counter_seconds=0.0)).verdict is Holds.UNKNOWN
