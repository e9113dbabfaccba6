"""Creating a sweep: the record of a new one, the folder of an unfinished one, and the ready-made sweep files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from openslob.config.grid import Grid, SweepFile, read_sweep_file
from openslob.core import rehearsal
from openslob.core.errors import UsageError
from openslob.kinds.run.preflight import ServerMemory
from openslob.kinds.run.settings import NO_SETTINGS, SettingsGrid, give_way
from openslob.kinds.sweep.plan import keep_started_with, notices, points, with_estimates
from openslob.kinds.sweep.ready_settings import ready_settings
from openslob.kinds.sweep.record import SearchRecord, SweepRecord, find_sweeps
from openslob.kinds.sweep.servers import describe_target
from openslob.kinds.sweep.sizing import expected_failures, with_enough_data
from openslob.record.model import Status
from openslob.record.store import new_head
from openslob.record.varied import Value

Servers = Mapping[str, tuple[Value, ...]]

_READY_FOLDER = Path(__file__).parent / "ready"


def ready_names() -> list[str]:
    """Return the names of the ready-made sweeps, sorted."""
    return sorted(path.stem for path in _READY_FOLDER.glob("*.toml"))


def ready_sweep(name: str) -> SweepFile:
    """Read the ready-made sweep of this name. UsageError when there is none."""
    if name not in ready_names():
        every = sorted({*ready_names(), *ready_settings()})
        raise UsageError(f"there is no ready-made sweep {name!r}", f"choose one of {', '.join(every)}")
    return read_sweep_file(_READY_FOLDER / f"{name}.toml")


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
    memory: ServerMemory | None = None,
    data_per_cache: int | None = None,
    settings: SettingsGrid = NO_SETTINGS,
) -> SweepRecord:
    """Return the record of a sweep with all its points pending; a search begins without points.

    ``target`` must not contain a password. ``servers`` holds the values of server parameters by the name of
    `ServerSpec`'s field. ``memory`` is that of the target, None when it is not known; with ``data_per_cache`` the data
    are at least so many times the cache, unless SCALE is given. ``settings`` are the server's own. UsageError for a
    combination that can't be run.
    """
    repeats = rehearsal.repeats(repeats)
    grid = with_enough_data(grid, servers, memory, data_per_cache) if data_per_cache else grid
    workload, given_way = give_way(grid.workload, grid.sources, settings, grid.values)
    grid = replace(grid, workload=workload, notices=(*grid.notices, *given_way))
    varied = {**servers, **settings.values}
    if search:
        _require_one_series(grid, varied)
    if against:
        _require_two_values(against, {**varied, **grid.values})
    seed = grid.workload.seed
    record = SweepRecord(
        **new_head(name),
        target=target,
        workload=grid.workload.to_record(),
        grid=grid.values,
        server_grid=varied,
        effects=settings.effects,
        server=describe_target(target) if keep_started_with(varied, settings.effects) else None,
        repeats=repeats,
        seed=seed,
        steady_limit_s=steady_limit_s,
        search=search,
        against=against,
        figures=figures,
        points=() if search else points(grid.values, varied, repeats, seed, settings.effects, against),
    )
    planned = with_estimates(record)
    return planned.model_copy(update={"notes": (*grid.notices, *notices(planned), *expected_failures(planned, memory))})


def _require_one_series(grid: Grid, servers: Servers) -> None:
    varied = [*grid.values, *(name for name, values in servers.items() if len(values) > 1)]
    if varied:
        raise UsageError(
            f"a search varies the sessions only, not {', '.join(varied)}", "give one value, or leave the sessions out"
        )


def _require_two_values(parameter: str, varied: Servers) -> None:
    count = len(varied.get(parameter, ()))
    if count != 2:
        raise UsageError(
            f"--against compares two values of {parameter}, and the sweep has {count or 'one'}",
            "give two values, or leave --against out",
        )


def find_unfinished(record: SweepRecord, results: Path, tell: Callable[[str], None]) -> Path | None:
    """Return the newest unfinished sweep in ``results`` that asks for the same as ``record``; None without one.

    A sweep that another process is executing does not count, nor one that can't be read: ``tell`` gets its problem.
    """
    fingerprint = record.fingerprint()
    for entry in reversed(find_sweeps(results)):
        other = entry.record
        if other is None:
            tell(entry.problem)
        elif other.status is Status.INTERRUPTED and other.fingerprint() == fingerprint and entry.pid is None:
            return entry.path
    return None
