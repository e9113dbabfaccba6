"""The checks that every loaded table must pass before anything is measured on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from psycopg.rows import dict_row

from openslob.engines.postgresql.tables import Connection, Table, statement
from openslob.errors import SlobError

# Tables may be larger or smaller than asked for by this share of their blocks (METHOD 2).
BLOCK_TOLERANCE = 0.01
# Keys that are neighbours in neighbouring blocks: at most this share of all neighbours (METHOD 2) …
_ADJACENT_SHARE = 0.01
# … but a random placement of any size has two such pairs on average (Poisson), more than 10 once in 100,000 tables.
_ADJACENT_PAIRS = 10
# Placement is looked at in whole tables up to as many blocks, else in stretches spread evenly over the table.
_STRETCHES, _STRETCH_BLOCKS = 16, 256
_COLUMNS = 20


@dataclass(frozen=True)
class Check:
    """One figure of one table and the range it has to be in."""

    name: str
    table: str
    figure: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the figure is in its range."""
        return self.low <= self.figure <= self.high


def checks_of(connection: Connection, table: Table) -> list[Check]:
    """Every check of one table, passed or not. SlobError if the table is not there."""

    def check(name: str, figure: float, low: float, high: float | None = None) -> Check:
        return Check(name, table.name, figure, low, low if high is None else high)

    relation = _figures(connection, table, "relation", {"relation": table.relation})
    keys = _figures(connection, table, "keys", {})
    placement = _placement(connection, table, int(relation["blocks"]))
    slack = table.rows * BLOCK_TOLERANCE
    return [
        check("blocks", relation["blocks"], table.rows - slack, table.rows + slack),
        check("rows", keys["rows"], table.rows),
        check("lowest key", keys["lowest"], min(1, table.rows)),
        check("highest key", keys["highest"], table.rows),
        check("valid unique indexes on custid", relation["unique_indexes"], int(table.indexed)),
        check("rows in the fullest block", placement["most_in_block"], min(1, table.rows)),
        check("neighbouring keys in neighbouring blocks", placement["adjacent"], 0, _adjacent_limit(placement)),
        check("blocks not all-visible", relation["blocks"] - relation["all_visible"], 0),
        check("columns with statistics", relation["analyzed"], _COLUMNS if table.rows else 0),
        check("rows by the statistics", relation["estimated_rows"], table.rows - slack, table.rows + slack),
    ]


def require(checks: Iterable[Check]) -> None:
    """SlobError for the first check that does not hold, with its figure and what was expected."""
    for one in checks:
        if not one.holds:
            raise SlobError(
                f"verification failed: {one.name} of {one.table}: {one.figure:,.0f}, expected {_range(one)}"
            )


def summary(checks: Sequence[Check]) -> dict[str, str]:
    """The figures seen, by check: from the smallest to the largest of all tables that share an expectation."""
    alike: dict[tuple[str, float, float], list[float]] = defaultdict(list)
    for one in checks:
        alike[one.name, one.low, one.high].append(one.figure)
    texts: dict[str, list[str]] = defaultdict(list)
    for (name, _, _), figures in alike.items():
        low, high = (f"{figure:,.0f}" for figure in (min(figures), max(figures)))
        texts[name].append(f"{low if low == high else f'{low} to {high}'} in each of {len(figures)}")
    return {name: "; ".join(parts) for name, parts in texts.items()}


def _range(check: Check) -> str:
    low, high = f"{check.low:,.0f}", f"{check.high:,.0f}"
    return low if low == high else f"{low} to {high}"


def _adjacent_limit(placement: Mapping[str, float]) -> float:
    return max(placement["pairs"] * _ADJACENT_SHARE, _ADJACENT_PAIRS)


def _placement(connection: Connection, table: Table, blocks: int) -> dict[str, float]:
    """Placement figures over all stretches that are looked at."""
    total = {"rows": 0.0, "most_in_block": 0.0, "pairs": 0.0, "adjacent": 0.0}
    for first, beyond in stretches(blocks):
        stretch = _figures(connection, table, "placement", {"first": f"({first},0)", "beyond": f"({beyond},0)"})
        most = max(total["most_in_block"], stretch["most_in_block"])
        total = {name: total[name] + stretch[name] for name in total} | {"most_in_block": most}
    return total


def stretches(blocks: int) -> Iterator[tuple[int, int]]:
    """First block and block beyond the last of each stretch to look at: everything, if that is not too much."""
    if blocks <= _STRETCHES * _STRETCH_BLOCKS:
        yield 0, blocks
        return
    for number in range(_STRETCHES):
        first = number * (blocks - _STRETCH_BLOCKS) // (_STRETCHES - 1)
        yield first, first + _STRETCH_BLOCKS


def _figures(connection: Connection, table: Table, name: str, values: Mapping[str, object]) -> dict[str, float]:
    with connection.cursor(row_factory=dict_row) as cursor:
        row = cursor.execute(statement("verify", name, table=table.identifier), values).fetchone()
    if row is None:
        raise SlobError(f"verification failed: the table {table.name} is not there")
    return row
