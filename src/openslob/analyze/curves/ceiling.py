"""The storage ceiling: the rate of storage alone at a concurrency, and whether it is that of a run's storage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from openslob.core.measurement import Ceiling, StorageAlone
from openslob.core.units import format_bytes
from openslob.metrics.quantity import Quantity


def rate_at(ceiling: Ceiling, concurrency: int) -> Quantity:
    """Return the storage's requests per second with ``concurrency`` in flight, interpolated on logarithmic axes.

    Unknown outside the measured range: nothing supports an extrapolation.
    """
    for point in ceiling.points:
        if point.in_flight == concurrency:
            return Quantity(point.iops)
    for low, high in pairwise(ceiling.points):
        if low.in_flight < concurrency < high.in_flight:
            share = math.log(concurrency / low.in_flight) / math.log(high.in_flight / low.in_flight)
            return Quantity(low.iops * (high.iops / low.iops) ** share)
    measured = f"{ceiling.points[0].in_flight} to {ceiling.points[-1].in_flight}" if ceiling.points else "none"
    return Quantity.missing(
        f"{ceiling.id} measured {measured} reads of {format_bytes(ceiling.block_bytes)} in flight, not {concurrency}"
    )


def other_storage(alone: StorageAlone, environment: Mapping[str, Any]) -> str:
    """Return why a raw measurement is not of the storage that holds a run's data; empty when it may be.

    ``environment`` is the run's. For a server on another host it says nothing about the data, so the result is empty.
    """
    if alone.buffered:
        return f"{alone.id} read through the page cache, not from storage alone"
    if not environment.get("local"):
        return ""
    measured, used = (alone.host, alone.device), host_and_device(environment)
    if not any(a and b and a != b for a, b in zip(measured, used, strict=True)):
        return ""
    return f"{alone.id} measured {_device_text(*measured)}, and the data are on {_device_text(*used)}"


def host_and_device(environment: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return host name and block device of an environment, None for what is not known."""
    device = (environment.get("data") or {}).get("device") or {}
    return environment.get("host"), device.get("name")


def _device_text(host: str | None, device: str | None) -> str:
    return f"{f'device {device}' if device else 'an unknown device'} of host {host or 'unknown'}"
