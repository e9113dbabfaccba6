"""The functions of the package: `openslob.server`, `openslob.run`, `openslob.read` and so on."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack, overload

from openslob.analyze.intervals import LEAST_STARTS
from openslob.api.asking import Folder, find_target, parse_amount, parse_seconds, parse_size, resolve_parameters
from openslob.api.checking import LoadSummary
from openslob.api.parameters import Parameters, SweptParameters
from openslob.api.progress import ProgressOption
from openslob.api.reported import AbResult, EnduranceResult, LabResult, RepeatedResult
from openslob.api.results import Results
from openslob.api.run_result import RunResult
from openslob.api.targets import Server, Target, change_spec, with_parameters
from openslob.core import rehearsal
from openslob.core.disk import is_there
from openslob.core.errors import SlobError, UsageError
from openslob.engines import registry
from openslob.kinds import runs
from openslob.kinds.ab.execute import DEFAULT_FOR_S as DEFAULT_AB_S
from openslob.kinds.ab.execute import FIGURE, WITHIN_PCT
from openslob.kinds.lab.execute import execute
from openslob.kinds.lab.loads import DEFAULT_CACHE
from openslob.kinds.lab.request import (
    DEFAULT_FOR_S,
    DEFAULT_RUN_S,
    DEFAULT_SESSIONS,
    PRECISION_PCT,
    LabRequest,
    plan,
)
from openslob.kinds.run.again import RETRIES
from openslob.record.model import Status


def server(
    name: str = registry.EMBEDDED,
    *,
    engine: str | None = None,
    version: str | int | None = None,
    bin_dir: Folder = None,
    data_dir: Folder = None,
    block_size: int | str | None = None,
    cache: int | str | None = None,
    log_size: int | str | None = None,
    io: str | None = None,
    cpus: str | int | None = None,
    max_sessions: int | None = None,
    huge_pages: bool | None = None,
    table_engine: str | None = None,
    standby_of: str | None = None,
) -> Server:
    """Create a managed server if it is new, start it if it is down, restart it if its settings change.

    Settings that are not given stay as they are. The server keeps running; used as a context manager, one that was
    down before is stopped at the end of the block.

    Args:
        name: The name of the server.
        engine: The database, as `slob server start --engine` takes it.
        version: The major version; by default the latest that is installed.
        bin_dir: The directory of the server's programs, instead of those found.
        data_dir: A directory for the data, empty or new.
        block_size: The block size, such as ``"16K"``.
        cache: The size of the cache, such as ``"1G"``.
        log_size: The most that the log may take, such as ``"4G"``.
        io: direct, or buffered: through the page cache of the operating system.
        cpus: The CPUs of the whole server, such as ``"0-3"``, or all.
        max_sessions: The most sessions of a run.
        huge_pages: Whether to reserve huge pages for the cache, which needs root.
        table_engine: The storage engine of the test tables, of a database that has several.
        standby_of: The managed server of which this one is a read-only copy.

    Raises:
        SlobError: The server can't be created or started.
        UsageError: A setting is not allowed, or differs from one that can't be changed.

    """
    present = registry.find(name)
    made_of = engine or registry.engine_on_demand(name) or registry.default_engine()
    spec = present.status().spec if present else registry.default_spec(name, made_of)
    settings: dict[str, Any] = {"engine": engine, "io": io, "max_sessions": max_sessions, "huge_pages": huge_pages}
    settings |= {"version": _text(version), "cpus": _text(cpus), "standby_of": standby_of}
    settings |= {"table_engine": table_engine}
    settings |= {"bin_dir": _path(bin_dir), "data_dir": _path(data_dir)}
    settings |= {"block_size": parse_size("block_size", block_size)}
    settings |= {"cache_bytes": parse_amount("cache", cache, rehearsal.LEAST_CACHE)}
    settings |= {"log_bytes": parse_amount("log_size", log_size, rehearsal.LEAST_LOG)}
    return Server(change_spec(spec, settings))


def target(
    url: str,
    *,
    server_pid: int | None = None,
    consent: Sequence[str] = (),
    drivers: str | None = None,
    host: str | None = None,
    direct: str | None = None,
) -> Target:
    """Return a server to measure by its URL, such as ``ENGINE://me@db1/test``, or by the name of a managed one.

    Several, separated by commas, are the instances of one cluster. Nothing is connected yet.

    Args:
        url: The URL or the name.
        server_pid: The server's main process on this host, where it can't be found: its CPU is then known.
        consent: What needs a licence of the server, which you have, such as ``["awr"]``.
        drivers: Who runs the sessions, if not this process: ``"local:4"``, or the URL of a Dask scheduler.
        host: The server's host, if it is not this one: ``"ssh://me@db1"``, or ``"http://db1:9100/metrics"`` of a
            node_exporter, which shows no processes.
        direct: The URL of the server itself, if ``url`` is a pooler's: only sessions of the client loop go through it.

    Raises:
        UsageError: The text is neither a URL nor a name.

    """
    return Target(url, server_pid, consent, drivers, host, direct)


@overload
def load(path: Folder, /) -> Results: ...


@overload
def load(
    *,
    target: str | Target | None = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> LoadSummary: ...


@with_parameters(Parameters)
def load(
    path: Folder = None,
    /,
    *,
    target: str | Target | None = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> Results | LoadSummary:
    """Load the test tables of a target, as `Target.load` does.

    With the path of a folder of records this reads them, as it did before there was `read`; that form is deprecated.

    Args:
        path: A folder of records; deprecated.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        config: As for `Target.load`.
        progress: As for `Target.load`.
        parameters: What to load, such as ``schemas=8, scale="2G"``.

    Raises:
        SlobError: The load failed.
        UsageError: A parameter is unknown, or its value is not allowed.

    """
    if path is None:
        return _target(target, config).load(config=config, progress=progress, **parameters)
    if not is_there(str(path)):
        raise UsageError(
            f"openslob.load loads data, and {str(path)!r} is not a keyword",
            f"openslob.read({str(path)!r}) reads records, openslob.load(target={str(path)!r}) loads data",
        )
    warnings.warn(
        f"openslob.load loads data now: openslob.read({str(path)!r}) reads records", DeprecationWarning, stacklevel=2
    )
    return Results.of(runs.load(Path(path)))


@with_parameters(Parameters)
def run(
    name: str = "run",
    *,
    target: str | Target | None = None,
    settings: Mapping[str, object] | None = None,
    retries: int = RETRIES,
    hooks: Sequence[str] = (),
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> RunResult:
    """Run a workload on loaded data and write its record, as `Target.run` does.

    Args:
        name: The name of the run.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        settings: As for `Target.run`.
        retries: As for `Target.run`.
        hooks: As for `Target.run`.
        results: As for `Target.run`.
        config: As for `Target.run`.
        progress: As for `Target.run`.
        parameters: What to run, such as ``sessions=16, update_pct=10, run_time="30s"``.

    Raises:
        SlobError: The run could not be made, or lost a session; what was measured is in its record.
        UsageError: A parameter is unknown, or its value is not allowed.

    """
    return _target(target, config).run(
        name, settings=settings, retries=retries, hooks=hooks, results=results, config=config, progress=progress,
        **parameters,
    )  # fmt: skip


@with_parameters(SweptParameters)
def sweep(
    name: str | None = None,
    *,
    target: str | Target | None = None,
    ready: str | None = None,
    grid: Folder = None,
    against: str | None = None,
    repeats: int | None = None,
    until_steady: float | str | None = None,
    find_max_iops_under: str | None = None,
    at: str = "p99",
    most_sessions: int = 128,
    new: bool = False,
    resume: Folder = None,
    settings: Mapping[str, object] | None = None,
    retries: int = RETRIES,
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[SweptParameters],
) -> Results:
    """Run a grid of points, with the errors of `Target.sweep`.

    Args:
        name: The name of the sweep.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        ready: As for `Target.sweep`, like the others.
        grid: A TOML file with tables grid and server.
        against: Compare the two values of this parameter.
        repeats: How often each point is run, in shuffled rounds.
        until_steady: Warm up until throughput is steady, at most this long.
        find_max_iops_under: Search for the most IOPS below this latency.
        at: Which latency the search judges.
        most_sessions: The highest session count of a search.
        new: Begin a new sweep in any case.
        resume: A sweep to resume.
        settings: The server's own settings, such as ``{"io_method": ["sync", "worker"]}``.
        retries: How often a run is made again whose counters were read too late.
        results: The folder of the records.
        config: A file with parameters.
        progress: A function that gets each `Progress`, or False.
        parameters: Values, such as ``sessions=[1, 2, 4, 8], update_pct=[0, 20]``.

    """
    return _target(target, config).sweep(
        name, ready=ready, grid=grid, against=against, repeats=repeats, until_steady=until_steady,
        find_max_iops_under=find_max_iops_under, at=at, most_sessions=most_sessions, new=new, resume=resume,
        settings=settings, retries=retries, results=results, config=config, progress=progress, **parameters,
    )  # fmt: skip


@with_parameters(Parameters)
def endure(
    name: str = "endure",
    *,
    target: str | Target | None = None,
    duration: float | str | None = None,
    resume: Folder = None,
    probe: bool | None = None,
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> EnduranceResult:
    """Run a workload for hours or days, with the errors of `Target.endure`.

    Args:
        name: The name of the endurance run.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        duration: The time under load, such as ``"8h"``.
        resume: An endurance run to go on with, on the target of its record.
        probe: As for `Target.endure`.
        results: As for `Target.endure`.
        config: As for `Target.endure`.
        progress: As for `Target.endure`.
        parameters: What to run, such as ``sessions=16, update_pct=20``.

    """
    on = _target(target, config)
    return on.endure(
        name,
        duration=duration,
        resume=resume,
        probe=probe,
        results=results,
        config=config,
        progress=progress,
        **parameters,
    )


@with_parameters(Parameters)
def ab(
    a: str,
    b: str,
    name: str = "ab",
    *,
    target: str | Target | None = None,
    until_decided: bool = False,
    duration: float | str = DEFAULT_AB_S,
    same_within_pct: float = WITHIN_PCT,
    figure: str = FIGURE,
    retries: int = RETRIES,
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> AbResult:
    """Say whether B is better than A, worse or the same, with the errors of `Target.ab`.

    Args:
        a: Settings as ``"NAME=VALUE,…"``, a server, a command that prepares the target, or ``"as-is"``.
        b: The same.
        name: The name of the record.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        until_decided: As for `Target.ab`, like the others.
        duration: The time that it may take in all.
        same_within_pct: A difference of so much does not matter, in %.
        figure: The figure that decides.
        retries: How often a run is made again whose window was lost.
        results: The folder of the records.
        config: A file with parameters.
        progress: A function that gets each `Progress`, or False.
        parameters: The load, such as ``sessions=16, update_pct=20``.

    """
    return _target(target, config).ab(
        a, b, name, until_decided=until_decided, duration=duration, same_within_pct=same_within_pct, figure=figure,
        retries=retries, results=results, config=config, progress=progress, **parameters,
    )  # fmt: skip


@with_parameters(Parameters)
def repeat(
    name: str = "watch",
    *,
    target: str | Target | None = None,
    every: float | str | None = None,
    duration: float | str | None = None,
    count: int | None = None,
    resume: Folder = None,
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
    **parameters: Unpack[Parameters],
) -> RepeatedResult:
    """Make the same run again and again at fixed times, with the errors of `Target.repeat`.

    Args:
        name: The name of the record.
        target: A URL, the name of a managed server, or a `Target`; by default that of the command line.
        every: The time from the begin of a run to that of the next, such as ``"15m"``.
        duration: For how long runs are made, such as ``"3d"``.
        count: The number of runs, instead of a duration.
        resume: A repeated run to go on with, on the target of its record.
        results: As for `Target.repeat`.
        config: As for `Target.repeat`.
        progress: As for `Target.repeat`.
        parameters: What each run is, such as ``sessions=16, run_time="1m"``.

    """
    return _target(target, config).repeat(
        name,
        every=every,
        duration=duration,
        count=count,
        resume=resume,
        results=results,
        config=config,
        progress=progress,
        **parameters,
    )


def lab(
    settings: Sequence[str] = (),
    *,
    ready: Sequence[str] = (),
    duration: float | str = DEFAULT_FOR_S,
    precision_pct: float = PRECISION_PCT,
    pairs: int = LEAST_STARTS,
    loads: Sequence[str] = (),
    sessions: int = DEFAULT_SESSIONS,
    cache: int | str = DEFAULT_CACHE,
    run_time: float | str = DEFAULT_RUN_S,
    seed: int = 1,
    price: str | None = None,
    name: str = "lab",
    target: str | Target | None = None,
    results: Folder = None,
    config: Folder = None,
    progress: ProgressOption = None,
) -> LabResult:
    """Find out what settings of a server cost here, as `slob lab` does: pairs of runs with and without each.

    Args:
        settings: Settings as ``NAME=V1,V2``, or ``NAME`` for all other values; all ready ones without any.
        ready: Ready ones, such as ``["io-method"]``.
        duration: The time that it may take, such as ``"10m"``.
        precision_pct: How narrow the interval of a rate is to be, in %.
        pairs: Pairs that the time must allow for each comparison; of fewer than 6, none is settled.
        loads: Loads of every setting, instead of those where it can matter.
        sessions: Sessions of each run.
        cache: Cache of the servers that are made.
        run_time: Length of the measured window of each run.
        seed: Seed of the order, and of what the runs visit.
        price: What the server costs, such as ``"123.45 EUR/month"``; by default that of the environment or ``config``.
        name: The name of the lab.
        target: The managed server to make the lab's servers like.
        results: The folder of the records; by default that of the command line.
        config: A file with the target and its price.
        progress: A function that gets each `Progress`, or False.

    Raises:
        SlobError: The lab was stopped, or no pair of runs was made; what was measured is in its record.
        UsageError: There is nothing to compare, the server does not take a value, or the time is too short.

    """
    on = _target(target, config)
    asked = LabRequest(
        name, tuple(settings), tuple(ready), tuple(loads), parse_seconds("duration", duration), precision_pct,
        parse_amount("cache", cache, rehearsal.LEAST_CACHE) or DEFAULT_CACHE, sessions,
        parse_seconds("run_time", run_time), seed,
        resolve_parameters({"price": price}, config, on.address).workload.price, pairs=pairs,
    )  # fmt: skip
    context = on.context(results, config, progress)
    folder = execute(plan(asked, context), context)
    record = folder.record
    if record.status is Status.FAILED:
        raise SlobError(next(iter(record.errors), "the lab failed"), f"its record is {folder.path}")
    if record.status is Status.INTERRUPTED:
        raise SlobError("the lab was stopped before its end", f"slob lab --resume {folder.path} goes on")
    return LabResult(record, folder.path)


def _target(given: str | Target | None, config: Folder) -> Target:
    return given if isinstance(given, Target) else Target(given or find_target(config))


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _path(value: Folder) -> Path | None:
    return None if value is None else Path(value).absolute()
