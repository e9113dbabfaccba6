"""Parameters with several values: flags, files, servers' settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from factories.tables import table
from openslob.config.grid import read_sweep_file, resolve_grid, split
from openslob.config.server_parameters import server_grid
from openslob.core.errors import SlobError, UsageError
from openslob.engines import registry
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.servers import SweepServers, describe_target

HERE = {}


def test_values_are_those_of_records_without_doubles_and_in_the_order_given():
    texts = {"sessions": split("8, 1,2,8"), "scale": ["64M", "128m"], "update_pct": ["10"], "redo_stress": ["heavy"]}
    grid = resolve_grid(texts, None, HERE)
    assert grid.values == {"sessions": (8, 1, 2), "scale": ("64M", "128M")}
    assert (grid.workload.sessions, grid.workload.update_pct, grid.workload.redo_stress) == (8, 10, "HEAVY")


def test_switches_and_the_same_value_twice():
    assert resolve_grid({"do_hotspot": ["TRUE", "FALSE"]}, None, HERE).values == {"do_hotspot": (True, False)}
    assert resolve_grid({"sessions": ["4", "4"]}, None, HERE).values == {}


@table(
    ("texts", "why"),
    [
        ({"sessions": ["1", "x"]}, "SESSIONS=x .--sessions. is not allowed"),
        ({"sessions": ["1", ""]}, "SESSIONS= .--sessions. is not allowed"),
        ({"update_pct": ["0", "101"]}, "from 0 to 100"),
    ],
)
def test_each_value_is_judged(texts, why):
    with pytest.raises(UsageError, match=why):
        resolve_grid(texts, None, HERE)


def test_a_file_has_tables_of_parameters_by_either_name_and_of_server_settings(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('[grid]\nSESSIONS = [1, 2]\nupdate_pct = 10\n[server]\ncpus = ["0,1", "all"]\nbin-dir = "/x"\n')
    read = read_sweep_file(file)
    assert read.grid == {"sessions": ["1", "2"], "update_pct": ["10"]}
    assert read.server == {"cpus": ["0,1", "all"], "bin_dir": ["/x"]}
    assert server_grid(read.server) == {"cpus": ("0,1", "all"), "bin_dir": ("/x",)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[grid\n", "s.toml: "),
        ("sessions = [1]\n", "sessions is not a table of sweep files"),
        ("[grid]\nsesions = [1]\n", "sesions is not a parameter"),
        ("[grid]\nsessions = []\n", "neither a value nor a list"),
        ("[grid]\nsessions = [[1]]\n", "neither a value nor a list"),
    ],
)
def test_what_a_file_must_not_hold(tmp_path, text, why):
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(UsageError, match=why):
        read_sweep_file(tmp_path / "s.toml")


def test_server_settings():
    assert server_grid({"cache": ["64M", "1G"]}) == {"cache_bytes": (64 << 20, 1 << 30)}
    with pytest.raises(UsageError, match="--cache: 'big' is not a size"):
        server_grid({"cache": ["big"]})
    with pytest.raises(UsageError, match="colour is not a server parameter"):
        server_grid({"colour": ["red"]})
    with pytest.raises(UsageError, match="only a managed server"):
        describe_target("postgresql://x/y")
    with pytest.raises(UsageError, match="there is no server 'nobody'"):
        describe_target("nobody")


def test_a_search_has_one_line():
    grid = resolve_grid({"update_pct": ["0", "20"]}, None, HERE)
    search = object()
    with pytest.raises(UsageError, match="a search varies the sessions only, not update_pct"):
        new_sweep("x", "embedded", grid, {}, search=search)


class Server:
    """Stands for a managed server; `log` has what happened to which, `known` those that are there."""

    log: ClassVar[list] = []
    known: ClassVar[dict] = {}

    def __init__(self, spec):
        self.spec, self.name = spec, spec.name

    def start(self, *, for_now=False):
        self.log.append(("start", self.spec))
        if not for_now:
            self.known[self.name] = self
        self.known[self.name].state = "running"
        return self

    def stop(self):
        self.log.append(("stop", self.spec))
        self.state = "stopped"

    def destroy(self):
        self.log.append(("destroy", self.spec))
        del self.known[self.name]

    def status(self):
        return self

    url = "postgresql://nowhere/x"
    state = "stopped"


@pytest.fixture
def no_servers(monkeypatch):
    """None is there; those that are made only say so."""
    Server.log, Server.known = [], {}
    monkeypatch.setattr(registry, "managed", Server)
    monkeypatch.setattr(registry, "find", Server.known.get)
    return Server


@pytest.fixture
def servers(no_servers):
    """The embedded one is there and runs."""
    Server(registry.default_spec("embedded")).start()
    no_servers.log.clear()
    return no_servers


def place(servers_asked, **base):
    """The place of a sweep over these settings of the embedded server, and their combinations in order."""
    record = new_sweep("x", "embedded", resolve_grid({}, None, HERE), servers_asked)
    record = record.model_copy(update={"id": "20260101-000000-x", "server": {**record.server, **base}})
    return SweepServers("embedded", record, lambda _: None), [point.server for point in record.points]


def test_what_a_restart_can_change_is_changed_and_put_back(servers):
    where, settings = place({"cache_bytes": (1 << 24, 1 << 25), "cpus": ("0", "all")})
    for each in settings:
        where.start(each)
    where.close(finished=True)
    started = [(spec.name, spec.cache_bytes >> 24, spec.cpus) for _, spec in servers.log]
    assert started == [
        *(("embedded", 1, "0"), ("embedded", 1, None), ("embedded", 2, "0"), ("embedded", 2, None)),
        ("embedded", 8, None),
    ]


def test_a_sweep_that_is_killed_leaves_the_specification_of_its_target_as_it_was(servers):
    before = servers.known["embedded"].spec
    where, settings = place({"cache_bytes": (1 << 24,), "cpus": ("0",)})
    where.start(settings[0])
    assert servers.log[-1][1].cache_bytes == 1 << 24
    assert servers.known["embedded"].spec == before


def test_a_target_that_a_sweep_makes_is_made_as_it_shall_be_afterwards(no_servers):
    where, settings = place({"cache_bytes": (1 << 24,)})
    where.start(settings[0])
    where.close(finished=True)
    made = registry.default_spec("embedded")
    assert [(what, spec.cache_bytes) for what, spec in no_servers.log] == [
        *(("start", made.cache_bytes), ("start", 1 << 24), ("start", made.cache_bytes))
    ]
    assert no_servers.known["embedded"].spec == made


def test_what_the_user_changed_while_a_sweep_was_stopped_is_not_undone(servers):
    where, settings = place({"cache_bytes": (1 << 24,)})
    changed = replace(servers.known["embedded"].spec, cache_bytes=1 << 26)
    Server(changed).start()
    where.start(settings[0])
    where.close(finished=True)
    assert servers.log[-1] == ("start", changed)


def test_the_target_is_restored_although_a_server_of_its_own_can_not_be_removed(servers, monkeypatch):
    def refuse(_server):
        raise SlobError("it is in use")

    where, settings = place({"version": ("16",)})
    where.start(settings[0])
    monkeypatch.setattr(Server, "destroy", refuse)
    with pytest.raises(SlobError, match="it is in use"):
        where.close(finished=True)
    assert (servers.log[-1][0], servers.log[-1][1].name) == ("start", "embedded")


def test_what_it_cannot_change_takes_a_server_of_its_own_that_goes_when_it_is_done_with(servers, tmp_path):
    where, settings = place(
        {"version": ("16", "18"), "io": ("direct", "buffered")}, bin_dir=None, data_dir=str(tmp_path / "data")
    )
    for each in settings:
        where.start(each)
    where.close(finished=True)
    (own,) = {spec.name for _, spec in servers.log} - {"embedded"}
    assert [(what, spec.name, spec.version, spec.io) for what, spec in servers.log] == [
        ("stop", "embedded", "18", "direct"),
        *(("start", own, "16", "direct"), ("start", own, "16", "buffered"), ("destroy", own, "16", "buffered")),
        *(("start", "embedded", "18", "direct"), ("start", "embedded", "18", "buffered")),
        ("start", "embedded", "18", "direct"),
    ]
    assert servers.log[1][1].data_dir == Path(tmp_path / f"data-{own}")


def test_a_server_of_its_own_stays_for_a_sweep_that_shall_go_on_and_is_found_again(servers):
    where, settings = place({"version": ("16",)})
    where.start(settings[0])
    where.close(finished=False)
    (own,) = set(servers.known) - {"embedded"}
    again, _ = place({"version": ("16",)})
    again.start(settings[0])
    again.close(finished=True)
    assert [(what, spec.name) for what, spec in servers.log] == [
        *(("stop", "embedded"), ("start", own), ("start", "embedded")),
        *(("stop", "embedded"), ("start", own), ("destroy", own), ("start", "embedded")),
    ]


def test_another_version_does_not_take_the_programs_of_the_first(servers):
    where, settings = place({"version": ("16", "18")}, bin_dir="/opt/18/bin")
    where.start(settings[0])
    assert servers.known[where.start(settings[0])[1].name].spec.bin_dir is None


def test_a_target_that_is_not_there_is_not_made_for_some_of_the_values(no_servers):
    where, settings = place({"version": ("16", "18")})
    for each in settings:
        where.start(each)
    where.close(finished=True)
    first, second = dict.fromkeys(spec.name for _, spec in no_servers.log)
    assert [(what, spec.name, spec.version) for what, spec in no_servers.log] == [
        *(("start", first, "16"), ("destroy", first, "16"), ("start", second, "18"), ("destroy", second, "18"))
    ]
    assert "embedded" not in (first, second)


def test_block_sizes_of_another_engine_each_on_a_server_of_its_own(no_servers):
    sizes = (4096, 8192, 16384)
    record = new_sweep("x", "embedded-mariadb", resolve_grid({}, None, HERE), {"block_size": sizes})
    where = SweepServers("embedded-mariadb", record, lambda _: None)
    for point in record.points:
        where.start(point.server)
    where.close(finished=True)
    started = [spec for what, spec in no_servers.log if what == "start"]
    assert [(spec.engine, spec.block_size) for spec in started] == [("mariadb", size) for size in sizes]
    assert no_servers.known == {}


def test_data_in_blocks_are_not_equal_at_several_block_sizes(no_servers):
    asked = {"block_size": (4096, 8192)}
    in_blocks = new_sweep("x", "embedded-mariadb", resolve_grid({"scale": ["10000"]}, None, HERE), asked)
    assert any("a size such as 1G keeps them equal" in note for note in in_blocks.notes)
    in_bytes = new_sweep("x", "embedded-mariadb", resolve_grid({"scale": ["64M"]}, None, HERE), asked)
    assert not any("keeps them equal" in note for note in in_bytes.notes)


def test_a_record_from_before_engines_could_be_chosen(servers):
    where, settings = place({"cpus": ("0",)})
    where.start(settings[0])
    record = new_sweep("x", "embedded", resolve_grid({}, None, HERE), {"cpus": ("0",)})
    old = record.model_copy(update={"server": {k: v for k, v in record.server.items() if k != "engine"}})
    SweepServers("embedded", old, lambda _: None).start(old.points[0].server)
    assert servers.log[-1][1].engine == registry.default_engine()
