"""The verdicts on a run, a row each: what each is about, and what follows if it fails. `analyze.verdicts` judges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

# The version of the rules: which verdicts and causes there are, and their thresholds. A record states by which it was
# judged: only under the same rules must a judgement be what it was. It goes up with every change of a threshold.
RULES_VERSION = 1
RULES_FACT = "rules_version"


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


@dataclass(frozen=True)
class VerdictRow:
    """A verdict by its name."""

    name: str
    group: VerdictGroup
    severity: Severity


REGISTRY: tuple[VerdictRow, ...] = (
    VerdictRow("errors", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("real_server", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("window", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("planned_time", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("sessions_busy", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("no_stalls", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("alone_on_server", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("counts_agree", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("exact_mix", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("reads_reached_device", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("single_block", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("block_path", VerdictGroup.READ, Severity.CAUTION),
    VerdictRow("commits_waited", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("mode", VerdictGroup.READ, Severity.INVALID),
    VerdictRow("data_in_place", VerdictGroup.VALID, Severity.INVALID),
    VerdictRow("cache_size_kept", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("not_throttled", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("log_switches", VerdictGroup.UNDISTURBED, Severity.NOTE),
    VerdictRow("driver_quiet", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("quiet_machine", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("steady", VerdictGroup.UNDISTURBED, Severity.CAUTION),
    VerdictRow("level_sustained", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("percentiles_supported", VerdictGroup.VALID, Severity.NOTE),
    VerdictRow("rate_reached", VerdictGroup.LIMIT, Severity.CAUTION),
    VerdictRow("limit_found", VerdictGroup.LIMIT, Severity.NOTE),
    VerdictRow("within_ceiling", VerdictGroup.VALID, Severity.CAUTION),
    VerdictRow("awr_agrees", VerdictGroup.VALID, Severity.CAUTION),
)
NAMES = tuple(row.name for row in REGISTRY)
# If one of these fails, figures are not what they claim to be. The other verdicts are about their precision.
INVALIDATING = frozenset(row.name for row in REGISTRY if row.severity is Severity.INVALID)
