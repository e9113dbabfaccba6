"""Drivers on this host: a scheduler in this process, and worker processes of their own, which trust nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Security

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError, of_the_system
from openslob.fleet.dask import CALM, connected, workers

# How long the processes may take to start, each and in all.
START_EACH_S, START_S = 10.0, 60.0
END_S = 5.0
POLL_S = 0.1
# By default every program of this host could connect to the scheduler, and have its code run by this user.
_FILES = ("ca", "cert", "key")
# Nor is it reached from elsewhere, its web server without pages included.
_HOST = "127.0.0.1"


@contextmanager
def local_processes(count: int) -> Iterator[Client]:
    """Run so many drivers in this block; every line to them needs a key that is made for it and forgotten.

    SlobError when one does not start.
    """
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_folder("drivers"))
        security = Security.temporary()
        stack.enter_context(dask.config.set(CALM))
        cluster = stack.enter_context(
            LocalCluster(
                n_workers=0,
                processes=True,
                security=security,
                protocol="tls://",
                host=_HOST,
                dashboard_address=f"{_HOST}:0",
                scheduler_kwargs={"dashboard": False},
            )
        )
        address = str(cluster.scheduler_address)
        started: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, started)
        for number in range(1, count + 1):
            started.append(_start(address, number, scratch, security))
        client = stack.enter_context(connected(address, security))
        _await(client, started, scratch)
        yield client


def _start(address: str, number: int, scratch: Path, security: Security) -> subprocess.Popen[bytes]:
    tls = security.get_tls_config_for_role("worker")
    options = []
    for name, option in zip(_FILES, ("ca_file", "cert", "key"), strict=True):
        path = scratch / name
        if not path.exists():
            path.touch(0o600)
            path.write_text(tls[option], encoding="ascii")
        options += [f"--tls-{option.replace('_', '-')}", str(path)]
    command = [
        sys.executable, "-m", "distributed.cli.dask_worker", address, "--name", str(number), "--nthreads", "1",
        "--no-nanny", "--no-dashboard", "--dashboard-address", f"{_HOST}:0", "--host", _HOST, "--memory-limit", "0",
        "--death-timeout", f"{START_S:g}", "--local-directory", str(scratch), *options,
    ]  # fmt: skip
    calm = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in CALM.items()}
    try:
        with _log(scratch, number).open("wb") as log:
            # Ctrl-C is for the process that leads the run: the drivers hear of it from there.
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **calm},
                start_new_session=True,
            )
    except OSError as error:
        raise SlobError(f"driver {number} can't be started: {of_the_system(error)}", "use fewer drivers") from error


def _log(scratch: Path, number: int) -> Path:
    return scratch / f"driver-{number}.log"


def _await(client: Client, started: list[subprocess.Popen[bytes]], scratch: Path) -> None:
    allowed_s = START_S + START_EACH_S * len(started)
    deadline = time.monotonic() + allowed_s
    while len(workers(client)) < len(started):
        for number, process in enumerate(started, 1):
            if process.poll() is not None:
                lines = _log(scratch, number).read_text(errors="replace").strip().splitlines()
                why = lines[-1] if lines else f"exit code {process.returncode}"
                raise SlobError(f"driver {number} ended as it started: {why}")
        if time.monotonic() > deadline:
            raise SlobError(
                f"only {len(workers(client))} of {len(started)} drivers started in {allowed_s:.0f} s",
                "use fewer drivers; is the host too busy?",
            )
        time.sleep(POLL_S)


def _end(started: list[subprocess.Popen[bytes]]) -> None:
    for process in started:
        process.terminate()
    deadline = time.monotonic() + END_S
    for process in started:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        process.kill()
        process.wait()
