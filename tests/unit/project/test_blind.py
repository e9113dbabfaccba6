"""What the blind bench draws, injects and counts: it judges what `slob` says, and nobody judges it but these tests."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.paths import ROOT
from factories.tables import table

sys.path.insert(0, str(ROOT / "bench"))

from blinded.answers import Answer, Family, Statement, families_of, of_episode, of_level, of_limit
from blinded.delivered import added_ms, effect, outside, used, why_disturbed, why_not_as_said
from blinded.inject import HIGHEST, Truth, moment_s, schedule
from blinded.judge import NOTHING, OTHER_CAP, Judgement, Outcome, judge
from blinded.plan import CAPS, UNCAPPED, Kind, Place, Planned, Shape, each_once, plan
from blinded.raw import ASKED, COLUMNS, COUNTED, Course, Numbers, compile_library
from blinded.score import lines
from blinded.score import table as confusion

SEEDS = st.integers(0, 2**32)


# --- the plan


@given(runs=st.integers(1, 130), seed=SEEDS)
def test_every_kind_is_as_often_as_it_can_be(runs, seed):
    drawn = plan(runs, random.Random(seed))
    assert [fault.number for fault, _ in drawn] == [load.number for _, load in drawn] == list(range(1, runs + 1))
    capped = [fault for fault, _ in drawn if fault.kind in CAPS]
    assert len(capped) == runs // 2
    for each, choices in (
        (Counter((fault.kind, fault.shape) for fault in capped), [*itertools.product(CAPS, Shape)]),
        (Counter(fault.place for fault in capped), ["device", "below"]),
        (Counter(load.probe for _, load in drawn), [True, False]),
        (Counter((fault.kind, fault.spread) for fault, _ in drawn if fault.kind not in CAPS), UNCAPPED),
    ):
        counts = [each[choice] for choice in choices]
        assert max(counts) - min(counts) <= 1


@given(seed=SEEDS)
def test_what_the_measuring_side_knows_does_not_tell_a_quota_that_is_hidden(seed):
    drawn = plan(60, random.Random(seed))
    assert all(load.groups_visible for fault, load in drawn if fault.kind is Kind.QUOTA)
    assert not any(load.groups_visible for fault, load in drawn if fault.kind is Kind.HIDDEN_QUOTA)
    others = [load.groups_visible for fault, load in drawn if fault.kind is not Kind.HIDDEN_QUOTA]
    assert others.count(False) > 1


def test_another_seed_is_another_plan():
    faults = {seed: [fault for fault, _ in plan(60, random.Random(seed))] for seed in range(8)}
    orders = {tuple(fault.kind for fault in of_seed) for of_seed in faults.values()}
    capped = {tuple(fault.kind in CAPS for fault in of_seed) for of_seed in faults.values()}
    moments = {fault.at for of_seed in faults.values() for fault in of_seed}
    assert len(orders) == len(capped) == 8
    assert len(moments) == 8 * 60
    assert faults[3] == [fault for fault, _ in plan(60, random.Random(3))]


def test_each_kind_and_each_shape_is_tried():
    drawn = each_once(random.Random(0))
    assert {fault.kind for fault, _ in drawn} == set(Kind)
    assert {fault.shape for fault, _ in drawn if fault.kind in CAPS} == set(Shape)


@given(runs=st.integers(1, 40), seed=SEEDS)
def test_a_planned_fault_is_written_and_read_again(runs, seed):
    for fault, _ in plan(runs, random.Random(seed)):
        assert Planned.from_json(fault.to_json()) == fault


@given(seed=SEEDS, seconds=st.floats(45, 600))
def test_a_fault_begins_when_the_load_is_known_and_ends_in_time(seed, seconds):
    for fault, _ in plan(20, random.Random(seed)):
        begin_s = moment_s(fault, seconds)
        assert begin_s >= 10
        for after_s, _ in schedule(fault, 1000.0, seconds - begin_s) if fault.kind in CAPS else ():
            assert begin_s + after_s < seconds


@given(seed=SEEDS, free=st.floats(100, 1e6), left_s=st.floats(32, 500))
def test_the_levels_of_a_cap_have_its_shape(seed, free, left_s):
    for fault, _ in plan(40, random.Random(seed)):
        if fault.kind not in CAPS:
            continue
        levels = schedule(fault, free, left_s)
        moments, limits = zip(*levels, strict=True)
        capped = [limit for limit in limits if limit is not None]
        assert moments[0] == 0
        assert list(moments) == sorted(set(moments))
        assert all(fault.low * free * 0.999 <= limit <= HIGHEST * free * 1.001 for limit in capped)
        falling = all(before > after for before, after in itertools.pairwise(capped))
        if fault.shape is Shape.BUCKET:
            assert [limit is None for limit in limits] == [False, True] * 3
            assert len(set(capped)) == 1
        elif fault.shape is Shape.OSCILLATION:
            assert not falling
            turns = np.diff(np.sign(np.diff(capped))).nonzero()[0]
            assert len(turns) >= 2 * int(left_s / 10) - 1
        else:
            assert len(capped) == {Shape.LEVEL: 1, Shape.STAIRS: 3, Shape.FALL: int(left_s)}[fault.shape]
            assert falling
            assert (limits[-1] is None) == (fault.lifted is not None)


# --- what was said


@table(
    ("name", "meant"),
    [
        ("I/O cap", {Family.CAP}),
        ("CPU quota", {Family.QUOTA}),
        ("log sync", {Family.SYNCS}),
        ("log syncs took longer", {Family.SYNCS}),
        ("reads took longer", {Family.READS}),
        ("a cap, or reads that took longer", {Family.CAP, Family.READS}),
        ("either", {Family.CAP, Family.READS}),
        ("either I/O cap or slow reads", {Family.CAP, Family.READS}),
        ("slow writes", {Family.WRITES}),
        ("CPU quota that can't be read", {Family.QUOTA}),
        ("CPU that others used, or not", set()),
        ("CPU or storage", set()),
        ("I/O of others", {Family.DISK}),
        ("CPU taken by others", {Family.CPU}),
        ("CPU that others used", {Family.CPU}),
        ("device stall", {Family.OTHER}),
        ("lock", {Family.OTHER}),
        ("unknown", set()),
        ("storage", set()),
        ("server's CPU", set()),
        ("wait for locks", set()),
    ],
)
def test_names_of_causes_are_known(name, meant):
    assert families_of(name, "a cap of 3,000 IOPS on reads, or reads that took longer") == meant


def test_an_episode_costs_its_share_and_a_name_that_is_not_known_is_another_cause():
    row = {"cause": "reads took longer", "evidence": "", "begin_s": 10.0, "end_s": 20.0, "lost_ops": 250.0}
    found = of_episode(row, 750.0)
    assert (found.families, found.at_s, found.until_s, found.lost) == ({Family.READS}, 10.0, 20.0, 0.25)
    assert of_episode({**row, "cause": "the moon"}, 1.0).families == {Family.OTHER}
    assert of_episode({**row, "cause": "unknown"}, 1.0).families == set()


def test_the_figures_of_a_cap_are_read_with_what_else_it_may_be():
    figures = {"cap": 3000.0, "cap_unit": "IOPS", "cap_kind": "iops", "cap_direction": "read", "dry_at_s": 12.0}
    sure = {"figures": figures, "why": "Burst: a cap of 3,000 IOPS (23.4 MB/s) on reads."}
    [found] = of_level(sure)
    assert (found.families, found.levels, found.at_s) == ({Family.CAP}, [("iops", 3000.0)], 12.0)
    [found] = of_level({**sure, "why": "A cap of 3,000 IOPS or 23.4 MB/s on reads, or reads that took longer."})
    assert found.families == {Family.CAP, Family.READS}
    assert found.levels == [("iops", 3000.0), ("bytes", 23.4 * 2**20)]
    quota = {**figures, "cap_kind": "cpu", "cap_unit": "CPUs", "cap": 0.2}
    [found] = of_level({"figures": quota, "why": "A quota of 0.2 CPUs was in force all the time."})
    assert (found.families, found.levels) == ({Family.QUOTA}, [("cpu", 0.2)])
    assert list(of_level({"why": "No cap came into force.", "figures": {"seconds": 50.0}})) == []


def test_a_limit_counts_if_it_is_one_of_the_causes():
    assert [each.families for each in of_limit({"figures": {"limit": "I/O cap"}, "why": ""})] == [{Family.CAP}]
    assert list(of_limit({"figures": {"limit": "storage"}, "why": "a cap"})) == []
    assert list(of_limit({"figures": {"limit": None}, "why": ""})) == []


# --- the judgement


def truth_of(kind, levels=((120.0, 1000),), **planned) -> Truth:
    fault = Planned(1, kind, 0.5, **planned)
    at = 120.0 if kind is not Kind.NOTHING else None
    return Truth(fault, 100.0, 150.0, at, levels=list(levels) if kind in CAPS else [])


def said(*families, **more) -> Statement:
    return Statement("level_sustained" if "levels" in more else "episode", frozenset(families), "so", **more)


def judged(truth, *statements, unseen=False):
    return judge(truth, Answer(100.0, statements, frozenset()), unseen)


CAP, READS, CPU = Family.CAP, Family.READS, Family.CPU
READ_CAP = truth_of(Kind.READ_IOPS)


@table(
    ("truth", "statements", "outcome", "column"),
    [
        (READ_CAP, [said(CAP, direction="read", levels=[("iops", 1010)])], Outcome.RIGHT, CAP),
        (READ_CAP, [said(CAP, READS, levels=[("iops", 1010)])], Outcome.EITHER, "either"),
        (READ_CAP, [said(CAP, levels=[("bytes", 1e6)])], Outcome.WRONG, OTHER_CAP),
        (READ_CAP, [said(CAP, levels=[("bytes", 1e6), ("iops", 1010)])], Outcome.RIGHT, CAP),
        (READ_CAP, [said(CAP, direction="write", levels=[("iops", 1010)])], Outcome.WRONG, OTHER_CAP),
        (READ_CAP, [said(CAP, at_s=20.0), said(CPU, at_s=25.0, until_s=30.0)], Outcome.WRONG, CPU),
        (READ_CAP, [said(CAP, at_s=20.0), said(CPU, at_s=2.0, until_s=4.0)], Outcome.RIGHT, CAP),
        (READ_CAP, [said(CAP, at_s=20.0), said(CPU, at_s=25.0, until_s=30.0, lost=0.01)], Outcome.RIGHT, CAP),
        (READ_CAP, [], Outcome.UNSAID, NOTHING),
        (truth_of(Kind.LOG), [said(CAP, direction="write", levels=[("iops", 900)])], Outcome.RIGHT, CAP),
        (truth_of(Kind.LOG), [said(CAP, direction="both", levels=[("iops", 900)])], Outcome.WRONG, OTHER_CAP),
        (truth_of(Kind.READ_LATENCY), [said(READS, at_s=20.0)], Outcome.RIGHT, READS),
        (truth_of(Kind.READ_LATENCY), [said(CAP, levels=[("iops", 900)])], Outcome.WRONG, CAP),
        (truth_of(Kind.READ_LATENCY), [said(CAP, READS, levels=[("iops", 900)])], Outcome.EITHER, "either"),
        (truth_of(Kind.ON_DISK), [said(READS, at_s=20.0)], Outcome.EITHER, "either"),
        (truth_of(Kind.ON_DISK), [said(READS, CPU, at_s=20.0)], Outcome.WRONG, "either"),
        (truth_of(Kind.ON_DISK), [said(READS, CAP, at_s=20.0)], Outcome.EITHER, "either"),
        (READ_CAP, [said(CAP, direction="request", levels=[("iops", 1010)])], Outcome.RIGHT, CAP),
        (truth_of(Kind.NICED), [said(CPU, at_s=20.0)], Outcome.RIGHT, CPU),
        (truth_of(Kind.NICED), [], Outcome.UNSAID, NOTHING),
        (truth_of(Kind.NOTHING), [], Outcome.RIGHT, NOTHING),
        (truth_of(Kind.NOTHING), [said(READS, CAP, at_s=20.0)], Outcome.WRONG, "either"),
    ],
)
def test_a_kind_is_judged(truth, statements, outcome, column):
    found = judged(truth, *statements)
    assert (found.outcome, found.said) == (outcome, column)


def test_that_others_use_the_cpu_may_be_said_where_they_do():
    answer = Answer(
        100.0, [said(CAP, levels=[("iops", 1000)], at_s=20.0), said(CPU, at_s=25.0, until_s=30.0)], frozenset()
    )
    assert judge(READ_CAP, answer).outcome is Outcome.WRONG
    assert judge(READ_CAP, answer, busy=True).outcome is Outcome.RIGHT
    of_others = Answer(100.0, answer.statements[1:], frozenset())
    assert judge(truth_of(Kind.PLAIN), of_others, busy=True).outcome is Outcome.RIGHT


def test_niced_neighbours_that_gave_way_are_no_cause():
    assert judged(truth_of(Kind.NICED), said(CPU, at_s=20.0), unseen=True).outcome is Outcome.WRONG


@table("kind", [Kind.PLAIN, Kind.SYNC_LATENCY, Kind.NICED])
def test_nothing_need_be_said_of_what_costs_nothing(kind):
    assert judged(truth_of(kind)).outcome is Outcome.UNSAID
    assert judged(truth_of(kind), unseen=True) == Judgement(Outcome.RIGHT, NOTHING, "")


@table(("apart", "right"), [(0.029, True), (-0.029, True), (0.031, False), (-0.031, False)])
def test_a_level_is_within_3_percent_or_wrong(apart, right):
    assert judged(READ_CAP, said(CAP, levels=[("iops", 1000 * (1 + apart))], at_s=20.0)).level is right


@table(("late_s", "right"), [(1.9, True), (-1.9, True), (2.1, False), (-2.1, False)])
def test_a_moment_is_within_2_seconds_or_wrong(late_s, right):
    assert judged(READ_CAP, said(CAP, levels=[("iops", 1000)], at_s=20.0 + late_s)).moment is right


def test_a_level_of_stairs_has_its_own_moment():
    stairs = truth_of(Kind.READ_IOPS, [(120.0, 1000), (130.0, 700), (140.0, 500)], shape=Shape.STAIRS)
    assert judged(stairs, said(CAP, levels=[("iops", 705)], at_s=30.5)) == Judgement(
        Outcome.RIGHT, CAP, "so", level=True, moment=True, shape=False
    )
    assert judged(stairs, said(CAP, levels=[("iops", 705)], at_s=20.0)).moment is False
    assert judged(stairs, said(CAP, levels=[("iops", 800)], at_s=20.0)).level is False
    # What is not stated is not right either.
    assert judged(stairs).shape is False
    assert judged(stairs, said(CAP, at_s=20.0)).level is False


def test_where_no_level_exists_none_is_judged():
    falling = truth_of(Kind.READ_IOPS, [(120.0, 1000), (121.0, 990)], shape=Shape.FALL)
    assert judged(falling, said(CAP, levels=[("iops", 5)], at_s=20.0)).level is None
    assert judged(truth_of(Kind.SYNC_LATENCY), said(Family.SYNCS, at_s=21.0)) == Judgement(
        Outcome.RIGHT, Family.SYNCS, "so", moment=True
    )
    assert judged(truth_of(Kind.NOTHING)).moment is None


def test_a_cap_where_there_is_none_is_false_whatever_else_is_right():
    assert judged(truth_of(Kind.READ_LATENCY), said(READS, at_s=20.0), said(CAP, levels=[("iops", 9)])).false_cap
    assert judged(truth_of(Kind.NOTHING), said(CAP, levels=[("iops", 9)])).false_cap
    assert not judged(truth_of(Kind.READ_LATENCY), said(READS, CAP, levels=[("iops", 9)])).false_cap
    assert not judged(READ_CAP, said(CAP, levels=[("bytes", 9)])).false_cap


def test_a_bucket_is_one_if_it_was_filled_again():
    stated = said(CAP, levels=[("iops", 1000)], at_s=20.0, bucket=5e5)
    assert judged(READ_CAP, stated).false_bucket
    levels = [(120.0, 1000), (125.0, None)] * 3
    assert not judged(truth_of(Kind.READ_IOPS, levels, shape=Shape.BUCKET), stated).false_bucket


# --- what was done


def course_of(**rates) -> Course:
    """A course of 60 s from 95 s on, in which each count grows by so much a second: before, and from 120 s on."""
    at = np.arange(95.0, 155.01, 0.25)
    columns = {"at": at}
    for name, (before, after) in rates.items():
        columns[name] = np.where(at < 120, (at - 95) * before, 25 * before + (at - 120) * after)
    return Course(np.column_stack([columns.get(name, np.zeros(len(at))) for name in COLUMNS]))


@given(before=st.floats(1, 1e6), after=st.floats(1, 1e6), begin=st.floats(95, 119), seconds=st.floats(0.1, 35))
def test_a_rate_is_what_was_counted_between_two_moments(before, after, begin, seconds):
    course = course_of(reads=(before, after), read_ns=(before * 7, after * 7))
    done = before * (min(begin + seconds, 120) - begin) + after * max(0, begin + seconds - 120)
    assert course.rate("reads", begin, begin + seconds) == pytest.approx(done / seconds)
    assert course.mean("read_ns", "reads", begin, begin + seconds) == pytest.approx(7)
    assert np.isnan(course.rate("reads", begin, 156))


def test_a_course_is_written_and_read_again(tmp_path):
    course = course_of(reads=(100, 50))
    course.write(tmp_path / "course.csv")
    assert np.array_equal(Course.read(tmp_path / "course.csv").rows, course.rows)
    text = (tmp_path / "course.csv").read_text()
    (tmp_path / "course.csv").write_text(text.replace("reads", "of older days", 1))
    older = Course.read(tmp_path / "course.csv")
    assert np.isnan(older.rate("reads", 100, 110))
    assert older.rate("writes", 100, 110) == course.rate("writes", 100, 110)


@table(("rate", "whole"), [(1000, True), (1020, True), (1060, False), (900, False)])
def test_a_limit_that_was_not_used_judges_nobody(rate, whole):
    course = course_of(dev_reads=(5000, rate), reads=(5000, rate))
    assert used(READ_CAP, course) == pytest.approx([rate / 1000])
    assert bool(why_not_as_said(READ_CAP, course)) is not whole
    assert effect(READ_CAP, course) == pytest.approx(1 - rate / 5000)


def test_a_limit_below_the_device_holds_no_flush_back():
    course = course_of(dev_writes=(400, 180), dev_flushes=(200, 90))
    assert used(truth_of(Kind.LOG, [(120.0, 90)]), course) == pytest.approx([1.0])
    assert used(truth_of(Kind.LOG, [(120.0, 180)], place=Place.DEVICE), course) == pytest.approx([1.0])


@table(("added", "whole"), [(5.0, True), (4.5, True), (2.0, False), (7.0, False)])
def test_a_delay_that_was_not_added_judges_nobody(added, whole):
    truth = truth_of(Kind.READ_LATENCY, delay_ms=5.0)
    course = course_of(reads=(1000, 100), read_delayed_ns=(0, 100 * added * 1e6))
    assert added_ms(truth, course) == pytest.approx(added)
    assert bool(why_not_as_said(truth, course)) is not whole


@table(("host", "disturbed"), [(1.6, False), (2.0, False), (2.5, True)])
def test_a_host_that_others_used_more_under_a_fault_judges_nobody(host, disturbed):
    course = course_of(host_cpu_s=(1.6, host), server_cpu_s=(1, 1), beside_cpu_s=(0.6, 0.6))
    assert outside(course, 121, 140) == pytest.approx(host - 1.6, abs=1e-9)
    assert bool(why_disturbed(READ_CAP, course)) is disturbed
    assert not why_disturbed(truth_of(Kind.NOTHING), course)


def test_others_may_use_what_a_server_leaves_that_is_held_back():
    assert not why_disturbed(READ_CAP, course_of(host_cpu_s=(2, 2), server_cpu_s=(1.5, 0.2)))
    assert why_disturbed(READ_CAP, course_of(host_cpu_s=(1, 2), server_cpu_s=(0.5, 0.2)))
    assert not why_disturbed(READ_CAP, course_of(host_cpu_s=(1, 2), server_cpu_s=(0.5, 0.2), beside_cpu_s=(0, 1.3)))


def test_a_truth_is_written_and_read_again(tmp_path):
    truth = truth_of(Kind.WRITE, [(120.0, 1000), (130.0, None)], unit="bytes")
    truth.write(tmp_path / "truth.json")
    assert Truth.read(tmp_path / "truth.json") == truth


# --- the score


def test_the_score_counts_and_its_bars_are_judged():
    right, wrong = Judgement(Outcome.RIGHT, CAP, "", True, True), Judgement(Outcome.WRONG, CPU, "x", False, False)
    either = Judgement(Outcome.EITHER, "either", "", None, True)
    runs = [(Kind.READ_IOPS, right, True)] * 18 + [(Kind.READ_LATENCY, either, False)] + [(Kind.NICED, wrong, False)]
    found = [(each.count, each.of, each.reached) for each in lines(runs)]
    assert found[:5] == [(19, 20, True), (0, 18, True), (0, 2, True), (19, 20, True), (18, 19, False)]
    found = [(each.count, each.of, each.reached) for each in lines([*runs, (Kind.WRITE, either, True)] * 5)]
    assert found[:2] == [(100, 105, True), (5, 95, True)]
    assert confusion(runs).splitlines() == [
        "| there was | runs | I/O cap | CPU of others | either |",
        "| --- | --- | --- | --- | --- |",
        "| cap on reads a second | 18 | 18 |  |  |",
        "| reads take longer | 1 |  |  | 1 |",
        "| niced neighbours | 1 |  | 1 |  |",
    ]


@table(("false", "of", "reached"), [(1, 30, True), (2, 30, False), (1, 5, True), (2, 60, True), (3, 60, False)])
def test_one_false_cap_in_thirty_runs_is_allowed(false, of, reached):
    runs = [(Kind.NOTHING, Judgement(Outcome.WRONG, CAP, "", false_cap=at < false), False) for at in range(of)]
    assert lines(runs)[2].reached is reached


@given(seed=SEEDS)
def test_every_run_is_in_one_cell_of_the_table(seed):
    rng = random.Random(seed)
    columns = [*Family, OTHER_CAP, NOTHING, "either"]
    runs = [(rng.choice(list(Kind)), Judgement(Outcome.RIGHT, rng.choice(columns), ""), False) for _ in range(40)]
    rows = [row.split("|")[2:-1] for row in confusion(runs).splitlines()[2:]]
    assert sum(int(row[0]) for row in rows) == 40
    assert all(int(row[0]) == sum(int(cell) for cell in row[1:] if cell.strip()) for row in rows)


# --- the preloaded library


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_library_counts_what_a_program_does_and_delays_it(tmp_path):
    numbers = Numbers(tmp_path / "numbers")
    library = compile_library(tmp_path)
    done = """
import os
file = os.open("data", os.O_RDWR | os.O_CREAT)
for at in range(8):
    assert os.pwrite(file, b"x" * 8192, at * 8192) == 8192
for at in range(6):
    assert os.pread(file, 8192, at * 8192) == b"x" * 8192
assert os.pread(file, 100, 0) == b"x" * 100
os.fdatasync(file)
os.fsync(file)
"""
    command = ["env", f"LD_PRELOAD={library}", f"SLOW_IO={tmp_path / 'numbers'}", sys.executable, "-S", "-c", done]
    spent = []
    for delay_ns, spread in ((0, 0), (2_000_000, 0), (2_000_000, 1)):
        before = numbers.counted()
        for name, value in zip(ASKED, (delay_ns, delay_ns, spread), strict=True):
            numbers.ask(name, value)
        subprocess.run(command, check=True, cwd=tmp_path)
        spent.append([after - at for after, at in zip(numbers.counted(), before, strict=True)])
    for counts in spent:
        reads, read_bytes, _, _, writes, write_bytes, syncs, _, _ = counts
        assert (reads, read_bytes, writes, write_bytes, syncs) == (6, 6 * 8192, 8, 8 * 8192, 2)
    named = [dict(zip(COUNTED, counts, strict=True)) for counts in spent]
    assert named[0]["read_delayed_ns"] == named[0]["sync_delayed_ns"] == 0
    assert named[1]["read_ns"] >= named[1]["read_delayed_ns"] >= 6 * 2_000_000
    assert named[1]["sync_ns"] >= named[1]["sync_delayed_ns"] >= 2 * 2_000_000
    assert named[2]["read_delayed_ns"] > 0
