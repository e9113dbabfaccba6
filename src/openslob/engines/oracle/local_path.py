"""The local path, which this engine does not have yet."""

from __future__ import annotations

from collections.abc import Iterator

from openslob.core.errors import UsageError
from openslob.core.workload import BlockPath, Workload
from openslob.engines.facts import Finding

_NO_LOCAL_PATH = Finding(
    "block path",
    "BLOCK_PATH=local: Oracle reads single blocks through the cache that all sessions share, and only"
    " whole tables into private memory",
    "set BLOCK_PATH=shared",
    blocking=True,
)


def refused_path(workload: Workload) -> Iterator[Finding]:
    """Yield the finding about a path of blocks that this engine does not have."""
    if workload.block_path is BlockPath.LOCAL:
        yield _NO_LOCAL_PATH


def require_shared(workload: Workload) -> None:
    """Raise UsageError for a path of blocks that this engine does not have."""
    for finding in refused_path(workload):
        raise UsageError(finding.why, finding.remedy)
