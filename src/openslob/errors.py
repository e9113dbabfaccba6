"""The errors a user can meet: one clear line each (what, why, what to do) and the exit code that goes with it."""

from __future__ import annotations


class SlobError(Exception):
    """Something failed; its text is the one line the user reads.

    ``remedy`` says what to do and is printed after the reason.
    """

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class UsageError(SlobError):
    """A wrong flag, key or value: nothing was started."""

    exit_code = 2


class VerdictError(SlobError):
    """Measured, but a verdict that was asked for does not hold."""

    exit_code = 3
