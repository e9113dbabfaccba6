"""What tests can't do without: programs, and what the kernel may not have to give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openslob.core.errors import SlobError
from openslob.engines.mysql.binaries import find_installation
from openslob.engines.postgresql.providers import BUNDLED

_BUNDLED = max(map(int, BUNDLED))
_DEBIAN = Path("/usr/lib/postgresql")


def need_debian_postgresql() -> Path:
    """The programs of Debian's newest PostgreSQL that is older than ours, which was built without TLS; or skip."""
    found = [place.parent for place in _DEBIAN.glob("*/bin/postgres") if int(place.parts[-3]) < _BUNDLED]
    if not found:
        pytest.skip(f"there is no PostgreSQL before {_BUNDLED} in {_DEBIAN}")
    return max(found, key=lambda place: int(place.parent.name))


def why_no_mariadb() -> str:
    """Why there is no MariaDB server here; empty where one is installed."""
    try:
        find_installation(None)
    except SlobError as missing:
        return str(missing)
    return ""


def need_mariadb() -> None:
    """Skip the test where no MariaDB server is installed."""
    if missing := why_no_mariadb():
        pytest.skip(missing)


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
        # A container's may not be written.
        if pool.read_text() != before:
            pool.write_text(before)
