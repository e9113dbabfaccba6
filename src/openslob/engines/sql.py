"""Reads the .sql files of an engine. Identifiers are quoted by the driver, values are bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_COMMENT = re.compile(r"\A(\s*--[^\n]*\n)+")


@cache
def read_sql(package: str, name: str) -> str:
    """Return the text of ``sql/<name>.sql`` in an engine's package, header comment included."""
    return (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def read_statements(package: str, name: str) -> Mapping[str, str]:
    """Return the statements of a file that has several, by the name in the ``-- name:`` line above each.

    The comment between that line and the statement is left out.
    """
    parts = _NAME.split(read_sql(package, name))
    return dict(zip(parts[1::2], (_COMMENT.sub("", text).strip() for text in parts[2::2]), strict=True))
