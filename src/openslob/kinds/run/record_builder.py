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
from openslob.analyze.load_kinds import LOAD_KINDS
from openslob.analyze.measure import totals_beside
from openslob.analyze.run_folder import course_of, read_tables
from openslob.analyze.trace import Trace
from openslob.core.errors import SlobError
from openslob.core.units import NANOS, iso
from openslob.engines.base import Engine
from openslob.engines.facts import ServerFacts
from openslob.metrics.measurement import Measurement, Observed
from openslob.record.model import RecordKind, RunRecord, Status
from openslob.record.raw_csv import Event
from openslob.record.store import RunFolder, record_id


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
            **({"server_started_at": facts.started_at} if facts.started_at else {}),
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

    def with_figures(self, measured: Observed, folder: RunFolder) -> RunRecord:
        """Return the record of what was measured, also by the course of the load in the raw files of its folder."""
        status = Status.COMPLETE
        if measured.errors:
            status = Status.FAILED
        elif measured.interrupted:
            status = Status.INTERRUPTED
        trace = self._trace(measured, folder)
        if isinstance(measured, Measurement):
            return build_record(measured, trace, **self._identity(status), sources=self._sources)
        return build_observation(measured, trace, **self._identity(status))

    def _trace(self, measured: Observed, folder: RunFolder) -> Trace | None:
        """Return the course of the load; None, with a note, if the raw files can't be read back.

        What those do not add up to is written into them.
        """
        window = measured.window
        offset_ns = round(float(self.environment.get("server_clock_offset_s") or 0) * NANOS)
        folder.raw.flush()
        try:
            tables = read_tables(folder.path, window.load_start_ns, offset_ns, window.load_seconds)
            for name, value in totals_beside(measured, tables).items():
                folder.raw.event(Event.TOTAL, f"{name} {value!r}")
            return course_of(folder.path, tables, window.load_seconds, LOAD_KINDS[self._kind].publishes_late)
        except (SlobError, OSError) as error:
            self.notes.append(f"the course of the load is unknown: {error}")
            return None

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
