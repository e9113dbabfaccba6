"""The state of managed servers on disk: directory, lock and specification of each.

``<home>/servers/<name>/`` holds ``server.json`` (the specification), a lock file and the engine's own files. A data
directory elsewhere has a marker, so that nothing is ever removed that slob did not make.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from filelock import FileLock, Timeout

from openslob.core.disk import open_regular, read_json, refuse_foreign, remove_tree, write_atomically
from openslob.core.errors import SlobError, UsageError
from openslob.core.places import home
from openslob.core.units import iso
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import DATA, RUN

MARKER = "openslob-server"
_MOST_SALVAGED = 100_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
# What a damaged state may still say that matters to the removal of the server.
_SALVAGED = re.compile(r'"(engine|data_dir|standby_of)": "([^"\\]+)"')
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
_PORTS = range(20_000, 32_000)
_PORT_TRIES = 100


def check_name(name: str) -> None:
    """Raise UsageError unless ``name`` can be a server's name (and a directory's)."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} can't be a server's name", "use up to 40 of a-z, 0-9, - and _")


def names() -> list[str]:
    """Return the names of all managed servers, sorted, with those whose state is damaged or missing."""
    return sorted(
        path.name for path in (home() / "servers").glob("*") if _NAME.fullmatch(path.name) and _is_there(path)
    )


def _is_there(base: Path) -> bool:
    """Return whether there is a server in a directory. Not by `Path`, which raises errors for what it may not see."""
    return os.path.lexists(base / _STATE) or os.path.isdir(base / DATA)  # noqa: PTH112


def specifications() -> Iterator[ServerSpec]:
    """Yield the specifications of all managed servers but those whose state is damaged."""
    for name in names():
        with suppress(SlobError):
            if state := ServerState(name).read():
                yield spec_from(state)


def primary_of(spec: ServerSpec) -> ServerSpec:
    """Return the server that a standby follows. UsageError unless it is one of this engine and no standby itself."""
    servers = [server for server in specifications() if server.engine == spec.engine and server.name != spec.name]
    others = {server.name: server for server in servers if not server.standby_of}
    if spec.standby_of not in others:
        there = ", ".join(others) or "none"
        raise UsageError(f"there is no {spec.engine} server {spec.standby_of} to copy", f"there are {there}")
    return others[spec.standby_of]


def is_followed(name: str) -> bool:
    """Return whether a managed server has a standby."""
    return any(server.standby_of == name for server in specifications())


def free_port() -> int:
    """Return a port on this host that nobody uses, now or when a managed server that is down comes back.

    Those from which the kernel takes ports of connections lie above.
    """
    taken = {server.port for server in specifications()}
    for _ in range(_PORT_TRIES):
        port = _PORTS[secrets.randbelow(len(_PORTS))]
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            if port not in taken:
                return port
    raise SlobError("no free port was found on this host", f"ports {_PORTS[0]} to {_PORTS[-1]} are tried")


class ServerState:
    """The directory of one managed server, with its specification and lock."""

    def __init__(self, name: str) -> None:
        check_name(name)
        self.name = name
        self.path = home() / "servers" / name

    def read(self) -> dict[str, Any] | None:
        """Return what `write` stored; None when there is no such server.

        Raises:
            SlobError: It is damaged; commands about other servers go on, and `replace` makes it fit to be destroyed.

        """
        if not _is_there(self.path):
            return None
        file, remedy = self.path / _STATE, f"restore it, or `slob server destroy {self.name}` removes the server"
        state = read_json(file, remedy)
        version = state.get("version") if isinstance(state, dict) else None
        if type(version) is int and version > _STATE_VERSION:
            raise SlobError(f"{file} was written by a later openslob", "update openslob")
        if not isinstance(state, dict) or version is True or version != _STATE_VERSION:
            raise SlobError(f"{file} is damaged: it is not a state of version {_STATE_VERSION}", remedy)
        try:
            if spec_from(state).name == self.name:
                return state
        except (KeyError, TypeError, AttributeError) as error:
            raise SlobError(f"{file} is damaged: it lacks part of the server's specification", remedy) from error
        # Its data and processes are those of the other server.
        raise SlobError(f"{file} is a copy of another server's file", remedy)

    def salvage(self) -> dict[str, str]:
        """Return the texts that a damaged state still has, by key."""
        try:
            with open_regular(self.path / _STATE) as file:
                return dict(_SALVAGED.findall(file.read(_MOST_SALVAGED).decode("utf-8", errors="replace")))
        except OSError:
            return {}

    def replace(self, spec: ServerSpec) -> None:
        """Store a specification in place of a damaged state."""
        file = self.path / _STATE
        if file.is_dir() and not file.is_symlink():
            file.rename(file.with_name(f"{_STATE}-damaged-{time.time_ns()}"))
        else:
            file.unlink(missing_ok=True)
        self._store(spec, {"made_at": iso(time.time_ns())})

    def write(self, spec: ServerSpec, **more: object) -> None:
        """Store a server's specification, when it was made, and ``more`` facts of the engine's own."""
        self._store(spec, {**(self.read() or {"made_at": iso(time.time_ns())}), **more})

    def _store(self, spec: ServerSpec, more: dict[str, Any]) -> None:
        described = spec.to_record()
        engine = described.pop("engine")
        state = {**more, "version": _STATE_VERSION, "engine": engine, "spec": described}
        write_atomically(self.path / _STATE, json.dumps(state, indent=1) + "\n", _READABLE)

    def remove(self) -> None:
        """Remove the directory, atomically for other processes; the last server takes the shared files with it."""
        doomed = self.path.with_name(f".{self.name}-{os.getpid()}")
        self.path.rename(doomed)
        remove_tree(doomed)
        _remove_shared()

    @contextmanager
    def lock(self, purpose: str) -> Iterator[None]:
        """Keep other processes from working on this server. The lock ends with the process, however it ends.

        A directory without a server at the end of the block, since none could be made, is removed.

        Raises:
            SlobError: Another process works on it; the text names the process and its purpose.

        """
        lock = self._lock(purpose)
        try:
            yield
        finally:
            if self.path.exists() and not _is_there(self.path):
                self.remove()
            lock.release()

    def reserve(self, purpose: str) -> AbstractContextManager[None]:
        return _reserve(self.path, purpose)

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


def reserve_through(socket_directory: Path, purpose: str) -> AbstractContextManager[None]:
    """Reserve the managed server whose socket is in this directory; do nothing if it is not that of one."""
    base = socket_directory.parent
    is_managed = socket_directory.name == RUN and (base / _STATE).exists()
    return _reserve(base, purpose) if is_managed else nullcontext()


@contextmanager
def _reserve(base: Path, purpose: str) -> Iterator[None]:
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
        holder = _holder(path) or "another process has just locked it"
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
    """Return the specification in a server's state. KeyError, TypeError or AttributeError for one that is not whole."""
    known = {field.name for field in fields(ServerSpec)}
    values = {"engine": state["engine"], **{key: value for key, value in state["spec"].items() if key in known}}
    for key in ("bin_dir", "data_dir"):
        values[key] = Path(values[key]) if values.get(key) else None
    types = get_type_hints(ServerSpec)
    if wrong := [key for key, value in values.items() if not isinstance(value, types[key])]:
        raise TypeError(f"{', '.join(wrong)} has the wrong type")
    return ServerSpec(**values)


def claim(directory: Path, name: str) -> None:
    """Mark an empty or new directory as this server's, unless it is already. SlobError if it belongs to another."""
    refuse_foreign(directory)
    marker = directory / MARKER
    try:
        owner = _owner(directory)
        if (owner.get("server"), owner.get("home")) == (name, str(home())):
            return
        if directory.exists() and any(directory.iterdir()):
            whose = f"belongs to the server {owner['server']} of {owner.get('home')}" if owner else "is not empty"
            raise UsageError(f"the data directory {directory} {whose}", "give --data-dir an empty or a new directory")
        made = not directory.exists()
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        write_atomically(marker, json.dumps({"server": name, "home": str(home()), "made": made}), _READABLE)
    except OSError as error:
        raise SlobError(f"the data directory {directory} can't be used ({error.strerror})", "choose another") from error


def is_ours(directory: Path, name: str) -> bool:
    """Return whether `claim` marked this directory for this server."""
    return bool(_owner(directory).get("server") == name)


def is_managed(directory: Path) -> bool:
    """Return whether a server's data directory is that of a managed server: beside its state, or in what is claimed."""
    around = (directory, directory.parent)
    return any(_owner(each) or (each / _STATE).is_file() for each in around)


def _owner(directory: Path) -> dict[str, Any]:
    """Return what `claim` wrote into a directory; nothing if it is not there, or damaged: then it is not ours."""
    try:
        owner = read_json(directory / MARKER, "")
    except SlobError:
        return {}
    return owner if isinstance(owner, dict) and "server" in owner else {}


def unclaim(directory: Path) -> None:
    """Remove the marker of a claimed directory, and the directory if `claim` made it and it is empty."""
    made = _owner(directory).get("made")
    (directory / MARKER).unlink()
    if made and not any(directory.iterdir()):
        directory.rmdir()
