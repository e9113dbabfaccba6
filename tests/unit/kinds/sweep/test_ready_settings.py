"""Ready-made sweeps of a setting: its values on this server, the loads on which it can matter, or why there is none."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from openslob.config.grid import SweepFile
from openslob.core.errors import UsageError
from openslob.core.secrets import Address
from openslob.core.units import MIB
from openslob.engines.managed.base import ReadySetting
from openslob.engines.settings import Effect, ServerSetting
from openslob.kinds.run.preflight import ServerMemory
from openslob.kinds.sweep import ready_settings as ready
from openslob.kinds.sweep.create import ready_names
from openslob.kinds.sweep.request import SweepRequest, sweep_file

READY = (
    ReadySetting("io-method", "io_method", "reads ahead", ("scan",), ("physical",), ("sync", "worker", "io_uring")),
    ReadySetting("full-page-writes", "full_page_writes", "torn blocks", ("commit", "update")),
    ReadySetting("huge-pages", "huge_pages", "huge pages", ("cached",), values=("on",)),
    ReadySetting("io", "io", "both", ("commit",), values=("direct", "buffered"), figures=("update_amplification",)),
    ReadySetting("sync-method", "sync", "the log", ("commit",), values=("fsync",)),
    ReadySetting("block-size", "block_size", "blocks", ("physical",), why_not="it is in the programs"),
)
SETTINGS = {
    "io_method": ServerSetting("io_method", Effect.RESTART, ("sync", "worker"), "worker"),
    "full_page_writes": ServerSetting("full_page_writes", Effect.RESTART, ("on", "off"), "on"),
    "sync": ServerSetting("sync", Effect.RESTART, (), "fsync"),
}


class Known:
    def find(self, name):
        return SETTINGS[name]

    def require(self, setting, value):
        if value == "io_uring":
            raise UsageError("PostgreSQL refuses io_method=io_uring")


@pytest.fixture(autouse=True)
def servers(monkeypatch):
    @contextmanager
    def known(target):
        yield Known()

    monkeypatch.setattr(ready.registry, "ready_settings", lambda engine: READY)
    monkeypatch.setattr(ready.registry, "known_settings", known)
    monkeypatch.setattr(ready, "server_memory", lambda target: ServerMemory(8192, 128 * MIB, True))
    monkeypatch.setattr(ready, "check_allowed", lambda: None)


def test_the_present_value_comes_first_and_what_is_refused_is_left_out_with_the_reason():
    file = ready.of_setting("embedded", "io-method", ())
    assert file.settings == {"io_method": ["worker", "sync"]}
    assert file.against == "io_method"
    assert file.notices == ("left out: PostgreSQL refuses io_method=io_uring",)
    assert (file.grid["update_pct"], file.grid["scan_pct"]) == (["0"], ["0", "100"])
    assert file.grid["scan_table_sz"] == ["48M"], "scanned tables are larger than the cache together"
    assert file.data_per_cache and file.repeats


def test_a_setting_of_writes_is_swept_under_short_and_long_updates():
    grid = ready.of_setting("embedded", "full-page-writes", ()).grid
    assert (grid["update_pct"], grid["update_work_unit"]) == (["100"], ["1", "32"])
    assert "scan_pct" not in grid


def test_huge_pages_are_swept_under_reads_from_the_cache():
    file = ready.of_setting("embedded", "huge-pages", ())
    assert (file.server, file.settings) == ({"huge_pages": ["off", "on"]}, {})
    assert (file.grid["scale"], file.grid["mode"]) == (["16M"], ["lio"])
    assert file.data_per_cache is None


def test_a_ready_setting_may_have_figures_of_its_own(monkeypatch):
    spec = SimpleNamespace(io="buffered", engine="postgresql")
    server = SimpleNamespace(status=lambda: SimpleNamespace(spec=spec))
    monkeypatch.setattr(ready.registry, "find_or_new", lambda _: server)
    file = ready.of_setting("embedded", "io", ())
    assert (file.server, file.figures) == ({"io": ["buffered", "direct"]}, ("update_amplification",))
    assert "ops_per_s" in ready.of_setting("embedded", "io-method", ()).figures


def test_huge_pages_need_a_host_that_has_them(monkeypatch):
    def refuse():
        raise UsageError("--huge-pages needs Linux and root, to reserve the pages", "leave it out")

    monkeypatch.setattr(ready, "check_allowed", refuse)
    with pytest.raises(UsageError, match="needs Linux and root"):
        ready.of_setting("embedded", "huge-pages", ())
    with pytest.raises(UsageError, match="name a managed one"):
        ready.of_setting("postgresql://h/d", "huge-pages", ())


def test_where_one_value_is_left_there_is_nothing_to_compare():
    with pytest.raises(UsageError, match="one value only on this server: it has sync=fsync"):
        ready.of_setting("embedded", "sync-method", ())


def test_what_a_server_can_not_have_is_refused_with_the_reason():
    with pytest.raises(UsageError, match="not possible on this server: it is in the programs"):
        sweep_file(None, "block-size", Address.parse("embedded"))
    with pytest.raises(UsageError, match="no setting for --ready checksums"):
        ready.of_setting("embedded", "checksums", ())


def test_values_of_the_user_replace_those_that_are_ready():
    target = Address.parse("embedded")
    file = sweep_file(None, "io-method", target, {"io_method": ("sync", "worker")})
    assert file.settings == {}
    request = SweepRequest("s", {}, {}, file, settings={"io_method": ("sync", "worker")})
    assert request.record(target).server_grid == {"io_method": ("sync", "worker")}


def test_names_are_those_of_files_and_of_settings():
    assert ready.ready_settings()["io-method"] == "reads ahead"
    with pytest.raises(UsageError, match=r"choose one of .*full-page-writes.*petals"):
        sweep_file(None, "nonsense", Address.parse("embedded"))
    assert sweep_file(None, None) == SweepFile()
    assert "petals" in ready_names()
    with pytest.raises(UsageError, match="give one of them"):
        sweep_file(Path("x.toml"), "petals")
