"""Whether a level lasts, what capped it, and how the verdicts and the headline say so."""

from dataclasses import replace

import factories.measurements as made
from factories.tables import table
from openslob.analyze.verdicts import judge, judge_observed
from openslob.core.measurement import Cap, CapSearch, Known, LevelCourse, MeanRate
from openslob.record.model import Holds
from openslob.report.headline import headline

BURST = MeanRate(2000.0, 1900.0, 2100.0, 0.0, 12.4)
UNDER = MeanRate(250.0, 249.0, 251.0, 13.0, 60.0)
CAP = Cap(
    "iops", "read", 3000.0, "IOPS", ((12.4, 60.0),), 12.4, None, None, BURST, UNDER, ("it was even",), 8192,
    known=Known.FLAT, used=45_300.0,
)  # fmt: skip
READ = replace(CAP, known=Known.LIMIT, kind_known=True)
REFILLED = replace(CAP, bucket=45_300.0, refills=2)
EITHER = replace(CAP, known=Known.EITHER, each_ms=(1.02, 2.66))
FIRST = replace(CAP, held=((0.0, 12.4),), dry_at_s=None, lifted_at_s=12.4, used=None)
SHORT = replace(CAP, held=((20.0, 30.0),), dry_at_s=20.0, lifted_at_s=30.0)
ALWAYS = replace(READ, held=((0.0, 60.0),), dry_at_s=None, burst=None)
QUOTA = replace(CAP, kind="cpu", direction="", cap=0.5, unit="CPUs", used=7.25, request_bytes=None)


def verdict(name, cap=None, why=""):
    caps = CapSearch(60.0, cap, why)
    return next(found for found in judge(made.measurement(caps=caps)) if found.name == name)


@table(
    ("cap", "outcome", "says"),
    [
        (None, Holds.HOLDS, "No cap was found within 60 s. A bucket that lasts longer would not have shown."),
        (ALWAYS, Holds.HOLDS, "A cap of 3,000 IOPS (23.4 MB/s) on reads was in force all the time"),
        (CAP, Holds.FAILS, "Burst: 2,000 ops/s for the first 12.4 s, then 250 ops/s under a cap of 3,000 IOPS or 23"),
        (READ, Holds.FAILS, "then 250 ops/s under a cap of 3,000 IOPS (23.4 MB/s) on reads. "),
        (CAP, Holds.FAILS, "By then it had used 45,300 requests more than the cap gives. It was even."),
        (REFILLED, Holds.FAILS, "more than the cap gives: a bucket, which was seen to refill 2 times. It was even."),
        (SHORT, Holds.FAILS, "on reads, until it was lifted at 30.0 s. By then"),
        (FIRST, Holds.FAILS, "Held back for the first 12.4 s: 250 ops/s under a cap of 3,000 IOPS or 23.4 "),
        (QUOTA, Holds.FAILS, "250 ops/s under a quota of 0.5 CPUs. By then it had used 7.25 s of CPU more"),
    ],
)  # fmt: skip
def test_a_level_lasts_or_was_a_burst(cap, outcome, says):
    found = verdict("level_sustained", cap)
    assert found.verdict is outcome
    assert says in found.why


def test_what_is_not_known_has_its_reason_and_what_was_not_looked_at_no_verdict():
    found = verdict("level_sustained", why="the load lasted 3 s, and such a change shows from 12 s on")
    assert (found.verdict, found.figures) == (Holds.UNKNOWN, {"seconds": 60.0})
    assert "from 12 s on" in found.why
    assert not [each for each in judge(made.measurement()) if each.name == "level_sustained"]


def test_figures_have_the_cap_the_bucket_and_both_levels():
    figures = verdict("level_sustained", CAP).figures
    assert (figures["cap"], figures["cap_unit"], figures["cap_direction"]) == (3000.0, "IOPS", "read")
    assert (figures["bucket"], figures["used_before_cap"]) == (None, 45_300.0)
    assert (figures["dry_at_s"], figures["lifted_at_s"]) == (12.4, None)
    assert (figures["cap_known"], figures["cap_kind"]) == ("flat rate", "iops or bytes")
    assert verdict("level_sustained", READ).figures["cap_kind"] == "iops"
    assert verdict("level_sustained", REFILLED).figures["bucket"] == 45_300.0
    assert (figures["burst_ops_per_s"], figures["sustained_ops_per_s"]) == (2000.0, 250.0)


def test_a_cap_for_most_of_the_load_is_what_limited_it():
    found = verdict("limit_found", CAP)
    assert (found.verdict, found.figures["limit"]) == (Holds.HOLDS, "I/O cap")
    assert (
        "The limit was a cap of 3,000 IOPS or 23.4 MB/s on reads, in force for 79 % of the load, not what" in found.why
    )
    assert "in force all the time" in verdict("limit_found", ALWAYS).why
    assert verdict("limit_found", SHORT).figures["limit"] == "storage"


def test_the_headline_does_not_pass_a_mean_of_two_levels_off_as_one():
    def of(cap):
        return headline(made.record(made.measurement(caps=CapSearch(60.0, cap))))

    assert "8 sessions, 10 % updates, not one level but a burst of 2,000 ops/s for 12.4 s, then 250 under a cap:" in of(
        CAP
    )
    assert "then 250 under a cap until that was lifted:" in of(SHORT)
    assert "not one level but 250 ops/s under a cap, then 2,000:" in of(FIRST)
    assert "level" not in of(ALWAYS)


def test_loads_of_others_are_judged_in_transactions():
    (found,) = [
        each
        for each in judge_observed(made.observed(caps=CapSearch(60.0, CAP)))
        if each.name == "level_sustained"
    ]  # fmt: skip
    assert "Burst: 2,000 transactions/s" in found.why


def test_a_lower_level_that_may_be_latency_is_told_with_both_explanations():
    found = verdict("level_sustained", EITHER)
    assert found.verdict is Holds.FAILS
    assert found.why == (
        "Not one level: 2,000 ops/s for the first 12.4 s, then 250 ops/s. A cap of 3,000 IOPS or 23.4 MB/s on reads, "
        "or reads that took longer (2.66 ms each instead of 1.02 ms): nothing that was measured tells which. It was "
        "even."
    )
    assert (found.figures["cap_known"], found.figures["refill_per_s"]) == ("either", None)
    assert "bucket" not in found.why
    text = headline(made.record(made.measurement(caps=CapSearch(60.0, EITHER))))
    assert "not one level but 2,000 ops/s for 12.4 s, then 250:" in text


def test_a_lower_level_that_a_probe_showed_to_be_latency_is_no_cap():
    found = next(
        each
        for each in judge(made.measurement(caps=CapSearch(60.0, slower=replace(EITHER, evidence=("a probe",)))))
        if each.name == "level_sustained"
    )
    assert found.verdict is Holds.FAILS
    assert "Reads took longer (2.66 ms each instead of 1.02 ms), and there was no cap: a probe." in found.why
    assert "cap" not in found.figures
    assert (found.figures["each_ms_before"], found.figures["sustained_ops_per_s"]) == (1.02, 250.0)


def test_several_levels_are_told_in_their_order():
    later = replace(CAP, cap=1000.0, held=((40.0, 60.0),), dry_at_s=40.0, sustained=replace(UNDER, ops_per_s=80.0))
    found = judge(made.measurement(caps=CapSearch(60.0, replace(CAP, held=((12.4, 40.0),)), more=[later])))
    (why,) = [each.why for each in found if each.name == "level_sustained"]
    assert why.endswith("Further levels: 80 ops/s from 40.0 s on (a cap of 1,000 IOPS or 7.81 MB/s on reads).")


@table(
    ("course", "says"),
    [
        ({"kept_pct": 88.0, "fall": (20.0, 105.0), "fall_pct": 75.0},
         "The throughput fell slowly, by 75 % from 20 s to 105 s: 52.9 % a minute."),
        ({"kept_pct": 50.0, "period_s": 20.0, "lowest": (10.0, 20.0)},
         "swings, up and down every 20 s: it was below 80 % of its 1,000 ops/s for 50 % of the time."),
        ({"kept_pct": 60.0, "lowest": (10.0, 34.0), "lowest_rate": 300.0},
         "below 80 % of its 1,000 ops/s for 40 % of the time, the longest 24 s from 10 s on at 300 ops/s."),
        ({"kept_pct": 95.0, "lowest": (10.0, 34.0)}, ""),
        ({"kept_pct": 85.0, "lowest": (10.0, 15.0)}, ""),
        ({"kept_pct": 100.0, "period_s": 20.0}, ""),
    ],
)  # fmt: skip
def test_a_load_that_was_below_its_level_for_a_part_of_the_time_did_not_keep_it(course, says):
    caps = CapSearch(60.0, course=LevelCourse(1000.0, **course))
    (found,) = [each for each in judge(made.measurement(caps=caps)) if each.name == "level_sustained"]
    assert found.verdict is (Holds.FAILS if says else Holds.HOLDS)
    assert says in found.why
    (others,) = [each for each in judge_observed(made.observed(caps=caps)) if each.name == "level_sustained"]
    assert others.verdict is Holds.HOLDS, "how much others ask for is theirs"


def test_the_headline_says_how_a_load_went_that_kept_no_level():
    def of(**course):
        caps = CapSearch(60.0, course=LevelCourse(1000.0, **course))
        return headline(made.record(made.measurement(caps=caps)))

    assert "not one level but one that fell by 75 %" in of(kept_pct=88.0, fall=(20.0, 105.0), fall_pct=75.0)
    assert "not one level but one that swings every 20 s" in of(kept_pct=50.0, period_s=20.0, lowest=(1.0, 9.0))
    assert "not one level: it was kept for 60 % of the time" in of(kept_pct=60.0, lowest=(10.0, 34.0))
