"""Questions about reads, tables and counters: what the server counts, when, and how it reads blocks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from itertools import pairwise

import oracledb

from openslob.core.errors import SlobError
from openslob.core.workload import Workload
from openslob.engines.oracle.connection import Connection, query, statement
from openslob.engines.oracle.counters import OracleCounters
from openslob.engines.oracle.errors import explain_error
from openslob.engines.oracle.names import index
from openslob.engines.oracle.proof_bench import (
    BLOCKS,
    Bench,
    gained,
    others_reads,
    own_figures,
)
from openslob.engines.oracle.slice_procedure import single_hint
from openslob.engines.oracle.tables import checks_of
from openslob.engines.oracle.versions import SINGLE_ROWID_HINT
from openslob.engines.oracle.ways import EVERY_WAY, Ways
from openslob.engines.proofs import Inquiry, NotAskedError, ProofAnswer

_OPERATIONS, _UNIT = 100, 64
_LOOKED_AT = 200
# Blocks that are not in the cache: both direct path writes and the scans of index and statistics go past it.
_COLD = 4096
_MOST_AHEAD = 0.01


def questions(bench: Bench) -> list[Inquiry]:
    """Return the questions that need tables and counters."""
    return [
        Inquiry(5, "when counted", "Do counters hold all of a call at its end?", partial(_moves, bench)),
        Inquiry(6, "rows", "Does 'table fetch by rowid' count the rows that the loop visits?", partial(_rows, bench)),
        Inquiry(7, "single blocks", "Is each block read alone, with the hint and without?", partial(_ahead, bench)),
        Inquiry(8, "plans", "Does the loop read block by block through the index?", partial(_plans, bench)),
        Inquiry(9, "loads", f"Are {BLOCKS:,} blocks as they should be, loaded in each way?", partial(_loads, bench)),
        Inquiry(12, "direct reads", "Can single blocks be read past the cache, by ROWID?", partial(_direct, bench)),
        Inquiry(15, "sampling", "What does reading the counters cost?", partial(_sampling, bench)),
    ]  # fmt: skip


def _moves(bench: Bench) -> ProofAnswer:
    with bench.session(bench.schema(0), Workload(schemas=1, work_unit=_UNIT)) as session, bench.connection() as other:
        sid = session.connection.session_id
        before = others_reads(other, sid)[0]
        values = [before]
        with session.running(2.0) as outcome:
            deadline = time.monotonic() + 1.8
            while time.monotonic() < deadline and not outcome:
                values.append(others_reads(other, sid)[0])
                time.sleep(0.02)
        at_end = others_reads(other, sid)[0]
    result = outcome[0] if outcome else SlobError("the slice did not end")
    if isinstance(result, SlobError):
        raise result
    moved = sum(later > earlier for earlier, later in pairwise(values))
    visits = result.counts.rows_read
    holds = at_end - before >= visits
    seen = f"it moved {moved} times within a call of 2 s; at its end it had {at_end - before:,} for {visits:,} visits"
    return ProofAnswer(holds, seen, {"moves": moved, "counted": at_end - before, "visits": visits})


def _rows(bench: Bench) -> ProofAnswer:
    found = dict[str, float | str]()
    for name, percent in (("selects", 0), ("updates", 100)):
        with bench.session(bench.schema(0), Workload(schemas=1, work_unit=_UNIT, update_pct=percent)) as session:
            session.operations(1)
            before = own_figures(session.connection)
            session.operations(_OPERATIONS)
            found[name] = gained(before, own_figures(session.connection))["table fetch by rowid"]
    visits = _OPERATIONS * _UNIT
    found["visits"] = visits
    seen = f"{_OPERATIONS} SELECTs of {_UNIT} rows: {found['selects']:,}; as many UPDATEs: {found['updates']:,}"
    return ProofAnswer(visits <= float(found["selects"]) <= 1.01 * visits, seen, found)


def _ahead(bench: Bench) -> ProofAnswer:
    with_hint = ["", single_hint(bench.version)] if bench.version >= SINGLE_ROWID_HINT else [""]
    found = dict[str, float | str]()
    for number, hint in enumerate(with_hint, 1):
        name = "with hint" if hint else "without hint"
        figures = _cold_reads(bench, number, hint)
        cached = figures["physical reads cache"]
        if cached < _COLD / 2:
            raise NotAskedError(f"only {cached:,} of {_COLD:,} blocks were read: the others were in the cache")
        found[name] = figures["physical reads cache prefetch"] / cached
    last = list(found.values())[-1]
    seen = f"read ahead of {_COLD:,} blocks: " + ", ".join(
        f"{100 * float(part):.1f} % {name}" for name, part in found.items()
    )
    return ProofAnswer(float(last) <= _MOST_AHEAD, seen, found)


def _cold_reads(bench: Bench, number: int, hint: str) -> Mapping[str, int]:
    """Read a table that nobody has read, in ranges of keys as the loop does; return what the session counted."""
    bench.schema(number, _COLD, cold=True)
    table = bench.table(number, _COLD).relation
    parts = {"into": "", "first_key": ":first_key", "last_key": ":last_key", "single": hint}
    text = " ".join(statement("slice", "select", table=table, index=index(table), **parts).split())
    with bench.connection() as connection:
        before = own_figures(connection)
        for first in range(1, _COLD, _UNIT):
            query(connection, text, {"first_key": first, "last_key": first + _UNIT - 1})
        found = gained(before, own_figures(connection))
    bench.drop(number)
    return found


def _plans(bench: Bench) -> ProofAnswer:
    with bench.session(bench.schema(0), Workload(schemas=1, update_pct=50)) as session:
        try:
            plans = session.loop.plans()
        except SlobError as error:
            return ProofAnswer(False, str(error))
    return ProofAnswer(True, "; ".join(f"{kind}: {plan}" for kind, plan in plans.items()), dict(plans))


def _loads(bench: Bench) -> ProofAnswer:
    """Load the same table in each way; what a way of the server's or driver's refuses is said."""
    texts, found, wrong = list[str](), dict[str, float | str](), list[str]()
    for number, (way, obfuscate) in enumerate(EVERY_WAY, 3):
        name = f"{way.name}, {'incompressible' if obfuscate else 'constant'}"
        began = time.monotonic()
        try:
            bench.schema(number, ways=Ways.only(way, obfuscate), obfuscate=obfuscate)
        except SlobError as error:
            wrong.append(f"{name}: {error.what}")
            continue
        seconds = time.monotonic() - began
        with bench.connection() as connection:
            checks = checks_of(connection, bench.table(number), bench.place)
        bench.drop(number)
        found |= {f"{name}: {each.name}": each.figure for each in checks} | {f"{name}: seconds": seconds}
        bad = [f"{each.name} {each.figure:,.0f}" for each in checks if not each.holds]
        wrong += [f"{name}: {', '.join(bad)}"] if bad else []
        texts.append(f"{name}: {seconds:.1f} s")
    seen = "; ".join([*texts, *(f"NOT {each}" for each in wrong)])
    return ProofAnswer(not wrong, seen, found)


def _direct(bench: Bench) -> ProofAnswer:
    bench.schema(0)
    table = bench.table(0).relation
    with bench.connection() as connection:
        try:
            query(connection, statement("prove", "direct"))
        except oracledb.DatabaseError as error:
            return ProofAnswer(False, explain_error(error))
        keys = ", ".join(str(1 + 37 * step % BLOCKS) for step in range(_LOOKED_AT))
        places = [str(row["place"]) for row in query(connection, statement("prove", "places", table=table, keys=keys))]
        text = statement("prove", "one_block", table=table)
        before = own_figures(connection)
        for place in places:
            query(connection, text, {"place": place})
        found = gained(before, own_figures(connection))
    figures = {name: found[name] for name in ("physical reads direct", "physical reads cache", "physical reads")}
    if not figures["physical reads"]:
        raise NotAskedError("no block was read: all of them were in the cache")
    direct = figures["physical reads direct"]
    cached = figures["physical reads cache"]
    seen = f"{len(places)} blocks by ROWID: {direct:,} read directly, {cached:,} through the cache"
    return ProofAnswer(direct >= 0.9 * len(places), seen, dict(figures))


def _sampling(bench: Bench) -> ProofAnswer:
    with bench.connection() as connection:
        counters = OracleCounters(connection)
        counters.read()
        cpu = _cpu_us(connection)
        began = time.monotonic()
        for _ in range(20):
            counters.read()
        each_ms = (time.monotonic() - began) * 1000 / 20
        used = _cpu_us(connection)
        values = len(counters.read().values)
    figures: dict[str, float | str] = {"ms": each_ms, "values": values}
    text = f"{each_ms:.1f} ms for {values} counters"
    if cpu is not None and used is not None:
        figures["cpu_ms"] = (used - cpu) / 1000 / 20
        text += f", of it {figures['cpu_ms']:.1f} ms of CPU"
    return ProofAnswer(each_ms < 50, text, figures)


def _cpu_us(connection: Connection) -> int | None:
    try:
        return own_figures(connection)["CPU used by this session"] * 10_000
    except NotAskedError:
        return None
