"""`slob help`: the help of a command, a chapter of the documentation, manual pages, or the tree of all commands.

All of them are from the same declarations as ``--help``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import Enum
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown

from openslob._version import __version__
from openslob.cli.console import columns, notify, write, write_file, write_report
from openslob.cli.short_help import program_help
from openslob.core.errors import SlobError, UsageError
from openslob.report.format import INDENT, WIDTH, pairs, wrap


def command_values(command: Any, name: str) -> dict[str, Any]:  # noqa: ANN401 - typer's own
    """Return a command with its arguments, its options and the commands below it."""
    ctx = typer.Context(command, info_name=name)
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    children = getattr(command, "commands", {})
    return {
        "name": name,
        "help": " ".join((command.help or "").split()),
        "arguments": [_parameter(each, ctx) for each in shown if each.param_type_name == "argument"],
        "options": [_parameter(each, ctx) for each in shown if each.param_type_name == "option"],
        "commands": [command_values(child, f"{name} {each}") for each, child in children.items()],
    }


def _parameter(param: Any, ctx: Any) -> dict[str, Any]:  # noqa: ANN401
    is_option = param.param_type_name == "option"
    return {
        "names": [*param.opts, *param.secondary_opts] if is_option else [],
        "value": param.metavar if param.metavar is not None else param.make_metavar(ctx=ctx),
        "help": " ".join((param.help or "").split()),
        "default": _default(param),
        "required": bool(param.required),
        "environment": param.envvar,
        "panel": getattr(param, "rich_help_panel", None),
    }


def _default(param: Any) -> object:  # noqa: ANN401
    """Return the default as a value or in words; None where there is none."""
    if isinstance(param.show_default, str):
        return param.show_default
    value = param.default.value if isinstance(param.default, Enum) else param.default
    return value if isinstance(value, str | int | float) else None


_SECTION = 1


def manual_pages(program: Any) -> dict[str, str]:  # noqa: ANN401 - typer's own
    """Return the pages in roff by file name: ``slob.1``, ``slob-run.1`` and so on."""
    return {f"{'-'.join(path)}.{_SECTION}": _page(command, path) for path, command in _commands(program, ("slob",))}


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _commands(child, (*path, name))


def _page(command: Any, path: tuple[str, ...]) -> str:  # noqa: ANN401
    ctx = typer.Context(command, info_name=" ".join(path))
    title, about = "-".join(path), " ".join((command.help or "").split())
    first, _, rest = about.partition(". ")
    usage = " ".join(command.collect_usage_pieces(ctx))
    lines = [
        f'.TH "{title.upper()}" {_SECTION} "" "openslob {__version__}" "openslob"',
        ".SH NAME",
        f"{_escape(title)} \\- {_escape(first.rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_escape(' '.join(path))}\\fR {_escape(usage)}",
        ".SH DESCRIPTION",
        _escape(f"{first.rstrip('.')}. {rest}".strip()),
        *_parameters(command, ctx),
        *_children(command),
        ".SH SEE ALSO",
        _escape(", ".join(_neighbours(command, path)) or "slob(1)"),
    ]
    return "\n".join(lines) + "\n"


def _parameters(command: Any, ctx: Any) -> Iterator[str]:  # noqa: ANN401
    shown = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    panels = list(dict.fromkeys(_panel(param) for param in shown))
    shown.sort(key=lambda param: panels.index(_panel(param)))
    for panel, params in groupby(shown, _panel):
        yield f'.SH "{_escape(panel.upper())}"'
        for param in params:
            names = ", ".join([*param.opts, *param.secondary_opts]) if param.param_type_name == "option" else ""
            value = param.metavar if param.metavar is not None else param.display_type_rich(ctx=ctx) or ""
            value = value or ("" if names else param.name.upper())
            yield ".TP"
            yield f"\\fB{_escape(names)}\\fR \\fI{_escape(value)}\\fR" if names else f"\\fI{_escape(value)}\\fR"
            yield _escape(" ".join((param.help or "Show the help and exit.").split()))


def _panel(param: Any) -> str:  # noqa: ANN401
    return param.rich_help_panel or ("Options" if param.param_type_name == "option" else "Arguments")


def _children(command: Any) -> Iterator[str]:  # noqa: ANN401
    children = getattr(command, "commands", {})
    if children:
        yield ".SH COMMANDS"
    for name, child in children.items():
        yield ".TP"
        yield f"\\fB{_escape(name)}\\fR"
        yield _escape(child.get_short_help_str(limit=200))


def _neighbours(command: Any, path: tuple[str, ...]) -> list[str]:  # noqa: ANN401
    below = [f"{'-'.join((*path, name))}({_SECTION})" for name in getattr(command, "commands", {})]
    return [*([f"{'-'.join(path[:-1])}({_SECTION})"] if path[1:] else []), *below]


def _escape(text: str) -> str:
    """Return text that roff takes literally."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain


# Chapters: what each is about, its page of the documentation, and the heading of a section of it; None: all of it.
CHAPTERS: dict[str, tuple[str, str, str | None]] = {
    "method": ("what is measured, how, and why", "method.md", None),
    "modes": ("what a run for physical or cached reads, commits or scans must show", "method.md", "Modes"),
    "targets": ("which server is measured, and its password", "configuration.md", "The target and its password"),
    "own-server": ("measuring an existing server", "your-own-server.md", None),
    "parameters": ("each parameter with unit, range and default", "parameters.md", None),
    "configuration": ("flags, environment, files", "configuration.md", None),
    "verdicts": ("what each verdict means, and what to do when it fails", "reading-a-result.md", "The verdicts"),
    "slob.conf": (
        "SLOB's and pgio's own files: what differs from there",
        "configuration.md",
        "slob.conf and pgio.conf",
    ),
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
        write(program_help(program, ctx.find_root()))
    elif words[0] in CHAPTERS and len(words) == 1:
        write_report(render_markdown(chapter(words[0]), min(columns() or WIDTH, 100)))
    elif words[0] in program.commands:
        program.main([*words, "--help"], prog_name="slob", standalone_mode=False)
    elif len(words) == 1 and words[0] in _other_pages():
        write_report(render_markdown(_text_of(documentation() / f"{words[0]}.md"), min(columns() or WIDTH, 100)))
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


def whole_help(program: Any, ctx: Any) -> str:  # noqa: ANN401 - typer's own
    """Return the list of all commands, options of the program and topics, each in a sentence."""
    commands = [(name, program.commands[name].get_short_help_str(limit=200)) for name in program.list_commands(ctx)]
    options = [(", ".join(sorted(each.opts, key=len)), each.help or "") for each in program.get_params(ctx)]
    chapters = [(name, about) for name, (about, _, _) in CHAPTERS.items()]
    others = [name for name in _other_pages() if name not in program.commands]
    pages = ["", "OTHER PAGES", *wrap(", ".join(others), INDENT, INDENT)] if others else []
    return "\n".join(
        [
            *("COMMANDS", *pairs(commands), "", "OPTIONS", *pairs(options), "", "CHAPTERS", *pairs(chapters), *pages),
            *("", "slob help TOPIC shows one."),
        ]
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


def render_markdown(markdown: str, width: int) -> str:
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
