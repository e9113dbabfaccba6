"""Read slob.toml: parameters at the top or in a table ``[workload]``, by either of their names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from openslob.config.parameters import Setting, shown
from openslob.errors import UsageError

TABLE = "workload"


def read_toml(text: str, origin: str) -> list[Setting]:
    """Return the settings of a file. UsageError names ``origin`` and the line or key."""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin}: {error}") from None
    table = content.pop(TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{origin}: {TABLE} is a table", f"write [{TABLE}] on a line of its own")
    return [*_settings(content, text, origin), *_settings(table, text, origin)]


def _settings(table: Mapping[str, Any], text: str, origin: str) -> Iterator[Setting]:
    for key, value in table.items():
        where = f"{origin}:{_line_of(key, text)}"
        if not isinstance(value, (str, int, float)):
            raise UsageError(f"{where}: {key} is not a number, a string, true or false")
        yield Setting(key, shown(value) if isinstance(value, bool) else str(value), where)


def _line_of(key: str, text: str) -> int:
    """Return the line on which a key or table begins; tomllib does not keep it."""
    found = re.search(rf"""^[ \t]*(\[[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""", text, re.MULTILINE)
    return text.count("\n", 0, found.start(0)) + 1 if found else 1
