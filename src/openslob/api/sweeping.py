"""A sweep from Python: planned and executed as `slob sweep` does it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from openslob.api.asking import Folder, environment_of, several_texts, values_of
from openslob.api.progress import Display, load_sink, run_sink
from openslob.api.results import Results
from openslob.api.stopping import interruptible
from openslob.config.layers import Layer
from openslob.config.loaded import loaded_layer
from openslob.core import rehearsal
from openslob.core.errors import SlobError, UsageError, VerdictError
from openslob.core.secrets import Target
from openslob.core.units import parse_duration
from openslob.engines import registry
from openslob.engines.facts import LoadProgress
from openslob.fleet import hire_drivers
from openslob.kinds import runs
from openslob.kinds.run.crew import local_crew
from openslob.kinds.run.loading import loaded
from openslob.kinds.run.progress import ProgressSink
from openslob.kinds.run.settings import SettingsGrid
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.create import unfinished_like
from openslob.kinds.sweep.execute import Execution
from openslob.kinds.sweep.record import SweepFolder, SweepRecord, load_sweep
from openslob.kinds.sweep.request import SweepRequest, resume, search_for, sweep_file
from openslob.kinds.sweep.servers import require_target
from openslob.kinds.sweep.sizing import server_memory
from openslob.record import finding
from openslob.record.model import Status
from openslob.report.text import render

log = logging.getLogger("openslob")


@dataclass(frozen=True)
class SweepOptions:
    """What a sweep has beside its parameters; see `Target.sweep`."""

    name: str | None
    ready: str | None
    grid: Folder
    against: str | None
    repeats: int | None
    until_steady: float | str | None
    find_max_iops_under: str | None
    at: str
    most_sessions: int
    new: bool
    resume: Folder
    server_pid: int | None
    consented: frozenset[str]
    settings: Mapping[str, object]
    drivers: str | None


class View:
    """The progress of a sweep on a display; messages go to the log."""

    def __init__(self, display: Display) -> None:
        self._display = display

    def notify(self, text: str) -> None:
        """Log a message."""
        log.info(text)

    def running(self, label: str, left_s: float | None) -> AbstractContextManager[ProgressSink]:
        """Show a run in this block."""
        return run_sink(self._display, label, left_s)

    def loading(self, block_size: int) -> AbstractContextManager[Callable[[LoadProgress], None]]:  # noqa: ARG002
        """Show a load in this block."""
        return load_sink(self._display)


def executed(
    target: Target,
    options: SweepOptions,
    parameters: Mapping[str, object],
    results: Path,
    config: Folder,
    display: Display,
) -> Results:
    """Execute a sweep, or the rest of an unfinished one that asks for the same, and return its runs."""
    path = None
    if options.resume:
        path = finding.one(str(options.resume), results, log.warning, {SWEEP}).folder
    record = load_sweep(path) if path else _new(options, parameters, target, config)
    if path is None and not options.new:
        path = unfinished_like(record, results, log.warning)
    with (
        interruptible() as interrupt,
        resume(path, bool(options.resume), log.info) if path else SweepFolder.begin(results, record) as folder,
        hire_drivers(options.drivers) as fleet,
    ):
        view, hire = View(display), fleet.hire if fleet else local_crew
        pid, consented = options.server_pid, options.consented
        Execution(
            folder, target.reveal(), interrupt, view, render, server_pid=pid, consented=consented, hire=hire
        ).execute()
    _judge(folder)
    return Results.of(runs.load(folder.path))


def _new(options: SweepOptions, parameters: Mapping[str, object], target: Target, config: Folder) -> SweepRecord:
    request, file = _request(options, parameters, target), Path(config) if config else None
    # Without a target: a wrong value is an error before any server is started.
    around = environment_of(target, config)
    request.record(target, file, around)
    settings = request.asked_settings(target)
    loaded, memory = _loaded(request, target, settings), server_memory(target.reveal())
    record = request.record(target, file, around, loaded, memory, settings)
    require_target(record)
    for note in record.notes:
        log.info(note)
    return record


def _loaded(request: SweepRequest, target: Target, settings: SettingsGrid) -> Layer:
    """Return the parameters of the data in the target; none for a sweep that makes servers of its own."""
    if request.has_own_servers(settings):
        return {}
    found = loaded(registry.resolve(target.reveal())[0])
    return loaded_layer(*found) if found else {}


def _request(options: SweepOptions, parameters: Mapping[str, object], target: Target) -> SweepRequest:
    under = options.find_max_iops_under
    search = search_for(under, options.at, options.most_sessions) if under else None
    if options.repeats is not None and options.repeats < 1:
        raise UsageError(f"repeats={options.repeats} is not allowed", "a whole number from 1")
    texts, servers = several_texts(parameters)
    return SweepRequest(
        options.name or options.ready or "sweep",
        texts,
        servers,
        sweep_file(Path(options.grid) if options.grid else None, options.ready, target, options.settings),
        options.against,
        options.repeats,
        _seconds(options.until_steady),
        search,
        values_of(options.settings),
    )


def _seconds(given: float | str | None) -> float | None:
    try:
        return None if given is None else rehearsal.seconds(parse_duration(str(given)))
    except ValueError as error:
        raise UsageError(f"until_steady: {error}") from None


def _judge(folder: SweepFolder) -> None:
    """Raise the error of a sweep that was stopped, of failed points, or of a search without an answer."""
    record = folder.record
    if record.status is Status.INTERRUPTED:
        raise SlobError("the sweep was stopped before its end", "the same call resumes it")
    where = repr(str(folder.path))
    if record.status is Status.FAILED:
        why = next((point.error for point in record.points if point.error), "")
        raise SlobError(
            f"some points failed: {why}", f"openslob.read({where}) has the others, sweep(resume={where}) repeats them"
        )
    if record.search and record.search.sessions is None:
        raise VerdictError(f"no session count stays under the limit: {record.search.why}")
