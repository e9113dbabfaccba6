"""`slob crash`: a server crashes again and again under commits, and every acknowledged commit is looked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from openslob.cli.common_options import (
    ALL,
    DURATION,
    MEASUREMENT_NAME,
    RECORD_JSON,
    REQUIRE,
    RESULTS,
    at_least,
    require_known,
    require_verdicts,
)
from openslob.cli.console import notify, stoppable, write_record
from openslob.core import rehearsal
from openslob.core.errors import SlobError, VerdictError
from openslob.durability.cut import Fault, Files, Survival
from openslob.engines import registry
from openslob.kinds.crash.execute import CrashRequest, execute
from openslob.kinds.crash.figures import CAUGHT, KEEPS, WHOLE
from openslob.kinds.crash.record import CrashCycle, CrashMethod, CrashRecord
from openslob.kinds.crash.report import crash_document, cycle_line
from openslob.record.model import Holds, Status


class Kinds(StrEnum):
    """The kinds of crashes of a proof."""

    KILL = "kill"
    CUT = "cut"
    BOTH = "both"


class Survive(StrEnum):
    """What a cut leaves of that which was not synced."""

    NOTHING = "nothing"
    RANDOM = "random"


_KINDS = {
    Kinds.KILL: (CrashMethod.KILL,), Kinds.CUT: (CrashMethod.CUT,), Kinds.BOTH: (CrashMethod.KILL, CrashMethod.CUT),
}  # fmt: skip
_SURVIVAL: Mapping[Survive, Survival] = {Survive.NOTHING: "nothing", Survive.RANDOM: "random"}
_MOST_SESSIONS = 256

KIND = Annotated[
    Kinds,
    typer.Option(
        help="kill: all processes at once (SIGKILL); cut: the storage loses unsynced writes, too (needs FUSE); both: "
        "in turn."
    ),
]
CYCLES = Annotated[
    int, typer.Option(metavar="N", min=1, max=100_000, callback=rehearsal.repeats, help="Number of crashes.")
]
SESSIONS = Annotated[int, typer.Option(metavar="N", min=1, max=_MOST_SESSIONS, help="Sessions that commit.")]
ROWS = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=1,
        max=10_000,
        help="Rows of each session, one or two to a block; more than fit into the cache are written all the time.",
    ),
]
ENGINE = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE", help=f"Database of the server that is made: {', '.join(registry.managed_engines())}."
    ),
]
VERSION = Annotated[str | None, typer.Option(metavar="N", help="Major version of the server that is made.")]
SERVER = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A managed server to crash. Without it, one is made; --kind kill only."),
]
CONTROL = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Make the server unsafe on purpose, to see it caught: lying-disk, or one of `slob help durability`.",
    ),
]
SURVIVE = Annotated[
    Survive,
    typer.Option(
        help="What a cut leaves of unsynced writes: nothing, or a random part with torn pages, as of a disk that was "
        "writing."
    ),
]
FAULT = Annotated[
    Fault | None,
    typer.Option(
        help="Let the storage fail first: eio-read, eio-write, fsync-once, enospc, stall, torn-write, unplugged."
    ),
]
FAULT_FOR = Annotated[
    float | None,
    typer.Option(
        parser=at_least(0.1, 120), metavar=DURATION, show_default="3s", help="How long the fault lasts, if not once."
    ),
]
FAULT_ON = Annotated[
    Files | None,
    typer.Option(help="Files of the fault: tables and indexes, the rest (the log), or all; default: each in turn."),
]
SEED = Annotated[int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Seed of the times of the crashes.")]


def crash(
    kind: KIND = Kinds.KILL,
    cycles: CYCLES = 10,
    sessions: SESSIONS = 8,
    rows: ROWS = 256,
    engine: ENGINE = None,
    version: VERSION = None,
    server: SERVER = None,
    control: CONTROL = None,
    survive: SURVIVE = Survive.NOTHING,
    fault: FAULT = None,
    fault_for: FAULT_FOR = None,
    fault_on: FAULT_ON = None,
    seed: SEED = 1,
    name: MEASUREMENT_NAME = "crash",
    *,
    results: RESULTS,
    require: REQUIRE = None,
    whole: ALL = False,
    as_json: RECORD_JSON = False,
) -> None:
    """Prove that acknowledged commits survive: crash a server under load, recover it, look for each of them.

    Example: slob crash --kind both --cycles 100
    """
    require_known(require or (), (KEEPS, WHOLE, *([CAUGHT] if control else [])))
    request = CrashRequest(
        _KINDS[kind], cycles, sessions, rows, seed, name, results, engine, server, version, control, _SURVIVAL[survive],
        fault, fault_for, fault_on,
    )  # fmt: skip
    with stoppable() as interrupt:
        record, folder = execute(request, interrupt, notify, _teller(cycles))
    write_record(record, folder, as_json, whole, crash_document)
    _require(record, require or ())


def _teller(cycles: int) -> Callable[[CrashCycle], None]:
    """Return what prints a line for each cycle."""
    width = len(str(cycles))

    def tell(cycle: CrashCycle) -> None:
        line = f"{cycle.number:>{width}} of {cycles}: {cycle_line(cycle)}"
        notify(line)

    return tell


def _require(record: CrashRecord, required: Sequence[str]) -> None:
    """Raise the error with the exit code: 1 if it was stopped, 3 if it found a loss, 4 if it could find none.

    A control that was not crashed often enough is no error.
    """
    if record.status is not Status.COMPLETE:
        raise SlobError("the proof was stopped before its end; its record says interrupted")
    require_verdicts(record.verdicts, required if record.control else [KEEPS, WHOLE, *required])
    for verdict in record.verdicts if record.control else ():
        if verdict.name == CAUGHT and verdict.verdict is Holds.FAILS:
            raise VerdictError(f"verdict {verdict.name} fails: {verdict.why}")
