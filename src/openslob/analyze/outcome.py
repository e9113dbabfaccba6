"""Building blocks of verdicts: the three outcomes, and numbers in their sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openslob.record.model import Holds, Verdict

if TYPE_CHECKING:
    from openslob.metrics.quantity import Quantity

Shown = float | str | None


def holds(name: str, why: str, **figures: Shown) -> Verdict:
    """Return a verdict that holds."""
    return Verdict(name=name, verdict=Holds.HOLDS, why=why, figures=figures)


def fails(name: str, why: str, **figures: Shown) -> Verdict:
    """Return a verdict that fails."""
    return Verdict(name=name, verdict=Holds.FAILS, why=why, figures=figures)


def unknown(name: str, why: str, **figures: Shown) -> Verdict:
    """Return a verdict that is unknown."""
    return Verdict(name=name, verdict=Holds.UNKNOWN, why=why, figures=figures)


def holds_or_fails(name: str, so: bool, why: str, **figures: Shown) -> Verdict:
    """Return a verdict that holds if ``so`` is true, and fails otherwise."""
    return (holds if so else fails)(name, why, **figures)


def unknown_because(name: str, *quantities: Quantity, **figures: Shown) -> Verdict:
    """Return an unknown verdict; its reasons are those of the quantities that are unknown."""
    reasons = dict.fromkeys(quantity.why for quantity in quantities if quantity.value is None)
    return unknown(name, f"Can't be determined: {'; '.join(reasons)}.", **figures)


def count(value: float) -> str:
    """Return a whole number with separated thousands."""
    return f"{value:,.0f}"


def amount(value: float, unit: str) -> str:
    """Return a rate, or a content of a bucket, in words: 3,000 IOPS, 128 MB/s, 0.5 CPUs."""
    return f"{count(value) if value >= 100 else f'{value:.3g}'} {unit}"


def count_noun(number: float, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"
