"""Reads the .sql files beside an engine. Identifiers are put in by the driver's quoting, values are bound."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)


@cache
def read_sql(package: str, name: str) -> str:
    """Text of ``sql/<name>.sql`` in an engine's package, header comment included."""
    return (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


@cache
def read_statements(package: str, name: str) -> Mapping[str, str]:
    """The statements of a file that has several, by the name in the ``-- name:`` line above each."""
    parts = _NAME.split(read_sql(package, name))
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))
