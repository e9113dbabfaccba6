"""A probe after a window: who rests when, and what is counted."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.tables import table
from openslob.core.counts import SliceCounts
from openslob.core.units import NANOS
from openslob.core.workload import Workload
from openslob.engines.base import SliceResult
from openslob.kinds.run.probing import (
    MOST_PART_S,
    PART_S,
    PARTS,
    PAUSE_S,
    ProbeCounts,
    ProbePhase,
    SingleCounts,
    SinglePhase,
    can_probe,
    part_seconds,
    rests,
)
from openslob.kinds.run.worker import SliceDone
from openslob.record.raw_csv import ProbePart, parse_probe

BEGIN_NS = 1_700_000_000 * NANOS
SESSIONS = st.integers(2, 300)


def phase(part_s=PART_S):
    return ProbePhase.beginning_at(BEGIN_NS, part_s)


@given(SESSIONS)
def test_some_sessions_rest_and_most_do_not(sessions):
    resting = sum(rests(session, sessions) for session in range(sessions))
    assert 1 <= resting <= max(1, sessions / 2)
    if sessions >= 4:
        assert sessions / 8 < resting <= sessions / 4


@given(SESSIONS, st.floats(PART_S, MOST_PART_S), st.data())
def test_a_session_works_in_all_parts_or_in_every_other(sessions, part_s, data):
    session, probe = data.draw(st.integers(0, sessions - 1)), phase(part_s)
    spans = list(probe.slices(session, sessions))
    worked = {(begin - BEGIN_NS) // probe.part_ns for begin, _ in spans}
    assert worked == ({0, 2, 4} if rests(session, sessions) else set(range(PARTS)))
    assert all(begin < until <= begin + probe.part_ns for begin, until in spans)
    assert all(before < after for (_, before), (_, after) in pairwise(spans))
    for part in worked:
        assert max(until for begin, until in spans if (begin - BEGIN_NS) // probe.part_ns == part) == (
            BEGIN_NS + (part + 1) * probe.part_ns
        )
    assert probe.end_ns == BEGIN_NS + PARTS * probe.part_ns


def done(session, begin_s, end_s, ops):
    result = SliceResult(
        BEGIN_NS + round(begin_s * NANOS), BEGIN_NS + round(end_s * NANOS), None, SliceCounts(ops=ops), {}
    )
    return SliceDone(session, 0, 0, result)


def test_what_was_done_is_counted_in_the_later_two_thirds_of_each_part_but_the_first():
    counts = ProbeCounts(phase(3.0), 8)
    for session in range(8):
        for part in range(PARTS):
            if part % 2 == 0 or session % 4 != 3:
                # 300 operations a second; one slice begins before what is counted.
                counts.handle(done(session, 3 * part, 3 * part + 2, 600))
                counts.handle(done(session, 3 * part + 2, 3 * part + 3, 300))
    assert [(part.active, part.sessions, part.seconds) for part in counts.parts()] == [
        (6, 8, 2.0), (8, 8, 2.0), (6, 8, 2.0), (8, 8, 2.0),
    ]  # fmt: skip
    assert [part.ops for part in counts.parts()] == pytest.approx([3600, 4800, 3600, 4800])


@given(SESSIONS, st.data())
def test_one_session_does_a_single_operation_after_a_pause(sessions, data):
    single = SinglePhase.after(BEGIN_NS)
    assert (single.begin_ns - BEGIN_NS, single.max_ops) == (PAUSE_S * NANOS, 1)
    assert {begin for begin, _ in single.slices(0, sessions)} == {single.begin_ns}
    assert list(single.slices(data.draw(st.integers(1, sessions - 1)), sessions)) == []


def test_single_operations_are_as_long_as_the_middle_one():
    singles = SingleCounts(8)
    assert singles.parts() == []
    for took_s, ops in ((0.01, 1), (0.5, 1), (0.02, 1), (0.3, 0)):
        singles.handle(done(0, 1.0, 1.0 + took_s, ops))
    (part,) = singles.parts()
    assert part[:2] + part[3:] == (1, 8, 3, True)
    assert part.seconds == pytest.approx(0.06)


@table(("mean_s", "part_s"), [(0.001, PART_S), (1.0, 6.0), (60.0, MOST_PART_S)])
def test_a_part_is_as_long_as_some_operations(mean_s, part_s):
    assert part_seconds(mean_s) == part_s


@table(
    ("load", "can"),
    [
        ({"sessions": 2}, True),
        ({"sessions": 1}, False),
        ({"sessions": 8, "target_ops": 100}, False),
        ({"sessions": 8, "work_loop": 100}, False),
        ({"sessions": 8, "think_tm_frequency": 10}, False),
    ],
)
def test_a_load_is_probed_if_its_rate_is_what_its_sessions_can_do(load, can):
    assert can_probe(Workload(schemas=1, **load)) is can


@given(st.integers(1, 99), st.integers(0, 99), st.floats(0.1, 100), st.floats(0, 1e9), st.booleans())
def test_a_part_is_read_back_as_it_was_written(active, resting, seconds, ops, alone):
    part = ProbePart(active, active + resting, seconds, ops, alone)
    read = parse_probe(part.text)
    assert (*read[:2], read.alone) == (*part[:2], part.alone)
    assert read[2:4] == pytest.approx(part[2:4], abs=0.06)


@table("text", ["3/4 1 2 apart", "", "3/4 1.0", "0/4 1 2", "5/4 1 2", "3/4 0 2", "3/4 1 -2", "3/4 x 2", "a/4 1 2"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(ValueError):
        parse_probe(text)
