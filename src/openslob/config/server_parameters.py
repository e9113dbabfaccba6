"""The parameters of managed servers that a sweep or a lab can vary, and what their values mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.core.units import parse_bytes
from openslob.record.varied import Value

# Fields of a server that a restart can't change: each value needs a server of its own.
MADE_WITH = ("version", "bin_dir", "block_size", "table_engine")


@dataclass(frozen=True)
class ServerParameter:
    """A parameter of managed servers that a sweep can vary: its flag, its field in `ServerSpec`, its parser."""

    name: str
    field: str
    read: Callable[[str], Value]
    meaning: str

    @property
    def flag(self) -> str:
        """The parameter's flag on the command line."""
        return "--" + self.name.replace("_", "-")


def _cache(text: str) -> int:
    return rehearsal.amount(parse_bytes(text), rehearsal.LEAST_CACHE)


def parse_switch(text: str) -> bool:
    """Return whether a text means on. ValueError for one that means neither on nor off."""
    if text.lower() not in ("on", "off", "true", "false"):
        raise ValueError(f"{text!r} is neither on nor off")
    return text.lower() in ("on", "true")


SERVER_PARAMETERS: Mapping[str, ServerParameter] = {
    each.name: each
    for each in (
        ServerParameter("cache", "cache_bytes", _cache, "Sizes of the cache, such as 64M,1G."),
        ServerParameter("io", "io", str, "direct, buffered or both."),
        ServerParameter("huge_pages", "huge_pages", parse_switch, "Huge pages for the cache: on, off or both."),
        ServerParameter("cpus", "cpus", str, "CPUs of the whole server: such as 0 or 0-3 or all."),
        ServerParameter("version", "version", str, "Major versions; each gets a server of its own."),
        ServerParameter("bin_dir", "bin_dir", str, "Directories of programs; each gets a server of its own."),
        ServerParameter(
            "table_engine", "table_engine", str.lower, "Storage engines of the tables; each gets a server of its own."
        ),
        ServerParameter("block_size", "block_size", parse_bytes, "Block sizes; each gets a server of its own."),
    )
}


def server_grid(texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[Value, ...]]:
    """Return values by field of `ServerSpec` from texts by parameter name. UsageError for an unknown name or value."""
    grid: dict[str, tuple[Value, ...]] = {}
    for name, values in texts.items():
        if name not in SERVER_PARAMETERS:
            raise UsageError(f"{name} is not a server parameter", f"choose one of {', '.join(SERVER_PARAMETERS)}")
        parameter = SERVER_PARAMETERS[name]
        try:
            grid[parameter.field] = tuple(dict.fromkeys(parameter.read(text) for text in rehearsal.ends(values)))
        except ValueError as error:
            raise UsageError(f"{parameter.flag}: {error}") from error
    return grid
