"""What keeps a requirement from being met: a verdict's name, or a question that several verdicts answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from openslob.analyze.verdict_registry import REGISTRY, REQUIRABLE, Severity, gravest, row_of, severity_of
from openslob.record.model import Holds, Verdict


def is_asked(verdict: Verdict) -> bool:
    """Return whether a verdict answers what was asked: without a stated mode, there is nothing to judge about it."""
    return verdict.name != "mode" or verdict.verdict is not Holds.UNKNOWN or "stated" in verdict.figures


def list_unmet(verdicts: Sequence[Verdict], required: Iterable[str]) -> list[tuple[str, Verdict]]:
    """Return each verdict that keeps something required from being met, after what requires it; failed ones first."""
    found = [(name, each) for name in required for each in verdicts if _keeps(each, name)]
    return sorted(found, key=lambda pair: pair[1].verdict is not Holds.FAILS)


def _keeps(verdict: Verdict, name: str) -> bool:
    """Return whether a verdict keeps what a name requires from being met.

    Of a question, a verdict that fails does, unless it is a note; one that is unknown does if its failure would be as
    grave as any of its group: of the others nobody asks that they are proved.
    """
    if name == verdict.name:
        return verdict.verdict is not Holds.HOLDS
    row = row_of(verdict.name)
    if name not in REQUIRABLE or row.group != name or not is_asked(verdict):
        return False
    if verdict.verdict is Holds.FAILS:
        return severity_of(verdict.name, verdict.figures) is not Severity.NOTE
    is_gravest = row.severity is gravest(each.severity for each in REGISTRY if each.group is row.group)
    return verdict.verdict is Holds.UNKNOWN and is_gravest


def list_unanswered(verdicts: Sequence[Verdict], required: Iterable[str]) -> list[str]:
    """Return the required questions that none of the verdicts answers."""
    answered = {row_of(each.name).group for each in verdicts if is_asked(each)}
    return [name for name in required if name in REQUIRABLE and name not in answered]


def say_unmet(name: str, verdict: Verdict) -> str:
    """Return what a message says of a verdict that keeps what a name requires from being met."""
    said = f"verdict {verdict.name} {verdict.verdict.value}: {verdict.why}"
    if name == verdict.name:
        return said
    return f"{'not' if verdict.verdict is Holds.FAILS else 'not known to be'} {name}: {said}"
