"""The option --ceiling: a raw measurement of the same storage that figures are compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.completion import records
from openslob.cli.console import notify
from openslob.core.errors import UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.measurement import StorageAlone
from openslob.engines.base import Engine
from openslob.kinds.storage import KIND as STORAGE
from openslob.kinds.storage.record import load, storage_alone
from openslob.record import finding

MEASURE = "measure"

_CEILING_HELP = "A raw measurement of the same storage (a path, an id, latest) to compare the figures with"
CEILING = Annotated[str | None, typer.Option(metavar="RECORD", autocompletion=records, help=f"{_CEILING_HELP}.")]
CEILING_OR_MEASURE = Annotated[
    str | None, typer.Option(metavar=f"RECORD|{MEASURE}", help=f"{_CEILING_HELP}, or measure it first.")
]


def load_ceiling(name: str, results: Path) -> StorageAlone:
    """Read the raw measurement that --ceiling names.

    Raises:
        UsageError: No record has that name, or a measurement was asked for where none can be made.

    """
    if name == MEASURE:
        raise UsageError(
            f"only `slob run` and `slob sweep` accept --ceiling {MEASURE}", "give the record of a raw measurement"
        )
    return storage_alone(load(finding.one(name, results, notify, {STORAGE}).path))


def ceiling_source(
    name: str | None, results: Path, interrupt: Interrupt, sessions: int
) -> Callable[[Engine], StorageAlone | None]:
    """Return a function from an engine to its ceiling: the named record, a new measurement, or None."""
    if name == MEASURE:
        from openslob.kinds.storage.ceiling import Ceilings  # noqa: PLC0415
        from openslob.kinds.storage.fio import Fio  # noqa: PLC0415 - few runs measure storage first

        return Ceilings(sessions, Fio.find(interrupt.stop), results, notify)
    alone = load_ceiling(name, results) if name else None
    return lambda _: alone
