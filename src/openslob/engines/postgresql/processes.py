"""The processes of a PostgreSQL server, told by its data directory: each of them has it as its working directory.

A process id alone proves nothing: after a crash it may belong to any other program.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from openslob.errors import SlobError

_FAST_STOP_S = 300.0  # the final checkpoint writes out a whole cache
_IMMEDIATE_STOP_S = 30.0
_SURVIVORS_S = 10.0
_STATUS_LINE = 7  # of postmaster.pid, from 0


def _is_server_process(process: psutil.Process, data: Path) -> bool:
    try:
        # a zombie has no working directory any more and counts as gone
        return process.name() == "postgres" and process.cwd() == str(data.resolve())
    except psutil.Error:
        return False


def _pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _postmaster(data: Path) -> psutil.Process | None:
    lines = _pid_file(data)
    try:
        process = psutil.Process(int(lines[0]))
    except (IndexError, ValueError, psutil.NoSuchProcess):
        return None
    return process if _is_server_process(process, data) else None


def postmaster_pid(data: Path) -> int | None:
    """Process id of the server's main process, or None when it does not run (whatever postmaster.pid says)."""
    process = _postmaster(data)
    return process.pid if process else None


def is_ready(data: Path) -> bool:
    """Whether the server runs and accepts connections, by its own word in postmaster.pid."""
    lines = _pid_file(data)
    return len(lines) > _STATUS_LINE and lines[_STATUS_LINE].strip() == "ready" and postmaster_pid(data) is not None


def stop_postmaster(data: Path, at_once: bool) -> bool:
    """Stop the server and wait for it; False if it would not.

    A fast stop ends sessions and writes a checkpoint; ``at_once``, or when that takes too long, it just ends and
    recovers at the next start.
    """
    process = _postmaster(data)
    if process is None:
        return True
    steps = [(signal.SIGQUIT, _IMMEDIATE_STOP_S)]
    if not at_once:
        steps.insert(0, (signal.SIGINT, _FAST_STOP_S))
    return any(_signal_and_wait([process], data, number, seconds) for number, seconds in steps)


def clear_remains(data: Path, socket: Path) -> None:
    """After the main process ended by itself or by force: end its orphans, remove its pid file and socket.

    Orphans still use the data files, so a server started beside them would destroy them.
    """
    remains = [data / "postmaster.pid", socket, socket.with_name(f"{socket.name}.lock")]
    if not any(path.exists() for path in remains):
        return
    orphans = [process for process in psutil.process_iter() if _is_server_process(process, data)]
    # SIGQUIT is how a main process itself ends its children after a crash
    if not any(_signal_and_wait(orphans, data, number, _SURVIVORS_S) for number in (signal.SIGQUIT, signal.SIGKILL)):
        pids = ", ".join(str(process.pid) for process in orphans if _is_server_process(process, data))
        raise SlobError(f"processes of a crashed server still use {data}: {pids}", "end them and try again")
    for path in remains:
        path.unlink(missing_ok=True)


def _signal_and_wait(processes: list[psutil.Process], data: Path, number: int, seconds: float) -> bool:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue
    return _wait(lambda: not any(_is_server_process(process, data) for process in processes), seconds)


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while not done():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True
