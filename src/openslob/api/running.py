"""One run, as `slob run` makes it, from Python."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from openslob.api.asking import Folder, consent, resolution, results_folder, values_of
from openslob.api.progress import Display, run_sink
from openslob.api.run_result import RunResult
from openslob.api.stopping import interruptible
from openslob.config.grid import Grid
from openslob.core.errors import SlobError
from openslob.core.secrets import Target
from openslob.fleet import hire_drivers
from openslob.kinds.run import runner
from openslob.kinds.runs import run_of
from openslob.kinds.sweep.servers import target_with
from openslob.kinds.sweep.settings import for_run, giving_way
from openslob.record.model import Status
from openslob.report.text import render

log = logging.getLogger("openslob")


@dataclass(frozen=True)
class RunOptions:
    """What a run has beside its parameters, as `Target.run` describes it."""

    name: str
    settings: Mapping[str, object]
    results: Folder
    config: Folder
    server_pid: int | None
    consent: tuple[str, ...]
    drivers: str | None


def ran(target: Target, options: RunOptions, parameters: Mapping[str, object], display: Display) -> RunResult:
    """Make a run, and return it. SlobError when it was stopped or could not be made."""
    config = options.config
    resolution(parameters, config, target=target)  # a wrong value is an error before any server is started
    folder, consented = results_folder(options.results, config), consent(options.consent, config)
    chosen = for_run(target.reveal(), values_of(options.settings))
    with interruptible() as interrupt, target_with(target.reveal(), chosen.changes, log.info) as engine:
        engine.server_pid = options.server_pid
        asked = resolution(parameters, config, engine, target)
        left = giving_way(Grid(asked.workload, {}, asked.notices, asked.sources), chosen)
        request = runner.RunRequest(
            left.workload, options.name, folder, left.notices, asked.sources, consented=consented,
            settings=chosen.changes,
        )  # fmt: skip
        with hire_drivers(options.drivers) as fleet, run_sink(display) as sink:
            request = replace(request, hire=fleet.hire if fleet else request.hire)
            finished = runner.run(engine, request, interrupt, sink, render)
    if finished.record.status is not Status.COMPLETE:
        raise SlobError("the run was stopped before its end", f"its record is {finished.folder}")
    return RunResult(run_of(finished.folder, finished.record), finished.folder)
