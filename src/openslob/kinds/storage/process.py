"""Execution of a measuring program in its own process group: timed, and stopped with all its children on demand."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import IO

import psutil

from openslob.core.errors import SlobError
from openslob.core.guard import guard_group

# Interval at which a request to stop is checked.
_POLL_S = 0.05
# Programs that read end within a second of SIGTERM; longer means that the storage hangs.
TERMINATION_TIMEOUT_S = 5.0


class MeasurementStoppedError(SlobError):
    """The user stopped a measurement; results recorded before are valid."""

    def __init__(self) -> None:
        super().__init__("stopped before its end; the record is marked as interrupted")


@dataclass(frozen=True)
class CompletedProgram:
    """Exit code, output, wall time, and CPU seconds of a program and its children."""

    code: int
    output: str
    errors: str
    seconds: float
    cpu_user_s: float
    cpu_system_s: float

    @property
    def how_it_ended(self) -> str:
        """How it ended, in words."""
        return f"exit code {self.code}" if self.code >= 0 else f"it was ended by {signal.Signals(-self.code).name}"


def do_nothing() -> None:
    """Do nothing; the default of ``sample``."""


def run(
    argv: Sequence[str],
    stop: Event,
    *,
    text: str = "",
    folder: str | Path = "/",
    sample: Callable[[], None] = do_nothing,
) -> CompletedProgram:
    """Run a program with ``text`` as its input, and call ``sample`` at short intervals meanwhile.

    Raises MeasurementStoppedError once ``stop`` is set, after the program and all its children have ended. The CPU
    seconds are those of the program and of its children that ended before it, as `os.wait4` returns them.
    """
    if stop.is_set():
        raise MeasurementStoppedError
    pipe, began = subprocess.PIPE, time.monotonic()
    with (
        _input(text) as given,
        subprocess.Popen(
            argv, stdin=given, stdout=pipe, stderr=pipe, text=True, errors="replace", cwd=folder, start_new_session=True
        ) as process,
        guard_group(process.pid),
        ThreadPoolExecutor(2) as readers,
    ):
        try:
            assert process.stdout
            assert process.stderr
            output, errors = readers.submit(process.stdout.read), readers.submit(process.stderr.read)
            while wait((output, errors), _POLL_S).not_done:
                sample()
                if stop.is_set():
                    raise MeasurementStoppedError
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - began
            # Popen does not know that the process was waited for, and would wait for it again.
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            _end_group(process)
    return CompletedProgram(
        process.returncode, output.result(), errors.result(), seconds, usage.ru_utime, usage.ru_stime
    )


def _input(text: str) -> IO[str]:
    """Return an open file with ``text``. Unlike a pipe, it holds any amount before the program reads it."""
    file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the caller closes it
    file.write(text)
    file.seek(0)
    return file


def _end_group(process: subprocess.Popen[str]) -> None:
    """End every process of the group, and those that the program forked, also in sessions of their own.

    fio puts each job into a session of its own. A job that is stopped while it starts may wait for a parent that has
    been killed: it would never end, and neither would our wait for the end of its output.
    """
    forked = _find_forked(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(TERMINATION_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        forked += _find_forked(process)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for other in forked:
        with suppress(psutil.NoSuchProcess):
            other.kill()


def _find_forked(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return all processes below one that has not been waited for; none of one that has ended."""
    if process.returncode is not None:
        return []
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
