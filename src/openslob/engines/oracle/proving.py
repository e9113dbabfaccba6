"""The questions that only a real Oracle can answer, on small tables of their own: `slob check --prove`."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise

import oracledb

from openslob.core.access import Access, AccessKind, KeyLaw
from openslob.core.errors import SlobError
from openslob.core.workload import CommitMode, RedoStress, Workload
from openslob.engines.oracle import names
from openslob.engines.oracle.connection import Connection, execute_block, query, statement
from openslob.engines.oracle.counters import LATE_S, MOST_S, OracleCounters
from openslob.engines.oracle.errors import explain_error
from openslob.engines.oracle.names import index
from openslob.engines.oracle.proof_bench import (
    BLOCKS,
    Bench,
    BenchSession,
    count_others_reads,
    join_lines,
    read_own_figures,
    read_rows,
    subtract,
)
from openslob.engines.oracle.server_facts import Survey
from openslob.engines.oracle.session import measure_clock
from openslob.engines.oracle.slice_procedure import choose_hint
from openslob.engines.oracle.tables import IN_USE, Way, check_table, list_ways
from openslob.engines.oracle.target import ConnectParams
from openslob.engines.oracle.versions import SINGLE_ROWID_HINT, own_view, sleep_procedure
from openslob.engines.proofs import Inquiry, NotAskedError, ProofAnswer, Proving
from openslob.engines.slice_io import law_parameters
from openslob.engines.tables import Check

_WHERE = "docs/oracle.md says where"
# Values of settings that name nothing: numbers with units, and the words that settings are made of.
_PLAIN = re.compile(
    r"[\d.,]+ ?[KMGTB%]*|TRUE|FALSE|YES|NO|ON|OFF|NONE|AUTO|MANUAL|FORCE|FORCE_WAIT|WAIT|NOWAIT|IMMEDIATE|BATCH|TYPICAL"
    r"|ALL|BASIC|FULL|LOW|MEDIUM|SETALL|DIRECTIO|ASYNCH|EXACT|SIMILAR|ALL_ROWS|FIRST_ROWS\w*|NATIVE|INTERPRETED|READ"
    r"|NOARCHIVELOG|ARCHIVELOG|PRIMARY|PHYSICAL STANDBY|READ WRITE|READ ONLY.*|MAXIMUM \w+|DIAGNOSTIC(?:\+TUNING)?"
    r"|ENABLED|DISABLED|DB|DB_EXTENDED|OS|XML|DEFERRED|ONLY|[\w ]+ Edition|\d+ x [\d.]+ [KMGT]?B(?:, \d+ x .*)?"
    r"|Linux [\w ]+-bit|",
    re.IGNORECASE,
)
# Names in the answers to statements of facts.sql.
_NAMES = {
    "identity": ("user_name", "default_tablespace", "db_unique_name", "instance_name", "service_name"),
    "instance": ("instance_name", "host_name"),
    "database": ("name",),
    "container": ("con_name",),
}
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
# Draws of `drawn_keys` in prove.sql, from so few keys that the answer is one text, and its generator's first state.
_DRAWS, _LAW, _FIRST_STATE = 20_000, KeyLaw(0.99, 300), 12_345
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
    "keys by a Zipf law": Workload(schemas=1, update_pct=50, access=Access(AccessKind.ZIPF, 0.99)),
}  # fmt: skip
_OPERATIONS, _UNIT = 100, 64
_LOOKED_AT = 200
# Blocks that are not in the cache: both direct path writes and the scans of index and statistics go past it.
_COLD = 4096
_MOST_AHEAD = 0.01
# So many batches of a load; blocks between two of them that stay empty, of those of a batch of a real load.
_BATCHES, _MOST_GAP = 5, 20
# More sessions while the counters by session are read.
_MANY = 32
_SCANS = 20


@contextmanager
def open_questions(connect: Callable[[str], Connection], params: ConnectParams) -> Iterator[Proving]:
    """Return the questions; when the block ends, everything that they made is dropped.

    ``connect`` opens a connection with a purpose. The target's lock is to be held.
    """
    bench = Bench(connect, params)
    try:
        with bench.connect() as connection:
            mode, named = "thin" if connection.raw.thin else "thick", _collect_names(connection, params)
        about = {"driver": f"python-oracledb {oracledb.__version__}, {mode} mode"}
        yield Proving(list_questions(bench), about, named, is_plain, _WHERE)
    finally:
        bench.clean()


def is_plain(value: str) -> bool:
    """Return whether a setting's value is a number or a usual word, and not the name of a host, user or file."""
    return bool(_PLAIN.fullmatch(value))


def _collect_names(connection: Connection, params: ConnectParams) -> list[str]:
    survey = Survey(connection)
    found = [str(survey.row(source).get(column) or "") for source, columns in _NAMES.items() for column in columns]
    found += [str(value) for name, value in params.arguments.items() if name in ("user", "host", "dsn", "service_name")]
    return [name for name in dict.fromkeys([*found, params.tablespace or ""]) if name]


def list_questions(bench: Bench) -> list[Inquiry]:
    """Return the questions about the work loop and its clock, and those about tables, reads and counters."""
    questions: list[tuple[str, str, Callable[[Bench], ProofAnswer]]] = [
        ("compile", "Does the work loop compile, without errors?", _ask_compile),
        ("clock", "Does the server's clock have µs, and what does reading it cost?", _ask_clock),
        ("sleep", "How long is a sleep of 10 ms?", _ask_sleep),
        ("commits", f"Do {_COMMITS:,} commits wait for the log as COMMIT_MODE says?", _ask_commits),
        ("when counted", "Do counters hold all of a call at its end?", _ask_when_counted),
        ("rows", "Does 'table fetch by rowid' count the rows that the loop visits?", _ask_rows),
        ("single blocks", "Is each block read alone, with the hint and without?", _ask_single_blocks),
        ("plans", "Does the loop read block by block through the index?", _ask_plans),
        ("loads", f"Are {BLOCKS:,} blocks as they should be, in each way and in {_BATCHES} batches?", _ask_loads),
        ("tables", "Do tables of tables, integers that wrap and moments work?", _ask_tables),
        ("speed", "What do random numbers cost, and machine code gain?", _ask_speed),
        ("direct reads", "Can single blocks be read past the cache, by ROWID?", _ask_direct_reads),
        ("cancel", "Does a cancel end a slice, and can the session go on?", _ask_cancel),
        ("killed", "Is a session gone with its slice when its driver is killed?", _ask_killed),
        ("sampling", "What does reading the counters cost?", _ask_sampling),
        ("own counters", "Does a pluggable database count its own work, and nothing else?", _ask_own_counters),
        ("instances", "Does each instance of a cluster count its own work?", _ask_instances),
        ("many sessions", f"What do counters by session cost with {_MANY} more?", _ask_many_sessions),
        ("late times", "When does the time model have all of a call that has ended?", _ask_late_times),
        ("scan path", "Are scans that read past the cache counted as such?", _ask_scan_path),
        ("skew", f"Are the keys of {_DRAWS:,} draws by a Zipf law those that they are here?", _ask_skew),
    ]
    return [Inquiry(number, name, text, partial(ask, bench)) for number, (name, text, ask) in enumerate(questions, 1)]


def _ask_compile(bench: Bench) -> ProofAnswer:
    schema, errors, warnings = bench.make_schema(0), list[str](), set[str]()
    with bench.connect() as connection:
        query(connection, statement("prove", "warnings"))
        for name, workload in _VARIANTS.items():
            for row in bench.install(connection, schema, workload):
                text = f"line {row['line']}: {join_lines(row['text'])}"
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


def _ask_clock(bench: Bench) -> ProofAnswer:
    with bench.connect() as connection:
        found = measure_clock(connection)
    step, cost = found["clock_step_us"], found["clock_cost_us"]
    holds = 0 < step <= 1.5 and cost <= 5
    return ProofAnswer(holds, f"steps of {step:g} µs; reading it takes {cost:.2g} µs", dict(found))


def _ask_sleep(bench: Bench) -> ProofAnswer:
    sleep = sleep_procedure(bench.version)
    with bench.connect() as connection:
        kinds = dict.fromkeys(("least_ms", "mean_ms", "most_ms"), float)
        found = {
            name: float(value)
            for name, value in execute_block(connection, statement("prove", "sleeps", sleep=sleep), kinds).items()
        }
    seen = f"{found['least_ms']:.1f} to {found['most_ms']:.1f} ms, {found['mean_ms']:.1f} ms on average"
    # Whole hundredths of a second, and a wake-up that is late by less than one.
    return ProofAnswer(5 <= found["mean_ms"] <= 25, seen, found)


def _ask_commits(bench: Bench) -> ProofAnswer:
    schema, waits = bench.make_schema(0), dict[str, float]()
    for mode in CommitMode:
        workload = Workload(schemas=1, update_pct=100, work_unit=1, commit_mode=mode)
        with bench.open_session(schema, workload) as session:
            before = read_own_figures(session.connection)
            session.run_operations(_COMMITS)
            waits[mode.value] = subtract(before, read_own_figures(session.connection))["redo synch writes"]
    holds = waits["wait"] >= _COMMITS and waits["nowait"] < _COMMITS / 10
    seen = f"commits that waited, of {_COMMITS:,}: " + ", ".join(f"{mode} {n:,.0f}" for mode, n in waits.items())
    return ProofAnswer(holds, seen, dict(waits))


def _ask_tables(bench: Bench) -> ProofAnswer:
    with bench.connect() as connection:
        found = {
            name: int(execute_block(connection, statement("prove", name), {"found": int})["found"])
            for name in ("elements", "wraps", "moments")
        }
    wanted = {"elements": _ALL_HOLD, "wraps": _WRAPPED, "moments": _MOMENT}
    seen = (
        f"tables of tables {found['elements']} of {_ALL_HOLD}, product {found['wraps']:,} of {_WRAPPED:,}, "
        f"moment {found['moments']:,} µs of {_MOMENT:,}"
    )
    return ProofAnswer(found == wanted, seen, dict(found))


def _ask_speed(bench: Bench) -> ProofAnswer:
    schema, found = bench.make_schema(0), dict[str, float | str]()
    with bench.connect() as connection:
        numbers = execute_block(connection, statement("prove", "numbers"), {"own_us": float, "server_us": float})
    found |= {name: float(value) for name, value in numbers.items()}
    for kind in ("NATIVE", "INTERPRETED"):
        for unit in (1, 64):
            with bench.open_session(schema, Workload(schemas=1, work_unit=unit), kind) as session:
                result = session.run_for(1.0)
                found[f"{kind.lower()}_ops_per_s_{unit}"] = 1e6 * result.counts.ops / result.busy_us
        found[f"{kind.lower()}_is"] = _find_code_type(bench, schema)
    seen = (
        f"a random number takes {found['own_us']:.2f} µs, one of DBMS_RANDOM {found['server_us']:.2f} µs; operations/s "
        f"at WORK_UNIT 1: {found['native_ops_per_s_1']:,.0f} native, {found['interpreted_ops_per_s_1']:,.0f} "
        f"interpreted; at 64: {found['native_ops_per_s_64']:,.0f} and {found['interpreted_ops_per_s_64']:,.0f}"
    )
    return ProofAnswer(numbers["own_us"] < numbers["server_us"], seen, found)


def _ask_skew(bench: Bench) -> ProofAnswer:
    """Draw keys as the work loop does: the same random numbers must give the same keys here."""
    draw = statement("slice", "key_zipf").replace("\n", "\n" + " " * 8)
    with bench.connect() as connection:
        text = statement("prove", "drawn_keys", draw=draw)
        found = execute_block(connection, text, {"found": str}, law_parameters(_LAW))["found"]
    numbers = [int(word) for word in str(found or "").split()]
    there = Counter(dict(zip(numbers[::2], numbers[1::2], strict=True)))
    others = (_draw_keys() - there).total()
    figures: dict[str, float | str] = {"draws": there.total(), "other_keys": others}
    seen = f"{there.total():,} draws, of {_DRAWS:,}; {others:,} of them had another key than here"
    return ProofAnswer(there.total() == _DRAWS and not others, seen, figures)


def _draw_keys() -> Counter[int]:
    keys, state = Counter[int](), _FIRST_STATE
    for _ in range(_DRAWS):
        state = (state * 1_664_525 + 1 + 2**31) % 2**32 - 2**31
        keys[_LAW.key_of(_LAW.rank_at((state + 2**31) / 2**32))] += 1
    return keys


def _find_code_type(bench: Bench, schema: int) -> str:
    with bench.connect() as connection:
        rows = query(connection, statement("prove", "compiled_as"), {"program": names.procedure(schema)})
    return str(rows[0]["plsql_code_type"]) if rows else "unknown"


def _ask_cancel(bench: Bench) -> ProofAnswer:
    with bench.open_session(bench.make_schema(0), _TWO_UPDATES) as session:
        if not session.connection.takes_cancel:
            raise SlobError("with TLS, sessions are cut off instead of cancelled", "ask over a connection without TLS")
        with session.run_aside(_LONG_S) as outcome:
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
        return session.run_operations(10).counts.ops == 10
    except SlobError:
        return False


def _ask_killed(bench: Bench) -> ProofAnswer:
    """Break a connection off in the middle of a slice, as the system does when the driver is killed."""
    with bench.open_session(bench.make_schema(0), _READS) as session, bench.connect() as other:
        if session.connection.own_socket is None:
            raise NotAskedError("in thick mode nothing but the client library can break a connection off")
        who = {"sid": session.connection.session_id, "serial": session.connection.raw.serial_num}
        _find_status(other, who)
        with session.run_aside(_SLICE_S):
            time.sleep(0.5)
            began = time.monotonic()
            session.connection.cut()
            while _find_status(other, who) and time.monotonic() < began + _LONG_S:
                time.sleep(0.05)
            gone_s = time.monotonic() - began
    limit = _SLICE_S + 1
    gone = f"gone after {gone_s:.1f} s" if gone_s < _LONG_S else f"still there after {gone_s:.0f} s"
    return ProofAnswer(gone_s < limit, f"{gone}; its slice was {_SLICE_S:g} s", {"gone_s": gone_s, "slice_s": _SLICE_S})


def _find_status(connection: Connection, who: dict[str, int]) -> str:
    rows = read_rows(connection, "is_there", who, "needs SELECT on V_$SESSION")
    return str(rows[0]["status"]) if rows else ""


def _ask_when_counted(bench: Bench) -> ProofAnswer:
    with (
        bench.open_session(bench.make_schema(0), Workload(schemas=1, work_unit=_UNIT)) as session,
        bench.connect() as other,
    ):
        sid = session.connection.session_id
        before = count_others_reads(other, sid)
        values = [before]
        with session.run_aside(2.0) as outcome:
            deadline = time.monotonic() + 1.8
            while time.monotonic() < deadline and not outcome:
                values.append(count_others_reads(other, sid))
                time.sleep(0.02)
        at_end = count_others_reads(other, sid)
    result = outcome[0] if outcome else SlobError("the slice did not end")
    if isinstance(result, SlobError):
        raise result
    moved = sum(later > earlier for earlier, later in pairwise(values))
    visits = result.counts.rows_read
    holds = at_end - before >= visits
    seen = f"it moved {moved} times within a call of 2 s; at its end it had {at_end - before:,} for {visits:,} visits"
    return ProofAnswer(holds, seen, {"moves": moved, "counted": at_end - before, "visits": visits})


def _ask_rows(bench: Bench) -> ProofAnswer:
    found = dict[str, float | str]()
    for name, percent in (("selects", 0), ("updates", 100)):
        with bench.open_session(
            bench.make_schema(0), Workload(schemas=1, work_unit=_UNIT, update_pct=percent)
        ) as session:
            session.run_operations(1)
            before = read_own_figures(session.connection)
            session.run_operations(_OPERATIONS)
            found[name] = subtract(before, read_own_figures(session.connection))["table fetch by rowid"]
    visits = _OPERATIONS * _UNIT
    found["visits"] = visits
    seen = f"{_OPERATIONS} SELECTs of {_UNIT} rows: {found['selects']:,}; as many UPDATEs: {found['updates']:,}"
    return ProofAnswer(visits <= float(found["selects"]) <= 1.01 * visits, seen, found)


def _ask_single_blocks(bench: Bench) -> ProofAnswer:
    with_hint = ["", choose_hint(bench.version)] if bench.version >= SINGLE_ROWID_HINT else [""]
    found = dict[str, float | str]()
    for number, hint in enumerate(with_hint, 1):
        name = "with hint" if hint else "without hint"
        figures = _read_cold(bench, number, hint)
        cached = figures["physical reads cache"]
        if cached < _COLD / 2:
            raise NotAskedError(f"only {cached:,} of {_COLD:,} blocks were read: the others were in the cache")
        found[name] = figures["physical reads cache prefetch"] / cached
    last = list(found.values())[-1]
    seen = f"read ahead of {_COLD:,} blocks: " + ", ".join(
        f"{100 * float(part):.1f} % {name}" for name, part in found.items()
    )
    return ProofAnswer(float(last) <= _MOST_AHEAD, seen, found)


def _read_cold(bench: Bench, number: int, hint: str) -> Mapping[str, int]:
    """Read a table that nobody has read, in ranges of keys as the loop does; return what the session counted."""
    bench.make_schema(number, _COLD, cold=True)
    table = bench.describe_table(number, _COLD).relation
    parts = {"into": "", "first_key": ":first_key", "last_key": ":last_key", "single": hint}
    text = " ".join(statement("slice", "select", table=table, index=index(table), **parts).split())
    with bench.connect() as connection:
        before = read_own_figures(connection)
        for first in range(1, _COLD, _UNIT):
            query(connection, text, {"first_key": first, "last_key": first + _UNIT - 1})
        found = subtract(before, read_own_figures(connection))
    bench.drop(number)
    return found


def _ask_plans(bench: Bench) -> ProofAnswer:
    with bench.open_session(bench.make_schema(0), Workload(schemas=1, update_pct=50)) as session:
        try:
            plans = session.loop.plans()
        except SlobError as error:
            return ProofAnswer(False, str(error))
    return ProofAnswer(True, "; ".join(f"{kind}: {plan}" for kind, plan in plans.items()), dict(plans))


def _ask_loads(bench: Bench) -> ProofAnswer:
    """Load the same table in each way, in one batch and in several; what a way of the server's refuses is said."""
    every_way = [(way, obfuscate) for obfuscate in (False, True) for way in list_ways(obfuscate)]
    texts, found, wrong = list[str](), dict[str, float | str](), list[str]()
    for number, (way, obfuscate) in enumerate(every_way, 3):
        name = f"{way.name}, {'incompressible' if obfuscate else 'constant'}"
        began, bad, used = time.monotonic(), list[str](), list[float]()
        try:
            for batches in (1, _BATCHES):
                checks = _check_load(bench, number, way, obfuscate, batches)
                bad += [f"{check.name} {check.figure:,.0f} in {batches}" for check in checks if not check.holds]
                used.append(next(check.figure for check in checks if check.name == IN_USE))
        except SlobError as error:
            wrong.append(f"{name}: {error.what}")
            continue
        seconds, gap = time.monotonic() - began, (used[1] - used[0]) / (_BATCHES - 1)
        bad += [f"{gap:.1f} empty blocks between two batches"] if gap > _MOST_GAP else []
        found |= {f"{name}: {check.name}": check.figure for check in checks}
        found |= {f"{name}: seconds": seconds, f"{name}: empty blocks between batches": gap}
        wrong += [f"{name}: {', '.join(bad)}"] if bad else []
        texts.append(f"{name}: {seconds:.1f} s")
    seen = "; ".join([*texts, *(f"NOT {fault}" for fault in wrong)])
    return ProofAnswer(not wrong, seen, found)


def _check_load(bench: Bench, number: int, way: Way, obfuscate: bool, batches: int) -> list[Check]:
    """Load a table, check it, and drop it."""
    bench.make_schema(number, ways=[way], obfuscate=obfuscate, batches=batches)
    with bench.connect() as connection:
        checks = check_table(connection, bench.describe_table(number), bench.place)
    bench.drop(number)
    return checks


def _ask_direct_reads(bench: Bench) -> ProofAnswer:
    bench.make_schema(0)
    table = bench.describe_table(0).relation
    with bench.connect() as connection:
        try:
            query(connection, statement("prove", "direct"))
        except oracledb.DatabaseError as error:
            return ProofAnswer(False, explain_error(error))
        keys = ", ".join(str(1 + 37 * step % BLOCKS) for step in range(_LOOKED_AT))
        places = [str(row["place"]) for row in query(connection, statement("prove", "places", table=table, keys=keys))]
        text = statement("prove", "one_block", table=table)
        before = read_own_figures(connection)
        for place in places:
            query(connection, text, {"place": place})
        found = subtract(before, read_own_figures(connection))
    figures = {name: found[name] for name in ("physical reads direct", "physical reads cache", "physical reads")}
    if not figures["physical reads"]:
        raise NotAskedError("no block was read: all of them were in the cache")
    direct = figures["physical reads direct"]
    cached = figures["physical reads cache"]
    seen = f"{len(places)} blocks by ROWID: {direct:,} read directly, {cached:,} through the cache"
    return ProofAnswer(direct >= 0.9 * len(places), seen, dict(figures))


def _ask_sampling(bench: Bench) -> ProofAnswer:
    with bench.connect() as connection:
        counters = OracleCounters(connection)
        counters.read()
        cpu = _read_cpu_us(connection)
        began = time.monotonic()
        for _ in range(20):
            counters.read()
        each_ms = (time.monotonic() - began) * 1000 / 20
        used = _read_cpu_us(connection)
        values = len(counters.read().values)
    figures: dict[str, float | str] = {"ms": each_ms, "values": values}
    text = f"{each_ms:.1f} ms for {values} counters"
    if cpu is not None and used is not None:
        figures["cpu_ms"] = (used - cpu) / 1000 / 20
        text += f", of it {figures['cpu_ms']:.1f} ms of CPU"
    return ProofAnswer(each_ms < 50, text, figures)


def _read_cpu_us(connection: Connection) -> int | None:
    try:
        return read_own_figures(connection)["CPU used by this session"] * 10_000
    except NotAskedError:
        return None


def _ask_own_counters(bench: Bench) -> ProofAnswer:
    """Compare what a session counts with its database's own views, and with those whose scope is not documented."""
    with bench.open_session(bench.make_schema(0), _READS) as session, bench.connect() as other:
        if not Survey(other).is_pluggable:
            raise NotAskedError("the target is not a pluggable database")
        before = {prefix: _read_reads(other, prefix) for prefix in ("", "con_")}
        did = _count_reads(session)
        rose = {prefix: _read_reads(other, prefix) - value for prefix, value in before.items()}
    seen = f"of {did:,} logical reads of one session V$CON_SYSSTAT has {rose['con_']:,}, V$SYSSTAT {rose['']:,}"
    figures = {"session": did, "V$CON_SYSSTAT": rose["con_"], "V$SYSSTAT": rose[""]}
    # Others may work in the database, but less than the session.
    return ProofAnswer(did <= rose["con_"] <= 2 * did, seen, figures)


def _count_reads(session: BenchSession) -> int:
    """Run the loop for two seconds; return its logical reads by the session's own counter."""
    before = read_own_figures(session.connection)
    session.run_for(2.0)
    return subtract(before, read_own_figures(session.connection))["session logical reads"]


def _read_reads(connection: Connection, prefix: str) -> int:
    right = f"needs SELECT on V_${prefix.upper()}SYSSTAT"
    return int(read_rows(connection, "system_reads", {}, right, own=prefix)[0]["value"])


def _ask_instances(bench: Bench) -> ProofAnswer:
    with bench.open_session(bench.make_schema(0), _READS) as session, bench.connect() as other:
        before = _read_instances(other)
        if len(before) < 2:
            raise NotAskedError("the database has one open instance")
        did = _count_reads(session)
        rose = subtract(before, _read_instances(other))
        mine = session.connection.raw.instance_name
    seen = f"of {did:,} logical reads of a session on {mine}: " + ", ".join(f"{name} {n:,}" for name, n in rose.items())
    elsewhere = max(n for name, n in rose.items() if name != mine)
    return ProofAnswer(did <= rose.get(mine, 0) and elsewhere < did, seen, {"session": did, **rose})


def _read_instances(connection: Connection) -> dict[str, int]:
    own = "con_" if Survey(connection).is_pluggable else ""
    right = f"needs SELECT on GV_${own.upper()}SYSSTAT and GV_$INSTANCE"
    rows = read_rows(connection, "instances_reads", {}, right, own=own)
    return {str(row["instance_name"]): int(row["value"]) for row in rows}


def _ask_many_sessions(bench: Bench) -> ProofAnswer:
    with bench.connect() as connection, ExitStack() as more:
        counters = OracleCounters(connection)
        if why := counters.missing.get("sessions"):
            raise NotAskedError(why)
        few_ms = _time_sessions(counters)
        for _ in range(_MANY):
            more.enter_context(bench.connect())
        many_ms = _time_sessions(counters)
    each_ms = max(0.0, many_ms - few_ms) / _MANY
    seen = f"{few_ms:.1f} ms, and {many_ms:.1f} ms with {_MANY} sessions more: {each_ms:.3f} ms a session"
    figures = {"few_ms": few_ms, "many_ms": many_ms, "each_ms": each_ms}
    return ProofAnswer(many_ms <= 1000 * MOST_S, seen, figures)


def _time_sessions(counters: OracleCounters) -> float:
    return 1000 * min(counters.measure_s("sessions") for _ in range(5))


def _ask_late_times(bench: Bench) -> ProofAnswer:
    """Read the CPU time of all sessions again and again after a call of two seconds."""
    with bench.open_session(bench.make_schema(0), _READS) as session, bench.connect() as other:
        view = own_view("V_$SYS_TIME_MODEL", Survey(other).is_pluggable, bench.version)
        before = _read_cpu_time(other, view)
        session.run_for(2.0)
        ended, rises = time.monotonic(), list[tuple[float, int]]()
        while (after_s := time.monotonic() - ended) < LATE_S + 1:
            rises.append((after_s, _read_cpu_time(other, view) - before))
            time.sleep(0.25)
    at_once, last = rises[0][1], rises[-1][1]
    if last <= 0:
        raise NotAskedError("the time model counted no CPU time of the call")
    complete_s = next(after_s for after_s, rise in rises if rise >= 0.95 * last)
    seen = f"{100 * at_once / last:.0f} % of it at the end of the call, 95 % of it {complete_s:.2f} s later"
    return ProofAnswer(complete_s < LATE_S, seen, {"at_once_us": at_once, "last_us": last, "complete_s": complete_s})


def _read_cpu_time(connection: Connection, view: str) -> int:
    own = "con_" if "CON_" in view else ""
    return int(read_rows(connection, "cpu_time", {}, f"needs SELECT on {view}", own=own)[0]["value"])


def _ask_scan_path(bench: Bench) -> ProofAnswer:
    found, name = dict[str, float | str](), "table scans (direct read)"
    for path, setting in (("cache", "through_cache"), ("direct", "direct")):
        with bench.open_session(bench.make_schema(0), Workload(schemas=1, scan_pct=100)) as session:
            file = "quiesce" if path == "cache" else "prove"
            query(session.connection, statement(file, setting))
            before = read_own_figures(session.connection)
            session.run_operations(_SCANS)
            found[path] = subtract(before, read_own_figures(session.connection))[name]
    seen = f"of {_SCANS} scans each: {found['cache']} with direct reads switched off, {found['direct']} with them"
    return ProofAnswer(found["cache"] == 0 and float(found["direct"]) >= _SCANS, seen, found)
