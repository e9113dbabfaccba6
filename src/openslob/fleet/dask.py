"""Dask as the line to the drivers: a scheduler, a client, and one pinned task for each run and driver.

Dask carries orders, short answers and, after a run, the drivers' files. It runs tasks again when a process dies, moves
them and may double them; none of that matters here: a task makes a `DriverAgent`, which does nothing before it gets an
order.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import dask
from distributed import Client, KilledWorker, Security

from openslob.core.errors import SlobError, UsageError
from openslob.fleet.agent import DriverAgent
from openslob.fleet.channel import ANSWER_S, GONE, NoSchedulerError
from openslob.fleet.messages import Heard, Order, Said, Use, Who

CONNECT_S = 10.0
# How often it is looked whether a driver that gives no answer is still there.
LOOK_S = 1.0
ROUND_TRIPS = 3
# When a driver gives no answer, the scheduler is asked for so long whether it is that one that is gone.
SCHEDULER_ANSWER_S = 5.0
# Dask looks at itself fifty times a second, and at each thread's stack a hundred times: that costs a driver more CPU
# than a run does. Nothing is run again after a failure, and nothing moved. Its web server, which is always there, shows
# no page.
CALM: Mapping[str, object] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Tls:
    """The files of TLS: what to trust, and the own certificate with its key. Dask's configuration has the others."""

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self) -> Security:
        """Return them as Dask takes them. UsageError for a file that can't be read."""
        files = {"tls_ca_file": self.ca_file, "tls_client_cert": self.cert, "tls_client_key": self.key}
        given = {name: str(path) for name, path in files.items() if path is not None}
        for path in given.values():
            try:
                Path(path).read_bytes()
            except OSError as error:
                raise UsageError(f"{path} can't be read: {error.strerror}") from None
        return Security(**given, require_encryption=True) if given else Security()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep Dask from logging in this block: what matters of it is said in our words."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ("distributed", "tornado")]
    loggers = [logging.getLogger(name) for name in ["distributed", *names]]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def connect_client(address: str, security: Security) -> Iterator[Client]:
    """Connect to a scheduler. SlobError when none answers."""
    if address.startswith("tls://") and security.get_connection_args("client").get("ssl_context") is None:
        raise UsageError(f"{address} needs a certificate", "give --tls-ca-file, --tls-cert and --tls-key")
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_S:g}s"}):
            client = Client(address, security=security, timeout=CONNECT_S, set_as_default=False, name="slob")
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise SlobError(
            f"no Dask scheduler can be reached at {address}: {why}",
            "start one (`dask scheduler`), or see whether both sides use TLS; docs/many-drivers.md",
        ) from error
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=CONNECT_S)


def workers(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """Return what the scheduler knows of its workers, by address. OSError when it does not answer."""
    # `scheduler_info` returns what the client has noted, in which a refresh of its own, without any worker, may be.
    if client.scheduler is None:
        raise OSError("the line to the scheduler is closed")
    found: Mapping[str, Mapping[str, Any]] = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
    return found


def who_are(client: Client, addresses: Sequence[str]) -> dict[str, Who | Exception]:
    """Return which processes these workers are, or why one can't say: openslob is not there, or is another one."""
    answers = _run(client, Who.here, addresses)
    return {address: answers.get(address, OSError("it gives no answer")) for address in addresses}


def _run(client: Client, question: Callable[[], _Answer], addresses: Sequence[str]) -> dict[str, _Answer | Exception]:
    try:
        found: dict[str, _Answer | Exception] = client.run(question, workers=list(addresses), on_error="return")
        return found
    except Exception as error:  # whatever the other side raises while it unpickles the question
        if len(addresses) == 1:
            return {addresses[0]: error}
    return {address: _run(client, question, [address])[address] for address in addresses}


def round_trip_s(client: Client, address: str) -> float:
    """Return the time of the quickest of a few questions and answers."""
    took = []
    for _ in range(ROUND_TRIPS):
        begun = time.monotonic()
        client.run(_nothing, workers=[address])
        took.append(time.monotonic() - begun)
    return min(took)


def _nothing() -> None:
    """Do nothing: the time of the call is asked for."""


class DaskRemote:
    """A `DriverAgent` on one worker. Implements `openslob.fleet.channel.Remote`."""

    def __init__(self, client: Client, address: str, key: str) -> None:
        # Pinned, and never the same task as another one. The arguments of a task are logged when it fails: it has none.
        self._future = client.submit(
            DriverAgent, actor=True, workers=[address], allow_other_workers=False, retries=0, pure=False, key=key
        )
        self._client = client
        self._actor = self._ask(lambda: self._await_agent(address))

    def _await_agent(self, address: str) -> Any:  # noqa: ANN401 - Dask's stand-in for a `DriverAgent`
        """Return the agent once its worker has made it. OSError when there is no such worker any more.

        The task of a worker that was gone before it could begin is given to no other one, and waits.
        """
        deadline = time.monotonic() + ANSWER_S
        while True:
            try:
                return self._future.result(timeout=LOOK_S)
            except TimeoutError:
                if address not in workers(self._client):
                    raise OSError("it is not connected to the scheduler any more") from None
                if time.monotonic() > deadline:
                    raise

    def _call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401 - what the method returns
        return self._ask(lambda: getattr(self._actor, name)(*arguments).result(timeout=ANSWER_S))

    def _ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Return the answer. OSError when Dask can't bring one, NoSchedulerError when its scheduler is gone."""
        try:
            return self._ask_driver(question)
        except GONE as error:
            if self._has_scheduler():
                raise
            raise NoSchedulerError(str(error) or type(error).__name__) from error

    def _has_scheduler(self) -> bool:
        """Return whether the scheduler answers; it looks at nothing for that."""
        if self._client.scheduler is None:
            return False
        try:
            self._client.sync(self._client.scheduler.identity, n_workers=0, callback_timeout=SCHEDULER_ANSWER_S)
        except GONE:
            return False
        return True

    def _ask_driver(self, question: Callable[[], _Answer]) -> _Answer:
        try:
            # An actor looks for its client as a global one, which a notebook may have of its own.
            with self._client.as_current():
                return question()
        except (CancelledError, KilledWorker) as error:
            raise OSError(" ".join(str(error).split()) or type(error).__name__) from error
        except UnboundLocalError as error:
            # So Dask fails where its event loop was closed meanwhile: the drivers are being let go.
            if self._client.status == "running":
                raise
            raise OSError("the line to the drivers is closed") from error

    def reach(self, order: Order) -> float:
        """Return the server's clock minus the driver's in s, over a connection that is closed again."""
        offset_s: float = self._call("reach", order)
        return offset_s

    def begin(self, order: Order) -> None:
        self._call("begin", order)

    def exchange(self, said: Said) -> Heard:
        heard: Heard = self._call("exchange", said)
        return heard

    def finish(self) -> Use:
        use: Use = self._call("finish")
        return use

    def read(self, name: str, offset: int) -> bytes:
        content: bytes = self._call("read", name, offset)
        return content

    def discard(self) -> None:
        self._call("discard")

    def end(self) -> None:
        """End all sessions that are left, and release the task."""
        try:
            self._call("end")
        finally:
            self._future.release()
