"""The state of managed servers on disk: directory, lock and specification of each.

``<home>/servers/<name>/`` holds ``server.json`` (the specification), a lock file and the engine's own files. A data
directory elsewhere has a marker, so that nothing is ever removed that slob did not make.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs.unix import Unix

from openslob.disk import refuse_foreign, remove_tree, write_atomically
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import RUN
from openslob.errors import SlobError, UsageError
from openslob.units import iso

MARKER = "openslob-server"
_STATE = "server.json"
_LOCK = "lock"
_STATE_VERSION = 1
# The server's account, which may be another user, reads these files whatever this process's umask is.
_READABLE = 0o644
# Long enough for another process to make and start a server, or to recover one after a crash.
_LOCK_WAIT_S = 330.0
_LOCK_POLL_S = 0.05
LOADING = "loading"
# Other processes that remove an empty directory at the very moment are few.
_DIRECTORY_TRIES = 5


def home() -> Path:
    """Return the base directory of managed servers: $OPENSLOB_HOME, or root's default, or the user's data directory.

    SlobError if another user made it: what is there says which programs are run.
    """
    if given := os.environ.get("OPENSLOB_HOME"):
        refuse_foreign(Path(given))
        return Path(given).absolute()
    if os.geteuid() == 0:
        return Path("/var/lib/openslob")
    return Unix("openslob").user_data_path


def check_name(name: str) -> None:
    """Raise UsageError unless ``name`` can be a server's name (and a directory's)."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name):
        raise UsageError(f"{name!r} can't be a server's name", "use up to 40 of a-z, 0-9, - and _")


def names() -> list[str]:
    """Return the names of all managed servers, sorted."""
    return sorted(path.parent.name for path in (home() / "servers").glob(f"[a-z0-9]*/{_STATE}"))


class ServerState:
    """The directory of one managed server, with its specification and lock."""

    def __init__(self, name: str) -> None:
        check_name(name)
        self.name = name
        self.path = home() / "servers" / name

    def read(self) -> dict[str, Any] | None:
        """Return what `write` stored; None when there is no such server."""
        try:
            state = json.loads((self.path / _STATE).read_text(encoding="utf-8"))
            if state["version"] != _STATE_VERSION:
                raise ValueError(f"version {state['version']}")
            return dict(state)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SlobError(
                f"{self.path / _STATE} can't be read ({error})", "remove it or the whole directory"
            ) from error

    def write(self, spec: ServerSpec, **more: object) -> None:
        """Store a server's specification, when it was made, and ``more`` facts of the engine's own."""
        before = self.read() or {"made_at": iso(time.time_ns())}
        described = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(spec).items()}
        engine = described.pop("engine")
        state = {**before, "version": _STATE_VERSION, "engine": engine, "spec": described, **more}
        write_atomically(self.path / _STATE, json.dumps(state, indent=1) + "\n", _READABLE)

    def remove(self) -> None:
        """Remove the directory, atomically for other processes; the last server takes the shared files with it."""
        doomed = self.path.with_name(f".{self.name}-{os.getpid()}")
        self.path.rename(doomed)
        remove_tree(doomed)
        _remove_shared()

    @contextmanager
    def locked(self, purpose: str) -> Iterator[None]:
        """Keep other processes from working on this server. The lock ends with the process, however it ends.

        A directory without a server at the end of the block, since none could be made, is removed.

        Raises:
            SlobError: Another process works on it; the text names the process and its purpose.

        """
        lock = self._lock(purpose)
        try:
            yield
        finally:
            if self.path.exists() and not (self.path / _STATE).exists():
                self.remove()
            lock.release()

    def claimed(self, purpose: str) -> AbstractContextManager[None]:
        """Reserve this server for this process, as `_claimed` says."""
        return _claimed(self.path, purpose)

    def _lock(self, purpose: str) -> FileLock:
        path = self.path / _LOCK
        try:
            _make_directory(self.path)
            lock = FileLock(path, mode=0o600, timeout=_LOCK_WAIT_S, poll_interval=_LOCK_POLL_S)
            # A load may take hours, anything else is a matter of seconds.
            lock.acquire(cancel_check=lambda: _holder(path).startswith(LOADING))
            path.write_text(f"{purpose} by process {os.getpid()}", encoding="utf-8")
        except Timeout:
            raise SlobError(f"the server {self.name} is busy: {_holder(path)}", "try again when it is done") from None
        except FileNotFoundError:  # another process destroyed the server meanwhile
            return self._lock(purpose)
        except OSError as error:
            raise _can_not_write(self.path, error) from error
        return lock


def claimed_through(socket_directory: Path, purpose: str) -> AbstractContextManager[None]:
    """Reserve the managed server whose socket is in this directory; do nothing if it is not that of one."""
    base = socket_directory.parent
    is_managed = socket_directory.name == RUN and (base / _STATE).exists()
    return _claimed(base, purpose) if is_managed else nullcontext()


@contextmanager
def _claimed(base: Path, purpose: str) -> Iterator[None]:
    """Reserve the server in the directory ``base`` for several starts, loads and runs of this process.

    Meanwhile no other process uses, stops or changes it. It is not the server's lock, which each start and stop takes
    and releases: it outlasts restarts, and this process may take it again, for a run of a sweep. It ends with the
    process.

    Raises:
        SlobError: Another process has reserved it; the text names the process.

    """
    path = base.with_name(f".{base.name}.claim")
    try:
        _make_directory(path.parent)
        lock = FileLock(path, mode=_READABLE, thread_local=False, is_singleton=True)
        lock.acquire(blocking=False)
        if lock.lock_counter == 1:
            path.write_text(f"{purpose} by pid {os.getpid()} since {iso(time.time_ns())}", encoding="utf-8")
    except Timeout:
        holder = _holder(path) or "another process has just begun with it"
        raise SlobError(f"the server {base.name} is in use: {holder}", "wait for it to end, or stop it") from None
    except OSError as error:
        raise _can_not_write(path, error) from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            path.unlink(missing_ok=True)
        lock.release()
        _remove_shared()


def _make_directory(path: Path) -> None:
    """Make a directory with its parents, which another process may remove meanwhile if they are empty."""
    for tries_left in reversed(range(_DIRECTORY_TRIES)):
        try:
            path.mkdir(mode=0o755, parents=True, exist_ok=True)
            break
        except OSError as error:
            if tries_left == 0 or not isinstance(error, FileNotFoundError):
                raise _can_not_write(path, error) from error


def _can_not_write(path: Path, error: OSError) -> SlobError:
    return SlobError(f"{path} can't be written ({error.strerror})", "set OPENSLOB_HOME to a directory of yours")


def _holder(lock: Path) -> str:
    """Return what the process that holds a lock wrote into its file."""
    try:
        return lock.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _remove_shared() -> None:
    try:
        (home() / "servers").rmdir()
    except OSError:  # there are other servers
        return
    with suppress(FileNotFoundError):  # nothing was shared
        # renamed first, so that a server being made meanwhile never starts with half of it
        shutil.rmtree((home() / "bin").rename(home() / f".bin-{os.getpid()}"))
    if "OPENSLOB_HOME" not in os.environ:  # a directory that the user chose stays
        with suppress(OSError):  # it holds something else
            home().rmdir()


def spec_from(state: dict[str, Any]) -> ServerSpec:
    """Return the specification in a server's state."""
    known = {field.name for field in fields(ServerSpec)}
    values = {"engine": state["engine"], **{key: value for key, value in state["spec"].items() if key in known}}
    for key in ("bin_dir", "data_dir"):
        values[key] = Path(values[key]) if values.get(key) else None
    return ServerSpec(**values)


def claim(directory: Path, name: str) -> None:
    """Mark an empty or new directory as this server's, unless it is already. SlobError if it belongs to another."""
    marker = directory / MARKER
    try:
        owner = json.loads(marker.read_text(encoding="utf-8")) if marker.exists() else None
        if owner and (owner["server"], owner["home"]) == (name, str(home())):
            return
        if owner or (directory.exists() and any(directory.iterdir())):
            whose = f"belongs to the server {owner['server']} of {owner['home']}" if owner else "is not empty"
            raise UsageError(f"the data directory {directory} {whose}", "give --data-dir an empty or a new directory")
        made = not directory.exists()
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_atomically(marker, json.dumps({"server": name, "home": str(home()), "made": made}), _READABLE)
    except OSError as error:
        raise SlobError(f"the data directory {directory} can't be used ({error.strerror})", "choose another") from error


def is_ours(directory: Path, name: str) -> bool:
    """Return whether `claim` marked this directory for this server."""
    try:
        return bool(json.loads((directory / MARKER).read_text(encoding="utf-8"))["server"] == name)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def unclaim(directory: Path) -> None:
    """Remove the marker of a claimed directory, and the directory if `claim` made it and it is empty."""
    marker = directory / MARKER
    made = json.loads(marker.read_text(encoding="utf-8"))["made"]
    marker.unlink()
    if made and not any(directory.iterdir()):
        directory.rmdir()
