"""What a shell may complete: names of records, servers, verdicts and ready-made sweeps.

A shell asks while the user types: nothing here prints, fails, or connects to anything. Every command has such options,
but few lines are completed: what a completion needs is imported when it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from openslob.analyze import verdict_registry
from openslob.core import places
from openslob.core.errors import SlobError

Completion = Callable[[str], list[str]]

# Shells evaluate what they are offered, each in its own way: a name with other signs is never offered.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def one_of(choices: Iterable[str]) -> Completion:
    """Return the completion of a word that is one of these."""
    return lambda incomplete: _offer(choices, incomplete)


def _offer(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name)]


def records(incomplete: str) -> list[str]:
    """Return the ids of the records, the latest first, and the word for the latest."""
    with suppress(SlobError, OSError):
        folder = Path(os.environ.get("SLOB_RESULTS") or places.results())
        ids = sorted((path.name for path in folder.iterdir() if path.is_dir()), reverse=True)
        return _offer(("latest", *ids), incomplete)
    return []


def servers(incomplete: str) -> list[str]:
    """Return the names of the managed servers; of several targets, the last one is completed."""
    from openslob.engines import registry  # noqa: PLC0415

    before, comma, last = incomplete.rpartition(",")
    with suppress(SlobError, OSError):
        names = dict.fromkeys([registry.EMBEDDED, *registry.list_known()])
        return [f"{before}{comma}{name}" for name in _offer(names, last)]
    return []


def verdicts(incomplete: str) -> list[str]:
    """Return what may be required: the questions, and the names of the verdicts."""
    return one_of((*verdict_registry.REQUIRABLE, *verdict_registry.NAMES))(incomplete)


def ready_sweeps(incomplete: str) -> list[str]:
    """Return the names of the ready-made sweeps."""
    from openslob.kinds.sweep.create import ready_names  # noqa: PLC0415
    from openslob.kinds.sweep.ready_settings import ready_settings  # noqa: PLC0415

    return one_of(["list", *ready_names(), *ready_settings()])(incomplete)
