"""Verdicts as one screen shows them: the grave ones first, each in a line with what to do, and how many hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from openslob.analyze.outcome import count_noun
from openslob.analyze.verdict_registry import (
    MAX_DRIVER_PCT,
    MAX_OTHERS_PCT,
    MAX_SPREAD_PCT,
    MAX_STEAL_PCT,
    REQUIRED_PERCENTILE,
    Figures,
    Severity,
    VerdictGroup,
    row_of,
    severity_of,
)
from openslob.record.model import Holds, Verdict
from openslob.report.format import micros, percent
from openslob.report.record_view import REACHED_DEVICE

_GRAVEST_FIRST = tuple(Severity)
# Verdicts that a short run leaves open, and what each would tell.
_NEED_TIME = {"steady": "whether the rate is steady", "level_sustained": "whether it lasts"}
# The end of a reason that the engine gives: what to do on this server.
_REMEDY = " Remedy: "


@dataclass(frozen=True)
class Check:
    """A verdict: its outcome, what follows if it fails, which question it belongs to, why in short, and what to do."""

    name: str
    outcome: Holds
    severity: Severity
    group: VerdictGroup
    why: str
    remedy: str = ""

    @property
    def fails(self) -> bool:
        """Whether it fails."""
        return self.outcome is Holds.FAILS


def check_of(verdict: Verdict) -> Check:
    """Return a verdict as it is shown in a line."""
    row = row_of(verdict.name)
    severity = severity_of(verdict.name, verdict.figures)
    in_short = _IN_SHORT.get(verdict.name) if verdict.verdict is Holds.FAILS else None
    why = (in_short and in_short(verdict.figures)) or _first_sentence(verdict.why)
    return Check(verdict.name, verdict.verdict, severity, row.group, why, _TO_DO.get(verdict.name, ""))


def gravest_first(checks: Sequence[Check]) -> list[Check]:
    """Return the checks that fail, those that make figures invalid first."""
    return sorted((each for each in checks if each.fails), key=lambda each: _GRAVEST_FIRST.index(each.severity))


def what_needs_time(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return what a run was too short to tell, by the verdicts that would."""
    return {
        each.name: _NEED_TIME[each.name]
        for each in verdicts
        if each.name in _NEED_TIME and each.verdict is Holds.UNKNOWN and _is_for_want_of_time(each)
    }


def _is_for_want_of_time(verdict: Verdict) -> bool:
    return verdict.why.startswith("Not enough data") or " shows from " in verdict.why


def _first_sentence(why: str) -> str:
    """Return the first sentence of a reason, and what to do if the reason says it."""
    said, _, remedy = why.partition(_REMEDY)
    first = said.partition(". ")[0]
    return f"{first.removesuffix('.')}.{f' {remedy[:1].upper()}{remedy[1:]}' if remedy else ''}"


def _of_machine(figures: Figures) -> str:
    """Return what disturbed the machine, and only that."""
    shares = {name: value for name, value in figures.items() if isinstance(value, (int, float))}
    found = []
    if (others := shares.get("others_cpu_pct", 0.0)) > MAX_OTHERS_PCT:
        found.append(f"others used {percent(round(others))} of the CPU")
    if (steal := shares.get("steal_pct", 0.0)) > MAX_STEAL_PCT:
        found.append(f"{percent(steal)} of the CPU was stolen")
    if (spread := shares.get("spread_pct", 0.0)) > MAX_SPREAD_PCT:
        found.append(f"operations/s varied by {percent(round(spread))}")
    return f"Disturbed: {', '.join(found)}." if found else ""


def _of_page_cache(figures: Figures) -> str:
    share = figures.get("storage_to_engine_pct")
    if not isinstance(share, (int, float)):
        return ""
    cached = percent(round(100 - share)) if share < 99 else percent(100 - share)
    return f"{cached} of the reads came from the operating system's page cache: not a figure of the device."


def _of_percentiles(figures: Figures) -> str:
    required = f"p{100 * REQUIRED_PERCENTILE:g}"
    few = [
        f"{name.removesuffix('_up_to')} only up to {reach}" if reach else f"none of {name.removesuffix('_up_to')}"
        for name, reach in figures.items()
        if name.endswith("_up_to") and (reach is None or float(str(reach)[1:]) < float(required[1:]))
    ]
    return f"Too few operations for a {required}: {', '.join(few)}." if few else ""


def _of_stalls(figures: Figures) -> str:
    ops, share, longest = (figures.get(name) for name in ("stalled_ops", "stalled_pct", "longest_us"))
    if not (isinstance(ops, float) and isinstance(share, float) and isinstance(longest, float)):
        return ""
    return f"{count_noun(ops, 'stall')} of up to {micros(longest)} took {percent(share)} of the sessions' time."


def _of_driver(figures: Figures) -> str:
    share = figures.get("driver_cpu_pct_of_db")
    if not isinstance(share, float) or share < MAX_DRIVER_PCT:
        return ""
    return f"The driver used {percent(share)} of the server's CPU ({MAX_DRIVER_PCT:g} % is allowed)."


_IN_SHORT: Mapping[str, Callable[[Figures], str]] = {
    "driver_quiet": _of_driver,
    "no_stalls": _of_stalls,
    "quiet_machine": _of_machine,
    REACHED_DEVICE: _of_page_cache,
    "percentiles_supported": _of_percentiles,
}
_TO_DO: Mapping[str, str] = {
    "errors": "Repeat it.",
    "window": "Stop other work, and repeat it for longer.",
    "alone_on_server": "Repeat it without other sessions.",
    "counts_agree": "Please report this with the record.",
    "exact_mix": "Please report this with the record.",
    REACHED_DEVICE: "Use direct I/O (a managed server: slob server start NAME --io direct).",
    "driver_quiet": "Run slob on another host.",
    "quiet_machine": "Repeat it on a quiet machine.",
}
