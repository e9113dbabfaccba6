"""The test tables, the same for every engine: which there are, the order of their keys, and the checks after a load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from openslob.core.errors import SlobError
from openslob.core.permutation import Permutation
from openslob.core.workload import DataSpec

# Each table has a permutation with a key of its own, counted from this number. The manifest keeps the number.
PLACEMENT_KEY = 510
_QUOTES = '"`'
AGAIN = "run the same command again; if it fails again, report it"

# Of all pairs of neighbouring blocks at most this share may hold neighbouring keys (METHOD 2) …
_ADJACENT_SHARE = 0.01
# … but a random placement of any size has two such pairs on average (Poisson), more than 10 once in 100,000 tables.
_ADJACENT_PAIRS = 10
# Placement is checked in whole tables up to this many blocks, in larger ones in stretches spread evenly over the table.
_STRETCHES, _STRETCH_BLOCKS = 16, 256


@dataclass(frozen=True)
class DataTable:
    """One table to load.

    ``relation`` is its quoted name with the schema or database; ``keys`` are the keys of its visited rows in the order
    of its blocks. Only ``indexed`` tables have an index.
    """

    name: str
    relation: str
    keys: Permutation
    indexed: bool

    @property
    def blocks(self) -> int:
        """Blocks, and so visited rows."""
        return self.keys.size

    @property
    def label(self) -> str:
        """The name in messages: without quotes."""
        return "".join(letter for letter in self.relation if letter not in _QUOTES)


def table_cf1(relation: str, number: int, blocks: int) -> DataTable:
    """Return the table of one row a block of schema ``number``."""
    return DataTable(f"cf1_{number}", relation, Permutation(blocks, PLACEMENT_KEY + 2 * number), indexed=True)


def table_cf2(relation: str, number: int, blocks: int) -> DataTable:
    """Return the short-scan table of schema ``number``."""
    return DataTable(f"cf2_{number}", relation, Permutation(blocks, PLACEMENT_KEY + 2 * number + 1), indexed=False)


def tables_of(spec: DataSpec, cf1: Callable[[int], str], cf2: Callable[[int], str]) -> list[DataTable]:
    """Return all tables of a specification, the largest first, so that no large one is loaded alone at the end.

    ``cf1`` and ``cf2`` return the quoted name of the table of a schema.
    """
    numbers = range(1, spec.schemas + 1)
    tables = [table_cf1(cf1(number), number, spec.scale_blocks) for number in numbers]
    tables += [table_cf2(cf2(number), number, spec.scan_blocks) for number in numbers]
    return sorted(tables, key=lambda table: -table.blocks)


@dataclass(frozen=True)
class Check:
    """One figure of one table and its allowed range."""

    name: str
    table: str
    figure: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.low <= self.figure <= self.high


def check(table: DataTable, name: str, figure: float, low: float, high: float | None = None) -> Check:
    """Return a check of a table; without ``high`` the figure must be exactly ``low``."""
    return Check(name, table.label, figure, low, low if high is None else high)


def key_checks(table: DataTable, rows: float, lowest: float, highest: float) -> list[Check]:
    """Return the checks that the keys are 1 to the number of blocks; rows that have no key are not in ``rows``."""
    return [
        check(table, "rows", rows, table.blocks),
        check(table, "lowest key", lowest, min(1, table.blocks)),
        check(table, "highest key", highest, table.blocks),
    ]


def placement_check(table: DataTable, placement: Mapping[str, float]) -> Check:
    """Return the check that keys are scattered: of ``pairs`` of neighbouring blocks few have ``adjacent`` keys."""
    limit = adjacent_limit(placement["pairs"])
    return check(table, "neighbouring keys in neighbouring blocks", placement["adjacent"], 0, limit)


def missing_table(table: DataTable) -> SlobError:
    """Return the error for a table that does not exist."""
    return SlobError(f"verification failed: the table {table.label} is not there", AGAIN)


def require(checks: Iterable[Check]) -> None:
    """Raise SlobError for the first check that does not hold, with its figure and the expected range."""
    for result in checks:
        if not result.holds:
            expected = _write_range(result.low, result.high)
            why = f"{result.name} of {result.table}: {result.figure:,.0f}, expected {expected}"
            raise SlobError(f"verification failed: {why}", AGAIN)


def summary(checks: Sequence[Check]) -> dict[str, str]:
    """Return the figures as text by check: from the smallest to the largest of all tables that share a range."""
    same_range: dict[tuple[str, float, float], list[float]] = defaultdict(list)
    for result in checks:
        same_range[result.name, result.low, result.high].append(result.figure)
    texts: dict[str, list[str]] = defaultdict(list)
    for (name, _, _), figures in same_range.items():
        texts[name].append(f"{_write_range(min(figures), max(figures))} in each of {len(figures)}")
    return {name: "; ".join(parts) for name, parts in texts.items()}


def _write_range(least: float, most: float) -> str:
    low, high = f"{least:,.0f}", f"{most:,.0f}"
    return low if low == high else f"{low} to {high}"


def adjacent_limit(pairs: float) -> float:
    """Return how many of ``pairs`` of neighbouring blocks may hold neighbouring keys."""
    return max(pairs * _ADJACENT_SHARE, _ADJACENT_PAIRS)


def stretches(blocks: int) -> Iterator[tuple[int, int]]:
    """Yield the first block and the block beyond the last of each stretch to check; a small table is one stretch."""
    if blocks <= _STRETCHES * _STRETCH_BLOCKS:
        yield 0, blocks
        return
    for number in range(_STRETCHES):
        first = number * (blocks - _STRETCH_BLOCKS) // (_STRETCHES - 1)
        yield first, first + _STRETCH_BLOCKS


def sum_over_stretches(blocks: int, figures: Callable[[int, int], Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of figures over the stretches of a table; of a figure ``most_…`` the maximum.

    ``figures`` is called with the first block and the block beyond the last of each stretch.
    """
    totals: dict[str, float] = {}
    for first, beyond in stretches(blocks):
        for name, figure in figures(first, beyond).items():
            total = totals.get(name, 0.0)
            totals[name] = max(total, figure) if name.startswith("most_") else total + figure
    return totals
