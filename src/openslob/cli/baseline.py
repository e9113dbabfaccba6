"""`slob baseline`: records to compare later runs with, in a directory of the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from openslob.analyze.curves.points import Run, points
from openslob.analyze.differences import DETECT_PCT
from openslob.cli.common_options import RESULTS, parse_percent
from openslob.cli.completion import baselines as known_baselines
from openslob.cli.completion import records
from openslob.cli.console import columns, notify, write, write_report
from openslob.config.configuration import BASELINES_VARIABLE
from openslob.kinds import baseline as baselines
from openslob.kinds.baseline import Baseline
from openslob.kinds.contract import kind_of
from openslob.record import finding
from openslob.report.comparison import plan
from openslob.report.format import fold_table, pairs, wrap

DIRECTORY = Annotated[
    Path, typer.Option("--dir", envvar=BASELINES_VARIABLE, metavar="DIR", help="Directory of the baselines.")
]
DEFAULT_DIRECTORY = Path("baselines")
NAME = Annotated[str, typer.Argument(metavar="NAME", autocompletion=known_baselines, help="Name of the baseline.")]
RECORDS = Annotated[
    str,
    typer.Argument(metavar="[RECORD]", autocompletion=records, help="Runs or a sweep, in any way to name them; a,b,c."),
]
REPLACE = Annotated[bool, typer.Option("--replace", metavar="", help="Replace the baseline of this name.")]
SEE = Annotated[
    float | None,
    typer.Option(
        parser=parse_percent, metavar="PCT", show_default=False,
        help="Say how many runs on each side show a change of so much, such as 5%.",
    ),
]  # fmt: skip
JSON = Annotated[bool, typer.Option("--json", metavar="", help="Print the result as JSON.")]


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
        write(f"stored {count} run{'' if count == 1 else 's'} as baseline {name} in {path}")
        write("\n".join(_plans(stored, see)))


def list_baselines(directory: DIRECTORY = DEFAULT_DIRECTORY, as_json: JSON = False) -> None:
    """List the baselines of a directory.

    Example: slob baseline list --dir ci/baselines
    """
    found = baselines.find(directory)
    if as_json:
        write(json.dumps([_values(each) for each in found], indent=1))
    elif found:
        head = ("baseline", "runs", "measured (UTC)", "server", "host", "remarks")
        write_report("\n".join(fold_table(head, [_row(each) for each in found], columns(), texts={0, 2, 3, 4, 5})))
    else:
        notify(f"there are no baselines in {directory}; `slob baseline save` makes one")


def show(name: NAME, directory: DIRECTORY = DEFAULT_DIRECTORY, see: SEE = None, as_json: JSON = False) -> None:
    """Show the runs of a baseline and the conditions under which they were measured.

    Example: slob baseline show main --dir ci/baselines
    """
    stored = baselines.get(directory, name)
    values = _values(stored)
    if as_json:
        write(json.dumps(values, indent=1))
        return
    facts = [(key.replace("_", " "), _text(value)) for key, value in values.items() if value]
    write_report("\n".join([*pairs(facts), "", *_plans(stored, see)]))


def remove(name: NAME, directory: DIRECTORY = DEFAULT_DIRECTORY, as_json: JSON = False) -> None:
    """Remove a baseline.

    Example: slob baseline remove main --dir ci/baselines
    """
    baselines.remove(directory, name)
    write(json.dumps({"removed": name}) if as_json else f"removed the baseline {name}")


def _plans(stored: Baseline, see: float | None) -> list[str]:
    """Return how many runs show a change, at each point of the baseline."""
    plans = (plan(point, see or DETECT_PCT) for point in points([Run.of(run) for run in stored.runs]))
    return [line for text in plans for line in wrap(f"{text}.")]


def _values(stored: Baseline) -> dict[str, Any]:
    first = stored.runs[0] if stored.runs else None
    environment, engine = (first.environment, first.engine) if first else ({}, {})
    return {
        "name": stored.name,
        "path": str(stored.path),
        "runs": [run.id for run in stored.runs],
        "measured_at": first.started_at if first else None,
        "server": f"{engine.get('product', '')} {engine.get('version', '')}".strip(),
        "host": environment.get("host"),
        "cpu": environment.get("cpu"),
        "kernel": environment.get("kernel"),
        "openslob_version": first.openslob_version if first else None,
        "problem": stored.problem,
    }


def _row(stored: Baseline) -> tuple[str, ...]:
    values = _values(stored)
    measured = (values["measured_at"] or "").replace("T", " ").removesuffix("Z")[:16]
    return stored.name, str(len(stored.runs)), measured, values["server"], values["host"] or "", stored.problem


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {each}" for name, each in value.items() if each is not None)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def register(app: typer.Typer) -> None:
    """Add the group with its commands."""
    group = typer.Typer(help="Store records to compare later runs with.", no_args_is_help=True)
    group.command("save")(save)
    group.command("list")(list_baselines)
    group.command("show")(show)
    group.command("remove")(remove)
    app.add_typer(group, name="baseline")
