"""`slob show`: the report of one record."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated

import typer

from openslob.cli.common_options import PRICE, RECORD_JSON, RESULTS, refuse_price
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, write_report
from openslob.metrics import priced
from openslob.metrics.cost import price_in
from openslob.record import finding, store
from openslob.record.finding import Found, Kind
from openslob.record.model import RecordModel, RunRecord
from openslob.record.sweep import load_sweep
from openslob.report.terminal import render_answer, render_text
from openslob.report.text import run_document

RECORD = Annotated[
    str,
    typer.Argument(
        autocompletion=records, metavar="[RECORD]", help="A path, an id, a name, the beginning of either, or latest."
    ),
]


def show(record: RECORD = "latest", *, price: PRICE = None, results: RESULTS, as_json: RECORD_JSON = False) -> None:
    """Show the report of a record of any kind, by default of the latest.

    Example: slob show 20260301-12
    """
    found = finding.one(record, results, notify)
    loaded, text = _read(found, price)
    if (pid := store.running_pid(found.folder)) is not None:
        kind = loaded.kind if isinstance(loaded, RunRecord) else found.kind
        notify(f"this {kind} is still in progress (process {pid}){_WRITTEN[found.kind]}")
    if as_json:
        print(json.dumps(loaded.model_dump(mode="json"), indent=1))
    else:
        write_report(*text(), found.folder)


_WRITTEN = {
    Kind.RUN: "; its record is written at its end",
    Kind.SWEEP: "; these are the points so far",
    Kind.STORAGE: "; these are the steps so far",
    Kind.FAILOVER: "; these are the outages so far",
    Kind.ENDURANCE: "; this is what was measured before",
    Kind.CRASH: "; these are the crashes so far",
    Kind.REPEATED: "; these are the runs so far",
    Kind.LAB: "; these are the pairs so far",
}


def _read(found: Found, price: str | None) -> tuple[RecordModel, Callable[[], tuple[str, str]]]:
    """Read the record, at another price if one is given; the second value renders its report and its answer."""
    if found.kind is Kind.SWEEP:
        from openslob.cli.sweep_report import sweep_report  # noqa: PLC0415 - the analysis of many runs

        sweep = load_sweep(found.path)
        return sweep, lambda: sweep_report(found.folder, sweep, price)
    if found.kind is Kind.RUN:
        run = store.load(found.path)
        run = priced(run, price_in(price)) if price else run
        document = run_document(run, found.folder)
        return run, lambda: (render_text(document, columns()), render_answer(document))
    refuse_price(price, found.kind)
    from openslob.cli.documents import read_document  # noqa: PLC0415 - reports of every kind

    record, document = read_document(found)
    return record, lambda: (render_text(document, columns()), render_answer(document))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(show)
