"""A record made again of its raw files and its facts, by the functions that made it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from openslob._version import __version__
from openslob.analyze.build_record import build_record, status_of
from openslob.analyze.load_kinds import load_kind
from openslob.analyze.measure import measure, totals_in
from openslob.analyze.other_sessions import ours_alone, shares_pct
from openslob.analyze.run_folder import read_tables
from openslob.analyze.run_tables import RunTables
from openslob.analyze.trace import trace_of
from openslob.analyze.verdict_registry import RULES_FACT, RULES_VERSION
from openslob.core.errors import SlobError
from openslob.core.measurement import EngineDelta, Measurement, Observed
from openslob.metrics import add_costs
from openslob.metrics.cost import price_of
from openslob.record import facts as known
from openslob.record.facts import FactsRecord
from openslob.record.model import RecordKind, RunRecord
from openslob.record.raw_csv import RESTORE, Event, event_rows
from openslob.record.store import to_document
from openslob.record.versions import RUN

# What the rules say. All else of a record is the same under any of them.
JUDGED = frozenset({"verdicts", "episodes"})
Part = tuple[known.Path, Any, Any]
_VERSION = ("record_version",)
# Sentences on what was computed.
SENTENCES = frozenset({"why", "evidence"})
# Sums of fractions depend on their order, and so do figures of them.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Rebuilt:
    """A record made again, the measurement that it is of, and what the tables of rows alone say of that."""

    record: RunRecord
    measured: Observed
    derived: Observed
    tables: RunTables


def rebuild(folder: Path, seconds: float, facts: FactsRecord, counted: EngineDelta | None) -> Rebuilt:
    """Make the record of the load in ``folder``, of about so many seconds, again.

    ``counted`` is what the engine counted by its own readings; None if these do not say it. SlobError for a damaged
    file.
    """
    given = RUN.parse(dict(facts.given), known.FACTS_FILE)
    events = event_rows(folder)
    try:
        totals, of_window = totals_in(events), {each.kind: each.text for each in events}
        begin_ns, offset_ns = (int(of_window.get(kind, 0)) for kind in (Event.BEGIN_NS, Event.CLOCK_OFFSET_NS))
    except ValueError as error:
        raise SlobError(f"{folder / 'events.csv'} is damaged: {error}", RESTORE) from error
    tables = read_tables(folder, begin_ns, offset_ns, seconds)
    derived = measure(given, tables, totals, unfinished=facts.unfinished)
    measured = known.complete(derived, facts)
    if counted is not None and measured.window.counter_seconds:
        measured = with_counted(measured, counted)
    publishes_late = load_kind(given).publishes_late
    trace = trace_of(tables, measured.window.load_seconds, events, publishes_late) if facts.has_course else None
    record = build_record(
        measured,
        trace,
        kind=given.kind,
        id=given.id,
        name=given.name,
        status=status_of(measured),
        started_at=given.started_at,
        openslob_version=given.openslob_version,
        spec=given.spec,
        environment=given.environment,
        engine=given.engine,
        sources=given.sources,
        notes=given.notes,
    )
    price = price_of(record)
    if price and record.kind is RecordKind.OBSERVATION:
        record = add_costs(record, price)
    return Rebuilt(record, measured, derived, tables)


def with_counted(measured: Observed, counted: EngineDelta) -> Observed:
    """Return the measurement with what the engine counted, and all that follows from it."""
    shares = shares_pct(counted, measured.window.counter_seconds)
    if not isinstance(measured, Measurement):
        return replace(measured, engine=counted)
    parts = counted.by_instance or [counted] * len(measured.instances)
    instances = [replace(each, engine=part) for each, part in zip(measured.instances, parts, strict=True)]
    others = replace(measured.others, shares_pct=shares)
    return ours_alone(replace(measured, engine=counted, instances=instances, others=others))


def compare(record: RunRecord, version: object, again: RunRecord, facts: FactsRecord) -> Iterator[Part]:
    """Yield each part of a record, whose document is of this ``version``, beside the same one made again, by its path.

    It is None where there is none. Under other rules than the record's nothing is compared that they say; and of a
    record of another version of openslob, which may word sentences in another way and have fewer figures, no sentence
    and nothing that it does not state.
    """
    written, made = (dict(known.leaves(to_document(each))) for each in (record, again))
    written[_VERSION] = version
    made |= {_VERSION: facts.given.get(_VERSION[0]), ("environment", RULES_FACT): facts.rules_version}
    skipped = frozenset[str]() if facts.rules_version == RULES_VERSION else JUDGED
    ours = facts.given.get("openslob_version") == __version__
    for path in dict.fromkeys([*written, *made]):
        if path[0] not in skipped and (ours or (path in written and path[-1] not in SENTENCES)):
            yield path, written.get(path), made.get(path)


def changed_judgements(record: RunRecord, again: RunRecord) -> Mapping[str, str]:
    """Return what the present rules say of each verdict of whose outcome the record says otherwise, by its name."""
    now = {each.name: str(each.verdict) for each in again.verdicts}
    return {each.name: now[each.name] for each in record.verdicts if now.get(each.name, each.verdict) != each.verdict}
