"""A program that measures: run in a process group of its own, timed, and stopped on demand so that nothing stays."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

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

    StoppedError once ``stop`` is set; the program and all that it started are gone then. CPU is told from what all
    children of this process used, so only one program may be run at a time.
    """
    if stop.is_set():
        raise MeasurementStoppedError
    pipe = subprocess.PIPE
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="replace", cwd=folder, start_new_session=True
    ) as process:
        try:
            output, errors = _communicated(process, text, stop, sample)
            seconds = time.monotonic() - began
        finally:
            _end_group(process)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return CompletedProgram(process.returncode, output, errors, seconds, user, system)


def _communicated(
    process: subprocess.Popen[str], text: str, stop: Event, sample: Callable[[], None]
) -> tuple[str, str]:
    given: str | None = text
    while True:
        try:
            return process.communicate(given, timeout=_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            given = None
            sample()
            if stop.is_set():
                raise MeasurementStoppedError from None


def _end_group(process: subprocess.Popen[str]) -> None:
    """End every process of the group, those forked by the program too; harmless when all are gone."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
