"""openslob: what a database platform can really do, measured by the SLOB method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openslob._version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from openslob.api import Results

__all__ = ["__version__", "load"]


def load(path: str | Path) -> Results:
    """Everything in the folder of a run, of a sweep, or of many of both (`openslob.api.Results`)."""
    # Only notebooks want this: the command line does not wait for the analysis to be imported.
    from openslob.api import load as load_results  # noqa: PLC0415

    return load_results(path)
