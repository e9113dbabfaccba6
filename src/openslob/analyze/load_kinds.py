"""What is different in the records of runs and in those of observations: said here, for all who read both."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from openslob.core.access import AccessKind
from openslob.core.workload import CLASSES, RATE_SCHEDULE, ROWS_PER_CHURN, Loop, Mode, Workload
from openslob.metrics import (
    CHANGING,
    CHURNING,
    CONNECTING,
    METRICS,
    OBSERVED,
    OF_OWN_LOAD,
    OF_ROW_BYTES,
    PACED,
    PRICED,
    Timed,
)
from openslob.record.model import RecordKind, RunRecord

# The parameter of an observation that says what was observed.
LOAD = "load"
ALL_CLIENTS = "all that the server did"


@dataclass(frozen=True)
class LoadKind:
    """How records of one kind of load are read.

    ``unit_of_work`` is what rates are shown per, and how much of it there was per second; ``writes`` the figure that
    tells whether anything was committed; ``attachments`` what the files beside the record are. ``publishes_late``:
    sessions may publish what they counted up to a second late, at any time. The functions take a record: ``parameters``
    returns what was asked for, ``sessions`` how many sessions (0: not known), ``in_words`` the load in a few words, and
    ``figures`` the names of the figures that apply to it, known or not. ``whose`` goes before the words of a load that
    is named beside loads of the other kind.
    """

    unit_of_work: tuple[str, str]
    writes: str
    attachments: str
    publishes_late: bool
    whose: str
    parameters: Callable[[RunRecord], Mapping[str, Any]]
    sessions: Callable[[RunRecord], int]
    in_words: Callable[[RunRecord], str]
    figures: Callable[[RunRecord], list[str]]


def load_kind(record: RunRecord) -> LoadKind:
    """Return how the record is read."""
    return LOAD_KINDS[record.kind]


def is_paced(record: RunRecord) -> bool:
    """Return whether the run, or a class of its sessions, was asked for a rate."""
    if record.spec.get(CLASSES):
        return Workload.model_validate(record.spec).is_paced
    return any(record.spec.get(name) is not None for name in ("target_ops", "target_iops", RATE_SCHEDULE))


def mix_in_words(spec: Mapping[str, Any]) -> str:
    """Return the mix that a load asks for and the law of skewed keys; with classes of sessions, those of each."""
    if not spec.get(CLASSES):
        return f", {_mix_of(spec)}"
    loads = [(part.name, part.workload.to_record()) for part in Workload.model_validate(spec).parts]
    return ": " + ", ".join(f"{load['sessions']} {name} with {_mix_of(load, ' and ')}" for name, load in loads)


def _mix_of(spec: Mapping[str, Any], between: str = ", ") -> str:
    access = str(spec.get("access", ""))
    scans = [f"{spec['scan_pct']} % scans"] if spec.get("scan_pct") else []
    law = [access] if access.startswith(AccessKind.ZIPF) else []
    what = "churn" if spec.get("mode") == Mode.CHURN else "updates"
    return between.join([f"{spec.get('update_pct')} % {what}", *scans, *law])


def rows_of_update(spec: Mapping[str, Any]) -> int | None:
    """Return the rows of an update; with MODE=churn those that it deletes and inserts instead. None if not known."""
    rows = ROWS_PER_CHURN if spec.get("mode") == Mode.CHURN else spec.get("update_work_unit") or spec.get("work_unit")
    return None if rows is None else int(rows)


def is_client_loop(record: RunRecord) -> bool:
    """Return whether the client sent the operations one by one: latency then has protocol and network in it, too."""
    return record.spec.get("loop") == Loop.CLIENT


def timed_of(record: RunRecord) -> Timed:
    """Return what a latency of the run is the time of."""
    return Timed.of(record.spec)


def loop_in_words(spec: Mapping[str, Any]) -> str:
    """Return, after a comma, that the client sends the operations, and how many at once; empty if the server does."""
    timed = Timed.of(spec)
    batches = f" in batches of {timed.size}" if timed.is_batch else ""
    return f", client loop{batches}" if spec.get("loop") == Loop.CLIENT else ""


def _without(names: frozenset[str], record: RunRecord) -> list[str]:
    left_out = names if record.spec.get("price") else names | PRICED
    left_out = left_out if any(record.value(name) is not None for name in OF_ROW_BYTES) else left_out | OF_ROW_BYTES
    return [name for name in METRICS if name not in left_out]


def _sessions(record: RunRecord) -> int:
    spec = record.spec
    return int(spec.get("sessions") or spec.get("schemas", 1) * spec.get("threads_per_schema", 1))


def _run_parameters(record: RunRecord) -> Mapping[str, Any]:
    """Return what was asked for. Older records are of runs in the loop of the server, with keys that were all alike."""
    return {"loop": Loop.SERVER.value, "access": AccessKind.UNIFORM.value, "pipeline": 1, **record.spec}


def _run_in_words(record: RunRecord) -> str:
    sessions = _sessions(record)
    return f"{sessions} session{'' if sessions == 1 else 's'}{mix_in_words(record.spec)}{loop_in_words(record.spec)}"


def _run_figures(record: RunRecord) -> list[str]:
    paced = OBSERVED if is_paced(record) else OBSERVED | PACED
    left_out = paced if record.spec.get(RATE_SCHEDULE) else paced | CHANGING
    left_out = left_out if record.spec.get("mode") == Mode.CHURN else left_out | CHURNING
    return _without(left_out if record.spec.get("connect_every") else left_out | CONNECTING, record)


def _observation_in_words(record: RunRecord) -> str:
    """Return a workload, a command, or that it was whatever the server did."""
    command, workload = record.spec.get("command"), record.spec.get("workload")
    if workload:
        return f"{workload['name']}, {workload['clients']} clients, scale {workload['scale']}"
    return shlex.join(map(str, command)) if command else ALL_CLIENTS


def _observation_figures(record: RunRecord) -> list[str]:
    left_out = OF_OWN_LOAD | CHURNING
    return _without(left_out if record.spec.get("command") else left_out | {"client_cpu_per_s"}, record)


LOAD_KINDS = {
    RecordKind.RUN: LoadKind(
        unit_of_work=("per operation", "ops_per_s"),
        writes="commits_per_s",
        attachments="the server's own report",
        publishes_late=False,
        whose="slob run, ",
        parameters=_run_parameters,
        sessions=_sessions,
        in_words=_run_in_words,
        figures=_run_figures,
    ),
    RecordKind.OBSERVATION: LoadKind(
        unit_of_work=("per transaction", "transactions_per_s"),
        writes="log_syncs_per_s",
        attachments="the command's output",
        publishes_late=True,
        whose="",
        parameters=lambda record: {LOAD: _observation_in_words(record), "seconds": record.spec.get("seconds")},
        sessions=lambda _: 0,
        in_words=_observation_in_words,
        figures=_observation_figures,
    ),
}
