"""`slob compare`: the difference between two runs or two sweeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from openslob import api
from openslob.analyze import ci_gate
from openslob.analyze.compare import Comparison
from openslob.analyze.compare import compare as compared
from openslob.cli import completion
from openslob.cli.common_options import RESULTS
from openslob.cli.console import notify, remark, write
from openslob.errors import SlobError, UsageError, VerdictError
from openslob.report.comparison import comparison_json, mismatch_lines, render_comparison

_SIDE = "Name or id of runs or a sweep, or a path; several: a,b,c."
A = Annotated[str, typer.Argument(autocompletion=completion.records, metavar="A", help=_SIDE)]
B = Annotated[str, typer.Argument(autocompletion=completion.records, metavar="B", help=_SIDE)]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the comparison as JSON.")]
ANYWAY = Annotated[
    bool, typer.Option("--anyway", metavar="", help="Compare although conditions differ, and name the differences.")
]
FAIL_IF = Annotated[
    list[str] | None,
    typer.Option(metavar="CONDITION", help="Exit with 3 if the change meets this, such as 'iops_per_db_cpu < -5%'."),
]


def compare(
    a: A,
    b: B,
    anyway: ANYWAY = False,
    fail_if: FAIL_IF = None,
    *,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Show how B differs from A in every figure, with a 95 % interval, or why that is unknown.

    Example: slob compare before after --fail-if 'iops_per_db_cpu < -5%'
    """
    conditions = [ci_gate.parse_condition(text) for text in fail_if or ()]
    sides = _side(a, results), _side(b, results)
    _require_disjoint(*sides)
    comparison = compared(sides[0].runs, sides[1].runs, a, b)
    _require_comparable(comparison, anyway)
    checks = [ci_gate.check(condition, comparison) for condition in conditions]
    if as_json:
        write(json.dumps(comparison_json(comparison, checks), indent=1, ensure_ascii=False))
    else:
        write(render_comparison(comparison, checks), end="")
    failed = [check.condition.text for check in checks if check.result is not ci_gate.GateResult.OK]
    if failed:
        raise VerdictError(f"the change meets, or may meet, --fail-if: {'; '.join(failed)}")


def _side(names: str, results: Path) -> api.Results:
    side = api.joined([api.find(name, results) for name in names.split(",")])
    for problem in side.problems:
        notify(problem)
    return side


def _require_disjoint(a: api.Results, b: api.Results) -> None:
    """Raise UsageError for a run on both sides: it would make them look more alike than they are."""
    shared = {folder.resolve() for folder in a.folders} & {folder.resolve() for folder in b.folders}
    if shared:
        raise UsageError(f"the run {min(shared).name} is on both sides", "name it on one side only")


def _require_comparable(comparison: Comparison, anyway: bool) -> None:
    if comparison.mismatches and not anyway:
        remark("\n".join(mismatch_lines(comparison.mismatches)))
        count = len(comparison.mismatches)
        raise SlobError(
            f"{comparison.name_a} and {comparison.name_b} can't be compared: {count} conditions differ",
            "see the list above; --anyway compares them and names the differences",
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)
