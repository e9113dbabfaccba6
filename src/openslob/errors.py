"""Errors for the user: each is one line (what, why, what to do) with an exit code."""

from __future__ import annotations


class SlobError(Exception):
    """A failure. Its text is the line that the user reads: ``what``, and after it ``remedy``, what to do."""

    exit_code = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the line."""
        return f"{self.what}; {self.remedy}" if self.remedy else self.what


class UsageError(SlobError):
    """A wrong flag, key or value; nothing was started."""

    exit_code = 2


class VerdictError(SlobError):
    """A required verdict does not hold; the measurement itself succeeded."""

    exit_code = 3
