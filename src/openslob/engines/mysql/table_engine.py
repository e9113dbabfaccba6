"""What differs between the storage engines that test tables can have: here as InnoDB has it; `rocksdb.py` has another.

All else is the same: the columns and rows of the tables, the statements that load them, and the work loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pymysql.constants import ER

from openslob.core.method import BLOCK_TOLERANCE
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import ConfigLine
from openslob.engines.mysql.binaries import MariaPrograms
from openslob.engines.mysql.connection import Connection, query, statement
from openslob.engines.mysql.errors import ignoring
from openslob.engines.mysql.global_settings import GlobalSettingsOverride
from openslob.engines.mysql.names import MysqlNames
from openslob.engines.mysql.page_layout import PageLayout
from openslob.engines.mysql.quiesce import flush_pages
from openslob.engines.patience import Patience
from openslob.engines.tables import Check, DataTable, check

_DIRECT = ("O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT")
_DENIED = (ER.TABLEACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.NO_SUCH_TABLE, ER.COLUMNACCESS_DENIED_ERROR)
# Where the tree's first page was split, its fillers are in a page of their own.
_MORE_PAGES = 1
# Where only the number of all pages is known: pages that the server reserves for rows to come, some extents of 1 MB or
# 64 pages.
_FREE_PAGES = 4 * 256
_ESTIMATE_TOLERANCE = 0.1


@dataclass(frozen=True)
class TableBlocks:
    """Blocks of our tables by name; ``leaves_only``: only blocks that hold rows, else all that the server reserved."""

    by_table: Mapping[str, int]
    leaves_only: bool


class TableEngine:
    """InnoDB, whose pages are blocks.

    Attributes:
        name: What `--table-engine` calls it.
        clause: What CREATE TABLE says of it.
        block_size: The server's variable with the bytes of a block, ``cache_bytes`` that of its cache.
        commit_setting: The server's setting that says whether a commit waits until it is on disk.
        procedures_run_ahead: Whether a procedure goes on before its commits are on disk.
        keeps_size: Whether a table that is updated stays as large as it was loaded.
        no_churn: Why rows can't come and go in its tables (MODE=churn); empty where they can.
        is_observed: Whether performance_schema instruments its files and waits.
        counters: Parts of counters.sql that count what it does.
        transactions: Those that count the transactions that it ended.

    """

    name = "innodb"
    clause = "InnoDB ROW_FORMAT = DYNAMIC STATS_PERSISTENT = 1 STATS_AUTO_RECALC = 0"
    block_size, cache_bytes = "innodb_page_size", "innodb_buffer_pool_size"
    commit_setting = "innodb_flush_log_at_trx_commit"
    direct_io_remedy = "put innodb_flush_method = O_DIRECT into my.cnf and restart (a managed server: --io direct)"
    procedures_run_ahead = True
    keeps_size = True
    no_churn = ""
    is_observed = True
    counters: Sequence[str] = ("metrics_mariadb", "metrics_mysql")
    transactions: Sequence[str] = ("transactions_mariadb", "transactions_mysql", "transactions_observed")

    @property
    def identity(self) -> str:
        """The query of the server's facts."""
        return statement("facts", "identity", block_size=self.block_size, cache_bytes=self.cache_bytes)

    def is_direct(self, settings: Mapping[str, str]) -> bool | None:
        """Return whether it bypasses the page cache of its host; None when the settings do not tell."""
        method = settings.get("innodb_flush_method")
        return None if method is None else method in _DIRECT

    def row_bytes(self, layout: PageLayout) -> int | None:
        """Return the bytes of the columns of a visited row; None where the engine itself counts bytes of rows."""
        return layout.row_bytes

    def count_blocks(self, connection: Connection, names: MysqlNames) -> TableBlocks:
        """Return the blocks of each of our tables by name, as last analysed."""
        with ignoring(*_DENIED):
            return TableBlocks(self._by_table(connection, names, "leaf_pages"), leaves_only=True)
        return TableBlocks(self.count_allocated(connection, names), leaves_only=False)

    def count_allocated(self, connection: Connection, names: MysqlNames) -> dict[str, int]:
        """Return the blocks that the server reserved for each of our tables by name, with empty ones."""
        return self._by_table(connection, names, "table_pages")

    def _by_table(self, connection: Connection, names: MysqlNames, count: str) -> dict[str, int]:
        text = statement("manifest", count, block_size=self.block_size)
        return {row["name"]: row["blocks"] for row in query(connection, text, {"database": names.database})}

    def size_checks(
        self, table: DataTable, blocks: TableBlocks, layout: PageLayout, estimated_rows: float
    ) -> list[Check]:
        """Return the checks of a table's blocks, and of what the statistics know of its rows."""
        most_rows = table.blocks * layout.rows_per_page * (1 + _ESTIMATE_TOLERANCE)
        most = table.blocks * (1 + BLOCK_TOLERANCE) + (_MORE_PAGES if blocks.leaves_only else _FREE_PAGES)
        return [
            check(table, "blocks", blocks.by_table.get(table.name, -1), table.blocks * (1 - BLOCK_TOLERANCE), most),
            # Only that there are some: InnoDB estimates them from a few pages, badly when pages hold few rows.
            check(table, "rows by the statistics", estimated_rows, table.blocks, most_rows),
        ]

    def settle(self, connection: Connection, tables: Sequence[DataTable]) -> None:
        """Bring loaded tables into the state that runs begin with: InnoDB's are in it."""

    def write_out(self, connection: Connection, override: GlobalSettingsOverride, patience: Patience) -> str:
        """Write what is only in memory, if this user may, so that it is not written in the window; return a note."""
        return flush_pages(connection, override, patience)

    def files(self, directory: Path, database: str) -> Sequence[Path]:
        """Return the files of the test tables below the data directory."""
        return sorted((directory / database).glob("cf[12]_*.ibd"))

    def check_spec(self, spec: ServerSpec) -> None:
        """Raise UsageError for what a managed server with such tables can't be."""

    def check_programs(self, programs: MariaPrograms) -> None:
        """Raise SlobError unless the server's programs have it."""

    def settings(self, spec: ServerSpec, bulk: bool) -> list[ConfigLine]:  # noqa: ARG002
        """Return what a managed server with such tables has beside InnoDB's settings. ``bulk``: during a load."""
        return []

    def pool_bytes(self, spec: ServerSpec, least: int) -> int:  # noqa: ARG002
        """Return the size of InnoDB's cache, which is ``least`` at the least."""
        return spec.cache_bytes

    def log_bytes(self, spec: ServerSpec, least: int) -> int:  # noqa: ARG002
        """Return the size of InnoDB's log, which is ``least`` at the least."""
        return spec.log_bytes


INNODB = TableEngine()
