"""A managed server's life: made, found, broken in every way that happens, and gone without a trace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import psycopg
import pytest

from openslob.engines import registry
from openslob.engines.base import ManagedServer
from openslob.engines.hosting.account import server_account
from openslob.engines.hosting.home import ServerHome
from openslob.engines.postgresql.binaries import Installation, find_installation, readable_installation
from openslob.errors import SlobError, UsageError
from openslob.units import MIB

pytestmark = pytest.mark.server
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be other users")
MakeServer = Callable[..., ManagedServer]


def ask(server: ManagedServer, query: str) -> str:
    with psycopg.connect(server.status().url) as connection:
        return str(connection.execute(query).fetchone()[0])


def setting(server: ManagedServer, name: str) -> str:
    return ask(server, f"SELECT current_setting('{name}')")


def python(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def wait_until(done: Callable[[], bool], seconds: float = 10) -> None:
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def left_behind(home: Path, name: str) -> list[str]:
    """Files of a running server that a stopped one must not have."""
    base = home / "servers" / name
    return [str(path) for path in (base / "data" / "postmaster.pid", *(base / "run").glob(".s.*")) if path.exists()]


@pytest.mark.parametrize("version", ["18", "16"])
def test_life_cycle(make_server: MakeServer, slob_home: Path, version: str):
    server = make_server(name=f"life{version}", version=version)
    status = server.status()
    assert (status.state, status.spec.version) == ("running", version)
    assert psutil.Process(status.pid).name() == "postgres"
    assert status.bytes_on_disk > 30 * MIB
    assert setting(server, "server_version").startswith(version)
    assert setting(server, "listen_addresses") == ""
    assert setting(server, "data_checksums") == ("on" if version == "18" else "off")
    with psycopg.connect(status.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")

    assert server.stop().state == "stopped"
    assert server.stop().state == "stopped"
    assert left_behind(slob_home, server.name) == []
    wait_until(lambda: not psutil.pid_exists(status.pid))

    found = registry.find(server.name)
    assert found is not None
    found.start()
    assert ask(found, "SELECT n FROM kept") == "7"
    found.destroy()
    found.destroy()
    assert found.status().state == "gone"
    assert not (slob_home / "servers" / server.name).exists()
    assert server.name not in registry.known()


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
    """One server for all tests that leave it stopped or running, but whole."""
    return make_server(name="shared")


def test_starting_a_running_server_leaves_it_alone(shared: ManagedServer):
    assert shared.start().pid == shared.start().pid


def test_other_settings_restart_it_and_keep_the_data(shared: ManagedServer):
    before = shared.start()
    with psycopg.connect(before.url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS n")
    changed = registry.managed(replace(before.spec, cache_bytes=24 * MIB, io="buffered", max_sessions=50))
    after = changed.start()
    assert after.pid != before.pid
    assert (setting(changed, "shared_buffers"), setting(changed, "debug_io_direct")) == ("24MB", "")
    assert ask(changed, "SELECT n FROM kept") == "1"
    assert registry.find("shared").status().spec == changed.status().spec
    shared.start()
    assert (setting(shared, "shared_buffers"), setting(shared, "debug_io_direct")) == ("16MB", "data")


@pytest.mark.parametrize("change", [{"version": "16"}, {"data_dir": Path("/elsewhere")}, {"block_size": 16384}])
def test_what_a_restart_can_not_change(shared: ManagedServer, change: dict[str, object]):
    spec = shared.start().spec
    with pytest.raises(UsageError, match=r"was made with --.*use another name or destroy it first"):
        registry.managed(replace(spec, **change)).start()
    assert shared.status().state == "running"


@pytest.mark.parametrize(("terabytes", "reason"), [(512, 'value for parameter "shared_buffers"'), (7, "could not map")])
def test_a_server_that_does_not_start_says_why_and_is_not_lost(shared: ManagedServer, terabytes: int, reason: str):
    spec = shared.start().spec
    with pytest.raises(SlobError, match=f"did not start: .*{reason}.*; its log is "):
        registry.managed(replace(spec, cache_bytes=terabytes * 1024**4)).start()
    assert registry.find("shared").start().state == "running"
    assert setting(shared, "shared_buffers") == "16MB"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs CPU affinity")
def test_affinity_reaches_every_process(shared: ManagedServer):
    spec = shared.start().spec
    ours = os.sched_getaffinity(0)
    cpu = max(ours)
    confined = registry.managed(replace(spec, cpus=str(cpu))).start()
    with psycopg.connect(confined.url) as connection:
        main = psutil.Process(confined.pid)
        everything = [main, *main.children(recursive=True)]
        assert connection.info.backend_pid in {process.pid for process in everything}
        assert {tuple(process.cpu_affinity()) for process in everything} == {(cpu,)}
    assert os.sched_getaffinity(0) == ours
    free = psutil.Process(shared.start().pid)
    assert set(free.cpu_affinity()) == ours


def test_loading_runs_otherwise_and_ends(shared: ManagedServer):
    shared.start()
    with shared.bulk_loading():
        assert setting(shared, "wal_level") == "minimal"
        assert setting(shared, "debug_io_direct") == ""
        assert setting(shared, "fsync") == "on"
        with pytest.raises(SlobError, match=f"the server shared is busy: loading by process {os.getpid()}"):
            registry.find("shared").stop()
    assert (setting(shared, "wal_level"), setting(shared, "debug_io_direct")) == ("replica", "data")


def test_loading_ends_after_an_exception_too(shared: ManagedServer):
    with pytest.raises(ZeroDivisionError), shared.bulk_loading():
        raise ZeroDivisionError
    assert (setting(shared, "wal_level"), setting(shared, "debug_io_direct")) == ("replica", "data")


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


def test_found_again_after_the_driver_was_killed_while_loading(shared: ManagedServer):
    shared.start()
    driver = python(
        "import time; from openslob.engines import registry\n"
        "with registry.find('shared').bulk_loading(): print('in', flush=True); time.sleep(60)"
    )
    assert driver.stdout.readline() == "in\n"
    driver.kill()
    driver.communicate()
    found = registry.find("shared")
    assert found.status().state == "running"
    assert setting(found, "wal_level") == "minimal"
    found.start()
    assert (setting(found, "wal_level"), setting(found, "debug_io_direct")) == ("replica", "data")


def test_killed_while_it_is_being_made(make_server: MakeServer, slob_home: Path):
    server = make_server(name="killed", started=False)
    driver = python("from openslob.engines import registry as r; r.managed(r.default_spec('killed')).start()")
    base = slob_home / "servers" / "killed"
    wait_until(lambda: any(base.glob("data.new-*/PG_VERSION")))
    driver.kill()
    driver.communicate()
    assert registry.find("killed").status().state == "gone"
    assert server.start().state == "running"
    assert not list(base.glob("data.new-*"))
    assert setting(server, "max_wal_size") == "256MB"
    server.destroy()
    assert not base.exists()


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
    assert left_behind(slob_home, "shared") == []


def test_two_starts_at_once(make_server: MakeServer):
    server = make_server(name="both", started=False)
    code = (
        "from dataclasses import replace; from openslob.engines import registry as r\n"
        f"s = replace(r.default_spec('both'), cache_bytes={16 * MIB}, log_bytes={256 * MIB})\n"
        "print(r.managed(s).start().pid)"
    )
    starts = [python(code) for _ in range(3)]
    pids = {start.communicate()[0].strip() for start in starts}
    assert {start.returncode for start in starts} == {0}
    assert pids == {str(server.status().pid)}
    server.destroy()


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
    run = slob_home / "servers" / "shared" / "run"
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


@as_root
def test_programs_the_account_can_not_reach_are_copied_once(slob_home: Path, tmp_path: Path):
    original = find_installation(registry.default_spec("x"))
    closed = tmp_path / "closed"
    for part in original.parts:
        shutil.copytree(original.root / part, closed / part, ignore=shutil.ignore_patterns("*.a"))
    closed.chmod(0o700)
    hidden = Installation(closed, closed / original.bin.relative_to(original.root), original.parts)
    account = server_account()
    copy = readable_installation(hidden, account)
    assert slob_home / "bin" in copy.bin.parents
    for program in ("postgres", "initdb", "pg_ctl"):
        assert account.run([copy.program(program), "--version"]).returncode == 0
    made_at = copy.bin.stat().st_ctime_ns
    assert readable_installation(hidden, account).bin.stat().st_ctime_ns == made_at
    assert (closed.stat().st_mode & 0o777) == 0o700
    shutil.rmtree(slob_home / "bin")


@as_root
def test_a_home_that_the_account_can_not_enter(
    make_server: MakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    closed = Path("/tmp") / f"slob-closed-{os.getpid()}"
    closed.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("OPENSLOB_HOME", str(closed))
        with pytest.raises(SlobError, match="can't enter"):
            make_server(name="closed")
        assert list((closed / "servers").glob("*")) == []
    finally:
        shutil.rmtree(closed)


@as_root
def test_huge_pages_are_taken_and_given_back(shared: ManagedServer):
    server = registry.managed(replace(shared.status().spec, huge_pages=True))
    server.start()
    assert setting(server, "huge_pages_status") == "on"
    taken = ServerHome("shared").read()["huge_pages"]
    total = Path("/proc/sys/vm/nr_hugepages")
    while_running = int(total.read_text())
    server.stop()
    assert int(total.read_text()) == while_running - taken["added"]
    assert ServerHome("shared").read()["huge_pages"] is None


def test_too_long_a_home(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENSLOB_HOME", str(slob_home / ("x" * 100)))
    with pytest.raises(UsageError, match=r"107 are allowed; set OPENSLOB_HOME .*--data-dir"):
        make_server(name="long")
    assert not (slob_home / ("x" * 100)).exists()


def test_no_space(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**10, 9 * 10**9, 10**9))
    with pytest.raises(SlobError, match=r"the server full with its log needs 356 MB .* 953\.7 MB are free"):
        make_server(name="full")
    assert not (slob_home / "servers" / "full").exists()


def test_no_direct_io(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("openslob.engines.hosting.server.supports_direct_io", lambda place: False)
    with pytest.raises(SlobError, match=r"has no direct I/O; .*--io buffered"):
        make_server(name="nodirect")
    assert not (slob_home / "servers" / "nodirect").exists()


def test_data_and_programs_elsewhere(make_server: MakeServer, slob_home: Path):
    place = slob_home / "disk"
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


def slob(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from openslob.cli import main; main()", "server", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_commands(slob_home: Path):
    start = slob("start", "cli", "--cache", "16M", "--log-size", "128M", "--json")
    assert start.returncode == 0, start.stderr
    shown = json.loads(start.stdout)
    assert (shown["state"], shown["cache_bytes"], shown["io"]) == ("running", 16 * MIB, "direct")
    kept = json.loads(slob("start", "cli", "--io", "buffered", "--json").stdout)
    assert (kept["cache_bytes"], kept["io"]) == (16 * MIB, "buffered")
    assert "16 MB cache, buffered I/O, CPUs all" in slob("status", "cli").stdout
    assert any(line.startswith("cli ") for line in slob("list").stdout.splitlines())
    assert json.loads(slob("stop", "cli", "--json").stdout)["state"] == "stopped"
    assert json.loads(slob("destroy", "cli", "--json").stdout)["state"] == "gone"
    missing = slob("stop", "cli")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith("slob: there is no server 'cli'")
    wrong = slob("start", "cli", "--cache", "much")
    assert (wrong.returncode, wrong.stderr) == (2, "slob: --cache: 'much' is not a size such as 512M or 2G\n")


def test_resolving_a_name_starts_the_server(shared: ManagedServer, slob_home: Path):
    shared.stop()
    engine, server = registry.resolve("shared")
    assert server is not None
    assert server.status().state == "running"
    assert str(slob_home / "servers" / "shared" / "run") in engine.target
