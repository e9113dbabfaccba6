"""What a call asks for, as texts: parameters, targets and folders mean the same as on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from openslob.api.table import unknown
from openslob.config.configuration import environment_with, names, read_configuration
from openslob.config.files import EXTERNAL_SCRIPT
from openslob.config.grid import split
from openslob.config.parameters import Setting, format_value, parameters
from openslob.config.resolve import Resolution, resolve
from openslob.config.server_parameters import SERVER_PARAMETERS
from openslob.config.slob_toml import variable_of
from openslob.core import places, rehearsal
from openslob.core.errors import UsageError
from openslob.core.secrets import Address, redact_url
from openslob.core.units import format_duration, parse_bytes, parse_duration
from openslob.engines import registry
from openslob.kinds.sweep.plan import MOST_POINTS

Folder = str | os.PathLike[str] | None


def find_results(given: Folder, config: Folder = None) -> Path:
    """Return the folder of the records: the given one, that of SLOB_RESULTS or slob.toml, or the user's."""
    return Path(given or _setting("results", config) or places.results())


def find_target(config: Folder = None) -> str:
    """Return the target where none is given: that of SLOB_TARGET or slob.toml, or the embedded server."""
    if target := _setting("target", config):
        return target
    engine = _setting("engine", config)
    return registry.name_embedded(engine) if engine else registry.EMBEDDED


def find_consent(given: Sequence[str], config: Folder = None) -> frozenset[str]:
    """Return what the user has a licence for: what is given, or what SLOB_CONSENT or slob.toml says."""
    return names(",".join(given) or _setting("consent", config))


def find_host_name(given: str | None, config: Folder = None) -> str:
    """Return the address of the server's host: the given one, or what SLOB_HOST or slob.toml says; empty for this."""
    return given or _setting("host", config)


def find_direct(given: str | None, config: Folder = None) -> Address | None:
    """Return the server itself behind a pooler: the given one, or what SLOB_DIRECT or slob.toml says."""
    direct = given or _setting("direct", config)
    return Address.parse(direct) if direct else None


def find_script(config: Folder = None) -> str:
    """Return the program that a slob.conf names to run beside a run; empty if it names none."""
    found = _read(config).get(EXTERNAL_SCRIPT)
    return found.value if found else ""


def _setting(key: str, config: Folder) -> str:
    """Return a setting of environment or files; empty if neither has it."""
    variable = variable_of(key)
    if given := os.environ.get(variable):
        return given
    found = _read(config).get(variable)
    return found.value if found else ""


def _read(config: Folder) -> Mapping[str, Setting]:
    """Return the settings that files give, by environment variable."""
    return read_configuration(Path(config) if config else None, os.environ).settings


def parse_amount(name: str, given: int | str | None, least: int) -> int | None:
    """Return the bytes of a size; fewer in a rehearsal, though not below ``least``. UsageError for no size."""
    asked = parse_size(name, given)
    return None if asked is None else rehearsal.amount(asked, least)


def parse_size(name: str, given: int | str | None) -> int | None:
    """Return the bytes of a size such as ``1G``. UsageError for anything else."""
    try:
        return None if given is None else parse_bytes(str(given))
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def parse_seconds(name: str, given: float | str | None, least: float = 0.0) -> float:
    """Return the seconds of a duration such as ``10m``; fewer in a rehearsal.

    UsageError for none, for one below the least, and for anything else.
    """
    if given is None:
        raise UsageError(f"{name} is not given", f"{name}='8h', for instance; resume goes on with an earlier one")
    try:
        found = rehearsal.seconds(parse_duration(str(given)))
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    if found < least:
        raise UsageError(f"{name}={given} is not allowed", f"{format_duration(least)} at the least")
    return found


def find_environment(target: Address | None, config: Folder) -> Mapping[str, str]:
    """Return the environment of this process, with a target that it was not given by that or by files."""
    if target is None or target.shown == redact_url(find_target(config)):
        return os.environ
    return environment_with(os.environ, target=target.shown)


def resolve_parameters(given: Mapping[str, object], config: Folder, target: Address | None = None) -> Resolution:
    """Return the workload that ``given`` parameters ask for; others come from environment, files and defaults.

    A price in a file counts for the ``target`` only if the file does not name another.

    Raises:
        UsageError: A parameter is unknown, a value is not allowed, or there are several values.

    """
    several = next((name for name, value in given.items() if isinstance(value, (list, tuple))), None)
    if several:
        raise UsageError(f"{several} takes one value here", "sweep() takes several")
    return resolve(write_texts(given), Path(config) if config else None, find_environment(target, config))


def write_texts(given: Mapping[str, object]) -> dict[str, str]:
    """Return parameters as texts, without those that are None. UnknownNameError for one that does not exist."""
    for name in given:
        if name not in parameters():
            raise unknown(name, "parameter", list(parameters()))
    return {name: _text(value) for name, value in given.items() if value is not None}


def write_several(given: Mapping[str, object]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the values of parameters, and those of server parameters, as texts; each is given one or several."""
    for name in given:
        if name not in parameters() and name not in SERVER_PARAMETERS:
            raise unknown(name, "parameter", [*parameters(), *SERVER_PARAMETERS])
    values = {name: _texts(name, value) for name, value in given.items() if value is not None}
    servers = {name: texts for name, texts in values.items() if name in SERVER_PARAMETERS}
    return {name: texts for name, texts in values.items() if name not in servers}, servers


def write_values(settings: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the values of the server's own settings as texts, each given one or several; a text is one value."""
    return {
        name: (value,) if isinstance(value, str) else tuple(_texts(name, value)) for name, value in settings.items()
    }


def _texts(name: str, value: object) -> list[str]:
    if isinstance(value, str):
        return split(value, name)
    if isinstance(value, Mapping):
        return [_text(value)]
    each_one = islice(value, MOST_POINTS + 1) if isinstance(value, Iterable) else [value]
    found = [_text(each) for each in each_one]
    if len(found) > MOST_POINTS:
        raise UsageError(f"{name} has more than {MOST_POINTS:,} values", "give fewer")
    if not found:
        raise UsageError(f"{name} has no value", "give one, or leave it out")
    return found


def _text(value: object) -> str:
    """Return a value as a flag takes it, with all digits. UsageError for tables of no class."""
    if isinstance(value, Mapping):
        try:
            return format_value(value)
        except ValueError as error:
            raise UsageError(str(error)) from None
    return str(value).upper() if isinstance(value, bool) else str(value)
