"""Ready-made sweeps: each is a sweep file beside this one, as a user would write it, called by its name."""

from __future__ import annotations

from pathlib import Path

from openslob.config.grid import SweepFile, read_sweep_file
from openslob.errors import UsageError

_FOLDER = Path(__file__).parent / "ready"


def ready_names() -> list[str]:
    """Names of the ready-made sweeps, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def ready_sweep(name: str) -> SweepFile:
    """The ready-made sweep of this name; UsageError when there is none."""
    if name not in ready_names():
        raise UsageError(f"no sweep {name!r} is ready-made", f"there are {', '.join(ready_names())}")
    return read_sweep_file(_FOLDER / f"{name}.toml")
