"""Two values of one parameter held against each other, within one set of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openslob.analyze.compare import Comparison, compare
from openslob.analyze.lines import label
from openslob.analyze.points import ParameterValue, Run
from openslob.errors import UsageError


@dataclass(frozen=True)
class Against:
    """The runs with the value ``b`` of a parameter against those with ``a``."""

    parameter: str
    a: ParameterValue
    b: ParameterValue


def compare_values(runs: Sequence[Run], against: Against) -> Comparison:
    """Every point that both have; that the parameter differs is the question, and so no mismatch.

    UsageError when one of them has no run, or they have no point in common.
    """
    values = (against.a, against.b)
    names = [label({against.parameter: value}) for value in values]
    sides = [[run for run in runs if run.parameters.get(against.parameter) == value] for value in values]
    for name, side in zip(names, sides, strict=True):
        if not side:
            raise UsageError(f"there is no run with {name}")
    found = compare(sides[0], sides[1], names[0], names[1])
    mismatches = tuple(each for each in found.mismatches if each.name != against.parameter)
    return replace(found, mismatches=mismatches)
