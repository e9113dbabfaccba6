"""The operating-system account that managed servers run under.

Database servers refuse to run as root, so root runs them as an unprivileged system user that is made for them. Any
other user runs them as themselves.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openslob.core.disk import scratch_folder
from openslob.core.errors import SlobError

SYSTEM_USER = "openslob"


@dataclass(frozen=True)
class ServerAccount:
    """The user that runs the servers. ``switched``: it is another user than this process's."""

    name: str
    uid: int
    gid: int
    switched: bool

    def run(
        self, argv: Sequence[str | Path], text: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as this account with ``text`` as its input and a bare environment; output is captured.

        SlobError if it takes longer than ``timeout`` seconds; it is killed then. The bare environment keeps the
        caller's own variables, of database clients and locale, from changing the server.
        """
        return self._run(argv, text, timeout, detached=False)

    def launch(self, argv: Sequence[str | Path], log: Path) -> int:
        """Start a program that outlives this process, with its output appended to ``log``; return its process id.

        It gets a session of its own, so that no Ctrl-C at this terminal reaches it, and a shell starts it and ends, so
        that it never becomes a zombie of this process.
        """
        background = '"$@" </dev/null >>"$0" 2>&1 & echo $!'
        done = self._run(["sh", "-c", background, log, *argv], "", None, detached=True)
        return int(done.stdout)

    def _run(
        self, argv: Sequence[str | Path], text: str, timeout: float | None, detached: bool
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [str(part) for part in argv],
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
                cwd="/",
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "LC_MESSAGES": "C", "TZ": "UTC"},
                user=self.uid if self.switched else None,
                group=self.gid if self.switched else None,
                extra_groups=[] if self.switched else None,
                start_new_session=detached,
            )
        except subprocess.TimeoutExpired as error:
            raise SlobError(f"{Path(argv[0]).name} did not end within {error.timeout:.0f} s") from error

    def make_private(self, directory: Path) -> None:
        """Make a directory, parents included, that only this account (and root) can enter."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.switched:
            with _open_itself(directory) as descriptor:
                os.fchown(descriptor, self.uid, self.gid)

    @contextmanager
    def scratch(self, purpose: str) -> Iterator[Path]:
        """Provide an empty directory of this account's for the block."""
        with scratch_folder(purpose) as folder:
            folder.chmod(0o711)
            place = folder / "server"
            self.make_private(place)
            yield place

    def share(self, path: Path, mode: int) -> None:
        """Let this account read a file that this process's user keeps owning."""
        with _open_itself(path) as descriptor:
            if self.switched:
                os.fchown(descriptor, 0, self.gid)
            os.fchmod(descriptor, mode)

    def can(self, what: str, path: Path) -> bool:
        """Return whether the account may ``r``, ``w`` or ``x`` a path, by asking the kernel as that account."""
        return self.run(["test", f"-{what}", path]).returncode == 0


@contextmanager
def _open_itself(path: Path) -> Iterator[int]:
    """Open a file or directory itself, never the target of a link: what root gives away must be what it made."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SlobError(f"{path} can't be used: {error.strerror}", "remove it if it is a link") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def current_user() -> str:
    """Return the login name of this process's user. SlobError if it has none."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError as error:
        why = f"user id {os.geteuid()} has no name on this host"
        raise SlobError(why, "add it to /etc/passwd: servers require it") from error


def server_account() -> ServerAccount:
    """Return the account for servers; root makes it when it is missing. SlobError when that fails."""
    if os.geteuid() != 0:
        return ServerAccount(current_user(), os.geteuid(), os.getegid(), switched=False)
    entry = _entry() or _create()
    if entry.pw_uid == 0:
        raise SlobError(f"the system user {SYSTEM_USER} has user id 0", "give it another one or remove it")
    return ServerAccount(entry.pw_name, entry.pw_uid, entry.pw_gid, switched=True)


def _entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return None


def _create() -> pwd.struct_passwd:
    # The folder of system programs, which a shell of root's does not always look into.
    searched = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    command = ["useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin"]
    try:
        done = subprocess.run([*command, SYSTEM_USER], capture_output=True, text=True, check=False, env=searched)
        reason = done.stderr.strip()
    except OSError as error:
        reason = str(error)
    # another process may have made it at the same moment, so the result counts, not the exit code
    if entry := _entry():
        return entry
    raise SlobError(
        f"database servers refuse to run as root and the system user {SYSTEM_USER} could not be created ({reason})",
        f"run as another user or create it: {' '.join(command)} {SYSTEM_USER}",
    )
