"""Reads the .sql files of an engine, and names its objects. Identifiers are quoted by the driver, values are bound."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Generic, TypeVar

Name = TypeVar("Name")
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


class ObjectNames(ABC, Generic[Name]):
    """Quoted names of the objects that the product creates; numbers are SLOB's schema numbers, from 1."""

    @abstractmethod
    def place(self, name: str) -> Name:
        """Return the name of an object with that of the place where all of them are."""

    def cf1(self, number: int) -> Name:
        """Return the name of the table of one row a block."""
        return self.place(f"cf1_{number}")

    def cf2(self, number: int) -> Name:
        """Return the name of the short-scan table."""
        return self.place(f"cf2_{number}")

    def procedure(self, number: int, part: int = 0) -> Name:
        """Return the name of the work loop's procedure for the tables of one schema, and one class of sessions."""
        return self.place(f"slice_{number}_{part}" if part else f"slice_{number}")

    def manifest(self) -> Name:
        """Return the name of the table that says what was loaded and whether it was verified."""
        return self.place("manifest")

    def ledger(self, part: str) -> Name:
        """Return the name of a table of the proof of what the server keeps: ``sessions``, ``rows`` or ``heartbeat``."""
        return self.place(f"ledger_{part}")
