"""What a row of the fault suite says: the fault, when it strikes, what slob does then, and how it leaves things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faults.scene import Outcome, Scene

POSTGRESQL, MARIADB = "postgresql", "mariadb"
BOTH = (POSTGRESQL, MARIADB)
NO_SERVER = ("",)


class Left(StrEnum):
    """The record that a command must leave; the text is what the page shows."""

    NONE = "none"
    FAILED = "failed"
    KEPT = "failed, with what was measured"
    STOPPED = "interrupted"
    STOPPED_KEPT = "interrupted, with what was measured"
    COMPLETE = "complete"
    AS_IT_WAS = "as it was"
    NOT_ASKED = "–"


@dataclass(frozen=True)
class Fault:
    """A row: ``what`` happens ``when`` (a phase) to ``command``, and what it ``does`` then.

    ``strike`` makes the fault happen in a scene and returns how the command ended, with the exit code ``code``. The
    last line of its messages must match ``says``, a regular expression for all engines or one by engine; it is empty
    for a command that goes on. ``engines`` are those whose servers it is tried on; `NO_SERVER` where a command needs
    none. Afterwards the server must be ``free`` for the next run.
    """

    what: str
    when: str
    command: str
    does: str
    strike: Callable[[Scene], Outcome]
    says: str | Mapping[str, str] = ""
    code: int = 1
    left: Left = Left.NONE
    engines: tuple[str, ...] = BOTH
    free: bool = True

    @property
    def name(self) -> str:
        """The row in the id of a test."""
        return f"{self.command}-{self.when}-{self.what}".replace(" ", "_").replace("::", ":")

    def words(self, engine: str) -> str:
        """What the line of error must match on an engine."""
        return self.says if isinstance(self.says, str) else self.says[engine]


_ENGINE_NAMES = {"": "no server", POSTGRESQL: "PostgreSQL", MARIADB: "MariaDB"}


def rows_by_command() -> dict[str, list[tuple[str, ...]]]:
    """Return the cells of the page's tables, by command, in the order of the suite."""
    from faults.rows import FAULTS  # noqa: PLC0415 - the rows are made of `Fault`

    sections: dict[str, list[tuple[str, ...]]] = {}
    for fault in FAULTS:
        code = str(fault.code) if fault.code >= 0 else "–"
        tried = " and ".join(_ENGINE_NAMES[engine] for engine in fault.engines)
        cells = (fault.when, fault.what, fault.does, code, str(fault.left), tried)
        sections.setdefault(fault.command, []).append(cells)
    return sections
