"""Questions about the work loop: whether it compiles, commits, sleeps and ends as it was written to."""

from __future__ import annotations

import time
from functools import partial

from openslob.core.errors import SlobError
from openslob.core.workload import CommitMode, RedoStress, Workload
from openslob.engines.oracle import names
from openslob.engines.oracle.connection import Connection, outputs, query, statement
from openslob.engines.oracle.proof_bench import Bench, BenchSession, gained, one_line, own_figures, readable
from openslob.engines.oracle.session import clock
from openslob.engines.oracle.versions import sleep_procedure
from openslob.engines.proofs import Inquiry, NotAskedError, ProofAnswer

_COMMITS = 1000
# A digit for each of the four things that `elements` in prove.sql tries.
_ALL_HOLD = 1111
# A slice that is cancelled, and one whose driver is killed, in s.
_LONG_S, _SLICE_S = 20.0, 3.0
# 2,000,000,000 * 1,664,525 + 1 modulo 2^32, as a signed number.
_WRAPPED = (2_000_000_000 * 1_664_525 + 1 + 2**31) % 2**32 - 2**31
# µs since the epoch, as the block has them.
_MOMENT = 1_795_344_311_123_457
_READS = Workload(schemas=1, work_unit=64)
_TWO_UPDATES = Workload(schemas=1, work_unit=64, update_pct=50)
# Workloads whose procedures differ in their text.
_VARIANTS = {
    "reads and updates": Workload(schemas=1, update_pct=50, scan_pct=20),
    "all columns, incompressible": Workload(
        schemas=1,
        update_pct=50,
        redo_stress=RedoStress.HEAVY,
        obfuscate_columns=True,
        commit_mode=CommitMode.NOWAIT,
    ),
    "a rate, think time, commits by the engine": Workload(
        schemas=1, update_pct=50, target_ops=100, think_tm_frequency=5, commit_mode=CommitMode.ENGINE
    ),
}  # fmt: skip


def questions(bench: Bench) -> list[Inquiry]:
    """Return the questions that need the work loop and its clock."""
    return [
        Inquiry(1, "compile", "Does the work loop compile, without errors?", partial(_compiles, bench)),
        Inquiry(2, "clock", "Does the server's clock have µs, and what does reading it cost?", partial(_clock, bench)),
        Inquiry(3, "sleep", "How long is a sleep of 10 ms?", partial(_sleep, bench)),
        Inquiry(
            *(4, "commits", f"Do {_COMMITS:,} commits wait for the log as COMMIT_MODE says?"), partial(_commits, bench)
        ),
        Inquiry(10, "tables", "Do tables of tables, integers that wrap and moments work?", partial(_elements, bench)),
        Inquiry(
            *(11, "speed", "What do random numbers cost, and machine code gain?"), partial(_speed, bench)
        ),
        Inquiry(13, "cancel", "Does a cancel end a slice, and can the session go on?", partial(_cancel, bench)),
        Inquiry(
            *(14, "killed", "Is a session gone with its slice when its driver is killed?"), partial(_killed, bench)
        ),
    ]  # fmt: skip


def _compiles(bench: Bench) -> ProofAnswer:
    schema, errors, warnings = bench.schema(0), list[str](), set[str]()
    with bench.connection() as connection:
        query(connection, statement("prove", "warnings"))
        for name, workload in _VARIANTS.items():
            for row in bench.install(connection, schema, workload):
                text = f"line {row['line']}: {one_line(row['text'])}"
                if row["attribute"] == "ERROR":
                    errors.append(f"{name}: {text}")
                else:
                    warnings.add(f"PLW-{int(row['message_number']):05}")
    figures: dict[str, float | str] = {
        "variants": len(_VARIANTS),
        "errors": len(errors),
        "warnings": " ".join(sorted(warnings)),
    }
    warned = f"; warnings {', '.join(sorted(warnings))}" if warnings else "; no warnings"
    if errors:
        return ProofAnswer(False, "; ".join(errors), figures)
    return ProofAnswer(True, f"{len(_VARIANTS)} variants compile{warned}", figures)


def _clock(bench: Bench) -> ProofAnswer:
    with bench.connection() as connection:
        found = {name: float(value) for name, value in clock(connection).items()}
    step, cost = found["clock_step_us"], found["clock_cost_us"]
    holds = 0 < step <= 1.5 and cost <= 5
    return ProofAnswer(holds, f"steps of {step:g} µs; reading it takes {cost:g} µs", found)


def _sleep(bench: Bench) -> ProofAnswer:
    sleep = sleep_procedure(bench.version)
    with bench.connection() as connection:
        kinds = dict.fromkeys(("least_ms", "mean_ms", "most_ms"), float)
        found = {
            name: float(value)
            for name, value in outputs(connection, statement("prove", "sleeps", sleep=sleep), kinds).items()
        }
    seen = f"{found['least_ms']:.1f} to {found['most_ms']:.1f} ms, {found['mean_ms']:.1f} ms on average"
    # Whole hundredths of a second, and a wake-up that is late by less than one.
    return ProofAnswer(5 <= found["mean_ms"] <= 25, seen, found)


def _commits(bench: Bench) -> ProofAnswer:
    schema, waits = bench.schema(0), dict[str, float]()
    for mode in CommitMode:
        workload = Workload(schemas=1, update_pct=100, work_unit=1, commit_mode=mode)
        with bench.session(schema, workload) as session:
            before = own_figures(session.connection)
            session.operations(_COMMITS)
            waits[mode.value] = gained(before, own_figures(session.connection))["redo synch writes"]
    holds = waits["wait"] >= _COMMITS and waits["nowait"] < _COMMITS / 10
    seen = f"commits that waited, of {_COMMITS:,}: " + ", ".join(f"{mode} {n:,.0f}" for mode, n in waits.items())
    return ProofAnswer(holds, seen, dict(waits))


def _elements(bench: Bench) -> ProofAnswer:
    with bench.connection() as connection:
        found = {
            name: int(outputs(connection, statement("prove", name), {"found": int})["found"])
            for name in ("elements", "wraps", "moments")
        }
    wanted = {"elements": _ALL_HOLD, "wraps": _WRAPPED, "moments": _MOMENT}
    seen = (
        f"tables of tables {found['elements']} of {_ALL_HOLD}, product {found['wraps']:,} of {_WRAPPED:,}, "
        f"moment {found['moments']:,} µs of {_MOMENT:,}"
    )
    return ProofAnswer(found == wanted, seen, dict(found))


def _speed(bench: Bench) -> ProofAnswer:
    schema, found = bench.schema(0), dict[str, float | str]()
    with bench.connection() as connection:
        numbers = outputs(connection, statement("prove", "numbers"), {"own_us": float, "server_us": float})
    found |= {name: float(value) for name, value in numbers.items()}
    for kind in ("NATIVE", "INTERPRETED"):
        for unit in (1, 64):
            with bench.session(schema, Workload(schemas=1, work_unit=unit), kind) as session:
                result = session.seconds(1.0)
                found[f"{kind.lower()}_ops_per_s_{unit}"] = 1e6 * result.counts.ops / result.busy_us
        found[f"{kind.lower()}_is"] = _compiled_as(bench, schema)
    seen = (
        f"a random number takes {found['own_us']:.2f} µs, one of DBMS_RANDOM {found['server_us']:.2f} µs; operations/s "
        f"at WORK_UNIT 1: {found['native_ops_per_s_1']:,.0f} native, {found['interpreted_ops_per_s_1']:,.0f} "
        f"interpreted; at 64: {found['native_ops_per_s_64']:,.0f} and {found['interpreted_ops_per_s_64']:,.0f}"
    )
    return ProofAnswer(numbers["own_us"] < numbers["server_us"], seen, found)


def _compiled_as(bench: Bench, schema: int) -> str:
    with bench.connection() as connection:
        rows = query(connection, statement("prove", "compiled_as"), {"program": names.procedure(schema)})
    return str(rows[0]["plsql_code_type"]) if rows else "unknown"


def _cancel(bench: Bench) -> ProofAnswer:
    with bench.session(bench.schema(0), _TWO_UPDATES) as session:
        if not session.connection.takes_cancel:
            raise SlobError("with TLS, sessions are cut off instead of cancelled", "ask over a connection without TLS")
        with session.running(_LONG_S) as outcome:
            time.sleep(0.5)
            began = time.monotonic()
            took = session.loop.cancel()
        ended_s = time.monotonic() - began
        again = _goes_on(session)
    how = str(outcome[0]) if outcome and isinstance(outcome[0], SlobError) else "the slice went on to its end"
    holds = took and again and "ORA-01013" in how and ended_s < 2
    after = "the session went on" if again else "the session was lost"
    seen = f"the slice ended {ended_s:.2f} s after the cancel ({how}); {after}"
    return ProofAnswer(holds, seen, {"ended_s": ended_s, "went_on": str(again)})


def _goes_on(session: BenchSession) -> bool:
    try:
        return session.operations(10).counts.ops == 10
    except SlobError:
        return False


def _killed(bench: Bench) -> ProofAnswer:
    """Break a connection off in the middle of a slice, as the system does when the driver is killed."""
    with bench.session(bench.schema(0), _READS) as session, bench.connection() as other:
        if session.connection.own_socket is None:
            raise NotAskedError("in thick mode nothing but the client library can break a connection off")
        who = {"sid": session.connection.session_id, "serial": session.connection.raw.serial_num}
        _status(other, who)
        with session.running(_SLICE_S):
            time.sleep(0.5)
            began = time.monotonic()
            session.connection.cut()
            while _status(other, who) and time.monotonic() < began + _LONG_S:
                time.sleep(0.05)
            gone_s = time.monotonic() - began
    limit = _SLICE_S + 1
    gone = f"gone after {gone_s:.1f} s" if gone_s < _LONG_S else f"still there after {gone_s:.0f} s"
    return ProofAnswer(gone_s < limit, f"{gone}; its slice was {_SLICE_S:g} s", {"gone_s": gone_s, "slice_s": _SLICE_S})


def _status(connection: Connection, who: dict[str, int]) -> str:
    rows = readable(connection, "is_there", who, "needs SELECT on V_$SESSION")
    return str(rows[0]["status"]) if rows else ""
