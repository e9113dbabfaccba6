"""Loading the test tables: what `engines.load` needs of this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pymysql

from openslob.core.errors import SlobError
from openslob.core.units import MIB
from openslob.core.workload import DataSpec
from openslob.engines.load import check_space
from openslob.engines.mysql import manifest
from openslob.engines.mysql.connection import (
    Connection,
    MysqlParams,
    kill,
    query,
    statement,
    thread_id,
)
from openslob.engines.mysql.errors import report_as
from openslob.engines.mysql.location import locate
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import layout_of
from openslob.engines.mysql.table_engine import TableEngine
from openslob.engines.mysql.tables import checks_of, fill, tables_of
from openslob.engines.tables import Check, DataTable

# An index entry: 9 bytes of key, 8 of primary key, 5 of header; filler rows have one too; pages are filled to 15/16.
_INDEX_ENTRY_BYTES = 24
# The least size of a table's file, which grows by extents.
_TABLE_BYTES = 4 * MIB
# A statement's text must fit into max_allowed_packet.
_PACKET_BYTES = 4 * MIB


class MysqlLoader:
    """Implements `openslob.engines.load.Loader`."""

    def __init__(
        self,
        connect: Callable[[], Connection],
        params: MysqlParams,
        names: MysqlNames,
        spec: DataSpec,
        engine: TableEngine,
        connection: Connection,
    ) -> None:
        self._connect, self._engine = connect, engine
        self._params, self._names, self._spec = params, names, spec
        server = query(connection, statement("load", "server", block_size=engine.block_size))[0]
        self.block_size: int = server["block_size"]
        self._directory = locate(connection).data_directory
        if server["packet_bytes"] < _PACKET_BYTES:
            raise SlobError(f"max_allowed_packet is {server['packet_bytes']:,}", f"set it to {_PACKET_BYTES:,} or more")
        self._layout = layout_of(self.block_size)
        self.tables: Sequence[DataTable] = tables_of(spec, names)

    def survey(self, connection: Connection) -> dict[str, str]:
        held = query(connection, statement("load", "held"), {"database": self._names.database})[0]["held_bytes"]
        blocks = sum(table.blocks for table in self.tables)
        index = blocks * self._layout.rows_per_page * _INDEX_ENTRY_BYTES
        needed = blocks * self.block_size + index + len(self.tables) * _TABLE_BYTES
        return {"disk space": check_space(needed, held, self._directory, "the server's disk can't be seen from here")}

    def connect(self) -> Connection:
        return self._connect()

    def cancel(self, connection: Connection) -> bool:
        try:
            kill(self._params, thread_id(connection))
        except pymysql.Error:
            return False
        return True

    def begin(self) -> None:
        with self.connect() as connection, report_as("the load failed"):
            manifest.remove(connection, self._names, self._engine)
            manifest.begin(connection, self._names, self._spec)

    def fill(self, connection: Connection, table: DataTable, wrote_blocks: Callable[[int], None]) -> None:
        with report_as(f"the load of {table.name} failed"):
            fill(connection, table, self._engine, self._layout, self._spec.random_pct, wrote_blocks)

    def checks(self, connection: Connection, table: DataTable) -> list[Check]:
        with report_as(f"{table.name} can't be verified"):
            return checks_of(connection, self._names, table, self._engine, self._layout)

    def finish(self) -> Mapping[str, int]:
        with self.connect() as connection, report_as("the load failed"):
            self._engine.settle(connection, self.tables)
            return manifest.finish(connection, self._names, self._spec, self._engine)

    def remove(self) -> None:
        with self.connect() as connection, report_as("the data can't be removed"):
            manifest.remove(connection, self._names, self._engine)
