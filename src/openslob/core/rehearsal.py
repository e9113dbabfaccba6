"""Rehearsals: every command as it will be typed, with less data and less time.

A script that loads terabytes and runs for a night is tried in a minute with the environment variable `SLOB_REHEARSE`:
with 10, caches, data and times that commands are given, and those that they choose themselves, are a tenth. Of the
values of a sweep only the first and the last are run, and nothing is repeated. Figures of a rehearsal say nothing about
the platform, and every record says that it is one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from openslob.core.errors import UsageError
from openslob.core.units import MIB

VARIABLE = "SLOB_REHEARSE"
MOST = 10_000
# Smallest amounts. A cache below this is refused by some engine; a run below a second has hardly any slices.
LEAST_CACHE = 8 * MIB
# The cache of a server for which none is asked serves blocks of every size.
LEAST_DEFAULT_CACHE = 24 * MIB
LEAST_DATA = MIB
LEAST_LOG = 64 * MIB
LEAST_SECONDS = 1.0


def divisor() -> int:
    """Return by how much sizes and times are divided; 1 when this is no rehearsal. UsageError for any other text."""
    text = os.environ.get(VARIABLE, "").strip() or "1"
    if not (text.isdecimal() and 1 <= int(text) <= MOST):
        raise UsageError(f"{VARIABLE}={text} is not allowed", f"give a whole number from 1 to {MOST}")
    return int(text)


def notice() -> str:
    """Return what commands say in a rehearsal; empty otherwise."""
    by = divisor()
    return f"a rehearsal: sizes and times are divided by {by} ({VARIABLE}); do not use the figures" if by > 1 else ""


def notices() -> tuple[str, ...]:
    """Return the notice for a record, if this is a rehearsal."""
    return tuple(filter(None, (notice(),)))


def amount(size: int, least: int = LEAST_DATA) -> int:
    """Return a number of bytes, smaller in a rehearsal: whole MiB, and at least ``least`` or what was asked for."""
    by = divisor()
    return size if by == 1 else min(size, max(size // by // MIB * MIB, least))


def seconds(length: float, least: float = LEAST_SECONDS) -> float:
    """Return a time in seconds, shorter in a rehearsal, though at least ``least`` or what was asked for."""
    by = divisor()
    return length if by == 1 else min(length, max(length / by, least))


def units(count: int) -> int:
    """Return how many units of data a client program is to have; fewer in a rehearsal, though at least one."""
    return max(1, count // divisor())


def ends(values: Sequence[str]) -> Sequence[str]:
    """Return the values that a sweep is to run: in a rehearsal the first and the last."""
    return values if divisor() == 1 or len(values) <= 2 else [values[0], values[-1]]


def repeats(count: int) -> int:
    """Return how often to measure: in a rehearsal once."""
    return count if divisor() == 1 else min(count, 1)
