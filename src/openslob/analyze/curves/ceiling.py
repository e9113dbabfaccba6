"""The storage ceiling: the rate and latency of storage alone at a concurrency, taken from a raw measurement."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from statistics import median
from typing import Any

from openslob.core.references import Ceiling, CeilingPoint
from openslob.core.units import format_bytes
from openslob.metrics.quantity import Quantity
from openslob.record.storage import StorageLoad, StorageRecord, StorageStep


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


def other_storage(record: StorageRecord, environment: Mapping[str, Any]) -> str:
    """Return why a raw measurement is not of the storage that holds a run's data; empty when it may be.

    ``environment`` is the run's. For a server on another host it says nothing about the data, so the result is empty.
    """
    if record.place.get("direct") is False:
        return f"{record.id} read through the page cache, not from storage alone"
    if not environment.get("local"):
        return ""
    measured, used = _host_and_device(record.environment), _host_and_device(environment)
    if not any(a and b and a != b for a, b in zip(measured, used, strict=True)):
        return ""
    return f"{record.id} measured {_device_text(*measured)}, and the data are on {_device_text(*used)}"


def _host_and_device(environment: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return host name and block device, None for what is not known."""
    device = (environment.get("data") or {}).get("device") or {}
    return environment.get("host"), device.get("name")


def _device_text(host: str | None, device: str | None) -> str:
    return f"{f'device {device}' if device else 'an unknown device'} of host {host or 'unknown'}"


def ceiling_of(record: StorageRecord, block_bytes: int) -> Ceiling:
    """Return the ceiling for random reads of ``block_bytes``; it has no points when the record has no such steps."""
    steps: dict[int, list[StorageStep]] = defaultdict(list)
    for step in record.steps:
        if step.load and _is_random_read(step.load, block_bytes) and step.value("iops"):
            steps[step.load.in_flight].append(step)
    points = (CeilingPoint(number, *_medians(group)) for number, group in sorted(steps.items()))
    return Ceiling(record.id, block_bytes, tuple(points))


def _is_random_read(load: StorageLoad, block_bytes: int) -> bool:
    return (load.block_bytes, load.read_pct, load.pattern, load.verified) == (block_bytes, 100, "random", False)


def _medians(steps: list[StorageStep]) -> tuple[float, float | None]:
    rates = [rate for step in steps if (rate := step.value("iops")) is not None]
    means = [mean for step in steps if (mean := step.value("mean_us")) is not None]
    return median(rates), median(means) if means else None
