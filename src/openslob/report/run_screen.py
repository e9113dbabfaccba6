"""The answer of a run on one screen: its rate with what limits it, what an operation and a read take, what to do next.

An observation has the same, without operations of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from openslob.analyze.limits import (
    CLIENT,
    CPU,
    CPU_QUOTA,
    GIVEN_RATE,
    HIDDEN_QUOTA,
    INSTANCES,
    IO_CAP,
    LOCKS,
    OTHERS_CPU,
    STORAGE,
    THINK_TIME,
    UNDECIDED,
    UNKNOWN_WAIT,
)
from openslob.analyze.load_kinds import is_paced, load_kind, rows_of_update, timed_of
from openslob.core.places import server_of
from openslob.core.units import MIB
from openslob.core.workload import Workload
from openslob.record.model import DISCARDED, ClassRow, Holds, RecordKind, RunRecord, Status, Verdict
from openslob.report.document import LabelledTexts, Part, Screen, TextTable
from openslob.report.figures import stage_parts
from openslob.report.format import MISSING, as_float, micros, number, percent, seconds, size
from openslob.report.headline import (
    LEVEL_SUSTAINED,
    READS_LEAD,
    READS_MATTER,
    observed_load,
    read_share,
    say_block,
    say_burst,
    say_cost,
    say_rate,
    say_reads,
    say_writes,
)
from openslob.report.record_view import RATE_REACHED, REACHED_DEVICE, name_record

LIMIT_FOUND, WINDOW = "limit_found", "window"
# What each limit is called in the sentence of the answer.
_LIMITED_BY = {
    CPU: "the server's CPU",
    CPU_QUOTA: "the CPU quota of the server's control group",
    IO_CAP: "a cap on I/O",
    HIDDEN_QUOTA: "a CPU quota that can't be read",
    OTHERS_CPU: "the CPU that other programs used",
    THINK_TIME: "the sessions' think time",
    CLIENT: "what is outside of the server: the driver, the protocol, the network",
    LOCKS: "waits for locks",
    INSTANCES: "waits for other instances",
}
_MORE_SESSIONS = "more sessions may do more"
# So many session counts, each twice the one before, are proposed.
_STEPS = 4
# What a run takes from the data that are loaded, and what a proposed sweep varies.
_OF_THE_DATA = frozenset({
    *("schemas", "scale", "scan_table_sz", "obfuscate_columns", "compressible", "load_parallel_degree", "sessions"),
})  # fmt: skip


def run_screen(record: RunRecord, folder: Path | None) -> Screen:
    """Return the screen of a run or an observation."""
    called = name_record(record.id, folder)
    said = {
        LIMIT_FOUND,
        *([LEVEL_SUSTAINED] if say_burst(record) else []),
        *([RATE_REACHED] if is_paced(record) else []),
    }
    return Screen(
        _subject(record),
        (*_answer(record), *_discarded(record)),
        _parts(record),
        _next(record, called),
        called,
        frozenset(said),
    )


def _discarded(record: RunRecord) -> list[str]:
    """Return how many runs before this one lost their window, and why the first did."""
    lost = [note.removeprefix(DISCARDED) for note in record.notes if note.startswith(DISCARDED)]
    before = "A run before this one was" if len(lost) == 1 else f"{len(lost)} runs before this one were"
    return [f"{before} discarded: {lost[0].partition(': ')[2].partition(': ')[0]}."] if lost else []


def key_figures(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """Return the rate, its latency, that of operations, and the CPU: the four figures of a single page."""
    share = read_share(record)
    reads = share is not None and share >= READS_LEAD
    kind = "physical" if record.outcome(REACHED_DEVICE) is Holds.HOLDS else "engine"
    rate = (f"{kind} reads/s", "pio_read_per_s") if reads else ("logical reads/s", "lio_per_s")
    # No one latency is that of an operation of several classes.
    timed = {} if record.classes else next(iter((record.response or record.latency).values()), {})
    figures = (
        (rate[0], number(record.value(rate[1]))),
        ("mean of a read", micros(record.value("engine_read_latency_us")) if reads else MISSING),
        ("operations/s", number(record.value("ops_per_s"))),
        (f"p99 of {timed_of(record).a()}", micros(timed.get("p99_us"))),
        ("CPUs used by the server", number(record.value("db_cpu_per_s"))),
    )
    return tuple(each for each in figures if each[1] != MISSING)[:4]


def _subject(record: RunRecord) -> str:
    engine = record.engine
    product = f"{engine.get('product', 'unknown server')} {engine.get('version', '')}".rstrip()
    on = server_of(str(engine.get("target", ""))) or "an unknown target"
    load = load_kind(record).in_words(record) if record.kind is RecordKind.RUN else observed_load(record)
    data, cache = engine.get("data_bytes"), engine.get("cache_bytes")
    sized = f", {size(data)} in a cache of {size(cache)}" if data and cache and record.kind is RecordKind.RUN else ""
    return f"{product} on {on}: {load}{sized}"


def _answer(record: RunRecord) -> tuple[str, ...]:
    if not record.summary:
        return ("Nothing was measured.",)
    early = "Until its early end: " if record.status is Status.INTERRUPTED else ""
    if _work(record) is None:
        why = "" if record.outcome(WINDOW) is Holds.FAILS else f": {_why_none(record)}"
        return (f"{early}No rate is published{why}.",)
    limit = _limit(record)
    main, evidence = _limit_in_words(limit) if limit else ("", "")
    before = _given(record)
    return (f"{early}{before}{_work(record)}{main}. {evidence}".rstrip(), *filter(None, [_cost_sentence(record)]))


def _why_none(record: RunRecord) -> str:
    return record.why_unknown("ops_per_s" if record.kind is RecordKind.RUN else "lio_per_s")


def _given(record: RunRecord) -> str:
    """Return the rate that was requested, and the levels of a load that did not keep one; their mean follows."""
    said = "".join((say_rate(record), say_burst(record))).removeprefix(", ")
    return f"{said[:1].upper()}{said[1:]}: " if said else ""


def _work(record: RunRecord) -> str | None:
    """Return what was done per second; None where no rate is published."""
    is_run = record.kind is RecordKind.RUN
    if record.value("ops_per_s" if is_run else "lio_per_s") is None:
        return None
    share = read_share(record)
    latency = record.value("engine_read_latency_us")
    at = "" if latency is None else f" at {micros(latency)}"
    reads = f"{say_reads(record)}{at}"
    transactions = record.value("transactions_per_s")
    done = [f"{number(transactions)} transactions/s"] if not is_run and transactions is not None else []
    if share is not None and share >= READS_LEAD:
        return _enumerate([*done, reads, *say_writes(record)[:1]])
    logical = record.value("lio_per_s")
    cached = share is not None and share < READS_MATTER
    visits = record.value("block_visits_per_s") if logical is None else logical
    from_cache = " from the buffer cache" if cached else ""
    kind = f"logical {say_block(record)} reads/s" if logical is not None else "block visits/s"
    physical = [reads] if not cached and record.value("pio_read_per_s") else []
    return _enumerate([*done, f"{number(visits)} {kind}{from_cache}", *physical, *say_writes(record)[:1]])


def _enumerate(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _limit(record: RunRecord) -> Verdict | None:
    return next((each for each in record.verdicts if each.name == LIMIT_FOUND), None)


def _limit_in_words(verdict: Verdict) -> tuple[str, str]:
    """Return what limits the rate, as the end of a sentence about it, and what shows it."""
    limit, why = verdict.figures.get("limit"), verdict.why.partition(": ")
    reason = verdict.why.removeprefix("Can't be determined: ").partition(": CPU ")[0].rstrip(".")
    if limit == OTHERS_CPU and "cpu_wait_pct" not in verdict.figures:
        # Older records take a CPU that others use for the limit; whether the server waited for it, they do not say.
        limit, reason = None, UNDECIDED[UNKNOWN_WAIT]
    if verdict.verdict is Holds.FAILS:
        return f"; {why[0][:1].lower()}{why[0][1:]}", ""
    if limit is None:
        return "; what limits it is not known", f"{reason[:1].upper()}{reason[1:]}."
    if limit == GIVEN_RATE:
        return "", ""
    if limit == STORAGE:
        return _storage(verdict)
    return f", limited by {_LIMITED_BY.get(str(limit), str(limit))}", _shares(verdict.figures)


def _storage(verdict: Verdict) -> tuple[str, str]:
    figures = verdict.figures
    log, data = (as_float(figures.get(name)) or 0.0 for name in ("log_pct", "data_io_pct"))
    busy = as_float(figures.get("device_busy_pct"))
    waited = [
        f"{percent(round(share))} of the time for {what}"
        for share, what in ((data, "data"), (log, "the log"))
        if share >= 1
    ]
    shown = f"Sessions waited {' and '.join(waited)}"
    if busy is not None:
        shown += f"; the device was busy {percent(round(busy))} of it"
    what = "log writes" if log > data else "storage"
    pace = "" if busy is not None and _MORE_SESSIONS not in verdict.why else "the latency of "
    return f", limited by {pace}{what}", f"{shown}."


def _shares(figures: Mapping[str, Any]) -> str:
    """Return who used the CPU, and what sessions waited for."""
    cpu, server = (as_float(figures.get(name)) for name in ("cpu_pct", "server_cpu_pct"))
    if cpu is None:
        return ""
    by = "" if server is None else f", {percent(round(server))} by the server"
    waits = {"data_io_pct": "data", "log_pct": "the log", "lock_pct": "locks", "cpu_wait_pct": "a CPU"}
    waited = [
        f"{percent(round(share))} for {what}"
        for name, what in waits.items()
        if (share := as_float(figures.get(name)) or 0) >= 1
    ]
    return (
        f"CPU {percent(round(cpu))} busy{by}; of their time sessions waited {', '.join(waited)}."
        if waited
        else f"CPU {percent(round(cpu))} busy{by}."
    )


def _cost_sentence(record: RunRecord) -> str:
    said = say_cost(record)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _parts(record: RunRecord) -> tuple[Part, ...]:
    if not record.summary:
        return ()
    rows = [_blocks(record), _cpu(record), _written(record)]
    return (*stage_parts(record), *_latencies(record), LabelledTexts([(label, text) for label, text in rows if text]))


def _latencies(record: RunRecord) -> tuple[Part, ...]:
    """Return the latency of a single read beside those of operations, each with how often it was done."""
    window = record.window.load_seconds if record.window else 0.0
    rows = [_read_row(record)] if record.value("pio_read_per_s") else []
    rows += [_operation_row(record, *timed, window) for timed in _timed(record) if timed[1].get("count")]
    batched = "of its batch" if timed_of(record).is_batch else ""
    since = "from when due" if record.response and not record.classes else batched
    head = (f"in {seconds(window)}" if window else "", "per second", "mean", "p50", "p99", "longest", since)
    return (TextTable(head, rows, texts=frozenset({0, 6})),) if rows else ()


def _timed(record: RunRecord) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield the name of each kind of operation, of each class if there are any, its figures, and what it is."""
    if not record.classes:
        yield from ((kind, found, _blocks_of(record.spec, kind)) for kind, found in _felt(record).items())
        return
    loads = {part.name: part.workload.to_record() for part in Workload.model_validate(record.spec).parts}
    for row in record.classes:
        since = ", due" if row.response else ""
        for kind, found in _felt(row).items():
            yield f"{row.name}: {kind}{since}", found, _blocks_of(loads.get(row.name, {}), kind)


def _felt(timed: RunRecord | ClassRow) -> Mapping[str, Mapping[str, Any]]:
    """Return response times of what has a rate, and else service times."""
    return timed.response or timed.latency


def _read_row(record: RunRecord) -> tuple[str, ...]:
    latency = micros(record.value("engine_read_latency_us"))
    return ("read", number(record.value("pio_read_per_s")), latency, *[MISSING] * 3, "")


def _operation_row(
    record: RunRecord, kind: str, figures: Mapping[str, float | None], about: str, window_s: float
) -> tuple[str, ...]:
    count = figures.get("count") or 0
    per_s = number(count / window_s) if window_s and record.value("ops_per_s") is not None else MISSING
    times = (micros(figures.get(name)) for name in ("mean_us", "p50_us", "p99_us", "max_us"))
    return (kind, per_s, *times, about)


def _blocks_of(spec: Mapping[str, Any], kind: str) -> str:
    work = spec.get("work_unit")
    blocks = {"select": work, "update": rows_of_update(spec)}.get(kind)
    return "" if blocks is None else f"{blocks} block{'' if blocks == 1 else 's'}"


def _blocks(record: RunRecord) -> tuple[str, str]:
    visits, share = record.value("block_visits_per_s"), read_share(record)
    if visits is None:
        return f"{record.unit}s", ""
    read = "" if share is None else f", {percent(round(100 * share, 1))} of them read by the engine"
    return f"{record.unit}s", f"{number(visits)}/s visited{read}"


def _cpu(record: RunRecord) -> tuple[str, str]:
    used, busy, share = record.value("db_cpu_per_s"), record.value("host_cpu_busy_pct"), read_share(record)
    sessions = record.value("foreground_cpu_per_s") if used is None else None
    cpus = (record.environment.get("cpu") or {}).get("usable") if record.environment.get("local") else None
    reads = share is not None and share >= READS_LEAD
    per_cpu = record.value("iops_per_db_cpu" if reads else "lio_per_db_cpu")
    gives = f" ({number(per_cpu)} {'reads' if reads else 'logical reads'} per CPU second)" if per_cpu else ""
    texts = [f"server {number(used)}{f' of {cpus}' if cpus else ''}{gives}"] if used is not None else []
    if sessions is not None:
        alone = record.value("iops_per_foreground_cpu") if reads else None
        gives = f" ({number(alone)} reads per foreground CPU second)" if alone else ""
        texts.append(f"server's sessions {number(sessions)}{gives}")
    texts += [f"host {percent(round(busy))} busy"] if busy is not None else []
    return "CPU", ", ".join(texts)


def _written(record: RunRecord) -> tuple[str, str]:
    commits, log = record.value("commits_per_s"), record.value("redo_mb_per_s")
    if not record.value(load_kind(record).writes):
        return "writes", "none" if record.value(load_kind(record).writes) == 0 else ""
    sync = record.value("log_sync_latency_us")
    texts = [f"{number(commits)} commits/s"] if commits else []
    texts += [f"{size(log * MIB)}/s of log"] if log else []
    texts += [f"{micros(sync)} for a sync of it"] if sync is not None else []
    return "writes", ", ".join(texts)


def _next(record: RunRecord, called: str) -> tuple[tuple[str, str], ...]:
    limit = _limit(record)
    more = [(_more_sessions(record), _MORE_SESSIONS)] if limit and _MORE_SESSIONS in limit.why else []
    return (
        *[each for each in more if each[0]],
        (f"slob show {called} --all", "every figure and setting"),
        (f"slob report {called}", "a page with pictures"),
    )


def _more_sessions(record: RunRecord) -> str:
    sessions = load_kind(record).sessions(record)
    return sweep_command(record, ",".join(str(sessions * 2**step) for step in range(_STEPS)), {})


def sweep_command(record: RunRecord, sessions: str, given: Mapping[str, str]) -> str:
    """Return the command that makes a run again at these session counts, with what else is ``given`` in its place.

    It is empty where one command can't say that.
    """
    if record.kind is not RecordKind.RUN or record.instances or record.classes or is_paced(record):
        return ""
    changed = {"sessions": sessions, **{name: flag_value(value) for name, value in _changed(record).items()}, **given}
    changed["sessions"] = sessions
    flags = [f"--{name.replace('_', '-')} {text}" for name, text in changed.items()]
    return " ".join(["slob sweep --target", server_of(str(record.engine.get("target"))), *flags])


def _changed(record: RunRecord) -> Mapping[str, Any]:
    """Return the parameters of the load, without those of the data, that are not at their defaults."""
    defaults = Workload.model_validate({}).to_record()
    return {
        name: value
        for name, value in record.spec.items()
        if name in defaults and value not in (defaults[name], None) and name not in _OF_THE_DATA
    }


def flag_value(value: object) -> str:
    """Return a parameter's value as a flag takes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
