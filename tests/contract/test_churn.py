"""Rows that come and go: each operation replaces the row at the next key of the session's ring, and is counted."""

from contextlib import contextmanager

import pytest

from factories.subjects import SCALE, SPEC
from openslob.core.access import Ring
from openslob.core.method import OpKind

pytestmark = pytest.mark.server
# Oracle's loop does not have it.
NOT_ON = ("oracle-rig",)
# What must be so of a table whose rows were replaced; it may be larger, and no longer as a vacuum leaves it.
KEPT = {"rows", "lowest key", "highest key", "rows in the fullest block", "filler rows", "rows out of their order"}


@pytest.fixture(scope="module", autouse=True)
def as_loaded(subject):
    """The tables as they were for the tests that follow."""
    yield
    subject.engine.data.drop()
    subject.load()


def churn(subject, **parameters):
    return subject.workload(mode="churn", sessions=4, **parameters)


def written(subject, tag):
    """The keys of the rows with a text that a session with this tag wrote."""
    rows = subject.ask("SELECT custid, c2, c20 FROM slob.cf1_1 WHERE custid IS NOT NULL")
    return {key for key, *texts in rows if all(tag in text for text in texts)}


@contextmanager
def loader(subject):
    with subject.engine.querying() as connection:
        yield connection, subject.engine.data.prepare(connection, SPEC, 1)


def test_each_operation_replaces_the_next_row_of_the_ring_and_the_rest_stays(subject):
    workload = churn(subject)
    with subject.session(workload, number=2, tag="ring") as worked:
        worked.slices(1, 7, 30)
        worked.slices(62)
    for result in worked.results:
        counts = result.counts
        assert counts.rows_inserted == counts.rows_deleted == counts.updates == counts.ops
        assert counts.rows_updated == 0
        assert counts.bytes_inserted > 1000 * counts.ops
    ring = Ring.of_session(SCALE, 1, 2)
    # Getting ready takes one, before all others.
    assert written(subject, "ring") == {ring.key_of(number) for number in range(-1, 100)}
    with loader(subject) as (connection, load):
        (table,) = (each for each in load.tables if each.name == "cf1_1")
        checks = [check for check in load.checks(connection, table) if check.name in KEPT]
    assert len(checks) >= 4
    assert [check for check in checks if not check.holds] == []


def test_the_engine_counts_as_many_rows_and_what_they_leave_behind(subject):
    workload = churn(subject)
    with subject.session(workload) as worked:
        delta = subject.counted(lambda: worked.slices(200, 100))
    assert delta.rows_inserted_or_deleted == 600
    assert delta.rows_read == 300
    assert delta.rows_updated in (0, None)
    assert delta.table_bytes >= 0
    left = delta.purge_lag if delta.dead_rows is None else delta.dead_rows
    assert left is not None
    assert left <= 300


def test_a_run_that_is_no_churn_reads_none_of_these_counters(subject):
    with subject.session(subject.workload(update_pct=50)) as worked:
        delta = subject.counted(lambda: worked.slices(20))
    assert (delta.rows_inserted_or_deleted, delta.table_bytes, delta.dead_rows, delta.purge_lag) == (None,) * 4


def test_selects_beside_it_find_every_row(subject):
    workload = churn(subject, update_pct=50, work_unit=8)
    with subject.session(workload) as worked:
        worked.slices(50, 50)
    for result in worked.results:
        assert result.latency[OpKind.SELECT].count == result.counts.rows_deleted == 25
        assert result.counts.rows_read == 25 * 8


def test_the_plan_finds_the_row_by_the_index(subject):
    with subject.session(churn(subject)) as worked:
        plans = worked.session.plans()
    assert set(plans) == {"update"}
    assert "ndex" in plans["update"]
