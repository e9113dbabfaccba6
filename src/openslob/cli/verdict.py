"""Verdicts that the user asked for, as the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from openslob.errors import UsageError, VerdictError
from openslob.record.model import Holds, Verdict


def require_known(required: Sequence[str], known: Sequence[str]) -> None:
    """UsageError for a name that is no verdict's: better before the run than after it."""
    for name in required:
        if name not in known:
            raise UsageError(f"--require {name}: there is no such verdict", f"there are {', '.join(known)}")


def demand(verdicts: Sequence[Verdict], required: Sequence[str]) -> None:
    """VerdictError (exit code 3) unless every verdict asked for holds; UsageError for one that there is not."""
    by_name = {verdict.name: verdict for verdict in verdicts}
    require_known(required, list(by_name))
    for name in required:
        if by_name[name].verdict is not Holds.HOLDS:
            raise VerdictError(f"verdict {name} {by_name[name].verdict}: {by_name[name].why}")
