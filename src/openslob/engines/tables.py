"""The test tables, the same for every engine: which ones a specification has, and the order of their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openslob.permutation import Permutation
from openslob.workload import DataSpec

# Each table has a permutation with a key of its own, counted from this number. The manifest keeps the number.
PLACEMENT_KEY = 510
_QUOTES = '"`'


@dataclass(frozen=True)
class Table:
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


def table_cf1(relation: str, number: int, blocks: int) -> Table:
    """Return the table of one row a block of schema ``number``."""
    return Table(f"cf1_{number}", relation, Permutation(blocks, PLACEMENT_KEY + 2 * number), indexed=True)


def table_cf2(relation: str, number: int, blocks: int) -> Table:
    """Return the short-scan table of schema ``number``."""
    return Table(f"cf2_{number}", relation, Permutation(blocks, PLACEMENT_KEY + 2 * number + 1), indexed=False)


def tables_of(spec: DataSpec, cf1: Callable[[int], str], cf2: Callable[[int], str]) -> list[Table]:
    """Return all tables of a specification, the largest first, so that no large one is loaded alone at the end.

    ``cf1`` and ``cf2`` return the quoted name of the table of a schema.
    """
    numbers = range(1, spec.schemas + 1)
    tables = [table_cf1(cf1(number), number, spec.scale_blocks) for number in numbers]
    tables += [table_cf2(cf2(number), number, spec.scan_blocks) for number in numbers]
    return sorted(tables, key=lambda table: -table.blocks)
