"""Collects what a run's record holds besides its figures: workload, server, environment and notes.

It grows while the run goes on. Every record of the run is built from it, also that of a run that failed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from openslob.analyze.build_record import build_record, status_of
from openslob.analyze.load_kinds import LOAD_KINDS
from openslob.analyze.measure import measure, totals_beside
from openslob.analyze.run_tables import TablesInMemory
from openslob.analyze.trace import Trace, trace_of
from openslob.analyze.verdict_registry import RULES_VERSION
from openslob.core.access import AccessKind
from openslob.core.measurement import Observed
from openslob.engines.base import Engine
from openslob.engines.facts import ServerFacts
from openslob.record.facts import FactsRecord, beside, given_of
from openslob.record.model import RecordKind, RunRecord, Status
from openslob.record.raw_csv import Event
from openslob.record.store import RunFolder, new_head


def _list_use_limit(facts: ServerFacts, spec: Mapping[str, Any]) -> dict[str, int]:
    """Return what a prediction of hits needs to be made again, for a run that has one."""
    is_predicted = str(spec.get("access", "")).startswith(AccessKind.ZIPF)
    return {"cache_use_limit": facts.cache_use_limit} if is_predicted and facts.cache_use_limit else {}


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
            **({"flavour": facts.identity.to_record()} if facts.identity else {}),
            **({"programs": facts.programs} if facts.programs else {}),
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
            **({} if facts.clock_us is None else {"clock_us": facts.clock_us}),
            **_list_use_limit(facts, spec),
        }
        # What differences of the engine's counters follow from, if they can be taken again.
        self.counting: Mapping[str, Any] | None = None
        self._sources = dict(sources)
        self._spec = spec
        self._kind = kind
        self._head = new_head(name)

    def set_fact(self, fact: str, value: object, why_unknown: str) -> None:
        """Put a fact of the run into ``environment``, with the reason when it is None."""
        self.environment[fact] = value
        if value is None:
            self.environment.setdefault("unknown", {})[fact] = why_unknown

    def without_figures(self, status: Status, errors: tuple[str, ...] = ()) -> RunRecord:
        """Return the record of a run that measured nothing, or nothing yet."""
        return RunRecord(**self._identity(status), kind=self._kind, sources=self._sources, errors=errors)

    def begin(self, results: Path) -> RunFolder:
        """Begin the record in a folder below ``results``; the tables of what is written there are kept in memory.

        SlobError when it can't be written.
        """
        self._folder = folder = RunFolder.begin(results, self.without_figures(Status.FAILED))
        self._raw, self._tables = folder.raw, TablesInMemory(folder.raw)
        return folder

    def attach(self, name: str, content: str | bytes) -> None:
        """Add a file to the record, such as a report of the server's own; a text without secrets."""
        self.engine.setdefault("attachments", []).append(self._folder.attach(name, content))

    def measure(self, totals: Mapping[str, float] = MappingProxyType({}), unfinished: Collection[int] = ()) -> Observed:
        """Return what was measured by all rows so far, the ``totals`` that no rows say, and nothing else.

        ``unfinished`` are the sessions that were cancelled in their last slice.
        """
        self._raw.flush()
        self._totals, self._unfinished = totals, unfinished
        record = self.without_figures(Status.FAILED)
        self._derived = measure(record, self._tables.read(), totals, unfinished=unfinished)
        return self._derived

    def with_figures(self, measured: Observed) -> RunRecord:
        """Return the record of what was measured: what `measure` returned, and what is known besides.

        The numbers of it that the raw files do not add up to are written into them, and the rest of what is known into
        the record's facts.
        """
        status = status_of(measured)
        for name, value in {**self._totals, **totals_beside(measured, self._derived)}.items():
            self._raw.event(Event.TOTAL, f"{name} {value!r}")
        trace = self._trace(measured.window.load_seconds)
        self._folder.keep(self._facts(measured, status, trace is not None))
        return build_record(measured, trace, kind=self._kind, sources=self._sources, **self._identity(status))

    def _facts(self, measured: Observed, status: Status, has_course: bool) -> FactsRecord:
        more, less = beside(measured, self._derived)
        return FactsRecord(
            rules_version=RULES_VERSION,
            given=given_of(self.without_figures(status)),
            measured=tuple(more),
            unmeasured=tuple(less),
            unfinished=tuple(self._unfinished),
            counting=self.counting,
            has_course=has_course,
        )

    def _trace(self, seconds: float) -> Trace | None:
        """Return the course of the load; None, with a note, if not all rows have times that can be."""
        tables = self._tables.read()
        if self._tables.problem:
            self.notes.append(f"the course of the load is unknown: {self._tables.problem}")
            return None
        return trace_of(tables, seconds, self._raw.events, LOAD_KINDS[self._kind].publishes_late)

    def _identity(self, status: Status) -> Mapping[str, Any]:
        return {
            **self._head,
            "status": status,
            "spec": self._spec,
            "environment": self.environment,
            "engine": self.engine,
            "notes": tuple(self.notes),
        }
