"""Commands of the user's own beside a run: before it, during its window, after it. Their output stays with its record.

No figure depends on them. Their CPU is neither the driver's, which is that of its own process, nor the server's, which
is that of the server's processes; it is part of the host's.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import redact_words
from openslob.engines.base import Engine
from openslob.engines.managed.state import is_managed
from openslob.kinds.run.observation.command import ObservedCommand, UnrunnableError, program_of
from openslob.record.store import RunFolder

# How long a command before or after a run may take. One during the window ends with it.
LIMIT_S = 60.0
_PULSE_S = 0.1
# What a command finds in its environment: when it runs, and the folder of the record.
_MOMENT, _RECORD = "OPENSLOB_HOOK", "OPENSLOB_RECORD"
_EXAMPLE = "such as --hook 'during iostat -x 1'"


class Moment(StrEnum):
    """When a command runs."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


@dataclass(frozen=True)
class Hook:
    """A command with its arguments, the path of its program first, and when it runs."""

    moment: Moment
    words: tuple[str, ...]


def parse_hooks(texts: Sequence[str]) -> tuple[Hook, ...]:
    """Return the commands that texts such as ``during iostat -x 1`` mean. UsageError if one has no such form."""
    return tuple(map(_parse, texts))


def _parse(text: str) -> Hook:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"a hook can't be read as a command: {error}", _EXAMPLE) from error
    if len(words) < 2 or words[0] not in list(Moment):
        raise UsageError("a hook needs a time (before, during or after) and a command", _EXAMPLE)
    return _hook(Moment(words[0]), words[1:])


def hooks_of_script(path: str) -> tuple[Hook, ...]:
    """Return the commands of a slob.conf's script: with ``pre`` before a run, with ``post`` after it; none for none."""
    return (_hook(Moment.BEFORE, [path, "pre"]), _hook(Moment.AFTER, [path, "post"])) if path else ()


def _hook(moment: Moment, words: Sequence[str]) -> Hook:
    try:
        return Hook(moment, (program_of(words), *words[1:]))
    except UnrunnableError as error:
        raise UsageError(error.what, "give the path of a program") from error


def require_allowed(hooks: Sequence[Hook], engine: Engine) -> None:
    """Raise UsageError if root would run a command beside a managed server, which never has root's rights itself."""
    if hooks and os.geteuid() == 0:
        location = engine.location()
        places = [path for each in (location, *location.others) for path in each.data_directories]
        if any(map(is_managed, places)):
            raise UsageError(
                f"no command runs as root beside {engine.target}, a server that slob manages",
                "run slob as another user, or start the command yourself",
            )


class HookRunner:
    """Runs the commands of one run. ``facts`` says, for the record, of each how it ended and where its output is."""

    def __init__(self, hooks: Sequence[Hook], folder: RunFolder, interrupt: Interrupt, notes: list[str]) -> None:
        self.facts: list[dict[str, Any]] = []
        self._hooks = hooks
        self._folder = folder
        self._interrupt = interrupt
        self._notes = notes

    def run(self, moment: Moment) -> None:
        """Run the commands of a moment, one after the other. One that takes longer than `LIMIT_S` is ended."""
        for hook in self._of(moment):
            with ExitStack() as opened:
                command = self._start(hook, opened)
                until = time.monotonic() + LIMIT_S
                while command and not command.ended.wait(_PULSE_S):
                    if time.monotonic() > until or self._interrupt.now.is_set():
                        break
                by_itself = bool(command and command.ended.is_set())
            self._keep(hook, command, by_itself)

    @contextmanager
    def during(self) -> Iterator[None]:
        """Run the commands of the window in this block, at whose end those that still run are ended."""
        with ExitStack() as opened:
            started = [(hook, self._start(hook, opened)) for hook in self._of(Moment.DURING)]
            yield
            by_themselves = [bool(command and command.ended.is_set()) for _, command in started]
        for (hook, command), by_itself in zip(started, by_themselves, strict=True):
            self._keep(hook, command, by_itself)

    def _of(self, moment: Moment) -> list[Hook]:
        return [hook for hook in self._hooks if hook.moment is moment]

    def _start(self, hook: Hook, opened: ExitStack) -> ObservedCommand | None:
        """Start a command, which ends with ``opened``; None, with a note, if it can't be started."""
        environment = {**os.environ, _MOMENT: hook.moment, _RECORD: str(self._folder.path.absolute())}
        command = opened.enter_context(ObservedCommand(hook.words, environment))
        try:
            command.start(None, None)
        except SlobError as error:
            self._notes.append(f"hook {hook.moment} the run: {error}")
            return None
        return command

    def _keep(self, hook: Hook, command: ObservedCommand | None, by_itself: bool) -> None:
        """Keep the output of a command that has ended, and note how it ended."""
        if command is None:
            return
        words = redact_words(hook.words)
        what = f"hook {hook.moment} the run, {shlex.join(words)}"
        if not command.ended.is_set():
            self._notes.append(f"{what}: it was killed, and does not end")
            return
        command.collect()
        try:
            name = f"hook-{len(self.facts) + 1}-{hook.moment}.txt"
            output = self._folder.attach(name, command.output.text() + command.errors.text())
        except SlobError as error:
            self._notes.append(f"{what}: {error}")
            output = ""
        self.facts.append({
            "moment": str(hook.moment), "command": words, "exit_code": command.exit_code if by_itself else None,
            "elapsed_s": command.seconds, "cpu_s": command.cpu_s, "output": output,
        })  # fmt: skip
        self._notes.append(f"{what}: {_how(hook, command, by_itself)} after {command.seconds:.1f} s; output: {output}")


def _how(hook: Hook, command: ObservedCommand, by_itself: bool) -> str:
    if by_itself:
        return f"failed with {command.how_it_ended}" if command.exit_code else "done"
    if hook.moment is Moment.DURING:
        return "ended with the window"
    return f"ended unfinished (a hook may take {LIMIT_S:.0f} s)"
