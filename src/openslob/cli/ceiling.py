"""The option --ceiling: a raw measurement to hold runs against."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from openslob.engines.base import Engine
from openslob.errors import UsageError
from openslob.rawio.fio import Fio
from openslob.record import storage
from openslob.record.storage import StorageRecord
from openslob.run.ceiling import measure_ceiling
from openslob.run.interrupt import Interrupt

MEASURE = "measure"
_HELP = "A raw measurement of the same storage (a path, an id, latest) to hold the figures against"
CEILING = Annotated[str | None, typer.Option(metavar="RECORD", help=f"{_HELP}.")]
CEILING_OR_MEASURE = Annotated[
    str | None, typer.Option(metavar=f"RECORD|{MEASURE}", help=f"{_HELP}, or measure it first.")
]


def load_ceiling(wanted: str | None, results: Path) -> StorageRecord | None:
    """The record that is meant, None if none is. UsageError and SlobError as `storage.resolve` has them."""
    if wanted == MEASURE:
        raise UsageError(f"--ceiling {MEASURE} is for a single run", "slob raw calibrate makes a record to give here")
    return storage.load(storage.resolve(wanted, results)) if wanted else None


def ceiling_for(
    wanted: str | None, results: Path, engine: Engine, sessions: int, interrupt: Interrupt
) -> StorageRecord | None:
    """Like `load_ceiling`, or measured now where the server has its data."""
    if wanted != MEASURE:
        return load_ceiling(wanted, results)
    return measure_ceiling(engine, sessions, Fio.find(interrupt.stop), results, _tell)


def _tell(text: str) -> None:
    print(f"slob: {text}", file=sys.stderr, flush=True)
