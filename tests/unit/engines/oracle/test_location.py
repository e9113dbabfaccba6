"""Where an Oracle instance is on this host: the process that serves the connection, its siblings, and its files."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from factories.oracle.answers import Answers, Server
from factories.oracle.double import connected, raw_of
from factories.running import eventually
from openslob.engines.oracle.connection import Connection
from openslob.engines.oracle.location import list_processes, locate
from openslob.engines.peer_process import UnprovedError, find_holder

# Tests run beside each other: each of their processes has instances of its own.
SID = f"SLOB{os.getpid()}"
# Takes the place of a server's process: it has the other end of the connection that it inherits.
HOLDS = "import sys; sys.stdin.read()"


@contextmanager
def process(name, inherited=()):
    with subprocess.Popen(
        [name, "-c", HOLDS], executable=sys.executable, stdin=subprocess.PIPE, pass_fds=inherited
    ) as one:
        try:
            # The kernel closes what a new program does not inherit a moment before it knows the program's name.
            assert eventually(lambda: bool(Path(f"/proc/{one.pid}/cmdline").read_bytes()))
            yield one.pid
        finally:
            one.stdin.close()
            one.wait()


@contextmanager
def served(*names):
    """Processes of these names; the first has the other end of a connection of ours."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as ours:
        theirs, _ = listener.accept()
        with process(names[0], (theirs.fileno(),)) as first:
            theirs.close()
            if len(names) == 1:
                yield ours, [first]
                return
            with process(names[1]) as second:
                yield ours, [first, second]


class Over(Connection):
    """A connection over a socket of the test's."""

    own_socket = None

    def __init__(self, raw, ours):
        super().__init__(raw)
        self.own_socket = ours


def connection_over(ours, server):
    return Over(raw_of(connected(Answers(server))), ours)


def sees_connections():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as ours:
        theirs, _ = listener.accept()
        with theirs:
            try:
                return find_holder(ours.fileno(), [os.getpid()]) == os.getpid()
            except UnprovedError:
                return False


@pytest.fixture(autouse=True)
def needs_the_kernel_s_table():
    if not sees_connections():
        pytest.skip("this system does not report where connections end")


def test_the_instance_is_all_processes_with_its_name(tmp_path):
    server = Server(files=((str(tmp_path / "slob01.dbf"), 1, 1),))
    with served(f"oracle{SID} (LOCAL=NO)", f"ora_lgwr_{SID}") as (ours, pids):
        location = locate(connection_over(ours, server))
        assert str(location.processes) == f"instance {SID}"
        assert sorted(location.processes.find()) == sorted(pids)
        assert location.data_directories == (tmp_path,)
        assert list_processes(SID[:-1]) == []
        assert list_processes(f"{SID[:-1]}.") == []
    assert list_processes(SID) == []


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (Server(files=(("+DATA/orcl/slob01.dbf", 1, 1), ("+DATA/orcl/b", 1, 1))), "are in ASM (DATA)"),
        (Server(without=frozenset({"DBA_DATA_FILES"})), "may not see where the files of tablespace SLOB are"),
        (Server(files=(("/nowhere/at/all/slob01.dbf", 1, 1),)), "directory /nowhere/at/all of the server's files"),
    ],
)
def test_processes_are_known_where_the_files_are_not(server, why):
    with served(f"oracle{SID}") as (ours, pids):
        location = locate(connection_over(ours, server))
        assert location.is_known, location.why_unknown
        assert list(location.processes.find()) == pids
        assert location.data_directories == ()
        assert why in location.why_unknown


def test_another_program_at_the_other_end_proves_nothing():
    with served("proxy") as (ours, _):
        location = locate(connection_over(ours, Server()))
        assert not location.is_known
        assert "a proxy or a tunnel" in location.why_unknown


def test_client_libraries_hide_the_connection():
    location = locate(connected(Answers(Server())))
    assert "thick mode" in location.why_unknown
