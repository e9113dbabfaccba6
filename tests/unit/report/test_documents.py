"""What every renderer makes of every record, against reviewed documents: nothing is lost when a report is changed.

A reviewed document has the text report as wide as it needs to be, the sections that differ at 80 and 120 columns, the
short answer, the screen, and the outline of the page. Of `DIGESTS`, which differ little from others, there is a digest.

After a wanted change: UPDATE_GOLDEN=1 pytest tests/unit/report/test_documents.py, then read the difference.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup

import openslob.report.html.page
from factories import records
from factories.paths import GOLDEN
from factories.reports import OLD, Made, made_up, of_a_sweep, stored
from openslob.analyze.ci_gate import check, parse_condition
from openslob.analyze.compare import compare
from openslob.analyze.curves.points import Run
from openslob.analyze.history import History
from openslob.analyze.history import histories as histories_of
from openslob.config.grid import Grid
from openslob.core.workload import Workload
from openslob.kinds.storage.report import storage_set_document
from openslob.kinds.sweep import KIND as SWEEP
from openslob.kinds.sweep.create import new_sweep
from openslob.kinds.sweep.record import PointState, SearchRecord, SweepRecord
from openslob.kinds.sweep.report import sweep_document
from openslob.record.model import Figure, RunRecord, Status
from openslob.report.comparison import comparison_document, show_side_by_side
from openslob.report.document import Document, Section
from openslob.report.history import history_document
from openslob.report.html.page import Page, page_of, render_page
from openslob.report.several_runs import runs_document, set_document
from openslob.report.terminal import render_answer, render_blocks, render_screen, render_text

pytestmark = pytest.mark.any_python

PLACE = GOLDEN / "documents"
DIGESTS = (
    "run-remote", "lab-noisy", "v4/measured",
    "v1/constructed", "v2/constructed", "v2/measured", "v2/paced", "v3/measured", "v4/thinned", "run-cached",
    "run-buffered", "run-interrupted", "run-unpublished", "sweep-v1/measured", "storage-orion", "v5/measured",
    "v6/measured",
)  # fmt: skip
# The figures of pictures are among their goldens, and definitions among those of the registry.
FOLDER = Path("/results/record")
NOT_SHOWN = "What the figures mean"
MADE = made_up()
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
        patched.setattr(openslob.report.html.page, "embed_library", lambda: Markup("draws"))
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
        document = document_of(made)
        text = render_text(replace(without_plots(document), files=()))
        assert words(text) - words(page.replace("&#39;", "'")) == set()


def test_the_pages_of_several_are_the_reviewed_ones(tmp_path: Path) -> None:
    runs = of_a_sweep()
    sides = [("before", runs[:4]), ("after", runs[4:8])]
    several = [MADE[f"storage-{name}"](tmp_path).record for name in ("calibrate", "dd")]
    pages = {
        "a sweep": page_of(set_document("a sweep", runs, ("a problem",))),
        "two sides": page_of(runs_document(sides, runs[:8], [tmp_path] * 8, ())),
        "storage": page_of(storage_set_document(several)),
    }
    pages["histories"] = page_of(history_document(a_few_histories()))
    found = "".join(f"== {name}\n{outline(render_page(page))}\n" for name, page in pages.items())
    assert found == reviewed("pages-of-several.txt", found)


def test_the_pages_of_several_say_all_that_their_texts_say() -> None:
    runs = of_a_sweep()
    found = compare(runs[:12], [*map(changed, runs[:10])], "a", "b")
    several = (
        sweep_document(a_sweep(), runs),
        comparison_document(found, [check(parse_condition("ops_per_s < -5%"), found)]),
        history_document(a_few_histories()),
    )
    for document in several:
        shown = without_plots(document)
        page = render_page(page_of(shown)).replace("&gt;", ">")
        # Only plots and plans of statements are preformatted.
        assert "<pre" not in page
        assert words(render_text(shown)) - words(page) == set()


def without_plots(document: Document) -> Document:
    blocks = (block.without_plots() if isinstance(block, Section) else block for block in document.blocks)
    return replace(document, blocks=tuple(blocks))


def test_the_texts_of_several_are_the_reviewed_ones() -> None:
    runs = of_a_sweep()
    one, other = runs[:2], [changed(run) for run in runs[:2]]
    pair, several = compare(one, other, "before", "after"), compare(runs[:12], [*map(changed, runs[:10])], "a", "b")
    conditions = map(parse_condition, ("ops_per_s < -5%", "lio_per_s > 3%", "commits_per_s < -1%"))
    judged = comparison_document(pair, [check(each, pair) for each in conditions])
    histories = a_few_histories()
    texts: dict[str, Callable[[int | None], str]] = {
        "a pair": partial(render_text, judged),
        "several pairs": partial(render_text, comparison_document(several)),
        "side by side": lambda columns: render_blocks(show_side_by_side(several, ("redo_mb_per_s",)), columns),
        "a sweep": partial(render_text, sweep_document(a_sweep(), runs)),
        "a sweep in short": lambda _: render_answer(sweep_document(a_sweep(), runs)),
        "a search": partial(render_text, sweep_document(a_search(), [changed(run) for run in runs])),
        "a search in short": lambda _: render_answer(sweep_document(a_search(), runs)),
        "no run": partial(render_text, sweep_document(a_sweep(), ())),
        "histories": partial(render_text, history_document(histories)),
        "whole histories": partial(render_text, history_document(histories[:3], whole=True)),
    }
    found = "".join(
        f"== {name}, {columns} columns\n{show(columns).rstrip()}\n\n"
        for name, show in texts.items()
        for columns in (None, 80, 120)
    )
    assert found == reviewed("texts-of-several.txt", found)


def changed(run: Run) -> Run:
    """A run on a newer server that is a twentieth slower."""
    summary = dict(run.record.summary)
    for name in ("ops_per_s", "lio_per_s", "pio_read_per_s"):
        summary[name] = summary[name].model_copy(update={"value": (summary[name].value or 0) * 0.95})
    engine = {**run.record.engine, "version": "99.4", "experimental": "its engine is new"}
    return Run.of(run.record.model_copy(update={"summary": summary, "engine": engine}))


def a_sweep() -> SweepRecord:
    """A sweep of two settings, some of whose points failed."""
    grid = Grid(Workload(schemas=1), {"sessions": (2, 8, 32), "update_pct": (0, 20)}, ())
    asked = new_sweep("petals", "embedded", grid, {})
    done = [point.model_copy(update={"state": PointState.DONE}) for point in asked.points[:4]]
    bad = [point.model_copy(update={"state": PointState.FAILED, "error": "lost " * 40}) for point in asked.points[4:]]
    against = {"against": "update_pct", "values_against": (0, 20), "figures": ("redo_mb_per_s", "commits_per_s")}
    return asked.with_points([*done, *bad]).model_copy(update=against)


def a_search() -> SweepRecord:
    search = SearchRecord(
        limit_us=500, at="p99", most_sessions=64, throughput="pio_read_per_s", sessions=8, best=54321.0,
        latency_us=480.0, why="with more sessions the latency is above the limit",
    )  # fmt: skip
    return a_sweep().model_copy(update={"search": search, "against": "", "values_against": (), "figures": ()})


def a_few_histories() -> list[History]:
    """Three of fifty and six runs, one with a change, and many of a run each."""
    random = np.random.default_rng(4)
    rates = [float(random.normal(10_000 if number < 30 else 8_000, 90)) for number in range(50)]
    long = [at_hour(number, rate, "big", version="18" if number < 30 else "19") for number, rate in enumerate(rates)]
    even = [at_hour(number, 100, "even") for number in range(6)]
    failed = at_hour(7, 100, "even").model_copy(update={"status": Status.FAILED})
    short = [at_hour(number, 100, f"short-{number}") for number in range(25)]
    return histories_of([*long, *even, failed, at_hour(3, 90, "few"), *short], ["ops_per_s", "lio_per_s"])


def at_hour(number: int, rate: float, target: str, **engine: str) -> RunRecord:
    made = records.physical()
    day = {"id": f"{target}-{number:03}", "started_at": f"2026-03-{1 + number // 24:02}T{number % 24:02}:00:00Z"}
    summary = {**made.summary, "ops_per_s": Figure(value=rate, unit="1/s")}
    engine_now = {**made.engine, "target": target, **engine}
    return made.model_copy(update={**day, "status": Status.COMPLETE, "summary": summary, "engine": engine_now})


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
    if screen := screen_of(made):
        yield "screen", screen
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


def screen_of(made: Made) -> str:
    """The answer on one screen; empty for a kind that has none."""
    document = sweep_document(made.record, made.runs) if made.kind is SWEEP else document_of(made)
    return render_screen(document, 80) if document.screen else ""


def drawn(made: Made) -> Page:
    if made.kind is SWEEP:
        return page_of(runs_document([(made.record.name, made.runs)], made.runs, [made.folder] * len(made.runs), ()))
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
