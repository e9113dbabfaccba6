"""Engines are found by entry points, those of other distributions too; what is wrong with one is said when asked."""

from __future__ import annotations

import sys

import pytest

from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.engines import registry
from openslob.kinds.storage.own_word import OwnRequest, open_own_word

MODULE = """
from openslob.engines.registry.entry import EngineEntry

ENTRY = EngineEntry("tinydb", adapter="tinydb_adapter")


class TinyEngine:
    name = "tinydb"

    def __init__(self, url):
        self.target = url
"""
ADAPTER = """
from tinydb_slob import TinyEngine

connect = TinyEngine
"""


@pytest.mark.parametrize("target", [registry.EMBEDDED, "postgresql://h/db", "mysql://h/db"])
def test_a_server_that_has_no_calibration_of_its_own_is_refused_before_it_is_started(target, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENSLOB_HOME", str(tmp_path))
    with (
        pytest.raises(UsageError, match="has no calibration of its own"),
        open_own_word(OwnRequest(target, consented=frozenset({"calibrate_io"})), None, Interrupt()),
    ):
        pytest.fail("it was opened")
    assert registry.list_known() == []
    registry.require_calibration("oracle://u@h:1521/db")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Install a distribution with these entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "tinydb_slob.py").write_text(MODULE)
    (tmp_path / "tinydb_adapter.py").write_text(ADAPTER)

    def install(name, **points):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "\n".join(f"{scheme} = {value}" for scheme, value in points.items())
        (folder / "entry_points.txt").write_text(f"[openslob.engines]\n{lines}\n")
        registry.find_entry_points.cache_clear()

    yield install
    registry.find_entry_points.cache_clear()
    for module in ("tinydb_slob", "tinydb_adapter"):
        sys.modules.pop(module, None)


def test_an_engine_of_another_distribution_serves_its_scheme(installed):
    installed("tinydb-slob", tiny="tinydb_slob:ENTRY", tinys="tinydb_slob:ENTRY")
    registry.engine_for("postgresql://host/db")
    assert "tinydb_slob" not in sys.modules  # imported only when it is asked for
    assert registry.engine_for("tiny://host/db").target == "tiny://host/db"
    assert "tinydb" not in registry.managed_engines()
    with pytest.raises(UsageError, match=r" 'tinydb' .* mariadb, postgresql$"):
        registry.default_spec("x", "tinydb")
    with pytest.raises(UsageError, match=r" vastdb:// .*mariadb://.*, tinys://$"):
        registry.engine_for("vastdb://user:secret@host/db")


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"tiny": "tinydb_missing:ENTRY"}, r"engine tiny of tinydb-slob 1\.0 can't be loaded: No module named"),
        ({"tiny": "tinydb_slob:NOTHING"}, "can't be loaded"),
        ({"tiny": "tinydb_slob:TinyEngine"}, "not an EngineEntry"),
        ({"postgresql": "tinydb_slob:ENTRY"}, r"several installed engines serve postgresql://: .*tinydb-slob 1\.0"),
    ],
)
def test_a_broken_engine_is_reported_when_it_is_asked_for(installed, points, said):
    installed("tinydb-slob", **points)
    assert registry.managed_engines() == ["postgresql", "mariadb"]
    with pytest.raises(SlobError, match=said):
        registry.engine_for(f"{next(iter(points))}://host/db")


def test_sources_that_were_not_installed_say_so(monkeypatch):
    monkeypatch.setattr(registry, "find_entry_points", dict)
    assert (registry.managed_engines(), registry.default_engine()) == ([], "")
    for ask in (lambda: registry.engine_for("postgresql://h/d"), lambda: registry.default_spec("x")):
        with pytest.raises(SlobError, match=r"no engine is installed: .*pip install -e"):
            ask()
