"""What only a managed MariaDB server does: block sizes, who may connect, its own limits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pymysql
import pytest

from factories.programs import huge_pages, need_mariadb
from factories.server_subjects import SUBJECTS, wait_until
from openslob.core.errors import UsageError
from openslob.core.units import KIB, MIB
from openslob.engines import registry
from openslob.engines.managed.account import server_account
from openslob.engines.managed.base import ManagedServer
from openslob.engines.managed.state import ServerState
from openslob.engines.mysql.binaries import find_installation

pytestmark = pytest.mark.server
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be other users")
MakeServer = Callable[..., ManagedServer]
(MARIA,) = (subject for subject in SUBJECTS if subject.engine == "mariadb")


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    need_mariadb()


@pytest.fixture(scope="module")
def shared(make_server: MakeServer) -> Iterator[ManagedServer]:
    """One server for all tests here that leave it stopped or running, but whole."""
    server = make_server(name="maria-shared", engine="mariadb", max_sessions=1)
    yield server
    server.stop()


# Of the two least caches one size each; the other sizes are made and filled in test_mariadb.py.
@pytest.mark.parametrize(("kilobytes", "cache"), [(8, 8), (64, 24)])
def test_block_sizes_with_the_least_cache(make_server: MakeServer, kilobytes: int, cache: int):
    server = make_server(
        name=f"b{kilobytes}",
        engine="mariadb",
        block_size=kilobytes * KIB,
        cache_bytes=cache * MIB,
        log_bytes=64 * MIB,
    )
    assert MARIA.setting(server, "innodb_page_size") == str(kilobytes * KIB)
    assert MARIA.setting(server, "innodb_buffer_pool_size") == str(cache * MIB)
    assert MARIA.setting(server, "innodb_log_file_size") == str(64 * MIB)
    server.destroy()


def opened_directly(server: ManagedServer, name: str) -> bool:
    """Whether the server has a file open past the page cache, by the kernel's flags of its open files."""
    process = Path("/proc") / str(server.status().pid)
    for link in (process / "fd").iterdir():
        if str(link.readlink()).endswith(f"/data/{name}"):
            flags = (process / "fdinfo" / link.name).read_text().split("flags:")[1].split()[0]
            return bool(int(flags, 8) & os.O_DIRECT)
    raise AssertionError(f"the server has {name} not open")


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux")
def test_direct_io_is_really_on(shared: ManagedServer):
    spec = shared.start().spec
    assert opened_directly(shared, "ibdata1")
    buffered = registry.managed(replace(spec, io="buffered"))
    buffered.start()
    assert not opened_directly(buffered, "ibdata1")
    shared.start()


def test_what_would_spoil_a_test_is_off(shared: ManagedServer):
    shared.start()
    wanted = {
        "innodb_read_ahead_threshold": "0",
        "innodb_random_read_ahead": "0",
        "innodb_adaptive_hash_index": "0",
        "innodb_stats_auto_recalc": "0",
        "innodb_buffer_pool_load_at_startup": "0",
        "innodb_buffer_pool_dump_at_shutdown": "0",
        "log_bin": "0",
        "query_cache_type": "OFF",
        "skip_networking": "1",
        "performance_schema": "1",
    }
    assert MARIA.settings(shared, wanted) == wanted


# Becomes another user and tries to connect as somebody.
_KNOCK = """
import os, pwd, sys, pymysql
socket, name, *user = sys.argv[1:]
if user:
    entry = pwd.getpwnam(user[0])
    os.setgroups([]); os.setgid(entry.pw_gid); os.setuid(entry.pw_uid)
try:
    pymysql.connect(unix_socket=socket, user=name, database="slob")
    print("in")
except pymysql.Error as error:
    print(error)
"""


def knock(socket: Path, name: str, *user: str) -> str:
    command = [sys.executable, "-c", _KNOCK, socket, name, *user]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@as_root
def test_nobody_else_gets_in(shared: ManagedServer, slob_home: Path):
    shared.start()
    run = slob_home / "servers" / shared.name / "run"
    socket = run / "slob.sock"
    assert knock(socket, "root") == "in\n"
    assert "Permission denied" in knock(socket, "root", "nobody")
    assert psutil.Process(shared.status().pid).net_connections("inet") == []
    # and the server itself refuses those whom an open directory would let through
    run.parent.chmod(0o755)
    run.chmod(0o755)
    answers = [knock(socket, name, "nobody") for name in ("root", "nobody", "", server_account().name)]
    run.chmod(0o700)
    run.parent.chmod(0o750)
    assert all("Access denied" in answer or "is not allowed" in answer for answer in answers), answers


def test_a_server_without_a_connection_left_is_not_taken_for_one_that_is_down(shared: ManagedServer):
    before = shared.start()
    most = int(MARIA.setting(shared, "max_connections") or 0)
    connections: list[pymysql.Connection] = []
    with pytest.raises(pymysql.Error, match="Too many connections"):
        while len(connections) < most + 2:  # one more is kept for an administrator
            connections.append(MARIA.connect(shared))
    assert len(connections) in (most, most + 1)
    assert shared.start().pid == before.pid
    for connection in connections:
        connection.close()


def test_a_restart_with_another_setting_ends_sessions_at_work(shared: ManagedServer):
    spec = shared.start().spec
    busy = MARIA.connect(shared)
    with pytest.raises(pymysql.Error), busy.cursor() as cursor:
        registry.managed(replace(spec, cache_bytes=24 * MIB)).start()
        cursor.execute("SELECT 1")
    shared.start()
    assert MARIA.setting(shared, "innodb_buffer_pool_size") == str(16 * MIB)


@as_root
def test_huge_pages_are_taken_and_given_back(shared: ManagedServer):
    server = registry.managed(replace(shared.status().spec, huge_pages=True))
    with huge_pages() as pool:
        server.start()
        status = Path(f"/proc/{server.status().pid}/status").read_text()
        huge_kb = int(status.split("HugetlbPages:")[1].split()[0])
        assert huge_kb * KIB >= 16 * MIB, "the cache is not in huge pages"
        taken = ServerState(shared.name).read()["huge_pages"]
        while_running = int(pool.read_text())
        server.stop()
        # Others on this host may take and give back pages too.
        wait_until(lambda: int(pool.read_text()) <= while_running - taken["added"])
        assert ServerState(shared.name).read()["huge_pages"] is None


def test_programs_named(make_server: MakeServer, slob_home: Path):
    server = make_server(name="named", engine="mariadb", bin_dir=find_installation(None).bin)
    assert server.status().spec.version == MARIA.execute(server, MARIA.version_query)
    server.destroy()
    with pytest.raises(UsageError, match="there is no mariadbd in"):
        make_server(name="named", engine="mariadb", bin_dir=slob_home)
    with pytest.raises(UsageError, match=r"is version 1\d\.\d+, not 9\.9; name the --bin-dir of the other version"):
        make_server(name="named", engine="mariadb", version="9.9")
    assert not (slob_home / "servers" / "named").exists()


def test_an_embedded_server_of_its_own(slob_home: Path):
    name = registry.name_embedded("mariadb")
    assert name == "embedded-mariadb"
    server = registry.find_or_new(name)
    assert (server.status().state, server.status().spec.engine) == ("gone", "mariadb")
    assert not (slob_home / "servers" / name).exists()
