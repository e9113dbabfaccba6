"""Parameters with several values each: from flags such as ``--sessions 1,2,4``, or from the tables of a sweep file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openslob.config.parameters import by_slob_name, parameters, shown
from openslob.config.resolve import resolve
from openslob.errors import UsageError
from openslob.workload import Workload

Texts = Mapping[str, Sequence[str]]
# Tables of a sweep file.
GRID, SERVER = "grid", "server"


@dataclass(frozen=True)
class Grid:
    """A workload, whose varied parameters have the first of their values, and those values by field name.

    The values are as records hold them, without doubles, in the order given. ``notices`` are for user and record.
    """

    workload: Workload
    values: Mapping[str, tuple[Any, ...]]
    notices: Sequence[str]


@dataclass(frozen=True)
class SweepFile:
    """A sweep file's tables: texts of each parameter's values. ``server`` is by the names of the server's flags."""

    grid: Texts
    server: Texts


def split(text: str) -> list[str]:
    """The values in a flag's text."""
    return [part.strip() for part in text.split(",")]


def resolve_grid(texts: Texts, config: Path | None, environment: Mapping[str, str]) -> Grid:
    """The grid that results; ``texts`` holds the values of each parameter given, by field name.

    What is not given comes from environment, file and defaults. UsageError for whatever `resolve` refuses.
    """
    first = {name: values[0] for name, values in texts.items()}
    base = resolve(first, config, environment)
    varied = {
        name: tuple(
            dict.fromkeys(
                resolve({**first, name: text}, config, environment).workload.to_record()[name] for text in values
            )
        )
        for name, values in texts.items()
        if len(values) > 1
    }
    return Grid(base.workload, {name: values for name, values in varied.items() if len(values) > 1}, base.notices)


def read_sweep_file(path: Path) -> SweepFile:
    """A TOML file with a ``[grid]`` of workload parameters and a ``[server]`` of server parameters, lists or single.

    UsageError for anything else in it.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the sweep file {path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    strange = next((key for key in content if key not in (GRID, SERVER) or not isinstance(content[key], dict)), None)
    if strange:
        raise UsageError(f"{path}: {strange} is not known here", f"a sweep file has [{GRID}] and [{SERVER}]")
    grid = {_field(key, path): values for key, values in _texts(content.get(GRID, {}), path).items()}
    return SweepFile(grid, {key.replace("-", "_"): v for key, v in _texts(content.get(SERVER, {}), path).items()})


def _field(key: str, path: Path) -> str:
    slob = by_slob_name().get(key.upper())
    name = slob.name if slob else key.lower().replace("-", "_")
    if name not in parameters():
        raise UsageError(f"{path}: {key} is no parameter", "`slob run --help` lists them")
    return name


def _texts(table: Mapping[str, Any], path: Path) -> dict[str, list[str]]:
    found = {}
    for key, value in table.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, (str, int, float)) for each in values):
            raise UsageError(f"{path}: {key} is neither a value nor a list of values", "such as [1, 2, 4]")
        found[key] = [shown(each) for each in values]
    return found
