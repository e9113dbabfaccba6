"""What records vary from run to run: parameters and settings of the server, by name and value, as users know them."""

from __future__ import annotations

from collections.abc import Mapping

from openslob.core.session_classes import parse_classes
from openslob.core.units import Extent
from openslob.core.workload import CLASSES, Workload

_SIZES = ("cache_bytes", "block_size")
# What of a managed server a sweep varies, by the name of `ServerSpec`'s field.
_SERVER_PARAMETERS = (*_SIZES, "io", "huge_pages", "cpus", "version", "bin_dir", "table_engine")
# What a parameter is a share of.
_SHARES = {"update_pct": "updates", "scan_pct": "scans"}

Value = bool | int | float | str | None
Values = Mapping[str, Value]


def format_parameter(name: str, value: Value) -> tuple[str, str]:
    """Return name and value as on the command line: ``cache`` and ``16M`` for 16,777,216 ``cache_bytes``."""
    if name in _SIZES and isinstance(value, int):
        return name.removesuffix("_bytes"), str(Extent(value, in_bytes=True))
    return name, ("on" if value else "off") if isinstance(value, bool) else str(value)


def is_setting(name: str) -> bool:
    """Return whether a name is that of a setting of the server's own, and not of a parameter."""
    return name not in Workload.model_fields and name not in _SERVER_PARAMETERS


def word_for(name: str) -> str:
    """Return what texts call a parameter, ``work unit``; a setting is called as the server calls it."""
    if is_setting(name):
        return name
    return f"% {_SHARES[name]}" if name in _SHARES else format_parameter(name, 0)[0].replace("_", " ")


def in_words(name: str, value: Value) -> str:
    """Return name and value in words, ``cache 16M`` or ``20 % updates``; a setting as the server has it, ``a=b``.

    Of classes it returns the sessions of each.
    """
    if name == CLASSES and value:
        return ", ".join(f"{own['sessions']} {of_class}" for of_class, own in parse_classes(value).items())
    text = format_parameter(name, value)[1]
    if is_setting(name):
        return f"{name}={text}"
    return f"{text} {word_for(name)}" if name in _SHARES else f"{word_for(name)} {text}"
