"""What a user calls a record once it is there: another name, and tags, in a file beside those of the record.

The record itself stays as it was written, so its digests hold, and `slob verify` makes it again under its first name.

History of the format, newest first:
  1  first version.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from openslob.core.disk import read_json, write_atomically
from openslob.core.errors import SlobError, UsageError
from openslob.record.model import RecordModel
from openslob.record.versions import Format

LABEL_VERSION = 1
LABEL_FILE = "label.json"
# Shells and lists take such a word as it is.
_TAG = re.compile(r"[\w][\w.:=+@/-]{0,39}")
_LONGEST_NAME = 200


class Label(RecordModel):
    """The name and the tags that a user gave a record; ``name`` is None if it has its first one."""

    label_version: int = LABEL_VERSION
    name: str | None = None
    tags: tuple[str, ...] = ()


FORMAT = Format(Label, "the label of a record", "label_version", LABEL_VERSION)


def of(folder: Path) -> Label:
    """Return the label of the record in a folder; an empty one if it has none. SlobError if it can't be read."""
    file = folder / LABEL_FILE
    if not os.path.lexists(file):
        return Label()
    return FORMAT.parse(read_json(file, "remove it, or restore it"), str(file))


def update(folder: Path, **changes: object) -> None:
    """Replace fields of the label of the record in a folder. SlobError if it can't be written."""
    label = of(folder).model_copy(update=changes)
    file = folder / LABEL_FILE
    try:
        if label == Label():
            file.unlink(missing_ok=True)
        else:
            write_atomically(file, json.dumps(label.model_dump(mode="json"), ensure_ascii=False) + "\n")
    except OSError as error:
        raise SlobError(f"{file} can't be written: {error.strerror}") from error


def check_tag(text: str) -> str:
    """Return the tag. UsageError for what is no single word."""
    if not _TAG.fullmatch(text):
        raise UsageError(f"{text!r} is not a tag", "use letters, digits and . : = + @ / _ -")
    return text


def check_name(text: str) -> str:
    """Return the name. UsageError for none, and for one that no list can show."""
    if not text.strip() or not text.isprintable() or len(text) > _LONGEST_NAME:
        raise UsageError(f"{text[:_LONGEST_NAME]!r} can't be a name", f"give 1 to {_LONGEST_NAME} visible characters")
    return text.strip()
