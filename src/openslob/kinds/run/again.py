"""A run whose window is lost is made again: a busy host read its counters at the wrong time, so that it has no rate.

What was lost is kept: its record stays where it is, and the run in its place names it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from openslob.record.model import RunRecord, Status

# Two losses in a row are rarely chance: the host is too busy, which more runs would hide.
RETRIES = 1
Made = TypeVar("Made")


def why_lost(record: RunRecord) -> str:
    """Return why a complete run has no rate at all; empty if its window was not lost.

    Its counters were read after the load had begun, or span more time than it, or a clock was set.
    """
    figure = record.summary.get("ops_per_s")
    is_lost = record.status is Status.COMPLETE and figure is not None and figure.value is None
    return record.why_unknown("ops_per_s") if is_lost else ""


def make_until_kept(
    make: Callable[[], Made], why_lost: Callable[[Made], str], retries: int, discard: Callable[[Made, str], None]
) -> Made:
    """Make something until it is not lost, at most so many times again, and return the last one.

    ``discard`` gets each one before it, with the reason.
    """
    for _ in range(retries):
        made = make()
        if not (why := why_lost(made)):
            return made
        discard(made, why)
    return make()
