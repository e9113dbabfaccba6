"""Records of every kind: where they are, and which of them a word means."""

from __future__ import annotations

from pathlib import Path

from openslob.record.storage import STORAGE_FILE
from openslob.record.store import RECORD_FILE
from openslob.record.sweep import SWEEP_FILE

_FILES = (RECORD_FILE, SWEEP_FILE, STORAGE_FILE)


def has_records(folder: Path) -> bool:
    """Return whether there is a record of any kind in ``folder``."""
    return any(next(folder.glob(f"*/{name}"), None) for name in _FILES)
