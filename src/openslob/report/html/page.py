"""Content of an HTML page in its order, headlines and verdicts first, and its rendering into one file.

The library that draws its pictures is kept in the user's cache: to put it together takes over a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import vl_convert
from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from openslob._version import __version__
from openslob.analyze.verdict_registry import Severity
from openslob.core import places
from openslob.core.disk import existing_parent, open_regular, write_atomically
from openslob.core.errors import SlobError
from openslob.record.model import Holds
from openslob.report.charts.picture import VEGA_LITE, Picture, page_specs
from openslob.report.document import Document, Section, TextTable, VerdictLine
from openslob.report.html.style import style
from openslob.report.record_view import SIGNS

_PACKAGE = "openslob.report.html"
# A table with more columns is printed across a sheet of paper.
_MOST_COLUMNS = 8
# Up to so many answers, such as those of two or three runs and of their comparison, are all shown.
_FEW_ANSWERS = 3
# Exports of the JavaScript bundle that draw.js uses.
_GLOBALS = "window.vegaEmbed = vegaEmbed;"
_NAME = "vega.js"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Page:
    """Content of the template. ``banners`` are shown prominently at the top.

    ``judged_each`` is what has each verdict once, such as "run", if the page is on several. ``judged`` is False for a
    page of what has no verdicts by nature: it does not speak of any.
    """

    title: str
    about: str
    banners: tuple[str, ...]
    answers: tuple[str, ...]
    verdicts: tuple[VerdictLine, ...]
    pictures: tuple[Picture, ...]
    sections: tuple[Section, ...]
    version: str = __version__
    banners_shown: ClassVar[int] = 2
    judged_each: str = ""
    judged: bool = True

    @property
    def answers_shown(self) -> int:
        """Number of answers that are not folded, so that the first picture is in sight."""
        return len(self.answers) if len(self.answers) <= _FEW_ANSWERS else 1

    @property
    def verdicts_in_short(self) -> list[tuple[str, str, str, list[str]]]:
        """What does not hold, the gravest first: its style, its sign, the outcome in words, and the verdicts' names."""
        groups: dict[tuple[str, str, str], list[str]] = {}
        for row in sorted(self.verdicts, key=lambda row: list(Severity).index(row.severity)):
            if row.outcome is not Holds.HOLDS:
                groups.setdefault((row.style, row.sign, row.in_words), []).append(row.name)
        failing_first = sorted(groups.items(), key=lambda group: not group[0][0].startswith(Holds.FAILS.value))
        return [(*shown, names) for shown, names in failing_first]

    @property
    def verdict_counts(self) -> str:
        """Number of verdicts by outcome, in words; over several runs, each counts once, by its worst outcome."""
        somewhere, everywhere = (f" in {which} {self.judged_each}" for which in ("at least one", "every"))
        if not self.judged_each:
            somewhere = everywhere = ""
        counts = {outcome: sum(row.outcome is outcome for row in self.verdicts) for outcome in SIGNS}
        if not self.verdicts:
            return "none"
        if counts[Holds.HOLDS] == len(self.verdicts):
            return f"all {len(self.verdicts)} hold{everywhere}"
        failing = f"{counts[Holds.FAILS]} fail{'s' if counts[Holds.FAILS] == 1 else ''}"
        return f"{failing}{somewhere}, {counts[Holds.UNKNOWN]} unknown, {counts[Holds.HOLDS]} hold{everywhere}"


def page_of(document: Document) -> Page:
    """Return the page of a report, with its pictures."""
    # Altair would compare each part of a chart with its schema, which takes longer than all else: tests do that.
    with debug_mode(False):
        pictures, problem = document.pictures()
    title, judgement = document.title, document.judgement
    sections = [section.without_plots() for section in document.sections] if pictures else document.sections
    return Page(
        title=title.heading,
        about=title.introduction,
        banners=(*title.remarks, *([problem] if problem else [])),
        answers=document.answers,
        verdicts=judgement.lines if judgement else (),
        pictures=tuple(pictures),
        sections=tuple(section for section in sections if section.parts),
        judged_each=judgement.each if judgement else "",
        judged=judgement is not None,
    )


def render_page(page: Page) -> str:
    """Return the HTML file. All texts are escaped, and the file refers to no other file or address."""
    specs: list[dict[str, Any]] = []
    pictures = []
    for picture in page.pictures:
        own = page_specs(picture)
        pictures.append({
            "name": picture.name, "title": picture.title, "description": picture.description, "notes": picture.notes,
            "table": picture.table, "specs": range(len(specs), len(specs) + len(own)),
        })  # fmt: skip
        specs += own
    return _template().render(
        page=page,
        pictures=pictures,
        specs=_json(specs),
        library=embed_library() if specs else "",
        style=Markup(style()),
        script=Markup(_file("draw.js")),
        tables=Markup(_file("tables.js")),
    )


def _json(data: object) -> Markup:
    """Return JSON for a script element; without "<" it cannot end the element."""
    return Markup(json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))


@cache
def embed_library() -> Markup:
    """Return the library as the content of a script element."""
    # A "</script" in a string of the library would end the element; "<\/script" means the same.
    return Markup(re.sub("</(script)", r"<\\/\1", library(), flags=re.IGNORECASE))


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader(_PACKAGE, ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(kind=lambda part: type(part).__name__, is_wide=_is_wide)
    return environment.get_template("template.html.j2")


def _is_wide(section: Section) -> bool:
    """Return whether a table of the section needs a wide sheet of paper."""
    return any(len(part.head) > _MOST_COLUMNS for part in section.parts if isinstance(part, TextTable))


def _file(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")


@cache
def library() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, which gives ``window`` what draws."""
    kept = _own_folder()
    script = _read(kept / _NAME) if kept else None
    if script is None:
        script = bundle_library()
        if kept:
            with suppress(OSError, SlobError):  # a full or read-only disk: it is put together again next time
                write_atomically(kept / _NAME, f"{_digest(script)}\n{script}", mode=0o600)
    return script


def bundle_library() -> str:
    """Make the script of the library from its parts, which takes a second."""
    script: str = vl_convert.javascript_bundle(_GLOBALS, VEGA_LITE)
    return script


def _digest(script: str) -> str:
    """Return what stands before a script in the cache: another for each version of what it is made of."""
    return hashlib.sha256("\0".join((version("vl-convert-python"), VEGA_LITE, _GLOBALS, script)).encode()).hexdigest()


def _own_folder() -> Path | None:
    """Return the folder of the cache, which is made if need be; None if there is none of this user's.

    Root may have another user's home: files of root are not left there.
    """
    folder = places.cache()
    try:
        if folder is None or existing_parent(folder).stat().st_uid != os.geteuid():
            return None
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return folder


def _read(path: Path) -> str | None:
    """Return the script in a file that this user alone may write, if it is whole and of these versions; else None."""
    try:
        with open_regular(path) as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
                return None
            digest, _, script = file.read().decode("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if digest == _digest(script) else None
