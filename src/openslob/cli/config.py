"""`slob config`: the configuration files, and every setting with its source."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from openslob.cli.common_options import RESULTS
from openslob.cli.configured import FLAG, configuration, from_file, server_settings, strength
from openslob.cli.console import write
from openslob.cli.options import Resolved, with_workload
from openslob.config.configuration import DEFAULT_FILE, user_file
from openslob.config.layers import LOADED, loaded_layer
from openslob.config.parameters import format_value, parameters
from openslob.config.resolve import DEFAULT
from openslob.core.workload import DataSpec, Workload

NAME = Annotated[str, typer.Option(envvar="SLOB_NAME", show_envvar=False, metavar="NAME", help="Name of runs.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the settings as JSON.")]
# Parameters that runs, checks and sweeps take from the data that are loaded, if nothing gives them.
_OF_THE_DATA = frozenset(loaded_layer(DataSpec(1, 1, 1, True, compressible=1), 1))


@dataclass(frozen=True)
class _Setting:
    """One setting: its heading, its key in slob.toml, its value, and where it comes from."""

    group: str
    key: str
    value: str
    source: str


@with_workload
def config(
    ctx: typer.Context, resolved: Resolved, name: NAME = "run", *, results: RESULTS, as_json: JSON = False
) -> None:
    """Show which files are read, and every setting with its value and source. It contacts no server.

    Example: slob config
    """
    settings = [
        *_of_commands(
            ctx,
            str(resolved.target),
            {"results": str(results), "name": name, "consent": ",".join(sorted(resolved.consented)) or "none"},
        ),
        *(_Setting("server", one.key, one.value, one.where) for one in server_settings(ctx).values()),
        *_of_the_workload(resolved.parameters.workload, resolved.parameters.sources),
    ]
    files = [str(path) for path in configuration(ctx).files]
    if as_json:
        write(json.dumps({"files": files, "settings": [asdict(one) for one in settings]}, indent=1))
    else:
        write(_text(files, settings))


def _of_commands(ctx: typer.Context, target: str, others: dict[str, str]) -> Iterator[_Setting]:
    by = "engine" if strength(ctx, "engine") > strength(ctx, "target") else "target"
    yield _Setting("commands", "target", target, _source(ctx, by))
    for key, value in others.items():
        yield _Setting("commands", key, value, _source(ctx, key))


def _source(ctx: typer.Context, option: str) -> str:
    setting = from_file(ctx, option)
    return setting.where if setting else {FLAG: "flag", 0: DEFAULT}.get(strength(ctx, option), "environment")


def _of_the_workload(workload: Workload, sources: Mapping[str, str]) -> Iterator[_Setting]:
    for key, parameter in parameters().items():
        of_data = key in _OF_THE_DATA and sources[key] == DEFAULT
        source = f"{LOADED}, else {DEFAULT}" if of_data else sources[key]
        yield _Setting(parameter.group, key, format_value(getattr(workload, key)) or "none", source)


def _text(files: Sequence[str], settings: Sequence[_Setting]) -> str:
    read = files or [f"none; there could be {Path() / DEFAULT_FILE} and {user_file()}"]
    lines = ["FILES, the strongest last", *(f"  {path}" for path in read)]
    key_width, width = (max(len(getattr(one, field)) for one in settings) for field in ("key", "value"))
    for group in dict.fromkeys(one.group for one in settings):
        rows = [one for one in settings if one.group == group]
        lines += ["", group.upper(), *(f"  {one.key:<{key_width}}  {one.value:<{width}}  {one.source}" for one in rows)]
    return "\n".join(lines)
