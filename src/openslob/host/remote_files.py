"""Files of another host by a shell there: many in one command, which ``grep`` prints with their names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openslob.host.remote_shell import RemoteShell

# More files are read by several commands: the list of one has a limit.
AT_ONCE = 2000
_REFUSED = object()
# Read rarely, and by its own command.
_OF_TASK = re.compile(r"/task/\d+/stat$")


def fetch(shell: RemoteShell, paths: Sequence[str], then: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the texts of the files that exist and can be read. Lines end with a newline, the last one, too.

    ``then`` is read when all ``paths`` were, `AT_ONCE` files at the most, without another question.
    """
    found: dict[str, bytes] = {}
    for begin in range(0, len(paths), AT_ONCE):
        parts = [paths[begin : begin + AT_ONCE], then if begin + AT_ONCE >= len(paths) else ()]
        names = [list(dict.fromkeys(part)) for part in parts if part]
        # A second file makes grep print names. What can't be read it leaves out.
        said = shell.ask("; ".join(f"grep -s '' {' '.join(map(shlex.quote, part))} /dev/null" for part in names))
        found |= parse_lines(said, [name for part in names for name in part])
    return found


def parse_lines(said: bytes, paths: Sequence[str]) -> dict[str, bytes]:
    """Return the text of each file in the output of grep, whose lines are ``path:text`` in the order of ``paths``."""
    texts: dict[str, list[bytes]] = {}
    marks = [f"{path}:".encode() for path in paths]
    at = 0
    for line in said.split(b"\n"):
        while at < len(marks) and not line.startswith(marks[at]):
            ahead = next((later for later in range(at, len(marks)) if line.startswith(marks[later])), None)
            if ahead is None:
                break
            at = ahead
        else:
            if at < len(marks):
                texts.setdefault(paths[at], []).append(line[len(marks[at]) :])
    return {path: b"".join(line + b"\n" for line in lines) for path, lines in texts.items()}


def find_present(shell: RemoteShell, paths: Sequence[str]) -> set[str]:
    """Return which of these files exist. Of those that `fetch` did not return, the user may not read them, or none."""
    if not paths:
        return set()
    test = 'for f; do [ -e "$f" ] && echo "$f"; done'
    said = shell.ask(f"set -- {' '.join(map(shlex.quote, paths))}; {test}")
    return set(filter(None, said.decode(errors="replace").split("\n")))


@dataclass
class RemoteProc:
    """The files of processes of another host. Implements `openslob.host.proc_files.ProcFiles`.

    What is wanted is fetched at once, and given once: who reads a file again has it fetched again. What the last
    reading wanted may be fetched ahead of the next one (`list_again`, `begin`), with what else is read then.
    """

    shell: RemoteShell
    closed: bool = field(default=False, init=False)
    _kept: frozenset[str] = field(default=frozenset(), init=False)
    # What this reading has wanted so far, and what of it this user may not read.
    _wanted: dict[str, None] = field(default_factory=dict, init=False)
    _refused: set[str] = field(default_factory=set, init=False)
    _ahead: dict[str, bytes | object] = field(default_factory=dict, init=False)
    _texts: dict[str, bytes | object | None] = field(default_factory=dict, init=False)
    _threads: dict[str, list[str]] = field(default_factory=dict, init=False)
    _cpus: dict[int, frozenset[int] | None] = field(default_factory=dict, init=False)

    def list_again(self) -> list[str]:
        """Return the paths of what the next reading wants of the processes that are kept, if it is like the last."""
        names = (name for name in self._wanted if _pid_of(name) in self._kept and not _OF_TASK.search(name))
        return [f"/proc/{name}" for name in names if name not in self._refused]

    def begin(self, texts: Mapping[str, bytes]) -> None:
        """Begin a reading; ``texts`` has what came of `list_again`."""
        self._ahead.clear()
        self._texts.clear()
        for name in self._wanted:
            if (text := texts.get(f"/proc/{name}")) is not None:
                self._ahead[name] = text
            elif f"/proc/{_pid_of(name)}/stat" in texts and (name in self._refused or _may_be_empty(name)):
                self._ahead[name] = _REFUSED if name in self._refused else b""
        self._refused.intersection_update(self._ahead)
        self._wanted.clear()

    def pids(self) -> Collection[str]:
        """List the folder."""
        return [path.name for path in map(Path, self._glob("/proc/[0-9]*"))]

    def threads(self, pid: str) -> Collection[str]:
        """Return what was fetched last of the threads of a process."""
        if pid not in self._threads:
            self._list_threads([pid])
        return self._threads.pop(pid, [])

    def read(self, name: str) -> bytes | None:
        """Return what was fetched; fetch it if it was not, or was read before."""
        if name not in self._texts:
            self.want([name])
        text = self._texts.pop(name, None)
        if text is _REFUSED:
            raise PermissionError(name)
        return text if isinstance(text, bytes) else None

    def want(self, names: Iterable[str], threads_of: Iterable[str] = ()) -> None:
        """Fetch what has not come ahead."""
        wanted = dict.fromkeys(names)
        self._wanted |= wanted
        came = {name: self._ahead.pop(name) for name in wanted if name in self._ahead}
        paths = {f"/proc/{name}": name for name in wanted if name not in came}
        found = fetch(self.shell, list(paths)) if paths else {}
        empty = {paths[path] for path in find_present(self.shell, [path for path in paths if path not in found])}
        refused = {name for name in empty if not _may_be_empty(name)}
        self._refused = self._refused.difference(paths.values()) | refused
        self._texts |= {name: found.get(path, b"" if name in empty else None) for path, name in paths.items()}
        self._texts |= came | dict.fromkeys(refused, _REFUSED)
        self._list_threads(list(threads_of))

    def _list_threads(self, pids: Sequence[str]) -> None:
        if not pids:
            return
        found: dict[str, list[str]] = {pid: [] for pid in pids}
        for path in self._glob(*(f"/proc/{pid}/task/*" for pid in pids)):
            _, _, pid, _, tid = path.split("/")
            if tid.isdecimal():
                found[pid].append(tid)
        self._threads |= {pid: sorted(tids, key=lambda tid: tid not in found) for pid, tids in found.items()}

    def _glob(self, *patterns: str) -> list[str]:
        return self.shell.ask(f"echo {' '.join(patterns)}").decode().split()

    def keep(self, pids: Collection[str]) -> None:
        """Note whose files may be fetched ahead."""
        self._kept = frozenset(pids)

    def forget(self) -> None:
        """Forget what was fetched, and what was refused."""
        self._refused.clear()
        self._ahead.clear()
        self._texts.clear()
        self._threads.clear()
        self._cpus.clear()

    def cpus(self, pid: int) -> frozenset[int] | None:
        """Return what its status says; it is read again after `forget` only."""
        if pid not in self._cpus:
            self._cpus[pid] = parse_allowed(fetch(self.shell, [f"/proc/{pid}/status"]).get(f"/proc/{pid}/status", b""))
        return self._cpus[pid]

    def close(self) -> None:
        """Forget what was fetched; the shell has its own end."""
        self.closed = True
        self.forget()


def _pid_of(name: str) -> str:
    return name.partition("/")[0]


def _may_be_empty(name: str) -> bool:
    """Return whether a file has no line when all is well: nothing else tells that from one that can't be read."""
    return name.endswith("/children")


def parse_allowed(status: bytes) -> frozenset[int] | None:
    """Return the CPUs in the status of a process: numbers, and ranges such as ``0-3,8``."""
    key = b"Cpus_allowed_list:"
    text = next((line[len(key) :].strip().decode() for line in status.split(b"\n") if line.startswith(key)), "")
    ranges = [part.partition("-") for part in text.split(",") if part]
    return frozenset(cpu for low, _, high in ranges for cpu in range(int(low), int(high or low) + 1)) or None
