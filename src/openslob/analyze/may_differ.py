"""Conditions that may differ between the sides of a comparison because someone changed them on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from openslob.analyze.compare import Mismatch
from openslob.analyze.curves.points import Run, facts
from openslob.core.errors import UsageError
from openslob.record.model import SET

_SETTINGS = "engine.settings"


def not_allowed(mismatches: Sequence[Mismatch], runs: Sequence[Run], may_differ: Sequence[str]) -> tuple[Mismatch, ...]:
    """Return the mismatches that ``may_differ`` does not name, by a condition's name or a prefix that ends at a dot.

    A setting of the server that a run was made with on purpose is a parameter; ``engine.settings`` covers it as well.
    UsageError for a name that is no condition of these runs.
    """
    on_purpose = {name for run in runs for name in run.record.engine.get(SET) or ()}
    known = {name for run in runs for name in run.parameters} | set(facts([run.record for run in runs]))
    known |= {f"{_SETTINGS}.{name}" for name in on_purpose}
    for name in may_differ:
        if not any(_covers(name, each) for each in known):
            raise UsageError(f"{name!r} is not a condition of these runs", _near(name, mismatches, known))

    def is_allowed(condition: str) -> bool:
        called = (condition, f"{_SETTINGS}.{condition}") if condition in on_purpose else (condition,)
        return any(_covers(name, each) for name in may_differ for each in called)

    return tuple(each for each in mismatches if not is_allowed(each.name))


def _covers(name: str, condition: str) -> bool:
    return condition == name or condition.startswith(f"{name}.")


def _near(name: str, mismatches: Sequence[Mismatch], known: Iterable[str]) -> str:
    """Return a question with the likely name: one that differs, if there is one, else any."""
    differing = [each.name for each in mismatches]
    for names in (differing, sorted(known)):
        ends = {each.rpartition(".")[2]: each for each in names}
        near = difflib.get_close_matches(name, [*names, *ends], 1) or [each for each in names if name in each]
        if near:
            return f"did you mean {ends.get(near[0], near[0])}?"
    return f"these differ: {', '.join(differing)}" if differing else "all conditions are the same"
