"""Reads the .sql files beside an engine. Identifiers are put in by the driver's quoting, values are bound."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def read_sql(package: str, name: str) -> str:
    """Text of ``sql/<name>.sql`` in an engine's package, header comment included."""
    return (files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")
