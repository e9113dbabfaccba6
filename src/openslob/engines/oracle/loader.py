"""Loading the test tables: what `engines.load` needs of this engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from openslob.core.workload import DataSpec
from openslob.engines.facts import LoadResult, ProgressSink
from openslob.engines.load import load_tables, require_a_block
from openslob.engines.oracle import manifest, tablespace
from openslob.engines.oracle.connection import Connection, query, statement
from openslob.engines.oracle.errors import reported
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.tables import Filling, Ways, check_table, fill, tables_of
from openslob.engines.oracle.tablespace import Tablespace
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.tables import Check, DataTable

_FAILED = "the load failed"


def load(
    open_connection: Callable[[], Connection],
    params: ConnectParams,
    spec: DataSpec,
    degree: int,
    progress: ProgressSink,
    cancelled: Callable[[], bool],
) -> LoadResult:
    """Load and verify, ``degree`` tables at a time; do nothing if exactly these data are there and verified.

    Whatever was loaded before is removed. SlobError when the load fails or ``cancelled`` returns true: then nothing is
    left of it. ``open_connection`` opens a connection of a load.
    """
    began_s = time.monotonic()
    require_a_block(spec)
    with open_connection() as connection, reported(_FAILED):
        survey = Survey(connection)
        place = tablespace.find_for_data(survey, params.tablespace, spec)
        loaded = manifest.read(connection)
        if loaded and loaded.is_whole and loaded.spec == spec:
            return loaded.reused(time.monotonic() - began_s, place.block_size)
        tables = tables_of(spec)
        checks = {
            "disk space": tablespace.check_space(survey, place, tablespace.estimate_bytes(tables, place.block_size)),
            "redo of the load": tablespace.describe_redo(place),
        }
    loader = _OracleLoader(open_connection, spec, place, tables, degree, checks)
    return load_tables(loader, spec, degree, progress, cancelled, checks)


class _OracleLoader:
    """Implements `openslob.engines.load.Loader`. ``notes`` is filled with what the load finds out."""

    def __init__(
        self,
        open_connection: Callable[[], Connection],
        spec: DataSpec,
        place: Tablespace,
        tables: Sequence[DataTable],
        degree: int,
        notes: dict[str, str],
    ) -> None:
        self._open, self._spec, self._place, self._notes = open_connection, spec, place, notes
        self.block_size = place.block_size
        self.tables = tables
        self._ways = Ways(spec.obfuscate)
        # A single large table is indexed by as many sessions as load tables.
        parallel = degree // sum(table.indexed for table in tables)
        self._filling = Filling(place, self._ways, spec.obfuscate, parallel, notes)

    def connect(self) -> Connection:
        connection = self._open()
        with reported(_FAILED):
            query(connection, statement("load", "session"))
        return connection

    def cancel(self, connection: Connection) -> bool:
        return connection.cancel()

    def begin(self) -> None:
        with self._open() as connection, reported(_FAILED):
            manifest.remove(connection)
            manifest.begin(connection, self._spec)

    def fill(self, connection: Connection, table: DataTable, wrote_blocks: Callable[[int], None]) -> None:
        with reported(f"the load of {table.label} failed"):
            fill(connection, table, self._filling, wrote_blocks)

    def checks(self, connection: Connection, table: DataTable) -> list[Check]:
        with reported(f"{table.label} can't be verified"):
            return check_table(connection, table, self._place)

    def finish(self) -> Mapping[str, int]:
        self._notes["how rows came"] = self._ways.text
        with self._open() as connection, reported(_FAILED):
            return manifest.finish(connection, self._spec)

    def remove(self) -> None:
        with self._open() as connection, reported("the data can't be removed"):
            manifest.remove(connection)
