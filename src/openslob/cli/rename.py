"""`slob rename`: another name for a record."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.completion import records
from openslob.cli.console import notify, write
from openslob.core.errors import UsageError
from openslob.record import finding, labels

RECORD = Annotated[
    str, typer.Argument(autocompletion=records, metavar="RECORD", help="The record: number, id, name, or path.")
]
NAME = Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the id and the name as JSON.")]


def rename(record: RECORD, name: NAME, *, results: RESULTS, as_json: JSON = False) -> None:
    """Give a record another name, by which commands find it and lists and reports call it. Its id stays.

    Nothing in the record changes, so `slob verify` still holds.

    Example: slob rename 12 before-upgrade
    """
    name = labels.check_name(name)
    if finding.is_pointer(name):
        raise UsageError(
            f"{name} can't be a name: it means {'a number' if name[-1].isdigit() else 'the newest record'}",
            "choose another",
        )
    folder = finding.one(record, results, notify).folder
    labels.update(folder, name=name)
    write(json.dumps({"id": folder.name, "name": name}) if as_json else f"{folder.name} is called {name} now")
