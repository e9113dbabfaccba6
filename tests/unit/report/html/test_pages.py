"""The HTML report: the answer first, everything in one file, nothing that a record says can become markup."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from factories import record_files
from factories.records import cached, failed, interrupted, physical, remote, unpublished, without_whole_cpu
from factories.sweeps import failing, sweep
from factories.tables import table
from openslob.analyze.curves.points import Run
from openslob.cli import app
from openslob.metrics import METRICS
from openslob.record.model import RunRecord
from openslob.record.store import RunFolder
from openslob.report.document import shorten_names
from openslob.report.headline import headline
from openslob.report.html.page import Page, render_page
from openslob.report.html.page import page_of as of_document
from openslob.report.set_summary import reads_are_physical
from openslob.report.several_runs import runs_document, set_document
from openslob.report.text import run_document

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&"
# The issue allows 5 MB for a sweep of 100 points; what draws the pictures is the most of it.
LARGEST_BYTES = 3_000_000
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """What of a page a browser would see: elements in order, their attributes, and the text outside of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def page_of(records: list[RunRecord]) -> Page:
    return of_document(set_document("a sweep", [Run.of(record) for record in records], ()))


SMALL = sweep(counts=(2, 8, 32), update_pcts=(0, 20), repeats=2)


@cache
def small_page() -> Page:
    return page_of(SMALL)


@cache
def small_html() -> str:
    return render_page(small_page())


@cache
def small_read() -> Reader:
    return Reader(small_html())


@pytest.mark.parametrize("made", [physical, cached, remote, unpublished, interrupted, failed])
def test_every_kind_of_run_has_a_page_whose_elements_close(made, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    reader = Reader(render_page(of_document(run_document(made(), tmp_path))))
    assert reader.open == []
    assert headline(made()) in " ".join(reader.text)


def test_the_answer_stands_before_verdicts_pictures_and_tables(tmp_path: Path) -> None:
    record_files.write(tmp_path)
    html = render_page(of_document(run_document(record_files.record(), tmp_path)))
    places = [html.index(f'<h2 id="{name}"') for name in ("answer", "verdicts", "pictures")]
    assert places == sorted(places)
    assert html.index("<figure") < html.index("<h2>Figures</h2>") < html.index("<h2>Server</h2>")
    assert "What the figures mean" in html
    read = Reader(html)
    assert all(metric.definition in read.text for metric in METRICS.values())


def before_the_first_picture(page: Page) -> tuple[str, str]:
    """Return the text of the page before its first picture, and what of it is not folded."""
    html = render_page(page)
    before = html[: html.index("<figure")]
    return unescape(before), unescape(re.sub(r"<details>.*?</details>", "", before, flags=re.DOTALL))


def test_what_stands_before_the_first_picture_is_short_and_the_rest_is_folded() -> None:
    page = page_of(sweep(counts=(2,), update_pcts=(0, 10, 20, 30, 50)))
    before, shown = before_the_first_picture(page)
    assert page.answers[0] in shown
    assert not any(answer in shown for answer in page.answers[1:])
    assert all(answer in before for answer in page.answers)
    assert "Every verdict, and why" not in shown
    failing_page = page_of([failing(SMALL[0], "quiet_machine"), *SMALL[1:]])
    names = {style: names for style, _, _, names in failing_page.verdicts_in_short}
    assert names["fails caution"] == ["quiet machine"]


@table(
    ("names", "title"),
    [
        (["before"], "before"),
        (["results/20260301-a", "results/b/"], "20260301-a, b"),
        (
            [f"20260301-12000{at}-petals" for at in range(5)],
            "20260301-120000-petals, 20260301-120001-petals and 3 more",
        ),
        (["x" * 80, "y"], "x" * 59 + "… and 1 more"),
    ],
)
def test_a_title_names_few_records_and_counts_the_others(names: list[str], title: str) -> None:
    assert shorten_names(names) == title


def test_headings_are_in_order_and_tables_and_pictures_are_named() -> None:
    levels = [int(tag[1]) for tag, _ in small_read().elements if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in small_read().elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for tag, attributes in small_read().elements:
        if tag == "figure":
            assert {attributes["aria-labelledby"], attributes["aria-describedby"]} <= set(ids)
        if "tabindex" in attributes:
            assert attributes["role"] == "region", tag
            assert attributes["aria-label"], tag


def test_a_sweep_s_answer_has_interval_latency_cpu_and_limit() -> None:
    answers = small_page().answers
    assert re.match(
        r"This platform does [\d,]+ ± [\d,]+ physical 8 KB reads/s at [\d.]+ µs mean "
        r"\(select of 64 blocks p99 [\d.]+ ms\), [\d,]+ per CPU second, with [\d.]+ % of the host's CPU busy, "
        r"at its knee of 8 sessions \(at most .*\); "
        r"it is limited by storage from 8 sessions on \(0 % updates\)\.",
        answers[0],
    )
    assert answers[1].startswith("20 % updates: ")


def test_a_sweep_s_answer_says_whose_cpu_second_it_is_where_only_sessions_have_one() -> None:
    answer = page_of([without_whole_cpu(record) for record in SMALL]).answers[0]
    assert re.search(r"[\d,]+ per foreground CPU second,", answer)
    assert "DB CPU" not in answer


def test_reads_are_physical_only_where_every_run_that_read_says_so() -> None:
    doubted = [*SMALL[1:], failing(SMALL[0], "reads_reached_device")]
    assert "engine 8 KB reads/s" in page_of(doubted).answers[0]
    assert not re.search(r"[Pp]hysical read", " ".join(p.description for p in page_of(doubted).pictures))
    assert reads_are_physical([physical(), cached()])
    assert not reads_are_physical([physical(), remote()])


def test_a_failing_verdict_is_counted_and_explained() -> None:
    page = page_of([failing(SMALL[0], "quiet_machine"), *SMALL[1:]])
    first = page.verdicts[0]
    assert (first.name, first.outcome_text, first.sign) == ("quiet machine", "fails in 1 of 12", "✗")
    assert first.why == "2 sessions, 0 % updates: Made to."
    assert page.verdict_counts == "1 fails in at least one run, 0 unknown, 7 hold in every run"
    assert small_page().verdict_counts == "all 8 hold in every run"


def test_the_answer_names_what_makes_it_doubtful() -> None:
    names = ("quiet_machine", "steady", "alone_on_server")
    doubted = [failing(failing(failing(each, names[0]), names[1]), names[2]) for each in SMALL]
    caveat = "on a noisy machine, at a rate that was not steady, while other sessions loaded the server"
    assert f", {caveat}; it is limited by" in page_of(doubted).answers[0]
    assert f"; {caveat}." in headline(doubted[0])
    assert "noisy" not in page_of([failing(each, "no_stalls") for each in SMALL]).answers[0]


def test_the_answers_of_a_run_on_each_side_are_shown_and_what_can_not_be_judged_is_not_drawn() -> None:
    reads, updates = ([Run.of(sweep(counts=(8,), update_pcts=(pct,))[0])] for pct in (0, 20))
    page = of_document(runs_document([("reads", reads), ("updates", updates)], [*reads, *updates], [], ()))
    _, shown = before_the_first_picture(page)
    assert len(page.answers) == 3
    assert all(answer in shown for answer in page.answers)
    assert "changes" not in [picture.name for picture in page.pictures]


def test_cached_and_reading_runs_have_pictures_of_their_own() -> None:
    page = page_of([*SMALL, cached()])
    names = [picture.name for picture in page.pictures]
    assert len(names) == len(set(names))
    assert {"petals-pio-read-reading", "petals-lio-cached"} <= set(names)
    assert any("logical 8 KB reads/s" in answer for answer in page.answers)


def test_runs_that_are_not_complete_are_told_on_top() -> None:
    page = page_of([*SMALL, interrupted()])
    assert page.banners == ("20260301-123000-pio is interrupted: stopped by Ctrl-C after 4.3 of 15 s",)


def test_nothing_a_record_says_becomes_markup(tmp_path: Path) -> None:
    evil = physical(name=EVIL)
    plans = {"select": EVIL}
    verdicts = tuple(each.model_copy(update={"why": EVIL, "name": EVIL}) for each in evil.verdicts)
    changed = {
        "engine": {**evil.engine, "version": EVIL, "plans": plans, "target": EVIL, "settings": {EVIL: EVIL}},
        "environment": {**evil.environment, "host": EVIL}, "verdicts": verdicts, "errors": (EVIL,), "notes": (EVIL,),
        "spec": {**evil.spec, "mode": EVIL},
    }  # fmt: skip
    evil = evil.model_copy(update=changed)
    clean = Reader(render_page(of_document(run_document(physical(), tmp_path))))
    other = evil.model_copy(update={"id": "b", "spec": {**evil.spec, "mode": EVIL + "2", "sessions": 9}})
    for html in (render_page(of_document(run_document(evil, tmp_path))), render_page(page_of([evil, other]))):
        reader = Reader(html)
        tags = [tag for tag, _ in reader.elements]
        assert tags.count("script") == [tag for tag, _ in clean.elements].count("script") == 4
        assert "img" not in tags
        assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
        assert any("alert(2)" in text for text in reader.text)


def test_the_specifications_in_the_page_are_those_of_the_pictures() -> None:
    html = small_html()
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', html, re.DOTALL)
    assert found
    specs = json.loads(found[1])
    assert len(specs) == sum(len(picture.panels) for picture in small_page().pictures)
    assert [spec["width"] for spec in specs] == ["container"] * len(specs)


def test_the_page_refers_to_nothing_outside_of_it() -> None:
    html = small_html()
    for tag, attributes in small_read().elements:
        assert not {"src", "srcset", "action", "poster", "data"} & attributes.keys(), tag
        assert (attributes.get("href") or "data:").startswith("data:")
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    policy = next(a["content"] or "" for _, a in small_read().elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")


def test_every_picture_has_words_and_those_with_points_a_table() -> None:
    text = " ".join(small_read().text)
    for picture in small_page().pictures:
        assert picture.description in text
        assert picture.table is None or picture.table.rows[0][1] in text
    assert all(a.get("aria-label") for tag, a in small_read().elements if a.get("class") == "chart")
    assert all(a.get("scope") for tag, a in small_read().elements if tag == "th")


def test_a_sweep_of_112_runs_is_small_enough_to_send() -> None:
    html = render_page(page_of(sweep(repeats=4)))
    assert len(html.encode()) < LARGEST_BYTES


def test_two_sides_are_compared_and_what_differs_is_named() -> None:
    a, b = ([Run.of(record) for record in sweep(counts=(8,), update_pcts=(0,), seed=seed)] for seed in (1, 2))
    moved = [record.model_copy(update={"id": f"b{at}"}) for at, record in enumerate(run.record for run in b)]
    other = [Run.of(each.model_copy(update={"engine": {**each.engine, "version": "17.2"}})) for each in moved]
    page = of_document(runs_document([("before", a), ("after", other)], [*a, *other], [], ()))
    assert page.pictures[0].name == "changes"
    assert page.answers[0].startswith("B against A: ")
    assert page.sections[0].table is not None
    assert ("version", "18.4", "17.2") in page.sections[0].table.rows


def test_two_sides_with_no_point_in_common_are_not_compared() -> None:
    a, b = ([Run.of(record) for record in sweep(counts=(count,), update_pcts=(0,))] for count in (8, 16))
    page = of_document(runs_document([("a", a), ("b", b)], [*a, *b], [], ()))
    assert any("not compared" in banner for banner in page.banners)
    assert "changes" not in [picture.name for picture in page.pictures]


def stored(results: Path, record: RunRecord, with_raw: bool = False) -> Path:
    with RunFolder.begin(results, record) as folder:
        folder.finish(record)
    if with_raw:
        record_files.write(folder.path)
    return folder.path


def test_the_command_writes_the_file_and_the_pictures(tmp_path: Path) -> None:
    path = stored(tmp_path / "results", record_files.record(), with_raw=True)
    pictures = tmp_path / "pictures"
    asked = ["report", path.name, "--results", str(tmp_path / "results"), "--json", "--png-dir", str(pictures)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["answers"] == [headline(record_files.record())]
    assert told["written"][0] == str(path / "report.html")
    assert sorted(file.name for file in pictures.iterdir()) == [
        "latency-over-time.png", "latency.png", "timeline.png",
    ]  # fmt: skip


def test_the_command_s_answer_is_as_wide_as_the_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, file = stored(tmp_path, record_files.record()), tmp_path / ("long" * 30 + ".html")
    answer, lines = headline(record_files.record()), {}
    for columns in ("80", ""):
        monkeypatch.setenv("COLUMNS", columns)
        result = CliRunner().invoke(app, ["report", str(path), "-o", str(file)])
        lines[columns] = result.stdout.splitlines()
    assert answer in lines[""]
    assert all(len(line) <= 80 for line in lines["80"][:-1])
    assert " ".join(lines["80"]) == " ".join(lines[""])
    assert lines["80"][-1] == f"Written: {file}"


def test_damaged_raw_files_do_not_cost_the_report(tmp_path: Path) -> None:
    path = stored(tmp_path, record_files.record(), with_raw=True)
    (path / "waits.csv").write_text("wall_ns,event,sessions\nx,y,z\n")
    page = of_document(run_document(record_files.record(), path))
    assert any("damaged" in banner for banner in page.banners)
    assert [picture.name for picture in page.pictures] == ["latency"]


def test_a_place_that_cannot_be_written_is_an_error_without_a_file(tmp_path: Path) -> None:
    path = stored(tmp_path, physical())
    result = CliRunner().invoke(app, ["report", str(path), "-o", str(tmp_path / "no" / "such.html")])
    assert result.exit_code != 0
    assert not (tmp_path / "no").exists()
