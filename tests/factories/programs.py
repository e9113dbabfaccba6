"""What tests can't do without: programs, and what the kernel may not have to give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openslob.engines.mysql.binaries import find_installation
from openslob.errors import SlobError

# Debian's package; what comes with us is newer, and was built without TLS.
DEBIAN_POSTGRESQL = Path("/usr/lib/postgresql/15/bin")


def need_mariadb() -> None:
    """Skip the test where no MariaDB server is installed."""
    try:
        find_installation(None)
    except SlobError as missing:
        pytest.skip(str(missing))


@contextmanager
def huge_pages() -> Iterator[Path]:
    """The kernel's setting for its pool of huge pages, put back at the end; skips the test when it has none to give."""
    pool = Path("/proc/sys/vm/nr_hugepages")
    before = pool.read_text() if pool.exists() else pytest.skip("this kernel has no huge pages")
    try:
        yield pool
    except SlobError as error:
        if "could not reserve" not in error.what:
            raise
        pytest.skip(error.what)
    finally:
        pool.write_text(before)
