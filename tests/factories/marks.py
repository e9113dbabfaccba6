"""What every test is marked with: the engines that it starts, and the worker that it shares servers with."""

from __future__ import annotations

from typing import Any

import pytest

from factories.promised import PROMISED
from factories.subjects import STRANGER, SUBJECTS
from openslob.engines import registry

# A word in a test's file, parameters or fixtures -> the engine whose server it starts.
_ENGINES = {
    "postgres": "postgresql",
    "pg_": "postgresql",
    "foreign": "postgresql",
    "maria": "mariadb",
    "mysql": "mysql",
    "galera": "galera",
    "oracle-rig": "mariadb",
}
# The folders of tests that start servers.
_ON_SERVERS = ("real", "contract", "faults", "matrix")
# Files of tests whose words name one engine only by accident, or none.
_EXACT = {"test_foreign_mariadb": {"mariadb"}, "test_galera": {"galera", "mariadb"}, "test_tls": {"postgresql"}}
# Started first, since they last longest.
_LONG_FIRST = (
    "test_own_server", "test_work_loop", "test_sweep", "test_server", "test_run", "test_raw_compare", "test_galera",
    "test_mariadb_settings", "test_private_tables", "test_cluster", "test_failover", "test_standby", "test_crash",
)  # fmt: skip


def mark(item: pytest.Item) -> None:
    """Add the marks of an item."""
    if is_on_servers(item):
        for engine in engines_of(item):
            item.add_marker(engine)
    if group := group_of(item):
        item.add_marker(pytest.mark.xdist_group(group))
    if (name := server_of(item)) in PROMISED:
        item.user_properties.append(("server", name))
    if is_compared(item) or is_of_another_release(item):
        item.add_marker(pytest.mark.nightly)


def is_compared(item: Any) -> bool:
    """Return whether the client's loop does in a test what `test_client_loop` compares with the server's loop.

    That is what keys and values it draws (``same_draws``), and all of it on somebody else's server, as its statements
    are those of the newest one of the engine.
    """
    if not hasattr(item, "callspec") or item.callspec.params.get("loop") != "client":
        return False
    is_strange = SUBJECTS.get(server_of(item), ("", ""))[1] == STRANGER
    return is_strange or item.get_closest_marker("same_draws") is not None


def is_of_another_release(item: Any) -> bool:
    """Return whether a contract test is of a release whose engine keeps the contract on another server, too.

    What releases differ in shows in the tests of the promised servers: a check, a load, exact runs, samples. Of a
    product that has no other server here, it is what keys and values are drawn (``same_draws``), by its engine's text.
    """
    if item.path.parent.name != "contract":
        return False
    module, version = SUBJECTS.get(server_of(item), ("", ""))
    others = {other for other, theirs in SUBJECTS.values() if theirs != STRANGER}
    return version == STRANGER and (module in others or item.get_closest_marker("same_draws") is not None)


def is_on_servers(item: pytest.Item) -> bool:
    """Return whether a test may start servers."""
    return item.path.parts[-2] in _ON_SERVERS


def engines_of(item: pytest.Item) -> set[str]:
    """Return the engines whose servers a test starts, as far as its names say."""
    if item.path.stem in _EXACT:
        return _EXACT[item.path.stem]
    names = [item.path.stem, item.name, *getattr(item, "fixturenames", ())]
    named = {engine for word, engine in _ENGINES.items() if any(word in name for name in names)}
    return named or ({registry.default_engine()} if item.get_closest_marker("server") else set())


def group_of(item: pytest.Item) -> str | None:
    """Return which tests run in one worker, one after the other: those of one server, and of one setting of the host.

    Contract tests of an engine share its server, as those of a promised one do, tests of real servers those of their
    file or files, rows of the fault suite one of their engine; unit tests share nothing.
    """
    if item.path.parent.name in ("contract", "matrix") and hasattr(item, "callspec"):
        return server_of(item) or item.path.stem
    if item.path.stem == "test_walk" and hasattr(item, "callspec"):
        return str(item.callspec.id)  # each page has a home of its own
    if item.path.parent.name == "faults":
        return fault_group(item)
    if item.path.parent.name == "real":
        return "huge_pages" if "huge_pages" in item.name else item.path.stem
    return None


def server_of(item: Any) -> str:
    """Return the server that a contract test or one of a promised server is of; empty for other tests."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return str(params.get("subject") or params.get("stranger") or "")


def fault_group(item: Any) -> str | None:
    """Return the engine of a row of the fault suite, with the file that it is in; without a server it shares none."""
    row = item.callspec.params
    return f"{row['engine']}-{row['fault'].strike.__module__}" if row["engine"] else None


def is_left_apart(item: pytest.Item) -> bool:
    """Return whether xdist has not put a test into its group, which it would show at the end of the test's id."""
    mark = item.get_closest_marker("xdist_group")
    return mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}")


def order(item: pytest.Item) -> tuple[bool, int]:
    """Return a sort key that puts long tests first, so that no worker ends long after the others."""
    stem = item.path.stem
    return "unit" in item.path.parts, _LONG_FIRST.index(stem) if stem in _LONG_FIRST else len(_LONG_FIRST)
