"""Collects what a run's record holds besides its figures: workload, server, environment and notes.

It grows while the run goes on. Every record of the run is built from it, also that of a run that failed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from openslob._version import __version__
from openslob.analyze.build_record import build_observation, build_record
from openslob.engines.base import Engine
from openslob.engines.facts import ServerFacts
from openslob.measurement import Measurement, Observed
from openslob.record.model import RecordKind, RunRecord, Status
from openslob.record.store import record_id
from openslob.units import iso


class RecordBuilder:
    """Builds the records of one run or observation, which adds to its facts and notes as they become known."""

    def __init__(
        self,
        engine: Engine,
        facts: ServerFacts,
        spec: Mapping[str, Any],
        name: str,
        *,
        kind: RecordKind = RecordKind.RUN,
        data_bytes: int | None = None,
        notes: Sequence[str] = (),
        sources: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.notes = list(notes)
        self.environment: dict[str, Any] = {}
        self.engine: dict[str, Any] = {
            "name": engine.name,
            "product": facts.product,
            "version": facts.version,
            "target": engine.target,
            "block_size": facts.block_size,
            "cache_bytes": facts.cache_bytes,
            **({"data_bytes": data_bytes} if data_bytes is not None else {}),
            "direct_io": facts.direct_io,
            "connection": dict(facts.connection),
            "settings": dict(facts.settings),
            **({"experimental": facts.experimental} if facts.experimental else {}),
            **({"stand_in": True} if facts.stand_in else {}),
        }
        self._name = name
        self._sources = dict(sources)
        self._spec = spec
        self._kind = kind
        self._started_at = iso(time.time_ns())

    def set_fact(self, fact: str, value: object, why_unknown: str) -> None:
        """Put a fact of the run into ``environment``, with the reason when it is None."""
        self.environment[fact] = value
        if value is None:
            self.environment.setdefault("unknown", {})[fact] = why_unknown

    def without_figures(self, status: Status, errors: tuple[str, ...] = ()) -> RunRecord:
        """Return the record of a run that measured nothing, or nothing yet."""
        return RunRecord(**self._identity(status), kind=self._kind, sources=self._sources, errors=errors)

    def with_figures(self, measured: Observed) -> RunRecord:
        """Return the record of what was measured."""
        status = Status.COMPLETE
        if measured.errors:
            status = Status.FAILED
        elif measured.interrupted:
            status = Status.INTERRUPTED
        if isinstance(measured, Measurement):
            return build_record(measured, **self._identity(status), sources=self._sources)
        return build_observation(measured, **self._identity(status))

    def _identity(self, status: Status) -> Mapping[str, Any]:
        return {
            "id": record_id(self._name, self._started_at),
            "name": self._name,
            "status": status,
            "started_at": self._started_at,
            "openslob_version": __version__,
            "spec": self._spec,
            "environment": self.environment,
            "engine": self.engine,
            "notes": tuple(self.notes),
        }
