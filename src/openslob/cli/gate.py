"""What becomes of a condition that is undecided: the option --inconclusive of every command that has conditions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from openslob.config.configuration import INCONCLUSIVE_VARIABLE
from openslob.core.errors import SlobError, UndecidedError, VerdictError

# The parameters of commands that state a condition.
CONDITIONS = frozenset({"require", "fail_if", "fail", "find_max_iops_under", "until_decided"})


class Inconclusive(StrEnum):
    """What a condition that is undecided counts as."""

    PASS = "pass"
    FAIL = "fail"


@dataclass
class Gate:
    """The choice of the command that runs."""

    inconclusive: Inconclusive | None = None

    def code_of(self, error: SlobError) -> int:
        """Return the exit code of a command that ended with an error."""
        if self.inconclusive is None or not isinstance(error, UndecidedError):
            return error.exit_code
        return 0 if self.inconclusive is Inconclusive.PASS else VerdictError.exit_code

    def sentence(self, error: SlobError) -> str:
        """Return the text of an error, and that it counts as none if so."""
        passes = isinstance(error, UndecidedError) and self.code_of(error) == 0
        return f"{error}; it passes (--inconclusive pass)" if passes else str(error)


# Of this process; the option of the command line sets it.
GATE = Gate()


def _choose(value: Inconclusive | None) -> Inconclusive | None:
    GATE.inconclusive = value
    return value


INCONCLUSIVE = Annotated[
    Inconclusive | None,
    typer.Option(
        "--inconclusive",
        envvar=INCONCLUSIVE_VARIABLE,
        metavar="pass|fail",
        callback=_choose,
        help="Exit with 0 (pass) or 3 (fail) instead of 4. 4 is for what is undecided.",
    ),
]
