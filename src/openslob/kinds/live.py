"""The follower of a record of any kind, as the live screen and the live page show it."""

from __future__ import annotations

from pathlib import Path

from openslob.core.errors import SlobError
from openslob.kinds.contract import kind_of
from openslob.kinds.view import Follower
from openslob.record import finding


def follow(folder: Path) -> Follower:
    """Return the follower of the record in a folder, after a first look. SlobError if there is none to be shown."""
    found = finding.at(folder)
    if found is None:
        raise SlobError(f"{folder} has no record", "name the folder of a run or of a sweep; `slob list` shows them")
    follower = kind_of(found).follow(folder)
    follower.poll()
    return follower
