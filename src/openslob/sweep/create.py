"""From what was asked for to the record of a sweep that has yet to run, or to the folder of one that can go on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from openslob._version import __version__
from openslob.clock import iso
from openslob.config.grid import Grid
from openslob.errors import UsageError
from openslob.record.model import Status
from openslob.record.store import record_id, running_pid
from openslob.record.sweep import SearchRecord, SweepRecord, Value, find_sweeps, load_sweep
from openslob.sweep.plan import notices, points, with_estimates
from openslob.sweep.servers import described

Servers = Mapping[str, tuple[Value, ...]]


def new_sweep(
    name: str,
    target: str,
    grid: Grid,
    servers: Servers,
    repeats: int = 1,
    steady_limit_s: float | None = None,
    search: SearchRecord | None = None,
    against: str | None = None,
    figures: tuple[str, ...] = (),
) -> SweepRecord:
    """The record of a sweep with all its points pending; that of a search has none yet.

    ``target`` is fit to be shown. UsageError for a combination that can't be run.
    """
    if search:
        _require_one_line(grid, servers)
    if against:
        _require_two_values(against, {**servers, **grid.values})
    started_at, seed = iso(time.time_ns()), grid.workload.seed
    record = SweepRecord(
        id=record_id(name, started_at),
        name=name,
        started_at=started_at,
        openslob_version=__version__,
        target=target,
        workload=grid.workload.to_record(),
        grid=grid.values,
        server_grid=servers,
        server=described(target) if servers else None,
        repeats=repeats,
        seed=seed,
        steady_limit_s=steady_limit_s,
        search=search,
        against=against,
        figures=figures,
        points=() if search else points(grid.values, servers, repeats, seed),
    )
    planned = with_estimates(record)
    return planned.model_copy(update={"notes": (*grid.notices, *notices(planned))})


def _require_one_line(grid: Grid, servers: Servers) -> None:
    many = [*grid.values, *(name for name, values in servers.items() if len(values) > 1)]
    if many:
        raise UsageError(
            f"a search varies the sessions only, not {', '.join(many)}", "give one value, or leave the sessions out"
        )


def _require_two_values(parameter: str, varied: Servers) -> None:
    count = len(varied.get(parameter, ()))
    if count != 2:
        raise UsageError(
            f"two values of {parameter} are held against each other, and the sweep has {count or 'one'}",
            "give two, or leave --against out",
        )


def unfinished_like(record: SweepRecord, results: Path) -> Path | None:
    """The newest sweep in ``results`` that asks for the same and has not come to its end; None when there is none."""
    wanted = record.fingerprint()
    for path in reversed(find_sweeps(results)):
        found = load_sweep(path)
        if found.status is Status.INTERRUPTED and found.fingerprint() == wanted and not running_pid(path):
            return path
    return None
