"""Runs of hours and days from Python: made as `slob endure` and `slob watch --every` make them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from openslob.api.asking import Folder, resolution
from openslob.api.lasting_result import EnduranceResult, RepeatedResult
from openslob.api.progress import Display, run_sink
from openslob.api.stopping import interruptible
from openslob.config.resolve import Resolution
from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt
from openslob.core.secrets import Target
from openslob.core.units import format_duration, parse_duration
from openslob.engines import registry
from openslob.engines.base import Engine
from openslob.engines.patience import Patience
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance import execute
from openslob.kinds.endurance import record as endurance
from openslob.kinds.endurance.record import EnduranceFolder
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated import execute as repeat
from openslob.kinds.repeated import record as repeated
from openslob.kinds.repeated.record import RepeatedFolder, RepeatedTime
from openslob.kinds.repeated.report import time_line
from openslob.record import finding
from openslob.record.model import Status
from openslob.report.text import render

log = logging.getLogger("openslob")


@dataclass(frozen=True)
class Place:
    """Where runs are made, and where their records go."""

    target: Target
    server_pid: int | None
    consented: frozenset[str]
    results: Path
    config: Folder
    display: Display

    def connected(self, target: Target, interrupt: Interrupt) -> Engine:
        """Return the engine of a target, whose waits the interrupt ends."""
        engine, _ = registry.resolve(target.reveal())
        engine.server_pid = self.server_pid
        engine.follow(Patience(interrupt, log.info))
        return engine

    def asked(self, parameters: Mapping[str, object], engine: Engine | None = None) -> Resolution:
        """Return the workload that parameters ask for, on the data of an engine."""
        return resolution(parameters, self.config, engine, self.target)


def endured(
    place: Place, name: str, duration: float | str | None, resume: Folder, parameters: Mapping[str, object]
) -> EnduranceResult:
    """Make an endurance run, or the rest of one, and return it."""
    if resume:
        _require_alone("duration", duration, parameters)
        path = finding.one(str(resume), place.results, log.warning, {ENDURANCE}).folder
        before = endurance.load(path)
        execute.require_unfinished(before)
        target = place.target.recorded_as(before.target)
    else:
        place.asked(parameters)  # a wrong value is an error before any server is started
        seconds, path, target = _seconds("duration", duration, execute.LEAST_S), None, place.target
    with interruptible() as interrupt:
        engine = place.connected(target, interrupt)
        if path is None:
            found = place.asked(parameters, engine)
            new = execute.new_record(name, target.shown, found.workload, seconds, found.sources, found.notices)
        with EnduranceFolder.resume(path) if path else EnduranceFolder.begin(place.results, new) as folder:
            again = f"openslob.endure(resume={str(folder.path)!r}) goes on with the time that is left"
            try:
                with run_sink(place.display) as sink:
                    made_with = execute.Connected(engine, interrupt, sink, render, place.consented)
                    execute.run_segment(folder, made_with)
            except SlobError as error:
                if not folder.record.segments:
                    folder.discard()
                    raise
                raise error.then(again) from error
            record = folder.record
            if record.status is not Status.COMPLETE:
                left = format_duration(record.left_s)
                raise SlobError(f"the endurance run was stopped with {left} left", again)
    return EnduranceResult(record, folder.path)


@dataclass(frozen=True)
class RepeatOptions:
    """How often the same run is made."""

    every: float | str | None
    duration: float | str | None
    count: int | None

    def planned(self, every_s: float) -> int:
        """Return the number of runs. UsageError unless exactly one of duration and count is given."""
        if (self.duration is None) == (self.count is None):
            raise UsageError("duration and count each say how many runs there are", "give one of them")
        if self.count is None:
            return max(1, round(_seconds("duration", self.duration, every_s) / every_s))
        if self.count < 1:
            raise UsageError(f"count={self.count} is not allowed", "a whole number from 1")
        return self.count


def repeated_runs(
    place: Place, name: str, options: RepeatOptions, resume: Folder, parameters: Mapping[str, object]
) -> RepeatedResult:
    """Make the runs that are due, and return all."""
    if resume:
        _require_alone("every", options.every or options.duration or options.count, parameters)
        path = finding.one(str(resume), place.results, log.warning, {REPEATED}).folder
        before = repeated.load(path)
        repeat.require_unfinished(before)
        target = place.target.recorded_as(before.target)
    else:
        place.asked(parameters)
        every_s, path, target = _seconds("every", options.every, repeat.LEAST_EVERY_S), None, place.target
        planned = options.planned(every_s)
    with interruptible() as interrupt:
        engine = place.connected(target, interrupt)
        if path is None:
            found = place.asked(parameters, engine)
            asked = (found.workload, every_s, planned, found.sources, found.notices)
            new = repeat.new_record(name, target.shown, *asked)
        with (
            RepeatedFolder.resume(path) if path else RepeatedFolder.begin(place.results, new) as folder,
            run_sink(place.display) as sink,
        ):
            made_with = repeat.Repeating(
                lambda: place.connected(target, interrupt), interrupt, sink, render, _said(log.info)
            )
            repeat.repeat(folder, made_with)
            record = folder.record
        if record.status is not Status.COMPLETE:
            left = (record.planned or 0) - len(record.times)
            raise SlobError(
                f"the repeated run was stopped with {left} runs left",
                f"openslob.repeat(resume={str(folder.path)!r}) goes on",
            )
    return RepeatedResult(record, folder.path)


def _said(say: Callable[[str], None]) -> Callable[[RepeatedTime], None]:
    return lambda done: say(time_line(done))


def _require_alone(name: str, given: object, parameters: Mapping[str, object]) -> None:
    others = [*([name] if given else []), *(each for each, value in parameters.items() if value is not None)]
    if others:
        raise UsageError(f"resume takes the parameters of the record, not {', '.join(others)}", "leave them out")


def _seconds(name: str, given: float | str | None, least: float) -> float:
    """Return a duration in seconds. UsageError for none, or for one below the least."""
    if given is None:
        raise UsageError(f"{name} is not given", f"{name}='8h', for instance; resume goes on with an earlier one")
    try:
        seconds = rehearsal.seconds(parse_duration(str(given)))
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    if seconds < least:
        raise UsageError(f"{name}={given} is not allowed", f"{format_duration(least)} at the least")
    return seconds
