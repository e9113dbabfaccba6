"""What a new sweep asks for, from the command line or from Python, and how an unfinished one is taken up again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from openslob.analyze.curves.series import latency_figure, parse_latency_us
from openslob.config.grid import SweepFile, read_sweep_file, resolve_grid
from openslob.config.layers import Layer
from openslob.config.server_parameters import server_grid
from openslob.core.errors import UsageError
from openslob.core.secrets import Target
from openslob.kinds.run.settings import SettingsGrid, ask_settings, assume_settings
from openslob.kinds.sweep.create import new_sweep, ready_names, ready_sweep
from openslob.kinds.sweep.plan import made_with
from openslob.kinds.sweep.ready_settings import of_setting, ready_settings, refuse_impossible
from openslob.kinds.sweep.record import SearchRecord, SweepFolder, SweepRecord, lost_points
from openslob.kinds.sweep.sizing import ServerMemory
from openslob.record.varied import Value

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class SweepRequest:
    """A new sweep: a sweep file, and what takes precedence over it.

    ``texts`` are the values of parameters by field name, ``servers`` those of server parameters by their name.
    ``until_steady`` is the longest warm-up in seconds if it lasts until the throughput is steady.
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

    def has_own_servers(self, settings: SettingsGrid) -> bool:
        """Return whether the sweep varies what servers are made with, so that it makes servers of its own."""
        return bool(made_with({**self._servers, **settings.values}, settings.effects))

    @property
    def _servers(self) -> Mapping[str, tuple[Value, ...]]:
        return server_grid({**self.file.server, **self.servers})

    def asked_settings(self, target: Target) -> SettingsGrid:
        """Ask the target's servers for the settings of the sweep, and try the values. UsageError if it can't be run."""
        return ask_settings(target.reveal(), self._settings, self._servers)

    @property
    def _settings(self) -> Texts:
        return {**self.file.settings, **self.settings}

    def record(
        self,
        target: Target,
        config: Path | None,
        environment: Mapping[str, str],
        loaded: Layer = MappingProxyType({}),
        memory: ServerMemory | None = None,
        settings: SettingsGrid | None = None,
    ) -> SweepRecord:
        """Return the record of the sweep, with all its points pending. UsageError if it can't be run.

        ``loaded`` are the parameters of the data that the target has (`loaded_layer`), ``memory`` is its memory,
        ``settings`` what `asked_settings` returned. Nothing is connected: without them, a request is examined before
        any server is asked or started.
        """
        servers = self._servers
        settings = settings or assume_settings(self._settings)
        found = resolve_grid({**self.file.grid, **self.texts}, config, environment, loaded)
        found = replace(found, notices=(*self.file.notices, *found.notices))
        return new_sweep(
            self.name,
            target.shown,
            found,
            servers,
            self.repeats or self.file.repeats or 1,
            self.until_steady,
            self.search,
            self._compared({**servers, **settings.values, **found.values}),
            self.file.figures,
            memory,
            self.file.data_per_cache,
            settings,
        )

    def _compared(self, varied: Mapping[str, tuple[Value, ...]]) -> str | None:
        """Return the parameter whose two values are compared.

        None if the parameter of the sweep file is given another number of values than two.
        """
        if self.against:
            return self.against.replace("-", "_")
        return self.file.against if len(varied.get(self.file.against or "", ())) == 2 else None


def search_for(under: str, at: str, most: int) -> SearchRecord:
    """Return the search for the most IOPS with a latency below ``under``. UsageError for a value that is not one."""
    latency_figure(at)
    try:
        return SearchRecord(limit_us=parse_latency_us(under), at=at, most_sessions=most)
    except UsageError as error:
        raise UsageError(f"--find-max-iops-under: {error.what}", error.remedy) from None


def sweep_file(
    grid: Path | None, ready: str | None, target: Target | None = None, settings: Collection[str] = ()
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


def resume(path: Path, failures_too: bool, tell: Callable[[str], None]) -> SweepFolder:
    """Open the folder of an unfinished sweep with its points pending as `to_do` says; ``tell`` gets what is done."""
    folder = SweepFolder.resume(path)
    folder.save(to_do(path, folder.record, failures_too, tell))
    counts = folder.record.counts
    tell(f"resuming {path}: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count))
    return folder


def to_do(path: Path, record: SweepRecord, failures_too: bool, tell: Callable[[str], None]) -> SweepRecord:
    """Return the sweep with every point pending that is to be run again; nothing that was measured is removed."""
    lost = lost_points(path, record)
    if lost:
        number = f"{len(lost)} point{' is' if len(lost) == 1 else 's are'}"
        tell(f"{number} run again: {'; '.join(why for _, why in lost)}")
    record = record.with_pending([point for point, _ in lost])
    return record.with_failures_pending() if failures_too else record
