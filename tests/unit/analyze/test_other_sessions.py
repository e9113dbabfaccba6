"""What is left of a measurement beside other sessions' load, and what counts as such."""

from __future__ import annotations

from dataclasses import replace

from factories import measurements as made
from factories.tables import table
from openslob.analyze.build_record import io_by_object
from openslob.analyze.other_sessions import BESIDE, has_worked, ours_alone, shares_pct
from openslob.analyze.verdicts import judge
from openslob.core.measurement import EngineDelta, Instance, ObjectIo, OtherSessions
from openslob.metrics import summary
from openslob.metrics.waits import top_events
from openslob.record.model import Holds

LOADED = OtherSessions({"app in erp (reports)": 100}, 200)


@table(
    ("seen", "samples", "shares", "expected"),
    [
        (None, 0, {}, None),
        ({}, 0, {}, None),
        ({}, 20, {}, False),
        # One sample of a short run may be of a query of a moment.
        ({"a": 2}, 20, {}, False),
        ({"a": 2, "b": 1}, 20, {}, True),
        # Monitoring: 5 % of one session's time.
        ({"a": 10}, 200, {}, False),
        ({"a": 11}, 200, {}, True),
        ({}, 20, {"commits": 1.9}, False),
        ({}, 20, {"commits": 2.1}, True),
        (None, 0, {"commits": 2.1}, True),
    ],
)
def test_what_is_a_load(seen, samples, shares, expected):
    assert has_worked(OtherSessions(seen, samples, shares)) is expected


@table(
    ("seen", "hidden", "expected"),
    [
        # A session that was hidden for a part of the window may have worked then.
        ({}, 100, None),
        ({}, 11, None),
        ({}, 10, False),
        ({"a": 3}, 190, None),
        ({"a": 11}, 190, True),
    ],
)
def test_sessions_that_could_not_be_seen_may_have_worked(seen, hidden, expected):
    assert has_worked(OtherSessions(seen, 200, hidden=hidden)) is expected


def test_of_few_samples_two_prove_nothing_where_others_are_hidden():
    assert has_worked(OtherSessions({"a": 2}, 20, hidden=18)) is None


def test_shares_of_what_the_engine_counts():
    counted = EngineDelta(
        logical_reads=900_000.0,
        read_requests=0.0,
        log_syncs=1000.0,
        rows_read=None,
        others={"logical_reads": 300_000.0, "read_requests": 5000.0, "log_syncs": 900.0, "rows_read": 1e9},
        server_wide=frozenset({"log_syncs"}),
    )
    assert shares_pct(counted, 10.0) == {"logical_reads": 25.0, "read_requests": 100.0, "log_syncs": 90.0}
    # The same amounts in more time are what monitoring does.
    assert shares_pct(counted, 1000.0) == {}
    assert shares_pct(counted, 0.0) == {}


def beside_others(**overrides):
    counted = {"server_wide": frozenset({"log_syncs", "write_requests", "log", "IO:WalSync"}), **overrides}
    return ours_alone(made.measurement(engine=made.engine(**counted), others=LOADED))


def test_what_counts_others_too_is_unknown_everywhere():
    log = ObjectIo(None, 1.0, 2.0, 3.0, None)
    objects = {**made.engine().by_object, "log": log}
    measured = beside_others(by_object=objects, by_instance=(made.engine(server_wide=frozenset({"log_syncs"})),))
    figures = summary(measured)
    for name in ("log_syncs_per_s", "pio_write_per_s", "db_cpu_per_s", "iops_per_db_cpu"):
        assert figures[name].value is None
        assert BESIDE in figures[name].why
    assert figures["pio_read_per_s"].value is not None
    assert figures["redo_mb_per_s"].value is not None
    assert set(io_by_object(measured)) == {"table"}
    assert measured.engine.by_instance[0].log_syncs is None
    assert next(row for row in top_events(measured) if row.event == "IO:DataFileRead").mean_us == made.READ_US


def test_cpu_and_waits_for_it_are_those_of_all_processes():
    host = ours_alone(made.measurement(host=made.host(server_runqueue_s=9.0), others=LOADED)).host
    for name in ("server_cpu_s", "server_runqueue_s"):
        assert getattr(host, name) is None
        assert "of all its processes" in host.unknown[name]


def test_reads_of_the_whole_server_are_those_of_no_instance():
    instance = Instance("a", False, (0,), 0, made.engine(server_wide=frozenset({"read_requests"})))
    whole = made.engine(server_wide=frozenset({"read_requests", "IO:DataFileRead"}))
    measured = made.measurement(engine=whole, others=LOADED, instances=(instance,))
    assert ours_alone(measured).instances[0].engine.read_requests is None
    assert ours_alone(measured).engine.timed_waits == []
    assert ours_alone(replace(measured, others=OtherSessions({}, 20))) == replace(
        measured, others=OtherSessions({}, 20)
    )


def test_the_limit_is_unknown_but_a_rate_that_was_reached():
    found = {verdict.name: verdict for verdict in judge(beside_others())}
    assert found["limit_found"].verdict is Holds.UNKNOWN
    assert found["limit_found"].figures["limit"] is None
    paced = {each.name: each for each in judge(made.measurement(schedule=made.schedule(), others=LOADED))}
    assert paced["limit_found"].verdict is Holds.HOLDS
