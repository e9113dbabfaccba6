"""What a sweep asks for, from the command line or from Python, and the plan that it comes to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from openslob.analyze.curves.series import latency_figure, parse_latency_us
from openslob.config.grid import SweepFile, read_sweep_file, resolve_grid
from openslob.config.layers import DATA_SIZE, Layer, loaded_layer
from openslob.config.server_parameters import server_grid
from openslob.core.errors import SlobError, UsageError
from openslob.core.secrets import Address
from openslob.engines import registry
from openslob.kinds.run import loading
from openslob.kinds.run.again import RETRIES
from openslob.kinds.run.context import Ceiling, Context
from openslob.kinds.run.preflight import ServerMemory
from openslob.kinds.run.settings import SettingsGrid, ask_settings, assume_settings
from openslob.kinds.sweep.create import find_unfinished, new_sweep, ready_names, ready_sweep
from openslob.kinds.sweep.plan import has_data_of_first_point, keep_made_with, sessions_at_most, with_estimates
from openslob.kinds.sweep.ready_settings import of_setting, ready_settings, refuse_impossible
from openslob.kinds.sweep.record import SearchRecord, SweepFolder, SweepRecord, load_sweep, lost_points
from openslob.kinds.sweep.sizing import server_memory
from openslob.record.varied import Value

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class SweepRequest:
    """A new sweep: a sweep file, and what takes precedence over it.

    ``texts`` are the values of parameters by field name, ``servers`` those of server parameters by their name. Others
    come from ``config`` and ``environment``. ``until_steady`` is the longest warm-up in seconds if it lasts until the
    throughput is steady. An unfinished sweep that asks for the same goes on, unless it is to be a ``new`` one. With
    ``resume``, the folder of a sweep, it is the rest of that, and its failed points again. A run whose window is
    lost is made again up to ``retries`` times.
    """

    name: str
    texts: Texts
    servers: Texts
    file: SweepFile = field(default_factory=SweepFile)
    against: str | None = None
    repeats: int | None = None
    until_steady: float | None = None
    search: SearchRecord | None = None
    settings: Texts = field(default_factory=dict)
    config: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    new: bool = False
    resume: Path | None = None
    retries: int = RETRIES

    def __post_init__(self) -> None:
        if self.repeats is not None and self.repeats < 1:
            raise UsageError(f"repeats={self.repeats} is not allowed", "a whole number from 1")

    def has_own_servers(self, settings: SettingsGrid) -> bool:
        """Return whether the sweep varies what servers are made with, so that it makes servers of its own."""
        return bool(keep_made_with({**self._servers, **settings.values}, settings.effects))

    @property
    def _servers(self) -> Mapping[str, tuple[Value, ...]]:
        return server_grid({**self.file.server, **self.servers})

    def ask_settings(self, target: Address) -> SettingsGrid:
        """Ask the target's servers for the settings of the sweep, and try the values. UsageError if it can't be run."""
        return ask_settings(target.reveal(), self._settings, self._servers)

    @property
    def _settings(self) -> Texts:
        return {**self.file.settings, **self.settings}

    def record(
        self,
        target: Address,
        loaded: Layer = MappingProxyType({}),
        memory: ServerMemory | None = None,
        settings: SettingsGrid | None = None,
    ) -> SweepRecord:
        """Return the record of the sweep, with all its points pending. UsageError if it can't be run.

        ``loaded`` are the parameters of the data that the target has (`loaded_layer`), ``memory`` is its memory,
        ``settings`` what `ask_settings` returned. Nothing is connected: without them, a request is examined before
        any server is asked or started.
        """
        servers = self._servers
        settings = settings or assume_settings(self._settings)
        found = resolve_grid({**self.file.grid, **self.texts}, self.config, self.environment, loaded)
        found = replace(found, notices=(*self.file.notices, *found.notices))
        return new_sweep(
            self.name,
            target.shown,
            found,
            servers,
            self.repeats or self.file.repeats or 1,
            self.until_steady,
            self.search,
            self._find_compared({**servers, **settings.values, **found.values}),
            self.file.figures,
            memory,
            self.file.data_per_cache,
            settings,
        )

    def _find_compared(self, varied: Mapping[str, tuple[Value, ...]]) -> str | None:
        """Return the parameter whose two values are compared.

        None if the parameter of the sweep file is given another number of values than two.
        """
        if self.against:
            return self.against.replace("-", "_")
        return self.file.against if len(varied.get(self.file.against or "", ())) == 2 else None


def search_for(under: str | None, at: str, most: int) -> SearchRecord | None:
    """Return the search for the most IOPS with a latency below ``under``, if that is given.

    UsageError for a value that is not one.
    """
    if not under:
        return None
    latency_figure(at)
    try:
        return SearchRecord(limit_us=parse_latency_us(under), at=at, most_sessions=most)
    except UsageError as error:
        raise UsageError(f"--find-max-iops-under: {error.what}", error.remedy) from None


def sweep_file(
    grid: Path | None, ready: str | None, target: Address | None = None, settings: Collection[str] = ()
) -> SweepFile:
    """Return the sweep file of a path, or a ready-made one; an empty one if there is neither. UsageError for both.

    A ready-made sweep of a setting has the values that the ``target`` takes, unless it is among ``settings``, which the
    user gives.
    """
    if grid and ready:
        raise UsageError("--grid and --ready each name a sweep file", "give one of them")
    if not ready:
        return read_sweep_file(grid) if grid else SweepFile()
    address = target.reveal() if target else ""
    if ready in ready_settings() and ready not in ready_names():
        return of_setting(address, ready, settings)
    file = ready_sweep(ready)
    if address:
        refuse_impossible(address, ready)
    return file


@dataclass(frozen=True)
class SweepPlan:
    """A sweep with its points: a new one, or the rest of the one in ``folder``, with its failed points if ``again``.

    ``ceiling`` gives the raw measurement of an engine's storage that the runs are compared with. A run whose window is
    lost is made again up to ``retries`` times.
    """

    record: SweepRecord
    ceiling: Ceiling
    folder: Path | None = None
    again: bool = False
    retries: int = RETRIES


def plan(request: SweepRequest, context: Context, dry_run: bool = False) -> SweepPlan:
    """Return what is to be run. With ``dry_run``, no server is started for it, and nothing is written.

    Raises:
        SlobError: The server can't be reached.
        UsageError: A value is not allowed, or there is no such ceiling.

    """
    record = load_sweep(request.resume) if request.resume else _new_record(request, context, dry_run)
    folder = request.resume
    if not folder and not request.new:
        folder = find_unfinished(record, context.results, context.tell)
    ceiling = context.ceiling_for(sessions_at_most(record))
    if dry_run and folder:
        record = to_do(folder, load_sweep(folder), bool(request.resume), context.tell)
    return SweepPlan(record, ceiling, folder, bool(request.resume), request.retries)


def _new_record(request: SweepRequest, context: Context, dry_run: bool) -> SweepRecord:
    """Return a new sweep. Data parameters that nothing gives are those of the data that are loaded."""
    # Without a target: a wrong value is an error before any server is started.
    request.record(context.target)
    settings = request.ask_settings(context.target)
    loaded = _read_loaded(context, dry_run or request.has_own_servers(settings))
    record = request.record(context.target, loaded, server_memory(context.address), settings)
    values = {name: loaded[name].value for name in DATA_SIZE if name in loaded and name not in record.grid}
    if values and all(str(record.workload[name]) == value for name, value in values.items()):
        context.tell(f"data: {', '.join(f'{loaded[name].key}={value}' for name, value in values.items())}, as loaded")
    is_ready = has_data_of_first_point(record, {name: setting.value for name, setting in loaded.items()})
    return with_estimates(record, is_ready=True) if is_ready else record


def _read_loaded(context: Context, as_is: bool) -> Layer:
    """Return the parameters of the data in the target; none if it has none, or if it is left ``as_is`` and down."""
    try:
        engine = registry.resolve_as_is(context.address) if as_is else registry.resolve(context.address)[0]
        found = loading.find_loaded(engine)
    except SlobError as error:
        if not as_is:
            raise
        context.tell(f"can't read what is loaded ({error.what}): the plan assumes the defaults")
        return {}
    return loaded_layer(*found) if found else {}


def open_folder(planned: SweepPlan, context: Context) -> SweepFolder:
    """Begin the folder of a new sweep, or open that of an unfinished one with its points pending as `to_do` says."""
    if not planned.folder:
        return SweepFolder.begin(context.results, planned.record)
    folder = SweepFolder.resume(planned.folder)
    folder.save(to_do(planned.folder, folder.record, planned.again, context.tell))
    counts = folder.record.counts
    states = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    context.tell(f"resuming {planned.folder}: {states}")
    return folder


def to_do(path: Path, record: SweepRecord, failures_too: bool, tell: Callable[[str], None]) -> SweepRecord:
    """Return the sweep with every point pending that is to be run again; nothing that was measured is removed."""
    lost = lost_points(path, record)
    if lost:
        number = f"{len(lost)} point{' is' if len(lost) == 1 else 's are'}"
        tell(f"{number} run again: {'; '.join(why for _, why in lost)}")
    record = record.with_pending([point for point, _ in lost])
    return record.with_failures_pending() if failures_too else record
