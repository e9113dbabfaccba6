"""Baselines: records kept in a directory of a project or a cache of a pipeline, to compare later runs with.

A baseline is a folder ``<directory>/<name>/`` with the documents of a sweep or of runs, without raw measurements. Their
size suits a repository, and the conditions under which they were measured are in them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from openslob.core.disk import refuse_planted
from openslob.core.errors import SlobError, UsageError
from openslob.kinds.contract import kind_of
from openslob.record import store
from openslob.record.finding import Found
from openslob.record.model import RunRecord
from openslob.record.store import RECORD_FILE

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Baseline:
    """A stored baseline: its name, its folder, and its runs, or why they can't be read."""

    name: str
    path: Path
    runs: tuple[RunRecord, ...]
    problem: str = ""


def save(directory: Path, name: str, records: Sequence[Found], replace: bool) -> Path:
    """Store the documents of these runs and sweeps as a baseline, all of it or nothing, and return its folder.

    Raises:
        UsageError: The name can't be that of a baseline, or is taken.
        SlobError: No run is complete, or the folder can't be written.

    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} can't be a baseline's name", "use up to 80 letters, digits, . - and _")
    place = directory / name
    if os.path.lexists(place) and not replace:
        raise UsageError(f"there is already a baseline {name} in {directory}", "--replace replaces it")
    files = [file for found in records for file in kind_of(found).documents(found)]
    if not any(file.name == RECORD_FILE for _, file in files):
        raise SlobError("none of these runs is complete", "a baseline needs complete runs")
    refuse_planted(place)
    temporary = directory / f".{name}-{token_hex(4)}"
    try:
        for below, file in files:
            (temporary / below).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, temporary / below / file.name)
        _put(temporary, place)
    except OSError as error:
        raise SlobError(f"{place} can't be written: {error.strerror}", "name another directory by --dir") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return place


def find(directory: Path) -> list[Baseline]:
    """Return all baselines in a directory, by name."""
    folders = [path for path in sorted(directory.glob("*")) if _NAME.fullmatch(path.name) and path.is_dir()]
    return [_read(path) for path in folders if store.find(path)]


def get(directory: Path, name: str) -> Baseline:
    """Return the baseline of this name. UsageError, which names those that there are, if there is none."""
    found = {each.name: each for each in find(directory)}
    if name not in found:
        there = f"there are {', '.join(found)}" if found else "`slob baseline save` makes one"
        raise UsageError(f"there is no baseline {name!r} in {directory}", there)
    return found[name]


def remove(directory: Path, name: str) -> None:
    """Remove a baseline. UsageError if there is none of this name."""
    shutil.rmtree(get(directory, name).path)


def _put(new: Path, place: Path) -> None:
    """Put a complete folder in the place of another one, if there is one."""
    old = new.with_name(f"{new.name}-old")
    if os.path.lexists(place):
        place.rename(old)
    new.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _read(path: Path) -> Baseline:
    entries = store.find(path)
    problem = next((entry.problem for entry in entries if entry.problem), "")
    return Baseline(path.name, path, tuple(entry.record for entry in entries if entry.record), problem)
