"""A program that measures: run in a process group of its own, timed, and stopped on demand so that nothing stays."""

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

from openslob.errors import SlobError

# How soon a request to stop is seen.
_LOOK_EVERY_S = 0.05
# Programs that read end within a second of being asked; longer means that the storage hangs.
_PATIENCE_S = 5.0


class MeasurementStoppedError(SlobError):
    """The user stopped a measurement; what was measured before counts."""

    def __init__(self) -> None:
        super().__init__("stopped before its end; its record says interrupted")


@dataclass(frozen=True)
class CompletedProgram:
    """How a program ended: what it said, wall time and CPU seconds of it and of what it started."""

    code: int
    output: str
    errors: str
    seconds: float
    cpu_user_s: float
    cpu_system_s: float


def do_nothing() -> None:
    """For who does not watch."""


def run(
    argv: Sequence[str],
    stop: Event,
    *,
    text: str = "",
    folder: str | Path = "/",
    sample: Callable[[], None] = do_nothing,
) -> CompletedProgram:
    """Run a program with ``text`` as its input. ``sample`` is called many times meanwhile.

    MeasurementStoppedError once ``stop`` is set; the program and all that it started are gone then. The CPU seconds are
    those of the program and of its children that ended before it, as `os.wait4` returns them.
    """
    if stop.is_set():
        raise MeasurementStoppedError
    pipe, began = subprocess.PIPE, time.monotonic()
    with (
        _input(text) as given,
        subprocess.Popen(
            argv, stdin=given, stdout=pipe, stderr=pipe, text=True, errors="replace", cwd=folder, start_new_session=True
        ) as process,
        ThreadPoolExecutor(2) as readers,
    ):
        try:
            assert process.stdout
            assert process.stderr
            output, errors = readers.submit(process.stdout.read), readers.submit(process.stderr.read)
            while wait((output, errors), _LOOK_EVERY_S).not_done:
                sample()
                if stop.is_set():
                    raise MeasurementStoppedError
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - began
            # Popen did not see the process end, and would wait for it again.
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            _end_group(process)
    return CompletedProgram(
        process.returncode, output.result(), errors.result(), seconds, usage.ru_utime, usage.ru_stime
    )


def _input(text: str) -> IO[str]:
    """Return an open file with ``text``: unlike a pipe it takes any amount before the program reads."""
    file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - the caller closes it
    file.write(text)
    file.seek(0)
    return file


def _end_group(process: subprocess.Popen[str]) -> None:
    """End every process of the group, those forked by the program too; harmless when all are gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
