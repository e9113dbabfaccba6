"""Classes of sessions as one text: ``NAME:PARAMETER=VALUE,…;NAME:…``, as flags, files, records and Python have them."""

from __future__ import annotations

import re
from collections.abc import Mapping

# More would fit on no screen.
MOST_CLASSES = 16
_NAME = re.compile(r"[a-z][a-z0-9-]{0,19}")
_BETWEEN, _SUCH_AS = ";", "write NAME:sessions=N,PARAMETER=VALUE"
# What raw files of latencies have between a class and a kind of operation.
_OF = "/"

Classes = Mapping[str, Mapping[str, str]]


def parse_classes(given: object) -> Classes:
    """Return the parameters of each class as texts, by their names in lower case. ValueError for what is no class.

    ``given`` is a text, or a mapping of mappings, as of tables in a file.
    """
    classes: dict[str, Mapping[str, str]] = {}
    text = str(given) if not isinstance(given, Mapping) else _join_tables(given)
    for part in filter(None, map(str.strip, text.split(_BETWEEN))):
        name, _, rest = part.partition(":")
        name = name.strip().lower()
        if not _NAME.fullmatch(name):
            why = "names have up to 20 letters and digits"
            raise ValueError(f"{part[:40]!r} is not a class of sessions: {_SUCH_AS}; {why}")
        if name in classes:
            raise ValueError(f"class {name} is given twice")
        classes[name] = _parse_pairs(name, rest)
    if not 0 < len(classes) <= MOST_CLASSES:
        raise ValueError(f"there are {len(classes)} classes of sessions; 1 to {MOST_CLASSES} are possible")
    return classes


def _parse_pairs(name: str, text: str) -> Mapping[str, str]:
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        key, _, value = (each.strip() for each in pair.partition("="))
        key = key.lower().replace("-", "_")
        if not key or not value:
            raise ValueError(f"class {name}: {pair.strip()[:40]!r} is not PARAMETER=VALUE: {_SUCH_AS}")
        if key in pairs:
            raise ValueError(f"class {name}: {key} is given twice")
        pairs[key] = value
    return pairs


def join_classes(classes: Classes) -> str:
    """Return the text of classes."""
    parts = (f"{name}:{','.join(f'{key}={value}' for key, value in own.items())}" for name, own in classes.items())
    return _BETWEEN.join(parts)


def _join_tables(tables: Mapping[object, object]) -> str:
    found = {}
    for name, own in tables.items():
        if not isinstance(own, Mapping):
            raise ValueError(f"class {name} is not a table of parameters: {_SUCH_AS}")
        found[str(name)] = {str(key): str(value) for key, value in own.items()}
    return join_classes(found)


def name_kind(of_class: str, kind: str) -> str:
    """Return how raw files name a kind of operation of a class; without classes the kind alone."""
    return f"{of_class}{_OF}{kind}" if of_class else f"{kind}"


def split_kind(name: str) -> tuple[str, str]:
    """Return class and kind of operation of a name in raw files; the class is empty where there are none."""
    of_class, _, kind = name.rpartition(_OF)
    return of_class, kind
