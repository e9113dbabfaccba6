"""What a measurement knows beside its rows is kept without a list of it, and put back as it was."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.measurements import measurement
from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, Slow
from openslob.core.measurement import (
    EngineDelta,
    HostDelta,
    Instance,
    Measurement,
    ObjectIo,
    OtherSessions,
    Schedule,
    TimedWait,
    WaitClass,
    Window,
)  # fmt: skip
from openslob.core.method import OpKind
from openslob.record import facts
from openslob.record.facts import FORMAT, FactsRecord, beside, complete

WHOLE = st.integers(0, 10**6).map(float)
NUMBERS = st.one_of(st.none(), WHOLE)
NAMES = st.sampled_from(["a", "0", "read latency.p99", "client backend/relation"])
WAITS = st.builds(
    TimedWait, NAMES, st.sampled_from(WaitClass), WHOLE, WHOLE,
    st.one_of(st.none(), st.dictionaries(st.tuples(st.integers(0, 9), st.integers(10, 19)), st.integers(0, 9))),
)  # fmt: skip
DELTAS = st.builds(
    EngineDelta, read_requests=NUMBERS, commits=NUMBERS, timed_waits=st.lists(WAITS, max_size=2),
    by_object=st.dictionaries(NAMES, st.builds(ObjectIo, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS), max_size=2),
    unknown=st.dictionaries(NAMES, NAMES, max_size=2), server_wide=st.frozensets(NAMES),
    others=st.dictionaries(NAMES, WHOLE, max_size=2),
)  # fmt: skip


def plain(measured: Measurement) -> dict[str, object]:
    return {each.name: facts.to_plain(getattr(measured, each.name)) for each in fields(measured)}


def kept(measured: Measurement, derived: Measurement) -> FactsRecord:
    """The facts as they are after they were written and read."""
    more, less = beside(measured, derived)
    made = FactsRecord(rules_version=1, given={}, measured=tuple(more), unmeasured=tuple(less))
    return FORMAT.parse(json.loads(json.dumps(made.model_dump(mode="json"))), "facts.json")


@given(DELTAS, DELTAS, st.lists(DELTAS, max_size=2), st.dictionaries(NAMES, st.integers(0, 9), max_size=2))
def test_rows_and_facts_together_are_the_measurement(counted, rows_say, instances, seen):
    derived = replace(measurement(), engine=rows_say)
    known = replace(
        derived, engine=counted, others=OtherSessions(seen, 9, {"commits": 0.5}),
        instances=[Instance(str(number), False, [number], 0, each) for number, each in enumerate(instances)],
        schedule=Schedule(1.0, 2.0, 3.0, Histogram({3: 4}, 5.0, 6.0)), slowest={OpKind.SELECT: [Slow(1.5, 0, 1, 2)]},
        host=HostDelta(1.0, 2, unknown={"*": "why"}), window=Window(1, 2, 3.0, None, 0.0, 1.0), errors=("e",),
    )  # fmt: skip
    assert plain(complete(derived, kept(known, derived))) == plain(known)


def test_what_rows_say_is_not_kept_again():
    measured = measurement()
    same = replace(measured, window=replace(measured.window), sessions=[replace(each) for each in measured.sessions])
    assert beside(same, measured) == ([], [])


def test_facts_that_fit_no_measurement_are_damaged():
    derived = measurement()
    for path in (("no_such_part",), ("engine", "no_such_counter"), ("window", "load_end_ns")):
        broken = FactsRecord(rules_version=1, given={}, measured=((path, "x"),))
        with pytest.raises(SlobError, match=r"facts\.json is damaged"):
            complete(derived, broken)
