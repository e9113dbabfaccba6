"""The option --ceiling: a raw measurement to hold runs against."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from openslob.engines.base import Engine
from openslob.errors import UsageError
from openslob.record import storage
from openslob.record.storage import StorageRecord
from openslob.run.interrupt import Interrupt
from openslob.storage.fio import Fio
from openslob.versus.ceiling import Ceilings

MEASURE = "measure"
_HELP = "A raw measurement of the same storage (a path, an id, latest) to hold the figures against"
CEILING = Annotated[str | None, typer.Option(metavar="RECORD", help=f"{_HELP}.")]
CEILING_OR_MEASURE = Annotated[
    str | None, typer.Option(metavar=f"RECORD|{MEASURE}", help=f"{_HELP}, or measure it first.")
]


def load_ceiling(wanted: str, results: Path) -> StorageRecord:
    """The record that is meant. UsageError and SlobError as `storage.resolve` has them."""
    if wanted == MEASURE:
        raise UsageError(f"--ceiling {MEASURE} is for runs and sweeps", "give the record that they made")
    return storage.load(storage.resolve(wanted, results))


def ceiling_of_each(
    wanted: str | None, results: Path, sessions: int, interrupt: Interrupt
) -> Callable[[Engine], StorageRecord | None]:
    """What gives the ceiling of a server: the record that is meant, one measured there now, or none."""
    if wanted == MEASURE:
        return Ceilings(sessions, Fio.find(interrupt.stop), results, _notify)
    record = load_ceiling(wanted, results) if wanted else None
    return lambda _: record


def _notify(text: str) -> None:
    print(f"slob: {text}", file=sys.stderr, flush=True)
