"""Verdicts on the server: whether it is one, and what it did by itself, such as reading ahead or moving memory.

Only some engines count these. Without such a counter, and without a reason why it is unknown, there is no verdict.
"""

from __future__ import annotations

from openslob.analyze.outcome import count, count_noun, fails, holds, holds_or_fails, unknown, unknown_because
from openslob.core.measurement import Measurement, Observed
from openslob.core.units import is_above
from openslob.metrics.quantity import Quantity, engine, total
from openslob.record.model import Verdict

# Of a hundred blocks one may come with another: below the spread between two runs.
LEAST_SINGLE_PCT = 99.0
# With fewer, the reads of the catalogue count as much as the test's own.
MIN_BLOCKS = 1000
# The share of DB time that is below the spread between two runs.
MAX_THROTTLED_PCT = 1.0
# A server that switches its log more often hardly ends one checkpoint before the next begins.
LEAST_SWITCH_S = 20.0
# Of a hundred scans one may be of a table that the test did not make.
MOST_OTHER_PATH_PCT = 1.0
# What timing may take of an operation: more is beyond the spread between two runs.
MAX_CLOCK_PCT = 5.0
# One switch in a short run says nothing of how often they come.
MIN_SWITCHES = 2


def real_server(measurement: Observed) -> Verdict | None:
    """Judge whether the server is a database; there is nothing to judge where it does not say that it is none."""
    if not measurement.stand_in:
        return None
    return fails("real_server", "The server says that it is a stand-in and no database: it computed what it reports.")


def settings_taken(measurement: Observed) -> Verdict | None:
    """Judge whether the server took the settings that the sessions give themselves; nothing to judge where it did.

    It is worth a note where the figures are the same without them, because plans or another verdict show what matters.
    """
    refused = measurement.refused_settings
    if not refused:
        return None
    spoiling = [each for each in refused if each.spoils]
    names = ", ".join(each.name for each in refused)
    same = "" if spoiling else ", without which the figures are the same"
    found = f"The server refuses {count_noun(len(refused), 'setting')} of the sessions{same}: {names}."
    why = " ".join([found, *(f"{each.why[:1].upper()}{each.why[1:]}." for each in spoiling)])
    return fails("settings_taken", why, refused=len(refused), spoiling=len(spoiling))


def single_block(measurement: Measurement) -> Verdict | None:
    """Judge whether blocks were read one by one: a request, and its latency, is that of one block.

    A server that reads ahead fetches blocks before they are asked for, several in one request.
    """
    name, read = "single_block", engine(measurement, "cache_blocks_read")
    ahead = engine(measurement, "cache_blocks_prefetched")
    if _is_not_counted(measurement, "cache_blocks_prefetched"):
        return None
    if read.value is None or ahead.value is None:
        return unknown_because(name, read, ahead)
    figures = {"blocks": read.value, "prefetched": ahead.value}
    if total(measurement, "scans"):
        return unknown(name, "Can't be determined: short scans read several blocks in one request.", **figures)
    if read.value < MIN_BLOCKS:
        few = f"The run read {count_noun(read.value, 'block')} into the cache"
        return unknown(name, f"{few}, and it takes {count(MIN_BLOCKS)} to judge how they were read.", **figures)
    share = 100 * (1 - min(1.0, ahead.value / read.value))
    so = share >= LEAST_SINGLE_PCT
    doubt = "" if so else ": requests and their latency are those of several blocks"
    why = (
        f"{share:.1f} % of {count(read.value)} blocks were read one by one, {LEAST_SINGLE_PCT:g} % are required{doubt}."
    )
    return holds_or_fails(name, so, _advise(why, measurement, "" if so else name), single_pct=share, **figures)


def scan_path(measurement: Measurement) -> Verdict | None:
    """Judge, for a run with scans, whether all took one path: through the shared cache, or past it."""
    name, direct, scans = "scan_path", engine(measurement, "direct_scans"), total(measurement, "scans")
    if not scans or _is_not_counted(measurement, "direct_scans"):
        return None
    if direct.value is None:
        return unknown_because(name, direct)
    past = min(direct.value, scans)
    share = 100 * past / scans
    so = min(share, 100 - share) <= MOST_OTHER_PATH_PCT
    path = "past the cache (direct path)" if share > MOST_OTHER_PATH_PCT else "through the cache"
    why = f"{share if share > MOST_OTHER_PATH_PCT else 100 - share:.1f} % of {count_noun(scans, 'scan')} read {path}"
    mixed = "" if so else ", the others through it: rates and latencies are of both"
    return holds_or_fails(name, so, f"{why}{mixed}.", direct_pct=share, scans=scans)


def clock_cheap(measurement: Measurement) -> Verdict | None:
    """Judge whether reading the server's clock is a small part of an operation, whose latency has it in it."""
    name, clock_us, ops = "clock_cheap", measurement.clock_us, total(measurement, "ops")
    if clock_us is None or not ops:
        return None
    mean_us = total(measurement, "busy_us") / ops
    share = 100 * clock_us / mean_us if mean_us else 100.0
    so = not is_above(share, MAX_CLOCK_PCT, 1)
    why = f"Reading the server's clock takes {clock_us:.1f} µs of an operation, {share:.1f} % of its mean time"
    more = "" if so else ", which rates and latencies have in them: a larger WORK_UNIT makes it less"
    why = f"{why}; {MAX_CLOCK_PCT:g} % is allowed{more}."
    return holds_or_fails(name, so, why, clock_pct=share, clock_us=clock_us)


def cache_size_kept(measurement: Observed) -> Verdict | None:
    """Judge whether the server kept the size of its cache: the share of hits depends on it."""
    name, resizes = "cache_size_kept", engine(measurement, "cache_resizes")
    if _is_not_counted(measurement, "cache_resizes"):
        return None
    if resizes.value is None:
        return unknown_because(name, resizes)
    if not resizes.value:
        return holds(name, "The server did not resize its cache.", resizes=0.0)
    times = count_noun(resizes.value, "time")
    why = f"The server resized its cache {times}, so the share of hits changed during the run."
    return fails(name, _advise(why, measurement, name), resizes=resizes.value)


def not_throttled(measurement: Measurement) -> Verdict | None:
    """Judge whether the server's own resource manager let sessions work."""
    name, throttled = "not_throttled", engine(measurement, "throttled_us")
    if _is_not_counted(measurement, "throttled_us"):
        return None
    share = throttled.times(100).per(Quantity(total(measurement, "busy_us")), "no operation was timed")
    if share.value is None:
        return unknown_because(name, share)
    so = not is_above(share.value, MAX_THROTTLED_PCT, 1)
    why = (
        f"The server's resource manager held sessions back for {share.value:.1f} % of DB time; "
        f"{MAX_THROTTLED_PCT:g} % is allowed."
    )
    return holds_or_fails(name, so, _advise(why, measurement, "" if so else name), throttled_pct=share.value)


def log_switches(measurement: Measurement) -> Verdict | None:
    """Judge, for a run with updates, whether the log's files are large enough.

    Small files are switched often, each time with a checkpoint; when it has not ended before the log comes back to its
    file, sessions wait for it.
    """
    name, switches, waits = "log_switches", _switches(measurement), engine(measurement, "log_switch_waits")
    if not measurement.workload.writes or _is_not_counted(measurement, "log_switches"):
        return None
    if switches.value is None:
        return unknown_because(name, switches, log_switch_waits=waits.value)
    every = Quantity(measurement.window.counter_seconds).per(switches, "the log was not switched").value
    figures = {"log_switches": switches.value, "seconds": every, "log_switch_waits": waits.value}
    often = every is not None and switches.value >= MIN_SWITCHES and every < LEAST_SWITCH_S
    seen = f"The log was switched {count_noun(switches.value, 'time')}"
    seen += f", every {every:.0f} s; {LEAST_SWITCH_S:g} s or more are required" if often else ""
    seen += (
        f"; sessions waited {count_noun(waits.value, 'time')} for a file that was still needed" if waits.value else ""
    )
    if often or waits.value:
        return fails(name, _advise(f"{seen}.", measurement, name), **figures)
    return unknown_because(name, waits, **figures) if waits.value is None else holds(name, f"{seen}.", **figures)


def _switches(measurement: Measurement) -> Quantity:
    """Return the log's switches: of the instance with most of them, because each has a log of its own."""
    every = [each.log_switches for each in measurement.engine.by_instance if each.log_switches is not None]
    switches = engine(measurement, "log_switches")
    return switches if switches.value is None or not every else Quantity(max(every))


def _is_not_counted(measurement: Observed, field: str) -> bool:
    """Return whether the engine has no such counter: it is neither known nor unknown for a reason."""
    return getattr(measurement.engine, field) is None and field not in measurement.engine.unknown


def _advise(why: str, measurement: Observed, name: str) -> str:
    """Return a text with what to do on this server, by the verdict's name, where the engine knows it."""
    remedy = measurement.engine.remedies.get(name)
    return f"{why} Remedy: {remedy}." if remedy else why
