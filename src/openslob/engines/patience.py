"""How long a wait for a server may last: nothing waits for ever, and a stop ends every wait.

A command or a run has one `Patience`, which its engine follows (`Engine.follow`). Each connection has a `Watch`, which
knows what kind of statements it runs; the engine calls it about twice a second while it waits. The connections of a
run's sessions have none: the session pool ends their slices.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from enum import Enum, auto
from threading import Thread, Timer
from typing import Protocol, TypeVar

from openslob.core.errors import SlobError, start_thread
from openslob.core.interrupt import Interrupt

# How often a wait looks whether it must end, in s.
POLL_S = 0.5
# A short statement takes milliseconds; a server that is up, but overloaded, answers it within seconds.
ANSWER_S = 30.0
# How often a long statement is asked after, over another connection, and what that may take: to connect and to ask.
PROBE_EVERY_S = 10.0
PROBE_S = 4
# What a connection that nothing watches may take from its first statement until it is ready.
OPENING_S = 10.0
# What goes on when a stop is requested may take so long to finish; after the second request, all that is left.
SOON_S = 1.0
AT_ONCE_S = 0.5
# How long something lasts, in a line about it.
_DURATION = re.compile(r"\b\d+ s\b")
_SILENT = "the server hangs or is stopped, or what is sent to it is lost on the way; see its log"
_AT_ONCE = "stopped at once, without waiting for the server"
_Opened = TypeVar("_Opened")


class Closeable(Protocol):
    """What can be closed, such as a driver's connection."""

    def close(self) -> object:
        """Close it."""


class Work(Enum):
    """The kind of a connection's statements, which decides how long each may take."""

    SHORT = auto()  # `ANSWER_S`
    SAMPLE = auto()  # in a window until it is overdue, as `Patience.allow` says; else `ANSWER_S`
    SETTLE = auto()  # as long as the server makes progress, and not while somebody's lock blocks it
    LOAD = auto()  # as long as the server answers at all; who holds it up is said


class NoAnswerError(SlobError):
    """The server did not answer in time."""


class StoppedError(SlobError):
    """The wait was ended because the user asked for it."""


def _ignore(_text: str) -> None:
    """Report to nobody."""


class Patience:
    """The limits that all waits of a command or run have in common; ``tell`` gets a line about what it waits for.

    After a wait that exceeded a common limit nothing more is waited for: every further one fails at once, until `allow`
    sets another limit. After the user's second request no limit does.
    """

    def __init__(self, interrupt: Interrupt | None = None, tell: Callable[[str], None] = _ignore) -> None:
        self.interrupt = interrupt or Interrupt()
        self.tell = tell
        self._last_said = ""
        self._until: float | None = None
        self._is_over = False
        self._is_stopped = False

    def tell_once(self, text: str) -> None:
        """Report a line, unless it repeats the last one, or says only that it lasts for longer."""
        said = _DURATION.sub("", text)
        if said != self._last_said:
            self.tell(text)
        self._last_said = said

    def allow(self, seconds: float | None) -> None:
        """Let all waits together, the present ones too, last so many seconds from now; None: as long as each may."""
        self._until = None if seconds is None else time.monotonic() + seconds
        self._is_over = False

    def of_probe(self) -> Patience:
        """Return the limits of a probe that begins now: a time of its own, and the same stops."""
        probe = Patience(self.interrupt)
        probe.allow(PROBE_S)
        return probe

    def give_up(self) -> None:
        """Let every further wait fail at once, until more time is allowed."""
        self._is_over = True

    @property
    def is_limited(self) -> bool:
        return self._until is not None

    def require(self) -> None:
        """Raise SlobError when nothing more is waited for."""
        if self._is_stopped:
            raise StoppedError(_AT_ONCE)
        if self._is_over:
            raise NoAnswerError("the server did not answer, and is not waited for any longer", _SILENT)

    def check(self, began: float) -> None:
        """Raise SlobError when a wait that began at this time must end now."""
        now, asked = time.monotonic(), self.interrupt
        if asked.now_at is not None and now > asked.now_at + AT_ONCE_S:
            self._is_stopped = True
            raise StoppedError(_AT_ONCE)
        if asked.stop_at is not None and began < asked.stop_at and now > asked.stop_at + SOON_S:
            raise StoppedError("stopped while it waited for the server")
        if self._is_over or (self._until is not None and now > self._until):
            self.give_up()
            raise NoAnswerError(f"no answer came for {now - began:.0f} s", _SILENT)

    def connect(self, opened: Callable[[], _Opened], close: Callable[[_Opened], object]) -> _Opened:
        """Open a connection on a thread of its own, since no driver's library lets it be stopped meanwhile.

        A connection that is open only after the wait was ended is closed.
        """
        self.require()
        began, result = time.monotonic(), Future[_Opened]()
        start_thread(Thread(target=_open, args=(result, opened), name="connect", daemon=True))
        try:
            # `Future.result` with a limit would not say whose TimeoutError it raises: its own, or the driver's.
            while not futures.wait([result], POLL_S).done:
                self.check(began)
            return result.result()
        except BaseException:
            result.add_done_callback(lambda late: None if late.exception() else close(late.result()))
            raise


def _open(result: Future[_Opened], opened: Callable[[], _Opened]) -> None:
    try:
        result.set_result(opened())
    except BaseException as error:
        result.set_exception(error)


class Watch:
    """Ends the waits of one connection. ``obstacle`` is the engine's method of that name."""

    def __init__(self, patience: Patience, work: Work, obstacle: Callable[[], str]) -> None:
        self._patience = patience
        self._work = work
        self._obstacle = obstacle

    def begin(self, since_s: float = 0.0) -> Callable[[], None]:
        """Begin a wait, which lasts for ``since_s`` already.

        Return what is to be called every `POLL_S`. Both raise SlobError when the wait must end.
        """
        self._patience.require()
        return _Wait(self._patience, self._work, self._obstacle, time.monotonic() - since_s).check


class _Wait:
    def __init__(self, patience: Patience, work: Work, obstacle: Callable[[], str], began: float) -> None:
        self._patience, self._work, self._obstacle = patience, work, obstacle
        self._began = self._probed = self._answered = self._free = began

    def check(self) -> None:
        self._patience.check(self._began)
        now = time.monotonic()
        if self._is_short and now > self._began + ANSWER_S:
            raise self._late()
        if self._work in (Work.SETTLE, Work.LOAD) and now > self._probed + PROBE_EVERY_S:
            self._probe()
            self._probed = time.monotonic()

    @property
    def _is_short(self) -> bool:
        return self._work is Work.SHORT or (self._work is Work.SAMPLE and not self._patience.is_limited)

    def _late(self) -> SlobError:
        """Return why a short statement was not answered in time."""
        try:
            held_up = self._obstacle()
        except SlobError as error:
            self._patience.give_up()
            return NoAnswerError(error.what, error.remedy)
        return NoAnswerError(held_up or f"no answer came for {ANSWER_S:.0f} s", "" if held_up else _SILENT)

    def _probe(self) -> None:
        """Ask the server for the progress of a long statement; raise SlobError when there is none."""
        try:
            held_up = self._obstacle()
        except SlobError:
            if time.monotonic() > self._answered + ANSWER_S:
                self._patience.give_up()
                raise
            return
        now = self._answered = time.monotonic()
        if not held_up:
            self._free = now
        elif self._work is Work.LOAD:
            self._patience.tell_once(held_up)
        elif now > self._free + ANSWER_S:
            raise NoAnswerError(held_up)


def wait(done: Callable[[], bool], seconds: float, every_s: float = 0.02) -> bool:
    """Wait until ``done`` is true; return False if it is not within so many seconds."""
    give_up = time.monotonic() + seconds
    while not done():
        if time.monotonic() > give_up:
            return False
        time.sleep(every_s)
    return True


@contextmanager
def cut_when_late(cut: Callable[[], None], seconds: float = OPENING_S) -> Iterator[None]:
    """Break a connection off if the block takes longer than ``seconds``, so that a server that hangs is an error."""
    timer = Timer(seconds, cut)
    timer.daemon = True
    start_thread(timer)
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def close_on_failure(connection: Closeable) -> Iterator[None]:
    """Close a new connection when what is done first on it fails: nobody else has it yet."""
    try:
        yield
    except BaseException:
        connection.close()
        raise
