"""Whether slices have the operations that the seed says, against the method itself, operation by operation."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factories.records import physical
from factories.slices import COLUMNS_OF_SLICES, lines
from openslob.analyze.operation_order import OperationOrder, replay_faults
from openslob.core.method import OpKind, kind_of, phases_of, share_done
from openslob.record.model import RunRecord

SHARES = st.integers(0, 100)


def made(update_pct: int = 0, scan_pct: int = 0, warmup_s: float = 0.0, work_loop: int = 0, seed: int = 1) -> RunRecord:
    record = physical()
    assert record.window is not None
    spec = {**record.spec, "update_pct": update_pct, "scan_pct": scan_pct, "work_loop": work_loop, "seed": seed}
    window = record.window.model_copy(update={"warmup_s": warmup_s})
    return record.model_copy(update={"spec": spec, "window": window})


def ordered(record: RunRecord, *parts: list[dict[str, Any]]) -> OperationOrder:
    order = OperationOrder(record)
    for part in filter(None, parts):
        order.take(COLUMNS_OF_SLICES, lines(part))
    return order


def slices_of(record: RunRecord, lengths: list[int], sessions: int = 2, after: int = 0) -> list[dict[str, Any]]:
    """Slices of so many operations, those of the sessions in turn; so many operations were done before."""
    spec, rows = record.spec, []
    for session in range(sessions):
        phases, number = phases_of(spec["seed"], session, 0, 0, 0), after
        for place, length in enumerate(lengths):
            kinds = [kind_of(number + each, spec["update_pct"], spec["scan_pct"], phases) for each in range(length)]
            counts = {f"{kind}s": kinds.count(kind) for kind in OpKind}
            rows.append((place, {"session": session, "slice": place, "ops": length, **counts}))
            number += length
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


@given(
    SHARES, SHARES, st.integers(0, 2**31 - 1), st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(1, 5)
)
def test_sessions_that_keep_to_the_method_have_no_fault(
    update_pct: int, scan_pct: int, seed: int, lengths: list[int], part: int
) -> None:
    record = made(update_pct, scan_pct, seed=seed)
    rows = slices_of(record, lengths)
    assert ordered(record, *(rows[at : at + part] for at in range(0, len(rows), part))).faults() == []


@given(st.integers(0, 9), st.integers(1, 5))
def test_a_slice_of_another_session_is_found(moved: int, part: int) -> None:
    record = made()
    rows = slices_of(record, [3] * 10)
    rows[2 * moved] |= {"session": 1}
    found = ordered(record, *(rows[at : at + part] for at in range(0, len(rows), part))).faults()
    assert found == ["the slices of session 1 do not follow each other"]


@given(SHARES, SHARES, st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300)), min_size=1))
def test_faults_are_those_of_each_slice_by_the_formula(
    update_pct: int, scan_pct: int, slices: list[tuple[int, int, int]]
) -> None:
    for warmup_s in (0.0, 1.0):
        record = made(update_pct, scan_pct, warmup_s)
        rows = [
            {"session": 3, "slice": place, "ops": ops, "updates": updates, "scans": scans}
            for place, (ops, updates, scans) in enumerate(slices)
        ]
        ops, updates, scans = (list(accumulate(each)) for each in zip(*slices, strict=True))
        phases = phases_of(1, 3, 0, 0, 0)
        expected = []
        for kind, numbers, done, percent, phase in (
            ("update", ops, updates, update_pct, phases.update),
            ("scan", [o - u for o, u in zip(ops, updates, strict=True)], scans, scan_pct, phases.scan),
        ):
            begins = range(100) if warmup_s else (phase,)
            pairs = list(zip(numbers, done, strict=True))
            if not any(all(share_done(n, percent, begin) == of for n, of in pairs) for begin in begins):
                expected.append(f"session 3 did not {kind} when its seed says")
        assert ordered(record, rows[:1], rows[1:]).faults() == expected


def test_a_warm_up_shifts_the_order_and_nothing_else() -> None:
    cold, warm = made(20, 10), made(20, 10, warmup_s=2.0)
    rows = slices_of(cold, [13, 40, 40, 7], after=37)
    assert ordered(cold, rows).faults() != []
    assert ordered(warm, rows).faults() == []


@pytest.mark.parametrize("kind", ["update", "scan"])
def test_one_operation_of_another_kind_is_found_in_its_session(kind: str) -> None:
    record = made(20, 10)
    rows = slices_of(record, [50] * 8)
    rows[9][f"{kind}s"] += 1
    rows[9]["selects"] -= 1
    assert f"session 1 did not {kind} when its seed says" in ordered(record, rows).faults()


def done(ops: int, updates: int = 0) -> list[dict[str, Any]]:
    selects = ops - updates
    rows = {"rows_read": 64 * selects, "rows_updated": 64 * updates}
    return [{"session": 0, "ops": ops, "selects": selects, "updates": updates, **rows}]


def test_a_replay_that_ended_by_time_did_as_far_as_it_went_what_the_run_did() -> None:
    run = made(work_loop=1000)
    assert replay_faults(ordered(run, done(1000)), ordered(run, done(400))) == []
    assert replay_faults(ordered(run, done(400)), ordered(run, done(1000))) == []
    other = done(1000)
    other[0]["rows_read"] -= 64
    (fault,) = replay_faults(ordered(run, done(1000)), ordered(run, other))
    assert "63,936 rows" in fault
    (fault,) = replay_faults(ordered(run, done(1000)), ordered(run))
    assert fault == "the replay did no operation"


def test_a_warm_up_may_shift_how_many_operations_of_a_run_are_updates() -> None:
    warm, cold = made(25, work_loop=150, warmup_s=2.0), made(25, work_loop=150)
    (own,) = {updates for updates in (37, 38) if not ordered(cold, done(150, updates)).faults()}
    assert replay_faults(ordered(warm, done(150, 75 - own)), ordered(cold, done(150, own))) == []
    whole, again = made(25, work_loop=200, warmup_s=2.0), made(25, work_loop=200)
    less = done(200, 50)
    less[0]["rows_read"] -= 64
    assert len(replay_faults(ordered(whole, done(200, 50)), ordered(again, less))) == 1
