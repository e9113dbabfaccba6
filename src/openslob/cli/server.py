"""`slob server`: managed database servers, created and run by slob on this host."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.cli.common_options import parse_amount, parse_cache, parse_size
from openslob.cli.completion import servers
from openslob.cli.configured import from_file
from openslob.cli.console import columns, notify, write, write_report
from openslob.cli.progress import working
from openslob.config.configuration import ENGINE_VARIABLE
from openslob.config.parameters import Setting
from openslob.config.slob_toml import SERVER, variable_of
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import format_bytes
from openslob.engines import registry
from openslob.engines.managed.base import ManagedServer, ServerSpec, ServerStatus
from openslob.report.format import fold_table, wrap

ALL_CPUS = "all"


NAME = Annotated[str, typer.Argument(autocompletion=servers, metavar="[NAME]", help="Name of the server.")]
NAME_TO_START = Annotated[
    str | None,
    typer.Argument(
        autocompletion=servers, metavar="[NAME]", help="Name of the server (default: embedded, or that of --engine)."
    ),
]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


def _setting(key: str, metavar: str, help: str, **more: Any) -> Any:  # noqa: ANN401 - as typer's own
    """Return an option that environment and files may set, too."""
    return typer.Option(envvar=variable_of(key, SERVER), show_envvar=False, metavar=metavar, help=help, **more)


ENGINE = Annotated[
    str | None,
    typer.Option(
        envvar=ENGINE_VARIABLE,
        show_envvar=False,
        metavar="ENGINE",
        help=f"Database: {' or '.join(registry.managed_engines())} (new server: {registry.default_engine()}).",
    ),
]
VERSION = Annotated[str | None, _setting("version", "N", "Major version (new server: the latest installed).")]
BIN_DIR = Annotated[
    Path | None,
    _setting(
        "bin_dir", "DIR", "Directory of the server's programs. Without it, those that are found.", resolve_path=True
    ),
]
DATA_DIR = Annotated[
    Path | None, _setting("data_dir", "DIR", "Directory for the data, empty or new.", resolve_path=True)
]
BLOCK_SIZE = Annotated[
    int | None, _setting("block_size", "SIZE", "Block size (new server: default of the programs).", parser=parse_size)
]
CACHE = Annotated[
    int | None, _setting("cache", "SIZE", "Cache size, such as 2G (new server: 128M).", parser=parse_cache)
]
LOG_SIZE = Annotated[
    int | None, _setting("log_size", "SIZE", "Maximum size of the log (new server: 4G).", parser=parse_amount)
]
IO = Annotated[
    str | None,
    _setting("io", "direct|buffered", "direct, or buffered: through the page cache (new server: direct)."),
]
CPUS = Annotated[str | None, _setting("cpus", "CPUS", "CPUs of the server: 0, 0-3 or all (new server: all).")]
MAX_SESSIONS = Annotated[
    int | None, _setting("max_sessions", "N", "Maximum sessions of a run (new server: 320).", max=100_000)
]
STANDBY_OF = Annotated[
    str | None, typer.Option(metavar="NAME", help="Create a standby: a read-only copy of this server.")
]
TABLE_ENGINE = Annotated[
    str | None,
    _setting("table_engine", "NAME", "Storage engine of the tables, where there are several.", parser=str.lower),
]
HUGE_PAGES = Annotated[bool | None, _setting("huge_pages", "", "Reserve huge pages for the cache (needs root).")]

# The field of `ServerSpec` of each setting, and the parser of its text; and what only a new server can be given.
SPEC_FIELDS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "version": ("version", str),
    "bin_dir": ("bin_dir", lambda text: Path(text).absolute()),
    "data_dir": ("data_dir", lambda text: Path(text).absolute()),
    "block_size": ("block_size", parse_size),
    "cache": ("cache_bytes", parse_cache),
    "log_size": ("log_bytes", parse_amount),
    "io": ("io", str),
    "cpus": ("cpus", str),
    "max_sessions": ("max_sessions", int),
    "table_engine": ("table_engine", str.lower),
    "huge_pages": ("huge_pages", lambda text: text.lower() in ("true", "1", "yes", "on")),
}
_FOR_NEW_SERVERS = ("engine", "version", "bin_dir", "data_dir", "block_size", "table_engine")


def start(
    ctx: typer.Context,
    name: NAME_TO_START = None,
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
    table_engine: TABLE_ENGINE = None,
    standby_of: STANDBY_OF = None,
    as_json: JSON = False,
) -> None:
    """Create a server if it is new, start it if it is down, restart it if its settings change.

    Settings that are not given stay as they are. Example: slob server start embedded --cache 1G --cpus 0
    """
    given = {
        "engine": engine, "version": version, "bin_dir": bin_dir, "data_dir": data_dir, "block_size": block_size,
        "cache": cache, "log_size": log_size, "io": io, "cpus": cpus, "max_sessions": max_sessions,
        "huge_pages": huge_pages, "table_engine": table_engine,
    }  # fmt: skip
    if name is None:
        name = registry.name_embedded(engine) if engine else registry.EMBEDDED
    if registry.find(name) or registry.engine_on_demand(name):
        given |= dict.fromkeys(_find_left_out(ctx, name))
    fields = {SPEC_FIELDS[key][0] if key in SPEC_FIELDS else key: value for key, value in given.items()}
    engine = engine if given["engine"] else _engine_of(standby_of)
    spec = _change(_spec(name, engine), {**fields, "standby_of": standby_of})
    with working(f"starting the server {name}"):
        started = registry.managed(spec).start()
    _print_status(started, as_json)


def _find_left_out(ctx: typer.Context, name: str) -> list[str]:
    """Return the settings of a file that only new servers take, and print those that differ from this server."""
    server = registry.find(name)
    made = vars(server.status().spec) if server else {"engine": registry.engine_on_demand(name)}
    left_out = []
    for key in _FOR_NEW_SERVERS:
        setting = from_file(ctx, key)
        if setting and key in made:
            left_out.append(key)
            if str(made[key]) != str(SPEC_FIELDS[key][1](setting.value) if key in SPEC_FIELDS else setting.value):
                notify(f"{setting.where}: {setting.key} is for new servers; {name} has {made[key] or 'the default'}")
    return left_out


def spec_with(spec: ServerSpec, settings: Mapping[str, Setting]) -> ServerSpec:
    """Return the specification of a new server with settings of environment and files, by key.

    Raises:
        UsageError: A value is not allowed.

    """
    fields: dict[str, object] = {}
    for key, setting in settings.items():
        field, read = SPEC_FIELDS[key]
        try:
            fields[field] = read(setting.value)
        except (ValueError, typer.BadParameter) as error:
            raise UsageError(f"{setting.where}: {setting.key}: {error}") from None
    return _change(spec, fields)


def stop(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Stop a server cleanly and keep its data. Example: slob server stop embedded"""
    server = _existing(name)
    with working(f"stopping the server {name}"):
        stopped = server.stop()
    _print_status(stopped, as_json)


def status(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Show whether a server runs, where and with which settings. Example: slob server status embedded"""
    _print_status(_existing(name).status(), as_json)


def destroy(name: NAME = registry.EMBEDDED, as_json: JSON = False) -> None:
    """Stop a server and remove it with all its data. Example: slob server destroy embedded"""
    try:
        server = _existing(name)
    except UsageError:
        raise
    except SlobError as error:
        notify(f"{error.what}; what is left of the server is removed")
        server = registry.salvage(name)
    server.destroy()
    gone = server.status()
    if as_json:
        _print_status(gone, as_json)
    else:
        write(f"server {name} is destroyed; its data in {gone.data_directory} are removed")


def list_servers(as_json: JSON = False) -> None:
    """List all managed servers. Example: slob server list"""
    found = list(registry.every_server())
    for server in found:
        if isinstance(server, SlobError):
            notify(str(server))
    statuses = [server.status() for server in found if not isinstance(server, SlobError)]
    if as_json:
        typer.echo(json.dumps([_as_json(known) for known in statuses], indent=1))
        return
    if not found:
        notify("there are no managed servers; `slob server start NAME` creates one")
    rows = [(known.spec.name, known.state, _product(known.spec), settings_text(known.spec)) for known in statuses]
    if rows:
        head = ("server", "state", "version", "runs with")
        write_report("\n".join(fold_table(head, rows, columns(), texts=range(len(head)), indent="")))


def register(app: typer.Typer) -> None:
    """Add `slob server` and its commands."""
    server = typer.Typer(
        name="server", help="Managed servers: created and run by slob on this host.", no_args_is_help=True
    )
    for command in (start, stop, status, destroy):
        server.command()(command)
    server.command("list")(list_servers)
    app.add_typer(server)


def _existing(name: str) -> ManagedServer:
    server = registry.find(name)
    if server is None:
        raise UsageError(f"there is no server {name!r}", f"there are: {', '.join(registry.list_known()) or 'none'}")
    return server


def _engine_of(name: str | None) -> str | None:
    """Return the engine of a managed server; None if there is none of this name."""
    server = registry.find(name) if name else None
    return server.status().spec.engine if server else None


def _spec(name: str, engine: str | None) -> ServerSpec:
    """Return the specification of an existing server, or the default specification of a new one."""
    if present := registry.find(name):
        return present.status().spec
    return registry.default_spec(name, engine or registry.engine_on_demand(name) or registry.default_engine())


def _change(spec: ServerSpec, settings: Mapping[str, Any]) -> ServerSpec:
    """Return the specification with the given settings; those that are None stay as they are."""
    given = {field: value for field, value in settings.items() if value is not None}
    if given.get("cpus") == ALL_CPUS:
        given["cpus"] = None
    return replace(spec, **given)


def _product(spec: ServerSpec) -> str:
    return f"{spec.engine} {spec.version}"


def settings_text(spec: ServerSpec) -> str:
    """Return the settings that a server runs with, in a few words."""
    blocks = f"{format_bytes(spec.block_size)} blocks, " if spec.block_size else ""
    tables = f"{spec.table_engine} tables, " if spec.table_engine else ""
    return f"{tables}{blocks}{format_bytes(spec.cache_bytes)} cache, {spec.io} I/O, CPUs {spec.cpus or ALL_CPUS}"


def _as_json(status: ServerStatus) -> dict[str, object]:
    spec = {key: str(value) if isinstance(value, Path) else value for key, value in vars(status.spec).items()}
    where = {"pid": status.pid, "url": status.url, "data_directory": str(status.data_directory)}
    return {"name": status.spec.name, "state": status.state, **where, "bytes_on_disk": status.bytes_on_disk, **spec}


def _print_status(status: ServerStatus, as_json: bool) -> None:
    if status.note:
        notify(f"the server {status.spec.name}: {status.note}")
    if as_json:
        typer.echo(json.dumps(_as_json(status), indent=1))
        return
    spec = status.spec
    # A URL and a path are to be copied: they stay in one line.
    lines = {
        "server": f"{spec.name}, {status.state}" + (f", process {status.pid}" if status.pid else ""),
        "version": _product(spec) + (f" from {spec.bin_dir}" if spec.bin_dir else ""),
        **({"follows": spec.standby_of} if spec.standby_of else {}),
        "runs with": f"{settings_text(spec)}, {format_bytes(spec.log_bytes)} log, {spec.max_sessions} sessions",
        "url": status.url,
        "data": f"{status.data_directory}, {format_bytes(status.bytes_on_disk)} on disk",
    }
    for label, text in lines.items():
        head = f"{label:<10} "
        whole = label in ("url", "data")
        write(f"{head}{text}" if whole else "\n".join(wrap(text, head, " " * len(head))))
