"""The verdicts on a run, a row each: what each is about, and what follows if it fails. `analyze.verdicts` judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

# The version of the rules: which verdicts and causes there are, and their thresholds. A record states by which it was
# judged: only under the same rules must a judgement be what it was. It goes up with every change of a threshold.
RULES_VERSION = 11
RULES_FACT = "rules_version"

# Of these, reports say how much is allowed.
# CPU that the driver takes on the server's host is missing in the figures; 2 % is within the spread between runs.
MAX_DRIVER_PCT = 2.0
# Stolen time lowers the figures directly; 1 % is also the tolerance of the window.
MAX_STEAL_PCT = 1.0
# Kernel threads that serve the run's own I/O take a few %; a larger share means that other programs use the host.
MAX_OTHERS_PCT = 10.0
# With a larger spread the mean depends on which seconds are in the window.
MAX_SPREAD_PCT = 5.0
# The percentile in headlines and comparisons; p99.9 is shown as well, for runs that are long enough.
REQUIRED_PERCENTILE = 0.99
# A verdict that fails by up to so many times what is allowed is a note.
_SLIGHT = 2


class VerdictGroup(StrEnum):
    """The question that a verdict helps to answer."""

    VALID = "valid"
    """Are the figures what they claim to be?"""
    READ = "read"
    """What was read, and from where?"""
    UNDISTURBED = "undisturbed"
    """Did anything else have a part in it?"""
    LIMIT = "limit"
    """What limits the rate?"""


class Severity(StrEnum):
    """What follows if a verdict fails."""

    INVALID = "invalid"
    """The figures must not be used."""
    CAUTION = "caution"
    """The figures may differ from those of a run of which it holds."""
    NOTE = "note"
    """It is good to know."""


Figures = Mapping[str, float | str | None]


def _never(_figures: Figures) -> bool:
    return False


def _at_most(**most: float) -> Callable[[Figures], bool]:
    """Return whether each of these figures that is known is at most so large, and at least one is known."""

    def is_so(figures: Figures) -> bool:
        known = [
            (value, most[name]) for name, value in figures.items() if name in most and isinstance(value, (int, float))
        ]
        return bool(known) and all(value <= limit for value, limit in known)

    return is_so


def _is_alone_and_slight(figures: Figures) -> bool:
    """Return whether the only driver used at most twice what is allowed: of several, each is judged by itself, too."""
    return figures.keys() <= _OF_ONE_DRIVER and _at_most(driver_cpu_pct_of_db=_SLIGHT * MAX_DRIVER_PCT)(figures)


_OF_ONE_DRIVER = {
    "driver_cpu_pct_of_db", "sampler_cpu_pct_of_db", "client_cpu_pct_of_db", "driver_cpu_pct_of_host",
}  # fmt: skip


@dataclass(frozen=True)
class VerdictRow:
    """A verdict by its name.

    ``is_slight`` returns whether one that fails with these figures is worth a note only: it exceeds what is allowed, by
    up to as much again.
    """

    name: str
    group: VerdictGroup
    severity: Severity
    is_slight: Callable[[Figures], bool] = _never


REGISTRY: tuple[VerdictRow, ...] = (
    VerdictRow("errors", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("real_server", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("settings_taken", VerdictGroup.VALID, Severity.CAUTION, _at_most(spoiling=0)),
    VerdictRow("window", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("planned_time", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("sessions_busy", VerdictGroup.VALID, Severity.CAUTION, _at_most(idle_pct=6)),
    VerdictRow("no_stalls", VerdictGroup.UNDISTURBED, Severity.CAUTION, _at_most(stalled_pct=2)),
    VerdictRow("alone_on_server", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("counts_agree", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("exact_mix", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("reads_reached_device", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("single_block", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("scan_path", VerdictGroup.READ, Severity.CAUTION),
    VerdictRow("block_path", VerdictGroup.READ, Severity.CAUTION),
    VerdictRow("commits_waited", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("mode", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("hits_as_expected", VerdictGroup.READ, Severity.CAUTION),
    VerdictRow("data_in_place", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("cleanup_keeps_up", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("cache_size_kept", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("not_throttled", VerdictGroup.LIMIT, Severity.CAUTION, _at_most(throttled_pct=2)),
    VerdictRow("log_switches", VerdictGroup.UNDISTURBED, Severity.NOTE),
    VerdictRow("driver_quiet", VerdictGroup.UNDISTURBED, Severity.CAUTION, _is_alone_and_slight),
    VerdictRow(
        "quiet_machine",
        VerdictGroup.UNDISTURBED,
        Severity.CAUTION,
        _at_most(
            steal_pct=_SLIGHT * MAX_STEAL_PCT,
            others_cpu_pct=_SLIGHT * MAX_OTHERS_PCT,
            spread_pct=_SLIGHT * MAX_SPREAD_PCT,
        ),
    ),
    VerdictRow("steady", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("level_sustained", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("percentiles_supported", VerdictGroup.VALID, Severity.NOTE),
    VerdictRow("clock_cheap", VerdictGroup.VALID, Severity.NOTE),
    VerdictRow("rate_reached", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("limit_found", VerdictGroup.LIMIT, Severity.NOTE),
    VerdictRow("time_is_accounted", VerdictGroup.LIMIT, Severity.NOTE),
    VerdictRow("within_ceiling", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("awr_agrees", VerdictGroup.VALID, Severity.CAUTION),
)
# Those on records of other kinds.
OF_OTHER_KINDS: tuple[VerdictRow, ...] = (
    VerdictRow("time_covered", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("steady_by_snia", VerdictGroup.UNDISTURBED, Severity.NOTE),
    VerdictRow("steady_course", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("level_lasted", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("every_time", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("predictable", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("control_shows_nothing", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("settled", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("runs_valid", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("pairs_valid", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("each_restarted", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("decided", VerdictGroup.VALID, Severity.NOTE),
    VerdictRow("no_acked_commit_lost", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("nothing_damaged", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("control_caught", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("operations_accounted", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("back_to_level", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("clocks_agree", VerdictGroup.VALID, Severity.CAUTION),
)
NAMES = tuple(row.name for row in REGISTRY)
# What may be required at once, by the question that it answers: the verdicts on it.
REQUIRABLE = (VerdictGroup.VALID, VerdictGroup.READ, VerdictGroup.UNDISTURBED)
_BY_NAME = {row.name: row for row in (*REGISTRY, *OF_OTHER_KINDS)}


def row_of(name: str) -> VerdictRow:
    """Return the row of a verdict; one that has none, of an older record or of another distribution, is a caution."""
    return _BY_NAME.get(name) or VerdictRow(name, VerdictGroup.VALID, Severity.CAUTION)


def invalidates(name: str) -> bool:
    """Return whether figures must not be used if this verdict fails; others are about their precision."""
    return row_of(name).severity is Severity.INVALID


def severity_of(name: str, figures: Figures) -> Severity:
    """Return what follows if a verdict with these figures fails."""
    row = row_of(name)
    return Severity.NOTE if row.is_slight(figures) else row.severity


def gravest(severities: Iterable[Severity]) -> Severity:
    """Return the gravest of some severities."""
    return min(severities, key=list(Severity).index)
