"""Questions about an engine's design that only a real server can answer (`slob check --prove`), and their answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Figures = Mapping[str, float | str]


@dataclass(frozen=True)
class ProofAnswer:
    """An answer: whether what the engine relies on ``holds``, and what was ``seen``, with its figures by name.

    ``holds`` is None for a question that could not be asked; ``seen`` is the reason then.
    """

    holds: bool | None
    seen: str
    figures: Figures = field(default_factory=dict)


class NotAskedError(Exception):
    """The question can't be asked here; the text is the reason."""


@dataclass(frozen=True)
class Inquiry:
    """One thing that the engine relies on. ``ask`` finds out; it raises NotAskedError when that can't be done here."""

    number: int
    name: str
    text: str
    ask: Callable[[], ProofAnswer]


@dataclass(frozen=True)
class Proving:
    """The questions of an engine.

    ``about`` says what was asked, such as versions, by name. ``names`` are those of hosts, users, databases and the
    like, which a file of answers does not show unless its owner says so. ``is_plain`` returns whether a setting's value
    names nothing of the kind, and is shown. ``where`` says where such a file is welcome.
    """

    questions: Sequence[Inquiry]
    about: Mapping[str, str]
    names: Sequence[str]
    is_plain: Callable[[str], bool]
    where: str
