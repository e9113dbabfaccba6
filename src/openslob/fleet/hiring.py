"""The drivers that `--drivers` names: found or started, checked to be the same openslob, and given their sessions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Security

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError, UsageError, of_the_system
from openslob.core.secrets import Address
from openslob.engines.base import Engine, SessionPlan
from openslob.fleet import local_count
from openslob.fleet.channel import GONE, IS_GONE, Driver
from openslob.fleet.crew import FleetCrew
from openslob.fleet.dask import CALM, DaskRemote, Tls, connect_client, quiet, round_trip_s, who_are, workers
from openslob.fleet.messages import Order, Who
from openslob.kinds.run.crew import Crew
from openslob.kinds.run.worker import Report

# What nobody else can listen to: encrypted, or within this host or this process.
_PRIVATE = re.compile(r"tls://|inproc://|\w+://(?:127(?:\.\d+){3}|localhost|\[::1\])(?::\d+)?/?$")
# How long the processes may take to start, each and in all.
START_EACH_S, START_S = 10.0, 60.0
END_S = 5.0
POLL_S = 0.1
# By default every program of this host could connect to the scheduler, and have its code run by this user.
_FILES = ("ca", "cert", "key")
# Nor is it reached from elsewhere, its web server without pages included.
_HOST = "127.0.0.1"


@contextmanager
def hire_drivers(text: str, tls: Tls) -> Iterator[Fleet]:
    """Hire the drivers that the text names for this block.

    SlobError when there are none, or one of them does not have this openslob.
    """
    local = local_count(text)
    with ExitStack() as stack:
        stack.enter_context(quiet())
        client = stack.enter_context(local_processes(local) if local else connect_client(text, tls.security()))
        drivers = _drivers(client, text)
        # All that is said passes through the scheduler, as this process reaches it.
        hops = [*([] if local else [text]), *(each.address for each in drivers)]
        yield Fleet(client, drivers, shared=bool(local), private=is_private(hops))


def is_private(addresses: Iterable[str]) -> bool:
    """Return whether nobody else can hear what passes through all of these addresses."""
    return all(_PRIVATE.match(each) for each in addresses)


def _drivers(client: Client, text: str) -> list[Driver]:
    known = workers(client)
    if not known:
        raise SlobError(
            f"no driver is connected to the scheduler {text}",
            "start one on each host: dask worker, with the scheduler's address; docs/many-drivers.md",
        )
    names = {address: str(facts.get("name", "")) for address, facts in known.items()}
    addresses = sorted(
        known, key=lambda each: (not names[each].isdigit(), int(names[each]) if names[each].isdigit() else 0, each)
    )
    ours, found = Who.here(), who_are(client, addresses)
    drivers = []
    for number, address in enumerate(addresses, 1):
        who = require_same(number, address, found[address], ours)
        try:
            took_s = round_trip_s(client, address)
        except GONE:
            raise SlobError(f"driver {number} ({address}) {IS_GONE}") from None
        drivers.append(Driver(number, address, who, who.machine == ours.machine, took_s))
    return drivers


def require_same(number: int, address: str, found: Who | Exception, ours: Who) -> Who:
    """Return who a driver is. SlobError unless it runs the same openslob."""
    remedy = "install the same openslob on all hosts, and start the drivers again"
    if isinstance(found, OSError):
        raise SlobError(f"driver {number} ({address}) {IS_GONE}")
    if isinstance(found, Exception):
        what = " ".join(str(found).split()) or type(found).__name__
        raise SlobError(f"driver {number} ({address}) has another openslob, or none: {what}", remedy)
    if (found.version, found.code) != (ours.version, ours.code):
        theirs = f"openslob {found.version} ({found.code})"
        raise SlobError(
            f"driver {number} ({found.host}, {address}) has {theirs}, and this host has {ours.version} ({ours.code})",
            remedy,
        )
    return found


@dataclass(frozen=True)
class Reach:
    """Whether a driver reaches a target: the server's clock minus its own in s, or why it does not."""

    driver: Driver
    clock_offset_s: float | None
    why: str = ""


class Fleet:
    """Hired drivers. ``shared``: they write where this process does. ``private``: nobody else hears what is said."""

    def __init__(self, client: Client, drivers: Sequence[Driver], shared: bool, private: bool) -> None:
        self.drivers = drivers
        self._client = client
        self._shared = shared
        self._private = private

    def hire(
        self,
        engine: Engine,
        plans: Sequence[SessionPlan],
        report: Callable[[Report], None],
        _stopping: Callable[[], bool],
        folder: Path,
    ) -> Crew:
        """Return the crew of a run, as `openslob.kinds.run.crew.Hire`."""
        target = self.require_sendable(engine)
        return FleetCrew(self.drivers, self._connect, target, plans, report, folder, self._shared, engine.direct)

    def _connect(self, driver: Driver, run: str) -> DaskRemote:
        return DaskRemote(self._client, driver.address, f"slob-{run}-{driver.number}")

    def require_sendable(self, engine: Engine) -> Address:
        """Return the target as it is sent to the drivers. UsageError if others could read its password on the way."""
        target, direct = engine.address, engine.direct
        if (target.has_password or (direct is not None and direct.has_password)) and not self._private:
            raise UsageError(
                "the target's password would cross the network unencrypted, for anybody to read",
                "use TLS (tls://, see docs/many-drivers.md), or leave the password out of the target and give each "
                "driver its own, in the password file of the engine",
            )
        return target

    def reach(self, engine: Engine) -> list[Reach]:
        """Let each driver connect to the target once."""
        target = self.require_sendable(engine)
        return [self._reach(driver, target, engine.direct) for driver in self.drivers]

    def _reach(self, driver: Driver, target: Address, direct: Address | None) -> Reach:
        try:
            remote = self._connect(driver, "check")
            try:
                return Reach(driver, remote.reach(Order("check", driver.number, target, (), None, direct)))
            finally:
                remote.end()
        except (SlobError, *GONE) as error:
            return Reach(driver, None, str(error) or type(error).__name__)


@contextmanager
def local_processes(count: int) -> Iterator[Client]:
    """Run so many drivers on this host in this block: a scheduler in this process, and worker processes.

    They trust nobody else: every line to them needs a key that is made for it and forgotten.

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
        client = stack.enter_context(connect_client(address, security))
        await_drivers(client, started, scratch)
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


def await_drivers(client: Client, started: list[subprocess.Popen[bytes]], scratch: Path) -> None:
    """Wait until all drivers that were started have reported. SlobError when one ends, or not all do so in time."""
    allowed_s = START_S + START_EACH_S * len(started)
    deadline = time.monotonic() + allowed_s
    while len(workers(client)) < len(started):
        for number, process in enumerate(started, 1):
            if process.poll() is not None:
                lines = _log(scratch, number).read_text(errors="replace").strip().splitlines()
                why = lines[-1] if lines else f"exit code {process.returncode}"
                raise SlobError(f"driver {number} ended while it started: {why}")
        if time.monotonic() > deadline:
            raise SlobError(
                f"only {len(workers(client))} of {len(started)} drivers started in {allowed_s:.0f} s",
                "use fewer drivers, or stop other work on this host",
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
