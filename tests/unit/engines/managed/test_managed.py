"""The parts of a managed server that need no server: its configuration, its home, what the host must offer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.core import disk, places
from openslob.core.disk import RESERVE_BYTES, require_space, supports_direct_io, write_atomically
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed import account, state
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import ServerFiles, check_socket_path
from openslob.engines.managed.resources import check_cpus, confine, parse_available, parse_cpus
from openslob.engines.postgresql.binaries import major
from openslob.engines.postgresql.providers import find_installation
from openslob.engines.postgresql.server import default_spec
from openslob.engines.postgresql.server_config import (
    COMPLAINTS,
    SOCKET,
    check_spec,
    config_text,
    ident_text,
    settings,
    url,
)

LAYOUT = ServerFiles(Path("/srv/x"), Path("/data/x"), SOCKET)


def as_values(spec: ServerSpec, bulk: bool = False) -> dict[str, str]:
    return {one.name: one.value for one in settings(spec, LAYOUT, bulk)}


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def spec() -> ServerSpec:
    return default_spec("x")


def test_a_program_that_takes_too_long_is_ended_and_that_is_one_line():
    us = account.ServerAccount(account.current_user(), os.geteuid(), os.getegid(), switched=False)
    with pytest.raises(SlobError, match=r"^sleep did not end within 0 s$"):
        us.run(["/bin/sleep", "3600"], timeout=0.1)


def test_settings_follow_the_specification(spec: ServerSpec):
    values = as_values(replace(spec, cache_bytes=48 * MIB, log_bytes=512 * MIB, max_sessions=300))
    assert values["shared_buffers"] == "49152kB"
    assert values["max_wal_size"] == "512MB"
    assert int(values["max_connections"]) > 300
    assert values["debug_io_direct"] == "data"
    assert values["listen_addresses"] == ""
    assert values["unix_socket_directories"] == '"/srv/x/run"'
    assert values["huge_pages"] == "off"
    assert {values[name] for name in ("fsync", "full_page_writes", "synchronous_commit")} == {"on"}


def test_buffered_and_huge_pages(spec: ServerSpec):
    values = as_values(replace(spec, io="buffered", huge_pages=True))
    assert values["debug_io_direct"] == ""
    assert values["huge_pages"] == "on"


def test_a_load_is_buffered_without_wal_but_still_safe(spec: ServerSpec):
    values = as_values(spec, bulk=True)
    assert (values["debug_io_direct"], values["wal_level"], values["max_wal_senders"]) == ("", "minimal", "0")
    assert values["fsync"] == "on"


def test_versions_without_direct_io_do_not_get_the_setting(spec: ServerSpec):
    assert "debug_io_direct" not in as_values(replace(spec, version="15", io="buffered"))


def test_the_file_tells_apart_everything_that_needs_a_restart(spec: ServerSpec):
    others = [replace(spec, cpus="0"), replace(spec, cache_bytes=MIB), replace(spec, io="buffered")]
    texts = {config_text(one, LAYOUT, Path("/pg/bin"), bulk=False) for one in [spec, *others]}
    texts.add(config_text(spec, LAYOUT, Path("/pg2/bin"), bulk=False))
    texts.add(config_text(spec, LAYOUT, Path("/pg/bin"), bulk=True))
    assert len(texts) == 6


def test_quotes_and_backslashes_in_a_path_are_escaped(spec: ServerSpec):
    text = config_text(spec, ServerFiles(Path(r"""/it's\n"a"""), Path("/d"), SOCKET), Path("/pg/bin"), bulk=False)
    assert r"""hba_file = '/it\'s\\n"a/pg_hba.conf'""" in text
    assert r"""unix_socket_directories = '"/it\'s\\n""a/run"'""" in text


@table("path", [Path("/a\nlisten_addresses = '*'"), Path("/a\tb"), Path("/a\x7f"), Path("/a\udcff")])
def test_a_path_that_no_configuration_can_hold_is_refused(
    spec: ServerSpec, path: Path, monkeypatch: pytest.MonkeyPatch
):
    for change in ({"data_dir": path}, {"bin_dir": path}):
        with pytest.raises(UsageError, match=r"has the character .*; choose another directory"):
            check_spec(replace(spec, **change))
    monkeypatch.setenv("OPENSLOB_HOME", str(path))
    with pytest.raises(UsageError, match=r"has the character .*; choose another directory"):
        check_spec(spec)


@table("directory", ["/pg$(touch y)/bin", "/pg`touch y`/bin", '/pg"; touch y; "/bin'])
def test_programs_that_initdb_would_start_through_a_shell(spec: ServerSpec, directory: str):
    with pytest.raises(UsageError, match=r"has the character .*; choose another directory"):
        check_spec(replace(spec, bin_dir=Path(directory)))


@table(
    ("change", "said"),
    [
        ({"io": "odd"}, "--io odd"),
        ({"version": "15"}, "no direct I/O"),
        ({"version": "old"}, "not a version"),
        ({"cache_bytes": 1000}, "--cache"),
        ({"log_bytes": MIB}, "--log-size"),
        ({"max_sessions": 0}, "--max-sessions"),
        ({"cpus": "4096"}, "CPU 4096"),
        ({"cpus": "a"}, "--cpus a"),
        ({"version": "14", "io": "buffered", "huge_pages": True}, "huge"),
    ],
)
def test_a_wrong_value_is_named(spec: ServerSpec, change: dict[str, object], said: str):
    with pytest.raises(UsageError, match=said):
        check_spec(replace(spec, **change))


def test_the_defaults_are_fine(spec: ServerSpec):
    check_spec(spec)


def test_socket_path_limit():
    check_socket_path(ServerFiles(Path("/" + "x" * 88), Path("/d"), SOCKET))
    with pytest.raises(UsageError, match=r"108 bytes and 107 are allowed; set OPENSLOB_HOME .*--data-dir"):
        check_socket_path(ServerFiles(Path("/" + "x" * 89), Path("/d"), SOCKET))


def test_url_quotes_its_socket_directory():
    assert "host=/a%20b%26c/run&" in url(ServerFiles(Path("/a b&c"), Path("/d"), SOCKET))


def test_only_the_named_users_are_mapped():
    assert ident_text({"root", "openslob"}) == 'slob "openslob" slob\nslob "root" slob\n'


@table(
    ("log", "line"),
    [
        (
            "2026-01-01 10:00:00.123 UTC [12] FATAL:  could not map memory\n"
            "2026-01-01 10:00:00.125 UTC [12] LOG:  database system is shut down\n",
            "FATAL:  could not map memory",
        ),
        ("FATAL:  no\nFATAL:  the database system is shut down\n\n", "FATAL:  no"),
        (
            "FATAL:  invalid page in block 7\nFATAL:  the database system is not yet accepting connections\n"
            "FATAL:  the database system is starting up\n",
            "FATAL:  invalid page in block 7",
        ),
        ("initdb: error: invalid locale name\ninitdb: hint: try another\n", "initdb: error: invalid locale name"),
        ("LOG:  9 is outside the valid range\nFATAL:  file contains errors\n", "LOG:  9 is outside the valid range"),
        ("something else\n", "something else"),
        ("", ""),
    ],
)
def test_last_complaint(log: str, line: str):
    assert COMPLAINTS.find_last(log) == line


@table(("text", "number"), [("18", 18), ("18.4", 18), ("19beta1", 19)])
def test_major(text: str, number: int):
    assert major(text) == number


def test_both_bundled_versions_are_found(spec: ServerSpec):
    for version in ("18", "16"):
        assert major(find_installation(replace(spec, version=version)).version()) == int(version)


def test_programs_that_are_not_there(spec: ServerSpec, tmp_path: Path):
    with pytest.raises(UsageError, match=r"^no PostgreSQL 12 is here: .* has only 18, 16; .*; name a --bin-dir$"):
        find_installation(replace(spec, version="12"))
    with pytest.raises(UsageError, match=f"no initdb in {tmp_path}"):
        find_installation(replace(spec, bin_dir=tmp_path))


def test_cpus():
    assert parse_cpus("0,2-3") == {0, 2, 3}
    for wrong in ("", "3-1", "a", "1,", "-1"):
        with pytest.raises(UsageError):
            parse_cpus(wrong)
    check_cpus(None)


def test_confinement_ends_with_its_block():
    before = os.sched_getaffinity(0)
    with confine(str(min(before))):
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before


def test_elsewhere_than_on_linux_no_server_is_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SlobError, match=r"^slob runs servers on Linux only; name a server of yours by its URL$"):
        check_cpus("0")


def test_meminfo_counts_reserved_huge_pages_as_taken():
    text = "MemTotal: 8 kB\nHugePages_Total:     950\nHugePages_Free:      658\nHugePages_Rsvd:      496\n"
    assert parse_available(text) == 162


def test_space_is_needed_beyond_the_reserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    usage = SimpleNamespace(total=10 * RESERVE_BYTES, used=0, free=3 * RESERVE_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    require_space(tmp_path / "not" / "yet", 2 * RESERVE_BYTES, "a load")
    with pytest.raises(SlobError, match=r"^a load .* 2\.1 GB .* 1 GB .* 3 GB "):
        require_space(tmp_path, int(2.1 * RESERVE_BYTES), "a load")
    usage.total = 100 * RESERVE_BYTES  # 5 % of it is more than the least reserve
    with pytest.raises(SlobError, match="5 GB kept in reserve"):
        require_space(tmp_path, 1, "a load")
    # Little is not refused for what must stay free beside a load.
    require_space(tmp_path, 2**20, "a bundle", reserve_times=64)


def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "state"
    write_atomically(path, "old")

    def fail(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(disk.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["state"]


def test_direct_io_is_tried_out_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    supports_direct_io(tmp_path)
    real = os.open

    def refuse(path: object, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return real(path, flags, *rest)

    monkeypatch.setattr(disk.os, "open", refuse)
    assert not supports_direct_io(tmp_path)
    assert names_in(tmp_path) == []


def test_home_by_environment_and_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    assert places.home() == tmp_path
    monkeypatch.delenv("OPENSLOB_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/x")
    monkeypatch.setattr(state.os, "geteuid", lambda: 1000)
    assert places.home() == Path("/x/openslob")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert places.home() == Path("/home/x/.local/share/openslob")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    for asked in (places.home, account.current_user):
        with pytest.raises(SlobError, match=r"no home directory; set HOME|user id 1000 has no name"):
            asked()
    monkeypatch.setattr(state.os, "geteuid", lambda: 0)
    assert places.home() == Path("/var/lib/openslob")


def test_an_ordinary_user_runs_servers_as_himself(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(account.os, "geteuid", lambda: 65534)
    assert (account.server_account().uid, account.server_account().switched) == (65534, False)


def test_a_missing_system_user_that_can_not_be_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(account.os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "SYSTEM_USER", "slob no such user")  # useradd refuses the name
    with pytest.raises(
        SlobError, match=r"refuse to run as root .* could not be created .*; run as another user or create it"
    ):
        account.server_account()


def test_state_survives_writing_and_reading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: ServerSpec):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    spec = replace(spec, data_dir=Path("/d"), cpus="0")
    server = state.ServerState("x")
    assert server.read() is None
    with server.lock("testing"):
        server.write(spec, extra=7)
        first = server.read()
        server.write(spec)
    entry = server.read()
    assert entry and first
    assert (state.spec_from(entry), entry["extra"]) == (spec, 7)
    assert entry["made_at"] == first["made_at"]
    assert state.names() == ["x"]


def test_a_locked_server_is_busy_and_the_error_names_the_holder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    hold = """
import sys, time
from openslob.engines.managed import state
with state.ServerState("x").reserve("sweep"), state.ServerState("x").lock(state.LOADING):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdin
        holder.stdout.readline()
        with (
            pytest.raises(SlobError, match=f"x is busy: loading .* {holder.pid};"),
            state.ServerState("x").lock("testing"),
        ):
            pass
        (tmp_path / "servers" / "x" / "server.json").touch()
        socket_directory = tmp_path / "servers" / "x" / "run"
        for claim in (state.ServerState("x").reserve("test"), state.reserve_through(socket_directory, "test")):
            with pytest.raises(SlobError, match=f"x .* sweep by pid {holder.pid} since 20"), claim:
                pass
        holder.stdin.close()
    server = state.ServerState("x")
    (server.path / "server.json").unlink()
    # The process that has it may have it again, as a run of a sweep does.
    with server.lock("testing"), server.reserve("sweep"), server.reserve("run"):
        assert (tmp_path / "servers" / "x" / "lock").stat().st_mode & 0o777 == 0o600
    # No server was made, so nothing is left of it.
    assert not (tmp_path / "servers").exists()


def test_a_home_that_can_not_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENSLOB_HOME", "/proc/x")
    server = state.ServerState("x")
    for wanted in (server.lock("testing"), server.reserve("testing")):
        with pytest.raises(SlobError, match=r"/proc/x/servers.* can't be written .*; set OPENSLOB_HOME"), wanted:
            pass


def test_state_that_can_not_be_read_is_an_error_not_a_new_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    file = tmp_path / "servers" / "x" / "server.json"
    file.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"version": 99}'):
        file.write_text(text)
        with pytest.raises(SlobError, match=r"is damaged|a later openslob"):
            state.ServerState("x").read()


@table("name", ["", "..", "a/b", "A", "-x", "x" * 41, ".x"])
def test_names_that_could_leave_the_home(name: str):
    with pytest.raises(UsageError, match="server's name"):
        state.ServerState(name)


def test_claims(tmp_path: Path):
    ours = tmp_path / "new" / "place"
    state.claim(ours, "x")
    state.claim(ours, "x")
    with pytest.raises(UsageError, match="belongs to the server x"):
        state.claim(ours, "y")
    state.unclaim(ours)
    assert not ours.exists()


def test_a_directory_of_others_is_never_claimed(tmp_path: Path):
    (tmp_path / "precious").write_text("data")
    with pytest.raises(UsageError, match="is not empty"):
        state.claim(tmp_path, "x")
    assert names_in(tmp_path) == ["precious"]
    assert not state.is_ours(tmp_path, "x")


def test_an_empty_directory_is_given_back_as_it_was(tmp_path: Path):
    state.claim(tmp_path, "x")
    assert json.loads((tmp_path / state.MARKER).read_text())["made"] is False
    state.unclaim(tmp_path)
    assert names_in(tmp_path) == []


def test_targets_that_nothing_serves():
    with pytest.raises(UsageError, match="no server 'nobody'"):
        registry.resolve("nobody")
    with pytest.raises(UsageError, match="can be managed"):
        registry.default_spec("x", "sybase")


def test_the_last_server_takes_along_what_they_shared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spec: ServerSpec
):
    monkeypatch.delenv("OPENSLOB_HOME")
    monkeypatch.setattr(state.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    first, last = state.ServerState("first"), state.ServerState("last")
    for server in (first, last):
        with server.lock("testing"):
            server.write(spec)
    (places.home() / "bin" / "18").mkdir(parents=True)
    first.remove()
    assert names_in(places.home()) == ["bin", "servers"]
    last.remove()
    assert names_in(tmp_path) == []
