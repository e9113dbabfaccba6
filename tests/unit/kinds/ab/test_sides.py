"""What the words of `slob ab` mean, and how a server is made ready for a run of a side."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from factories.tables import table
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Address
from openslob.engines import registry
from openslob.engines.managed.base import RUNNING, small_server
from openslob.engines.settings import Effect
from openslob.kinds.ab import sides
from openslob.kinds.ab.sides import AbServers, Side, parse_side
from openslob.kinds.run.settings import SettingsGrid

TARGET = Address.parse("q1")


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Servers before and after, and a catalogue that takes every setting."""
    monkeypatch.setattr(registry, "list_known", lambda: ["before", "after", "q1"])

    def ask(_target, texts):
        return SettingsGrid(texts, dict.fromkeys(texts, Effect.RESTART))

    monkeypatch.setattr(sides, "ask_of_run", ask)


@table(
    ("text", "target", "settings"),
    [
        ("as-is", "q1", {}),
        ("before", "before", {}),
        ("embedded", "embedded", {}),
        ("some://me@host/db?options=a", "some://me@host/db?options=a", {}),
        ("jit=off", "q1", {"jit": "off"}),
        ("jit=off, work_mem=64MB", "q1", {"jit": "off", "work_mem": "64MB"}),
        ("search_path=a,b,jit=off", "q1", {"search_path": "a,b", "jit": "off"}),
    ],
)
def test_settings_and_servers(text, target, settings):
    side = parse_side(text, TARGET)
    assert side.target.shown == target
    assert {each.name: each.value for each in side.changes} == settings
    assert side.command == ()


def test_a_parameter_of_managed_servers_is_one_of_its_specification():
    side = parse_side("cache=64M,jit=off", TARGET)
    assert side.server == {"cache_bytes": 64 * 2**20}
    assert side.to_record().settings == {"jit": "off"}


@table(
    ("text", "said"),
    [
        ("nosuch", "'nosuch' is neither a setting nor a server nor a program"),
        ("'", "can't be read as a command"),
        (" ", "a side of the comparison is empty"),
        ("block_size=4K", "block_size is fixed when a server is created"),
        ("cache=much", "cache=much"),
    ],
)
def test_what_can_be_no_side_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        parse_side(text, TARGET)


def test_what_is_of_a_managed_server_is_refused_of_any_other():
    with pytest.raises(UsageError, match="of a managed server only"):
        parse_side("cache=64M", Address.parse("some://host/db"))


def test_anything_else_is_a_command_whose_password_is_in_no_record():
    side = parse_side(f"{sys.executable} -m prepare --password secret 'a b'", TARGET)
    assert side.command == (sys.executable, "-m", "prepare", "--password", "secret", "a b")
    record = side.to_record()
    assert "secret" not in record.model_dump_json()
    assert record.text == f"{sys.executable} -m prepare --password '***' 'a b'"
    assert parse_side("sh -c true", TARGET).to_record().text == "sh -c true"


class Servers:
    """Managed servers: what is done to them, in order."""

    def __init__(self, monkeypatch, running=("q1",)):
        self.done, self.running, self.specs = [], set(running), {}
        monkeypatch.setattr(registry, "require_server", self.server)
        monkeypatch.setattr(registry, "managed", lambda spec: self.server(spec.name, spec))
        monkeypatch.setattr(registry, "engine_for", lambda url: url)

    def server(self, name, spec=None):
        """Return a server of this name."""
        spec = spec or self.specs.get(name) or small_server("e", name)
        state = RUNNING if name in self.running else "stopped"
        return SimpleNamespace(
            name=name, status=lambda: SimpleNamespace(spec=spec, state=state),
            stop=lambda: (self.running.discard(name), self.done.append(f"stop {name}")),
            start=lambda for_now=False: self._start(spec, for_now),
        )  # fmt: skip

    def _start(self, spec, for_now):
        self.running.add(spec.name)
        self.done.append(f"start {spec.name} {spec.settings}{' for now' if for_now else ''}".strip())
        return SimpleNamespace(url=f"{spec.name} of {len(self.done)}")


def entered(*two, interrupt=None):
    return AbServers(two, interrupt or Interrupt())


def test_a_server_is_restarted_for_each_run_and_is_in_the_end_as_it_was(monkeypatch):
    servers = Servers(monkeypatch)
    a, b = parse_side("as-is", TARGET), parse_side("jit=off", TARGET)
    with entered(a, b) as ready:
        for side in (a, b, b):
            ready.start(side)
    assert servers.done == [
        "stop q1", "start q1  for now", "stop q1", "start q1 jit=off for now", "stop q1", "start q1 jit=off for now",
        "start q1",
    ]  # fmt: skip


def test_only_one_of_two_servers_runs_and_one_that_was_down_is_down_again(monkeypatch):
    servers = Servers(monkeypatch, running=("before",))
    a, b = parse_side("before", TARGET), parse_side("after", TARGET)
    with entered(a, b) as ready:
        for side in (a, b):
            ready.start(side)
            assert servers.running == {side.target.shown}
    assert servers.running == {"before"}


def test_a_server_that_is_not_managed_is_left_alone(monkeypatch):
    monkeypatch.setattr(registry, "resolve", lambda target: (f"engine of {target}", None))
    side = Side("as-is", Address.parse("some://host/db"))
    with entered(side, side) as ready:
        assert ready.start(side) == ("engine of some://host/db", None)


def test_a_command_prepares_before_each_run_and_says_why_it_failed(monkeypatch, tmp_path):
    monkeypatch.setattr(registry, "resolve", lambda target: (f"engine of {target}", None))
    file = tmp_path / "prepared"
    words = f"{sys.executable} -c \"open('{file}', 'a').write('x')\""
    side = parse_side(words, Address.parse("some://host/db"))
    fails = parse_side(f"{sys.executable} -c 'raise SystemExit(\"no such branch\")'", Address.parse("some://host/db"))
    with entered(side, fails) as ready:
        ready.start(side)
        ready.start(side)
        with pytest.raises(SlobError, match="ended with exit code 1; no such branch"):
            ready.start(fails)
    assert file.read_text() == "xx"


def test_a_managed_server_that_a_command_prepares_is_restarted_as_the_command_left_it(monkeypatch):
    servers = Servers(monkeypatch)
    side = parse_side(f"{sys.executable} -c pass", TARGET)
    servers.specs["q1"] = small_server("e", "q1", version="99")
    with entered(side, side) as ready:
        ready.start(side)
    assert servers.done == ["stop q1", "start q1  for now"]
