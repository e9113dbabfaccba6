"""Everything that is said to a server without TLS, as a relay on the way sees it: no password is in it."""

from __future__ import annotations

import pytest

from factories.foreign_mariadb import ForeignMariaDb
from factories.foreign_postgresql import PASSWORD, ForeignServer, relay, started
from factories.programs import need_mariadb
from factories.running import slob

pytestmark = pytest.mark.server
SMALL = ("--schemas", "1", "--scale", "200", "--scan-table-sz", "5")


def everything_through(url, seen, tmp_path):
    """Check, load, run and drop; what went over the line, and that it was this line that they used."""
    for command in (
        ("check",),
        ("load",),
        ("run", "--run-time", "1", "--warmup", "0", "--results", tmp_path),
        ("drop",),
    ):
        done = slob(command[0], "--target", url, *command[1:], *(SMALL if command[0] != "drop" else ()))
        assert done.returncode == 0, done.stdout + done.stderr
    said = b"".join(seen)
    assert b"cf1_1" in said
    assert PASSWORD.encode() not in said


def test_postgresql_hears_no_password(slob_home, tmp_path):
    seen: list[bytes] = []
    with started(ForeignServer()) as server, relay(server.port, log=seen.append) as port:
        everything_through(server.url("app", "bench", port=port), seen, tmp_path)


def test_mariadb_hears_no_password(slob_home, tmp_path):
    need_mariadb()
    seen: list[bytes] = []
    server = ForeignMariaDb()
    try:
        server.start()
        server.add_user("app", "bench")
        with relay(server.port, log=seen.append) as port:
            everything_through(server.url("app", "bench", port=port, ssl_disabled="1"), seen, tmp_path)
    finally:
        server.stop()
