"""`slob compare`: the difference between two runs or two sweeps."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from openslob.analyze import ci_gate
from openslob.analyze.ci_gate import GateCheck, GateResult, Thresholds
from openslob.analyze.compare import Comparison, not_allowed
from openslob.analyze.differences import DETECT_PCT
from openslob.cli import completion
from openslob.cli.baseline import DEFAULT_DIRECTORY, DIRECTORY
from openslob.cli.common_options import ALL, RESULTS, parse_percent
from openslob.cli.console import notify, remark, write, write_document
from openslob.cli.gate import GATE, Inconclusive
from openslob.core.errors import SlobError, UndecidedError, UsageError, VerdictError
from openslob.kinds import baseline as baselines
from openslob.kinds import runs
from openslob.kinds.runs import Runs
from openslob.report import ci_formats
from openslob.report.ci_formats import Refusal, refusal_json, refusal_markdown, refusal_text
from openslob.report.compare_screen import comparison_screen
from openslob.report.comparison import comparison_document, comparison_json, gate_sentence


class CompareFormat(StrEnum):
    """Formats of a comparison."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    GITHUB = "github"
    JSON = "json"


_SIDE = "Runs or a sweep: number, name, id, or path; several: a,b,c."
A = Annotated[str, typer.Argument(autocompletion=completion.records, metavar="A", help=_SIDE)]
_B_HELP = f"{_SIDE} Left out with --baseline."
B = Annotated[
    str | None,
    typer.Argument(autocompletion=completion.records, metavar="B", help=_B_HELP, show_default=False),
]
FORMAT = Annotated[CompareFormat, typer.Option("--format", "-f", help="How to print the comparison.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="The same as --format json.")]
ANYWAY = Annotated[
    bool, typer.Option("--anyway", metavar="", help="Compare even if conditions differ. The differences are listed.")
]
MAY_DIFFER = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Allow this to differ, such as cache_bytes. engine.settings allows all settings; repeatable, or a,b,c.",
    ),
]
FAIL_IF = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        autocompletion=completion.figures,
        help="Exit with 3 if the change is so: ops_per_s < -10%. Exit with 4 if that is undecided.",
    ),
]
THRESHOLDS = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A TOML file of such conditions: ops_per_s = '< -10%'.")
]
SEE = Annotated[
    float, typer.Option(parser=parse_percent, metavar="PCT", help="Say how many runs would show this change.")
]
SPREAD = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.records,
        metavar="NAME",
        help="Equal runs of several starts of the server, or a baseline of such: they show how much starts differ.",
    ),
]
PRICE = Annotated[
    list[str] | None,
    typer.Option(
        "--price", metavar="AMOUNT/month", help="What the servers cost, such as 99 EUR/month; twice: A's and B's."
    ),
]
BASELINE = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", autocompletion=completion.baselines, help="Compare with this baseline; see slob baseline."
    ),
]


def compare(
    a: A,
    b: B = None,
    anyway: ANYWAY = False,
    may_differ: MAY_DIFFER = None,
    fail_if: FAIL_IF = None,
    thresholds: THRESHOLDS = None,
    baseline: BASELINE = None,
    directory: DIRECTORY = DEFAULT_DIRECTORY,
    see: SEE = DETECT_PCT,
    spread: SPREAD = None,
    prices: PRICE = None,
    *,
    results: RESULTS,
    form: FORMAT = CompareFormat.TEXT,
    whole: ALL = False,
    as_json: JSON = False,
) -> None:
    """Say how much B does against A, whether that is proved, and how their figures differ; --all has every figure.

    Example: slob compare before after --fail-if 'ops_per_s < -10%'
    """
    chosen = CompareFormat.JSON if as_json else form
    given = _thresholds(thresholds)
    conditions = [*(ci_gate.parse_condition(text) for text in fail_if or ()), *given.conditions]
    names = _names(a, b, baseline)
    first = _read_baseline(baseline, directory) if baseline else _side(names[0], results)
    sides = _at_prices([first, _side(names[1], results)], prices or ())
    like = _equal_runs(spread, directory, results) if spread else None
    comparison = runs.compare(*sides, like, see, baseline or "")
    allowed = [*given.may_differ, *(name for word in may_differ or () for name in re.split(r"[,\s]+", word) if name)]
    refused = not_allowed(comparison.mismatches, [*sides[0].runs, *sides[1].runs], allowed)
    if refused and not anyway:
        _refuse(Refusal(comparison, refused, tuple(allowed)), chosen)
    checks = [ci_gate.check(condition, comparison) for condition in conditions]
    again = _again((a, b), baseline, directory, anyway, may_differ or ())
    _print(comparison, checks, chosen, again, whole)
    _judge(checks)


def _again(
    sides: Sequence[str | None], baseline: str | None, directory: Path, anyway: bool, may_differ: Sequence[str]
) -> str:
    """Return the command that makes the same comparison without its conditions."""
    stored = ["--baseline", baseline] if baseline else []
    place = ["--dir", str(directory)] if baseline and directory != DEFAULT_DIRECTORY else []
    allowed = ["--anyway"] if anyway else [word for name in may_differ for word in ("--may-differ", name)]
    return shlex.join(["slob", "compare", *filter(None, sides), *stored, *place, *allowed])


def _names(a: str, b: str | None, baseline: str | None) -> tuple[str, str]:
    """Return the names of both sides; a baseline is A, and the only argument B."""
    if baseline and b is None:
        return baseline, a
    if baseline or b is None:
        raise UsageError("a comparison has two sides", "give A and B, or one of them and --baseline")
    return a, b


def _thresholds(file: Path | None) -> Thresholds:
    if file is None:
        return Thresholds(())
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8") from error
    return ci_gate.parse_thresholds(text, str(file))


def _side(names: str, results: Path) -> Runs:
    side = runs.find(names.split(","), results)
    for problem in side.problems:
        notify(problem)
    return replace(side, name=runs.title_of(names, side))


def _read_baseline(baseline: str, directory: Path) -> Runs:
    return replace(runs.load(baselines.get(directory, baseline).path), name=baseline)


def _at_prices(sides: Sequence[Runs], prices: Sequence[str]) -> tuple[Runs, Runs]:
    """Return A and B at these prices: one for both, or one for each; without any, at those of their runs."""
    if len(prices) > 2:
        raise UsageError("--price is given more than twice", "give one for A and one for B, or one for both")
    a, b = (
        (side.at_price(price) for side, price in zip(sides, (prices[0], prices[-1]), strict=True)) if prices else sides
    )
    return a, b


def _equal_runs(name: str, directory: Path, results: Path) -> Runs:
    """Return the runs that show how much starts differ: those of a baseline of this name, or of records."""
    if any(each.name == name for each in baselines.find(directory)):
        return _read_baseline(name, directory)
    return _side(name, results)


def _refuse(refusal: Refusal, form: CompareFormat) -> None:
    """Raise SlobError for sides under different conditions, after the list of these in the format that was chosen."""
    differing = replace(refusal.comparison, mismatches=refusal.refused)
    match form:
        case CompareFormat.JSON:
            write(refusal_json(refusal))
        case CompareFormat.MARKDOWN:
            write(refusal_markdown(refusal), end="")
        case CompareFormat.JUNIT:
            write(ci_formats.junit(differing, refused=True), end="")
        case CompareFormat.GITHUB:
            write(ci_formats.github(differing, refused=True), end="")
            _add_summary(refusal_markdown(refusal))
    remark(refusal_text(refusal))
    raise SlobError(
        refusal.what, "see above; --may-differ allows what was changed on purpose, --anyway whatever differs"
    )


def _print(
    comparison: Comparison, checks: Sequence[GateCheck], form: CompareFormat, again: str = "", whole: bool = False
) -> None:
    lenient = GATE.inconclusive is Inconclusive.PASS
    match form:
        case CompareFormat.JSON:
            write(json.dumps(comparison_json(comparison, checks), indent=1, ensure_ascii=False))
        case CompareFormat.MARKDOWN:
            write(ci_formats.markdown(comparison, checks), end="")
        case CompareFormat.JUNIT:
            write(ci_formats.junit(comparison, checks, lenient=lenient), end="")
        case CompareFormat.GITHUB:
            write(ci_formats.github(comparison, checks, lenient=lenient), end="")
            _add_summary(ci_formats.markdown(comparison, checks))
        case CompareFormat.TEXT:
            document = comparison_document(comparison, checks)
            write_document(replace(document, screen=comparison_screen(comparison, checks, again)), whole=whole)


def _add_summary(text: str) -> None:
    """Append to the summary of the job in GitHub Actions, if there is one."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with Path(file).open("a", encoding="utf-8") as summary:
                summary.write(text)
        except OSError as error:
            notify(f"the summary of the job can't be written: {file}: {error.strerror}")


def _judge(checks: Sequence[GateCheck]) -> None:
    """Raise the error with the exit code: 3 if a condition is met, 4 if one is undecided; what is met comes first."""
    met = [gate_sentence(check) for check in checks if check.result is GateResult.VIOLATED]
    open_ones = [gate_sentence(check) for check in checks if check.result is GateResult.UNDECIDED]
    if met or open_ones:
        raise (VerdictError if met else UndecidedError)("; ".join(dict.fromkeys(met + open_ones)))
