"""openslob: what a database platform can really do, measured by the SLOB method.

Example::

    import openslob

    with openslob.server("big", cache="1G") as big:
        big.load(schemas=8, scale="2G")
        run = big.run(sessions=16, update_pct=10, run_time="30s")
    print(run.answer)

Importing this package is quick: each name imports what it needs on first use, so that reading records does not
wait for database drivers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from openslob._version import __version__

if TYPE_CHECKING:
    from openslob.api.checking import CheckResult, LoadSummary
    from openslob.api.comparison import ComparisonResult
    from openslob.api.functions import ab, endure, lab, load, repeat, run, server, sweep, target
    from openslob.api.progress import Progress
    from openslob.api.reading import (
        bundle,
        compare,
        history,
        read,
        read_ab,
        read_endurance,
        read_lab,
        read_repeated,
        read_storage,
        verify,
    )
    from openslob.api.reported import AbResult, EnduranceResult, LabResult, RepeatedResult, StorageResult
    from openslob.api.results import Results
    from openslob.api.run_result import FigureValue, RunResult
    from openslob.api.table import MissingLibraryError, Table, UnknownNameError
    from openslob.api.targets import Server, Target
    from openslob.core.errors import SlobError, UndecidedError, UsageError, VerdictError

# The module of each public name.
_MODULES = {
    "api.functions": ("ab", "endure", "lab", "load", "repeat", "run", "server", "sweep", "target"),
    "api.reading": (
        *("bundle", "compare", "history", "read", "read_ab", "read_endurance", "read_lab", "read_repeated"),
        *("read_storage", "verify"),
    ),
    "api.checking": ("CheckResult", "LoadSummary"),
    "api.comparison": ("ComparisonResult",),
    "api.progress": ("Progress",),
    "api.reported": ("AbResult", "EnduranceResult", "LabResult", "RepeatedResult", "StorageResult"),
    "api.results": ("Results",),
    "api.run_result": ("FigureValue", "RunResult"),
    "api.table": ("MissingLibraryError", "Table", "UnknownNameError"),
    "api.targets": ("Server", "Target"),
    "core.errors": ("SlobError", "UndecidedError", "UsageError", "VerdictError"),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "AbResult",
    "CheckResult",
    "ComparisonResult",
    "EnduranceResult",
    "FigureValue",
    "LabResult",
    "LoadSummary",
    "MissingLibraryError",
    "Progress",
    "RepeatedResult",
    "Results",
    "RunResult",
    "Server",
    "SlobError",
    "StorageResult",
    "Table",
    "Target",
    "UndecidedError",
    "UnknownNameError",
    "UsageError",
    "VerdictError",
    "__version__",
    "ab",
    "bundle",
    "compare",
    "endure",
    "history",
    "lab",
    "load",
    "read",
    "read_ab",
    "read_endurance",
    "read_lab",
    "read_repeated",
    "read_storage",
    "repeat",
    "run",
    "server",
    "sweep",
    "target",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
