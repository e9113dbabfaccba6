"""Servers to measure as objects: any target by its URL, and managed servers with their life cycle."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar, Unpack

from openslob.api.asking import (
    Folder,
    find_consent,
    find_direct,
    find_environment,
    find_host_name,
    find_results,
    find_script,
    parse_seconds,
    resolve_parameters,
    write_several,
    write_values,
)
from openslob.api.checking import CheckResult, LoadSummary
from openslob.api.parameters import Parameters, SweptParameters
from openslob.api.progress import ProgressOption, Shown, display_for
from openslob.api.reported import AbResult, EnduranceResult, RepeatedResult
from openslob.api.results import Results
from openslob.api.run_result import RunResult
from openslob.config.resolve import Resolution
from openslob.core.errors import SlobError, UsageError
from openslob.core.interrupt import Interrupt, interruptible
from openslob.core.secrets import Address
from openslob.core.units import format_bytes, format_duration
from openslob.engines import registry
from openslob.engines.managed.base import RUNNING, ManagedServer, ServerSpec, ServerStatus
from openslob.engines.patience import Patience
from openslob.fleet import hire_crews
from openslob.host.remote import find_host
from openslob.kinds import runs
from openslob.kinds.ab import execute as ab
from openslob.kinds.ab.execute import AbRequest
from openslob.kinds.ab.figures import require_end
from openslob.kinds.endurance import KIND as ENDURANCE
from openslob.kinds.endurance import execute as endurance
from openslob.kinds.endurance.execute import EnduranceRequest, SegmentError
from openslob.kinds.repeated import KIND as REPEATED
from openslob.kinds.repeated import execute as repeated
from openslob.kinds.repeated.execute import RepeatedRequest
from openslob.kinds.repeated.report import time_line
from openslob.kinds.run import execute as run
from openslob.kinds.run import loading
from openslob.kinds.run.again import RETRIES
from openslob.kinds.run.context import Context
from openslob.kinds.run.execute import AskedRun
from openslob.kinds.run.hooks import hooks_of_script, parse_hooks
from openslob.kinds.run.preflight import preflight
from openslob.kinds.runs import run_of
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep import execute as sweep
from openslob.kinds.sweep.record import SweepFolder
from openslob.kinds.sweep.request import SweepRequest, search_for, sweep_file
from openslob.kinds.sweep.request import plan as sweep_plan
from openslob.kinds.sweep.search import require_answer
from openslob.record import finding
from openslob.record.finding import AnyKind
from openslob.record.model import Status
from openslob.report.notebook import lines_html

log = logging.getLogger("openslob")

Function = TypeVar("Function", bound=Callable[..., Any])


def with_parameters(kind: type) -> Callable[[Function], Function]:
    """Give a function the signature with the names of ``kind`` in place of ``**parameters``: editors complete them."""

    def decorate(function: Function) -> Function:
        own = [each for each in inspect.signature(function).parameters.values() if each.kind is not each.VAR_KEYWORD]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in kind.__annotations__.items()
        ]
        vars(function)["__signature__"] = inspect.Signature([*own, *named])
        return function

    return decorate


class Target:
    """A database server to measure, as `openslob.target` returns it.

    Its methods do what the commands of the same names do, with the same parameters and the same errors.
    """

    def __init__(
        self,
        address: str,
        server_pid: int | None = None,
        consent: Sequence[str] = (),
        drivers: str | None = None,
        host: str | None = None,
        direct: str | None = None,
    ) -> None:
        self._address, self._drivers = Address.parse(address), drivers
        self._server_pid, self._host = server_pid, host
        self._direct = find_direct(direct) if direct else None
        self._consent = consent

    @property
    def address(self) -> Address:
        """The URL or the name, which shows no password."""
        return self._address

    @with_parameters(Parameters)
    def load(
        self, *, config: Folder = None, progress: ProgressOption = None, **parameters: Unpack[Parameters]
    ) -> LoadSummary:
        """Load the test tables and verify them; tables that match are only verified.

        Args:
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: What to load, such as ``schemas=8, scale="2G"``.

        Raises:
            SlobError: The load failed.
            UsageError: A parameter is unknown, its value is not allowed, or the server takes no writes, as a standby.

        """
        workload = self._resolve(parameters, config).workload
        result = loading.execute(workload, self.context(None, config, progress), _announce)
        return LoadSummary(result)

    @with_parameters(Parameters)
    def run(
        self,
        name: str = "run",
        *,
        settings: Mapping[str, object] | None = None,
        retries: int = RETRIES,
        hooks: Sequence[str] = (),
        results: Folder = None,
        config: Folder = None,
        progress: ProgressOption = None,
        **parameters: Unpack[Parameters],
    ) -> RunResult:
        """Run a workload on loaded data and write its record.

        Ctrl-C, or the interrupt of a notebook's kernel, ends the run within a slice; its record says interrupted.

        Args:
            name: The name of the run.
            settings: The server's own settings to run with, such as ``{"wal_compression": "pglz"}``.
            retries: How often it is made again if a busy host read its counters too late for a rate.
            hooks: Commands to run beside it, such as ``["during iostat -x 1"]``: before, during or after.
            results: The folder of the records; by default that of the command line.
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: What to run, such as ``sessions=16, update_pct=10, run_time="30s"``.

        Raises:
            SlobError: The run could not be made, or lost a session; what was measured is in its record.
            UsageError: A parameter is unknown, or its value is not allowed.

        """
        beside = (*hooks_of_script(find_script(config)), *parse_hooks(hooks))
        asked = AskedRun(self._resolve(parameters, config), name, write_values(settings or {}), retries, beside)
        finished = run.execute(asked, self.context(results, config, progress))
        if finished.record.status is not Status.COMPLETE:
            raise SlobError("the run was stopped before its end", f"its record is {finished.folder}")
        return RunResult(run_of(finished.folder, finished.record), finished.folder)

    @with_parameters(SweptParameters)
    def sweep(
        self,
        name: str | None = None,
        *,
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
        """Run a grid of points, each combination of the parameters' values. After a stop the same call resumes it.

        Args:
            name: The name of the sweep.
            ready: A ready-made sweep; parameters take precedence over it.
            grid: A TOML file with tables grid and server.
            against: Compare the two values of this parameter.
            repeats: How often each point is run, in shuffled rounds.
            until_steady: Warm up until throughput is steady, at most this long.
            find_max_iops_under: Search for the session count with the most IOPS below this latency, such as ``2ms``.
            at: Which latency of operations the search judges: mean, p50, p90, p99 or p999.
            most_sessions: The highest session count of a search.
            new: Begin a new sweep even if the same one is unfinished.
            resume: The folder or the id of a sweep to resume; points that failed are run again.
            settings: The server's own settings, with a value or several, such as ``{"io_method": ["sync", "worker"]}``.
            retries: How often a run is made again whose counters a busy host read too late.
            results: The folder of the records; by default that of the command line.
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: Values, such as ``sessions=[1, 2, 4, 8], update_pct=[0, 20], run_time="10s"``.

        Raises:
            SlobError: A point failed; the others are in the record.
            VerdictError: A search found no session count below the limit, or that is undecided (UndecidedError).
            UsageError: A parameter is unknown, or a value is not allowed.

        """
        context = self.context(results, config, progress)
        own, (texts, servers) = write_values(settings or {}), write_several(parameters)
        request = SweepRequest(
            name or ready or "sweep", texts, servers,
            sweep_file(Path(grid) if grid else None, ready, self._address, own), against, repeats,
            None if until_steady is None else parse_seconds("until_steady", until_steady),
            search_for(find_max_iops_under, at, most_sessions), own, Path(config) if config else None,
            find_environment(self._address, config), new, _find_resumed(resume, context, SWEEP), retries,
        )  # fmt: skip
        folder = sweep.execute(sweep_plan(request, context), context)
        _require_all_points(folder)
        return Results.of(runs.load(folder.path))

    @with_parameters(Parameters)
    def endure(
        self,
        name: str = "endure",
        *,
        duration: float | str | None = None,
        resume: Folder = None,
        probe: bool | None = None,
        results: Folder = None,
        config: Folder = None,
        progress: ProgressOption = None,
        **parameters: Unpack[Parameters],
    ) -> EnduranceResult:
        """Run a workload for hours or days, as `slob endure` does: its level over time, and what happened when.

        What is measured survives a stop, a lost server or a crash; ``resume`` measures the time that is left.

        Args:
            name: The name of the endurance run.
            duration: The time under load, such as ``"8h"``; `run_time` is the length of a run.
            resume: The folder or the id of an endurance run to go on with, instead of a duration and parameters.
            probe: False makes no probe after the load: by default a quarter of the sessions rest by turns for some
                seconds, which tells a cap from requests that take longer, and which no figure includes.
            results: The folder of the records; by default that of the command line.
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: What to run, such as ``sessions=16, update_pct=20``.

        Raises:
            SlobError: The load ended before its time; what was measured is in the record.
            UsageError: A parameter is unknown, or its value is not allowed.

        """
        context = self.context(results, config, progress)
        path = _find_resumed(resume, context, ENDURANCE, {"duration": duration, "probe": probe, **parameters})
        length_s = 0.0 if path else parse_seconds("duration", duration, endurance.LEAST_S)
        request = EnduranceRequest(self._resolve(parameters, config), name, length_s, path, probe is not False)
        try:
            folder = endurance.execute(request, context)
        except SegmentError as error:
            raise error.then(_endure_again(error.folder.path)) from error
        if folder.record.status is not Status.COMPLETE:
            left = format_duration(folder.record.left_s)
            raise SlobError(f"the endurance run was stopped with {left} left", _endure_again(folder.path))
        return EnduranceResult(folder.record, folder.path)

    @with_parameters(Parameters)
    def ab(
        self,
        a: str,
        b: str,
        name: str = "ab",
        *,
        until_decided: bool = False,
        duration: float | str = ab.DEFAULT_FOR_S,
        same_within_pct: float = ab.WITHIN_PCT,
        figure: str = ab.FIGURE,
        retries: int = RETRIES,
        results: Folder = None,
        config: Folder = None,
        progress: ProgressOption = None,
        **parameters: Unpack[Parameters],
    ) -> AbResult:
        """Say whether B is better than A, worse or the same, as `slob ab` does: by pairs of runs, each after a restart.

        Args:
            a: Settings as ``"NAME=VALUE,…"``, a server, a command that prepares this one, or ``"as-is"``.
            b: The same.
            name: The name of the record.
            until_decided: Look after every pair, and end as soon as it is decided.
            duration: The time that it may take in all, such as ``"10m"``.
            same_within_pct: A difference of so much does not matter, in %.
            figure: The figure that decides, such as ``"op_p99_us"``.
            retries: How often a run is made again whose window was lost.
            results: The folder of the records; by default that of the command line.
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: The load, such as ``sessions=16, update_pct=20``.

        Raises:
            SlobError: It was stopped, or pairs could not be made; what was measured is in its record.
            UsageError: A side is not understood, a value is not allowed, or the time is too short for a decision.

        """
        context = self.context(results, config, progress)
        request = AbRequest(
            (a, b), self._resolve(parameters, config), name, figure, same_within_pct,
            parse_seconds("duration", duration, 1.0), until_decided, retries,
        )  # fmt: skip
        folder = ab.execute(ab.plan(request, context), context)
        require_end(folder.record, f"its record is {folder.path}")
        return AbResult(folder.record, folder.path)

    @with_parameters(Parameters)
    def repeat(
        self,
        name: str = "watch",
        *,
        every: float | str | None = None,
        duration: float | str | None = None,
        count: int | None = None,
        resume: Folder = None,
        results: Folder = None,
        config: Folder = None,
        progress: ProgressOption = None,
        **parameters: Unpack[Parameters],
    ) -> RepeatedResult:
        """Make the same run again and again at fixed times, as `slob watch --every` does: how far the runs differ.

        Args:
            name: The name of the record.
            every: The time from the begin of a run to that of the next, such as ``"15m"``.
            duration: For how long runs are made, such as ``"3d"``.
            count: The number of runs, instead of a duration.
            resume: The folder or the id of a repeated run to go on with; the times that have passed are missed.
            results: The folder of the records; by default that of the command line.
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            progress: A function that gets each `Progress`, or False to show nothing.
            parameters: What each run is, such as ``sessions=16, run_time="1m"``.

        Raises:
            SlobError: It was stopped; what was measured is in the record. Runs that fail are in the record, too.
            UsageError: A parameter is unknown, or its value is not allowed.

        """
        context = self.context(results, config, progress)
        given = {"every": every or duration or count, **parameters}
        path = _find_resumed(resume, context, REPEATED, given)
        every_s = 0.0 if path else parse_seconds("every", every, repeated.LEAST_EVERY_S)
        planned = None if path else _count_runs(every_s, duration, count)
        request = RepeatedRequest(self._resolve(parameters, config), name, every_s, planned, path)
        folder = repeated.execute(request, context, lambda done: log.info(time_line(done)))
        record = folder.record
        if record.status is not Status.COMPLETE:
            raise SlobError(
                f"the repeated run was stopped with {(record.planned or 0) - len(record.times)} runs left",
                f"openslob.repeat(resume={str(folder.path)!r}) goes on",
            )
        return RepeatedResult(record, folder.path)

    def _resolve(self, parameters: Mapping[str, object], config: Folder) -> Resolution:
        return resolve_parameters(parameters, config, self._address)

    def context(self, results: Folder, config: Folder, progress: ProgressOption) -> Context:
        """Return what a measurement on this target is made with."""
        interrupt = Interrupt()
        return Context(
            self._address, find_results(results, config), Shown(display_for(progress)), log.info, interrupt,
            partial(interruptible, interrupt), self._server_pid, find_consent(self._consent, config),
            partial(hire_crews, self._drivers, None, None, None, log.info),
            host=find_host(find_host_name(self._host, config)), direct=self._direct or find_direct(None, config),
        )  # fmt: skip

    @with_parameters(Parameters)
    def check(self, *, config: Folder = None, **parameters: Unpack[Parameters]) -> CheckResult:
        """Return what can be measured, what will be unknown and why, and what spoils a test. Nothing is changed.

        Args:
            config: A file with parameters: slob.toml, slob.conf or pgio.conf.
            parameters: The run to check, such as ``mode="pio"``.

        Raises:
            SlobError: The server can't be reached.
            UsageError: A parameter is unknown, or its value is not allowed.

        """
        engine = registry.resolve_as_is(self._address.reveal())
        engine.server_pid, engine.host = self._server_pid, find_host(find_host_name(self._host, config))
        engine.direct = self._direct or find_direct(None, config)
        found = loading.take_loaded(self._resolve(parameters, config), engine, log.info)
        return CheckResult(
            engine.target, preflight(engine, found.workload, find_consent(self._consent, config), found.sources)
        )

    def drop(self) -> list[str]:
        """Remove everything that loads and runs made in the database, and return the names of what was removed.

        Raises:
            SlobError: Something could not be removed, or another process uses the server.
            UsageError: The server takes no writes, as a standby.

        """
        engine, server = registry.resolve(self._address.reveal())
        with interruptible() as interrupt:
            engine.follow(Patience(interrupt, log.info))
            return loading.drop(engine, server, log.info)

    def __repr__(self) -> str:
        """Return the address without a password."""
        return f"<Target {self._address}>"


class Server(Target):
    """A managed server, as `openslob.server` returns it: created and run by openslob on this host.

    As a context manager it leaves the server as it was found: one that was down is stopped at the end, with its data.
    """

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(spec.name)
        self._name = spec.name
        present = registry.find(spec.name)
        self._was_running = present is not None and present.status().state == RUNNING
        registry.managed(spec).start()

    @property
    def name(self) -> str:
        """The name of the server."""
        return self._name

    @property
    def status(self) -> ServerStatus:
        """The state of the server now: whether it runs, its process, its URL, its settings and its data directory."""
        return self._server().status()

    @property
    def url(self) -> str:
        """The URL of the server's database, for other programs."""
        return self.status.url

    def start(self) -> None:
        """Start the server if it is down. SlobError when it can't be started."""
        self._server().start()

    def stop(self) -> None:
        """Stop the server cleanly and keep its data. SlobError while another process uses it."""
        self._server().stop()

    def destroy(self) -> None:
        """Stop the server and remove it with all its data. SlobError while another process uses it."""
        if server := registry.find(self._name):
            server.destroy()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server, unless it was running before or is gone."""
        if not self._was_running and (server := registry.find(self._name)):
            server.stop()

    def __repr__(self) -> str:
        """Return the name and the state."""
        server = registry.find(self._name)
        return f"<Server {self._name}, {server.status().state if server else 'destroyed'}>"

    def _repr_html_(self) -> str:
        """Return the state and the settings for a notebook."""
        server = registry.find(self._name)
        if server is None:
            return lines_html(f"Server {self._name}", ["It is destroyed."], (), ())
        status = server.status()
        spec = status.spec
        facts = {
            "version": f"{spec.engine} {spec.version}",
            "cache": format_bytes(spec.cache_bytes),
            "I/O": spec.io,
            "CPUs": spec.cpus or "all",
            "url": status.url,
            "data": f"{status.data_directory}, {format_bytes(status.bytes_on_disk)} on disk",
        }
        return lines_html(f"Server {self._name}, {status.state}", [], ("", ""), list(facts.items()))

    def _server(self) -> ManagedServer:
        server = registry.find(self._name)
        if server is None:
            raise UsageError(f"there is no server {self._name!r}", f"openslob.server({self._name!r}) creates it")
        return server


def change_spec(spec: ServerSpec, settings: dict[str, Any]) -> ServerSpec:
    """Return a specification with these settings; those that are None stay as they are."""
    given = {field: value for field, value in settings.items() if value is not None}
    return replace(spec, **({**given, "cpus": None} if given.get("cpus") == "all" else given))


def _announce(spec: ServerSpec) -> ServerSpec:
    log.info("there is no server %r yet: it is created", spec.name)
    return spec


def _find_resumed(
    resume: Folder, context: Context, kind: AnyKind, given: Mapping[str, object] = MappingProxyType({})
) -> Path | None:
    """Return the folder of the record to go on with; None for a new one. UsageError if anything else is ``given``."""
    if not resume:
        return None
    if others := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"resume takes the parameters of the record, not {', '.join(others)}", "leave them out")
    return finding.one(str(resume), context.results, log.warning, {kind}).folder


def _require_all_points(folder: SweepFolder) -> None:
    """Raise the error of a sweep that was stopped, of failed points, or of a search without an answer."""
    record, where = folder.record, repr(str(folder.path))
    if record.status is Status.INTERRUPTED:
        raise SlobError("the sweep was stopped before its end", "the same call resumes it")
    if record.status is Status.FAILED:
        why = next((point.error for point in record.points if point.error), "")
        raise SlobError(
            f"some points failed: {why}", f"openslob.read({where}) has the others, sweep(resume={where}) repeats them"
        )
    require_answer(folder)


def _endure_again(folder: Path) -> str:
    return f"openslob.endure(resume={str(folder)!r}) goes on with the time that is left"


def _count_runs(every_s: float, duration: float | str | None, count: int | None) -> int:
    """Return the number of runs. UsageError unless exactly one of duration and count is given."""
    if (duration is None) == (count is None):
        raise UsageError("duration and count each say how many runs there are", "give one of them")
    if count is None:
        return max(1, round(parse_seconds("duration", duration, every_s) / every_s))
    if count < 1:
        raise UsageError(f"count={count} is not allowed", "a whole number from 1")
    return count
