"""What every renderer makes of every record, against reviewed documents: nothing is lost when a report is changed.

A reviewed document has the text report as wide as it needs to be, the sections that differ at 80 and 120 columns, the
short answer, and the outline of the page. Of `DIGESTS`, which differ little from others, there is a digest.

After a wanted change: UPDATE_GOLDEN=1 pytest tests/unit/report/test_documents.py, then read the difference.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup

import openslob.report.html.page
from factories.paths import GOLDEN
from factories.reports import OLD, Made, made_up, of_a_sweep, stored
from openslob.kinds.storage.pictures import storage_set_page
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.report import sweep_document
from openslob.report.document import Document
from openslob.report.html.page import Page, page_of, render_page
from openslob.report.html.pages import page_for
from openslob.report.html.set_page import set_page
from openslob.report.terminal import render_answer, render_text

PLACE = GOLDEN / "documents"
DIGESTS = (
    "run-remote", "lab-noisy", "v4/measured",
    "v1/constructed", "v2/constructed", "v2/measured", "v2/paced", "v3/measured", "v4/thinned", "run-cached",
    "run-buffered", "run-interrupted", "run-unpublished", "sweep-v1/measured", "storage-orion",
)  # fmt: skip
# The figures of pictures are among their goldens, and definitions among those of the registry.
FOLDER = Path("/results/record")
NOT_SHOWN = "What the figures mean"
MADE = dict(made_up())
NAMES = (*OLD, *MADE)


@pytest.fixture(scope="module", autouse=True)
def a_known_time_zone() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module", autouse=True)
def pages_without_the_library(a_known_time_zone: None) -> Iterator[None]:
    """Leave what draws pictures out of pages: a megabyte, among whose words any other may be."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(openslob.report.html.page, "_embedded", lambda: Markup("draws"))
        yield


@pytest.mark.parametrize("name", NAMES)
def test_every_rendering_is_the_reviewed_one_and_the_page_says_all_that_the_text_says(
    name: str, tmp_path: Path
) -> None:
    made = MADE[name](tmp_path) if name in MADE else stored(name, tmp_path)
    page = render_page(drawn(made))
    found = "".join(f"== {part}\n{content}\n" for part, content in parts_of(made, page))
    if name in DIGESTS:
        found = hashlib.sha256(found.encode()).hexdigest() + "\n"
    assert found == reviewed(f"{name.replace('/', '-')}.txt", found)
    if made.kind is not SWEEP:
        text = render_text(replace(document_of(made), files=()))
        assert words(text) - words(page.replace("&#39;", "'")) == set()


def test_the_pages_of_several_are_the_reviewed_ones(tmp_path: Path) -> None:
    runs = of_a_sweep()
    sides = [("before", runs[:4]), ("after", runs[4:8])]
    several = [MADE[f"storage-{name}"](tmp_path).record for name in ("calibrate", "dd")]
    pages = {
        "a sweep": set_page("a sweep", runs, ("a problem",)),
        "two sides": page_for(sides, runs[:8], [tmp_path] * 8, ()),
        "storage": storage_set_page(several),
    }
    found = "".join(f"== {name}\n{outline(render_page(page))}\n" for name, page in pages.items())
    assert found == reviewed("pages-of-several.txt", found)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def parts_of(made: Made, page: str) -> Iterator[tuple[str, str]]:
    whole = text_of(made)
    yield "text", whole
    known = set(whole.split("\n\n"))
    for columns in (80, 120):
        text = text_of(made, columns)
        yield f"text, {columns} columns", "\n\n".join(part for part in text.split("\n\n") if part not in known)
    yield "answer", answer_of(made)
    yield "page", outline(page).replace(f"{made.folder}/", "")


def document_of(made: Made, folder: Path | None = None) -> Document:
    return made.kind.document(made.record, folder)


def text_of(made: Made, columns: int | None = None) -> str:
    if made.kind is SWEEP:
        return render_text(sweep_document(made.record, made.runs), columns)
    return render_text(document_of(made, FOLDER), columns)


def answer_of(made: Made) -> str:
    is_sweep = made.kind is SWEEP
    return render_answer(sweep_document(made.record, made.runs) if is_sweep else document_of(made))


def drawn(made: Made) -> Page:
    if made.kind is SWEEP:
        return page_for([(made.record.name, made.runs)], made.runs, [made.folder] * len(made.runs), ())
    return page_of(document_of(made, made.folder))


def outline(page: str) -> str:
    """Return the headings, paragraphs and tables of a page; of preformatted text, the number of its lines."""
    return "\n".join(Outline(page).lines)


class Outline(HTMLParser):
    """The lines of a page: a heading, a paragraph, or a row of a table each."""

    ENDS = ("h1", "h2", "h3", "p", "tr", "pre", "summary", "li", "figcaption")
    CELLS = ("th", "td")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.shown = True
        self.hint = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag in self.ENDS:
            self.text = ""
            self.hint = "hint" in (dict(attrs).get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        while self.open.pop() != tag:
            pass
        if tag in self.CELLS:
            self.text += " | "
        if tag in self.ENDS:
            self.end(tag)

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style", "title"):
            self.text += data

    def end(self, tag: str) -> None:
        text = " ".join(self.text.removesuffix(" | ").split())
        if tag[0] == "h":
            self.shown = text != NOT_SHOWN
            text = f"{'#' * int(tag[1])} {text}"
        if tag == "pre":
            text = f"preformatted: {len(self.text.splitlines())} lines"
        aside = self.hint or "footer" in self.open or ("figure" in self.open and tag in ("tr", "p", "summary"))
        if (self.shown or tag == "h2") and not aside:
            self.lines.append(text)


def reviewed(name: str, text: str) -> str:
    file = PLACE / name
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return file.read_text(encoding="utf-8")
