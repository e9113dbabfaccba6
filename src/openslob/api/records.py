"""Runs of records as objects: `kinds.runs` finds and reads them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path

from openslob.api.results import Results
from openslob.kinds import runs
from openslob.kinds.runs import Runs, histories, run_of

__all__ = ["find", "histories", "joined", "load", "run_of"]


def load(path: str | Path, figures: Collection[str] | None = None) -> Results:
    """Read all runs in a folder, as `kinds.runs.load` does."""
    return _as_results(runs.load(path, figures))


def find(wanted: str, results: Path, figures: Collection[str] | None = None) -> Results:
    """Read the runs that a command's argument names, as `kinds.runs.find` does."""
    return _as_results(runs.find(wanted, results, figures))


def joined(several: Sequence[Runs]) -> Results:
    """Return several results as one; a run that is in two of them counts once."""
    return _as_results(runs.joined(several))


def _as_results(found: Runs) -> Results:
    return Results(**{each.name: getattr(found, each.name) for each in fields(Runs)})
