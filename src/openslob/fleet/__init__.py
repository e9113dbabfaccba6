"""Many drivers: the sessions of one run dealt over processes on several hosts, which Dask only starts and talks to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.analyze.outcome import count_noun
from openslob.core.errors import UsageError
from openslob.core.extras import require_extra
from openslob.kinds.run.crew import Hire, local_crew

if TYPE_CHECKING:
    from openslob.fleet.hiring import Fleet

# The texts that name drivers.
MOST_LOCAL = 256
_LOCAL = re.compile(r"local:(\d{1,4})")
_SCHEDULER = re.compile(r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.%]+\]|[\w.-]+):\d{1,5}")
FORM = "write local:N for N processes on this host, or tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler"


@contextmanager
def hire_drivers(
    drivers: str | None, ca_file: Path | None = None, cert: Path | None = None, key: Path | None = None
) -> Iterator[Fleet | None]:
    """Hire for this block the drivers that a text such as ``local:4`` names; None for no text: this process drives.

    The files are those of TLS; Dask's own configuration has those that are not given.

    Raises:
        UsageError: The text does not name drivers, or no scheduler that the files are for.
        SlobError: Dask is not installed, there are no drivers, or one of them does not have this openslob.

    """
    if (ca_file or cert or key) and not (drivers or "").startswith("tls://"):
        raise UsageError("certificates are for the drivers of a scheduler with TLS", "give --drivers tls://HOST:PORT")
    if drivers is None:
        yield None
        return
    local_count(drivers)
    require_extra("distributed")
    from openslob.fleet import hiring  # noqa: PLC0415 - takes half a second to import
    from openslob.fleet.dask import Tls  # noqa: PLC0415

    with hiring.hire_drivers(drivers, Tls(ca_file, cert, key)) as fleet:
        yield fleet


@contextmanager
def hire_crews(
    drivers: str | None, ca_file: Path | None, cert: Path | None, key: Path | None, tell: Callable[[str], None]
) -> Iterator[Hire]:
    """Hire drivers for this block, as `hire_drivers` does, and yield what makes crews of them, or of this process.

    ``tell`` gets a line that says how many drivers there are.
    """
    with hire_drivers(drivers, ca_file, cert, key) as fleet:
        if fleet is not None:
            hosts = len({each.who.machine for each in fleet.drivers})
            tell(f"{count_noun(len(fleet.drivers), 'driver')} on {count_noun(hosts, 'host')}")
        yield fleet.hire if fleet else local_crew


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
