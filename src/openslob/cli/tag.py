"""`slob tag`: words by which records are found again."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.completion import records
from openslob.cli.completion import tags as known_tags
from openslob.cli.console import notify, write
from openslob.record import finding, labels

RECORD = Annotated[
    str, typer.Argument(autocompletion=records, metavar="RECORD", help="The record: number, id, name, or path.")
]
TAGS = Annotated[
    list[str] | None,
    typer.Argument(autocompletion=known_tags, metavar="[TAG]", help="Tags to add; without any, show those it has."),
]
REMOVE = Annotated[
    list[str] | None,
    typer.Option(autocompletion=known_tags, metavar="TAG", help="Remove this tag; repeatable."),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the id and all its tags as JSON.")]


def tag(record: RECORD, tags: TAGS = None, remove: REMOVE = None, *, results: RESULTS, as_json: JSON = False) -> None:
    """Tag a record with words, by which `slob list --tag` finds it. Nothing in the record itself changes.

    Example: slob tag 12 before nvme
    """
    added, removed = [*map(labels.check_tag, tags or ())], {*map(labels.check_tag, remove or ())}
    folder = finding.one(record, results, notify).folder
    before = labels.of(folder).tags
    now = tuple(each for each in dict.fromkeys((*before, *added)) if each not in removed)
    for missing in sorted(removed.difference(before, added)):
        notify(f"{folder.name} had no tag {missing}")
    if now != before:
        labels.update(folder, tags=now)
    write(json.dumps({"id": folder.name, "tags": now}) if as_json else f"{folder.name}: {' '.join(now) or 'no tags'}")
