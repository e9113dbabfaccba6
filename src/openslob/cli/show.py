"""`slob show`: the report of one record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import RECORD_JSON, RESULTS
from openslob.cli.console import notify, write
from openslob.errors import UsageError
from openslob.record import storage, store
from openslob.record.model import RunRecord
from openslob.record.storage import StorageRecord
from openslob.record.sweep import resolve_sweep
from openslob.report.storage import render_storage
from openslob.report.text import render

RECORD = Annotated[
    str, typer.Argument(metavar="[RECORD]", help="A path, an id, the beginning of just one id, or latest.")
]


def show(record: RECORD = "latest", *, results: RESULTS, as_json: RECORD_JSON = False) -> None:
    """Show the report of a record, by default of the latest one.

    Example: slob show 20260301-12
    """
    path = _resolved(record, results)
    folder = path if path.is_dir() else path.parent
    if (pid := store.running_pid(folder)) is not None:
        notify(f"this run is still in progress (process {pid}); its record is written at its end")
    loaded, text = _read(path, folder)
    if as_json:
        print(json.dumps(loaded.model_dump(mode="json"), indent=1))
    else:
        write(text, end="")


def _resolved(record: str, results: Path) -> Path:
    """Return the path of the record. The UsageError for a sweep names the commands for sweeps."""
    try:
        return storage.resolve_any(record, results, notify)
    except UsageError:
        try:
            sweep = resolve_sweep(record, results).name
        except UsageError:
            sweep = ""
        if sweep:
            raise UsageError(
                f"{sweep} is a sweep", f"`slob report {sweep}` has its answers, `slob list` its runs"
            ) from None
        raise


def _read(path: Path, folder: Path) -> tuple[RunRecord | StorageRecord, str]:
    """Read the record and render its report."""
    if storage.is_storage(path):
        measured = storage.load(path)
        return measured, render_storage(measured, folder)
    run = store.load(path)
    return run, render(run, folder)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(show)
