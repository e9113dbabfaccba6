"""Pages of the documentation site that are made from the code, and links that lead out of docs/ (a hook of mkdocs).

`mkdocs.yml` names this file. The reference of commands and verdicts is made at each build, so that it needs no copy in
the repository; pages of other folders (`ELSEWHERE`) are taken into the site. A link to a file that the site has not
becomes plain text: the site must work without the repository and without a network.
"""

from __future__ import annotations

import os
import os.path
import re
import runpy
from collections.abc import Iterator, Mapping, Sequence
from inspect import getdoc
from pathlib import Path, PurePosixPath
from typing import Any

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

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
# `make docs` sets it: reports take some seconds to draw, and are large.
_WITH_GALLERY = "OPENSLOB_GALLERY"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and those of other folders."""
    made = {"reference/commands.md": commands_page(), "reference/verdicts.md": verdicts_page()}
    made["reference/python.md"] = python_page()
    shown = list(_exhibits()) if os.environ.get(_WITH_GALLERY) else []
    made["gallery.md"] = gallery_page([(each.file, each.about) for each in shown])
    for each in shown:
        files.append(File.generated(config, f"reports/{each.file}", content=each.html))
    made.update({name: (ROOT / source).read_text(encoding="utf-8") for name, source in ELSEWHERE.items()})
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links at the site's own pages; what the site has not becomes text. Code stays as it is."""
    del config
    parts = _FENCE.split(markdown)
    known = {file.src_uri for file in files}
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda match: _link(match, page.file.src_uri, known), part)
        for part in parts
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
