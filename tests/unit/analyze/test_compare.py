"""Comparisons: right about equal and different runs, and clear about what makes runs hard to compare.

After a wanted change of the text: UPDATE_GOLDEN=1 pytest tests/unit/analyze/test_compare.py, then read the difference.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from factories.paths import GOLDEN
from factories.records import Made, buffered, physical
from factories.tables import table
from openslob.analyze.ci_gate import GateCheck, GateResult, check, parse_condition
from openslob.analyze.compare import FIGURES, Comparison, better_of, compare
from openslob.analyze.curves.points import Run
from openslob.analyze.differences import Outcome, Shows, difference, mean_difference
from openslob.analyze.intervals import Spread, starts_needed
from openslob.analyze.statistics import Basis, Estimate, of_repeats
from openslob.cli import app
from openslob.core.errors import UsageError
from openslob.core.method import OpKind
from openslob.metrics import Better
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder
from openslob.report.comparison import comparison_document, comparison_json, gate_sentence
from openslob.report.terminal import render_text

pytestmark = pytest.mark.any_python

PAIRS = 200
# The spread between equal runs on a quiet machine, and the one measured on a virtual machine with two shared cores.
QUIET, NOISY = 0.01, 0.10


def told(a: list[float], b: list[float], better: Better = Better.MORE) -> Outcome:
    return difference("ops_per_s", "1/s", better, of_repeats(a), of_repeats(b)).outcome


def runs(rng: np.random.Generator, count: int, spread: float, mean: float = 50_000) -> list[float]:
    return list(mean * (1 + spread * rng.normal(size=count)))


@pytest.mark.parametrize("repeats", [2, 3, 5, 10])
@pytest.mark.parametrize("spread", [QUIET, NOISY])
def test_equal_runs_are_seldom_called_different(repeats: int, spread: float) -> None:
    rng = np.random.default_rng(2026)
    alarms = sum(
        told(runs(rng, repeats, spread), runs(rng, repeats, spread)) is not Outcome.NOT_SHOWN for _ in range(PAIRS)
    )
    assert alarms / PAIRS <= 0.07


def test_equal_sweeps_are_seldom_called_different() -> None:
    rng, alarms = np.random.default_rng(4), 0
    for _ in range(PAIRS):
        points = [
            difference("ops_per_s", "1/s", Better.MORE, *(of_repeats(runs(rng, 1, NOISY, mean)) for _ in "ab"))
            for mean in (1e4, 2e4, 4e4, 5e4, 5e4)
        ]
        alarms += mean_difference("ops_per_s", "1/s", Better.MORE, points).outcome is not Outcome.NOT_SHOWN
    assert alarms / PAIRS <= 0.07


@pytest.mark.parametrize("spread", [QUIET, NOISY])
def test_five_percent_are_found_with_as_many_repeats_as_were_said_to_be_needed(spread: float) -> None:
    rng, needed = np.random.default_rng(9), starts_needed(Spread(spread**2, None, 100), 5)
    assert needed is not None
    found = [told(runs(rng, needed, spread), runs(rng, needed, spread, 47_500)) for _ in range(PAIRS)]
    assert found.count(Outcome.WORSE) / PAIRS >= 0.86
    assert Outcome.BETTER not in found


def test_welch_by_hand() -> None:
    a, b = of_repeats([10, 11, 12]), of_repeats([13, 15, 17])
    found = difference("ops_per_s", "1/s", Better.MORE, a, b)
    # Of the logarithm: standard error √(1 / 11² / 3 + 4 / 15² / 3) = 0.0932; 3.53 degrees of freedom; t = 2.93.
    assert found.change == pytest.approx(4)
    assert found.pct == pytest.approx(100 * 4 / 11)
    assert found.pct_high == pytest.approx(100 * (15 / 11 * math.exp(2.93 * 0.0932) - 1), abs=0.2)
    assert found.change_high == pytest.approx(0.11 * (found.pct_high or 0))
    assert found.outcome is Outcome.BETTER


def test_direction_decides_between_better_and_worse() -> None:
    low, high = [100.0, 101, 99], [120.0, 121, 119]
    assert told(low, high) is Outcome.BETTER
    assert told(low, high, Better.LESS) is Outcome.WORSE
    assert told(low, high, Better.NEITHER) is Outcome.DIFFERENT


def within(mean: float, half: float) -> Estimate:
    return Estimate(mean, half, 1, None, Basis.WITHIN_RUN)


def test_two_single_runs_never_show_a_difference() -> None:
    near = difference("ops_per_s", "1/s", Better.MORE, within(100, 3), within(102, 3))
    far = difference("ops_per_s", "1/s", Better.MORE, within(100, 3), within(150, 3))
    blind = difference("ops_per_s", "1/s", Better.MORE, of_repeats([100]), of_repeats([100]))
    assert (near.outcome, far.outcome) == (Outcome.NOT_SHOWN, Outcome.NOT_ENOUGH)
    assert (blind.outcome, blind.change_low) == (Outcome.NOT_ENOUGH, None)
    assert far.repeats_needed is None


def test_one_run_against_several_uses_the_spread_of_the_several() -> None:
    several = of_repeats([100, 101, 99, 100, 102])
    # The single run varies like each of the several: s · √(1/5 + 1) = 1.249, and t of 4 degrees of freedom is 2.776.
    close = difference("x", "", Better.MORE, several, of_repeats([102]))
    half = 2.776 * 1.249 / 100.4
    assert close.pct_high == pytest.approx(100 * (102 / 100.4 * math.exp(half) - 1), abs=0.01)
    assert close.outcome is Outcome.NOT_SHOWN
    assert difference("x", "", Better.MORE, several, of_repeats([101])).outcome is Outcome.NOT_SHOWN
    assert difference("x", "", Better.MORE, several, of_repeats([120])).outcome is Outcome.BETTER


@pytest.mark.parametrize("starts", [("s1", "s2"), ("s1", "s1"), ("", "")])
def test_two_runs_against_one_show_nothing_since_two_may_be_alike_by_chance(starts: tuple[str, str]) -> None:
    alike = of_repeats([100.0, 100.001], starts)
    for a, b in ((alike, of_repeats([150.0], ["s3"])), (of_repeats([150.0], ["s1"]), alike)):
        found = difference("ops_per_s", "1/s", Better.MORE, a, b)
        assert (found.outcome, found.shows) == (Outcome.NOT_ENOUGH, Shows.FEW_RUNS)
        assert found.repeats_needed is None
    known = difference("x", "", Better.MORE, alike, of_repeats([150.0]), Spread(0.0001, None, 5))
    assert known.outcome is Outcome.BETTER
    near = difference("x", "", Better.MORE, of_repeats([100.0, 110]), of_repeats([105.0]))
    assert (near.outcome, near.why) == (Outcome.NOT_SHOWN, "within the spread of the runs")


def test_what_is_unknown_on_one_side_stays_unknown() -> None:
    found = difference("x", "", Better.MORE, Estimate(None, why="not local"), of_repeats([1, 2]))
    assert (found.outcome, found.why, found.pct) == (Outcome.UNKNOWN, "not local", None)


REPEATS = st.lists(st.floats(1, 1e6), min_size=2, max_size=6)


@given(REPEATS, REPEATS)
def test_swapping_the_sides_turns_the_difference_round(a: list[float], b: list[float]) -> None:
    one = difference("x", "", Better.MORE, of_repeats(a), of_repeats(b))
    other = difference("x", "", Better.MORE, of_repeats(b), of_repeats(a))
    assert one.change == pytest.approx(-(other.change or 0))
    if (other.pct_low or 0) > -99.9:  # nearer to -100 %, the digits that count are lost
        assert 1 + (one.pct_high or 0) / 100 == pytest.approx(1 / (1 + (other.pct_low or 0) / 100))
    turned = {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}
    assert other.outcome == turned.get(one.outcome, one.outcome)


@given(REPEATS)
def test_a_set_does_not_differ_from_itself(values: list[float]) -> None:
    assert told(values, values) is Outcome.NOT_SHOWN


def records(
    factor: float = 1.0, spread: float = QUIET, seed: int = 1, day: int = 1, sessions: tuple[int, ...] = (8,)
) -> list[RunRecord]:
    rng, made = np.random.default_rng(seed), []
    for count in sessions:
        for at in range(3):
            speed = factor * (1 + spread * rng.normal())
            what = Made(sessions=count, visits=57_960 * speed, read_us=131 / speed, cpu=1.02)
            made.append(physical(what, record_id=f"202603{day:02}-12{count:02}{at:02}-pio"))
    return made


def compared(a: list[RunRecord], b: list[RunRecord]) -> Comparison:
    return compare([Run.of(each) for each in a], [Run.of(each) for each in b], "before", "after")


def test_more_cpu_for_more_work_is_neither_better_nor_worse() -> None:
    def made(factor: float, day: int) -> list[RunRecord]:
        whats = [Made(visits=50_000 * factor * more, cpu=1.0 * factor * more) for more in (0.999, 1.0, 1.001)]
        return [physical(what, record_id=f"202603{day:02}-1200{at:02}-pio") for at, what in enumerate(whats)]

    found = compared(made(1.0, 1), made(1.2, 2))
    outcomes = {name: answer.outcome for name in ("ops_per_s", "db_cpu_per_s") if (answer := found.answer(name))}
    assert outcomes == {"ops_per_s": Outcome.BETTER, "db_cpu_per_s": Outcome.DIFFERENT}
    assert better_of("iops_per_db_cpu") is Better.MORE
    assert {better_of(f"host_cpu_{name}_pct") for name in ("busy", "left")} == {Better.NEITHER}


def changed(record: RunRecord, **engine: object) -> RunRecord:
    return record.model_copy(update={"engine": {**record.engine, **engine}})


def test_what_is_not_the_same_is_listed() -> None:
    a, b = records(), records(day=2)
    b = [changed(each, version="18.5", settings={**each.engine["settings"], "jit": "on"}) for each in b]
    b = [each.model_copy(update={"environment": {**each.environment, "host": "db2", "kernel": "6.2"}}) for each in b]
    b = [each.model_copy(update={"spec": {**each.spec, "work_unit": 32}}) for each in b]
    found = {each.name: (each.a, each.b) for each in compared(a, b).mismatches}
    assert found == {
        "version": (("18.4",), ("18.5",)),
        "engine.settings.jit": (("off",), ("on",)),
        "environment.kernel": (("6.1.0-18-amd64",), ("6.2",)),
        "host": (("db1",), ("db2",)),
        "work_unit": ((64,), (32,)),
    }


def test_a_setting_of_one_run_is_compared_with_what_the_other_server_had() -> None:
    a, b = (
        [changed(each, settings={**each.engine["settings"], "jit": value}) for each in records(day=day)]
        for day, value in ((1, "off"), (2, "on"))
    )
    b = [changed(each, set={"jit": "on"}) for each in b]
    assert [(each.name, each.a, each.b) for each in compared(a, b).mismatches] == [("jit", ("off",), ("on",))]
    b = [changed(each, set={"jit": "off"}, settings=a[0].engine["settings"]) for each in b]
    assert compared(a, b).mismatches == ()


def test_the_number_of_drivers_is_a_condition() -> None:
    a, b = records(), records(day=2)
    b = [each.model_copy(update={"environment": {**each.environment, "drivers": [{}, {}]}}) for each in b]
    found = {each.name: (each.a, each.b) for each in compared(a, b).mismatches}
    assert found == {"environment.drivers": ((1,), (2,))}


def test_equal_runs_have_nothing_that_is_not_the_same() -> None:
    assert compared(records(), records(day=2)).mismatches == ()


def test_repeats_that_are_not_alike_on_both_sides_are_listed() -> None:
    # The same mixture on both sides: neither side's repeats are repeats of each other.
    a, b = records(), records(day=2)
    for side in (a, b):
        side[1] = changed(side[1], settings={**side[1].engine["settings"], "jit": "on"})
    found = {each.name: (each.a, each.b) for each in compared(a, b).mismatches}
    assert found == {"engine.settings.jit": (("off", "on"), ("off", "on"))}


def test_points_are_matched_and_the_others_named() -> None:
    found = compared(records(sessions=(1, 2, 4)), records(day=2, sessions=(2, 4, 8)))
    assert [pair.sessions for pair in found.pairs] == [2, 4]
    assert (found.only_a, found.only_b) == (("1 session",), ("8 sessions",))


def test_nothing_in_common_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no point in common"):
        compared(records(sessions=(1,)), records(sessions=(2,)))


def test_points_come_by_parameters_and_sessions() -> None:
    a, b = (records(day=day, sessions=(16, 2, 1)) for day in (1, 2))
    assert [pair.sessions for pair in compared(a, b).pairs] == [1, 2, 16]


def test_one_side_with_points_that_can_not_be_told_apart_is_a_usage_error() -> None:
    a = [changed(each, block_size=16384) for each in records()]
    b = [changed(each, block_size=size) for size in (4096, 8192) for each in records(day=2)]
    with pytest.raises(UsageError, match="block_size"):
        compared(a, b)


def test_a_sweep_is_answered_by_the_mean_over_its_points() -> None:
    found = compared(records(sessions=(1, 2, 4, 8)), records(0.9, day=2, seed=5, sessions=(1, 2, 4, 8)))
    answer = found.answer("ops_per_s")
    assert answer is not None
    assert answer.outcome is Outcome.WORSE
    assert answer.pct == pytest.approx(-10, abs=2)
    assert (answer.pct_low or 0) < -10 < (answer.pct_high or 0)


@table(
    ("condition", "judged"),
    [
        ("ops_per_s < -5%", GateResult.VIOLATED),
        ("ops_per_s <= -50 %", GateResult.OK),
        ("engine_read_latency_us > 5", GateResult.VIOLATED),
        ("engine_read_latency_us > 500", GateResult.OK),
        ("op_p99_us > 5%", GateResult.VIOLATED),
        ("start_skew_ms > 5%", GateResult.OK),
        ("db_cpu_per_s < 5%", GateResult.VIOLATED),
        ("update_p99_us > 5%", GateResult.UNDECIDED),
        ("pio_write_per_s > 5%", GateResult.UNDECIDED),
    ],
)
def test_conditions(condition: str, judged: GateResult) -> None:
    found = check(parse_condition(condition), compared(records(), records(0.9, day=2, seed=7)))
    assert found.result is judged
    assert found.why or judged is not GateResult.UNDECIDED


def test_a_condition_does_not_pass_because_there_are_too_few_runs() -> None:
    a, b = records()[:1], records(0.5, day=2)[:1]
    assert check(parse_condition("ops_per_s < -5%"), compared(a, b)).result is GateResult.UNDECIDED
    assert check(parse_condition("ops_per_s > 5%"), compared(a, b)).result is GateResult.OK


def sides_of(*rates: list[float]) -> list[list[Run]]:
    """Runs whose operations per second are these."""
    return [
        [
            Run.of(physical(Made(visits=64 * value), record_id=f"202603{day:02}-1200{at:02}-x"))
            for at, value in enumerate(side)
        ]
        for day, side in enumerate(rates, start=1)
    ]


def sides(a: list[float], b: list[float]) -> Comparison:
    before, after = sides_of(a, b)
    return compare(before, after, "before", "after")


def change_of(a: list[float], b: list[float], condition: str) -> GateCheck:
    return check(parse_condition(condition), sides(a, b))


NOISY_BEFORE, NOISY_AFTER = [500.0, 300, 424], [400.0, 240, 329]


def test_a_change_that_is_not_shown_is_undecided_and_names_the_runs_for_this_limit() -> None:
    found = change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < -10%")
    assert found.result is GateResult.UNDECIDED
    assert "a change of 10 %" in found.why
    counts = [
        int(re.findall(r"(\d+) runs of each side", change_of(NOISY_BEFORE, NOISY_AFTER, f"ops_per_s < -{pct}%").why)[0])
        for pct in (5, 10, 20)
    ]
    assert counts[0] > counts[1] > counts[2] > 3
    in_units = change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < -40.8")
    assert re.findall(r"(\d+) runs|([\d.]+) 1/s", in_units.why) == [(str(counts[1]), ""), ("", "40.8")]
    assert "more runs" in change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < 0%").why
    assert "quieter machine" in change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < -0.1%").why


def test_means_that_do_not_meet_a_condition_pass_and_say_that_the_interval_reaches_the_limit() -> None:
    found = change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < -25%")
    assert found.result is GateResult.OK
    assert "the 95 % interval reaches the limit" in found.why
    quiet = change_of([400.0, 401, 402], [396.0, 397, 398], "ops_per_s < -25%")
    assert (quiet.result, quiet.why) == (GateResult.OK, "")


def test_an_interval_so_wide_that_the_change_is_unknown_passes_nothing_that_it_meets() -> None:
    wild = [900.0, 100.0], [300.0, 500.0]
    for condition in ("ops_per_s > 5%", "ops_per_s < -5%", "ops_per_s < -90%"):
        found = change_of(*wild, condition)
        assert found.result is GateResult.UNDECIDED, condition
        assert gate_sentence(found).count("ops_per_s unknown (2 runs)") == 1
    text = render_text(comparison_document(wild_comparison := sides(*wild)))
    assert re.search(r"Operations +500/s +400/s +unknown \(2 runs\) +not shown", text)
    assert not re.search(r"Operations.*±", text)
    assert (answer := wild_comparison.answer("ops_per_s"))
    assert (answer.pct_high or 0) - (answer.pct_low or 0) > 200
    assert change_of(*wild, "ops_per_s < -100%").result is GateResult.OK


def test_a_change_that_is_many_times_as_much_is_given_as_that_and_no_interval_is_absurd() -> None:
    huge = gate_sentence(change_of([1.0, 1.1, 0.9], [5000.0, 9000, 4000], "ops_per_s < -5%"))
    assert huge.startswith("ops_per_s × 6,000 (1 → 6,000)")
    wide = gate_sentence(change_of([100.0, 90, 95], [700.0, 400, 500], "ops_per_s < -5%"))
    assert re.match(r"ops_per_s \+4\d\d\.\d ± >100 % \(95 → 533\), limit -5 %", wide)


@pytest.mark.parametrize(
    ("after", "condition", "judged"),
    [
        (899.6, "ops_per_s < -10%", GateResult.OK),  # -10.04 %, which is shown as -10.0
        (899.4, "ops_per_s < -10%", GateResult.VIOLATED),  # -10.06 %
        (899.6, "ops_per_s <= -10%", GateResult.VIOLATED),
        (899.6, "ops_per_s < -10.01%", GateResult.VIOLATED),
    ],
)
def test_what_is_shown_is_what_is_compared(after: float, condition: str, judged: GateResult) -> None:
    found = change_of([1000.0, 1000, 1000.001], [after, after, after + 0.001], condition)
    assert found.result is judged, gate_sentence(found)


def test_figures_of_fewer_runs_than_the_heading_counts_say_so() -> None:
    found = sides([500.0, 510, 505], [480.0, 490, 485])
    assert " n " not in render_text(comparison_document(found))
    records = [[run.record for run in side] for side in sides_of([500.0, 510, 505], [480.0, 490, 485])]
    summary = {name: figure for name, figure in records[1][0].summary.items() if name != "iops_per_db_cpu"}
    records[1][0] = records[1][0].model_copy(update={"summary": summary})
    lines = render_text(comparison_document(compared(*records))).splitlines()
    (head,) = (line for line in lines if "n of A, B" in line)
    of = {line[2:22].strip(): line[: head.index("n of A, B") + 9][-6:].strip() for line in lines}
    assert (of["Operations"], of["IOPS per DB CPU"]) == ("3, 3", "3, 2")


def test_a_condition_that_no_change_meets_too_is_met_by_all_of_the_interval() -> None:
    assert change_of(NOISY_BEFORE, NOISY_AFTER, "ops_per_s < 5%").result is GateResult.UNDECIDED
    assert change_of([400.0, 401, 402], [400.0, 401, 402.5], "ops_per_s < 5%").result is GateResult.VIOLATED


def test_a_bound_in_units_does_not_go_with_a_mean_over_points() -> None:
    found = compared(records(sessions=(1, 2)), records(day=2, sessions=(1, 2)))
    with pytest.raises(UsageError, match="%"):
        check(parse_condition("ops_per_s < -100"), found)


@table("text", ["", "ops_per_s", "ops_per_s < x", "ops_per_s = 5%", "ops_per_s < 5% now"])
def test_other_texts_are_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match="not a condition"):
        parse_condition(text)


def test_an_unknown_figure_is_a_usage_error_with_the_likely_one() -> None:
    with pytest.raises(UsageError, match="iops_per_db_cpu"):
        parse_condition("iops_per_cpu < -5%")


CASES = {
    "worse": lambda: compared(records(), records(0.93, day=2, seed=3)),
    "equal": lambda: compared(records(spread=NOISY), records(spread=NOISY, day=2, seed=3)),
    "single": lambda: compared(records()[:1], records(0.93, day=2)[:1]),
    "sweep": lambda: compared(
        records(sessions=(1, 2, 4, 8)),
        [changed(each, version="18.5") for each in records(1.1, sessions=(2, 4, 8, 16), day=2)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_text_is_the_reviewed_one(name: str) -> None:
    found = CASES[name]()
    text = render_text(comparison_document(found, [check(parse_condition("iops_per_db_cpu < -5%"), found)]))
    file = GOLDEN / f"compare-{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())


def test_reads_are_not_called_physical_where_they_were_not() -> None:
    again = buffered().model_copy(update={"id": "20260302-120000-again"})
    text = render_text(comparison_document(compared([buffered()], [again])))
    assert "Physical" not in text
    assert "IOPS" not in text


def test_json_holds_every_figure_and_is_json() -> None:
    found = json.loads(json.dumps(comparison_json(CASES["worse"]())))
    ops = found["points"][0]["figures"]["ops_per_s"]
    assert (ops["outcome"], ops["unit"], ops["a"]["n"]) == ("worse", "1/s", 3)
    assert ops["pct_low"] < ops["pct"] < ops["pct_high"] < 0


def saved(results: Path, found: list[RunRecord]) -> str:
    for record in found:
        with RunFolder.begin(results, record) as folder:
            folder.finish(record)
    return ",".join(record.id for record in found)


def test_command_gives_the_exit_codes(tmp_path: Path) -> None:
    a, b = saved(tmp_path, records()), saved(tmp_path, records(0.9, day=2, seed=3))
    other = saved(tmp_path, [changed(each, version="17.9") for each in records(day=3)])

    def code(*arguments: str) -> object:
        result = CliRunner().invoke(app, ["compare", *arguments, "--results", str(tmp_path)])
        return getattr(result.exception, "exit_code", result.exit_code)

    assert code(a, b) == 0
    assert code(a, b, "--json") == 0
    assert code(a, b, "--fail-if", "ops_per_s < -5%") == 3
    assert code(a, b, "--fail-if", "ops_per_s < -50%", "--fail-if", "ops_per_s > 5%") == 0
    assert code(a, b, "--fail-if", "nonsense < -5%") == 2
    assert code(a, other) == 1
    assert code(a, other, "--anyway") == 0
    assert code(a, "nothing") == 2
    assert code(a, f"{b},{a}") == 2


def test_latencies_of_every_kind_of_operation_are_compared() -> None:
    named = {
        f"{kind}_{of}{statistic}_us" for kind in OpKind for of in ("", "response_") for statistic in ("mean", "p99")
    }
    assert named <= set(FIGURES)
