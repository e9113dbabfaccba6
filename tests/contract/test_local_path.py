"""The local path, on every engine that has one: the same work through private memory, by the engine's own counters."""

import pytest

from factories.running import eventually
from factories.subjects import SCALE, SCAN_ROWS
from openslob.core.method import OpKind
from openslob.engines.common_checks import DATA

pytestmark = pytest.mark.server


@pytest.fixture
def local(subject):
    """The subject, if its engine has a local path; one that has none must say so before a run."""
    subject.load()  # updates of other tests may have made the tables grow
    workload = subject.workload(block_path="local")
    refused = [finding for finding in subject.engine.findings(workload) if finding.blocking]
    assert not any(finding.name == DATA for finding in refused)
    if refused:
        pytest.skip(f"this engine refuses the local path: {refused[0].why}")
    return subject


def counted_slices(subject, workload, *sizes):
    with subject.session(workload) as worked:
        delta = subject.counted(lambda: worked.slices(*sizes))
    return delta, worked.results


@pytest.mark.parametrize(("work_unit", "update_work_unit"), [(1, None), (3, 5), (64, None), (SCALE, 1)])
def test_visits_are_exact_and_all_of_them_private(local, work_unit, update_work_unit):
    workload = local.workload(
        block_path="local", update_pct=40, scan_pct=20, work_unit=work_unit, update_work_unit=update_work_unit
    )
    delta, results = counted_slices(local, workload, 30, 20, 50)
    selects, updates, scans = (
        sum(result.latency[kind].count for result in results) for kind in (OpKind.SELECT, OpKind.UPDATE, OpKind.SCAN)
    )
    assert (selects, updates, scans) == (48, 40, 12)
    read, updated = selects * work_unit, updates * (update_work_unit or work_unit)
    assert [sum(getattr(result.counts, name) for result in results) for name in ("rows_read", "rows_updated")] == [
        read,
        updated,
    ]
    assert (delta.rows_read, delta.rows_updated) == (read + updated, updated)
    assert delta.private_visits >= read + updated + scans * SCAN_ROWS
    assert delta.shared_visits == 0


def test_reads_count_each_block_once(local):
    """Selects alone: a row is a block, a block is a visit."""
    delta, _ = counted_slices(local, local.workload(block_path="local", work_unit=16), 50)
    assert delta.private_visits == delta.rows_read == 50 * 16
    assert delta.logical_reads >= delta.private_visits


def test_the_counters_of_a_finished_slice_are_there_at_once(local):
    with local.session(local.workload(block_path="local", work_unit=2)) as worked:
        for size in (10, 40, 1):
            delta = local.counted(lambda size=size: worked.slices(size))
            assert delta.private_visits == delta.rows_read == 2 * size


def test_the_tables_go_with_their_session(local):
    before = local.engine.data.table_blocks()
    with local.session(local.workload(block_path="local")):
        assert local.engine.data.table_blocks() == before + SCALE
    # A session that was closed is gone from the server soon, not at once.
    assert eventually(lambda: local.engine.data.table_blocks() == before)


def test_the_shared_path_is_as_it_was(subject):
    delta, _ = counted_slices(subject, subject.workload(work_unit=16), 50)
    assert delta.private_visits == 0
    assert delta.rows_read == 50 * 16
    assert delta.shared_visits == (None if "shared_visits" in subject.unknown else 50 * 16)
