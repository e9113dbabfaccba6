"""What is loaded in the target as a layer of settings: stronger than defaults, weaker than all that users give."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from openslob.config.layers import Layer
from openslob.config.parameters import Setting, format_value, parameters
from openslob.core.units import MIB, Extent, format_bytes
from openslob.core.workload import LARGEST_BYTES, DataSpec, Workload

LOADED = "loaded"
# The parameters that say how much data there are.
DATA_SIZE = ("schemas", "scale")


def loaded_layer(spec: DataSpec, block_size: int) -> Layer:
    """Return the parameters that load these data; none if a damaged manifest gives values that are not allowed."""
    values = {
        "schemas": str(spec.schemas),
        "scale": str(_extent(spec.scale_blocks, block_size)),
        "scan_table_sz": str(_extent(spec.scan_blocks, block_size)),
        "obfuscate_columns": format_value(spec.obfuscate),
    }
    try:
        Workload.model_validate(values)
    except ValidationError:
        return {}
    return {name: Setting(parameters()[name].slob, value, LOADED) for name, value in values.items()}


def data_text(spec: DataSpec, block_size: int) -> str:
    """Return the size of data in words, as ``8 schemas x 2 GB``."""
    fill = ", incompressible" if spec.obfuscate else ""
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
