"""The order of operations, computed from the operation number: the reference for every engine's work loop.

Update share, scan share, hot spot, hot schema and think time are separate decisions. Each has its own phase in each
session, so that neither sessions nor decisions coincide. Nothing here depends on the key or on randomness.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

# A test table may have this share of its blocks more or less than it was specified with, and later than it was loaded
# with. `slob load` verifies it; a run beyond it fails `data_in_place`, and no further run begins.
BLOCK_TOLERANCE = 0.01


class OpKind(StrEnum):
    """The kind of an operation; each kind has its own latency histogram."""

    SELECT = "select"
    UPDATE = "update"
    SCAN = "scan"


@dataclass(frozen=True)
class Phases:
    """The position in its cycle at which each decision of a session begins: 0…99 for shares, else below the period."""

    update: int
    scan: int
    hotspot: int
    hot_schema: int
    think: int


def phases_of(seed: int, session: int, hotspot: int, hot_schema: int, think: int) -> Phases:
    """Return the phases of session ``session`` (from 0); the last three arguments are the periods, 0 for never."""

    def phase(decision: str, period: int) -> int:
        digest = hashlib.sha256(f"{seed}/{session}/{decision}".encode()).digest()
        return int.from_bytes(digest[:8]) % period if period else 0

    return Phases(
        update=phase("update", 100),
        scan=phase("scan", 100),
        hotspot=phase("hotspot", hotspot),
        hot_schema=phase("hot_schema", hot_schema),
        think=phase("think", think),
    )


def share_done(number: int, percent: int, phase: int) -> int:
    """Return how many of the first ``number`` decisions are true if ``percent`` of all are, evenly interleaved.

    With p percent it is ``floor((phase + number) * p / 100) - floor(phase * p / 100)``. Of any 100 consecutive
    decisions exactly p are true.
    """
    return (phase + number) * percent // 100 - phase * percent // 100


def takes_share(number: int, percent: int, phase: int) -> bool:
    """Return whether decision ``number`` (from 0) is true if ``percent`` of all are."""
    return share_done(number + 1, percent, phase) > share_done(number, percent, phase)


def is_due(number: int, period: int, phase: int) -> bool:
    """Return whether operation ``number`` (from 0) is the one in ``period`` that is due; never if the period is 0."""
    return period > 0 and (number + phase) % period == 0


def kind_of(number: int, update_pct: int, scan_pct: int, phases: Phases) -> OpKind:
    """Return the kind of operation ``number`` (from 0) of a session."""
    if takes_share(number, update_pct, phases.update):
        return OpKind.UPDATE
    selects_before = number - share_done(number, update_pct, phases.update)
    return OpKind.SCAN if takes_share(selects_before, scan_pct, phases.scan) else OpKind.SELECT
