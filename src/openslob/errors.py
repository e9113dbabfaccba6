"""Errors for the user: each is one line (what, why, what to do) with an exit code."""

from __future__ import annotations


class SlobError(Exception):
    """A failure. Its text is the line that the user reads: ``what``, and after it ``remedy``, what to do."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
        self.what = what
        self.remedy = remedy


class UsageError(SlobError):
    """A wrong flag, key or value; nothing was started."""

    exit_code = 2


class VerdictError(SlobError):
    """A required verdict does not hold; the measurement itself succeeded."""

    exit_code = 3
