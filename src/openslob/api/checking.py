"""What is done before a run, as objects: a check, and a load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openslob.core.errors import SlobError
from openslob.core.units import format_bytes
from openslob.engines.facts import DATA, Finding, LoadResult
from openslob.kinds.run.preflight import Preflight, Purpose
from openslob.metrics import METRICS
from openslob.report.notebook import lines_html


class CheckResult:
    """What would stop or spoil a run, and which of its figures will be unknown, as `Target.check` returns it.

    Attributes:
        preflight: Everything that was found, with the facts of the server.

    """

    def __init__(self, target: str, preflight: Preflight) -> None:
        self._target = target
        self.preflight = preflight

    @property
    def blocked(self) -> bool:
        """Whether a run is impossible, for another reason than missing data, which a load repairs."""
        return self.preflight.blocked

    @property
    def findings(self) -> Sequence[Finding]:
        """What would stop or spoil a run, the gravest first, each with its reason and its remedy."""
        return self.preflight.findings

    @property
    def purposes(self) -> Sequence[Purpose]:
        """Whether a test of physical reads, and one of logical reads, is possible with these data and this cache."""
        return self.preflight.purposes

    @property
    def unknown(self) -> Mapping[str, str]:
        """The figures that a run will lack, with the reason."""
        return self.preflight.unknown

    @property
    def answer(self) -> str:
        """The result in one sentence."""
        if self.blocked:
            return f"{self._target}: a run is not possible"
        if any(finding.name == DATA and finding.blocking for finding in self.findings):
            return f"{self._target}: a run is possible after a load"
        return f"{self._target}: a run is possible"

    def require(self) -> None:
        """Raise SlobError if something blocks a run."""
        if self.blocked:
            first = next(each for each in self.findings if each.blocking and each.name != DATA)
            raise SlobError(first.why, first.advice)

    def __repr__(self) -> str:
        """Return the answer and the reasons."""
        return "; ".join([f"<Check of {self.answer}", *(finding.why for finding in self.findings)]) + ">"

    def _repr_html_(self) -> str:
        """Return the answer and the findings for a notebook."""
        rows = [(_sign(each), each.name, each.why, each.advice) for each in self.findings]
        rows += [
            ("?" if each.possible is None else "✓" if each.possible else "–", each.mode.value, each.why, "")
            for each in self.purposes
        ]
        rows += [("?", METRICS[name].label, why, "") for name, why in self.unknown.items()]
        return lines_html("Check", [f"{self.answer}."], ("", "what", "why", "what to do"), rows)


def _sign(finding: Finding) -> str:
    return "✗" if finding.blocking else "!"


class LoadSummary:
    """Loaded and verified data, as `Target.load` returns it.

    Attributes:
        seconds: How long the load took.
        blocks: The number of blocks of the tables.
        bytes: Their size.
        reused: Whether the data were there already, and were only verified.
        checks: The figure of each check by its name.
        parameters: What was loaded: schemas, blocks of each table, and how rows are filled.

    """

    def __init__(self, result: LoadResult) -> None:
        self.seconds = result.seconds
        self.blocks = result.blocks
        self.bytes = result.bytes
        self.reused = result.reused
        self.checks: Mapping[str, str] = result.checks
        self.parameters: Mapping[str, object] = result.spec.to_record()

    def __str__(self) -> str:
        """Return the load in one line."""
        data = f"{self.parameters['schemas']} schemas of {self.parameters['scale_blocks']:,} blocks"
        if self.reused:
            return f"{data}: already there and verified"
        rate = f", {format_bytes(self.bytes / self.seconds)}/s" if self.seconds > 0 else ""
        return f"{data}: loaded and verified in {self.seconds:.1f} s, {format_bytes(self.bytes)}{rate}"

    def __repr__(self) -> str:
        """Return the load in one line."""
        return f"<Load of {self}>"

    def _repr_html_(self) -> str:
        """Return the load and its checks for a notebook."""
        return lines_html("Load", [str(self)], ("check", "figure"), list(self.checks.items()))
