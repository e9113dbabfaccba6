"""Parameters with several values: from flags such as ``--sessions 1,2,4``, or from the tables of a sweep file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from openslob.config.layers import Layer
from openslob.config.parameters import by_slob_name, format_value, parameters
from openslob.config.resolve import resolve
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.toml import parse_toml
from openslob.core.workload import CLASSES, RATE_SCHEDULE, Workload
from openslob.metrics import METRICS

Texts = Mapping[str, Sequence[str]]
# Tables of a sweep file.
SWEEP, GRID, SERVER, SETTINGS = "sweep", "grid", "server", "settings"


@dataclass(frozen=True)
class Grid:
    """A workload with the first value of each varied parameter, and all their values by field name.

    The values have the form of records, without duplicates, in the order given. ``notices`` are printed and recorded.
    ``sources`` says where each parameter of the workload came from, as in `Resolution`.
    """

    workload: Workload
    values: Mapping[str, tuple[Any, ...]]
    notices: Sequence[str]
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepFile:
    """The tables of a sweep file: the values of each parameter as text; those of ``server`` by the server's flags.

    ``about`` describes the sweep. ``repeats`` is None if the file does not give it. ``against`` is the parameter whose
    two values are compared. ``figures`` are the metrics to show with every point. ``data_per_cache`` is how many times
    the server's cache the data are at least, unless SCALE is given. ``settings`` are the server's own, by name.
    ``notices`` are printed and recorded.
    """

    grid: Texts = field(default_factory=dict)
    server: Texts = field(default_factory=dict)
    about: str = ""
    repeats: int | None = None
    against: str | None = None
    figures: tuple[str, ...] = ()
    data_per_cache: int | None = None
    settings: Texts = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def split(text: str, name: str = "") -> list[str]:
    """Return the values in the text of a flag; one that has commas of its own, as of classes, is one."""
    return [text] if name in (CLASSES, RATE_SCHEDULE) else [part.strip() for part in text.split(",")]


def resolve_grid(
    texts: Texts, config: Path | None, environment: Mapping[str, str], loaded: Layer = MappingProxyType({})
) -> Grid:
    """Return the grid of ``texts``, the values of each given parameter by field name.

    Other parameters come from environment, files, what is ``loaded`` and defaults. Raises UsageError as `resolve` does.
    """
    if len(prices := texts.get("price", ())) > 1:
        raise UsageError(f"{' and '.join(prices)}: a price is the server's, and no dimension of a sweep", "give one")
    texts = {name: rehearsal.ends(values) for name, values in texts.items()}
    first = {name: values[0] for name, values in texts.items()}

    def value_of(name: str, text: str) -> Any:  # noqa: ANN401 - of any parameter
        found = resolve({**first, name: text}, config, environment).with_loaded(loaded)
        return found.workload.to_record()[name]

    several = {name: values for name, values in texts.items() if len(values) > 1}
    varied = {name: tuple(dict.fromkeys(value_of(name, text) for text in texts)) for name, texts in several.items()}
    base = resolve(first, config, environment).with_loaded(loaded)
    differing = {name: values for name, values in varied.items() if len(values) > 1}
    return Grid(base.workload, differing, base.notices, base.sources)


def read_sweep_file(path: Path) -> SweepFile:
    """Read a TOML file with tables ``[grid]`` of workload and ``[server]`` of server parameters, values or lists.

    A table ``[settings]`` has the server's own settings.

    A table ``[sweep]`` may have the other fields of `SweepFile`.

    Raises:
        UsageError: The file can't be read, or has anything else in it.

    """
    try:
        content = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the sweep file {path} can't be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    tables = (SWEEP, GRID, SERVER, SETTINGS)
    unknown = next((key for key in content if key not in tables or not isinstance(content[key], dict)), None)
    if unknown:
        raise UsageError(f"{path}: {unknown} is not a table of sweep files", f"they have [{'], ['.join(tables)}]")
    grid = {_field(key, path): values for key, values in _texts(content.get(GRID, {}), path).items()}
    server = {key.replace("-", "_"): v for key, v in _texts(content.get(SERVER, {}), path).items()}
    settings = _texts(content.get(SETTINGS, {}), path)
    return replace(_about(content.get(SWEEP, {}), path), grid=grid, server=server, settings=settings)


def _about(table: Mapping[str, Any], path: Path) -> SweepFile:
    types = {"about": str, "repeats": int, "against": str, "figures": list, "data_per_cache": int}
    for key, value in table.items():
        if not isinstance(value, types.get(key, ())):
            known = ", ".join(types)
            raise UsageError(f"{path}: {key} in [{SWEEP}] is unknown or has the wrong type", f"the keys are {known}")
    for key in ("repeats", "data_per_cache"):
        if table.get(key, 1) < 1:
            raise UsageError(f"{path}: {key} in [{SWEEP}] is below 1", "give 1 or more")
    figures = tuple(map(str, table.get("figures", ())))
    unknown = next((name for name in figures if name not in METRICS), None)
    if unknown:
        raise UsageError(f"{path}: {unknown} is not a figure", "docs/figures.md lists them")
    return replace(SweepFile(), **{**table, "figures": figures})


def _field(key: str, path: Path) -> str:
    slob = by_slob_name().get(key.upper())
    name = slob.name if slob else key.lower().replace("-", "_")
    if name not in parameters():
        raise UsageError(f"{path}: {key} is not a parameter", "`slob run --help-all` lists them")
    return name


def _texts(table: Mapping[str, Any], path: Path) -> dict[str, list[str]]:
    texts = {}
    for key, value in table.items():
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(each, (str, int, float)) for each in values):
            raise UsageError(f"{path}: {key} is neither a value nor a list of values", "such as [1, 2, 4]")
        texts[key] = [format_value(each) for each in values]
    return texts
