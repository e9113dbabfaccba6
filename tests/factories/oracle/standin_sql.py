"""Oracle's SQL in the terms of SQLite: as far as the engine's own statements go.

The stand-in keeps its tables in SQLite, so that a statement which others compose is executed instead of recognised.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from factories.oracle.rowid_text import text_of
from openslob.engines.oracle.tables import Rowid, parse_rowid

# What stands for # in a name, which SQLite does not take.
SHARP = "__number"
_PARTS = re.compile(r"('(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/)", re.DOTALL)
_LOCKS = re.compile(r"\bFOR\s+UPDATE(?:\s+OF\s+\w+)?(?:\s+NOWAIT|\s+WAIT\s+\d+|\s+SKIP\s+LOCKED)?", re.IGNORECASE)
_FIRST_ROWS = re.compile(r"\bFETCH\s+FIRST\s+(\S+)\s+ROWS?\s+ONLY", re.IGNORECASE)
_ROW_LIMIT = re.compile(r"\b(WHERE|AND)\s+ROWNUM\s*<=\s*(:?\w+)", re.IGNORECASE)
_RULES = (
    (re.compile(r"(?<=\w)#"), SHARP),
    (re.compile(r"\bSYS\."), ""),
    (re.compile(r"\b(G?V)_\$", re.IGNORECASE), r"\1$"),
    (re.compile(r"\bAS\s+DATE\b", re.IGNORECASE), "AS REAL"),
    (re.compile(r"\bDBMS_RANDOM\.", re.IGNORECASE), "DBMS_RANDOM_"),
    (re.compile(r"\bUSER\b", re.IGNORECASE), "'SLOB'"),
    (re.compile(r"\b(SYSTIMESTAMP|SYSDATE|CURRENT_TIMESTAMP)\b", re.IGNORECASE), "now_us()"),
    (re.compile(r"\bEXTRACT\s*\(\s*(\w+)\s+FROM\s+", re.IGNORECASE), r"extracted('\1', "),
    (re.compile(r"\bTIMESTAMP\s*$", re.IGNORECASE), ""),
    (re.compile(r"\bLISTAGG\s*\(([^()]*)\)\s*WITHIN\s+GROUP\s*\([^()]*\)", re.IGNORECASE), r"group_concat(\1)"),
    (re.compile(r"\bMINUS\b", re.IGNORECASE), "EXCEPT"),
    (re.compile(r"\bLIMIT\b(?=\s*(,|FROM))", re.IGNORECASE), '"LIMIT"'),
    (re.compile(r"(?<=\.)LIMIT\b", re.IGNORECASE), '"LIMIT"'),
)


def code_of(text: str) -> str:
    """Return a statement without its comments, and with one blank for each stretch of white space outside of texts."""
    plain = "".join(" " if part.startswith(("--", "/*")) else part for part in _PARTS.split(text))
    parts = _PARTS.split(plain)
    return "".join(re.sub(r"\s+", " ", part) if at % 2 == 0 else part for at, part in enumerate(parts)).strip()


def translated(text: str) -> str:
    """Return a query or a change of rows for SQLite."""
    parts = _PARTS.split(code_of(text))
    code = "".join(_rewritten(part) if at % 2 == 0 else part for at, part in enumerate(parts))
    code = re.sub(r"'1970-01-01 00:00:00(?:\.0+)? \+00:00'", "0", code)
    if first := _ROW_LIMIT.search(code):
        kept = f"{first[1]} 1 = 1"
        code = f"{code[: first.start()]}{kept}{code[first.end() :]} LIMIT {first[2]}"
    return _FIRST_ROWS.sub(r"LIMIT \1", _LOCKS.sub("", code))


def _rewritten(code: str) -> str:
    for pattern, replacement in _RULES:
        code = pattern.sub(replacement, code)
    return code


def locks_rows(text: str) -> bool:
    """Return whether a query locks its rows."""
    return bool(_LOCKS.search(code_of(text)))


def now_us() -> int:
    """Return the time in µs since the epoch."""
    return time.time_ns() // 1000


_UNITS = {"DAY": (86_400_000_000, 10**9), "HOUR": (3_600_000_000, 24), "MINUTE": (60_000_000, 60)}


def _extracted(unit: str, us: int) -> float:
    if unit.upper() == "SECOND":
        return us % 60_000_000 / 1e6
    size, limit = _UNITS[unit.upper()]
    return us // size % limit


def _to_char(value: Any, _form: str = "") -> str | None:
    return None if value is None else str(value)


def _decoded(value: Any, *pairs: Any) -> Any:
    for at in range(0, len(pairs) - 1, 2):
        if pairs[at] == value:
            return pairs[at + 1]
    return pairs[-1] if len(pairs) % 2 else None


def _regexp_substr(value: str | None, pattern: str, *rest: Any) -> str | None:
    found = re.search(pattern, value or "")
    group = rest[3] if len(rest) > 3 else 0
    return found[group] if found else None


def _rowid(rowid: int) -> str:
    """Return a row's address: one row a block, so that its number is its block's."""
    return text_of(Rowid(file=1, block=rowid, row=0))


def _padded(value: Any, size: int, fill: str = " ") -> str:
    return (str(value) + fill * size)[:size]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "now_us": now_us,
    "extracted": _extracted,
    "to_char": _to_char,
    "to_number": float,
    "nvl": lambda value, other: other if value is None else value,
    "nvl2": lambda value, some, none: none if value is None else some,
    "decode": _decoded,
    "greatest": max,
    "least": min,
    "floor": lambda value: int(value // 1),
    "ceil": lambda value: int(-(-value // 1)),
    "mod": lambda value, by: value % by,
    "rpad": _padded,
    "regexp_substr": _regexp_substr,
    "rowidtochar": _rowid,
    "chartorowid": lambda text: parse_rowid(text).block,
    "lengthb": lambda value: None if value is None else len(str(value).encode()),
    "sys_extract_utc": lambda value: value,
    "dbms_random_string": lambda _kind, length: "x" * int(length),
}


class _Database(sqlite3.Connection):
    """One that is closed with the last reference to it: Python 3.13 warns of those that are left open."""

    def __del__(self) -> None:
        self.close()


def database(context: Callable[..., str | None]) -> sqlite3.Connection:
    """Return an empty database in memory, for all threads. ``context`` is SYS_CONTEXT."""
    found = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None, factory=_Database)
    for name, function in _FUNCTIONS.items():
        found.create_function(name, -1, function)
    found.create_function("sys_context", -1, context)
    found.execute("CREATE TABLE dual (dummy)")
    found.execute("INSERT INTO dual VALUES ('X')")
    return found
