"""The verdicts on a run, a row each: what each is about, and what follows if it fails. `analyze.verdicts` judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Group(StrEnum):
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


@dataclass(frozen=True)
class VerdictRow:
    """A verdict by its name."""

    name: str
    group: Group
    severity: Severity


REGISTRY: tuple[VerdictRow, ...] = (
    VerdictRow("errors", Group.VALID, Severity.INVALID),
    VerdictRow("real_server", Group.VALID, Severity.INVALID),
    VerdictRow("window", Group.VALID, Severity.INVALID),
    VerdictRow("planned_time", Group.VALID, Severity.CAUTION),
    VerdictRow("sessions_busy", Group.VALID, Severity.CAUTION),
    VerdictRow("no_stalls", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("alone_on_server", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("counts_agree", Group.VALID, Severity.INVALID),
    VerdictRow("exact_mix", Group.VALID, Severity.INVALID),
    VerdictRow("reads_reached_device", Group.READ, Severity.INVALID),
    VerdictRow("single_block", Group.READ, Severity.INVALID),
    VerdictRow("block_path", Group.READ, Severity.CAUTION),
    VerdictRow("commits_waited", Group.VALID, Severity.CAUTION),
    VerdictRow("mode", Group.READ, Severity.INVALID),
    VerdictRow("data_in_place", Group.VALID, Severity.INVALID),
    VerdictRow("cache_size_kept", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("not_throttled", Group.LIMIT, Severity.CAUTION),
    VerdictRow("log_switches", Group.UNDISTURBED, Severity.NOTE),
    VerdictRow("driver_quiet", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("quiet_machine", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("steady", Group.UNDISTURBED, Severity.CAUTION),
    VerdictRow("level_sustained", Group.LIMIT, Severity.CAUTION),
    VerdictRow("percentiles_supported", Group.VALID, Severity.NOTE),
    VerdictRow("rate_reached", Group.LIMIT, Severity.CAUTION),
    VerdictRow("limit_found", Group.LIMIT, Severity.NOTE),
    VerdictRow("within_ceiling", Group.VALID, Severity.CAUTION),
    VerdictRow("awr_agrees", Group.VALID, Severity.CAUTION),
)
NAMES = tuple(row.name for row in REGISTRY)
# If one of these fails, figures are not what they claim to be. The other verdicts are about their precision.
INVALIDATING = frozenset(row.name for row in REGISTRY if row.severity is Severity.INVALID)
