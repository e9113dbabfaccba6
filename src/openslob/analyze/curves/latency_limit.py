"""A latency limit on the command line: its duration, and the latency figure that it applies to."""

from __future__ import annotations

import re

from openslob.analyze.curves.series import PHYSICAL
from openslob.errors import UsageError

PERCENTILES = ("mean", "p50", "p90", "p99", "p999")
_MICROS = {"us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s)")


def parse_latency_us(text: str) -> float:
    """Return the µs of ``500us``, ``1.5ms`` or ``2s``. UsageError for anything else."""
    match = _DURATION.fullmatch(text.strip())
    if not match or not float(match[1]):
        raise UsageError(f"{text!r} is not a latency", "such as 500us, 1.5ms or 2s")
    return float(match[1]) * _MICROS[match[2]]


def latency_figure(at: str) -> str:
    """Return the figure name (see `Point.figure`) of ``mean`` or of a percentile from ``p50`` to ``p999``.

    ``mean`` is the latency of the engine's reads, of which only the sum is timed; percentiles are of operations.
    UsageError for any other text.
    """
    if at not in PERCENTILES:
        raise UsageError(f"{at!r} is not a latency figure", f"one of {', '.join(PERCENTILES)}")
    return PHYSICAL.latency if at == "mean" else f"op_{at}_us"
