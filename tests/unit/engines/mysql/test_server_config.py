"""The parts of a managed MariaDB server that need no server: its configuration, and finding its programs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from factories.running import eventually
from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.units import KIB, MIB
from openslob.engines import registry
from openslob.engines.managed.account import ServerAccount, current_user
from openslob.engines.managed.base import ServerSpec
from openslob.engines.managed.layout import ServerFiles
from openslob.engines.managed.resources import parse_page_bytes
from openslob.engines.mysql import binaries
from openslob.engines.mysql.binaries import find_installation, series
from openslob.engines.mysql.server import default_spec
from openslob.engines.mysql.server_config import (
    COMPLAINTS,
    SOCKET,
    check_spec,
    config_text,
    init_text,
    settings,
    url,
)

LAYOUT = ServerFiles(Path("/srv/x"), Path("/data/x"), SOCKET)


def as_values(spec: ServerSpec, bulk: bool = False) -> dict[str, str]:
    return {one.name: one.value for one in settings(spec, LAYOUT, bulk)}


@pytest.fixture
def spec() -> ServerSpec:
    return default_spec("x")


def test_a_server_with_a_standby_listens_on_this_host_alone_and_logs_what_the_standby_needs(spec: ServerSpec):
    values, alone = as_values(replace(spec, port=20_001)), as_values(spec)
    assert {
        "bind_address": "127.0.0.1",
        "port": "20001",
        "binlog_format": "ROW",
        "sync_binlog": "1",
    }.items() <= values.items()
    assert "skip_networking" not in values
    assert "skip_log_bin" in alone
    assert values["server_id"] != as_values(replace(spec, name="y", port=20_001))["server_id"]
    # A standby has the same, so that a promotion restarts nothing.
    assert as_values(replace(spec, port=20_001, standby_of="y")) == values


def test_settings_follow_the_specification(spec: ServerSpec):
    asked = replace(spec, cache_bytes=48 * MIB, log_bytes=512 * MIB, max_sessions=300, block_size=32 * KIB)
    values = as_values(asked)
    assert values["innodb_buffer_pool_size"] == values["loose_innodb_buffer_pool_size_max"] == str(48 * MIB)
    assert values["innodb_log_file_size"] == str(512 * MIB)
    assert values["innodb_page_size"] == "32768"
    assert int(values["max_connections"]) > 300
    assert values["innodb_flush_method"] == "O_DIRECT"
    assert values["datadir"] == "/data/x/data"
    assert values["socket"] == "/srv/x/run/slob.sock"
    assert values["skip_networking"] == "ON"
    assert values["large_pages"] == "OFF"
    assert as_values(replace(asked, io="buffered", huge_pages=True)).items() > {
        ("innodb_flush_method", "fsync"),
        ("large_pages", "ON"),
    }


def test_only_durability_differs_in_a_load(spec: ServerSpec):
    run, load = as_values(spec), as_values(spec, bulk=True)
    differing = {name: (run[name], load[name]) for name in run if run[name] != load[name]}
    assert differing == {"innodb_flush_log_at_trx_commit": ("1", "0"), "innodb_doublewrite": ("ON", "OFF")}
    assert run.keys() == load.keys()


def test_what_else_decides_how_it_runs_is_in_the_file(spec: ServerSpec):
    text = config_text(spec, LAYOUT, Path("/usr/sbin"), bulk=False)
    for changed in (
        config_text(replace(spec, cpus="0"), LAYOUT, Path("/usr/sbin"), bulk=False),
        config_text(spec, LAYOUT, Path("/opt/bin"), bulk=False),
        config_text(spec, LAYOUT, Path("/usr/sbin"), bulk=True),
    ):
        assert changed != text


def test_paths_are_quoted_in_the_option_file(spec: ServerSpec):
    text = config_text(spec, ServerFiles(Path("/it's # a\\b"), Path("/d"), SOCKET), Path("/bin"), bulk=False)
    assert "socket = '/it\\'s # a\\\\b/run/slob.sock'\n" in text
    assert text.index("[mariadbd]") < text.index("datadir")


@table(
    ("change", "why"),
    [
        ({"block_size": 2 * KIB}, "--block-size 2048 is not known; MariaDB has 4 KB, 8 KB, 16 KB, 32 KB, 64 KB"),
        ({"block_size": 12_000}, "--block-size 12000 is not known"),
        ({"cache_bytes": 7 * MIB}, "--cache 7 MB is too small with blocks of 16 KB; give at least 8 MB"),
        ({"cache_bytes": 23 * MIB, "block_size": 64 * KIB}, "too small with blocks of 64 KB; give at least 24 MB"),
        ({"cache_bytes": 23 * MIB, "block_size": 32 * KIB}, "too small with blocks of 32 KB; give at least 24 MB"),
        ({"log_bytes": 63 * MIB}, "--log-size 63 MB is too small; give at least 64M"),
        ({"io": "sideways"}, "--io sideways is not known"),
        ({"max_sessions": 0}, "--max-sessions 0 is too small"),
        ({"cpus": "4096"}, "--cpus 4096 asks for CPU 4096"),
    ],
)
def test_specifications_that_can_not_be_run(spec: ServerSpec, change: dict[str, object], why: str):
    with pytest.raises(UsageError, match=why):
        check_spec(replace(spec, **change))


@table(("kilobytes", "megabytes"), [(4, 8), (8, 8), (16, 8), (32, 24), (64, 24)])
def test_the_least_cache_of_each_block_size(spec: ServerSpec, kilobytes: int, megabytes: int):
    check_spec(replace(spec, block_size=kilobytes * KIB, cache_bytes=megabytes * MIB, log_bytes=64 * MIB))


def test_who_may_connect():
    text = init_text({"root", "o`dd"}, standby=False)
    assert "read_only" not in text
    assert init_text({"root"}, standby=True).endswith("SET GLOBAL read_only = ON;\n")
    assert text.splitlines() == [
        "SET SESSION sql_log_bin = OFF;",
        "CREATE DATABASE IF NOT EXISTS `slob`;",
        "CREATE USER IF NOT EXISTS `o``dd`@localhost IDENTIFIED VIA unix_socket;",
        "GRANT ALL PRIVILEGES ON *.* TO `o``dd`@localhost WITH GRANT OPTION;",
        "CREATE USER IF NOT EXISTS `root`@localhost IDENTIFIED VIA unix_socket;",
        "GRANT ALL PRIVILEGES ON *.* TO `root`@localhost WITH GRANT OPTION;",
    ]


def test_url():
    odd = ServerFiles(Path("/a b&c"), Path("/d"), SOCKET)
    assert url(odd, "d@e") == "mariadb://d%40e@localhost/slob?unix_socket=/a%20b%26c/run/slob.sock"


@table(
    ("said", "expected"),
    [
        ("/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", "10.11"),
        ("mariadbd  Ver 11.8.2-MariaDB for Linux on x86_64 (MariaDB Server)", "11.8"),
        ("mysqld  Ver 10.6.18-MariaDB-log for Linux on x86_64 (MariaDB Server)", "10.6"),
    ],
)
def test_versions(said: str, expected: str):
    assert series(said, Path("/x/mariadbd")) == expected


@table(
    ("said", "why"),
    [
        ("/usr/sbin/mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)", "is not a MariaDB server"),
        ("", "is not a MariaDB server"),
        ("mysqld  Ver 10.3.39-MariaDB for Linux on x86_64", "is MariaDB 10.3; 10.6 is the oldest"),
    ],
)
def test_versions_that_can_not_be_managed(said: str, why: str):
    with pytest.raises(UsageError, match=why):
        series(said, Path("/x/mysqld"))


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(binaries, "PLACES", ())
    with pytest.raises(SlobError, match="MariaDB is not installed on this host; apt-get install mariadb-server, or"):
        find_installation(None)
    with pytest.raises(UsageError, match=f"there is no mariadbd in {tmp_path}"):
        find_installation(tmp_path)
    server = program(tmp_path / "sbin" / "mysqld")
    with pytest.raises(SlobError, match=f"there is no mariadb-install-db in {tmp_path}"):
        find_installation(server.parent)


def test_programs_are_found_where_packages_and_archives_put_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", os.pathsep.join(["", str(tmp_path / "empty")]))
    monkeypatch.setattr(binaries, "PLACES", (str(tmp_path / "usr/sbin"),))
    server = program(tmp_path / "usr/sbin/mariadbd")
    installer = program(tmp_path / "usr/bin/mariadb-install-db")
    (tmp_path / "usr/sbin/mysqld").symlink_to("mariadbd")
    found = find_installation(None)
    assert (found.root, found.server, found.installer) == (tmp_path / "usr", server, installer)
    unpacked = program(tmp_path / "mariadb-11.8.2/bin/mariadbd")
    program(tmp_path / "mariadb-11.8.2/scripts/mariadb-install-db")
    assert find_installation(unpacked.parent).root == tmp_path / "mariadb-11.8.2"


_LOG = """\
2026-11-21  6:46:56 0 [Note] InnoDB: Starting shutdown...
2026-11-21  6:46:56 0 [ERROR] InnoDB: innodb_page_size=16384 requires innodb_buffer_pool_size >= 6 MiB current 5 MiB
2026-11-21  6:46:56 0 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.
2026-11-21  6:46:56 0 [ERROR] Unknown/unsupported storage engine: InnoDB
2026-11-21  6:46:56 0 [ERROR] Aborting
"""


@table(
    ("said", "reason"),
    [
        (_LOG, "InnoDB: innodb_page_size=16384 requires innodb_buffer_pool_size >= 6 MiB current 5 MiB"),
        ("/usr/sbin/mariadbd: unknown variable 'x=1'\n2026-11-21  6:46:56 0 [ERROR] Aborting\n", "unknown variable"),
        ("FATAL ERROR: Could not find my_print_defaults\n\nLook here.\n", "FATAL ERROR: Could not find"),
        ("mariadb-install-db: 603: cannot create x: Permission denied\n", "cannot create x: Permission denied"),
        ("", ""),
    ],
)
def test_the_reason_for_not_starting(said: str, reason: str):
    assert reason in COMPLAINTS.find_last(said)


def test_the_size_of_huge_pages():
    assert parse_page_bytes("HugePages_Total:       0\nHugepagesize:       2048 kB\nHugetlb: 0 kB\n") == 2 * MIB


def test_a_program_that_is_launched_outlives_us_apart_from_our_terminal(tmp_path: Path):
    us = ServerAccount(current_user(), os.geteuid(), os.getegid(), switched=False)
    log = tmp_path / "log"
    log.write_text("before\n")
    pid = us.launch(["sh", "-c", 'echo "$1"; exec sleep 600', "x", "it's said"], log)
    try:
        assert os.getsid(pid) != os.getsid(0)
        assert psutil.Process(pid).ppid() != os.getpid()
        assert eventually(lambda: "said" in log.read_text())
        assert log.read_text() == "before\nit's said\n"
    finally:
        os.kill(pid, 9)


def test_engines_that_can_be_managed():
    assert registry.managed_engines() == ["postgresql", "mariadb"]
    assert [registry.engine_on_demand(registry.name_embedded(engine)) for engine in registry.managed_engines()] == [
        *("postgresql", "mariadb"),
    ]
    assert registry.engine_on_demand("big") is None
    with pytest.raises(UsageError, match="choose one of mariadb, postgresql"):
        registry.name_embedded("sybase")
