"""Where the server is on this host: its processes, proved by the one that serves this connection, and its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from openslob.core.process_selector import ProcessSet
from openslob.engines.facts import ServerLocation
from openslob.engines.oracle.connection import Connection
from openslob.engines.oracle.server_facts import ASM, Survey, list_files
from openslob.engines.peer_process import UnprovedError, find_holder, read_directory

# `oracleSID (LOCAL=NO)` serves a connection, `ora_lgwr_SID` is of the instance itself. All are children of init.
_SERVES = re.compile(r"oracle(?P<sid>[^\s/]+)")
_BELONGS = r"(?:oracle|ora_[a-z0-9]+_){sid}"


def locate(connection: Connection, tablespace: str | None = None) -> ServerLocation:
    """Return the instance's processes and where its data files are, if it is proved that they are on this host.

    ``tablespace`` holds the test tables; None for the user's default.
    """
    try:
        sid, server = _find_instance(connection)
    except UnprovedError as error:
        return ServerLocation.unknown(str(error))
    processes = ProcessSet(f"instance {sid}", lambda: list_processes(sid))
    try:
        read_directory(server)
        return ServerLocation(processes, _find_directories(connection, tablespace))
    except UnprovedError as error:
        return ServerLocation(processes, (), str(error))


def _find_instance(connection: Connection) -> tuple[str, int]:
    """Return the instance's name and the process of this host that has the other end of the connection."""
    own = connection.own_socket
    if own is None:
        raise UnprovedError("in thick mode slob can't see which process serves its connection")
    port = Survey(connection).row("session").get("port")
    names = {pid: match["sid"] for pid, command in _list_commands() if (match := _SERVES.fullmatch(command))}
    pid = find_holder(own.fileno(), names, int(port) if port else None)
    return names[pid], pid


def list_processes(sid: str) -> list[int]:
    """Return the processes of an instance by their names, as they are now."""
    belongs = re.compile(_BELONGS.format(sid=re.escape(sid)))
    return [pid for pid, command in _list_commands() if belongs.fullmatch(command)]


def _list_commands() -> Iterator[tuple[int, str]]:
    """Yield each process of this host with the first word of its command."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            yield int(entry.name), command.partition(b"\0")[0].decode(errors="replace").partition(" ")[0]


def _find_directories(connection: Connection, tablespace: str | None) -> tuple[Path, ...]:
    """Return the directories of the tablespace's files. UnprovedError when they are not known."""
    survey = Survey(connection)
    place = tablespace or str(survey.row("identity").get("default_tablespace"))
    names = list_files(survey, place)
    if not names:
        raise UnprovedError(f"this user may not see where the files of tablespace {place} are (DBA_DATA_FILES)")
    if any(name.startswith(ASM) for name in names):
        groups = ", ".join(dict.fromkeys(name.partition("/")[0].removeprefix(ASM) for name in names))
        raise UnprovedError(f"the files of tablespace {place} are in ASM ({groups}), whose disks slob does not examine")
    directories = tuple(dict.fromkeys(Path(name).parent for name in names))
    missing = next((directory for directory in directories if not directory.is_dir()), None)
    if missing:
        raise UnprovedError(f"directory {missing} of the server's files can't be seen from here")
    return directories
