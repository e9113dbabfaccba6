#!/usr/bin/env python3
"""Write the pages of the documentation site into a folder, with the configuration of the program that builds it.

Usage: tools/site_pages.py FOLDER [--gallery]

The reference of commands, verdicts and Python is made from the code, so that it needs no copy in the repository; pages
of other folders (`ELSEWHERE`) are taken into the site. A link to a file that the site has not becomes plain text: the
site must work without the repository and without a network. With ``--gallery`` the example reports are drawn, too.
"""

from __future__ import annotations

import os.path
import re
import runpy
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import getdoc
from pathlib import Path, PurePosixPath
from typing import Any

import typer

import openslob
from openslob.analyze.verdicts import VERDICTS
from openslob.cli import app

ROOT = Path(__file__).resolve().parent.parent
# Page of the site -> file of the repository.
ELSEWHERE: Mapping[str, str] = {
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "bench.md": "bench/README.md",
}
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)

_COMMANDS_HEAD = """# Commands

Each command with all of its options, made from the code. `slob COMMAND --help-all` shows the same.
[The overview](../README.md#commands) has one line for each command, and the exit codes. Every parameter of a load or a
run is also an environment variable and a key of `slob.toml`: see [configuration](../configuration.md) and
[parameters](../parameters.md).
"""
_VERDICTS_HEAD = """# Verdicts

Every verdict on a run, made from the code. [Reading a result](../reading-a-result.md#the-verdicts) says what to do when
one fails; `slob run --require NAME` makes the exit code depend on it.

| verdict | what it checks |
| --- | --- |
"""
_PYTHON_HEAD = """# Python reference

Every public name of `openslob`, made from the code. [Python and notebooks](../python.md) explains how to use them. All
other names are internal and may change.
"""
_GALLERY_HEAD = """# Gallery of reports

What `slob report` writes: one HTML file each, which needs no network. Each is of real runs on a virtual machine with
two cores: their bundles are in `bench/gallery`, and `slob verify` checks them. [Pictures and reports](pictures.md)
explains how to read them.
"""


def write_site(folder: Path, *, gallery: bool = False) -> None:
    """Write configuration, pages and pictures; what is there is replaced."""
    docs = folder / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shown = list(_exhibits()) if gallery else []
    made = {"reference/commands.md": commands_page(), "reference/verdicts.md": verdicts_page()}
    made["reference/python.md"] = python_page()
    made["gallery.md"] = gallery_page([(each.file, each.about) for each in shown])
    made.update({name: (ROOT / source).read_text(encoding="utf-8") for name, source in ELSEWHERE.items()})
    files = {f"reports/{each.file}": each.html for each in shown} | made
    for name, text in files.items():
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(text, encoding="utf-8")
    known = {path.relative_to(docs).as_posix() for path in docs.rglob("*")}
    for path in docs.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(on_site(text, path.relative_to(docs).as_posix(), known), encoding="utf-8")


def on_site(markdown: str, page: str, known: set[str]) -> str:
    """Point links at the site's own pages; what the site has not becomes text. Code stays as it is."""
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda match: _link(match, page, known), part)
        for part in _FENCE.split(markdown)
    )


def _link(match: re.Match[str], page: str, known: set[str]) -> str:
    """Return a link as it must be on the site's page ``page``."""
    sign, text, target = match.groups()
    if re.match(r"[a-z]+:|#", target):
        return match[0]
    path, _, anchor = target.partition("#")
    source = PurePosixPath("docs", page) if page not in ELSEWHERE else PurePosixPath(ELSEWHERE[page])
    place = os.path.normpath(source.parent / path)
    on_site = {source: name for name, source in ELSEWHERE.items()}.get(place, place.removeprefix("docs/"))
    if on_site not in known or (place == on_site and place not in ELSEWHERE.values()):
        return text
    there = os.path.relpath(on_site, PurePosixPath(page).parent)
    return f"{sign}[{text}]({there}{'#' * bool(anchor)}{anchor})"


def commands_page() -> str:
    """Return the reference of all commands, in the order of `slob --help`."""
    sections = [_COMMANDS_HEAD]
    for path, command in _commands(typer.main.get_command(app), ("slob",)):
        sections += [f"## {' '.join(path)}\n", _prose(command.help or ""), *_parameters(command)]
    return "\n".join(sections)


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401
    for name, command in group.commands.items():
        if getattr(command, "hidden", False):
            continue
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _prose(text: str) -> str:
    """Return a command's help with its example as a block of code."""
    text = text.replace("\b\n", "")
    return re.sub(r"^Examples?: (.+)$", r"```\n\1\n```", text, flags=re.MULTILINE) + "\n"


def _parameters(command: Any) -> Iterator[str]:  # noqa: ANN401
    shown = [one for one in command.params if getattr(one, "help", "") and not getattr(one, "hidden", False)]
    if shown:
        yield "| option | meaning |\n| --- | --- |"
        yield from map(_parameter, shown)
        yield ""


def _parameter(one: Any) -> str:  # noqa: ANN401
    names = [one.metavar or one.name.upper()] if one.param_type_name == "argument" else one.opts
    value = one.metavar if one.param_type_name == "option" and one.metavar else ""
    written = ", ".join(f"`{name}`" for name in (*names, *getattr(one, "secondary_opts", ())))
    meaning = " ".join(one.help.split()).replace("|", "\\|").replace("<", "&lt;")
    return f"| {written}{f' `{value}`' if value else ''} | {meaning} |".replace("\n", " ")


def python_page() -> str:
    """Return the reference of the public names, one after the other."""
    options = "    options:\n      show_root_full_path: false\n      heading_level: 2\n"
    names = [name for name in openslob.__all__ if not name.startswith("_")]
    homes = [f"{getattr(openslob, name).__module__}.{name}" for name in names]
    return "\n".join([_PYTHON_HEAD, *(f"::: {home}\n{options}" for home in homes)])


def gallery_page(shown: Sequence[tuple[str, str]]) -> str:
    """Return the page with links to the reports."""
    rows = [f"- [{about}](reports/{file})" for file, about in shown]
    return "\n".join([_GALLERY_HEAD, *(rows or ["`make pictures` measures them, and `make docs` draws them."]), ""])


def _exhibits() -> Iterator[Any]:
    # Only `make docs` draws them.
    gallery = runpy.run_path(str(ROOT / "tools" / "gallery.py"))
    return gallery["exhibits"]()  # type: ignore[no-any-return]


def verdicts_page() -> str:
    """Return the list of verdicts."""
    rows = [
        f"| `{one.__name__}` | {' '.join((getdoc(one) or '').partition(chr(10) * 2)[0].split())} |" for one in VERDICTS
    ]
    return _VERDICTS_HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    write_site(Path(sys.argv[1]), gallery="--gallery" in sys.argv[2:])
