"""A comparison for continuous integration: Markdown, JUnit XML, and annotations of GitHub Actions.

Of one that was refused because conditions differ: what differs, and how to allow it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

from openslob.analyze.ci_gate import GateCheck, GateResult, GateVerdict
from openslob.analyze.compare import Comparison, Mismatch
from openslob.report.comparison import (
    change_cells,
    gate_sentence,
    labels_for,
    list_mismatches,
    main_differences,
    n_text,
    reservations,
    runs_needed,
    summary,
    value_cells,
    value_text,
)
from openslob.report.document import Section
from openslob.report.format import without_controls
from openslob.report.terminal import render_blocks

_SUITE = "slob compare"
_CONDITIONS = "conditions are the same"
_WORDS = {GateResult.OK: "passed", GateResult.VIOLATED: "**failed**", GateResult.UNDECIDED: "**undecided**"}


def markdown(comparison: Comparison, checks: Sequence[GateCheck] = ()) -> str:
    """Return the comparison as Markdown: the conditions, the result in a sentence, and the figures that differ."""
    lines = title(comparison)
    lines += [line for text in reservations(comparison) for line in (f"**{_cell(text)}**", "")]
    if checks:
        lines += ["| condition | result | |", "| --- | --- | --- |"]
        lines += [
            f"| {_code(each.condition.text)} | {_WORDS[each.result]} | {_cell(gate_sentence(each))} |"
            for each in checks
        ]
        lines.append("")
    lines += [_cell(summary(comparison)), "", *mismatch_table(comparison.mismatches)]
    several, label = len(comparison.pairs) > 1, labels_for(comparison.pairs)
    lines += ["| figure | A | B | change | result | n |", "| --- | ---: | ---: | ---: | --- | --- |"]
    for name, change in main_differences(comparison).items():
        if change.pct is None and change.change is None and change.unit_b is None:
            continue
        values = ("", "") if several else value_cells(change)
        cells = (label(name), *values, *change_cells(change)[:2], n_text(change))
        lines.append(f"| {' | '.join(_cell(cell) for cell in cells)} |")
    lines += [line for text in runs_needed(comparison) for line in ("", _cell(text))]
    return "\n".join(lines) + "\n"


def junit(
    comparison: Comparison, checks: Sequence[GateCheck] = (), refused: bool = False, lenient: bool = False
) -> str:
    """Return a JUnit document: a test case for the conditions of both sides, and one for each condition of the gate.

    A condition that is met is a failure. One that is undecided is an error, since it must not pass as if it held; it
    is skipped if ``lenient``.
    """
    undecided = "skipped" if lenient else "error"
    outcomes = {GateResult.OK: "", GateResult.VIOLATED: "failure", GateResult.UNDECIDED: undecided}
    cases = [(_CONDITIONS, *_conditions_case(comparison.mismatches, refused))]
    for each in checks:
        outcome = outcomes[each.result]
        cases.append((f"not {each.condition.text}", outcome, gate_sentence(each)))
    counts = {kind: str(sum(outcome == kind for _, outcome, _ in cases)) for kind in ("failure", "error", "skipped")}
    totals = {
        "tests": str(len(cases)), "failures": counts["failure"], "errors": counts["error"],
        "skipped": counts["skipped"], "time": "0",
    }  # fmt: skip
    suites = ElementTree.Element("testsuites", {"name": _SUITE, **totals})
    name = f"{comparison.name_b} against {comparison.name_a}"
    suite = ElementTree.SubElement(suites, "testsuite", {"name": without_controls(name), **totals})
    for title, outcome, why in cases:
        attributes = {"classname": _SUITE, "name": without_controls(title), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", attributes)
        if outcome:
            details = {"message": without_controls(why)}
            ElementTree.SubElement(case, outcome, details if outcome == "skipped" else {**details, "type": outcome})
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def github(
    comparison: Comparison, checks: Sequence[GateCheck] = (), refused: bool = False, lenient: bool = False
) -> str:
    """Return workflow commands of GitHub Actions, a line each: errors for conditions that are met, notices for others.

    One that is undecided is an error too, or a warning if ``lenient``.
    """
    undecided = "warning" if lenient else "error"
    levels = {GateResult.OK: "notice", GateResult.VIOLATED: "error", GateResult.UNDECIDED: undecided}
    lines = [_annotation("warning", "slob compare", text) for text in reservations(comparison)]
    if comparison.mismatches:
        _, why = _conditions_case(comparison.mismatches, refused)
        lines.append(_annotation("error" if refused else "warning", "slob compare", why))
    for each in checks:
        lines.append(_annotation(levels[each.result], f"slob: {each.condition.text}", gate_sentence(each)))
    if not checks and not refused:
        lines.append(_annotation("notice", "slob compare", summary(comparison)))
    return "\n".join(lines) + "\n"


def _conditions_case(mismatches: Sequence[Mismatch], refused: bool) -> tuple[str, str]:
    names = "; ".join(f"{each.name}: {value_text(each.a)} against {value_text(each.b)}" for each in mismatches)
    return ("error" if refused else "skipped" if mismatches else "", f"the conditions differ: {names}")


def title(comparison: Comparison) -> list[str]:
    """Return the heading of a comparison in Markdown."""
    return [f"## {_cell(comparison.name_b)} against {_cell(comparison.name_a)}", ""]


def mismatch_table(mismatches: Sequence[Mismatch]) -> list[str]:
    """Return the conditions that differ as a table of Markdown."""
    if not mismatches:
        return []
    rows = [(each.name, value_text(each.a), value_text(each.b)) for each in mismatches]
    lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]
    head = ["Conditions that are not the same on both sides:", "", "| condition | A | B |", "| --- | --- | --- |"]
    return [*head, *lines, ""]


def _code(text: str) -> str:
    """Return text as code in a cell: a renderer prints it as it is, so that only a bar must be escaped."""
    return f"`{' '.join(without_controls(text).split())}`".replace("|", "\\|")


def _cell(text: str) -> str:
    """Return text for a cell of a table, in which no sign of a record's own becomes markup."""
    plain = without_controls(text).replace("\n", " ").replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace("|", "\\|")


def _annotation(level: str, title: str, text: str) -> str:
    return f"::{level} title={_escape(title).replace(':', '%3A').replace(',', '%2C')}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


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
    lines = [*title(refusal.comparison), "**Nothing was compared.**", ""]
    lines += [*mismatch_table(refusal.refused), refusal.way_out]
    return "\n".join(lines) + "\n"
