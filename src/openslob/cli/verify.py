"""`slob verify`: whether the figures of a record follow from its raw measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.analyze.operation_order import replay_faults
from openslob.cli.common_options import RESULTS
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, stoppable, write, write_report
from openslob.cli.options import with_target
from openslob.cli.progress import LiveLine, working
from openslob.core.errors import UsageError, VerdictError
from openslob.core.secrets import Address
from openslob.core.workload import Workload
from openslob.engines.patience import Patience
from openslob.engines.registry import resolve
from openslob.kinds.run import KIND as RUN
from openslob.kinds.run import runner
from openslob.kinds.verification import (
    Verification,
    open_record,
    order_of,
    render_verification,
    state_outcome,
    verification_json,
    verify,
)
from openslob.record import finding, store
from openslob.record.finding import Found
from openslob.record.model import RecordKind, RunRecord
from openslob.report.text import render

# A replay shows the order of operations: it need not take as long as the run.
LONGEST_REPLAY_S = 60.0
BUNDLE = Annotated[
    str,
    typer.Argument(
        autocompletion=records,
        metavar="BUNDLE",
        help="A file of slob export --bundle; or a record's name, id or path.",
    ),
]
REPLAY = Annotated[
    bool,
    typer.Option(
        "--replay", metavar="", help="Also make the run again on --target, with the same seed, and compare operations."
    ),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print what was found as JSON.")]


@with_target
def verify_command(
    target: Address, record: BUNDLE, replay: REPLAY = False, *, results: RESULTS, as_json: JSON = False
) -> None:
    """Derive every figure of a record again from its raw measurements, and name each that differs (exit code 3).

    Example: slob verify petals.slob.zip
    """
    with open_record(record, results, notify) as (found, opened):
        with working("deriving every figure again"):
            checked = verify(found, opened)
        replayed = _replay(found, target, results) if replay else None
    _print(checked, replayed, as_json)
    faults = [*checked.faults, *(replayed["faults"] if replayed else ())]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise VerdictError(f"{checked.id} is not what it says: {faults[0]}{more}")


def _print(checked: Verification, replayed: dict[str, Any] | None, as_json: bool) -> None:
    if as_json:
        write(json.dumps({**verification_json(checked), "replay": replayed}, indent=1, ensure_ascii=False))
        return
    lines = [render_verification(checked, columns())]
    if replayed:
        lines += ["", "REPLAY", *(f"  {line}" for line in replayed["lines"])]
    good = not checked.faults and not (replayed and replayed["faults"])
    write_report("\n".join([*lines, *(["", state_outcome(checked)] if good else [])]))


def _replay(found: Found, target: Address, results: Path) -> dict[str, Any]:
    """Make the run again on ``target``, and return what its operations are beside those of the record."""
    record = store.load(found.path) if found.kind is RUN else None
    if record is None or record.kind is not RecordKind.RUN or record.window is None:
        raise UsageError(
            f"{found.folder.name} is {finding.with_article(found.kind)}, and a replay is of one run of slob's own load",
            "export one of its runs (`slob list --points` has their ids)",
        )
    engine, _ = resolve(target.reveal())
    asked = Workload.model_validate(record.spec)
    # Keys are drawn from the begin of a session: a warm-up of another length would shift them.
    seconds = min(asked.run_time, LONGEST_REPLAY_S)
    workload = asked.model_copy(update={"warmup": 0.0, "run_time": seconds, "mode": None})
    line = LiveLine()
    with stoppable() as interrupt:
        engine.follow(Patience(interrupt, notify))
        try:
            request = runner.RunRequest(workload, f"{record.name}-replay", results)
            finished = runner.run(engine, request, interrupt, line, render)
        finally:
            line.clear()
    again = finished.record
    faults = replay_faults(order_of(found.folder, record), order_of(finished.folder, again))
    return {"id": again.id, "faults": faults, "lines": _replay_lines(record, again, faults)}


def _replay_lines(record: RunRecord, again: RunRecord, faults: list[str]) -> list[str]:
    servers = [f"{each.engine.get('product')} {each.engine.get('version')}" for each in (record, again)]
    ops = [each.summary["ops_total"].value or 0 for each in (record, again)]
    state = "; ".join(faults[:3]) or "the same kinds in the same order in every session"
    seed = record.spec.get("seed")
    keys = f"drawn by the same server's generator, {servers[0]}, from the seed {seed} of both"
    if servers[0] != servers[1]:
        keys = f"from the seed {seed} of both, but by generators of {servers[0]} and {servers[1]}, which may differ"
    return [
        f"record      {again.id}",
        f"operations  {ops[0]:,.0f} recorded, {ops[1]:,.0f} replayed: {state}",
        f"keys        {keys}",
    ]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify_command)
