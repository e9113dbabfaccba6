"""`slob server`: managed database servers on this host, made and run by us."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli.raw_options import size
from openslob.engines import registry
from openslob.engines.managed.base import ManagedServer, ServerSpec, ServerStatus
from openslob.errors import UsageError
from openslob.units import format_bytes

ALL_CPUS = "all"


NAME = Annotated[str, typer.Argument(metavar="[NAME]", help="Which server.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]
ENGINE = Annotated[
    str | None,
    typer.Option(
        metavar="ENGINE",
        help=f"Which database: {' or '.join(registry.managed_engines())} (new: {registry.default_engine()}).",
    ),
]
VERSION = Annotated[str | None, typer.Option(metavar="N", help="Major version (new: the latest that is here).")]
BIN_DIR = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Directory of another version's programs.", resolve_path=True)
]
DATA_DIR = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Data there: an empty or new directory.", resolve_path=True)
]
BLOCK_SIZE = Annotated[
    int | None,
    typer.Option(parser=size, metavar="SIZE", help="Of a block (new: as the programs have it)."),
]
CACHE = Annotated[int | None, typer.Option(parser=size, metavar="SIZE", help="Of the cache, such as 2G (new: 128M).")]
LOG_SIZE = Annotated[int | None, typer.Option(parser=size, metavar="SIZE", help="To which the log may grow (new: 4G).")]
IO = Annotated[
    str | None,
    typer.Option(metavar="direct|buffered", help="direct, or buffered: through the page cache (new: direct)."),
]
CPUS = Annotated[str | None, typer.Option(metavar="CPUS", help="CPUs of the whole server: 0, 0-3 or all (new: all).")]
MAX_SESSIONS = Annotated[int | None, typer.Option(metavar="N", help="Most sessions of a run (new: 320).")]
STANDBY_OF = Annotated[
    str | None, typer.Option(metavar="NAME", help="A read-only copy that follows this managed server (new only).")
]
HUGE_PAGES = Annotated[bool | None, typer.Option(metavar="", help="Reserve huge pages for the cache (needs root).")]


def start(
    name: NAME = registry.EMBEDDED,
    *,
    engine: ENGINE = None,
    version: VERSION = None,
    bin_dir: BIN_DIR = None,
    data_dir: DATA_DIR = None,
    block_size: BLOCK_SIZE = None,
    cache: CACHE = None,
    log_size: LOG_SIZE = None,
    io: IO = None,
    cpus: CPUS = None,
    max_sessions: MAX_SESSIONS = None,
    huge_pages: HUGE_PAGES = None,
    standby_of: STANDBY_OF = None,
    as_json: JSON = False,
) -> None:
    """Make a server if it is new, start it if it is down, restart it if it shall run differently.

    What is not given stays as it is. Example: slob server start embedded --cache 1G --cpus 0
    """
    asked = {"version": version, "bin_dir": bin_dir, "data_dir": data_dir, "block_size": block_size, "io": io}
    asked |= {"cache_bytes": cache, "log_bytes": log_size, "max_sessions": max_sessions, "huge_pages": huge_pages}
    asked |= {"standby_of": standby_of}
    spec = _changed(_spec(name, engine), {**asked, "engine": engine, "cpus": cpus})
    _show(registry.managed(spec).start(), as_json)


def stop(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Stop a server cleanly; its data stay. Example: slob server stop embedded"""
    _show(_existing(name).stop(), as_json)


def status(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Say whether a server runs, where and how. Example: slob server status embedded"""
    _show(_existing(name).status(), as_json)


def destroy(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Stop a server and remove it with all its data. Example: slob server destroy embedded"""
    server = _existing(name)
    server.destroy()
    _show(server.status(), as_json)


def list_servers(as_json: JSON = False) -> None:
    """List all managed servers. Example: slob server list"""
    found = [server.status() for name in registry.known() if (server := registry.find(name))]
    if as_json:
        typer.echo(json.dumps([_as_json(one) for one in found], indent=1))
        return
    if not found:
        typer.echo("slob: there are no managed servers; `slob server start NAME` makes one", err=True)
    for one in found:
        typer.echo(f"{one.spec.name:<16} {one.state:<8} {_product(one.spec):<17} {_how(one.spec)}")


def register(app: typer.Typer) -> None:
    """Add `slob server` and its commands."""
    server = typer.Typer(name="server", help="Managed servers on this host: made and run by us.", no_args_is_help=True)
    for command in (start, stop, status, destroy):
        server.command()(command)
    server.command("list")(list_servers)
    app.add_typer(server)


def _existing(name: str) -> ManagedServer:
    server = registry.find(name)
    if server is None:
        raise UsageError(f"there is no server {name!r}", f"there are: {', '.join(registry.known()) or 'none'}")
    return server


def _spec(name: str, engine: str | None) -> ServerSpec:
    """The server's specification as it is, or as it would be made."""
    if present := registry.find(name):
        return present.status().spec
    return registry.default_spec(name, engine or registry.engine_on_demand(name) or registry.default_engine())


def _changed(spec: ServerSpec, asked: Mapping[str, Any]) -> ServerSpec:
    """The specification with what was asked for; None stays as it is."""
    given = {field: value for field, value in asked.items() if value is not None}
    if given.get("cpus") == ALL_CPUS:
        given["cpus"] = None
    return replace(spec, **given)


def _product(spec: ServerSpec) -> str:
    return f"{spec.engine} {spec.version}"


def _how(spec: ServerSpec) -> str:
    blocks = f"{format_bytes(spec.block_size)} blocks, " if spec.block_size else ""
    return f"{blocks}{format_bytes(spec.cache_bytes)} cache, {spec.io} I/O, CPUs {spec.cpus or ALL_CPUS}"


def _as_json(status: ServerStatus) -> dict[str, object]:
    spec = {key: str(value) if isinstance(value, Path) else value for key, value in vars(status.spec).items()}
    where = {"pid": status.pid, "url": status.url, "data_directory": str(status.data_directory)}
    return {"name": status.spec.name, "state": status.state, **where, "bytes_on_disk": status.bytes_on_disk, **spec}


def _show(status: ServerStatus, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_json(status), indent=1))
        return
    spec = status.spec
    lines = {
        "server": f"{spec.name}, {status.state}" + (f", process {status.pid}" if status.pid else ""),
        "version": _product(spec) + (f" from {spec.bin_dir}" if spec.bin_dir else ""),
        **({"follows": spec.standby_of} if spec.standby_of else {}),
        "runs with": f"{_how(spec)}, {format_bytes(spec.log_bytes)} log, {spec.max_sessions} sessions",
        "url": status.url,
        "data": f"{status.data_directory}, {format_bytes(status.bytes_on_disk)} on disk",
    }
    for label, text in lines.items():
        typer.echo(f"{label:<10} {text}")
