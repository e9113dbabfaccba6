"""The two sides of a comparison: what the words of the command mean, and how a server is made ready for a run of one.

Before each run its server is stopped and started again, and no other server of slob's that takes part runs beside it.
Servers that slob does not manage are never restarted: a command that prepares can do it.
"""

from __future__ import annotations

import random
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import environ
from typing import Any

from openslob.config.server_parameters import MADE_WITH, SERVER_PARAMETERS
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Address, redact_words
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.managed.base import RUNNING, ManagedServer, ServerSpec, require_primary
from openslob.engines.settings import SettingChange
from openslob.kinds.ab.record import A, AbSide, B
from openslob.kinds.run.observation.command import ObservedCommand, UnrunnableError, program_of
from openslob.kinds.run.settings import NO_SETTINGS, SettingsGrid, ask_of_run

# A side with nothing changed.
AS_IS = "as-is"
_PULSE_S = 0.2
_SETTING = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=(.*)", re.DOTALL)
# A comma is part of a value unless another setting follows.
_NEXT_SETTING = re.compile(r",(?=\s*[A-Za-z_][\w.-]*\s*=)")
_FORMS = f"give NAME=VALUE,…, the name or the URL of a server, a command, or {AS_IS}"


@dataclass(frozen=True)
class Side:
    """One side: its server, and what is done to it before each run.

    ``settings`` are the server's own, as asked of its catalogue; ``server`` fields of a managed server's specification;
    ``command`` the words of a command that prepares it.
    """

    text: str
    target: Address
    settings: SettingsGrid = NO_SETTINGS
    server: Mapping[str, Any] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[SettingChange, ...]:
        """The settings of the server's own."""
        return self.settings.changes

    @property
    def is_managed(self) -> bool:
        """Whether its server is one that slob manages, and restarts."""
        address = self.target.reveal()
        return "://" not in address and len(registry.instances(address)) == 1

    def to_record(self) -> AbSide:
        """Return the side as its record has it, without passwords."""
        words = redact_words(self.command)
        typed = shlex.join(redact_words(shlex.split(self.text))) if words else self.text
        text = self.target.shown if "://" in self.text and not words else typed
        return AbSide(
            text=text, target=self.target.shown, settings={each.name: each.value for each in self.changes},
            server={name: str(value) for name, value in self.server.items()}, command=tuple(words),
        )  # fmt: skip


def parse_side(text: str, target: Address) -> Side:
    """Return what a word of the command line means, on the target unless it names another one.

    UsageError for what it can't be, and for a setting that the server does not take.
    """
    if text.strip() == AS_IS:
        return Side(text, target)
    if not re.search(r"\s", text) and ("://" in text or _names_server(text)):
        return Side(text, Address.parse(text))
    if _SETTING.fullmatch(text):
        return _with_settings(text, target)
    return Side(text, target, command=_command(text))


def _names_server(text: str) -> bool:
    return text in registry.list_known() or registry.engine_on_demand(text) is not None


def _command(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text!r} can't be read as a command: {error}", _FORMS) from error
    if not words:
        raise UsageError("a side of the comparison is empty", _FORMS)
    try:
        return (program_of(words), *words[1:])
    except UnrunnableError as error:
        raise UsageError(f"{words[0]!r} is neither a setting nor a server nor a program", _FORMS) from error


def _with_settings(text: str, target: Address) -> Side:
    own: dict[str, tuple[str, ...]] = {}
    server: dict[str, Any] = {}
    for part in _NEXT_SETTING.split(text):
        match = _SETTING.fullmatch(part)
        assert match
        name, value = match[1], match[2].strip()
        parameter = SERVER_PARAMETERS.get(name.lower().replace("-", "_"))
        if parameter is None:
            own[name] = (value,)
        elif parameter.field in MADE_WITH:
            why = f"{parameter.name} is fixed when a server is created"
            raise UsageError(why, "create two servers, and name them: slob ab SERVER SERVER")
        else:
            try:
                server[parameter.field] = parameter.read(value)
            except ValueError as error:
                raise UsageError(f"{name}={value}: {error}") from error
    side = Side(text, target, ask_of_run(target.reveal(), own), server)
    if server and not side.is_managed:
        raise UsageError(f"{', '.join(server)} can be set of a managed server only", "name one by --target")
    return side


def order_of(seed: int, number: int) -> Sequence[str]:
    """Return the order of a pair: random in the first of two pairs, and turned round in the second.

    So a run that is better or worse because it comes second, or because the host becomes slower, is as often of one
    side as of the other.
    """
    first, second = divmod(number - 1, 2)
    order = [A, B]
    random.Random(f"{seed}/{first}").shuffle(order)
    return order[::-1] if second else order


class AbServers:
    """Makes the servers of two sides ready, one run after the other, and leaves them as they were."""

    def __init__(self, sides: Sequence[Side], interrupt: Interrupt) -> None:
        self._sides, self._interrupt = sides, interrupt
        self._claims = ExitStack()
        # The servers as they were, and which of them ran.
        self._before: dict[str, ServerSpec] = {}
        self._ran: set[str] = set()

    def __enter__(self) -> AbServers:
        """Reserve the servers that no command prepares. SlobError if another process uses one, or if it is gone."""
        managed = {each.target.reveal() for each in self._sides if each.is_managed}
        prepared = {each.target.reveal() for each in self._sides if each.command}
        with ExitStack() as undo:
            for name in sorted(managed):
                server = registry.require_server(name)
                require_primary(server)
                if name not in prepared:
                    undo.enter_context(registry.claim(name, "ab"))
                status = server.status()
                self._before[name] = status.spec
                if status.state == RUNNING:
                    self._ran.add(name)
            self._claims = undo.pop_all()
        return self

    def start(self, side: Side) -> tuple[Engine, ManagedServer | None]:
        """Make a side's server ready: prepared, restarted, and alone. SlobError when that fails."""
        if side.command:
            self._prepare(side)
        name = side.target.reveal()
        if not side.is_managed:
            return registry.resolve(name)[0], None
        for other in self._before.keys() - {name}:
            registry.managed(self._before[other]).stop()
        before = registry.require_server(name).status().spec if side.command else self._before[name]
        server = registry.managed(replace(before, **side.server).with_settings(side.changes))
        server.stop()
        return registry.engine_for(server.start(for_now=True).url), server

    def _prepare(self, side: Side) -> None:
        with ObservedCommand(side.command, environ) as command:
            command.start(sys.stderr, sys.stderr)
            while not command.ended.wait(_PULSE_S):
                if self._interrupt.requested:
                    command.signal(self._interrupt.number)
            command.collect()
        if command.exit_code:
            said = command.errors.text().strip().splitlines()
            raise SlobError(f"the command {side.to_record().text} ended with {command.how_it_ended}", *said[-1:])

    def __exit__(self, *_: object) -> None:
        """Leave the servers as they were: with their settings, running if they ran."""
        with self._claims:
            for name, spec in self._before.items():
                if any(each.command and each.target.reveal() == name for each in self._sides):
                    continue
                server = registry.managed(spec)
                if name in self._ran:
                    server.start()
                else:
                    server.stop()
