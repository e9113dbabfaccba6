"""The record of a proof of durability, `crash.json`: a server that crashed again and again, and what it kept.

It is a folder, ``results/<time>-<name>/``, with `crash.json`, and with the driver's ledger of each cycle in which
something was lost or damaged. The file is replaced as a whole after every cycle.

History of the format, newest first:
  3  faults of storage: how they met the server, and what it did.
  2  whether a cycle crashed in a checkpoint or in recovery, and the pages that it left torn.
  1  first version.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from openslob.record.model import DocumentWithFigures, Figure, RecordModel, Status, Verdict
from openslob.record.parts import Asked, Environment
from openslob.record.store import UNFINISHED, DocumentFolder
from openslob.record.versions import Format, take_defaults

CRASH_VERSION = 3
CRASH_FILE = "crash.json"


class CrashMethod(StrEnum):
    """How a server crashes: all of its processes are killed, or its storage is cut off at the same moment, too."""

    KILL = "kill"
    CUT = "cut"


class ServerDid(StrEnum):
    """What a server did under a fault of its storage, as far as it can be seen from outside.

    ENDS: its main process is gone. HANGS: it acknowledges nothing after the fault, and reports no error; REFUSES: it
    acknowledges nothing, and reports errors. The others acknowledge commits again: RESTARTS: all of its processes but
    the main one are new. REPORTS: clients saw errors. GOES_ON: no client saw one.
    """

    GOES_ON = "goes_on"
    REPORTS = "reports"
    RESTARTS = "restarts"
    ENDS = "ends"
    HANGS = "hangs"
    REFUSES = "refuses"


class CycleFault(RecordModel):
    """A fault of storage before the crash: ``name``, on which ``files``, for ``seconds`` (None: no time was asked for).

    ``met`` counts the requests of the server that met it, ``first`` is the first of them. None met it if it is 0: the
    cycle says nothing of the fault then. ``did`` is what the server did.

    ``client_errors`` counts what failed for sessions, operations and connections, until the fault was over; ``said``
    has these errors, ``log`` what the server's log complained of, each once. ``checkpoint`` and ``checkpoint_after``
    are the server's complaints about a checkpoint under the fault and one after it; empty: it was made, None: it was
    not asked for. ``answered_s`` is how long after the fault the next operation was acknowledged; None: none was.
    """

    name: str
    files: str
    seconds: float | None = None
    met: int = 0
    first: str = ""
    did: ServerDid
    client_errors: int = 0
    said: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    checkpoint: str | None = None
    checkpoint_after: str | None = None
    answered_s: float | None = None


class LostCommit(RecordModel):
    """An operation that was acknowledged and is not there; ``age_ms``: acknowledged so long before the crash."""

    session: int
    number: int
    key: int
    age_ms: float


class CrashCycle(RecordModel):
    """One crash, numbered from 1.

    ``acked`` operations were acknowledged in ``load_s`` seconds, ``in_doubt`` were sent without an answer, and
    ``doubtful_there`` of these are there. ``lost`` counts the acknowledged ones that are not there, ``lost_operations``
    has the first of them, ``oldest_lost_ms`` how long before the crash the first one was acknowledged. ``faults`` and
    ``damage`` have one line each. ``recovery_s`` is from the order to start until the first query was answered; None:
    the server did not recover, ``why`` says why. ``compared`` is false if its data could not be read.
    ``ledger`` is the file of the driver's ledger, kept if anything is wrong.

    ``in_checkpoint``: the server was making a checkpoint when it crashed. ``recovery_crashes`` counts further crashes
    of the same kind, each while it recovered. ``torn_pages`` are the pages of tables and indexes that all of these cuts
    left neither as they were nor as written; None where nothing was cut off. These are None in older records.
    ``fault`` is the fault of storage that came before the crash, if one was asked for.
    """

    number: int
    kind: CrashMethod
    load_s: float
    acked: int = 0
    in_doubt: int = 0
    doubtful_there: int = 0
    lost: int = 0
    lost_operations: tuple[LostCommit, ...] = ()
    oldest_lost_ms: float | None = None
    faults: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    recovery_s: float | None = None
    compared: bool = False
    why: str = ""
    ledger: str | None = None
    in_checkpoint: bool | None = None
    recovery_crashes: int | None = None
    torn_pages: int | None = None
    fault: CycleFault | None = None

    @property
    def is_clean(self) -> bool:
        """Whether the server recovered with all that it had acknowledged, and nothing else."""
        return self.compared and not (self.lost or self.faults or self.damage)

    @property
    def is_tested(self) -> bool:
        """Whether the fault that was asked for met the server; true where none was asked for."""
        return self.fault is None or self.fault.met > 0


class CrashControl(RecordModel):
    """What made the server or its storage unsafe on purpose.

    ``may_lose_nothing`` says by kind of crash why nothing may be lost all the same; another kind must lose commits.
    """

    name: str
    settings: str = ""
    may_lose_nothing: Mapping[str, str] = Field(default_factory=dict)


class CrashRecord(DocumentWithFigures):
    """The request of a proof, the server, and each cycle.

    ``asked`` has the parameters of the command; ``server`` has facts: ``name``, ``product``, ``version``, ``settings``
    and others; ``guards`` is what damage was looked for with, ``storage`` what a cut drops. ``control`` is None for the
    proof itself.
    """

    crash_version: int = CRASH_VERSION
    kind: str = "crash"
    id: str
    name: str
    status: Status
    started_at: str
    openslob_version: str
    asked: Asked
    environment: Environment
    server: Mapping[str, Any] = Field(default_factory=dict)
    guards: tuple[str, ...] = ()
    storage: str = ""
    control: CrashControl | None = None
    cycles: tuple[CrashCycle, ...] = ()
    summary: Mapping[str, Figure] = Field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def keep_distinct(texts: Iterable[str], most: int = 20) -> tuple[str, ...]:
    """Return the first texts; of those that differ in numbers alone, one."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(re.sub(r"\d+", "0", text), text)
    return tuple(found.values())[:most]


class CrashFolder(DocumentFolder[CrashRecord]):
    """The folder of a proof while it is in progress."""

    form = Format(
        CrashRecord, "the record of a proof of durability", "crash_version", CRASH_VERSION,
        {1: take_defaults, 2: take_defaults},
    )  # fmt: skip
    file_name = CRASH_FILE
    unfinished: ClassVar = {"status": Status.FAILED, "errors": (UNFINISHED,)}
