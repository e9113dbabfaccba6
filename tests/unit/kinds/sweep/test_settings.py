"""The server's own settings as dimensions of a sweep: order, restarts, servers, and what a run is made with."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

import pytest

from openslob.config.grid import Grid, read_sweep_file
from openslob.core.errors import UsageError
from openslob.core.secrets import Address
from openslob.core.workload import CommitMode, Workload
from openslob.engines.settings import Effect, ServerSetting, SettingChange
from openslob.kinds.run import settings as asking
from openslob.kinds.run.settings import SettingsGrid, give_way
from openslob.kinds.sweep import plan
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.request import SweepRequest
from openslob.kinds.sweep.servers import SweepServers, changes_of

ASKED = SettingsGrid(
    {"wal_compression": ("off", "pglz"), "io_method": ("sync", "worker"), "data_checksums": ("on", "off")},
    {"wal_compression": Effect.SESSION, "io_method": Effect.RESTART, "data_checksums": Effect.NEW_SERVER},
)


def swept(settings=ASKED, repeats=2, grid=None, **workload):
    made = Grid(Workload(schemas=1, run_time=5, **workload), grid or {"sessions": (1, 2)}, ())
    return new_sweep("s", "embedded", made, {}, repeats, settings=settings)


def test_servers_are_made_least_often_and_each_round_has_starts_of_its_own():
    """Runs of one start are alike: one start with each value would say nothing about the setting."""
    record = swept(repeats=3)
    steps = plan.steps(record)
    assert len(steps) == 2 * 2 * 2 * 2 * 3
    assert sum(step.made for step in steps) == 2
    assert sum(step.restarted for step in steps) == 2 * 2 * 3
    rounds = [
        [(point.server["io_method"], point.server["wal_compression"], point.values["sessions"]) for point in block]
        for _, block in groupby(record.points, key=lambda point: (point.server["data_checksums"], point.repeat))
    ]
    assert all(len(set(block)) == len(block) == 8 for block in rounds)
    assert len({tuple(block) for block in rounds}) > 1, "every round has an order of its own"
    assert record.points[0].label.startswith("wal_compression=")


def test_without_repeats_there_are_as_few_restarts_as_possible():
    steps = plan.steps(swept(repeats=1))
    assert (sum(step.made for step in steps), sum(step.restarted for step in steps)) == (2, 4)


def test_settings_of_sessions_alone_need_no_server_of_slobs():
    of_sessions = SettingsGrid({"wal_compression": ("off", "pglz")}, {"wal_compression": Effect.SESSION})
    record = new_sweep("s", "postgresql://h/d", Grid(Workload(), {}, ()), {}, settings=of_sessions)
    assert record.server is None
    assert not any(step.made or step.restarted for step in plan.steps(record)[1:])
    with pytest.raises(UsageError, match="only a managed server"):
        new_sweep("s", "postgresql://h/d", Grid(Workload(), {}, ()), {}, settings=ASKED)


def test_a_server_gets_the_settings_that_it_is_started_and_made_with():
    record = swept()
    where = SweepServers("embedded", record, lambda _: None)
    values = {"wal_compression": "pglz", "io_method": "sync", "data_checksums": "off"}
    spec = where.find_spec(where.before, values)
    assert (spec.settings, spec.made_settings) == ("io_method=sync", "data_checksums=off")
    assert spec.name.startswith("sweep-")
    restarted = where.find_spec(where.before, {"io_method": "sync"})
    assert (restarted.name, restarted.settings, restarted.made_settings) == ("embedded", "io_method=sync", "")


def test_a_run_is_made_with_all_of_them():
    assert changes_of({"cache_bytes": 1, "io_method": "sync", "fsync": "off"}, {"io_method": "restart"}) == (
        SettingChange("io_method", "sync", Effect.RESTART),
    )


def test_a_resumed_sweep_is_one_of_the_same_settings():
    assert swept().fingerprint() == swept().fingerprint()
    other = SettingsGrid({**ASKED.values, "io_method": ("sync",)}, ASKED.effects)
    assert swept().fingerprint() != swept(other).fingerprint()


OWNED = SettingsGrid(
    {"synchronous_commit": ("on", "off")},
    {"synchronous_commit": Effect.SESSION},
    {"synchronous_commit": ("commit_mode", "engine")},
)


def test_a_parameter_that_sets_the_same_gives_way_unless_it_was_given():
    workload, notices = give_way(Workload(), {}, OWNED)
    assert workload.commit_mode is CommitMode.ENGINE
    assert notices == ("COMMIT_MODE is engine: synchronous_commit is set instead",)
    assert give_way(workload, {"commit_mode": "flag"}, OWNED) == (workload, ())
    with pytest.raises(UsageError, match="COMMIT_MODE sets synchronous_commit, too"):
        give_way(Workload(), {"commit_mode": "--commit-mode"}, OWNED)
    with pytest.raises(UsageError, match="COMMIT_MODE"):
        give_way(Workload(), {"commit_mode": "flag"}, OWNED, {"commit_mode": ("wait", "engine")})


class Known:
    """A server with two settings, one of which refuses a value."""

    def __init__(self, tried):
        self.tried = tried

    def find(self, name):
        if name.lower() == "io_method":
            return ServerSetting("io_method", Effect.RESTART, ("sync", "worker"), "worker")
        if name == "data_checksums":
            return ServerSetting(name, Effect.NEW_SERVER, ("on", "off"), "on")
        if name == "sessions":
            return ServerSetting("sessions", Effect.SESSION, (), "1")
        raise UsageError(f"PostgreSQL 18 has no setting {name}")

    def require(self, setting, value):
        self.tried.append((setting.name, value))
        if value == "io_uring":
            raise UsageError("PostgreSQL 18 refuses io_method=io_uring: forbidden")


@pytest.fixture
def tried(monkeypatch):
    tried: list[object] = []

    @contextmanager
    def known(target, made_with):
        tried.append(dict(made_with))
        yield Known(tried)

    monkeypatch.setattr(asking.registry, "known_settings", known)
    return tried


def test_every_value_is_tried_on_every_version_before_the_first_point(tried):
    found = asking.ask_settings(
        "embedded", {"IO_Method": ["sync", "worker"]}, {"version": ("16", "18"), "cpus": ("0",)}
    )
    assert found.effects == {"io_method": Effect.RESTART}
    assert tried == [
        {"version": "16"}, ("io_method", "sync"), ("io_method", "worker"),
        {"version": "18"}, ("io_method", "sync"), ("io_method", "worker"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"io_method": ["sync", "io_uring"]}, "refuses io_method=io_uring"),
        ({"nonsense": ["1"]}, "no setting nonsense"),
        ({"sessions": ["1"]}, "sessions is a parameter of slob"),
    ],
)
def test_what_can_not_be_run_is_one_line(tried, texts, why):
    with pytest.raises(UsageError, match=why):
        asking.ask_settings("embedded", texts, {})


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({"io_method": ["sync", "worker"]}, "has several values; slob sweep --set io_method=sync,worker"),
        ({"data_checksums": ["off"]}, "data_checksums is fixed when a server is created"),
    ],
)
def test_a_run_has_one_value_that_needs_no_new_server(tried, monkeypatch, texts, why):
    monkeypatch.setattr(asking.registry, "require_there", lambda _: None)
    with pytest.raises(UsageError, match=why):
        asking.ask_of_run("embedded", texts)
    found = asking.ask_of_run("embedded", {"io_method": ["sync"]})
    assert found.changes == (SettingChange("io_method", "sync", Effect.RESTART),)


def test_nothing_is_asked_without_settings(tried):
    assert asking.ask_settings("embedded", {}, {}) == asking.NO_SETTINGS
    assert tried == []


def test_a_file_has_a_table_of_them_and_flags_come_first(tried, tmp_path: Path):
    file = tmp_path / "grid.toml"
    file.write_text('[settings]\nio_method = ["sync", "io_uring"]\n')
    request = SweepRequest(
        "s", {}, {}, read_sweep_file(file), against="io_method", settings={"io_method": ("sync", "worker")}
    )
    target = Address.parse("embedded")
    assert request.record(target).against == "io_method"
    asked = request.ask_settings(target)
    assert not request.has_own_servers(asked)
    record = request.record(target, settings=asked)
    assert record.server_grid == {"io_method": ("sync", "worker")}
    assert record.effects == {"io_method": "restart"}
    assert record.server["name"] == "embedded"
