"""Layers of settings: parameters as one source gives them, by the names of their fields."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from openslob.config.files import ALIASES
from openslob.config.parameters import Setting, by_slob_name, parameters
from openslob.core.errors import UsageError

# The settings that one source gives, by field name.
Layer = Mapping[str, Setting]

_REMEDY = "`slob run --help` lists them"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that ``word`` resembles most; empty if it resembles none."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.75)), "")


def known_layer(settings: Iterable[Setting], notices: list[str], also_known: Iterable[str] = ()) -> Layer:
    """Return a file's settings by field name. A later one replaces an earlier one with the same key, as in a shell.

    Raises:
        UsageError: A key is not a parameter. The error names the nearest one; ``also_known`` are possible there too.

    """
    layer: dict[str, Setting] = {}
    for setting in settings:
        key = setting.key.upper()
        parameter = by_slob_name().get(ALIASES.get(key, key))
        if not parameter:
            near = nearest(setting.key.lower(), also_known) or nearest(key, by_slob_name())
            raise UsageError(
                f"{setting.where}: {setting.key} is not a parameter", f"did you mean {near}?" if near else _REMEDY
            )
        before = layer.get(parameter.name)
        if before and before.key != setting.key:
            raise UsageError(
                f"{setting.where}: {setting.key} sets the same parameter as {before.key} ({before.where})",
                "keep one of them",
            )
        layer[parameter.name] = setting
    for name in [name for name, setting in layer.items() if not setting.value]:
        empty = layer.pop(name)
        notices.append(
            f"{empty.where}: {empty.key} is empty: its default is used, {parameters()[name].default or 'none'}"
        )
    return layer
