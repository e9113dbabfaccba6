"""How a verdict is put together: the three outcomes, and how figures read in its sentence."""

from __future__ import annotations

from openslob.metrics.quantity import Quantity
from openslob.record.model import Holds, Verdict

Shown = float | str | None


def holds(name: str, why: str, **figures: Shown) -> Verdict:
    """What was asked is so."""
    return Verdict(name=name, verdict=Holds.HOLDS, why=why, figures=figures)


def fails(name: str, why: str, **figures: Shown) -> Verdict:
    """What was asked is not so."""
    return Verdict(name=name, verdict=Holds.FAILS, why=why, figures=figures)


def unknown(name: str, why: str, **figures: Shown) -> Verdict:
    """It can't be told."""
    return Verdict(name=name, verdict=Holds.UNKNOWN, why=why, figures=figures)


def holds_or_fails(name: str, so: bool, why: str, **figures: Shown) -> Verdict:
    """Holds or fails."""
    return (holds if so else fails)(name, why, **figures)


def unknown_because(name: str, *quantities: Quantity, **figures: Shown) -> Verdict:
    """An unknown verdict that gives the reasons of those quantities that are unknown."""
    reasons = dict.fromkeys(quantity.why for quantity in quantities if quantity.value is None)
    return unknown(name, f"Can't be told: {'; '.join(reasons)}.", **figures)


def count(value: float) -> str:
    """A whole number with thousands set apart."""
    return f"{value:,.0f}"


def counted(number: float, noun: str) -> str:
    """A number with its noun, in the plural where it should be."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"
