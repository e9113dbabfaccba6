"""`slob help`: the help of a command, a chapter of the documentation, or manual pages."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown

from openslob.cli.console import columns, notify, write, write_file, write_report
from openslob.cli.help_json import command_values
from openslob.cli.manual import manual_pages
from openslob.core.errors import SlobError, UsageError
from openslob.report.format import INDENT, WIDTH, pairs, wrapped

# Chapters: what each is about, its page of the documentation, and the heading of a section of it; None: all of it.
CHAPTERS: dict[str, tuple[str, str, str | None]] = {
    "method": ("what is measured, how, and why", "method.md", None),
    "modes": ("what pio, lio, redo and scan must show", "method.md", "Modes"),
    "targets": ("which server is measured, and its password", "configuration.md", "The target and its password"),
    "own-server": ("measuring an existing server", "your-own-server.md", None),
    "parameters": ("each parameter with unit, range and default", "parameters.md", None),
    "configuration": ("flags, environment, files", "configuration.md", None),
    "verdicts": ("what each verdict means, and what to do when it fails", "reading-a-result.md", "The verdicts"),
    "figures": ("each figure with unit and definition", "figures.md", None),
    "reading": ("a report, line by line", "reading-a-result.md", None),
    "pacing": ("a fixed rate, response time", "pacing.md", None),
    "ci": ("gates, thresholds, formats and baselines of a pipeline", "ci.md", None),
    "commands": ("each command with an example, and the common options", "README.md", "Commands"),
    "exit-codes": ("what each exit code means", "README.md", "Exit codes"),
    "glossary": ("words that have a special meaning here", "glossary.md", None),
    "troubleshooting": ("what to do when something fails", "troubleshooting.md", None),
}
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def _topics(incomplete: str) -> list[str]:
    return [name for name in CHAPTERS if name.startswith(incomplete)]


TOPIC = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TOPIC]", help="A command or a topic; without one, list them.", autocompletion=_topics),
]
MAN = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write a manual page for each command into this directory.", file_okay=False),
]
JSON = Annotated[
    bool, typer.Option("--json", metavar="", help="Print the commands with their options, or the topic, as JSON.")
]


def show_help(ctx: typer.Context, topic: TOPIC = None, man: MAN = None, as_json: JSON = False) -> None:
    """Show the help of a command, or a chapter of the documentation such as verdicts or exit-codes.

    Example: slob help verdicts
    """
    program: Any = ctx.find_root().command
    words = list(topic or ())
    if man is not None:
        if as_json:
            raise UsageError("--man and --json exclude each other", "give one of them")
        _write_manual(program, man)
    elif as_json:
        write(json.dumps(_values(program, words), indent=1))
    elif not words:
        write_report(_list(program, ctx))
    elif words[0] in CHAPTERS and len(words) == 1:
        write_report(rendered(chapter(words[0]), min(columns() or WIDTH, 100)))
    elif words[0] in program.commands:
        program.main([*words, "--help"], prog_name="slob", standalone_mode=False)
    elif len(words) == 1 and words[0] in _other_pages():
        write_report(rendered(_text_of(documentation() / f"{words[0]}.md"), min(columns() or WIDTH, 100)))
    else:
        raise _unknown(words)


def _unknown(words: list[str]) -> UsageError:
    return UsageError(f"there is no help topic {' '.join(words)!r}", "`slob help` lists the topics")


def _values(program: Any, words: list[str]) -> dict[str, Any]:  # noqa: ANN401 - typer's own
    """Return a topic as plain values: a command, a text in Markdown; without a topic, all commands and topics."""
    if not words:
        chapters = {name: about for name, (about, _, _) in CHAPTERS.items()}
        others = [name for name in _other_pages() if name not in program.commands]
        return {**command_values(program, "slob"), "chapters": chapters, "pages": others}
    if len(words) == 1 and words[0] in CHAPTERS:
        return {"name": words[0], "text": chapter(words[0])}
    command, path = program, "slob"
    for word in words:
        command, path = getattr(command, "commands", {}).get(word), f"{path} {word}"
    if command is not None:
        return command_values(command, path)
    if len(words) == 1 and words[0] in _other_pages():
        return {"name": words[0], "text": _text_of(documentation() / f"{words[0]}.md")}
    raise _unknown(words)


def _list(program: Any, ctx: typer.Context) -> str:  # noqa: ANN401 - typer's own
    names = program.list_commands(ctx.find_root())
    commands = [(name, program.commands[name].get_short_help_str(limit=200)) for name in names]
    chapters = [(name, about) for name, (about, _, _) in CHAPTERS.items()]
    others = [name for name in _other_pages() if name not in program.commands]
    pages = ["", "OTHER PAGES", *wrapped(", ".join(others), INDENT, INDENT)] if others else []
    return "\n".join(
        ["COMMANDS", *pairs(commands), "", "CHAPTERS", *pairs(chapters), *pages, "", "slob help TOPIC shows one."]
    )


def _other_pages() -> list[str]:
    """Return the pages of the documentation that are no chapter, by their names."""
    pages = {page.removesuffix(".md") for _, page, _ in CHAPTERS.values()}
    return sorted(path.stem for path in documentation().glob("[a-z]*.md") if path.stem not in {*CHAPTERS, *pages})


def _text_of(path: Path) -> str:
    if not path.is_file():
        raise SlobError(f"{path} is missing: this installation has no documentation", "install openslob again")
    return path.read_text(encoding="utf-8")


def chapter(name: str) -> str:
    """Return a chapter as Markdown: a page of the documentation, or the section of it with its heading."""
    _, page, heading = CHAPTERS[name]
    text = _text_of(documentation() / page)
    if heading is None:
        return text
    begin = text.index(f"\n## {heading}\n") + 1
    return text[begin : text.find("\n## ", begin) % (len(text) + 1)]


def documentation() -> Path:
    """Return the directory of the documentation: in an installed package, or in the repository."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent.parent / "docs"


def rendered(markdown: str, width: int) -> str:
    """Return Markdown as text of this width, its links by their text alone."""
    with StringIO() as text:
        console = Console(file=text, width=width, color_system=None, force_terminal=False)
        console.print(Markdown(_LINK.sub(r"\1", markdown), hyperlinks=False))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _write_manual(program: Any, directory: Path) -> None:  # noqa: ANN401 - typer's own
    directory.mkdir(parents=True, exist_ok=True)
    pages = manual_pages(program)
    for name, text in pages.items():
        write_file(directory / name, text)
    notify(f"{len(pages)} manual pages are in {directory}; man -l {directory / 'slob.1'} shows the first")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("help")(show_help)
