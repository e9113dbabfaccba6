"""`slob baseline`: records to compare later runs with, in a directory of the project."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.analyze.curves.points import Run, points
from openslob.analyze.differences import DETECT_PCT
from openslob.analyze.outcome import count_noun
from openslob.cli.common_options import ALL, RESULTS, parse_percent
from openslob.cli.completion import baselines as known_baselines
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, write, write_document, write_report
from openslob.config.configuration import BASELINES_VARIABLE
from openslob.kinds import baseline as baselines
from openslob.kinds.baseline import Baseline
from openslob.kinds.contract import kind_of
from openslob.record import finding
from openslob.report.comparison import plan
from openslob.report.document import Document, LabelledTexts, Screen, Section, TitleOfSeveral, plain_paragraphs
from openslob.report.format import fold_table, wrap

DIRECTORY = Annotated[
    Path, typer.Option("--dir", envvar=BASELINES_VARIABLE, metavar="DIR", help="Directory of the baselines.")
]
DEFAULT_DIRECTORY = Path("baselines")
NAME = Annotated[str, typer.Argument(metavar="NAME", autocompletion=known_baselines, help="Name of the baseline.")]
RECORDS = Annotated[
    str,
    typer.Argument(metavar="[RECORD]", autocompletion=records, help="Runs a,b,c or a sweep: number, id, name, path."),
]
REPLACE = Annotated[bool, typer.Option("--replace", metavar="", help="Replace the baseline of this name.")]
SEE = Annotated[
    float | None,
    typer.Option(
        parser=parse_percent, metavar="PCT", show_default=False,
        help="Say how many runs on each side show a change of this size, such as 5%.",
    ),
]  # fmt: skip
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]
# Points of a sweep that are on the screen, and what is there of the conditions.
_MOST_PLANS = 4
_ON_SCREEN = frozenset({"path", "cpu", "kernel", "problem"})


def save(
    name: NAME,
    record: RECORDS = "latest",
    directory: DIRECTORY = DEFAULT_DIRECTORY,
    replace: REPLACE = False,
    see: SEE = None,
    *,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Store runs or a sweep, without their raw measurements, to compare later ones with.

    Example: slob baseline save main latest --dir ci/baselines
    """
    found = [each for word in record.split(",") for each in finding.several(word, results, notify)]
    path = baselines.save(directory, name, found, replace)
    for run in (run for each in found for run in kind_of(each).left_out(each)):
        notify(f"{run.id} ({run.status}) is not complete and was left out")
    stored = baselines.get(directory, name)
    if as_json:
        write(json.dumps(_values(stored), indent=1))
    else:
        count = len(stored.runs)
        write(f"stored {count_noun(count, 'run')} as baseline {name} in {path}")
        write("\n".join(line for text in _plans(stored, see) for line in wrap(text)))


def list_baselines(directory: DIRECTORY = DEFAULT_DIRECTORY, as_json: JSON = False) -> None:
    """List the baselines of a directory.

    Example: slob baseline list --dir ci/baselines
    """
    found = baselines.find(directory)
    if as_json:
        write(json.dumps([_values(each) for each in found], indent=1))
    elif found:
        rows = [_row(each) for each in found]
        # Most have none.
        shown = 6 if any(row[-1] for row in rows) else 5
        head = ("baseline", "runs", "measured (UTC)", "server", "host", "remarks")[:shown]
        write_report("\n".join(fold_table(head, [row[:shown] for row in rows], columns(), texts={0, 2, 3, 4, 5})))
    else:
        notify(f"there are no baselines in {directory}; `slob baseline save` makes one")


def show(
    name: NAME,
    directory: DIRECTORY = DEFAULT_DIRECTORY,
    see: SEE = None,
    whole: ALL = False,
    as_json: JSON = False,
) -> None:
    """Show of what server the runs of a baseline are, and how many runs show a change against it.

    Example: slob baseline show main --dir ci/baselines
    """
    stored = baselines.get(directory, name)
    if as_json:
        write(json.dumps(_values(stored), indent=1))
    else:
        write_document(_document(stored, directory, see), whole=whole)


def remove(name: NAME, directory: DIRECTORY = DEFAULT_DIRECTORY, as_json: JSON = False) -> None:
    """Remove a baseline.

    Example: slob baseline remove main --dir ci/baselines
    """
    baselines.remove(directory, name)
    write(json.dumps({"removed": name}) if as_json else f"removed the baseline {name}")


def _document(stored: Baseline, directory: Path, see: float | None) -> Document:
    """Return the report on a baseline: its runs and their conditions, and how many runs show a change."""
    values, plans = _values(stored), _plans(stored, see)
    facts = [(key.replace("_", " "), _text(value)) for key, value in values.items() if value]
    count, place = len(stored.runs), "" if directory == DEFAULT_DIRECTORY else f" --dir {shlex.quote(str(directory))}"
    subject = (
        f"{stored.name}: {count_noun(count, 'run')} of {values['server'] or 'an unknown server'} on "
        f"{values['host'] or 'an unknown host'}, {_moment(values) or 'at an unknown time'}"
    )
    left = f"{count_noun(len(plans) - _MOST_PLANS, 'more point')}: --all"
    remarks = (stored.problem,) if stored.problem else ()
    return Document(
        TitleOfSeveral(stored.name, subject, remarks),
        (Section("", (LabelledTexts(facts),)), Section("", plain_paragraphs(plans))),
        titled=False,
        screen=Screen(
            subject,
            (*plans[:_MOST_PLANS], *([left] if plans[_MOST_PLANS:] else [])),
            (LabelledTexts([fact for fact in facts if fact[0] in _ON_SCREEN]),),
            ((f"slob compare latest --baseline {stored.name}{place}", "compare the latest record with it"),),
        ),
    )


def _plans(stored: Baseline, see: float | None) -> list[str]:
    """Return how many runs show a change, at each point of the baseline."""
    return [f"{plan(point, see or DETECT_PCT)}." for point in points([Run.of(run) for run in stored.runs])]


def _values(stored: Baseline) -> dict[str, Any]:
    first = stored.runs[0] if stored.runs else None
    environment, engine = (first.environment, first.engine) if first else ({}, {})
    return {
        "name": stored.name,
        "path": str(stored.path),
        "runs": [run.id for run in stored.runs],
        "measured_at": first.started_at if first else None,
        "server": " ".join(str(engine[name]) for name in ("product", "version") if engine.get(name)),
        "host": environment.get("host"),
        "cpu": environment.get("cpu"),
        "kernel": environment.get("kernel"),
        "openslob_version": first.openslob_version if first else None,
        "problem": stored.problem,
    }


def _row(stored: Baseline) -> tuple[str, ...]:
    values = _values(stored)
    known = (_moment(values), values["server"], values["host"])
    return stored.name, str(len(stored.runs)), *(each or "unknown" for each in known), stored.problem


def _moment(values: Mapping[str, Any]) -> str:
    """Return when the first run began, to the minute."""
    return (values["measured_at"] or "").replace("T", " ").removesuffix("Z")[:16]


def _text(value: object) -> str:
    """Return a fact in a line; what the host does not report is left out."""
    if isinstance(value, dict):
        known = {name: each for name, each in value.items() if each not in (None, "")}
        return ", ".join(f"{name.replace('_', ' ')} {each}" for name, each in known.items()) or "unknown"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def register(app: typer.Typer) -> None:
    """Add the group with its commands."""
    group = typer.Typer(help="Store records to compare later runs with.", no_args_is_help=True)
    group.command("save")(save)
    group.command("list")(list_baselines)
    group.command("show")(show)
    group.command("remove")(remove)
    app.add_typer(group, name="baseline")
