"""The servers that tests can start here, for the header of a test run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from factories import galera
from openslob.core.errors import SlobError
from openslob.engines import registry
from openslob.engines.mysql import binaries as mariadb
from openslob.engines.postgresql import providers as postgresql

_DEBIAN = Path("/usr/lib/postgresql")


def installed() -> list[str]:
    """Return the name and version of each server."""
    return list(_servers())


def _servers() -> Iterator[str]:
    spec = registry.default_spec("header", "postgresql")
    for version in postgresql.BUNDLED:
        yield f"PostgreSQL {postgresql.find_installation(replace(spec, version=version)).version()} (bundled)"
    for folder in sorted(_DEBIAN.glob("*/bin")):
        yield f"PostgreSQL {postgresql.find_installation(replace(spec, bin_dir=folder)).version()}"
    try:
        yield f"MariaDB {mariadb.find_installation(None).version()}"
    except SlobError:
        return
    if not galera.why_not():
        yield "Galera"
