"""An observed command: a program in a process group of its own, whose output is passed on and kept."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from threading import Event, Thread
from types import TracebackType
from typing import IO, Self

from openslob.core.errors import SlobError
from openslob.core.guard import guard_group
from openslob.core.interrupt import Interrupt
from openslob.kinds.run.observation.observer import PULSE_S, CommandEnding, Observer
from openslob.record.model import RunRecord

# Of each output stream, so much of its beginning and of its end is kept.
KEPT_BYTES = 4 * 1024 * 1024
_READ_BYTES = 64 * 1024
# How long the rest of the output is waited for. What the command left running may hold its streams open for ever.
REST_S = 1.0
# What a shell reports for a program that is not there, for one that can't be run, and for one that a signal ended.
NOT_FOUND, NOT_RUNNABLE, BY_SIGNAL = 127, 126, 128


class UnrunnableError(SlobError):
    """The command can't be started; ``exit_code`` is what a shell reports."""

    def __init__(self, what: str, exit_code: int) -> None:
        super().__init__(what, "nothing was observed, and there is no record")
        self.exit_code = exit_code


def program_of(words: Sequence[str]) -> str:
    """Return the path of the program that a command runs. UnrunnableError when there is none."""
    if found := shutil.which(words[0]):
        return found
    if os.path.lexists(words[0]) and "/" in words[0]:
        raise UnrunnableError(f"the command {words[0]} can't be run: it is not a program", NOT_RUNNABLE)
    raise UnrunnableError(f"the command {words[0]} is not found", NOT_FOUND)


class Kept:
    """The beginning and the end of what a stream had."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = self._dropped = 0

    def add(self, data: bytes) -> None:
        """Add what was read."""
        room = self._most - len(self._head)
        self._head += data[:room]
        if rest := data[room:]:
            self._tail.append(rest)
            self._tail_bytes += len(rest)
        while self._tail and self._tail_bytes - len(self._tail[0]) > self._most:
            gone = self._tail.popleft()
            self._dropped += len(gone)
            self._tail_bytes -= len(gone)

    def text(self) -> str:
        """Return it; a line says how much of its middle is left out."""
        gap = f"\n… {self._dropped:,} bytes are left out here …\n".encode() if self._dropped else b""
        return (bytes(self._head) + gap + b"".join(self._tail)).decode(errors="replace")


class ObservedCommand:
    """A command while it runs. ``ended`` is set as soon as it has ended, and ``ended_ns`` is when (monotonic clock).

    It gets no input from a terminal, which belongs to this process's group. It is started in the block ``within``, and
    ends with this process.
    """

    def __init__(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        within: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self.words = words
        self.ended = Event()
        self.started_ns = self.ended_ns = 0
        self.cpu_s = 0.0
        self.output, self.errors = Kept(), Kept()
        self._environment = environment
        self._within = within
        self._opened = ExitStack()

    def start(self, output: IO[str] | None = sys.stdout, errors: IO[str] | None = sys.stderr) -> None:
        """Start it; its output goes to these streams, too, if there are any. SlobError when it can't be started."""
        try:
            with self._within():
                self._process = subprocess.Popen(
                    self.words,
                    stdin=subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=dict(self._environment),
                    process_group=0,
                )
        except OSError as error:
            raise SlobError(f"the command {self.words[0]} can't be run: {error.strerror}") from error
        self.started_ns = time.monotonic_ns()
        self._opened.enter_context(guard_group(self._process.pid))
        assert self._process.stdout
        assert self._process.stderr
        streams = ((self._process.stdout, output, self.output), (self._process.stderr, errors, self.errors))
        self._readers = [Thread(target=_pass_on, args=each, daemon=True) for each in streams]
        for thread in (*self._readers, Thread(target=self._await_end, daemon=True)):
            thread.start()

    def _await_end(self) -> None:
        _, status, usage = os.wait4(self._process.pid, 0)
        self.ended_ns = time.monotonic_ns()
        # Popen does not know that the process was waited for, and would wait for it again.
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.ended.set()

    def signal(self, number: int) -> None:
        """Pass a signal on to the whole group."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def collect(self) -> None:
        """Wait for the rest of the output, once it has ended."""
        for thread in self._readers:
            thread.join(REST_S)

    @property
    def exit_code(self) -> int:
        """What a shell reports: its exit code, or 128 and the number of the signal that ended it."""
        code = int(self._process.returncode)
        return code if code >= 0 else BY_SIGNAL - code

    @property
    def how_it_ended(self) -> str:
        """How it ended, in words."""
        code = int(self._process.returncode)
        return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return (self.ended_ns - self.started_ns) / 1e9

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _tb: TracebackType | None
    ) -> None:
        """End it if it still runs: whoever fails leaves nothing behind."""
        if self.started_ns and not self.ended.is_set():
            self.signal(signal.SIGTERM)
            if not self.ended.wait(REST_S * 2):
                self.signal(signal.SIGKILL)
                self.ended.wait(REST_S * 2)
            self.collect()
        self._opened.close()


def observe_command(
    observer: Observer,
    command: ObservedCommand,
    interrupt: Interrupt,
    streams: tuple[IO[str], IO[str]],
    complain: Callable[[str], None],
) -> RunRecord:
    """Observe a command from its start to its end, and keep its output; it goes to ``streams``, too.

    The first request to stop is passed on to the command; the second ends it. Where the server can no longer be
    observed, the command goes on, and ``complain`` gets the reason.
    """
    observer.begin()
    with command:
        command.start(*streams)
        passed = problem = ""
        while not command.ended.wait(PULSE_S):
            if not problem and (problem := observer.pulse()):
                complain(f"{problem}; the command goes on, its observation is over")
            passed = _pass_request(command, interrupt, passed)
        observer.end(command.ended_ns)
        command.collect()
    observer.attach("stdout.txt", command.output.text())
    observer.attach("stderr.txt", command.errors.text())
    failed = [f"the command ended with {command.how_it_ended}"] if command.exit_code and not interrupt.requested else []
    facts = {"exit_code": command.exit_code, "elapsed_s": command.seconds, "cpu_s": command.cpu_s}
    return observer.finish(CommandEnding(command.cpu_s, failed, {"command": facts}))


def _pass_request(command: ObservedCommand, interrupt: Interrupt, passed: str) -> str:
    """Pass requests to stop on to the command; return which was, to be given the next time."""
    if interrupt.now.is_set() and passed != "now":
        command.signal(signal.SIGKILL)
        return "now"
    if interrupt.requested and not passed:
        command.signal(interrupt.number)
        return "stop"
    return passed


def _pass_on(stream: IO[bytes], shown: IO[str] | None, kept: Kept) -> None:
    decoder = getincrementaldecoder("utf-8")(errors="replace")
    with stream:
        while data := os.read(stream.fileno(), _READ_BYTES):
            kept.add(data)
            if shown is None:
                continue
            # Whoever does not read what is shown does not stop what is measured.
            with suppress(OSError, ValueError):
                shown.write(decoder.decode(data))
                shown.flush()
