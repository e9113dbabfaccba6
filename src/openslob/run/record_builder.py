"""Collects what a run's record holds besides its figures: workload, server, environment and notes.

It grows while the run goes on. Every record of the run is built from it, also that of a run that failed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from openslob._version import __version__
from openslob.analyze.build_record import build_record
from openslob.engines.base import Engine
from openslob.engines.facts import ServerFacts
from openslob.measurement import Measurement
from openslob.record.model import RunRecord, Status
from openslob.record.store import record_id
from openslob.run.preflight import active_bytes
from openslob.units import iso
from openslob.workload import Workload


class RecordBuilder:
    """Builds the records of one run, which adds to ``notes``, ``engine`` and ``environment`` as facts become known."""

    def __init__(
        self,
        engine: Engine,
        facts: ServerFacts,
        workload: Workload,
        name: str,
        notes: Sequence[str],
        sources: Mapping[str, str],
    ) -> None:
        self.notes = list(notes)
        self.environment: dict[str, Any] = {}
        self.data_bytes = active_bytes(workload, facts.block_size)
        self.engine: dict[str, Any] = {
            "name": engine.name,
            "product": facts.product,
            "version": facts.version,
            "target": engine.target,
            "block_size": facts.block_size,
            "cache_bytes": facts.cache_bytes,
            "data_bytes": self.data_bytes,
            "direct_io": facts.direct_io,
            "connection": dict(facts.connection),
            "settings": dict(facts.settings),
            **({"experimental": facts.experimental} if facts.experimental else {}),
            **({"stand_in": True} if facts.stand_in else {}),
        }
        self._name = name
        self._sources = dict(sources)
        self._spec = workload.to_record()
        self._started_at = iso(time.time_ns())

    def set_fact(self, fact: str, value: object, why_unknown: str) -> None:
        """Put a fact of the run into ``environment``, with the reason when it is None."""
        self.environment[fact] = value
        if value is None:
            self.environment.setdefault("unknown", {})[fact] = why_unknown

    def without_figures(self, status: Status, errors: tuple[str, ...] = ()) -> RunRecord:
        """Return the record of a run that measured nothing, or nothing yet."""
        return RunRecord(**self._identity(status), errors=errors)

    def with_figures(self, measurement: Measurement) -> RunRecord:
        """Return the record of what was measured."""
        status = Status.COMPLETE
        if measurement.errors:
            status = Status.FAILED
        elif measurement.interrupted:
            status = Status.INTERRUPTED
        return build_record(measurement, **self._identity(status))

    def _identity(self, status: Status) -> Mapping[str, Any]:
        return {
            "id": record_id(self._name, self._started_at),
            "name": self._name,
            "status": status,
            "started_at": self._started_at,
            "openslob_version": __version__,
            "spec": self._spec,
            "sources": self._sources,
            "environment": self.environment,
            "engine": self.engine,
            "notes": tuple(self.notes),
        }
