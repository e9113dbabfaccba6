"""Loading the test tables: what `engines.load` needs of this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from openslob.core.workload import DataSpec
from openslob.engines.oracle import manifest, tablespace
from openslob.engines.oracle.connection import Connection, query, statement
from openslob.engines.oracle.errors import report_as
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.tables import Filling, Ways, check_table, fill, list_ways, tables_of
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.tables import Check, DataTable

_FAILED = "the load failed"


class OracleLoader:
    """Implements `openslob.engines.load.Loader`. ``open_connection`` opens a connection of a load."""

    def __init__(
        self,
        open_connection: Callable[[], Connection],
        params: ConnectParams,
        spec: DataSpec,
        degree: int,
        connection: Connection,
    ) -> None:
        self._open, self._spec = open_connection, spec
        self._place = tablespace.find_for_data(Survey(connection), params.tablespace, spec)
        self.block_size = self._place.block_size
        self.tables: Sequence[DataTable] = tables_of(spec)
        # What the load finds out comes to it.
        self._notes: dict[str, str] = {}
        self._ways = Ways(list_ways(spec.obfuscate))
        # A single large table is indexed by as many sessions as load tables.
        parallel = degree // sum(table.indexed for table in self.tables)
        self._filling = Filling(self._place, self._ways, spec.random_pct, parallel, self._notes)

    def survey(self, connection: Connection) -> Mapping[str, str]:
        needed = tablespace.estimate_bytes(self.tables, self.block_size)
        self._notes["disk space"] = tablespace.check_space(Survey(connection), self._place, needed)
        self._notes["redo of the load"] = tablespace.describe_redo(self._place)
        return self._notes

    def connect(self) -> Connection:
        connection = self._open()
        with report_as(_FAILED):
            query(connection, statement("load", "session"))
        return connection

    def cancel(self, connection: Connection) -> bool:
        return connection.cancel()

    def begin(self) -> None:
        with self._open() as connection, report_as(_FAILED):
            manifest.remove(connection)
            manifest.begin(connection, self._spec)

    def fill(self, connection: Connection, table: DataTable, wrote_blocks: Callable[[int], None]) -> None:
        with report_as(f"the load of {table.label} failed"):
            fill(connection, table, self._filling, wrote_blocks)

    def checks(self, connection: Connection, table: DataTable) -> list[Check]:
        with report_as(f"{table.label} can't be verified"):
            return check_table(connection, table, self._place)

    def finish(self) -> Mapping[str, int]:
        self._notes["how rows came"] = self._ways.text
        with self._open() as connection, report_as(_FAILED):
            return manifest.finish(connection, self._spec)

    def remove(self) -> None:
        with self._open() as connection, report_as("the data can't be removed"):
            manifest.remove(connection)
