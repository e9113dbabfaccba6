"""Ready-made sweeps of one setting: the values that this server takes, on the loads where they can matter."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from openslob.config.grid import SweepFile, Texts
from openslob.config.server_parameters import SERVER_PARAMETERS
from openslob.core.errors import UsageError
from openslob.core.units import MIB
from openslob.engines import registry
from openslob.engines.managed.base import ReadySetting, ServerSpec
from openslob.engines.managed.resources import check_allowed
from openslob.kinds.sweep.sizing import server_memory

# Sessions with a schema each, so that none waits for another one's row.
_SESSIONS = 4
_REPEATS = 5
_DATA_PER_CACHE = 8
# What cached reads visit, and the tables that are scanned, as parts of the cache. Engines keep a part of a scan.
_CACHED_SHARE, _SCAN_SHARE = 0.5, 1.5
_READS, _WRITES = frozenset({"cached", "physical", "scan"}), frozenset({"commit", "update"})
_ROWS = {"commit": "1", "update": "32"}
_FIGURES = ("ops_per_s", "commits_per_s", "pio_read_mb_per_s", "redo_mb_per_s", "db_cpu_per_s")


def ready_settings() -> dict[str, str]:
    """Return the names of the ready-made sweeps of a setting, of any engine, with what each is about."""
    # Where engines have other words for the same, those of the default one, which is the first.
    engines = reversed(registry.managed_engines())
    return {each.name: each.about for engine in engines for each in registry.ready_settings(engine)}


def refuse_impossible(target: str, name: str) -> None:
    """Raise UsageError if the ready-made sweep ``name`` varies a setting that the target's servers can't have."""
    if name in ready_settings() and "://" not in target:
        ready = _ready(target, name)
        if ready and ready.why_not:
            raise UsageError(f"--ready {name} is not possible on this server: {ready.why_not}")


def of_setting(target: str, name: str, given: Collection[str]) -> SweepFile:
    """Return the sweep of a ready setting on a target; ``given`` are the settings for which the user gave the values.

    UsageError where it can't be run, with the reason.
    """
    refuse_impossible(target, name)
    ready = _ready(target, name)
    if ready is None:
        raise UsageError(f"servers of {target} have no setting for --ready {name}", "slob sweep --ready list")
    file = SweepFile(about=ready.about, repeats=_REPEATS, figures=ready.figures or _FIGURES, grid=_grid(target, ready))
    if ready.loads != ("cached",):
        file = replace(file, data_per_cache=_DATA_PER_CACHE)
    if ready.setting in SERVER_PARAMETERS:
        return replace(file, server={ready.setting: _of_server(target, ready)}, against=ready.setting)
    if ready.setting in (each.lower() for each in given):
        return replace(file, against=ready.setting)
    values, left_out = _values(target, ready)
    notices = tuple(f"left out: {why}" for why in left_out)
    return replace(file, settings={ready.setting: values}, against=ready.setting, notices=notices)


def _ready(target: str, name: str) -> ReadySetting | None:
    """Return the ready setting of this name of the target's engine. UsageError for a target without such settings."""
    own = registry.ready_settings(registry.engine_name(target))
    return next((each for each in own if each.name == name), None)


def _grid(target: str, ready: ReadySetting) -> Texts:
    """Return the parameters of the loads on which a setting can matter, and of those on which it must not."""
    loads = {*ready.loads, *ready.controls}
    memory = server_memory(target)
    cache = (memory.cache_bytes if memory else None) or 0
    grid = {"sessions": [str(_SESSIONS)], "schemas": [str(_SESSIONS)], "run_time": ["20"]}
    grid["update_pct"] = [*(["0"] if loads & _READS else []), *(["100"] if loads & _WRITES else [])]
    if loads & _WRITES:
        grid["update_work_unit"] = [_ROWS[name] for name in ("commit", "update") if name in loads]
    if "scan" in loads:
        grid["scan_pct"] = ["0", "100"]
        grid |= {"scan_table_sz": [_size(_SCAN_SHARE * cache)]} if cache else {}
    if loads == {"cached"}:
        grid |= {"scale": [_size(_CACHED_SHARE * cache)], "mode": ["lio"]} if cache else {"mode": ["lio"]}
    return grid


def _size(of_all: float) -> str:
    return f"{max(1, round(of_all / _SESSIONS / MIB))}M"


def _of_server(target: str, ready: ReadySetting) -> list[str]:
    """Return the values of a parameter of managed servers. UsageError for a target that is none, or a host without."""
    if "://" in target:
        raise UsageError(f"--ready {ready.name} restarts servers", "name a managed one by --target")
    if ready.setting == "huge_pages":
        check_allowed()
        return ["off", *ready.values]
    spec: ServerSpec = registry.find_or_new(target).status().spec
    here = getattr(spec, SERVER_PARAMETERS[ready.setting].field)
    return list(dict.fromkeys([*([str(here)] if here else []), *ready.values]))


def _values(target: str, ready: ReadySetting) -> tuple[list[str], list[str]]:
    """Return the value of the server and the others that it takes, and why it does not take the rest."""
    with registry.known_settings(target) as known:
        setting = known.find(ready.setting)
        values, left_out = [setting.value], []
        for value in ready.values or setting.choices:
            if value.lower() == setting.value.lower():
                continue
            try:
                known.require(setting, value)
                values.append(value)
            except UsageError as error:
                left_out.append(str(error))
    if len(values) == 1:
        why = left_out[0] if left_out else f"it has {setting.name}={setting.value} and takes no other value"
        raise UsageError(
            f"--ready {ready.name} has one value only on this server: {why}", "there is nothing to compare"
        )
    return values, left_out
