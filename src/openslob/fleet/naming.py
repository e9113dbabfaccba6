"""The texts that name drivers."""

from __future__ import annotations

import re

from openslob.core.errors import UsageError

MOST_LOCAL = 256
_LOCAL = re.compile(r"local:(\d{1,4})")
_SCHEDULER = re.compile(r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+):\d{1,5}")
FORM = "write local:N for N processes on this host, or tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler"


def local_count(text: str) -> int:
    """Return how many processes on this host the text names; 0 for the URL of a scheduler.

    Raises:
        UsageError: It does not name drivers.

    """
    local = _LOCAL.fullmatch(text)
    if local and not 1 <= int(local[1]) <= MOST_LOCAL:
        raise UsageError(f"drivers {text}: from 1 to {MOST_LOCAL} processes can be started here", FORM)
    if not local and not _SCHEDULER.fullmatch(text):
        raise UsageError(f"{text!r} does not name drivers", FORM)
    return int(local[1]) if local else 0
