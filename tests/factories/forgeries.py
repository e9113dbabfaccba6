"""A real record, and forgeries of it: one part of its document or one digit of a raw file changed.

Who forges knows nothing of how records are checked: every leaf of the document and every digit is as good as another.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from factories.paths import FIXTURES
from openslob.analyze.rebuild import ROUNDING, rebuild
from openslob.analyze.verdict_registry import RULES_VERSION
from openslob.core.measurement import EngineDelta
from openslob.engines import registry
from openslob.kinds.recounting import recount
from openslob.kinds.verification import Verification, verify
from openslob.record import digests, finding, store
from openslob.record.model import RECORD_VERSION
from openslob.record.raw_csv import TEXTS

SEALED = FIXTURES / "sealed"
Leaf = tuple[str | int, ...]


def checked(folder: Path) -> Verification:
    found = finding.at(folder)
    assert found is not None
    return verify(found)


def judged_today(folder: Path, counted: EngineDelta | None = None) -> Path:
    """The sealed record in ``folder``, as this program would have written it: rules may have changed since."""
    shutil.copytree(SEALED, folder)
    facts, record = store.load_facts(folder), store.load(folder)
    assert facts is not None
    assert record.window is not None
    given = {**facts.given, "record_version": RECORD_VERSION}
    facts = facts.model_copy(update={"rules_version": RULES_VERSION, "given": given})
    if counted is None:
        # What engines count, and why they do not count something, may have changed as well.
        counted = recount(folder, registry.counting(str(record.engine["name"]), facts.counting), False).counted
    again = rebuild(folder, record.window.load_seconds, facts, counted).record
    store.save_json(folder / "run.json", store.to_document(again))
    store.save_json(folder / "facts.json", store.to_document(facts))
    digests.write(folder)
    return folder


@dataclass(frozen=True)
class Forger:
    """Changes a record in ``folder``, and puts everything back afterwards."""

    folder: Path

    def finds(self, file: str, content: bytes, anew: bool) -> Sequence[str]:
        """What `slob verify` finds when a file has another content: by digests, or ``anew``, with digests of that."""
        path, sealed = self.folder / file, self.folder / digests.DIGESTS_FILE
        before = path.read_bytes(), sealed.read_bytes()
        path.write_bytes(content)
        try:
            if not anew:
                return digests.check(self.folder).changed
            digests.write(self.folder)
            return checked(self.folder).faults
        finally:
            path.write_bytes(before[0])
            sealed.write_bytes(before[1])


def leaves(value: Any, path: Leaf = ()) -> Iterator[tuple[Leaf, Any]]:
    """Every part of a document that has no parts."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, (*path, key))
    if not items:
        yield path, value


def other(value: Any) -> Any:
    """A value of the same type, if it has one, that is not this one."""
    if value is None:
        return "x"
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return ["x"]
    if isinstance(value, dict):
        return {"x": 1}
    return f"{value}x" if isinstance(value, str) else value + 1


def with_leaf(document: Any, path: Leaf, change: Callable[[Any], Any] = other) -> bytes:
    """The document with one leaf changed."""
    made = json.loads(json.dumps(document))
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = change(at[path[-1]])
    return json.dumps(made).encode()


@dataclass(frozen=True)
class Digit:
    """A changed digit of a raw file: the content with it, its column, the row that it is in, and that row with it."""

    content: bytes
    column: str
    row: list[str]
    changed: list[str]

    @property
    def is_rounding(self) -> bool:
        """Whether it makes no more of a fraction than the order of its sum may."""
        ((one, other),) = (each for each in zip(self.row, self.changed, strict=True) if each[0] != each[1])
        return self.column not in TEXTS and "." in one and isclose(float(one), float(other), rel_tol=ROUNDING)


def digits_of(path: Path, many: int, chance: random.Random) -> Iterator[Digit]:
    """Some digits of each column of a CSV file, each changed into another one."""
    raw = path.read_bytes()
    head = raw.index(b"\n") + 1
    columns = raw[: head - 1].decode().split(",")
    places: dict[str, list[int]] = {}
    for at in range(head, len(raw)):
        if raw[at : at + 1].isdigit():
            before = raw.count(b",", raw.rindex(b"\n", 0, at), at)
            places.setdefault(columns[min(before, len(columns) - 1)], []).append(at)
    for column, found in places.items():
        for at in chance.sample(found, min(many, len(found))):
            begin, end = raw.rindex(b"\n", 0, at) + 1, raw.index(b"\n", at)
            digit = str((int(raw[at : at + 1]) + chance.randint(1, 9)) % 10).encode()
            content = raw[:at] + digit + raw[at + 1 :]
            yield Digit(content, column, *(each[begin:end].decode().split(",") for each in (raw, content)))
