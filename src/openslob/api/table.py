"""Tidy tables and named values as notebooks show them, with data frames of pandas and Polars where these are installed.

Neither library is a condition for anything else, so they are imported when a data frame is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from openslob.analyze.outcome import count_noun
from openslob.core.errors import SlobError, UsageError
from openslob.core.extras import install_command
from openslob.report.notebook import table_html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Cell = str | int | float | bool | None
Value = TypeVar("Value")
# Rows of a table that a notebook shows.
MOST_ROWS_SHOWN = 20
# Names that the text of a table, or of named values, has.
MOST_NAMES_SHOWN = 4


class MissingLibraryError(SlobError, ImportError):
    """An optional library is not installed."""


class UnknownNameError(UsageError, KeyError):
    """There is nothing of this name."""


class Table(Sequence[Mapping[str, Cell]]):
    """A tidy table: a row for each observation, a column for each variable, the unit at the end of its name.

    A row is a mapping from column to value; a value that is not known is None.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        self.columns = tuple(columns)
        self._rows = rows

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Cell]]) -> Table:
        """Return the table of rows that all have the same columns."""
        columns = list(rows[0]) if rows else []
        return cls(columns, [[row[name] for name in columns] for row in rows])

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Cell]: ...

    @overload
    def __getitem__(self, at: slice) -> Table: ...

    def __getitem__(self, at: int | slice) -> Mapping[str, Cell] | Table:
        """Return a row, or the table of some rows."""
        if isinstance(at, slice):
            return Table(self.columns, self._rows[at])
        return dict(zip(self.columns, self._rows[at], strict=True))

    def __iter__(self) -> Iterator[Mapping[str, Cell]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self._rows)

    def column(self, name: str) -> list[Cell]:
        """Return the values of one column. UnknownNameError when there is no such column."""
        if name not in self.columns:
            raise unknown(name, "column", self.columns)
        at = self.columns.index(name)
        return [row[at] for row in self._rows]

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas data frame. MissingLibraryError when pandas is not installed."""
        try:
            import pandas as pd  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise _missing("pandas") from error
        return pd.DataFrame(list(self._rows), columns=list(self.columns))

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars data frame. MissingLibraryError when Polars is not installed."""
        try:
            import polars as pl  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise _missing("polars") from error
        columns = [[row[at] for row in self._rows] for at in range(len(self.columns))]
        series = [pl.Series(name, values, strict=False) for name, values in zip(self.columns, columns, strict=True)]
        return pl.DataFrame(series)

    def __repr__(self) -> str:
        """Return the numbers of rows and of columns, and the names of the first ones."""
        return (
            f"<Table: {count_noun(len(self), 'row')}, {count_noun(len(self.columns), 'column')}{_first(self.columns)}>"
        )

    def _repr_html_(self) -> str:
        """Return the first rows for a notebook."""
        return table_html(self.columns, self._rows[:MOST_ROWS_SHOWN], len(self))


class Named(Mapping[str, Value], Generic[Value]):
    """Values by name, such as figures or verdicts: an unknown name is an error that names a similar one."""

    def __init__(self, what: str, values: Mapping[str, Value], row: Callable[[Value], Mapping[str, Cell]]) -> None:
        self._what = what
        self._values = values
        self._row = row

    def __getitem__(self, name: str) -> Value:
        """Return the value of this name. UnknownNameError when there is none."""
        if name not in self._values:
            raise unknown(name, self._what, list(self._values))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def table(self) -> Table:
        """Return a table with a row for each name."""
        return Table.of([{"name": name, **self._row(value)} for name, value in self._values.items()])

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas data frame. MissingLibraryError when pandas is not installed."""
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return `table` as a Polars data frame. MissingLibraryError when Polars is not installed."""
        return self.table().to_polars()

    def __repr__(self) -> str:
        """Return the number of names, and the first ones."""
        return f"<{count_noun(len(self), self._what)}{_first(list(self._values))}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        table = self.table()
        return table_html(table.columns, [list(row.values()) for row in table], len(table))

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names that an editor offers."""
        return list(self._values)


def _first(names: Sequence[str]) -> str:
    shown = (*names[:MOST_NAMES_SHOWN], *(["…"] if len(names) > MOST_NAMES_SHOWN else []))
    return f": {', '.join(shown)}" if shown else ""


def unknown(name: str, what: str, known: Sequence[str]) -> UnknownNameError:
    """Return the error for a name that does not exist, with similar names or all of them."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or [each for each in known if name in each]
    remedy = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known) or 'none'}"
    return UnknownNameError(f"there is no {what} {name!r}", remedy)


def _missing(library: str) -> MissingLibraryError:
    return MissingLibraryError(f"{library} is not installed", install_command(f"openslob[{library}]"))


def as_row(value: Any) -> Mapping[str, Cell]:  # noqa: ANN401 - any dataclass
    """Return the fields of a dataclass of plain values as a row."""
    return dict(vars(value))
