"""Layers of settings: parameters as one source gives them, by the names of their fields.

What is loaded in the target is a layer, too: stronger than defaults, weaker than all that users give.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from openslob.config.files import ALIASES
from openslob.config.parameters import Setting, by_slob_name, format_value, parameters
from openslob.core.errors import UsageError
from openslob.core.units import MIB, Extent, format_bytes
from openslob.core.workload import LARGEST_BYTES, DataSpec, Workload

# The settings that one source gives, by field name.
Layer = Mapping[str, Setting]

_REMEDY = "`slob run --help-all` lists them"
LOADED = "loaded"
# The parameters that say how much data there are.
DATA_SIZE = ("schemas", "scale")


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


def loaded_layer(spec: DataSpec, block_size: int) -> Layer:
    """Return the parameters that load these data; none if a damaged manifest gives values that are not allowed."""
    values = {
        "schemas": str(spec.schemas),
        "scale": str(_extent(spec.scale_blocks, block_size)),
        "scan_table_sz": str(_extent(spec.scan_blocks, block_size)),
        "obfuscate_columns": format_value(spec.obfuscate),
        **({"compressible": str(spec.compressible)} if spec.compressible else {}),
    }
    try:
        Workload.model_validate(values)
    except ValidationError:
        return {}
    return {name: Setting(parameters()[name].slob, value, LOADED) for name, value in values.items()}


def data_text(spec: DataSpec, block_size: int) -> str:
    """Return the size of data in words, as ``8 schemas x 2 GB``."""
    fill = ", incompressible" if spec.obfuscate else ""
    fill += f" but for {spec.compressible} %" if spec.compressible else ""
    several = "s" if spec.schemas != 1 else ""
    return f"{spec.schemas} schema{several} x {format_bytes(spec.scale_blocks * block_size)}{fill}"


def describe_taken(names: Sequence[str], spec: DataSpec, block_size: int) -> str:
    """Return the parameters, of `DATA_SIZE`, that are taken from what is loaded."""
    if len(names) == len(DATA_SIZE):
        return data_text(spec, block_size)
    layer = loaded_layer(spec, block_size)
    return ", ".join(f"{layer[name].key}={layer[name].value}" for name in names)


def _extent(blocks: int, block_size: int) -> Extent:
    """Return an extent as users write it: a size in whole MB as bytes, any other in blocks."""
    size = blocks * block_size
    return Extent(blocks) if size % MIB or size > LARGEST_BYTES else Extent(size, in_bytes=True)
