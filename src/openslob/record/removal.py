"""Removing records: a record is there as a whole or not at all, whatever ends the removal.

Its folder gets a name first that no command takes for a record. What an interrupted removal left under such a name, the
next one removes.
"""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

from openslob.core.disk import remove_tree
from openslob.core.errors import SlobError, UsageError
from openslob.record import finding, store
from openslob.record.digests import files_of
from openslob.record.finding import Found

_TRASH = ".removed-"


def check_removable(found: Found) -> None:
    """Raise an error unless the record can be removed: it is in progress, part of another one, or a single file."""
    if not found.path.is_dir() or finding.at(found.path) is None:
        raise UsageError(
            f"{found.path} is a file, not the folder of a record", "name the record's folder, or its number"
        )
    if (whole := finding.whole_of(found.path)) is not None:
        name = whole.path.resolve().name
        raise UsageError(
            f"{found.path.name} is a part of {finding.with_article(whole.kind)}, {name}", f"remove that: slob rm {name}"
        )
    if (pid := store.running_pid(found.path)) is not None:
        raise SlobError(f"{found.path.name} is still in progress (process {pid})", "stop it, or wait for its end")


def size_of(found: Found) -> int:
    """Return how many bytes the files of a record have."""
    return sum(path.stat().st_size for path in files_of(found.path))


def remove(found: Found) -> None:
    """Remove a record that can be. SlobError if it can't; then it is still there, or is no record any more."""
    check_removable(found)
    folder = found.path.absolute()
    _clear(folder.parent)
    trash = folder.with_name(f"{_TRASH}{token_hex(4)}-{folder.name}")
    try:
        folder.rename(trash)
        # Of a record that is linked to from here, only the link is removed.
        remove_tree(trash)
    except OSError as error:
        raise SlobError(f"{folder} can't be removed: {error.strerror}", f"remove {trash} by hand") from error


def _clear(results: Path) -> None:
    """Remove what interrupted removals left."""
    for left in results.glob(f"{_TRASH}*"):
        remove_tree(left)
