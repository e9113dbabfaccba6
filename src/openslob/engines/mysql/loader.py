"""Loading the test tables: what `engines.load` needs of this engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import pymysql

from openslob.disk import require_space
from openslob.engines.facts import LoadResult, ProgressSink
from openslob.engines.load import load_tables
from openslob.engines.mysql import manifest
from openslob.engines.mysql.connection import Connection, ask, cancel, open_connection, statement, thread_id
from openslob.engines.mysql.dsn import Place
from openslob.engines.mysql.errors import reported
from openslob.engines.mysql.location import locate
from openslob.engines.mysql.names import Names
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.tables import Table, fill, tables_of
from openslob.engines.mysql.verify import checks_of
from openslob.engines.table_checks import Check
from openslob.errors import SlobError, UsageError
from openslob.units import MIB, format_bytes
from openslob.workload import DataSpec

# An index entry: 9 bytes of key, 8 of primary key, 5 of header, for filler rows too; pages are filled to 15/16.
_INDEX_ENTRY_BYTES = 24
# A table's file is at least so large, and grows by extents.
_TABLE_BYTES = 4 * MIB
# A statement's text must fit in what the server takes at once.
_PACKET_BYTES = 4 * MIB


def load(
    place: Place,
    names: Names,
    spec: DataSpec,
    degree: int,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
) -> LoadResult:
    """Load and verify; nothing is done if just these data are there and verified. SlobError when the load fails."""
    begun = time.monotonic()
    if spec.scale_blocks < 1:
        raise UsageError("SCALE is less than one block", "give a number of blocks, or a size such as 256M")
    with open_connection(place, "load") as connection, reported("the load failed"):
        store = _Store(place, names, spec, connection)
        found = manifest.read(connection, names)
        if found and found.whole and found.spec == spec:
            blocks = sum(found.now.values())
            checks = {"tables and their blocks": f"{len(found.now)} tables as verified at {found.loaded_at}"}
            seconds = time.monotonic() - begun
            return LoadResult(spec, seconds, blocks, blocks * store.block_size, checks, reused=True)
        space = store.require_space(connection)
    return load_tables(store, spec, degree, progress, cancelled, {"disk space": space})


class _Store:
    """Implements `openslob.engines.load.Store`."""

    def __init__(self, place: Place, names: Names, spec: DataSpec, connection: Connection) -> None:
        self._place, self._names, self._spec = place, names, spec
        server = ask(connection, statement("load", "server"))[0]
        self.block_size: int = server["block_size"]
        self._directory = locate(connection).data_directory
        if server["packet_bytes"] < _PACKET_BYTES:
            raise SlobError(f"max_allowed_packet is {server['packet_bytes']:,}", f"set it to {_PACKET_BYTES:,} or more")
        self._layout = layout_of(self.block_size)
        self.tables: Sequence[Table] = tables_of(spec, names)
        self.blocks_total = sum(table.pages for table in self.tables)

    def require_space(self, connection: Connection) -> str:
        """SlobError when the data won't fit; what is loaded now counts as free. Returns what was found."""
        held = ask(connection, statement("load", "held"), {"database": self._names.database})[0]["held_bytes"]
        index = self.blocks_total * self._layout.rows_per_page * _INDEX_ENTRY_BYTES
        needed = self.blocks_total * self.block_size + index + len(self.tables) * _TABLE_BYTES
        if self._directory is None:
            return f"{format_bytes(needed)} needed; not checked: the server's disk can't be seen from here"
        require_space(self._directory, max(0, needed - held), "the load")
        return f"{format_bytes(needed)} needed and there"

    def connect(self) -> Connection:
        return open_connection(self._place, "load")

    def cancel(self, connection: Connection) -> None:
        with suppress(pymysql.Error):
            cancel(self._place, thread_id(connection))

    def begin(self) -> None:
        with self.connect() as connection, reported("the load failed"):
            manifest.remove(connection, self._names)
            manifest.begin(connection, self._names, self._spec)

    def fill(self, connection: Connection, table: Table, wrote_blocks: Callable[[int], None]) -> None:
        with reported(f"the load of {table.name} failed"):
            fill(connection, table, self._layout, self._spec.obfuscate, wrote_blocks)

    def checks(self, connection: Connection, table: Table) -> list[Check]:
        with reported(f"{table.name} can't be verified"):
            blocks = manifest.blocks_now(connection, self._names)
            return checks_of(connection, self._names.database, table, self._layout, blocks)

    def finish(self) -> Mapping[str, int]:
        with self.connect() as connection, reported("the load failed"):
            return manifest.finish(connection, self._names, self._spec)

    def remove(self) -> None:
        with self.connect() as connection, reported("the data can't be removed"):
            manifest.remove(connection, self._names)
