"""`slob show`: the report of one record."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openslob.cli.common_options import ALL, PRICE, RECORD_JSON, RESULTS
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, write_document, write_report
from openslob.kinds.contract import Wanted, kind_of
from openslob.record import finding, store
from openslob.report.terminal import render_checks

RECORD = Annotated[
    str,
    typer.Argument(
        autocompletion=records,
        metavar="[RECORD]",
        help="A number, an id, a name, the beginning of either, a path, or latest.",
    ),
]
CHECKS = Annotated[
    bool,
    typer.Option("--checks", metavar="", help="Print every verdict: what was checked, the outcome, and why."),
]


def show(
    record: RECORD = "latest",
    *,
    whole: ALL = False,
    checks: CHECKS = False,
    price: PRICE = None,
    results: RESULTS,
    as_json: RECORD_JSON = False,
) -> None:
    """Show the answer of a record of any kind on one screen, by default of the latest.

    Example: slob show 20260301-12
    """
    found = finding.one(record, results, notify)
    kind, wanted = kind_of(found), Wanted(price, notify)
    read = kind.read_as(found.path, wanted)
    if (pid := store.running_pid(found.folder)) is not None:
        notify(f"this {kind.describe(read)} is still in progress (process {pid}){kind.labels.so_far}")
    if as_json:
        print(json.dumps(read.model_dump(mode="json"), indent=1))
        return
    document = kind.document(read, found.folder, wanted)
    if checks:
        write_report(render_checks(document, columns()), kept=found.folder)
    else:
        write_document(document, found.folder, whole)
