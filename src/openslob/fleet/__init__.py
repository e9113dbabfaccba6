"""Many drivers: the sessions of one run dealt over processes on several hosts, which Dask only starts and talks to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from openslob.core.errors import SlobError, UsageError
from openslob.fleet.naming import local_count

if TYPE_CHECKING:
    from openslob.fleet.hiring import Fleet


@contextmanager
def hired(
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
    try:
        # An extra, which takes half a second to import.
        from openslob.fleet import hiring  # noqa: PLC0415
        from openslob.fleet.dask import Tls  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("openslob"):
            raise
        why = f"many drivers need the Python package {error.name}, which is not installed"
        raise SlobError(why, "pip install 'openslob[distributed]'") from error
    with hiring.hired(drivers, Tls(ca_file, cert, key)) as fleet:
        yield fleet
