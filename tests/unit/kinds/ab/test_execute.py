"""The course of a comparison in pairs: order, looks, the end, failures, stops. No server and no real clock is used."""

from __future__ import annotations

from collections import Counter

import pytest

from factories.pairs import BUSY, Host, ab_record
from factories.tables import table
from openslob.analyze.sequential import LEAST_PAIRS, Decision
from openslob.kinds.ab import KIND
from openslob.kinds.ab.figures import complete_pairs, renew_looks, values, with_results
from openslob.record.model import Holds, Status


@pytest.fixture
def compare(tmp_path):
    """Make a comparison on a host, and return its record."""

    def compare(host=None, **changes):
        return ab_record(tmp_path, host, **changes)

    return compare


def verdicts(record):
    return {each.name: each.verdict for each in record.verdicts}


@table(
    ("ratio", "decision"),
    [(0.8, Decision.WORSE), (1.25, Decision.BETTER), (1.0, Decision.SAME), (0.99, Decision.SAME)],
)
def test_it_ends_as_soon_as_it_is_decided(compare, ratio, decision):
    record = compare(Host(ratio=ratio))
    assert (record.status, record.decision) == (Status.COMPLETE, decision)
    assert LEAST_PAIRS <= record.pairs_begun <= LEAST_PAIRS + 2
    assert record.spent_s < record.limit_s / 5
    look = record.looks[-1]
    assert look.low < ratio < look.high
    assert verdicts(record) == dict.fromkeys(("decided", "pairs_valid", "each_restarted"), Holds.HOLDS)
    assert record.product == "P 1"


def test_without_that_it_takes_its_time_and_looks_once(compare):
    record = compare(Host(ratio=0.8), until_decided=False, limit_s=200.0)
    assert record.decision == Decision.WORSE
    assert 170 < record.spent_s <= 200
    assert [look.share for look in record.looks] == [1.0]


def test_what_is_not_decided_takes_the_time_and_says_so(compare):
    record = compare(Host(noise=0.3), limit_s=300.0)
    assert (record.status, record.decision) == (Status.COMPLETE, Decision.UNDECIDED)
    assert 280 < record.spent_s <= 300
    assert record.looks[-1].share == 1.0
    assert verdicts(record)["decided"] is Holds.UNKNOWN


def test_both_sides_of_a_pair_do_the_same_in_an_order_that_is_turned_round_in_the_next(compare):
    host = Host(noise=0.3)
    record = compare(host, limit_s=400.0)
    pairs = list(zip(host.started[::2], host.started[1::2], strict=True))
    assert all(set(pair) == {"as-is", "jit=off"} for pair in pairs)
    assert all(first == second[::-1] for first, second in zip(pairs[::2], pairs[1::2], strict=False))
    assert len({first for first in pairs[::2]}) == 2
    seeds = [request.workload.seed for request in host.requests]
    assert seeds == [seeds[0] + number for number in range(record.pairs_begun) for _ in (0, 1)]


def test_a_host_that_becomes_slower_and_runs_that_are_faster_as_they_come_second_decide_nothing(compare):
    record = compare(Host(drift=-0.02, second=1.1, noise=0.002))
    assert record.decision == Decision.SAME


def test_a_run_that_lost_its_window_is_made_again_kept_and_not_counted(compare):
    record = compare(Host(ratio=0.8, lost={3}))
    assert [each.made_again for each in record.runs[:5]] == [False, False, True, False, False]
    assert [each.why for each in record.discarded] == [BUSY]
    assert Counter(each.pair for each in record.runs)[2] == 3
    assert len(values(record, "ops_per_s")) == record.pairs_begun == LEAST_PAIRS


def test_a_pair_with_a_run_that_failed_counts_for_nothing_and_the_next_ones_decide(compare):
    record = compare(Host(ratio=0.8, failing={2}))
    assert record.decision == Decision.WORSE
    assert record.pairs_begun == LEAST_PAIRS + 1
    assert len(values(record, "ops_per_s")) == LEAST_PAIRS
    assert [each.why for each in record.runs if not each.figures] == ["a session was lost"]


def test_a_pair_whose_run_is_lost_again_counts_for_nothing(compare):
    record = compare(Host(ratio=0.8, lost={3, 4}))
    assert [each.made_again for each in record.runs[2:4]] == [True, False]
    assert [pair.pair for pair, _ in complete_pairs(record.runs, "ops_per_s")] == [1, *range(3, LEAST_PAIRS + 2)]


def test_failures_that_are_apart_do_not_end_it(compare):
    assert compare(Host(ratio=0.8, failing={2, 5, 8})).decision == Decision.WORSE


def test_two_failures_in_a_row_end_it(compare):
    record = compare(Host(failing={3, 4, 5}))
    assert record.status is Status.FAILED
    assert record.errors == ("no more pairs could be made: a session was lost",)
    assert len(record.runs) == 4


def test_a_stop_keeps_the_pairs_and_decides_nothing(compare):
    record = compare(Host(ratio=0.8, stop_at=6))
    assert (record.status, record.decision) == (Status.INTERRUPTED, Decision.UNDECIDED)
    assert len(record.runs) == 5


def test_runs_that_did_not_measure_what_they_say_are_no_ground_for_a_decision(compare):
    record = compare(Host(ratio=0.8, fails=("exact_mix",)))
    assert verdicts(record)["pairs_valid"] is Holds.FAILS
    assert record.decision == Decision.UNDECIDED


def test_a_window_that_leaves_the_figure_its_value_is_none_of_its_business(compare):
    assert verdicts(compare(Host(fails=("window",))))["pairs_valid"] is Holds.HOLDS


def test_where_blocks_were_read_from_matters_to_figures_of_reads_alone(compare):
    host = {"fails": ("reads_reached_device",)}
    assert verdicts(compare(Host(**host)))["pairs_valid"] is Holds.HOLDS
    assert verdicts(compare(Host(**host), figure="pio_read_per_s"))["pairs_valid"] is Holds.FAILS


def test_runs_of_one_start_of_the_server_are_named(compare):
    record = compare(Host(restarts=False))
    assert verdicts(record)["each_restarted"] is Holds.FAILS


def test_a_lower_latency_is_better(compare):
    record = compare(Host(ratio=1.25), figure="engine_read_latency_us")
    assert record.decision == Decision.BETTER
    assert record.ratios["engine_read_latency_us"].ratio == pytest.approx(0.8, rel=0.03)


def test_its_looks_can_be_made_again_from_its_runs(compare):
    record = compare(Host(noise=0.1, ratio=0.85))
    assert with_results(renew_looks(record)) == record


def test_what_it_says_follows_from_the_records_of_its_runs_and_not_from_what_it_notes_of_them(compare, tmp_path):
    record = compare(Host(ratio=0.8, lost={3}))
    folder = tmp_path / record.id
    found = list(KIND.numbers(folder))
    assert {each.name.partition(".")[0] for each in found} == {"looks", "ratios", "runs"}
    assert [each for each in found if not each.same] == []
    better = tuple(
        each.model_copy(update={"figures": {**each.figures, "ops_per_s": 1.1 * (each.figures["ops_per_s"] or 1.0)}})
        if each.side == "B"
        else each
        for each in record.runs
    )
    (folder / "ab.json").write_text(with_results(record.model_copy(update={"runs": better})).model_dump_json())
    differing = {each.name for each in KIND.numbers(folder) if each.differs}
    assert {"ratios.ops_per_s.ratio", "runs.1.ops_per_s"} <= differing
