"""The processes of a managed server, known by its data directory, which is the working directory of each.

A process id alone proves nothing: after a crash it may belong to any other program.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from openslob.core.errors import SlobError
from openslob.engines.managed.account import server_account
from openslob.engines.patience import wait

CLEAN_STOP_S = 300.0  # the final checkpoint writes out a whole cache
_IMMEDIATE_STOP_S = 30.0
_SURVIVORS_S = 10.0
# A process that was stopped (SIGSTOP, a debugger) does not act on any signal but SIGKILL until it is continued.
FROZEN_S = 3.0


@dataclass(frozen=True)
class ServerProcesses:
    """The processes of one server: programs called one of ``programs`` in ``data``.

    ``pid_file`` lies there and begins with the main process's id. ``clean`` is the signal that stops the server with
    all its pages written, ``immediate`` the one that makes it end at once and recover at the next start.
    """

    data: Path
    programs: frozenset[str]
    pid_file: str
    clean: signal.Signals
    immediate: signal.Signals

    def main_pid(self) -> int | None:
        """Return the id of the main process; None when it does not run, whatever the pid file says."""
        process = self._main()
        return process.pid if process else None

    def pid_lines(self) -> list[str]:
        """Return the lines of the pid file; empty when there is none."""
        try:
            return (self.data / self.pid_file).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def stop(self, at_once: bool) -> str:
        """Stop the server and wait for it. Return what the user should know of a stop by force.

        A clean stop ends sessions and writes a checkpoint. With ``at_once``, or when a clean stop takes too long, the
        server ends without one and recovers at the next start. SlobError when it survives even SIGKILL.
        """
        process = self._main()
        if process is None:
            return ""
        began_s = time.monotonic()
        if not at_once and self._signal_and_wait([process], self.clean, CLEAN_STOP_S):
            return ""
        in_time = self._signal_and_wait([process], self.immediate, _IMMEDIATE_STOP_S)
        if not in_time and not self._signal_and_wait([process], signal.SIGKILL, _IMMEDIATE_STOP_S):
            raise SlobError(f"process {process.pid} did not end, even after SIGKILL", "check its storage")
        waited_s = time.monotonic() - began_s
        return "" if at_once else f"it did not stop in {waited_s:.0f} s and was killed; it recovers at its next start"

    def kill(self, meanwhile: Callable[[], None]) -> None:
        """Kill all processes at one moment, as far as they see: none goes on after another one's end.

        ``meanwhile`` is called when all stand still. SlobError when they survive even SIGKILL.
        """
        ours = self._all()
        try:
            _send(signal.SIGSTOP, ours)
            meanwhile()
        finally:
            _send(signal.SIGKILL, ours)
        if not wait(lambda: all(map(_has_ended, ours)), _IMMEDIATE_STOP_S):
            raise SlobError("processes did not end, even after SIGKILL", "check the server's storage")

    def _all(self) -> list[psutil.Process]:
        """Return the main process and those that it started; stopped first, it starts no more of them meanwhile.

        Some products write the pid file when they are ready; one that still recovers is found by where it works.
        """
        main = self._main() or next(self._find_ours(), None)
        if main is None:
            return []
        with suppress(psutil.NoSuchProcess):
            main.send_signal(signal.SIGSTOP)
            return [main, *_children(main)]
        return [main]

    def clear_remains(self, remains: Collection[Path]) -> None:
        """End orphans of a main process that ended, and remove its pid file and ``remains``.

        Orphans still use the data files, so a server started beside them would destroy the data. A server whose start
        was interrupted has no pid file yet, so orphans are looked for in any case.
        """
        orphans = list(self._find_ours())
        steps = (self.immediate, signal.SIGKILL)
        if not any(self._signal_and_wait(orphans, number, _SURVIVORS_S) for number in steps):
            pids = ", ".join(str(process.pid) for process in orphans if self._is_ours(process))
            raise SlobError(f"processes of a crashed server still use {self.data}: {pids}", "end them and try again")
        for path in (self.data / self.pid_file, *remains):
            path.unlink(missing_ok=True)

    def is_there(self) -> bool:
        """Return whether there is any process of the server, ready or not."""
        return self._main() is not None or any(True for _ in self._find_ours())

    def _find_ours(self) -> Iterator[psutil.Process]:
        return (process for process in psutil.process_iter() if self._is_ours(process))

    def _main(self) -> psutil.Process | None:
        try:
            process = psutil.Process(int(self.pid_lines()[0]))
        except (IndexError, ValueError, OverflowError, psutil.NoSuchProcess):
            return None
        return process if self._is_ours(process) else None

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            # a zombie has no working directory any more and counts as gone
            data = str(self.data.resolve())
            # The kernel says so of a directory that was removed under the server.
            return process.name() in self.programs and _working_directory(process) in (data, f"{data} (deleted)")
        except psutil.Error:
            return False

    def _signal_and_wait(self, processes: list[psutil.Process], number: int, seconds: float) -> bool:
        for process in processes:
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue

        def all_ended() -> bool:
            return all(map(_has_ended, processes))

        # The kernel stops a process some time after the signal was sent, so it may freeze while it is waited for.
        def is_frozen() -> bool:
            return number != signal.SIGKILL and any(map(_is_frozen, processes))

        return wait(lambda: all_ended() or is_frozen(), seconds) and wait(all_ended, FROZEN_S)


def _working_directory(process: psutil.Process) -> str:
    """Return it as the kernel says it. psutil.Error when it is not known."""
    try:
        return str(process.cwd())
    except psutil.AccessDenied:
        # Root in a container may not look into processes of other users, but may become the one that runs servers.
        account = server_account()
        if not account.switched or process.uids().real != account.uid:
            raise
        return account.run(["readlink", f"/proc/{process.pid}/cwd"]).stdout.removesuffix("\n")


def _send(number: int, processes: Collection[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _children(process: psutil.Process) -> list[psutil.Process]:
    """Return all that a process started, and what that started; psutil alone would read every process of the host."""
    found: list[psutil.Process] = []
    try:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            for pid in (task / "children").read_text().split():
                with suppress(psutil.NoSuchProcess):
                    found.append(psutil.Process(int(pid)))
    except OSError:
        return list(process.children(recursive=True))
    return found + [descendant for child in found for descendant in _children(child)]


def _is_frozen(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def _has_ended(process: psutil.Process) -> bool:
    """Return whether it is gone: while its last threads end, a killed process still has its memory and files."""
    try:
        if not process.is_running():
            return True
        return process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1
    except psutil.Error:
        return True


def why_not_ready(is_ready: Callable[[], bool], pid: int, seconds: float) -> str | None:
    """Wait until a server that was just started as process ``pid`` is ready; else return that it ended or takes longer.

    It is ready only while it lives: its last words in the pid file are those of a living server.
    """
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        lives = _lives(pid)
        if is_ready():
            return None
        if not lives:
            return "its process ended and gave no reason"
        time.sleep(0.02)
    return f"it was not ready within {seconds:.0f} s"


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
