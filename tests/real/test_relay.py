"""Everything that is said to servers and drivers, as a relay on the way sees it: no password is in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from factories.certificates import make_certificates
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


@contextmanager
def program_of_dask(place, name, *words):
    command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--no-dashboard", *map(str, words)]
    with (place / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@contextmanager
def one_driver(place, scheme, security=None, options=()):
    """A scheduler of Dask on the loopback, to which a driver is connected; the scheduler's port."""
    from distributed import Client  # noqa: PLC0415 - a moment of CPU, which each worker would spend

    where = place / "scheduler.json"
    with ExitStack() as stack:
        at = ("--host", f"{scheme}://127.0.0.1", "--port", "0", "--scheduler-file", where)
        leader = stack.enter_context(program_of_dask(place, "scheduler", *at, *options))
        # It is there before it is written.
        while not (where.exists() and where.read_text().rstrip().endswith("}")):
            assert leader.poll() is None, (place / "scheduler.log").read_text()
            time.sleep(0.05)
        address = json.loads(where.read_text())["address"]
        calm = ("--nthreads", "1", "--no-nanny", "--local-directory", place)
        stack.enter_context(program_of_dask(place, "worker", address, *calm, *options))
        with Client(address, security=security, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=300)
        yield int(address.rpartition(":")[2])


def test_drivers_without_tls_are_not_sent_a_password(slob_home, tmp_path):
    """The address is the loopback's, but does not say so: it could be any host."""
    seen: list[bytes] = []
    with (
        started(ForeignServer()) as server,
        one_driver(tmp_path, "tcp") as scheduler,
        relay(scheduler, log=seen.append) as port,
    ):
        ask = ("check", "--target", server.url("app", "bench"), "--drivers")
        done = slob(*ask, f"tcp://0.0.0.0:{port}")
        assert done.returncode == 2
        assert "the target's password would cross the network unencrypted" in done.stderr
        assert seen
        assert PASSWORD.encode() not in b"".join(seen)
        # Within this host it is sent, and would be seen here.
        assert slob(*ask, f"tcp://127.0.0.1:{port}").returncode == 0
        assert PASSWORD.encode() in b"".join(seen)


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")
def test_drivers_with_tls_hear_the_password_and_nobody_else_does(slob_home, tmp_path):
    from distributed.security import Security  # noqa: PLC0415 - as above

    ca = make_certificates(tmp_path, "IP:127.0.0.1")
    cert, key = tmp_path / "server.crt", tmp_path / "server.key"
    security = Security(
        tls_ca_file=str(ca), tls_client_cert=str(cert), tls_client_key=str(key), require_encryption=True
    )
    options = ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)
    seen: list[bytes] = []
    with (
        started(ForeignServer()) as server,
        one_driver(tmp_path, "tls", security, options) as scheduler,
        relay(scheduler, log=seen.append) as port,
    ):
        done = slob("check", "--target", server.url("app", "bench"), "--drivers", f"tls://127.0.0.1:{port}", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "driver 1" in done.stdout
    assert len(b"".join(seen)) > 1000
    assert PASSWORD.encode() not in b"".join(seen)
