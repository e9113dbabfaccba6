"""Programs that tests can't do without."""

from __future__ import annotations

import pytest

from openslob.engines.mysql.binaries import find_installation
from openslob.errors import SlobError


def need_mariadb() -> None:
    """Skip the test where no MariaDB server is installed."""
    try:
        find_installation(None)
    except SlobError as missing:
        pytest.skip(str(missing))
