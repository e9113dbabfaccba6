"""The leading process's end of the line to one driver: a thread that tells it what to do and takes what it reports."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Condition, Thread
from typing import Protocol

from openslob.core.errors import SlobError
from openslob.core.histogram import Histogram, lower_edge_us
from openslob.core.measurement import DriverUse
from openslob.core.method import OpKind
from openslob.core.units import NANOS
from openslob.fleet.messages import Heard, Order, Said, Use, Who
from openslob.kinds.run.plan import Phase
from openslob.kinds.run.worker import Lost, PhaseDone, Report, SliceDone

# How often a driver is asked: while sessions take an order or end, near the end of a phase, and in the middle of one.
# An answer costs the leading process some milliseconds of CPU: with more drivers each is asked less often.
SOON_S, NEAR_S, USUAL_S = 0.02, 0.1, 1.0
USUAL_PER_DRIVER_S, LONGEST_USUAL_S = 0.5, 5.0
# How long before the end of a phase is near it.
END_NEAR_NS = 100_000_000
# A driver that gives no answer for so long is gone.
ANSWER_S = 60.0
# What a call raises when the driver does not answer.
GONE = (OSError, TimeoutError, RuntimeError)
# What Dask says of it is about Dask.
NO_SCHEDULER = "can't be reached: the Dask scheduler, which passes on every message, is gone or can't be reached"
IS_GONE = "is gone: its process ended, or its host can't be reached"
Buckets = dict[tuple[str, str, int], int]


class NoSchedulerError(OSError):
    """What connects the drivers is gone: of the driver itself nothing is known."""


class Remote(Protocol):
    """A `DriverAgent` somewhere else. Each call waits for its answer; OSError when the driver is gone.

    `NoSchedulerError` when what connects the drivers is.
    """

    def begin(self, order: Order) -> None:
        """Begin to connect the sessions."""

    def exchange(self, said: Said) -> Heard:
        """Do what is said, and return what was reported."""

    def finish(self) -> Use:
        """Return what was used in the window."""

    def read(self, name: str, offset: int) -> bytes:
        """Return the next bytes of a file."""

    def discard(self) -> None:
        """Remove the files."""

    def end(self) -> None:
        """End all sessions that are left."""


@dataclass(frozen=True)
class Driver:
    """A driver of a fleet: its number from 1, its address for Dask, its process, and the time of a round trip."""

    number: int
    address: str
    who: Who
    here: bool
    round_trip_s: float

    @property
    def name(self) -> str:
        """The driver as messages name it."""
        return f"driver {self.number} ({self.who.host}, pid {self.who.pid})"


class RemoteMember:
    """A session that a driver runs."""

    def __init__(self, number: int, channel: Channel) -> None:
        self.number = number
        self._channel = channel

    def cancel(self) -> bool:
        """Ask the driver to cancel the slice; it cuts the session off if the server takes no request."""
        self._channel.ask(cancel=[self.number])
        return True

    def cut(self) -> None:
        """Ask the driver to break its connection off."""
        self._channel.ask(cut=[self.number])

    def is_alive(self) -> bool:
        """Return whether it may still run."""
        return self.number in self._channel.alive

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        self._channel.wait_for_end(self.number, timeout)


class Channel(Thread):
    """Exchanges messages with one driver until its sessions have ended, or it is gone.

    ``report`` gets what the sessions report, each message once and in their order. It is one of so many ``drivers``.
    """

    def __init__(
        self,
        driver: Driver,
        open_remote: Callable[[], Remote],
        order: Order,
        report: Callable[[Report], None],
        drivers: int = 1,
    ) -> None:
        super().__init__(name=f"driver-{driver.number}", daemon=True)
        self.driver = driver
        self.order = order
        self.alive: frozenset[int] = frozenset(plan.number for plan in order.plans)
        self.members = [RemoteMember(plan.number, self) for plan in order.plans]
        self.lost = ""
        self.begun = 0
        self.slowest_s = driver.round_trip_s
        # What its reports of the window add up to: buckets by file, and operations by session.
        self.buckets: Buckets = {}
        self.ops: Counter[int] = Counter()
        self._open = open_remote
        self._report = report
        self._remote: Remote | None = None
        self._is_gone = False
        self._changed = Condition()
        self._said = Said()
        self._pending = False
        self._near_at = 0.0
        self._usual_s = min(LONGEST_USUAL_S, max(USUAL_S, USUAL_PER_DRIVER_S * drivers))

    @property
    def remote(self) -> Remote | None:
        """The driver, also one that can't go on; None while it has no order, and once it is gone."""
        return None if self._is_gone else self._remote

    def give(self, phase: Phase | None, in_s: float) -> None:
        """Say the next phase, which begins in so many seconds; None: there is no further one."""
        with self._changed:
            self._said = replace(self._said, ended=True) if phase is None else replace(self._said, phase=phase)
            if phase is not None:
                self._near_at = time.monotonic() + in_s + (phase.end_ns - phase.begin_ns - END_NEAR_NS) / NANOS
            self.begun = 0
            self._wake()

    def ask(self, *, stop: bool = False, cancel: Iterable[int] = (), cut: Iterable[int] = ()) -> None:
        """Say that all sessions, or these, must end."""
        with self._changed:
            said = self._said
            self._said = replace(said, stop=said.stop or stop, cancel=[*said.cancel, *cancel], cut=[*said.cut, *cut])
            self._wake()

    def _wake(self) -> None:
        self._pending = True
        self._changed.notify_all()

    def wait_for_end(self, number: int, timeout: float | None) -> None:
        """Wait until a session has ended."""
        with self._changed:
            self._changed.wait_for(lambda: number not in self.alive, timeout)

    def run(self) -> None:
        """Give the order, then exchange messages until all sessions have ended."""
        try:
            remote = self._open()
            if not self._takes(remote):
                remote.end()
                return
            remote.begin(self.order)
            while self.alive:
                self._exchange(remote)
                with self._changed:
                    if not self._pending:
                        self._changed.wait(self._pause_s())
        except SlobError as error:
            self._lose(f"can't go on: {error}")
        except NoSchedulerError:
            self._lose(NO_SCHEDULER, is_gone=True)
        except TimeoutError:
            self._lose(f"is gone: it gave no answer for {ANSWER_S:.0f} s", is_gone=True)
        except GONE:
            self._lose(IS_GONE, is_gone=True)
        except BaseException as error:
            # A defect: the run must not wait for a thread that has ended, and the traceback must be shown.
            self._lose(f"can't go on: {error!r}")
            raise

    def _takes(self, remote: Remote) -> bool:
        """Take a driver that was reached; not if the run ended meanwhile, as its sessions must then not begin."""
        with self._changed:
            if self._said.ended:
                self.alive = frozenset()
                self._changed.notify_all()
            else:
                self._remote = remote
            return not self._said.ended

    def _exchange(self, remote: Remote) -> None:
        with self._changed:
            said, self._pending = self._said, False
            # What is to be done to sessions is said once more only if it is asked for again.
            self._said = replace(said, cancel=(), cut=())
        begun_at = time.monotonic()
        heard = remote.exchange(said)
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun_at)
        if heard.error:
            raise SlobError(heard.error)
        new = heard.reports[said.heard - heard.first :]
        for message in new:
            self._take(message)
        with self._changed:
            self._said = replace(self._said, heard=said.heard + len(new))
            self.alive = heard.alive
            if said.phase is not None and said.phase is self._said.phase and said.phase.begin_ns == heard.begin_ns:
                self.begun = heard.begun
            self._changed.notify_all()

    def _take(self, message: Report) -> None:
        if isinstance(message, Lost):
            message = replace(message, why=f"{self.driver.name}: {message.why}")
        if isinstance(message, PhaseDone) and not self.driver.here:
            message = replace(message, ended_ns=None)
        if isinstance(message, SliceDone) and self._said.phase is not None and self._said.phase.name == "window":
            self.ops[message.session] += message.result.counts.ops
            for file, histograms in (
                ("latency.csv", message.result.latency),
                ("response.csv", message.result.response),
            ):
                _add(self.buckets, file, histograms)
        self._report(message)

    def _pause_s(self) -> float:
        """Return how long to wait before the driver is asked again."""
        said, running = self._said, len(self.alive)
        if said.phase is None or said.stop or said.ended:
            return NEAR_S
        if self.begun < running:
            return SOON_S
        left_s = self._near_at - time.monotonic()
        return NEAR_S if said.phase.max_ops or left_s <= 0 else min(self._usual_s, left_s)

    def _lose(self, why: str, is_gone: bool = False) -> None:
        """Report all sessions that are left as lost, all by one line."""
        with self._changed:
            self.lost, self._is_gone = why, is_gone
            left, self.alive = sorted(self.alive), frozenset()
            self._changed.notify_all()
        for number in left:
            self._report(Lost(number, f"{self.driver.name} {why}"))

    def close(self) -> None:
        """Let the driver end what is left, without waiting for one that is gone."""
        if self.remote is not None:
            with suppress(SlobError, *GONE):
                self.remote.end()

    def use(self) -> tuple[DriverUse, Use | None]:
        """Return what the driver did in the window, and its own account of it."""
        driver, use = self.driver, None
        if self.remote is not None:
            try:
                use = self.remote.finish()
            except SlobError as error:
                self.lost = self.lost or f"can't go on: {error}"
            except GONE as error:
                why = NO_SCHEDULER if isinstance(error, NoSchedulerError) else "is gone"
                self.lost, self._is_gone = self.lost or why, True
        used = use or Use(why_unknown="it is gone")
        return DriverUse(
            number=driver.number,
            address=driver.address,
            host=driver.who.host,
            pid=driver.who.pid,
            machine=driver.who.machine,
            here=driver.here,
            sessions=[plan.number for plan in self.order.plans],
            python=driver.who.python,
            seconds=used.seconds,
            cpu_s=used.cpu_s,
            peak_rss_bytes=used.peak_rss_bytes,
            host_busy_s=used.host_busy_s,
            host_cpus=used.host_cpus,
            clock_offset_s=used.clock_offset_s,
            round_trip_ms=1e3 * driver.round_trip_s,
            ops=sum(self.ops.values()),
            lost=self.lost,
            why_unknown=used.why_unknown,
            still_s=used.still_s,
            still_at_s=used.still_at_s,
            still_cpu_s=used.still_cpu_s,
            still_waited_s=used.still_waited_s,
        ), use


def _add(buckets: Buckets, file: str, histograms: Mapping[OpKind, Histogram]) -> None:
    for kind, histogram in histograms.items():
        for bucket, count in histogram.counts.items():
            key = (file, kind.value, lower_edge_us(bucket))
            buckets[key] = buckets.get(key, 0) + count
