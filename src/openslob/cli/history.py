"""`slob history`: the runs of a server over time, and since when their figures are others."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from openslob.analyze.change_points import LEAST_PART
from openslob.analyze.history import LEAST_RUNS, History
from openslob.cli.common_options import RESULTS
from openslob.cli.completion import figures, servers
from openslob.cli.console import default_interrupt, notify, write, write_document, write_file
from openslob.cli.picture_options import THEME, PictureTheme
from openslob.cli.progress import working
from openslob.core.errors import UndecidedError, UsageError, VerdictError
from openslob.core.extras import require_extra
from openslob.export import tidy
from openslob.kinds import runs
from openslob.report.history import change_sentence, early_sentence, history_document, history_json, history_rows


class HistoryFormat(StrEnum):
    """Formats of a history."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


TARGET = Annotated[
    str | None,
    typer.Argument(
        autocompletion=servers, metavar="[TARGET]", help="A server, by its name or URL or a part of it; default: all."
    ),
]
FIGURE = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", autocompletion=figures, help="A figure to follow, such as lio_per_s or op_p99_us; repeatable."
    ),
]
LOAD = Annotated[
    str, typer.Option(metavar="WORDS", show_default=False, help="Only loads with these words, such as 'scans'.")
]
ALL = Annotated[
    bool,
    typer.Option("--all", metavar="", help="Print the whole report: every run, also of short histories and of labs."),
]
FAIL = Annotated[
    int | None,
    typer.Option(
        "--fail-if-worse-within",
        metavar="N",
        min=LEAST_PART,
        max=1_000_000,
        help="Exit with 3 if a figure became worse with one of the last N runs, with 4 if that is unknown of one; a "
        "change shows in its third run.",
    ),
]
FORMAT = Annotated[HistoryFormat, typer.Option("--format", "-f", help="How to print the history.")]
JSON = Annotated[bool, typer.Option("--json", metavar="", help="The same as --format json.")]
PICTURE = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw the runs over time: .html (offline), .svg or .png.")
]


def history(
    target: TARGET = None,
    figure: FIGURE = None,
    load: LOAD = "",
    fail: FAIL = None,
    form: FORMAT = HistoryFormat.TEXT,
    picture: PICTURE = None,
    theme: THEME = PictureTheme.LIGHT,
    *,
    whole: ALL = False,
    results: RESULTS,
    as_json: JSON = False,
) -> None:
    """Say what changed in the figures of a server over time, and which versions and settings changed then.

    Example: slob history big --fail-if-worse-within 5
    """
    with working("reading the runs"):
        found = runs.histories(target, figure or (), results, notify, load, with_labs=whole)
    match HistoryFormat.JSON if as_json else form:
        case HistoryFormat.JSON:
            write(json.dumps([history_json(each) for each in found], indent=1, ensure_ascii=False))
        case HistoryFormat.CSV:
            write(tidy.as_csv(*history_rows(found)), end="")
        case HistoryFormat.TEXT:
            write_document(history_document(found, whole, _again(target, figure or (), load)), whole=whole)
    if picture:
        _draw(picture, found, theme)
    if fail:
        _judge(found, fail)


def _again(target: str | None, figures: Sequence[str], load: str) -> str:
    """Return the command that shows the same histories."""
    chosen = [word for name in figures for word in ("--figure", name)]
    return shlex.join(["slob", "history", *filter(None, [target]), *chosen, *(["--load", load] if load else [])])


def _judge(found: list[History], last: int) -> None:
    """Raise the error with the exit code: 3 if a figure became worse within the last runs, 4 if that is undecided."""
    if worse := [each for one in found for each in one.worse_within(last)]:
        raise VerdictError("; ".join(change_sentence(each) for each in worse))
    for step in (step for one in found for step in one.early if step.worse):
        notify(early_sentence(step))
    for each in found:
        if not each.is_long:
            notify(f"not checked, because it has fewer than {LEAST_RUNS} runs: {each.words} on {each.server}")
    long = [each for each in found if each.is_long]
    if not long:
        raise UndecidedError(f"whether a figure became worse is unknown: that takes {LEAST_RUNS} runs of a load")
    if unknown := [(one, *each) for one in long for each in one.find_undecided(last).items()]:
        one, figure, why = unknown[0]
        more = f"; and {len(unknown) - 1} more" if unknown[1:] else ""
        raise UndecidedError(f"whether {figure} became worse is unknown: {why} ({one.words} on {one.server}){more}")


def _draw(path: Path, found: list[History], theme: PictureTheme) -> None:
    require_extra("pictures")
    # The drawing library takes a second to import.
    with default_interrupt():
        from openslob.report.picture_files import check_format, draw_history  # noqa: PLC0415

    check_format(path)
    if not any(each.runs for each in found):
        raise UsageError("no run has these figures, so there is nothing to draw", "name other figures, or none")
    for file, ground in theme.files(path):
        write_file(file, draw_history(found, path.suffix.lower(), ground))
        notify(f"wrote {file}")
