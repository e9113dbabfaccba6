"""Whether a level lasts, what capped it, and how the verdicts and the headline say so."""

from dataclasses import replace

import factories.measurements as made
from factories.tables import table
from openslob.analyze.verdicts import judge, judge_observed
from openslob.core.measurement import Cap, CapSearch, MeanRate
from openslob.record.model import Holds
from openslob.report.headline import headline

BURST = MeanRate(2000.0, 1900.0, 2100.0, 0.0, 12.4)
UNDER = MeanRate(250.0, 249.0, 251.0, 13.0, 60.0)
CAP = Cap("iops", "read", 3000.0, "IOPS", ((12.4, 60.0),), 12.4, None, 45_300.0, BURST, UNDER, ("it was even",), 8192)
FIRST = replace(CAP, held=((0.0, 12.4),), dry_at_s=None, lifted_at_s=12.4, bucket=None)
SHORT = replace(CAP, held=((20.0, 30.0),), dry_at_s=20.0, lifted_at_s=30.0)
ALWAYS = replace(CAP, held=((0.0, 60.0),), dry_at_s=None, burst=None)
QUOTA = replace(CAP, kind="cpu", direction="", cap=0.5, unit="CPUs", bucket=7.25, request_bytes=None)


def verdict(name, cap=None, why=""):
    caps = CapSearch(60.0, cap, why)
    return next(found for found in judge(made.measurement(caps=caps)) if found.name == name)


@table(
    ("cap", "outcome", "says"),
    [
        (None, Holds.HOLDS, "No cap came into force within 60 s. A bucket that lasts longer would not have shown."),
        (ALWAYS, Holds.HOLDS, "A cap of 3,000 IOPS (23.4 MB/s) on reads was in force all the time"),
        (CAP, Holds.FAILS, "Burst: 2,000 ops/s for the first 12.4 s, then 250 ops/s under a cap of 3,000 IOPS (23.4 "),
        (CAP, Holds.FAILS, "By then it had used 45,300 requests more than the cap gives"),
        (SHORT, Holds.FAILS, "on reads, until it was lifted at 30.0 s. By then"),
        (FIRST, Holds.FAILS, "Held back for the first 12.4 s: 250 ops/s under a cap of 3,000 IOPS (23.4 "),
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
    assert (figures["bucket"], figures["dry_at_s"], figures["lifted_at_s"]) == (45_300.0, 12.4, None)
    assert (figures["burst_ops_per_s"], figures["sustained_ops_per_s"]) == (2000.0, 250.0)


def test_a_cap_for_most_of_the_load_is_what_limited_it():
    found = verdict("limit_found", CAP)
    assert (found.verdict, found.figures["limit"]) == (Holds.HOLDS, "I/O cap")
    assert (
        "The limit was a cap of 3,000 IOPS (23.4 MB/s) on reads, in force for 79 % of the load, not what" in found.why
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
