"""What a server's own log says of its end: no space, a crash, a shutdown. The client learns only that it is gone.

The log is the regular file that the server's main process has as its standard error, whoever started it. A server that
logs to a pipe or to the system's journal has none here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

STDERR = 2
# More than this is not read: the first line that tells the cause comes soon after the fault.
_MOST_BYTES = 4 * 1024 * 1024
_LONGEST_LINE = 300
# Lines that tell a cause, in this order: what made the server end itself, what ended it, who asked it to end. Errors of
# single statements are not among them: their clients report them.
_CAUSES = (
    re.compile(r"PANIC|\[FATAL\]|[Aa]ssert(ion)? fail|Input/output error"),
    re.compile(r"No space left|[Dd]isk (is )?full|error 28\b|[Oo]ut of memory"),
    # A parallel worker ends so whenever the statement that it works for is cancelled.
    re.compile(r"terminated by signal|got signal|^(?!.*background worker).*exited with exit code"),
    re.compile(r"shutdown request|Normal shutdown"),
)
# Lines that say what is wrong, in the words of both formats.
_COMPLAINT = re.compile(r"PANIC|FATAL|ERROR|WARNING|\[Warning\]|terminat|got signal|reinitializ|[Aa]ssertion")
# Time stamp, process or thread, as both common formats begin.
_PREFIX = re.compile(r"^[\d-]+ +[\d:.]+ (\w+ )?(\[\d+\] |\d+ )?")


@dataclass(frozen=True)
class ServerLog:
    """The log of one server from this moment on, if it has one that this user may read."""

    main: psutil.Process
    path: Path
    position: int

    @classmethod
    def of(cls, main_pid: int) -> ServerLog | None:
        """Return the log of a running server; None when it has no file for it that can be read here."""
        link = Path(f"/proc/{main_pid}/fd/{STDERR}")
        try:
            found, path = link.stat(), link.readlink()
            if not stat.S_ISREG(found.st_mode) or not path.samefile(link) or not os.access(path, os.R_OK):
                return None
            return cls(psutil.Process(main_pid), path, found.st_size)
        except (OSError, psutil.Error):
            return None

    def finding(self, known: str) -> str:
        """Return what the log says since then about the server's end, with its path; empty when the server goes on.

        ``known`` is what the client reports, which is not repeated.
        """
        line = cause_in(self.lines())
        if line:
            severity, _, message = line.partition(":  ")
            has = f", reports it as {severity}" if message and message in known else f": {line}"
            return f"the server's log, {self.path}{has}"
        if lives(self.main):
            return ""
        return f"process {self.main.pid} of the server is gone; its log, {self.path}, does not say why, as after a kill"

    def lines(self) -> Sequence[str]:
        """Return what the server has written to it since then, up to some megabytes."""
        try:
            with self.path.open("rb") as file:
                # A log that became shorter was rotated.
                file.seek(self.position if self.path.stat().st_size >= self.position else 0)
                return file.read(_MOST_BYTES).decode(errors="replace").splitlines()
        except OSError:
            return ()


def lives(process: psutil.Process) -> bool:
    """Return whether a process is there: one that ended may still be a zombie."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def cause_in(lines: Sequence[str]) -> str:
    """Return the line that explains best why a server ended, without its time stamp; empty when none does."""
    for cause in _CAUSES:
        for line in lines:
            if cause.search(line):
                return _PREFIX.sub("", line.strip())[:_LONGEST_LINE]
    return ""


def complaints_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that complain, without time stamps."""
    return (_PREFIX.sub("", line.strip())[:_LONGEST_LINE] for line in lines if _COMPLAINT.search(line))


def logs_of(main_pids: Iterable[int | None]) -> list[ServerLog]:
    """Return the logs of these servers, as far as they can be read."""
    return [log for pid in main_pids if pid is not None and (log := ServerLog.of(pid))]
