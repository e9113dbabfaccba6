"""Default places of a user's servers and records."""

from __future__ import annotations

import os
import re
from pathlib import Path

from platformdirs.unix import Unix

from openslob.core.disk import refuse_foreign
from openslob.core.errors import SlobError

# Where the socket of a managed server is.
_SOCKET = re.compile(r"/servers/([^/:]+)/run(?=[:/]|$)")


def home() -> Path:
    """Return the base directory of managed servers: $OPENSLOB_HOME, or root's default, or the user's data directory.

    SlobError if another user made it: what is there says which programs are run. Also for a user without a home.
    """
    if given := os.environ.get("OPENSLOB_HOME"):
        refuse_foreign(Path(given))
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/openslob")
    try:
        return Unix("openslob").user_data_path
    except RuntimeError as error:
        raise SlobError(
            "this user has no home directory", "set HOME, or OPENSLOB_HOME to a directory of yours"
        ) from error


def results() -> Path:
    """Return the folder of the user's records: the same from whichever directory a command is run."""
    return home() / "results"


def configuration() -> Path:
    """Return the folder of the user's configuration: below $XDG_CONFIG_HOME, or ~/.config."""
    try:
        return Unix("openslob").user_config_path
    except RuntimeError as error:
        raise SlobError("this user has no home directory", "set HOME or XDG_CONFIG_HOME") from error


def cache() -> Path | None:
    """Return the folder of what is kept to save time: below $XDG_CACHE_HOME, or ~/.cache; None if there is no home."""
    try:
        return Unix("openslob").user_cache_path
    except RuntimeError:
        return None


def server_of(target: str) -> str:
    """Return the name of the managed server whose socket a target names; other targets as they are."""
    found = _SOCKET.search(target)
    return found[1] if found else target
