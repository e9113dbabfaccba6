"""Every row of the fault suite: one line of error, the exit code, the record, and nothing left behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from factories.running import eventually
from faults.conftest import load
from faults.fault import Fault, Left
from faults.rows import FAULTS
from faults.scene import Outcome, Scene, told
from openslob.record import finding, store
from openslob.record.model import RunRecord, Status
from openslob.record.store import RecordEntry

CASES = [(fault, engine) for fault in FAULTS for engine in fault.engines]
# Commands whose record is one document, beside which there may be runs.
_DOCUMENTS = ("crash", "failover", "endure", "lab")
STATUS = {
    Left.FAILED: Status.FAILED, Left.KEPT: Status.FAILED, Left.STOPPED: Status.INTERRUPTED,
    Left.STOPPED_KEPT: Status.INTERRUPTED, Left.COMPLETE: Status.COMPLETE,
}  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "engine"), CASES, ids=[f"{engine or 'none'}-{fault.name}" for fault, engine in CASES]
)
def test_fault(fault: Fault, engine: str, databases, tmp_path):
    database = databases(engine) if engine else None
    if database:
        load(database)
    scene = Scene(engine, database, tmp_path)
    outcome = fault.strike(scene)
    _said(fault, engine, outcome)
    _recorded(fault, scene, outcome)
    _nothing_left(fault, scene)


def _said(fault: Fault, engine: str, outcome: Outcome) -> None:
    assert outcome.code == fault.code, outcome
    assert "Traceback" not in outcome.stderr + outcome.stdout, outcome.stderr
    if words := fault.words(engine):
        line = told(outcome)
        assert line.startswith("slob: "), outcome.stderr
        assert re.search(words, line), line


def _recorded(fault: Fault, scene: Scene, outcome: Outcome) -> None:
    if fault.left in (Left.NOT_ASKED, Left.AS_IT_WAS):
        return
    found = _records(fault, scene)
    if fault.left is Left.NONE:
        assert [entry.path for entry in found] == []
        return
    assert [entry.pid for entry in found] == [None] * len(found)
    record = found[-1].record
    assert record is not None, found[-1].problem
    assert record.status is STATUS[fault.left], record.errors
    if fault.left in (Left.FAILED, Left.KEPT):
        assert record.errors
    if fault.left in (Left.KEPT, Left.STOPPED_KEPT):
        _kept(record)
        # A run that was stopped shows its report, one that failed says where it is.
        shown = outcome.stdout if fault.left is Left.STOPPED_KEPT else outcome.stderr
        assert (f"{record.summary['ops_total'].value:,.0f}" in shown) or (str(found[-1].path) in shown)


def _records(fault: Fault, scene: Scene) -> Sequence[RecordEntry[Any]]:
    if not scene.results.exists():
        return []
    if fault.command in _DOCUMENTS:
        return [listed.entry for listed in finding.whole(finding.every(scene.results))]
    return store.find(scene.results)


def _kept(record: RunRecord) -> None:
    assert record.summary["ops_total"].value > 0
    # A session may have been stopped after an update and before its first SELECT.
    assert record.latency.get("select", {"count": 0})["count"] == record.summary["selects_total"].value
    for name, figure in record.summary.items():
        assert figure.value is not None or figure.why, f"{name} is unknown without a reason"


def _nothing_left(fault: Fault, scene: Scene) -> None:
    assert eventually(lambda: not scene.processes(), seconds=60), scene.processes()
    parts = [path for path in scene.results.rglob(".*") if path.is_file()] if scene.results.exists() else []
    assert parts == []
    if scene.given and fault.free:
        assert eventually(scene.is_free), "sessions or a lock are left in the server"
