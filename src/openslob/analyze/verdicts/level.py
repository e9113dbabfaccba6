"""The verdict on whether a load's level lasts, or was the burst before a cap came into force."""

from __future__ import annotations

from openslob.analyze.outcome import Shown, count, fails, holds, unknown
from openslob.core.measurement import Cap, CapSearch, MeanRate, Measurement, Observed
from openslob.core.units import MIB, format_duration
from openslob.record.model import Verdict

NAME = "level_sustained"
# From here on a time is shown in minutes and hours.
MINUTES_FROM_S = 180.0
_OF = {"read": " on reads", "write": " on writes", "both": " on reads and writes", "": ""}
_IN_BUCKET = {"IOPS": "requests", "MB/s": "MB", "CPUs": "s of CPU"}


def level_sustained(measurement: Observed) -> Verdict | None:
    """Judge whether the throughput is one that lasts, as `sustained` does; None if the course was not searched."""
    unit = "ops/s" if isinstance(measurement, Measurement) else "transactions/s"
    return None if measurement.caps is None else sustained(measurement.caps, unit)


def sustained(found: CapSearch, unit: str) -> Verdict:
    """Judge whether no cap came into force, or was lifted, within a load whose rates are in ``unit``.

    A cap that was in force all the time makes a level that lasts, and is named. The verdict is unknown where the load
    was too short for a cap to show, or its course is not known.
    """
    if found.why_unknown:
        return unknown(NAME, f"Can't be determined: {found.why_unknown}.", seconds=found.seconds)
    if found.cap is None:
        why = (
            f"No cap came into force within {_time(found.seconds, 0)}. A bucket that lasts longer would not have shown."
        )
        return holds(NAME, why, seconds=found.seconds)
    figures = _figures(found.seconds, found.cap)
    if found.cap.always:
        return holds(
            NAME, f"{cap_in_words(found.cap)} was in force all the time: the level is that of the cap.", **figures
        )
    return fails(NAME, f"{_course(found.cap, unit)}. {_bucket(found.cap)}{_evidence(found.cap)}.", **figures)


def cap_in_words(cap: Cap) -> str:
    """Return a cap with its unit and direction: A cap of 3,000 IOPS (23.4 MB/s) on reads."""
    if cap.kind == "cpu":
        return f"A quota of {_amount(cap.cap)} CPUs"
    other = ""
    if cap.request_bytes:
        as_mb = cap.kind == "iops"
        other = f" ({_amount(cap.cap * cap.request_bytes / MIB)} MB/s)" if as_mb else ""
    return f"A cap of {_amount(cap.cap)} {cap.unit}{other}{_OF[cap.direction]}"


def _course(cap: Cap, unit: str) -> str:
    """Return which level the load had for how long."""
    under = f"{_of(cap.sustained, unit)} under a{cap_in_words(cap)[1:]}"
    free, held_s = _of(cap.burst, unit), sum(end - begin for begin, end in cap.held)
    if cap.dry_at_s is None:
        return f"Held back for the first {_time(held_s)}: {under}, then {free}"
    lifted = "" if cap.lifted_at_s is None else f", until it was lifted at {_time(cap.lifted_at_s)}"
    times = "" if len(cap.held) == 1 else f", {len(cap.held)} times, for {_time(held_s)} in all"
    return f"Burst: {free} for the first {_time(cap.dry_at_s)}, then {under}{times}{lifted}"


def _of(level: MeanRate | None, unit: str) -> str:
    if level is None:
        return "an unknown rate"
    return f"{_amount(level.ops_per_s)} {unit}"


def _bucket(cap: Cap) -> str:
    if cap.bucket is None:
        return ""
    amount = f"{_amount(cap.bucket)} {_IN_BUCKET[cap.unit]}"
    return f"By then it had used {amount} more than the cap gives: the bucket, if there is one and it was full. "


def _evidence(cap: Cap) -> str:
    text = "; ".join(cap.evidence)
    return f"{text[:1].upper()}{text[1:]}"


def _time(seconds: float, digits: int = 1) -> str:
    """Return a time in words; of some minutes no parts of a second."""
    return f"{seconds:.{digits}f} s" if seconds < MINUTES_FROM_S else format_duration(round(seconds))


def _amount(value: float) -> str:
    return count(value) if value >= 100 else f"{value:.3g}"


def _figures(seconds: float, cap: Cap) -> dict[str, Shown]:
    levels = {"burst_ops_per_s": cap.burst, "sustained_ops_per_s": cap.sustained}
    return {
        "seconds": seconds,
        "cap": cap.cap,
        "cap_unit": cap.unit,
        "cap_kind": cap.kind,
        "cap_direction": cap.direction or None,
        "refill_per_s": cap.cap,
        "bucket": cap.bucket,
        "dry_at_s": cap.dry_at_s,
        "lifted_at_s": cap.lifted_at_s,
        **{name: level.ops_per_s if level else None for name, level in levels.items()},
        **{f"{name}_low": level.low if level else None for name, level in levels.items()},
        **{f"{name}_high": level.high if level else None for name, level in levels.items()},
    }
