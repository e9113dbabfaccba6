"""A shell on another host, over the system's ssh: it is given commands, and what they print comes back.

Nothing is installed there, and nothing but a POSIX shell, ``grep``, ``tr`` and ``readlink`` is needed. Whatever makes
the other side fall silent (a broken line, a stopped process, a host that is gone) ends the shell for good: a command
then fails at once, with the reason.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Self
from urllib.parse import urlsplit

from openslob.core.errors import UsageError
from openslob.core.host import FigureUnknownError
from openslob.core.secrets import redact_url

CONNECT_S = 15.0
# For this long nothing may come. A reading takes some milliseconds and two or three round trips.
SILENCE_S = 5.0
_AT_ONCE = 1 << 16
# So many commands are known to the other side by a number, since most are given again and again.
_KNOWN = 16
_NAME = re.compile(r"([A-Za-z0-9._][A-Za-z0-9._-]*@)?[A-Za-z0-9._\[][A-Za-z0-9._:\[\]-]*")


def ssh_command(address: str) -> list[str]:
    """Return the command that opens a shell at ``ssh://[user@]host[:port]``, as the user's own ssh is configured.

    It asks for no password: what it needs must be in keys, an agent or its configuration. UsageError on another form.
    """
    parts = urlsplit(address)
    if parts.scheme != "ssh" or not parts.hostname or parts.path.strip("/") or not _NAME.fullmatch(parts.netloc):
        raise UsageError(
            f"{redact_url(address)} is not the address of a host", "write ssh://user@host or ssh://user@host:port"
        )
    try:
        port = ["-p", str(parts.port)] if parts.port else []
    except ValueError:
        raise UsageError(f"{address} has no usable port", "write ssh://user@host:port") from None
    user = ["-l", parts.username] if parts.username else []
    quick = [f"-o{option}" for option in ("BatchMode=yes", f"ConnectTimeout={CONNECT_S:.0f}", "ServerAliveInterval=15")]
    return ["ssh", "-T", *quick, *port, *user, "--", parts.hostname, "exec sh"]


class RemoteShell:
    """One shell. FigureUnknownError, with what to do, if it can't be had."""

    def __init__(self, command: Sequence[str], where: str, silence_s: float = SILENCE_S) -> None:
        self.where, self._command, self._silence_s = where, command, silence_s
        # When the first of the last answer came, by the monotonic clock.
        self.first_ns = 0
        # Why it answers no more; empty while it does.
        self.lost = ""
        self._known: dict[str, int] = {}
        self._asked = 0
        self._mark = secrets.token_hex(8)
        self._said = bytearray()
        self._one = threading.Lock()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise FigureUnknownError(f"{where}: {command[0]} can't be started: {error.strerror}") from error
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        # Names are bytes. What the account prints when it is entered comes before the answer.
        self.ask("LC_ALL=C; export LC_ALL", CONNECT_S + self._silence_s)

    def again(self) -> Self:
        """Return another shell at the same place, opened in the same way."""
        return type(self)(self._command, self.where, self._silence_s)

    def ask(self, command: str, patience_s: float | None = None) -> bytes:
        """Return what a command of the shell prints. FigureUnknownError if the other side is silent or gone."""
        with self._one:
            return self._ask(command, patience_s or self._silence_s)

    def _ask(self, command: str, patience_s: float) -> bytes:
        if self.lost:
            raise FigureUnknownError(self.lost)
        self._asked += 1
        mark = f"{self._mark}-{self._asked}"
        sent = f"{self._shorten(command)}\nprintf '\\n%s\\n' {mark}\n".encode()
        self._said.clear()
        self.first_ns = 0
        end = f"\n{mark}\n".encode()
        until = time.monotonic() + patience_s
        while end not in self._said[-_AT_ONCE - len(end) :]:
            sent = self._exchange(sent, until)
        return bytes(self._said[: self._said.rindex(end)])

    def _exchange(self, sent: bytes, until: float) -> bytes:
        """Send and receive what is possible now; return what is left to send."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        left_s = until - time.monotonic()
        readable, writable, _ = select.select([stdout], [stdin] if sent else [], [], max(0.0, left_s))
        if not readable and not writable:
            self._lose(f"{self.where} was silent for {self._silence_s:.0f} s")
        try:
            if writable:
                sent = sent[os.write(stdin.fileno(), sent[:_AT_ONCE]) :]
            if readable:
                came = os.read(stdout.fileno(), _AT_ONCE)
                self.first_ns = self.first_ns or time.monotonic_ns()
                self._said += came
                if not came:
                    self._lose("")
        except BrokenPipeError:
            self._lose("")
        return sent

    def _shorten(self, command: str) -> str:
        """Return the command, or its name there if it is known: lists of files are long, and mostly the same."""
        if command in self._known:
            return f"f{self._known[command]}"
        if len(self._known) == _KNOWN:
            self._known.clear()
        self._known[command] = len(self._known)
        return f"f{self._known[command]}() {{ {command}\n}}\nf{self._known[command]}"

    def _lose(self, why: str) -> None:
        complaint = self._complaint()
        self.lost = why or f"{self.where} can't be read any more" + (f": {complaint}" if complaint else "")
        self.close()
        raise FigureUnknownError(self.lost)

    def _complaint(self) -> str:
        """Return the last line of what ssh says."""
        stderr = self._process.stderr
        assert stderr is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        with contextlib.suppress(BlockingIOError):
            lines = os.read(stderr.fileno(), _AT_ONCE).decode(errors="replace").split("\n")
            return next((line.strip() for line in reversed(lines) if line.strip()), "")
        return ""

    def close(self) -> None:
        """End the shell; a second call does nothing."""
        self.lost = self.lost or f"{self.where} is closed"
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
