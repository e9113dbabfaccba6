"""Headline of a run: its result in one sentence, which claims no more than the verdicts support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openslob.analyze.load_kinds import (
    is_paced,
    load_kind,
    loop_in_words,
    mix_in_words,
    rows_of_update,
    timed_of,
)
from openslob.core.measurement import Known
from openslob.core.units import MIB
from openslob.core.workload import RATE_SCHEDULE
from openslob.metrics.cost import price_of
from openslob.record.model import Holds, RecordKind, RunRecord, Status
from openslob.report.format import as_float, micros, number, percent, seconds, shorten, size
from openslob.report.record_view import NO_STALLS, RATE_REACHED, REACHED_DEVICE, caveats, costs_in_words

# From this share of block visits on, physical reads lead the headline; below it, logical reads do.
READS_LEAD = 0.5
WITHIN_CEILING = "within_ceiling"
LEVEL_SUSTAINED = "level_sustained"
# Below this share of block visits, physical reads are not mentioned.
READS_MATTER = 0.001
# Relative deviation of the mean request size from the block size up to which reads are single-block reads.
_SINGLE_BLOCK = 0.02
_LONGEST_COMMAND = 60


def headline(record: RunRecord) -> str:
    """Return the load, its throughput, latencies and CPU cost in one sentence."""
    if not record.summary:
        return "Nothing was measured."
    text_of, at_their_end = _KINDS[record.kind]
    return text_of(record) if record.status in at_their_end else f"Until its early end: {text_of(record)}"


def _of_run(record: RunRecord) -> str:
    if record.value("ops_per_s") is None:
        return f"{_who(record)}: no rate is published, because {record.why_unknown('ops_per_s')}."
    work = ", ".join(filter(None, (_main(record), *say_writes(record))))
    parts = [
        f"{_who(record)}{say_rate(record)}{say_burst(record)}: {work}",
        *_latencies(record),
        say_cost(record),
        _cpu(record),
        _caveats(record),
    ]
    return "; ".join(filter(None, parts)) + "."


def say_cost(record: RunRecord) -> str:
    """Return what a million reads and commits cost at the server's price; empty if there is none."""
    price, share = price_of(record), read_share(record)
    costs = costs_in_words(record.value, price, share is None or share < READS_LEAD)
    return f"{costs} at {price}" if costs else ""


def _of_observation(record: RunRecord) -> str:
    """Return what the server did in an observation, all its clients together."""
    who, lasted = observed_load(record), seconds(record.value("elapsed_s"))
    rates = {name: record.value(name) for name in ("transactions_per_s", "pio_read_per_s", "lio_per_s")}
    if all(rate is None for rate in rates.values()):
        return f"{who}: no rate is published, because {record.why_unknown('lio_per_s')}."
    logical, redo = rates["lio_per_s"], record.value("redo_mb_per_s")
    work = [
        f"{number(rates['transactions_per_s'])} transactions/s" if rates["transactions_per_s"] is not None else "",
        f"{number(logical)} logical reads/s{_per_cpu(record, 'lio_per_db_cpu')}" if logical is not None else "",
        f"{say_reads(record)}{_mean_read(record)}" if rates["pio_read_per_s"] else "",
        f"{size(redo * MIB)}/s redo" if redo else "",
    ]
    parts = [f"{who}, {lasted}{say_burst(record)}: {', '.join(filter(None, work))}", _cpu(record), _caveats(record)]
    return "; ".join(filter(None, parts)) + "."


def observed_load(record: RunRecord) -> str:
    """Return the load of an observation, its program without the path to it."""
    load = load_kind(record).in_words(record)
    program, space, arguments = load.partition(" ")
    if record.spec.get("workload") or not record.spec.get("command"):
        return load if record.spec.get("workload") else load.capitalize()
    return shorten(f"{program.rpartition('/')[2]}{space}{arguments}", _LONGEST_COMMAND)


def _who(record: RunRecord) -> str:
    sessions = record.value("sessions")
    plural = "session" if sessions == 1 else "sessions"
    on = f" on {record.relative}" if record.relative else ""
    return f"{number(sessions)} {plural}{on}{mix_in_words(record.spec)}{loop_in_words(record.spec)}"


def say_rate(record: RunRecord) -> str:
    """Return the target rate and whether it was reached; empty for a run without a target."""
    target, done = record.value("target_ops_per_s"), record.value("ops_per_s")
    if target is None:
        return ""
    # Beside classes with a rate, others may have none.
    paced = [each for each in record.classes if each.target_ops_per_s is not None]
    of = f" of {' and '.join(each.name for each in paced)}" if paced else ""
    if schedule := record.spec.get(RATE_SCHEDULE):
        of = f" on average ({schedule})"
    if paced:
        done = sum(each.ops_per_s or 0.0 for each in paced)
    if record.outcome(RATE_REACHED) is Holds.HOLDS:
        return f", {number(target)} ops/s{of} requested and reached"
    backlog = seconds(record.value("backlog_s") or 0.0)
    return f", {number(target)} ops/s{of} requested, only {number(done)} reached with {backlog} of backlog at the end"


def say_burst(record: RunRecord) -> str:
    """Return the levels of a load that did not keep one: its figures are the mean of all."""
    if record.outcome(LEVEL_SUSTAINED) is not Holds.FAILS:
        return ""
    figures = next(each.figures for each in record.verdicts if each.name == LEVEL_SUSTAINED)
    unit = load_kind(record).unit_of_work[0].removeprefix("per ")
    burst, capped = (number(as_float(figures.get(f"{level}_ops_per_s"))) for level in ("burst", "sustained"))
    per = {"operation": "ops/s", "transaction": "transactions/s"}[unit]
    if "sustained_ops_per_s" not in figures:
        return _no_level(figures)
    # Records that are older say of each such level that it was that of a cap.
    is_cap = "cap" in figures and figures.get("cap_known") != Known.EITHER
    dry, under = as_float(figures.get("dry_at_s")), " under a cap" if is_cap else ""
    if dry is None:
        return f", not one level but {capped} {per}{under}, then {burst}"
    lifted = f" until that was {'lifted' if is_cap else 'over'}" if figures.get("lifted_at_s") is not None else ""
    first = f"a burst of {burst}" if is_cap else burst
    return f", not one level but {first} {per} for {seconds(dry)}, then {capped}{under}{lifted}"


def _no_level(figures: Mapping[str, Any]) -> str:
    """Return how a load went that no even level explains."""
    if (period := as_float(figures.get("period_s"))) is not None:
        return f", not one level but one that swings every {seconds(period)}"
    if (fall := as_float(figures.get("fall_pct"))) is not None:
        return f", not one level but one that fell by {percent(fall)}"
    return f", not one level: it was kept for {percent(as_float(figures.get('kept_pct')))} of the time"


def _main(record: RunRecord) -> str:
    logical, visits, share = record.value("lio_per_s"), record.value("block_visits_per_s"), read_share(record)
    if share is not None and share >= READS_LEAD:
        return f"{say_reads(record)}{_mean_read(record)}{_of_ceiling(record)}{_reads_per_cpu(record)}"
    if logical is None:
        return f"{number(visits)} {record.unit} visits/s"
    straggling = share is not None and share < READS_MATTER
    text = f"{number(logical)} logical {say_block(record)} reads/s"
    text += f"{' from the buffer cache' if straggling else ''}{_per_cpu(record, 'lio_per_db_cpu')}"
    return text if straggling or share is None else f"{text}, {say_reads(record)}{_mean_read(record)}"


def read_share(record: RunRecord) -> float | None:
    """Return the physical reads as a share of the block visits; None if either is unknown."""
    reads, visits = record.value("pio_read_per_s"), record.value("block_visits_per_s")
    return reads / visits if reads is not None and visits else None


def say_reads(record: RunRecord) -> str:
    """Return the rate of reads, and from where they came as far as that is known."""
    rate, kind = number(record.value("pio_read_per_s")), _request(record)
    match record.outcome(REACHED_DEVICE):
        case Holds.HOLDS:
            return (
                f"{rate} physical {kind} reads/s" if kind == say_block(record) else f"{rate} physical reads/s of {kind}"
            )
        case Holds.FAILS:
            return f"{rate} engine reads/s of {kind} served by the OS page cache"
    return f"{rate} engine reads/s of {kind} (whether from a device is unknown)"


def _request(record: RunRecord) -> str:
    reads, mb = record.value("pio_read_per_s"), record.value("pio_read_mb_per_s")
    block = record.engine.get("block_size")
    if not reads or mb is None:
        return say_block(record)
    mean = mb * MIB / reads
    return say_block(record) if block and abs(mean / block - 1) <= _SINGLE_BLOCK else f"{size(mean)} on average"


def say_block(record: RunRecord) -> str:
    """Return the size of a block."""
    block = record.engine.get("block_size")
    return size(block) if block else "block"


def _per_cpu(record: RunRecord, name: str) -> str:
    figure = record.value(name)
    return "" if figure is None else f", {number(figure)} per CPU second"


def _reads_per_cpu(record: RunRecord) -> str:
    """Return the reads per second of the whole server's CPU or, where only that is known, of its sessions' alone."""
    sessions = record.value("iops_per_foreground_cpu")
    alone = "" if sessions is None else f", {number(sessions)} per foreground CPU second"
    return _per_cpu(record, "iops_per_db_cpu") or alone


def _mean_read(record: RunRecord) -> str:
    latency = record.value("engine_read_latency_us")
    return "" if latency is None else f" at {micros(latency)} mean"


def _of_ceiling(record: RunRecord) -> str:
    """Return the share of storage's own rate at this concurrency, if a raw measurement was given."""
    figures = next((each.figures for each in record.verdicts if each.name == WITHIN_CEILING), {})
    share = figures.get("share_pct")
    return f", {percent(float(share))} of what the storage gives at this concurrency" if share is not None else ""


def say_writes(record: RunRecord) -> list[str]:
    """Return the rates of commits and of redo, of a run that committed."""
    commits, redo = record.value("commits_per_s"), record.value("redo_mb_per_s")
    texts = [f"{number(commits)} commits/s"] if commits else []
    return [*texts, f"{size(redo * MIB)}/s redo"] if texts and redo else texts


def _latencies(record: RunRecord) -> list[str]:
    if record.classes:
        return [
            f"{row.name}: {kind} p99 {micros(figures.get('p99_us'))}{_response(row.response, kind)}"
            f"{_longest(record, row.response.get(kind, figures))}"
            for row in record.classes
            for kind, figures in row.latency.items()
        ]
    work = record.spec.get("work_unit")
    units = {"select": work, "update": rows_of_update(record.spec)}
    return [
        f"{timed_of(record).one(kind)}{_of_blocks(units.get(kind), record.unit)} p99 {micros(figures.get('p99_us'))}"
        f"{_response(record.response, kind)}"
        f"{_longest(record, record.response.get(kind, figures))}"
        for kind, figures in record.latency.items()
        if figures.get("count")
    ]


def _response(response: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    p99 = response.get(kind, {}).get("p99_us")
    return "" if p99 is None else f", {micros(p99)} from when it was due"


def _longest(record: RunRecord, figures: Mapping[str, Any]) -> str:
    """Return the longest operation where percentiles hide a stall."""
    return f", longest {micros(figures.get('max_us'))}" if record.outcome(NO_STALLS) is Holds.FAILS else ""


def _of_blocks(count: int | None, unit: str) -> str:
    return "" if count is None else f" of {count} {unit}{'' if count == 1 else 's'}"


def _caveats(record: RunRecord) -> str:
    return caveats([each.name for each in record.verdicts if each.verdict is Holds.FAILS])


def _cpu(record: RunRecord) -> str:
    busy = record.value("host_cpu_busy_pct")
    if busy is None:
        return "host CPU unknown"
    left = record.value("host_cpu_left_pct")
    kept = f", {percent(left)} left" if is_paced(record) else ""
    return f"host CPU {percent(busy)} busy{kept}"


# How the headline is made, and with which status a record was made of all that was planned: a command that failed had
# an end of its own.
_KINDS = {
    RecordKind.RUN: (_of_run, {Status.COMPLETE}),
    RecordKind.OBSERVATION: (_of_observation, {Status.COMPLETE, Status.FAILED}),
}
