"""A managed server's life, whatever its engine: made, found, broken in every way that happens, gone without a trace."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from factories import running
from factories.programs import need_mariadb
from factories.server_subjects import SUBJECTS, Subject, left_behind, python, wait_until
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed import processes
from openslob.engines.managed import state as server_state
from openslob.engines.managed.base import ManagedServer

pytestmark = pytest.mark.server
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be other users")
MakeServer = Callable[..., ManagedServer]


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda subject: subject.engine)
def subject(request: pytest.FixtureRequest) -> Subject:
    """One engine after the other."""
    return request.param


@pytest.fixture(scope="module")
def shared(make_server: MakeServer, subject: Subject) -> ManagedServer:
    """One server for all tests of an engine that leave it stopped or running, but whole."""
    return make_server(name=f"shared-{subject.engine}", engine=subject.engine)


def test_life_cycle(make_server: MakeServer, slob_home: Path, subject: Subject):
    server = make_server(name="life", engine=subject.engine)
    status = server.status()
    assert (status.state, status.spec.engine) == ("running", subject.engine)
    assert status.spec.version == subject.execute(server, subject.version_query)
    assert psutil.Process(status.pid).name() == subject.program
    assert status.bytes_on_disk > subject.least_bytes
    assert subject.settings(server, subject.run) == subject.run
    subject.execute(server, "CREATE TABLE kept AS SELECT 7 AS n")

    assert server.stop().state == "stopped"
    assert server.stop().state == "stopped"
    assert left_behind(slob_home, server.name, subject) == []
    wait_until(lambda: not psutil.pid_exists(status.pid))

    found = registry.find(server.name)
    assert found is not None
    found.start()
    assert subject.execute(found, "SELECT n FROM kept") == "7"
    found.destroy()
    found.destroy()
    assert found.status().state == "gone"
    assert not (slob_home / "servers" / server.name).exists()
    assert server.name not in registry.list_known()


def test_it_is_killed_while_it_starts_and_starts_again(make_server: MakeServer, subject: Subject):
    server = make_server(name=f"again-{subject.engine}", engine=subject.engine)
    subject.execute(server, "CREATE TABLE kept AS SELECT 7 AS n")
    server.kill()
    called: list[bool] = []
    # Whether it still recovers by then depends on how fast it is.
    server.kill_starting(0.0, lambda: called.append(True))
    assert (called, server.status().pid) == ([True], None)
    server.start()
    assert subject.execute(server, "SELECT n FROM kept") == "7"
    server.destroy()


def test_starting_a_running_server_leaves_it_alone(shared: ManagedServer):
    assert shared.start().pid == shared.start().pid


@as_root
def test_root_without_the_right_to_trace_finds_it(shared: ManagedServer):
    """That of a container has not this right, by default."""
    shared.start()
    bounded = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
    command = [*bounded, sys.executable, "-m", "openslob", "server", "list", "--json"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert {each["name"]: each["state"] for each in listed}[shared.name] == "running"


def test_other_settings_restart_it_and_keep_the_data(shared: ManagedServer, subject: Subject):
    before = shared.start()
    subject.execute(shared, "CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS n")
    cache = subject.setting(shared, subject.cache_setting)
    changed = registry.managed(replace(before.spec, cache_bytes=24 * MIB, io="buffered", max_sessions=50))
    after = changed.start()
    assert after.pid != before.pid
    assert subject.setting(changed, subject.cache_setting) in ("24MB", str(24 * MIB))
    assert subject.settings(changed, subject.run) != subject.run
    assert subject.execute(changed, "SELECT n FROM kept") == "1"
    assert registry.find(shared.name).status().spec == changed.status().spec
    shared.start()
    assert subject.setting(shared, subject.cache_setting) == cache
    assert subject.settings(shared, subject.run) == subject.run


def test_what_a_restart_can_not_change(shared: ManagedServer, subject: Subject):
    spec = shared.start().spec
    for change in subject.fixed:
        with pytest.raises(UsageError, match=r"was created with --.*use another name or destroy it first"):
            registry.managed(replace(spec, **change)).start()
    assert shared.status().state == "running"


def test_another_engine_does_not_take_over_a_name(shared: ManagedServer, subject: Subject):
    need_mariadb()
    other = next(each for each in SUBJECTS if each is not subject)
    shared.start()
    with pytest.raises(UsageError, match=f"is a {subject.engine} server; use another name"):
        registry.managed(registry.default_spec(shared.name, other.engine)).start()
    assert shared.status().state == "running"


def test_a_server_that_does_not_start_says_why_and_is_not_lost(shared: ManagedServer, subject: Subject):
    spec = shared.start().spec
    terabytes, reason = subject.too_large
    with pytest.raises(SlobError, match=f"did not start: .*{reason}.*; its log is "):
        registry.managed(replace(spec, cache_bytes=terabytes * 1024**4)).start()
    assert registry.find(shared.name).start().state == "running"
    assert subject.settings(shared, subject.run) == subject.run


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs CPU affinity")
def test_affinity_reaches_every_process_and_thread(shared: ManagedServer, subject: Subject):
    spec = shared.start().spec
    ours = os.sched_getaffinity(0)
    cpu = max(ours)
    confined = registry.managed(replace(spec, cpus=str(cpu))).start()
    connection = subject.connect(shared)
    main = psutil.Process(confined.pid)
    everything = [main, *main.children(recursive=True)]
    threads = [thread.id for process in everything for thread in process.threads()]
    assert len(threads) > 5
    assert {tuple(os.sched_getaffinity(thread)) for thread in threads} == {(cpu,)}
    connection.close()
    assert os.sched_getaffinity(0) == ours
    free = psutil.Process(shared.start().pid)
    assert set(free.cpu_affinity()) == ours


def test_loading_runs_otherwise_and_ends(shared: ManagedServer, subject: Subject):
    shared.start()
    with shared.bulk_loading():
        assert subject.settings(shared, subject.loading) == subject.loading
        with pytest.raises(SlobError, match=f"the server {shared.name} is busy: loading by process {os.getpid()}"):
            registry.find(shared.name).stop()
    assert subject.settings(shared, subject.run) == subject.run


def test_a_server_in_use_by_another_process_is_neither_stopped_nor_changed(shared: ManagedServer, subject: Subject):
    before = shared.start()
    with python(
        "import time; from openslob.engines import registry\n"
        f"with registry.engine_for({before.url!r}).exclusive('run'): print('in', flush=True); time.sleep(60)"
    ) as user:
        try:
            assert user.stdout.readline() == "in\n"
            for words in (("stop",), ("destroy",), ("start", "--cache", "24M")):
                refused = slob(*words, shared.name)
                assert (refused.returncode, refused.stdout) == (1, "")
                assert f"slob: the server {shared.name} is in use: run by pid {user.pid} since 20" in refused.stderr
            with pytest.raises(SlobError, match=f"is in use: run by pid {user.pid}"), shared.bulk_loading():
                pass
            assert slob("start", shared.name).returncode == 0
            assert (shared.status().pid, shared.status().spec) == (before.pid, before.spec)
        finally:
            user.kill()
    assert shared.stop().state == "stopped"


def test_loading_ends_after_an_exception_too(shared: ManagedServer, subject: Subject):
    with pytest.raises(ZeroDivisionError), shared.bulk_loading():
        raise ZeroDivisionError
    assert subject.settings(shared, subject.run) == subject.run


def test_found_again_after_the_driver_was_killed_while_loading(shared: ManagedServer, subject: Subject):
    shared.start()
    driver = python(
        "import time; from openslob.engines import registry\n"
        f"with registry.find('{shared.name}').bulk_loading(): print('in', flush=True); time.sleep(60)"
    )
    assert driver.stdout.readline() == "in\n"
    driver.kill()
    driver.communicate()
    found = registry.find(shared.name)
    assert found.status().state == "running"
    assert subject.settings(found, subject.loading) == subject.loading
    found.start()
    assert subject.settings(found, subject.run) == subject.run


def test_killed_while_it_is_being_made(make_server: MakeServer, slob_home: Path, subject: Subject):
    server = make_server(name="killed", started=False, engine=subject.engine, log_bytes=64 * MIB)
    driver = python(
        "from dataclasses import replace; from openslob.engines import registry as r\n"
        f"r.managed(replace(r.default_spec('killed', '{subject.engine}'), log_bytes={128 * MIB})).start()"
    )
    base = slob_home / "servers" / "killed"
    wait_until(lambda: any(base.glob("data.new-*/*")))
    driver.kill()
    driver.communicate()
    assert registry.find("killed").status().state == "gone"
    assert server.start().state == "running"
    assert not list(base.glob("data.new-*"))
    assert not [p for p in psutil.process_iter(["cwd"]) if str(base / "data.new-") in (p.info["cwd"] or "")]
    assert registry.find("killed").status().spec.log_bytes == 64 * MIB
    server.destroy()
    assert not base.exists()


def test_a_driver_killed_while_it_starts_the_server(shared: ManagedServer, subject: Subject):
    """Its program goes on by itself; the next start either takes it as it is or replaces it, but never adds one."""
    shared.stop()
    driver = python(f"from openslob.engines import registry; registry.find('{shared.name}').start()")
    data = str(shared.status().data_directory)
    wait_until(lambda: any(subject.program in (p.info["name"] or "") for p in _processes_in(data)))
    driver.kill()
    driver.communicate()
    assert shared.start().state == "running"
    mains = [p for p in _processes_in(data) if p.ppid() not in {each.pid for each in _processes_in(data)}]
    assert [process.pid for process in mains] == [shared.status().pid]


def _processes_in(directory: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter(["name", "cwd"]) if process.info["cwd"] == directory]


def test_two_starts_at_once(make_server: MakeServer, subject: Subject):
    server = make_server(name="both", started=False, engine=subject.engine, log_bytes=64 * MIB)
    code = (
        "from dataclasses import replace; from openslob.engines import registry as r\n"
        f"s = replace(r.default_spec('both', '{subject.engine}'), cache_bytes={16 * MIB}, log_bytes={64 * MIB})\n"
        "print(r.managed(s).start().pid)"
    )
    starts = [python(code) for _ in range(3)]
    pids = {start.communicate()[0].strip() for start in starts}
    assert {start.returncode for start in starts} == {0}
    assert pids == {str(server.status().pid)}
    server.destroy()


def test_killed_and_started_again(shared: ManagedServer, slob_home: Path, subject: Subject):
    before = shared.start()
    subject.execute(shared, "CREATE TABLE IF NOT EXISTS counted (n int)", "INSERT INTO counted SELECT 1")
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: shared.status().state == "stopped")
    after = shared.start()
    assert (after.state, after.pid != before.pid) == ("running", True)
    assert subject.execute(shared, "SELECT n FROM counted") == "1"
    os.kill(after.pid, signal.SIGKILL)
    assert shared.stop().state == "stopped"
    assert left_behind(slob_home, shared.name, subject) == []


def test_a_server_that_hangs_is_stopped_by_force(
    shared: ManagedServer, monkeypatch: pytest.MonkeyPatch, subject: Subject
):
    monkeypatch.setattr(processes, "FROZEN_S", 0.1)
    main = psutil.Process(shared.start().pid)
    for process in (main, *main.children()):
        process.suspend()
    stopped = slob("stop", shared.name)
    assert (stopped.returncode, "and was killed; it recovers at its next start" in stopped.stderr) == (0, True)
    assert shared.status().state == "stopped"
    assert shared.start().state == "running"


def test_a_pid_file_with_the_number_of_another_process(shared: ManagedServer, subject: Subject):
    data = shared.stop().data_directory
    with subprocess.Popen(["sleep", "60"]) as bystander:
        try:
            (data / subject.pid_file).write_text(f"{bystander.pid}\n")
            assert shared.status().state == "stopped"
            assert shared.start().state == "running"
            assert bystander.poll() is None, "an innocent process was ended"
        finally:
            bystander.kill()


@as_root
def test_a_home_that_the_account_can_not_enter(
    make_server: MakeServer, monkeypatch: pytest.MonkeyPatch, subject: Subject
):
    closed = Path("/tmp") / f"slob-closed-{os.getpid()}"
    closed.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("OPENSLOB_HOME", str(closed))
        with pytest.raises(SlobError, match=r"can't (enter|run programs in)"):
            make_server(name="closed", engine=subject.engine)
        assert list((closed / "servers").glob("*")) == []
    finally:
        shutil.rmtree(closed)


def test_too_long_a_home(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch, subject: Subject):
    monkeypatch.setenv("OPENSLOB_HOME", str(slob_home / ("x" * 100)))
    with pytest.raises(UsageError, match=r"107 are allowed; set OPENSLOB_HOME .*--data-dir"):
        make_server(name="long", engine=subject.engine)
    assert not (slob_home / ("x" * 100)).exists()


def test_no_space(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch, subject: Subject):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**10, 9 * 10**9, 10**9))
    with pytest.raises(SlobError, match=r"the server full with its log needs 356 MB .* 953\.7 MB are free"):
        make_server(name="full", engine=subject.engine, log_bytes=256 * MIB)
    assert not (slob_home / "servers" / "full").exists()


def test_no_direct_io(make_server: MakeServer, slob_home: Path, monkeypatch: pytest.MonkeyPatch, subject: Subject):
    monkeypatch.setattr("openslob.engines.managed.server.supports_direct_io", lambda place: False)
    with pytest.raises(SlobError, match=r"has no direct I/O; .*--io buffered"):
        make_server(name="nodirect", engine=subject.engine)
    assert not (slob_home / "servers" / "nodirect").exists()


# A directory that a shell, a configuration file or a connection string would take for something else.
_UNUSUAL = """ $(touch y) `touch y`; touch y # "it's" %:,é"""


def _untouchable(server: ManagedServer) -> None:
    """Neither stop nor destroy reaches data that are not marked as the server's own."""
    for action in (server.stop, server.destroy, server.start):
        with pytest.raises(SlobError, match=r"is not marked as the data directory of the server away; "):
            action()
    assert server.status().state == "running"


def test_data_elsewhere(
    make_server: MakeServer, slob_home: Path, subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = slob_home / "disk" / f"{subject.engine}{_UNUSUAL}"
    monkeypatch.chdir(tmp_path)
    server = make_server(name="away", data_dir=place, engine=subject.engine)
    assert server.status().data_directory == place / "data"
    assert Path(psutil.Process(server.status().pid).cwd()) == place / "data"
    (place / "precious").write_text("the user's own")
    marker = place / server_state.MARKER
    text = marker.read_text()
    marker.unlink()
    _untouchable(server)
    marker.write_text(text)
    (place / "data").rename(place / "real")
    (place / "data").symlink_to(place / "real")
    with pytest.raises(SlobError, match="is a symbolic link, and slob never creates one"):
        server.destroy()
    (place / "data").unlink()
    (place / "real").rename(place / "data")
    server.destroy()
    assert not [*slob_home.rglob("y"), *tmp_path.rglob("y")]
    assert [path.name for path in place.iterdir()] == ["precious"]
    with pytest.raises(UsageError, match="is not empty"):
        make_server(name="away", data_dir=place, engine=subject.engine)
    assert (place / "precious").read_text() == "the user's own"
    assert not (slob_home / "servers" / "away").exists()


def slob(*words: str) -> subprocess.CompletedProcess[str]:
    return running.slob("server", *words)


def test_commands(slob_home: Path, shared: ManagedServer, subject: Subject):
    shared.stop()
    start = slob("start", "cli", "--engine", subject.engine, "--cache", "16M", "--log-size", "128M", "--json")
    assert start.returncode == 0, start.stderr
    shown = json.loads(start.stdout)
    assert (shown["state"], shown["engine"], shown["cache_bytes"], shown["io"]) == (
        *("running", subject.engine, 16 * MIB, "direct"),
    )
    kept = json.loads(slob("start", "cli", "--io", "buffered", "--json").stdout)
    assert (kept["engine"], kept["cache_bytes"], kept["io"]) == (subject.engine, 16 * MIB, "buffered")
    assert "16 MB cache, buffered I/O, CPUs all" in slob("status", "cli").stdout
    assert any(line.startswith("cli ") for line in slob("list").stdout.splitlines())
    assert json.loads(slob("stop", "cli", "--json").stdout)["state"] == "stopped"
    assert json.loads(slob("destroy", "cli", "--json").stdout)["state"] == "gone"


def test_commands_that_are_wrong(slob_home: Path):
    missing = slob("stop", "cli")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr.startswith("slob: there is no server 'cli'")
    wrong = slob("start", "cli", "--cache", "much")
    assert wrong.returncode == 2
    assert "'--cache': 'much' is not a size such as 512M or 2G; see slob server start --help\n" in wrong.stderr
    unknown = slob("start", "cli", "--engine", "sybase")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert unknown.stderr.startswith("slob: no server of 'sybase' can be managed; choose one of mariadb, postgresql")


def test_resolving_a_name_starts_the_server(shared: ManagedServer, slob_home: Path):
    shared.stop()
    engine, server = registry.resolve(shared.name)
    assert server is not None
    assert server.status().state == "running"
    assert str(slob_home / "servers" / shared.name / "run") in engine.target
