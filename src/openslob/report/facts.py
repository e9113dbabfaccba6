"""Facts of host and server as text. What is recorded is shown, whatever it is called: its name tells its unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from openslob.report.format import micros, number, percent, seconds, size

_SHAPES: Mapping[str, Callable[[float], str]] = {
    "bytes": size,
    "pct": percent,
    "us": micros,
    "ms": lambda ms: seconds(ms / 1e3),
    "s": seconds,
    "kib": lambda kib: size(kib * 1024),
}


def fact_rows(facts: Mapping[str, Any], known: Collection[str]) -> list[tuple[str, str]]:
    """Label and text of each group of facts but the ``known`` ones; those without a group come together, first."""
    told = {name: fact for name, fact in facts.items() if name not in known and _is_told(fact)}
    single = {name: fact for name, fact in told.items() if not isinstance(fact, Mapping)}
    groups = {"facts": single} | {spoken(name): fact for name, fact in told.items() if isinstance(fact, Mapping)}
    return [(label, _joined(group)) for label, group in groups.items() if group]


def spoken(name: str) -> str:
    """A fact's name without its unit, in words."""
    head, _, unit = name.rpartition("_")
    return (
        ("size" if name == "bytes" else head if unit in _SHAPES and head else name).replace("_", " ").replace(".", " ")
    )


def _is_told(fact: object) -> bool:
    return any(map(_is_told, fact.values())) if isinstance(fact, Mapping) else fact not in (None, "", [], ())


def _joined(facts: Mapping[str, Any]) -> str:
    return ", ".join(f"{spoken(name)} {_shown(name, fact)}" for name, fact in facts.items() if _is_told(fact))


def _shown(name: str, fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, Mapping):
        return f"({_joined(fact)})"
    if isinstance(fact, (list, tuple)):
        return f"({', '.join(_shown(name, item) for item in fact)})"
    if isinstance(fact, (int, float)):
        return _SHAPES.get(name.rpartition("_")[2], number)(fact)
    return str(fact)
