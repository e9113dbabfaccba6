"""A comparison that was refused because conditions differ: what differs, and how to allow it, in every format."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from openslob.analyze.ci_gate import GateVerdict
from openslob.analyze.compare import Comparison, Mismatch
from openslob.report import ci_formats
from openslob.report.comparison import list_mismatches
from openslob.report.document import Section
from openslob.report.terminal import render_blocks


@dataclass(frozen=True)
class Refusal:
    """A comparison of which ``refused`` may not differ, and the names of what may."""

    comparison: Comparison
    refused: tuple[Mismatch, ...]
    may_differ: tuple[str, ...] = ()

    @property
    def what(self) -> str:
        """What happened, in a clause."""
        sides = f"{self.comparison.name_a} and {self.comparison.name_b}"
        return f"{sides} can't be compared: {len(self.refused)} conditions differ"

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names that allow all that differs: those that were given, and what was refused."""
        return tuple(dict.fromkeys((*self.may_differ, *(each.name for each in self.refused))))

    @property
    def way_out(self) -> str:
        """What to do if somebody changed it all on purpose, as an option to copy."""
        return f"If all of this was changed on purpose: --may-differ {','.join(self.all_names)}"


def refusal_text(refusal: Refusal) -> str:
    """Return a line for each condition that may not differ, and the option that allows them."""
    return f"{render_blocks([Section('', (list_mismatches(refusal.refused),))])}\n{refusal.way_out}"


def refusal_json(refusal: Refusal) -> str:
    """Return a document with the verdict and what differs; it has no figures, since nothing was compared."""
    comparison = refusal.comparison
    document = {
        "a": comparison.name_a,
        "b": comparison.name_b,
        "verdict": GateVerdict.REFUSED.value,
        "why": refusal.what,
        "mismatches": [asdict(each) for each in comparison.mismatches],
        "refused": [each.name for each in refusal.refused],
        "may_differ": list(refusal.all_names),
        "conditions": [],
        "overall": {},
        "points": [],
    }
    return json.dumps(document, indent=1, ensure_ascii=False)


def refusal_markdown(refusal: Refusal) -> str:
    """Return what differs as a table, and the option that allows it."""
    lines = [*ci_formats.title(refusal.comparison), "**Nothing was compared.**", ""]
    lines += [*ci_formats.mismatch_table(refusal.refused), refusal.way_out]
    return "\n".join(lines) + "\n"
