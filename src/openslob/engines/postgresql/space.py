"""What tables take on disk, and whether the server's disk can be looked at from here."""

from __future__ import annotations

from pathlib import Path

from openslob.engines.postgresql.footprint import locate
from openslob.engines.postgresql.tables import Connection

# An index entry: 8 bytes of key, 8 of tuple, 4 of line pointer, in pages filled to 90 %; and the levels above.
_INDEX_ENTRY_BYTES = 23


def index_bytes(rows: int) -> int:
    """Bytes of the index on so many keys."""
    return rows * _INDEX_ENTRY_BYTES


def is_local(connection: Connection) -> bool:
    """Whether the server is proved to be on this host."""
    return locate(connection).main_pid is not None


def visible(directory: Path) -> bool:
    """Whether this user can see the server's directory."""
    try:
        return directory.is_dir()
    except PermissionError:
        return False
