"""Tests of many small cases as one item: a table. A row of it that fails is a subtest, reported with its values."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
_KEPT = 60


def table(
    names: str | Sequence[str],
    rows: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Callable[[Any], object] | Sequence[str] | None = None,
) -> Callable[[Test], Test]:
    """Run a test once for each row, with its values as the arguments of these names, all in one item.

    Takes what ``pytest.mark.parametrize`` takes, or a function that returns the rows, called when the test is run. A
    row that fails does not keep the following ones from being run. Rows share the fixtures of function scope: use
    ``parametrize`` where a row must not see what another one left. A row that passes is no subtest, which would take
    more time than most rows.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    find = rows if callable(rows) else functools.partial(iter, list(rows))

    def cases() -> list[tuple[Any, ...]]:
        found = [_values(row, len(columns)) for row in find()]
        assert found, "a table without rows tests nothing"
        return found

    def decorate(test: Test) -> Test:
        parameters = inspect.signature(test).parameters
        missing = set(columns) - set(parameters)
        assert not missing, f"{test.__name__} takes no {missing}"

        @functools.wraps(test)
        def all_rows(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for number, case in enumerate(cases()):
                row = dict(zip(columns, case, strict=True))
                try:
                    test(**row, **(fixtures | ({"subtests": subtests} if "subtests" in parameters else {})))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception):
                    with subtests.test(_label(columns, case, ids, number)):
                        raise

        others = [value for name, value in parameters.items() if name not in (*columns, "subtests")]
        first = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        all_rows.__signature__ = inspect.Signature([first, *others])  # type: ignore[attr-defined]
        return all_rows

    return decorate


def _values(row: Any, columns: int) -> tuple[Any, ...]:
    values = getattr(row, "values", row)  # of a pytest.param, else the row itself
    values = row if callable(values) else values
    case = (values,) if columns == 1 and values is row else tuple(values)
    assert len(case) == columns, f"{row!r} has not {columns} values"
    return case


def _label(
    columns: Sequence[str], case: Sequence[Any], ids: Callable[[Any], object] | Sequence[str] | None, number: int
) -> str:
    if ids is not None and not callable(ids):
        return ids[number]
    shown = [ids(value) if ids else None for value in case]
    named = zip(columns, shown, case, strict=True)
    return ", ".join(f"{name}={_short(value) if text is None else text}" for name, text, value in named)


def _short(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= _KEPT else f"{text[:_KEPT]}…"
