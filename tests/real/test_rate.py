"""Runs at a given rate: a stall is in the response time, and what could not be reached is said."""

import time

import pytest

from factories.running import FULL_SPEED, Target, load, measured, rows_of, slob, stopped, too_busy, total, verdicts_of
from openslob.analyze.verdicts.course import STALL_MEDIANS
from openslob.report.text import render

pytestmark = pytest.mark.server

STALL_S = 2.0
STALLED_RUN_S = 6
PER_S = 100


@pytest.fixture(scope="module")
def server(make_server):
    return make_server(name="paced")


@pytest.fixture(scope="module")
def engine(server):
    return load(server)


def kept(record):
    """Whether the rate was kept. If not, operations were left over: the host had no CPU for them."""
    verdict = verdicts_of(record)["rate_reached"]
    if verdict.verdict == "fails":
        assert figure(record, "ops_not_begun_pct") > 0
        assert verdict.figures["not_begun"] > 0
        return False
    assert verdict.verdict == "holds" or too_busy(record), verdict.why
    return verdict.verdict == "holds"


def figure(record, name):
    return record.summary[name].value


def test_a_stall_is_in_the_response_time_and_hardly_in_the_service_time(server, engine, tmp_path):
    """Of 600 operations in 6 s about 200 come due while the server stands still for 2 s, at even distances.

    The first of them waits 2 s and the last 0 s, so that the six longest, 1 % of all, waited more than
    2 s - 6 / 100 a second = 1.94 s: that is the honest p99. In service were at most as many as there are sessions, 4
    of 600, so that the p99 of the service time knows nothing of the stall.
    """
    target = Target(server.status().url, tmp_path)
    flags = {
        "target_ops": PER_S,
        "run_time": STALLED_RUN_S,
        "sessions": 4,
        "work_unit": 4,
        "update_pct": 10,
        **FULL_SPEED,
    }
    with target.running(**flags) as run:
        run.wait_until_measured(slices=8)
        with stopped(server.status().pid) as stall:
            time.sleep(STALL_S)
        code, stdout, stderr = run.end()
    assert code == 0, stderr
    record = target.record()
    expected_us = (stall.seconds - 0.01 * STALLED_RUN_S) * 1e6
    selects, service = record.response["select"], record.latency["select"]
    # Where other programs leave no CPU, all of it takes longer, and none of it less.
    assert selects["p99_us"] > expected_us - 200_000
    assert selects["max_us"] > stall.seconds * 1e6 - 200_000
    assert service["p99_us"] < selects["p99_us"] / 2
    verdict = verdicts_of(record)["no_stalls"]
    # On a host so busy that half of all operations wait for a part of a second, a stall is what is long beside them.
    if STALL_MEDIANS * selects["p50_us"] < stall.seconds * 1e6:
        assert verdict.verdict == "fails", verdict.why
    assert verdict.figures["longest_us"] > stall.seconds * 1e6 - 200_000
    if kept(record):
        assert figure(record, "ops_total") == pytest.approx(PER_S * STALLED_RUN_S, rel=0.01)
    assert "from when due" in stdout


def test_a_rate_is_kept_to_a_percent_and_its_share_of_cpu_left_told(engine, tmp_path):
    finished = measured(
        engine, tmp_path, **FULL_SPEED, target_iops=1000, sessions=3, work_unit=5, warmup=0.5, run_time=3
    )
    record = finished.record
    assert figure(record, "target_ops_per_s") == pytest.approx(200)
    verdicts = verdicts_of(record)
    if kept(record):
        assert figure(record, "ops_total") == pytest.approx(600, rel=0.01)
        assert verdicts["limit_found"].why.startswith("Not limited: the run reached the given rate")
    assert figure(record, "wake_up_late_us") > 0
    responses = rows_of(finished.folder, "response.csv")
    assert total(responses, "count") == total(rows_of(finished.folder, "latency.csv"), "count")
    assert total(responses, "count") == figure(record, "ops_total")
    text = render(record)
    if kept(record) and figure(record, "ops_per_s") is not None:
        assert "200 ops/s requested and reached" in " ".join(text.split())
    assert "PACING, uniform" in text


def test_what_could_not_be_reached_is_said(engine, tmp_path):
    record = measured(
        engine, tmp_path, target_ops=10_000_000, sessions=2, work_unit=64, run_time=1.5, **FULL_SPEED
    ).record
    verdict = verdicts_of(record)["rate_reached"]
    assert verdict.verdict == "fails"
    # Nearly nothing of what was due was done, so that the oldest is from the begin of the window.
    assert figure(record, "ops_not_begun_pct") > 90
    assert figure(record, "backlog_s") >= 0.9 * 1.5
    assert "operations due in the window had not begun at its end, the oldest" in verdict.why
    assert record.response["select"]["p50_us"] > 400_000


def test_independent_users_come_by_chance_and_are_served(engine, tmp_path):
    record = measured(
        engine, tmp_path, **FULL_SPEED, target_ops=200, pacing="poisson", sessions=2, work_unit=4, run_time=3
    ).record
    if kept(record):
        assert figure(record, "ops_total") == pytest.approx(600, abs=6 * 600**0.5)


def test_a_rate_that_changes_is_kept_in_each_of_its_stages(engine, tmp_path):
    """Every record of such a run can be made again of its raw files."""
    schedule = "0s:100,6s:300,12s:300-100,18s:100"
    finished = measured(
        engine, tmp_path, **FULL_SPEED, rate_schedule=schedule, sessions=3, work_unit=4, update_pct=20, run_time=24
    )
    record = finished.record
    assert [(row.begin_s, row.first_per_s, row.last_per_s) for row in record.stages] == [
        (0, 100, 100), (6, 300, 300), (12, 300, 100), (18, 100, 100),
    ]  # fmt: skip
    assert figure(record, "target_ops_per_s") == pytest.approx((600 + 1800 + 1200 + 600) / 24, rel=0.01)
    if kept(record):
        assert figure(record, "ops_total") == pytest.approx(4200, rel=0.01)
        late = [row for row in record.stages if row.response_p99_us is None or row.response_p99_us > 200_000]
        if not late:
            assert [row.ops_per_s for row in record.stages] == pytest.approx([100, 300, 200, 100], rel=0.1)
    assert [row.recovery_s is not None or bool(row.why) for row in record.stages] == [False, True, False, False]
    assert verdicts_of(record)["steady"].verdict == "unknown"
    assert record.episodes is None
    done = slob("verify", finished.folder, "--json")
    assert done.returncode == 0, done.stdout
    assert "12 to 18 s" in render(record)
    rows = slob("export", finished.folder, "--per", "stage").stdout.splitlines()
    assert [row.split(",")[2:4] for row in rows[:2]] == [["stage", "begin_s"], ["1", "0.0"]]
