"""The manifest of a load, the same for every engine: what was loaded, and whether it is still complete."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from openslob._version import __version__
from openslob.core.errors import SlobError
from openslob.core.method import BLOCK_TOLERANCE
from openslob.core.workload import DataSpec
from openslob.engines.facts import DataState, LoadResult
from openslob.engines.tables import AGAIN, PLACEMENT_KEY, DataTable


@dataclass(frozen=True)
class LoadManifest:
    """The manifest's row, and the tables as they are now.

    ``blocks`` are those of each table by name when it was verified, ``blocks_now`` at present. A table may be
    ``growth`` times as large as it was when verified, and ``slack_blocks`` smaller or larger beside the tolerance.
    ``made_container``: the load made the schema or database that the tables are in. ``altered`` says of each table by
    name what somebody changed in it since.
    """

    spec: DataSpec
    verified: bool
    loaded_at: str
    blocks: Mapping[str, int]
    blocks_now: Mapping[str, int]
    growth: float = 1
    slack_blocks: int = 0
    made_container: bool = False
    altered: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether the load was verified and every table is still there, and as large as it was then."""
        return not self.fault

    @property
    def fault(self) -> str:
        """Why no run can be made on these data; empty if they are whole."""
        if not self.verified:
            return "the last load did not finish"
        if not self.blocks:
            return "the manifest of the load is damaged"
        return next(filter(None, (self._fault_of(name, blocks) for name, blocks in self.blocks.items())), "")

    @property
    def has_grown(self) -> bool:
        """Whether the only fault is that tables have grown."""
        faulty = [name for name, blocks in self.blocks.items() if self._fault_of(name, blocks)]
        sound = all(name not in self.altered and self.blocks_now.get(name, 0) > self.blocks[name] for name in faulty)
        return self.verified and bool(faulty) and sound

    def _fault_of(self, name: str, loaded: int) -> str:
        least = loaded * (1 - BLOCK_TOLERANCE) - self.slack_blocks
        most = self.growth * loaded * (1 + BLOCK_TOLERANCE) + self.slack_blocks
        now = self.blocks_now.get(name)
        if now is None:
            return f"the table {name} is no longer there"
        if name in self.altered:
            return f"the table {name} is not as it was loaded: {self.altered[name]}"
        if least <= now <= most:
            return ""
        grown = "grown" if now > loaded else "shrunk"
        allowed = f"{math.ceil(least):,} to {math.floor(most):,} are allowed"
        return f"the table {name} has {grown} from {loaded:,} to {now:,} blocks since the load; {allowed}"

    def data_state(self) -> DataState:
        """Return what is loaded; verified only if it was verified and is still complete."""
        blocks = {int(name[4:]): count for name, count in self.blocks_now.items() if name.startswith("cf1_")}
        return DataState(self.spec, self.is_whole, self.loaded_at, blocks, self.fault, self.has_grown)

    def report_reuse(self, seconds: float, block_size: int) -> LoadResult:
        """Return the result of a load that found its data there; ``seconds`` is how long it took to find out."""
        blocks = sum(self.blocks_now.values())
        checks = {"tables and their blocks": f"{len(self.blocks_now)} tables as verified at {self.loaded_at}"}
        return LoadResult(self.spec, seconds, blocks, blocks * block_size, checks, reused=True)


def parse_blocks(document: object) -> dict[str, int]:
    """Return the blocks by table of a manifest's JSON document, parsed or as text; none if somebody has damaged it."""
    with suppress(ValueError):
        document = json.loads(document) if isinstance(document, str) else document
    whole = isinstance(document, dict) and all(isinstance(count, int) for count in document.values())
    return dict(document) if isinstance(document, dict) and whole else {}


def make_row(spec: DataSpec) -> dict[str, Any]:
    """Return the values of the manifest's row at the beginning of a load, by parameter of the statement."""
    return asdict(spec) | {
        "fingerprint": spec.fingerprint(),
        "placement_key": PLACEMENT_KEY,
        "tool_version": __version__,
    }


def require_all_tables(blocks: Mapping[str, int], tables: Iterable[DataTable]) -> None:
    """Raise SlobError unless ``blocks``, by table name, has exactly ``tables``."""
    expected = {table.name for table in tables}
    if set(blocks) != expected:
        raise SlobError(f"verification failed: {len(blocks)} tables are there, expected {len(expected)}", AGAIN)
